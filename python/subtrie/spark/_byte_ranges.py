"""Read the lines of a byte range of a file, exact to the byte.

LF ends a line. A last line without LF is a line, and so is an empty one. A line belongs to the
range in which it begins, so that ranges that cover a file contain each line once. Text is read as
Latin-1, one character per byte: decoding cannot fail, and positions are byte offsets. Memory is
bounded for any file: of a line longer than ``LONGEST`` only the first bytes are kept.
"""

from __future__ import annotations

from collections.abc import Iterator
from itertools import pairwise
from typing import BinaryIO

#: The number of bytes of a line that are read.
LONGEST = 65_536
_BLOCK = 131_072


def ranges(size: int, *, at_least: int, target: int) -> list[tuple[int, int]]:
    """Divide ``size`` bytes into at least ``at_least`` ranges of at most ``target`` bytes."""
    if size <= 0:
        return []
    number = min(size, max(at_least, -(-size // max(1, target))))
    edges = [size * i // number for i in range(number + 1)]
    return list(pairwise(edges))


def lines_from(stream: BinaryIO, start: int, size: int) -> Iterator[tuple[int, list[str]]]:
    """Yield the lines that begin at ``start`` or later, up to byte ``size``, in blocks.

    A block is ``(position, lines)``; each further line of a block begins one byte (the LF) after
    the end of the previous one. A line longer than ``LONGEST`` is truncated to one byte more than
    that, and is the last line of its block.
    """
    position = _first_line(stream, start, size)
    pieces: list[bytes] = []  # of a line whose end is not yet read
    held = 0  # bytes in pieces
    skipping = False  # inside a long line whose first bytes were returned
    at = position
    while at < size:
        block = stream.read(min(_BLOCK, size - at))
        if not block:
            break
        at += len(block)
        if skipping:
            end = block.find(b"\n")
            if end < 0:
                continue
            position = at - len(block) + end + 1
            block = block[end + 1 :]
            skipping = False
        last = block.rfind(b"\n")
        if last >= 0:
            whole = b"".join((*pieces, block[:last]))
            yield position, whole.decode("latin-1").split("\n")
            position += len(whole) + 1
            pieces, held = [], 0
            block = block[last + 1 :]
        if block:
            pieces.append(block)
            held += len(block)
        if held > LONGEST:
            yield position, [b"".join(pieces)[: LONGEST + 1].decode("latin-1")]
            pieces, held, skipping = [], 0, True
    if held:
        yield position, [b"".join(pieces).decode("latin-1")]


def _first_line(stream: BinaryIO, start: int, size: int) -> int:
    """Seek to the first line that begins at ``start`` or later, and return its position."""
    if start == 0:
        stream.seek(0)
        return 0
    at = start - 1
    stream.seek(at)
    while at < size:
        block = stream.read(min(_BLOCK, size - at))
        if not block:
            break
        end = block.find(b"\n")
        if end >= 0:
            stream.seek(at + end + 1)
            return at + end + 1
        at += len(block)
    return size
