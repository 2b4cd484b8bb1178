# SPDX-License-Identifier: GPL-2.0
# shellcheck shell=bash
#
# Sourced by tests that run in the guest.
#
#   run CMD...          run CMD; its status is in $rc, all it printed in $output
#   check NAME CMD...   one test: CMD succeeds. On failure shows what it printed
#   skip NAME REASON    one test that cannot run here
#   finish_tests        print the plan; the last line of every test

output=$(mktemp)
trap 'rm -f "$output"' EXIT
tests=0
rc=0

run()
{
	rc=0
	"$@" >"$output" 2>&1 </dev/null || rc=$?
}

result()
{
	tests=$((tests + 1))
	printf '%s %d - %s\n' "$1" "$tests" "$2"
}

check()
{
	local name=$1
	shift

	run "$@"
	if ((rc == 0)); then
		result ok "$name"
	else
		result 'not ok' "$name"
		printf '# %q ' "$@"
		printf '\n# ended with status %d\n' "$rc"
		sed 's/^/# /' "$output"
	fi
}

skip() { result ok "$1 # SKIP $2"; }

finish_tests() { printf '1..%d\n' "$tests"; }
