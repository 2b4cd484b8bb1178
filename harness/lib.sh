# SPDX-License-Identifier: GPL-2.0
# shellcheck shell=bash
#
# Sourced by every shell script of the harness.
#
# Progress and errors go to stderr. stdout belongs to a script's result, which
# is its last line, so that `dir=$(harness/base | tail -n1)` works.
#
#   die MSG...             print MSG and exit 1
#   say MSG...             a line of progress
#   step NAME CMD...       run CMD with a title and its elapsed time
#   time_table             the steps of this run so far, from $UNWIND_TIMES
#   as_root CMD...         run CMD as root, with sudo if need be
#   cache_dir              print the cache directory, made if need be
#   with_lock NAME CMD...  run CMD while no other run holds NAME
#   under_lock NAME "$@"   go on only while no other run holds NAME: the script is
#                          started anew with it
#   finish X.partial X     put a finished file or directory in place
#   content_key            first 16 hex digits of the sha256 of stdin
#
# step and with_lock run CMD in a subshell: it cannot set the caller's
# variables. bash ignores `set -e` below `if`, `||` and `&&`, so a *function*
# must not be run by step or with_lock there; a script may.

set -euo pipefail

HARNESS=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
# shellcheck disable=SC2034 # used by the scripts that source this file
REPO=$(dirname "$HARNESS")

say() { printf '%s\n' "$*" >&2; }

die()
{
	printf '%s: %s\n' "${0##*/}" "$*" >&2
	exit 1
}

as_root()
{
	if ((EUID == 0)); then
		"$@"
	else
		sudo -- "$@"
	fi
}

cache_dir()
{
	local dir=${UNWIND_CACHE:-${XDG_CACHE_HOME:-$HOME/.cache}/linux-unwind}

	mkdir -p "$dir"
	printf '%s\n' "$dir"
}

content_key() { sha256sum | cut -c1-16; }

# A leftover of an older result would make mv nest the new one inside it.
finish()
{
	as_root rm -rf -- "$2"
	as_root mv -T -- "$1" "$2"
}

# Run CMD in a subshell that stops at its first error; its status is in _rc.
_guarded()
{
	set +e
	(
		set -e
		"$@"
	)
	_rc=$?
	set -e
}

# $UNWIND_TIMES, set by a driver, collects "start depth seconds name".
step()
{
	local name=$1 start=$EPOCHREALTIME depth=${UNWIND_DEPTH:-0} rc secs how=
	shift

	say "==> $name"
	UNWIND_DEPTH=$((depth + 1)) _guarded "$@"
	rc=$_rc
	((rc == 0)) || how=' (failed)'
	secs=$((EPOCHSECONDS - ${start%[.,]*}))
	say "    $name: $secs s$how"
	if [[ -n ${UNWIND_TIMES:-} ]]; then
		printf '%s\t%d\t%d\t%s\n' "$start" "$depth" "$secs" "$name" \
			>>"$UNWIND_TIMES"
	fi
	return "$rc"
}

time_table()
{
	sort -n "$UNWIND_TIMES" | awk -F '\t' '
		{ printf "%7d s  %*s%s\n", $3, 2 * $2, "", $4 }'
}

# The lock is held by an open file, which CMD inherits: it lasts as long as
# anything of the run does. A script that runs under its own lock goes ahead.
with_lock()
{
	local name=$1 dir fd rc
	shift

	if [[ " ${UNWIND_HELD:-} " == *" $name "* ]]; then
		"$@"
		return
	fi
	dir=$(cache_dir)/lock
	mkdir -p "$dir"
	exec {fd}>>"$dir/$name"
	if ! flock -n "$fd"; then
		say "waiting for another run to finish its part '$name'"
		flock "$fd"
	fi
	UNWIND_HELD="${UNWIND_HELD:-} $name" _guarded "$@"
	rc=$_rc
	exec {fd}>&-
	return "$rc"
}

under_lock()
{
	local name=$1 rc=0
	shift

	[[ " ${UNWIND_HELD:-} " != *" $name "* ]] || return 0
	with_lock "$name" "$0" "$@" || rc=$?
	exit "$rc"
}
