#!/bin/bash
# perf record --call-graph sframe
# SPDX-License-Identifier: GPL-2.0

set -e

shelldir=$(dirname "$0")
# shellcheck source=lib/perf_has_symbol.sh
. "${shelldir}"/lib/perf_has_symbol.sh

skip_test_missing_symbol leafloop

err=0
switch=/proc/sys/kernel/unwind_user
off=
dir=$(mktemp -d /tmp/__perf_test.sframe.XXXXX)
data=$dir/perf.data

cleanup() {
	[ -z "$off" ] || echo 1 > "$switch"
	rm -rf "$dir"
	trap - EXIT TERM INT
}

trap_cleanup() {
	cleanup
	exit 1
}
trap trap_cleanup EXIT TERM INT

fail() {
	echo "$1 [Failed $2]"
	err=1
}

# Frames of a callchain, innermost first: does any sample of $data have them?
has_chain() {
	local pattern="" sep="[[:space:]]+[[:xdigit:]]+[[:space:]]"

	for symbol in "$@"; do
		pattern+="$sep$symbol "
	done
	perf script -i "$data" -F comm,ip,sym 2> /dev/null | tr '\n' ' ' | grep -E -q "$pattern"
}

# Per cent of the samples in the workload
share_with_main() {
	perf script -i "$data" -F comm,ip,sym 2> /dev/null |
		awk 'BEGIN { RS = "" }
		     / leafloop/ { n++; if (/ main(\n|$)/) main++ }
		     END { print n ? int(100 * main / n) : 0 }'
}

record() {
	perf record -o "$data" -e cpu-clock:u "$@" > "$dir/log" 2>&1
}

check_support() {
	if ! record --call-graph sframe true && grep -q "cannot unwind user stacks" "$dir/log"; then
		echo "Skipping, the kernel lacks CONFIG_UNWIND_USER_SFRAME"
		cleanup
		exit 2
	fi
}

test_workload() {
	local name="Callchains of a workload ($1)"

	if ! record --call-graph "$1" perf test -w leafloop; then
		cat "$dir/log"
		fail "$name" "record"
		return
	fi
	has_chain leaf parent leafloop || fail "$name" "no chain from leaf to leafloop"
	if [ "$(share_with_main)" -lt 90 ]; then
		fail "$name" "only $(share_with_main) % of the samples have main"
	fi
	if perf report -i "$data" --stats 2> /dev/null | grep "did not come"; then
		fail "$name" "lost callchains"
	fi
	echo "$name [Done]"
}

# No other perf drops the description of an event for a bit that it does not know.
test_attr() {
	local name="Attributes in the file"

	perf evlist -i "$data" -v | grep -q "defer_callchain: 1" ||
		fail "$name" "defer_callchain is not set"
	if perf evlist -i "$data" -v | grep "unwind_type"; then
		fail "$name" "unwind_type is set"
	fi
	echo "$name [Done]"
}

test_no_merge() {
	local name="Samples and callchains on their own" cookie

	perf script -i "$data" --no-merge-callchains > "$dir/script" 2> /dev/null
	cookie=$(sed -n 's/.*DEFERRED CALLCHAIN \[cookie: \([0-9a-f]*\)\]$/\1/p' "$dir/script" |
		 tail -n 1)
	if [ -z "$cookie" ]; then
		fail "$name" "no callchain"
	elif ! grep -q "^[[:space:]]*$cookie (cookie)" "$dir/script"; then
		fail "$name" "no sample with the cookie of a callchain"
	fi
	if perf script -i "$data" 2> /dev/null | grep "(cookie)"; then
		fail "$name" "a cookie in merged samples"
	fi
	echo "$name [Done]"
}

test_pipe() {
	local name="Callchains in a pipe"

	perf record -o - -e cpu-clock:u --call-graph sframe perf test -w leafloop 2> /dev/null |
		perf inject -b 2> /dev/null |
		perf script -i - -F ip,sym 2> /dev/null > "$dir/script"
	tr '\n' ' ' < "$dir/script" | grep -E -q "leaf[[:space:]]+[[:xdigit:]]+ parent" ||
		fail "$name" "no chain from leaf to parent"
	echo "$name [Done]"
}

