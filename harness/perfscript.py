# SPDX-License-Identifier: GPL-2.0
"""Read the text that `perf script` prints."""

import collections
import re

Frame = collections.namedtuple("Frame", "symbol dso")
Sample = collections.namedtuple("Sample", "comm frames")  # innermost frame first

UNKNOWN = "[unknown]"

# "   query   321/321   [000]    12.345678:     250000 cpu-clock:u: "
HEADER = re.compile(r"^\s*(\S.*?)\s+-?\d+(?:/-?\d+)?\s+(?:\[\d+\]\s+)?(?:\S+\s+)?"
                    r"\d+\.\d+:(?:\s+(?:\d+\s+)?\S+:(?=\s|$))?(.*)$")
# "            7f0012 strcmp+0x12 (/lib/libc.so)"
FRAME = re.compile(r"^\s+([0-9a-f]+)(?:\s+(\S.*))?$")
OFFSET = re.compile(r"\+0x[0-9a-f]+$")


def split_dso(text):
    """'f(int)+0x1 (/tmp/a (deleted))' -> 'f(int)+0x1', '/tmp/a (deleted)'"""
    depth = 0
    for i in range(len(text) - 1, -1, -1):
        depth += (text[i] == ")") - (text[i] == "(")
        if depth == 0:
            break
    if text.endswith(")") and depth == 0 and i > 0:
        return text[:i].rstrip(), text[i + 1:-1]
    return text, UNKNOWN


def parse_frame(line):
    match = FRAME.match(line)
    if not match:
        return None
    symbol, dso = split_dso((match[2] or "").strip())
    return Frame(OFFSET.sub("", symbol) or UNKNOWN, dso)


def own_inlined(frames):
    """An inlined function is in the object of the function that it is inlined in."""
    owner = UNKNOWN
    fixed = []
    for frame in reversed(frames):
        if frame.dso != "inlined":
            owner = frame.dso
        fixed.append(Frame(frame.symbol, owner))
    return fixed[::-1]


def samples(lines):
    """The samples in the text, one after another."""
    comm, frames = None, []
    for line in lines:
        line = line.rstrip("\n")
        header = HEADER.match(line)
        if header:
            if comm is not None:
                yield Sample(comm, own_inlined(frames))
            comm, frames = header[1], []
            # A deferred chain on its own is the rest of a sample, not one.
            if "DEFERRED CALLCHAIN" in line:
                comm = None
                continue
            line = header[2]
        frame = parse_frame(line)
        if frame:
            frames.append(frame)
    if comm is not None:
        yield Sample(comm, own_inlined(frames))


def is_kernel(frame):
    """Kernel and its modules: [kernel.kallsyms], [guest.kernel.kallsyms], [ext4]"""
    return (frame.dso.startswith("[") and frame.dso not in (UNKNOWN, "[vdso]", "[heap]",
            "[stack]", "[uprobes]", "[vsyscall]")) or frame.dso.endswith(("/vmlinux", ".ko"))
