# SPDX-License-Identifier: GPL-2.0
"""From the repository to commits on the base, in the object database alone."""

import re

from . import maintainers
from .git import GitError, Index, Problem


def build(git, base, series):
    """Make one commit of each card; the commits depend on nothing but content."""
    changes = merge(overlay_changes(git, series), base_changes(git, base, series))
    for change in changes:
        if entry := change.get(maintainers.PATH):
            change[maintainers.PATH] = spliced(git, base, entry)
    return commit(git, base, series.cards, changes)


def merge(*lists):
    return [first | second for first, second in zip(*lists)]


def overlay_changes(git, series):
    """What each card makes of files of the overlay.

    The repository has their final text. Going from the last card to the first,
    the growth is taken back, until the card is reached in which a file is born.
    """
    index = Index(git, series.overlay)
    changes = []
    for card in reversed(series.cards):
        growth = {path: part for path, part in card.sections.items() if path in series.overlay}
        changes.append(index.get([*card.files, *growth]))
        apply(index, card, growth, reverse=True)
        index.drop(card.files)
    return changes[::-1]


def base_changes(git, base, series):
    """What each card makes of files of the base."""
    files = {path for card in series.cards for path in card.files}
    taken = git.entries(base, *files - {maintainers.PATH})
    edits = {path for card in series.cards for path in card.sections} - files
    index = Index(git, git.entries(base, *edits))
    changes = []
    for card in series.cards:
        for path in taken.keys() & card.files:
            raise Problem(f"{card.name}: {path} is in the base already")
        hunks = {path: part for path, part in card.sections.items() if path in edits}
        apply(index, card, hunks)
        changes.append(index.get(hunks))
    return changes


def apply(index, card, sections, reverse=False):
    try:
        index.apply(b"".join(sections.values()), reverse)
    except GitError as error:
        raise Problem(failure(card, str(error), reverse)) from error


def failure(card, error, reverse):
    """Which hunk it is, in the words of git and in the repository."""
    text = f"{card.name}: hunks.patch does not apply\n{error}"
    failed = re.search(r"patch failed: (.+):(\d+)$", error, re.M)
    if not failed:
        return text
    path, line = failed.groups()
    number, hunk = find_hunk(card.hunks, path, line, "+" if reverse else "-")
    text = f"{card.name}: the hunk at {path}:{line} does not apply"
    text += f" (series/{card.name}/hunks.patch:{number})\n{hunk}"
    if reverse:
        text += (
            f"\n{path} was edited here at lines that this card adds, or right beside"
            " them: make that edit in a tree with the series applied, and save it"
        )
    return text


def find_hunk(patch, path, line, side):
    """The place and text of the hunk of path that starts at line."""
    lines = patch.decode(errors="replace").split("\n")
    start = lines.index(f"diff --git a/{path} b/{path}")
    head = re.compile(rf"@@ .*\{side}{line}\b")
    begin = next(at for at in range(start, len(lines)) if head.match(lines[at]))
    end = begin + 1
    while end < len(lines) and lines[end][:1] in ("+", "-", " ", "\\"):
        end += 1
    return begin + 1, "\n".join(lines[begin:end])


def spliced(git, base, entry):
    """MAINTAINERS of the base with the entry in its place."""
    found = git.entries(base, maintainers.PATH)
    if not found:
        raise Problem("the base has no MAINTAINERS to put the entry in")
    mode, blob = found[maintainers.PATH]
    return mode, git.blob(maintainers.splice(git.read(blob), git.read(entry[1])))


def commit(git, base, cards, changes):
    """Author and committer, names and dates, are those of the card."""
    if not cards:
        return []
    stream = [b"reset refs/series/new\n"]
    for mark, (card, change) in enumerate(zip(cards, changes), 1):
        parent = f":{mark - 1}" if mark > 1 else base
        who = f"{card.author} {card.seconds()}"
        text = card.commit_message.encode()
        stream.append(
            f"commit refs/series/new\nmark :{mark}\nauthor {who}\ncommitter {who}\n"
            f"data {len(text)}\n".encode() + text + f"from {parent}\n".encode()
        )
        stream += (line(path, change[path]) for path in sorted(change))
        stream.append(f"get-mark :{mark}\n".encode())
    try:
        # No limit: small packs would pile up, one a run.
        limit = ("-c", "fastimport.unpackLimit=1000000")
        output = git(*limit, "fast-import", "--quiet", "--force", stdin=b"".join(stream))
    finally:
        git("update-ref", "-d", "refs/series/new")
    return output.decode().split()


def line(path, entry):
    name = path.encode(errors="surrogateescape")
    if entry is None:
        return b"D " + name + b"\n"
    return f"M {entry[0]} {entry[1]} ".encode() + name + b"\n"
