# SPDX-License-Identifier: GPL-2.0
# shellcheck shell=bash
#
# Sourced after lib.sh by what builds from the kernel tree.
#
#   kernel_tree            print the tree with the series applied
#   tree_id TREE [PATHSPEC]...
#                          print a key of the files of TREE that git selects
#   build_root             print the Debian root to build in
#   toolchain_id ROOT      print a key of the packages in ROOT
#   in_build TREE OUT CMD...
#                          run CMD in the build root, TREE being /build/src
#                          and OUT /build/out, so that neither the result nor
#                          ccache depends on where they are
#   fresh_out OUT CMD...   run CMD, which fills OUT, so that a run after an
#                          interrupted one trusts nothing that was half written
#   show_errors LOG        the part of a build's output that says what is wrong
#   prune DIR              remove what has not been used for long from DIR, which
#                          holds results by their content key
#
# A driver that calls several builders sets UNWIND_TREE and UNWIND_ROOT, which
# saves looking for tree and root each time.

kernel_tree()
{
	if [[ -n ${UNWIND_TREE:-} ]]; then
		printf '%s\n' "$UNWIND_TREE"
	else
		"$HARNESS/series" apply | tail -n 1
	fi
}

# The content of the work tree, committed or not: what will be compiled.
tree_id()
{
	local tree=$1 index
	shift

	index=$(git -C "$tree" rev-parse --path-format=absolute --git-path index)
	cp -p "$index" "$index.$$"
	GIT_INDEX_FILE=$index.$$ git -C "$tree" add -A
	GIT_INDEX_FILE=$index.$$ git -C "$tree" ls-files -s -- "$@" | content_key
	rm -f "$index.$$"
}

build_root()
{
	if [[ -n ${UNWIND_ROOT:-} ]]; then
		printf '%s\n' "$UNWIND_ROOT"
	else
		"$HARNESS/roots" build | tail -n 1
	fi
}

toolchain_id() { content_key <"$1/var/lib/dpkg/status"; }

in_build()
{
	local tree=$1 out=$2 cache
	shift 2

	cache=$(cache_dir)/ccache
	mkdir -p "$out" "$cache"
	"$HARNESS/in-root" "$(build_root)" --bind "$tree:/build/src" \
		--bind "$out:/build/out" --bind "$cache:/build/ccache" -- \
		env -C /build/src CCACHE_DIR=/build/ccache \
		CCACHE_NOHASHDIR=1 CCACHE_MAXSIZE=5G CCACHE_DEPEND=1 \
		CCACHE_SLOPPINESS=include_file_ctime,include_file_mtime \
		KBUILD_BUILD_TIMESTAMP='2025-01-01 00:00:00 UTC' \
		KBUILD_BUILD_USER=unwind KBUILD_BUILD_HOST=unwind \
		KBUILD_BUILD_VERSION=1 LOCALVERSION='' "$@"
}

fresh_out()
{
	local out=$1
	shift

	mkdir -p "$out"
	if [[ -e $out/.building ]]; then
		find "$out" -type f -newer "$out/.building" -delete
	fi
	touch "$out/.building"
	"$@"
	rm "$out/.building"
}

show_errors()
{
	grep -aE -m 20 -B2 -A8 '(error|undefined reference|\*\*\*)[: ]' "$1" |
		head -n 60 >&2 || tail -n 40 "$1" >&2
}

prune()
{
	find "$1" -mindepth 1 -maxdepth 1 -mtime +14 -exec rm -rf {} +
}