test_limit() {
	local name="Limited number of entries" depth

	record --call-graph sframe,2 perf test -w leafloop || fail "$name" "record"
	depth=$(perf script -i "$data" -F ip 2> /dev/null |
		awk 'NF { n++; if (n > max) max = n } !NF { n = 0 } END { print max + 0 }')
	[ "$depth" -eq 2 ] || fail "$name" "at most $depth entries"
	echo "$name [Done]"
}

test_options() {
	local name="Options"

	record --call-graph fp,32,defer true || fail "$name" "record"
	perf evlist -i "$data" -v | grep -q "defer_callchain: 1" ||
		fail "$name" "defer behind a number is ignored"
	record --call-graph sframe --no-call-graph -g true || fail "$name" "record"
	if perf evlist -i "$data" -v | grep "defer_callchain: 1"; then
		fail "$name" "what was taken back defers"
	fi
	perf record -o "$data" --call-graph dwarf -e cpu-clock/call-graph=sframe/u true \
		> "$dir/log" 2>&1 || fail "$name" "record"
	perf evlist -i "$data" -v | grep -q "defer_callchain: 1" ||
		fail "$name" "no user callchains of one event among those with dwarf"
	echo "$name [Done]"
}

# What one machine does not allow must not keep another from reading its files.
test_depth() {
	local name="Depth that the kernel does not allow"

	printf '[call-graph]\n\trecord-mode = sframe,60000\n' > "$dir/config"
	record --call-graph sframe true || fail "$name" "record"
	PERF_CONFIG=$dir/config perf evlist -i "$data" > "$dir/log" 2>&1 || fail "$name" "config"
	if record --call-graph sframe,60000 true; then
		fail "$name" "recorded"
	fi
	grep -q "kernel.perf_event_max_stack" "$dir/log" || fail "$name" "message"
	echo "$name [Done]"
}

test_off() {
	local name="Unwinding that is switched off"

	if ! [ -w "$switch" ]; then
		echo "$name [Skipped, only root can switch it]"
		return
	fi
	off=1
	echo 0 > "$switch"
	if record --call-graph sframe true; then
		fail "$name" "recorded"
	fi
	echo 1 > "$switch"
	off=
	grep -q "kernel.unwind_user" "$dir/log" || fail "$name" "message"
	record --call-graph sframe true || fail "$name" "record after it was switched on"
	echo "$name [Done]"
}

# The only way from function to function here is by tables.
test_tables() {
	local name="Tables without frame pointers"

	cat > "$dir/prog.c" <<-EOF
	volatile unsigned long count;
	__attribute__((noinline, noclone)) void inner(unsigned long n)
	{
		while (n--)
			count++;
	}
	__attribute__((noinline, noclone)) void middle(unsigned long n)
	{
		inner(n);
		count++;
	}
	__attribute__((noinline, noclone)) void outer(unsigned long n)
	{
		middle(n);
		count++;
	}
	int main(void)
	{
		outer(50000000);
		return 0;
	}
	EOF

	if ! cc -g -O2 -fomit-frame-pointer -Wa,--gsframe -o "$dir/prog" "$dir/prog.c" \
	     2> /dev/null || ! readelf -lW "$dir/prog" | grep -q -i sframe; then
		echo "$name [Skipped, no toolchain that makes SFrame tables]"
		return
	fi

	record --call-graph sframe,strict "$dir/prog" || fail "$name" "record"
	has_chain inner middle outer main || fail "$name" "no chain from inner to main"
	echo "$name [Done]"
}

check_support
test_workload sframe
test_attr
test_no_merge
test_workload fp,defer
test_pipe
test_limit
test_options
test_depth
test_off
test_tables

cleanup
exit $err
