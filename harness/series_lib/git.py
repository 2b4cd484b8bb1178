# SPDX-License-Identifier: GPL-2.0
"""git, told to depend on nobody's configuration."""

import os
import re
import subprocess
import tempfile

ENVIRONMENT = {
    name: value for name, value in os.environ.items() if not name.startswith("GIT_")
} | {
    "GIT_CONFIG_GLOBAL": os.devnull,
    "GIT_CONFIG_NOSYSTEM": "1",
    "GIT_LITERAL_PATHSPECS": "1",
    "LC_ALL": "C",
}

# What git writes is compared byte by byte, so nothing is left to a default that
# a configuration or another version of git could change.
DIFF = (
    *("diff-tree", "-r", "-p", "-U3", "--inter-hunk-context=0", "--no-renames"),
    *("--diff-algorithm=myers", "--indent-heuristic", "--no-color", "--no-ext-diff"),
    *("--no-textconv", "--src-prefix=a/", "--dst-prefix=b/", "-O" + os.devnull),
)


class Problem(Exception):
    """What is wrong, and what to do about it."""


class GitError(Problem):
    """What git said when it failed."""


class Git:
    """A git repository with a work tree. Tree entries are pairs (mode, id)."""

    def __init__(self, tree):
        self.tree = os.path.abspath(tree)
        self.directory = self.text("rev-parse", "--absolute-git-dir")

    def __call__(self, *args, stdin=b"", index=None):
        command = ["git", "-C", self.tree, "-c", "safe.directory=*", *args]
        environment = ENVIRONMENT | ({"GIT_INDEX_FILE": index} if index else {})
        run = subprocess.run(
            command, input=stdin, capture_output=True, env=environment, check=False
        )
        if run.returncode:
            raise GitError(run.stderr.decode(errors="replace").strip())
        return run.stdout

    def text(self, *args, **options):
        return self(*args, **options).decode().strip()

    def records(self, *args, **options):
        """What git prints, split where it printed NUL."""
        return self(*args, **options).decode(errors="surrogateescape").split("\0")[:-1]

    def commit(self, name):
        """The id of a commit, or None if there is none of that name."""
        try:
            return self.text("rev-parse", "-q", "--verify", f"{name}^{{commit}}")
        except GitError:
            return None

    def blob(self, data):
        return self.text("hash-object", "-w", "--stdin", stdin=data)

    def blobs(self, names):
        """The ids of many files."""
        stdin = "".join(f"{os.path.abspath(name)}\n" for name in names).encode()
        return self.text(
            "hash-object", "-w", "--no-filters", "--stdin-paths", stdin=stdin
        ).split()

    def read(self, blob):
        return self("cat-file", "blob", blob)

    def entries(self, tree, *paths):
        """{path: entry} of those paths that are files in the tree."""
        found = {}
        if paths:
            for record in self.records("ls-tree", "-z", "--full-tree", tree, "--", *paths):
                meta, path = record.split("\t", 1)
                mode, kind, blob = meta.split()
                if kind == "blob":
                    found[path] = (mode, blob)
        return found

    def changes(self, old, new):
        """{path: (entry before, entry after)}, None standing for no file."""
        raw = self.records(
            "diff-tree", "-r", "-z", "--raw", "--no-renames", "--no-abbrev", old, new
        )
        changed = {}
        for meta, path in zip(raw[::2], raw[1::2]):
            mode_old, mode_new, old_id, new_id, _status = meta[1:].split()
            changed[path] = (entry(mode_old, old_id), entry(mode_new, new_id))
        return changed

    def diff(self, old, new, paths):
        """A patch without blob ids, which change from base to base.

        Without a work tree git sees no .gitattributes, whose drivers give the
        hunks other headings from one version of git to the next.
        """
        if not paths:
            return b""
        bare = ("--git-dir", self.directory, "-c", "core.bare=true")
        patch = self(*bare, *DIFF, old, new, "--", *sorted(paths))
        if re.search(rb"^Binary files ", patch, re.M):
            raise Problem("a binary file of the base is changed: that cannot be mailed")
        return re.sub(rb"^index .*\n", b"", patch, flags=re.M)


def entry(mode, blob):
    return None if mode == "000000" else (mode, blob)


class Index:
    """A temporary index with a few files, to apply patches in."""

    def __init__(self, git, entries):
        self.git = git
        self.directory = tempfile.TemporaryDirectory(prefix="series-")
        self.file = os.path.join(self.directory.name, "index")
        self.put(entries)

    def put(self, entries):
        lines = (f"{mode} {blob}\t{path}\0" for path, (mode, blob) in entries.items())
        self.update("".join(lines))

    def drop(self, paths):
        self.update("".join(f"0 {'0' * 40}\t{path}\0" for path in paths))

    def update(self, info):
        data = info.encode(errors="surrogateescape")
        self.git("update-index", "-z", "--index-info", stdin=data, index=self.file)

    def get(self, paths):
        """{path: entry, or None if it is not there}"""
        found = dict.fromkeys(paths)
        if found:
            for record in self.git.records(
                "ls-files", "-s", "-z", "--", *found, index=self.file
            ):
                meta, path = record.split("\t", 1)
                found[path] = tuple(meta.split()[:2])
        return found

    def apply(self, patch, reverse=False):
        """No fuzz: all of the context must be there. It may have moved."""
        if patch:
            direction = ("--reverse",) if reverse else ()
            self.git(
                *("apply", "--cached", "--whitespace=nowarn", *direction, "-"),
                stdin=patch,
                index=self.file,
            )
