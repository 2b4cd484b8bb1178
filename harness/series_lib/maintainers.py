# SPDX-License-Identifier: GPL-2.0
"""The repository's MAINTAINERS holds only our entry; in a kernel tree it stands
in its alphabetical place among the others."""

import re

PATH = "MAINTAINERS"

# A title follows an empty line; the other lines of an entry start with "X:".
TITLE = re.compile(rb"(?:\A|(?<=\n\n))(?!.:)\w.*$", re.M)


def titles(text):
    """The titles of all entries, each with its offset."""
    start = text.find(b"Maintainers List\n")
    if start < 0:
        start = 0
    else:
        start = text.index(b"\n\n", start)
    return [(match.start(), match[0]) for match in TITLE.finditer(text, start)]


def place(others, title):
    """How many entries stand before ours.

    The list is not quite sorted, so the place is the one with the fewest
    entries on the wrong side.
    """
    wrong = sum(other < title for _, other in others)
    best, fewest = 0, wrong
    for count, (_, other) in enumerate(others, 1):
        wrong += 1 if other > title else -1
        if wrong < fewest:
            best, fewest = count, wrong
    return best


def splice(base, ours):
    """The base's text with each of our entries in its place."""
    for entry in entries(ours).values():
        others = titles(base)
        before = place(others, entry.split(b"\n", 1)[0])
        if before < len(others):
            offset = others[before][0]
            base = base[:offset] + entry + b"\n" + base[offset:]
        else:
            base = base.rstrip(b"\n") + b"\n\n" + entry
    return base


def entries(text):
    """{title: entry with one newline at its end}"""
    found = titles(text)
    ends = [offset for offset, _ in found[1:]] + [len(text)]
    return {
        title: text[offset:end].rstrip(b"\n") + b"\n"
        for (offset, title), end in zip(found, ends)
    }


def extract(base, text):
    """Our entries: those that the base has not. None if more was changed."""
    known = {title for _, title in titles(base)}
    new = [entry for title, entry in entries(text).items() if title not in known]
    ours = b"\n".join(new)
    return ours if ours and splice(base, ours) == text else None
