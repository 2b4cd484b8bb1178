# SPDX-License-Identifier: GPL-2.0
"""The repository's form of the series: overlay files and cards."""

import email.utils
import os
import re
import shutil
import stat
import subprocess
from dataclasses import dataclass, field

from .git import ENVIRONMENT, Problem
from .maintainers import PATH as MAINTAINERS

SUBJECT_COLUMNS = 75
SLUG_LENGTH = 50

# Directories of the repository in which no file of the kernel stands.
OWN = {".ci", ".git", "docs", "harness", "linux", "series"}

MESSAGE = re.compile(r"From: (.+ <.+>)\nDate: (.+)\nSubject: (.+)\n(?:\n((?s:.+)))?")


@dataclass
class Card:
    """One commit of the series."""

    name: str
    author: str
    date: str
    subject: str
    body: str
    files: list = field(default_factory=list)
    hunks: bytes = b""

    @property
    def number(self):
        return self.name.split("-", 1)[0]

    @property
    def message(self):
        """The text of the file `message`."""
        head = f"From: {self.author}\nDate: {self.date}\nSubject: {self.subject}\n"
        return head + (f"\n{self.body}" if self.body else "")

    @property
    def commit_message(self):
        return f"{self.subject}\n" + (f"\n{self.body}" if self.body else "")

    @property
    def sections(self):
        """{path: the part of the patch that changes it}"""
        found = {}
        for part in re.split(rb"^(?=diff --git )", self.hunks, flags=re.M):
            match = re.match(rb"diff --git a/(.+) b/\1\n", part)
            if match:
                path = match[1].decode(errors="surrogateescape")
                found[path] = found.get(path, b"") + part
            elif part:
                raise Problem(f"{self.name}: hunks.patch is not the output of git diff")
        return found

    def seconds(self):
        """The date as git's objects have it."""
        parsed = email.utils.parsedate_tz(self.date)
        if not parsed or parsed[9] is None:
            raise Problem(f"{self.name}: the date is not one of a mail: {self.date}")
        return f"{email.utils.mktime_tz(parsed)} {self.date.split()[-1]}"


@dataclass
class Series:
    """Cards in order, and the overlay: {path: (mode, blob)}."""

    cards: list
    overlay: dict


def slug(subject):
    words = re.sub(r"[^a-z0-9]+", "-", subject.lower()).strip("-")
    if len(words) > SLUG_LENGTH:
        words = words[: SLUG_LENGTH + 1].rpartition("-")[0] or words[:SLUG_LENGTH]
    return words


# Reading


def read(path, default=None):
    if default is not None and not os.path.exists(path):
        return default
    with open(path, "rb") as file:
        return file.read()


def load_card(repo, name):
    folder = os.path.join(repo, "series", name)
    try:
        text = read(os.path.join(folder, "message")).decode()
    except (OSError, UnicodeDecodeError) as error:
        raise Problem(f"{name}: cannot read the message: {error}") from error
    match = MESSAGE.fullmatch(text)
    if not match:
        raise Problem(
            f"{name}: the message does not start with the lines From, Date and"
            " Subject, in this order, and an empty one"
        )
    files = read(os.path.join(folder, "files"), b"").decode(errors="surrogateescape")
    hunks = read(os.path.join(folder, "hunks.patch"), b"")
    return Card(name, match[1], match[2], match[3], match[4] or "", files.splitlines(), hunks)


def load_cards(repo):
    names = read(os.path.join(repo, "series", "series"), b"").decode().split()
    return [load_card(repo, name) for name in names]


def load_overlay(repo, paths, git):
    """What the repository has of paths, the content as blobs in git."""
    names = {path: os.path.join(repo, path) for path in sorted(paths)}
    links = {path for path, name in names.items() if os.path.islink(name)}
    plain = [path for path, name in names.items() if os.path.isfile(name) and path not in links]
    blobs = dict(zip(plain, git.blobs(names[path] for path in plain)))
    blobs |= {path: git.blob(content(names[path])) for path in links}
    return {path: (file_mode(names[path]), blob) for path, blob in blobs.items()}


def file_mode(path):
    bits = os.lstat(path).st_mode
    if stat.S_ISLNK(bits):
        return "120000"
    return "100755" if bits & stat.S_IXUSR else "100644"


def content(path):
    return os.fsencode(os.readlink(path)) if os.path.islink(path) else read(path)


def load(repo, git):
    cards = load_cards(repo)
    return Series(cards, load_overlay(repo, {path for card in cards for path in card.files}, git))


# Checking


def check(repo):
    """All that is wrong with the repository, as far as it shows without a tree."""
    cards = load_cards(repo)
    paths = {path for card in cards for path in card.files}
    return [
        *check_folders(repo, cards),
        *check_cards(cards),
        *check_order(cards),
        *check_overlay(repo, paths),
    ]


def check_cards(cards):
    """What is wrong with each card, by itself."""
    for card in cards:
        for wrong in (*check_message(card), *check_files(card)):
            yield f"{card.name}: {wrong}"


