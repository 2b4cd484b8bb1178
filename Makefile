# SPDX-License-Identifier: GPL-2.0
#
# The verbs of this repository. Each is one script in harness/.

help:
	@sed -n 's/^## //p' Makefile

## make run             set everything up, then profile SQLite in a guest: the
##                      chains of frame pointers and of SFrame side by side
## make run CMD='...'   profile a command of yours in the guest instead
## make shell           a guest with the kernel and its perf, on this terminal
## make test            all tests
## make test-long       those that take hours: other configurations, long storms
##
## make apply           linux/: a kernel tree with a commit for each card
## make save            write the commits in linux/ back to this repository
## make series          patches/: the series as mails
##
## LINUX=...            a tarball or a tree of Linux 6.12.y to use instead of the
##                      newest linux-source-6.12 that apt offers
## LIMIT=...            seconds after which the guest of make run is killed (600)

run:
	@harness/run

shell:
	@harness/run --shell

test:
	@harness/test

test-long:
	@harness/test-long

apply:
	@harness/series apply --tree "$$(harness/edit-tree)"

save:
	@harness/series save --tree "$$(harness/edit-tree)"

series:
	@harness/series export --tree "$$(harness/edit-tree)" patches

.PHONY: help run shell test test-long apply save series
