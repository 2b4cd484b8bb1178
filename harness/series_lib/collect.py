# SPDX-License-Identifier: GPL-2.0
"""From commits on the base to the repository."""

import re

from . import maintainers
from .build import build
from .cards import Card, Series, slug
from .git import Problem

FIELDS = ("%H", "%P", "%an <%ae>", "%aD", "%B")


def collect(git, base, tip, old_names):
    """The series that the commits are. Its cards keep their old numbers."""
    cards = [read_commit(fields) for fields in log(git, base, tip)]
    number(cards, old_names)
    commits = git.text("rev-list", "--reverse", f"{base}..{tip}").split()
    overlay = Overlay(git, base)
    for card, commit in zip(cards, commits):
        overlay.add(card, commit)
    series = Series(cards, overlay.files)
    prove(git, base, series, commits)
    return series


def log(git, base, tip):
    """The fields of each commit, oldest first."""
    fields = git.records(
        "log", "--reverse", "--encoding=UTF-8", "-z", f"--format={'%x00'.join(FIELDS)}",
        f"{base}..{tip}",
    )
    return [fields[at : at + len(FIELDS)] for at in range(0, len(fields), len(FIELDS))]


def read_commit(fields):
    commit, parents, author, date, text = fields
    subject, _, body = text.strip("\n").partition("\n")
    what = f"commit {commit[:12]} ({subject})"
    if len(parents.split()) != 1:
        raise Problem(f"{what} is a merge: a series is a line of commits, rebase it")
    if re.match(r"(fixup|squash|amend)! ", subject):
        raise Problem(
            f"{what} waits to be squashed: git rebase -i --autosquash base"
        )
    if body and not body.startswith("\n"):
        raise Problem(f"{what}: the subject has to be one line with an empty one after it")
    body = body.strip("\n")
    return Card("", author, date, subject, f"{body}\n" if body else "")


class Overlay:
    """The files that the series adds, as they are after some of its commits."""

    def __init__(self, git, base):
        self.git = git
        self.base = base
        self.parent = base
        self.files = {}
        self.in_base = set(git.records("ls-tree", "-r", "-z", "--name-only", base))

    def add(self, card, commit):
        """Fill in the files and hunks of the card."""
        changes = self.git.changes(self.parent, commit)
        entry = changes.pop(maintainers.PATH, None)
        grown = []
        for path, (_, after) in changes.items():
            if path in self.in_base:
                grown.append(path)
                continue
            if after is None:
                raise Problem(
                    f"{card.name}: removes {path}, which an earlier commit adds:"
                    " take it out of that one"
                )
            (grown if path in self.files else card.files).append(path)
            self.files[path] = after
        card.hunks = self.git.diff(self.parent, commit, grown)
        if entry:
            self.add_maintainers(card, commit, entry[1])
        card.files.sort()
        self.parent = commit

    def add_maintainers(self, card, commit, entry):
        ours = self.extract(entry)
        if ours is None:
            raise Problem(
                f"{card.name}: a series adds an entry to MAINTAINERS in its"
                " alphabetical place, and changes nothing else there; see"
                f" git show {commit[:12]} -- MAINTAINERS"
            )
        old = self.files.get(maintainers.PATH)
        new = self.files[maintainers.PATH] = ("100644", self.git.blob(ours))
        if old:
            trees = self.tree(old), self.tree(new)
            card.hunks += self.git.diff(*trees, [maintainers.PATH])
        else:
            card.files.append(maintainers.PATH)

    def extract(self, entry):
        found = self.git.entries(self.base, maintainers.PATH)
        if not found or not entry:
            return None
        whole = self.git.read(found[maintainers.PATH][1])
        return maintainers.extract(whole, self.git.read(entry[1]))

    def tree(self, entry):
        """A tree that holds nothing but MAINTAINERS."""
        mode, blob = entry
        line = f"{mode} blob {blob}\t{maintainers.PATH}\n"
        return self.git.text("mktree", stdin=line.encode())


# Numbers


def number(cards, old_names):
    """Name the cards NNNN-slug.

    A card whose slug is in old_names keeps that number, unless cards were
    reordered; the others get numbers in between, or in tens at the end.
    """
    slugs = [slug(card.subject) for card in cards]
    if len(set(slugs)) < len(slugs):
        twice = next(name for name in slugs if slugs.count(name) > 1)
        raise Problem(f"two commits have the subject that gives '{twice}': change one")
    old = {name[5:]: int(name[:4]) for name in old_names}
    numbers = fill([old.get(name) for name in slugs])
    for card, name, value in zip(cards, slugs, numbers):
        card.name = f"{value:04d}-{name}"


def fill(numbers):
    """Give a number to each None, and new ones to those out of order."""
    kept = rising(numbers)
    numbers = [value if value in kept else None for value in numbers]
    filled = []
    while len(filled) < len(numbers):
        last = filled[-1] if filled else 0
        rest = numbers[len(filled) :]
        count = next((n for n, value in enumerate(rest) if value), len(rest))
        if count == 0:
            filled.append(rest[0])
        elif count == len(rest):
            filled += [last // 10 * 10 + 10 * n for n in range(1, count + 1)]
        elif rest[count] - last > count:
            gap = rest[count] - last
            filled += [last + gap * n // (count + 1) for n in range(1, count + 1)]
        else:
            return [10 * n for n in range(1, len(numbers) + 1)]
    return filled


def rising(numbers):
    """The largest set of numbers that already stand in rising order."""
    best = [[]]
    for value in numbers:
        if value:
            longest = max((run for run in best if not run or run[-1] < value), key=len)
            best.append([*longest, value])
    return set(max(best, key=len))


def prove(git, base, series, commits):
    """What is about to be written gives the same trees again."""
    for card, commit, again in zip(series.cards, commits, build(git, base, series)):
        if git.text("rev-parse", f"{commit}^{{tree}}") != git.text("rev-parse", f"{again}^{{tree}}"):
            raise Problem(
                f"{card.name}: the repository cannot express this commit"
                f" ({commit[:12]}); nothing was saved"
            )