def check_folders(repo, cards):
    folders = set(next(os.walk(os.path.join(repo, "series")), ("", (), ()))[1])
    names = [card.name for card in cards]
    for name in sorted(folders - set(names)):
        yield f"{name}: not named in series/series"
    if names != sorted(set(names)):
        yield "series/series: the cards are not in the order of their numbers"
    if len({card.number for card in cards}) < len(names):
        yield "series/series: two cards have the same number"


def check_message(card):
    expected = slug(card.subject)
    if not re.fullmatch(r"\d{4}-" + re.escape(expected), card.name):
        yield f"after its subject the name has to be NNNN-{expected}"
    if len(card.subject) > SUBJECT_COLUMNS:
        yield f"the subject has {len(card.subject)} columns: {SUBJECT_COLUMNS} at most"
    if not re.search(r"^Signed-off-by: .+ <.+>$", card.body, re.M):
        yield "no Signed-off-by in the message"
    if card.body and not re.fullmatch(r"[^\n](.*[^\n])?\n", card.body, re.S):
        yield "the message has empty lines at its start or end"
    card.seconds()


def check_files(card):
    if card.files != sorted(card.files):
        yield "the list of files is not sorted"
    for path in card.files:
        parts = path.split("/")
        alone = len(parts) == 1 and path != MAINTAINERS
        if alone or parts[0] in OWN or {"", ".", ".."} & set(parts):
            yield f"{path} is no place for a kernel file in this repository"


def check_order(cards):
    """Each file of the overlay is born once, and changed only later."""
    every = {path for card in cards for path in card.files}
    born = {}
    for card in cards:
        for path in sorted(card.sections.keys() & every - born.keys()):
            yield f"{card.name}: changes {path} before, or as, it is born"
        for path in card.files:
            if path in born:
                yield f"{card.name}: {path} was born in {born[path]} already"
            born.setdefault(path, card.name)


def check_overlay(repo, paths):
    """The overlay is what the cards say, and all of it would be committed."""
    there = {path for path in paths if os.path.lexists(os.path.join(repo, path))}
    for path in sorted(paths - there):
        yield f"{path} is not in the repository"
    if there and os.path.exists(os.path.join(repo, ".git")):
        seen = seen_by_git(repo, sorted({path.split("/")[0] for path in there}))
        for path in sorted(seen - paths):
            yield f"{path}: no card names it"
        for path in sorted(there - seen):
            yield f"{path}: a .gitignore keeps it out of this repository"


def seen_by_git(repo, folders):
    """The files below folders that git tracks or would add."""
    command = ["git", "-C", repo, "-c", "safe.directory=*", "ls-files", "-z"]
    command += ["-c", "-o", "--exclude-standard", "--", *folders]
    run = subprocess.run(command, capture_output=True, check=True, env=ENVIRONMENT)
    paths = run.stdout.decode(errors="surrogateescape").split("\0")[:-1]
    return {path for path in paths if os.path.lexists(os.path.join(repo, path))}


# Writing


def store(repo, series, git):
    """Write what differs, and remove what is of the series no more."""
    gone = {path for card in load_cards(repo) for path in card.files} - series.overlay.keys()
    folder = os.path.join(repo, "series")
    for card in series.cards:
        write(os.path.join(folder, card.name, "message"), card.message.encode())
        files = "".join(f"{path}\n" for path in card.files).encode(errors="surrogateescape")
        for name, data in (("files", files), ("hunks.patch", card.hunks)):
            path = os.path.join(folder, card.name, name)
            if data:
                write(path, data)
            elif os.path.exists(path):
                os.remove(path)
    there = load_overlay(repo, series.overlay, git)
    for path, (mode, blob) in series.overlay.items():
        if there.get(path) != (mode, blob):
            write(os.path.join(repo, path), git.read(blob), mode)
    names = [card.name for card in series.cards]
    write(os.path.join(folder, "series"), "".join(f"{name}\n" for name in names).encode())
    for entry in list(os.scandir(folder)):
        if entry.is_dir() and entry.name not in names:
            shutil.rmtree(entry.path)
    for path in gone:
        remove(repo, path)


def write(path, data, mode="100644"):
    if os.path.lexists(path):
        if file_mode(path) == mode and content(path) == data:
            return
        os.remove(path)
    os.makedirs(os.path.dirname(path), exist_ok=True)
    if mode == "120000":
        os.symlink(os.fsdecode(data), path)
        return
    with open(path, "wb") as file:
        file.write(data)
    if mode == "100755":
        os.chmod(path, 0o755)


def remove(repo, path):
    """Remove a file, and the directories that are empty without it."""
    full = os.path.join(repo, path)
    if os.path.lexists(full):
        os.remove(full)
    folder = os.path.dirname(path)
    while folder and os.path.isdir(os.path.join(repo, folder)):
        if os.listdir(os.path.join(repo, folder)):
            break
        os.rmdir(os.path.join(repo, folder))
        folder = os.path.dirname(folder)
