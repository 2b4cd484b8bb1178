# SPDX-License-Identifier: GPL-2.0
# shellcheck shell=bash
#
# Sourced by the tests of the scripts.
#
#   run CMD...          run CMD; its status is in $rc, all it printed in $output
#   check NAME CMD...   one test: CMD succeeds. On failure shows $output
#   skip NAME REASON    one test that cannot run here
#   finish_tests        print the plan; the last line of every test
#   $tmp                an empty directory, removed in the end
#   $area               what the tests are about, repo if not set otherwise

# shellcheck source=harness/lib.sh
. "$(dirname "$(readlink -f "${BASH_SOURCE[0]}")")/../lib.sh"

# shellcheck disable=SC2034 # for the tests
HERE=$HARNESS/tests
tmp=$(mktemp -d)
trap 'rm -rf "$tmp"' EXIT
output=$tmp/.output
area=repo
tests=0
# shellcheck disable=SC2034 # for the tests
rc=0

run()
{
	set +e
	(
		set -e
		"$@"
	) >"$output" 2>&1 </dev/null
	rc=$?
	set -e
}

check()
{
	local name=$1 how=ok
	shift

	tests=$((tests + 1))
	"$@" || how='not ok'
	printf '%s %d - %s/%s\n' "$how" "$tests" "$area" "$name"
	[[ $how == ok ]] || sed 's/^/# /' "$output"
}

skip()
{
	tests=$((tests + 1))
	printf 'ok %d - %s/%s # SKIP %s\n' "$tests" "$area" "$1" "$2"
}

finish_tests() { printf '1..%d\n' "$tests"; }
