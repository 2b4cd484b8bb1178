# SPDX-License-Identifier: GPL-2.0
"""The two forms of the series, the repository and a git branch, and the ways
between them.

cards        the repository: overlay files and cards
build        from the repository to commits
collect      from commits to the repository
maintainers  the one overlay file that is a part of a file of the base
git          git, told to depend on nobody's configuration
"""
