"""Images of an index: 64-bit little-endian words, in the format of ``docs/subject-index.md``.

The reference writes rows and patterns without a hash table, and reads images with or without one,
building its tree from the rows. The content of an image is untrusted: no number in it determines an
allocation, every link is followed once, every text is validated.
"""

from __future__ import annotations

import struct
import zlib
from collections.abc import Iterator
from itertools import pairwise
from typing import Any, NamedTuple

from .._core.errors import SubtrieError, refusal
from .._core.subject import Pattern
from ._grammar import check_pattern
from ._subscription import subscribed
from ._tree import Entry
from ._validation import check_queue

_MAGIC = b"subtrie\n"
_VERSION = 2
_HEADER = struct.Struct("<32Q")
_ROW = struct.Struct("<QIIQ")  # id, queue, next of the pattern, turns
_BLOCK = struct.Struct("<QIIQ")  # form, first slot, last slot, id of the first

# The flags: the dialect and whether there is a hash table. Bit 1 describes its hash function.
_SERVER, _TABLE, _FLAGS = 1, 4, 7

_NO_SLOT = 2**32 - 1
_NOT_GIVEN = 2**64 - 1

# The limits of a short form: the number of '*', the position of the last one, the text length.
_MAX_STARS, _LAST_STAR, _MAX_LENGTH = 6, 62, 2**20 - 1


class StoredEntry(NamedTuple):
    """A subscription in an image."""

    id: int
    pattern: str
    queue: str | None
    turn: int


class ImageContent(NamedTuple):
    """The content of an image, in ascending order of ids."""

    dialect: str
    given: tuple[int | None, int | None]
    following: int
    held: list[StoredEntry]


def image_of(
    rows: list[Entry], dialect: str, given: tuple[int | None, int | None], following: int
) -> bytes:
    """Return the image of entries, which must be in ascending order of ids."""
    slots: dict[str, list[int]] = {}  # in the order of their oldest subscription
    numbers: dict[str, int] = {}
    for slot, row in enumerate(rows):
        slots.setdefault(row.pattern, []).append(slot)
        if row.queue is not None:
            numbers.setdefault(row.queue, len(numbers))
    blocks = bytearray()
    after = [_NO_SLOT] * len(rows)
    for pattern, own in slots.items():
        text = pattern.encode()
        blocks += _BLOCK.pack(_form_of(text), own[0], own[-1], rows[own[0]].id) + _padded(text)
        for slot, next_slot in pairwise(own):
            after[slot] = next_slot
    lines = bytearray()
    for row, next_slot in zip(rows, after, strict=True):
        number = _NO_SLOT if row.queue is None else numbers[row.queue]
        lines += _ROW.pack(row.id, number, next_slot, row.turn & _NOT_GIVEN)
    names = b"".join(_named(queue.encode()) for queue in numbers)
    sections = [b"", b"", bytes(blocks), bytes(lines), names]
    places: list[int] = []
    at = 32
    for section in sections:
        places += [at, len(section) // 8]
        at += len(section) // 8
    content = b"".join(sections)
    head = [
        int.from_bytes(_MAGIC, "little"), _VERSION, _SERVER if dialect == "server" else 0, 0, 0, 0,
        *map(_bound_word, given), following, len(rows), len(slots), 0,
        *places, *[0] * 8, zlib.crc32(content), 0,
    ]  # fmt: skip
    head[31] = zlib.crc32(_HEADER.pack(*head)[:-8])
    return _HEADER.pack(*head) + content


def _bound_word(given: int | None) -> int:
    # The largest limit would mean no limit; no text is as long as either.
    return _NOT_GIVEN if given is None else min(given, _NOT_GIVEN - 1)


def _padded(text: bytes) -> bytes:
    return text + bytes(-len(text) % 8)


def _named(name: bytes) -> bytes:
    return len(name).to_bytes(8, "little") + _padded(name)


def _form_of(text: bytes) -> int:
    """Return the word that describes the shape of a pattern."""
    tokens = text.split(b".")
    stars = [position for position, token in enumerate(tokens) if token == b"*"]
    if len(stars) > _MAX_STARS or stars[-1:] > [_LAST_STAR] or len(text) > _MAX_LENGTH:
        return 1 | len(text) << 32
    word = (tokens[-1] == b">") << 1 | len(stars) << 2 | len(text) << 5
    for place, position in enumerate(stars):
        word |= position << (25 + 6 * place)
    return word


def read_image(image: Any, verify: bool) -> ImageContent:
    """Return the content of an image.

    Args:
        image: Any object with a contiguous buffer of bytes.
        verify: Whether to verify the checksum.

    Raises:
        SubtrieError: The bytes are not a valid image.
        BufferError: The buffer is not contiguous.
    """
    if not isinstance(verify, bool):
        raise TypeError(f"verify must be bool, not {type(verify).__name__}")
    view = memoryview(image)
    if not view.c_contiguous or view.format not in ("B", "b", "c"):
        raise BufferError("an image must be contiguous bytes")
    data = view.tobytes()  # its owner may write to it
    if data[:8] != _MAGIC:
        raise _refused("image-magic")
    if len(data) < _HEADER.size:
        raise _refused("image-length")
    head = _HEADER.unpack_from(data)
    if head[1] != _VERSION:
        raise _refused("image-version")
    if head[31] != zlib.crc32(data[: _HEADER.size - 8]):
        raise _refused("image-header")
    starts, counts = head[12:22:2], head[13:22:2]
    ends = [start + count for start, count in zip(starts, counts, strict=True)]
    if list(starts) != [32, *ends[:-1]] or ends[-1] >> 64:
        raise _refused("image-header")
    if len(data) != 8 * ends[-1]:
        raise _refused("image-length")
    if verify and head[30] != zlib.crc32(data[_HEADER.size :]):
        raise _refused("image-checksum")
    if head[2] > _FLAGS or counts[3] != 3 * head[9] or 0 in head[6:8]:
        raise _refused("image-header")
    dialect = "server" if head[2] & _SERVER else "strict"
    tokens, length = (None if word == _NOT_GIVEN else word for word in head[6:8])
    blocks, lines, names = (
        data[8 * start : 8 * end] for start, end in zip(starts[2:], ends[2:], strict=True)
    )
    held = _held(blocks, lines, list(_names(names, dialect)), dialect, (tokens, length), head[10])
    ids = [row.id for row in held]
    if any(one >= two for one, two in pairwise([*ids, head[8]])):
        raise _refused("image-damaged")
    return ImageContent(dialect, (tokens, length), head[8], held)


def _held(
    blocks: bytes,
    lines: bytes,
    names: list[str],
    dialect: str,
    given: tuple[int | None, int | None],
    patterns: int,
) -> list[StoredEntry]:
    """Return the subscriptions by slot; each must be in the list of exactly one pattern."""
    rows = list(_ROW.iter_unpack(lines))
    held: list[StoredEntry | None] = [None] * len(rows)
    count = 0
    for text, first, last, first_id in _blocks(blocks):
        count += 1
        try:
            check_pattern(text, dialect, *given)
        except SubtrieError:
            raise _refused("image-damaged") from None
        slot = first
        while True:
            if slot >= len(rows) or held[slot] is not None:
                raise _refused("image-damaged")
            id_, queue, following, turn = rows[slot]
            fits = slot != first or id_ == first_id
            if not fits or (queue != _NO_SLOT and queue >= len(names)):
                raise _refused("image-damaged")
            name = None if queue == _NO_SLOT else names[queue]
            held[slot] = StoredEntry(id_, text, name, turn)
            if following == _NO_SLOT:
                break
            slot = following
        if slot != last:
            raise _refused("image-damaged")
    full = [row for row in held if row is not None]
    if count != patterns or len(full) != len(rows):
        raise _refused("image-damaged")
    return full


def _blocks(data: bytes) -> Iterator[tuple[str, int, int, int]]:
    """Iterate over the patterns: the slots of the first and last subscription, the first's id."""
    at = 0
    while at < len(data):
        if at + _BLOCK.size > len(data):
            raise _refused("image-damaged")
        form, first, last, first_id = _BLOCK.unpack_from(data, at)
        length = form >> 32 if form & 1 else form >> 5 & _MAX_LENGTH
        text = _text(data, at + _BLOCK.size, length)
        if form != _form_of(text.encode()):
            raise _refused("image-damaged")
        yield text, first, last, first_id
        at += _BLOCK.size + length + -length % 8


def attach_values(rows: list[Entry], values: list[Any], dialect: str) -> None:
    """Give the entries of an opened image their values and subscriptions."""
    patterns: dict[str, Pattern] = {}  # one for all entries of a pattern, which may be long
    for row, value in zip(rows, values, strict=True):
        pattern = patterns.get(row.pattern)
        if pattern is None:
            pattern = patterns[row.pattern] = Pattern._of(row.pattern, dialect)
        row.value = value
        row.subscription = subscribed(pattern, dialect, value, row.queue, row.id)


def _names(data: bytes, dialect: str) -> Iterator[str]:
    at = 0
    while at < len(data):
        length = int.from_bytes(data[at : at + 8], "little")
        name = _text(data, at + 8, length)
        try:
            check_queue(name, dialect)
        except SubtrieError:
            raise _refused("image-damaged") from None
        yield name
        at += 8 + length + -length % 8


def _text(data: bytes, at: int, length: int) -> str:
    if length > len(data) - at:
        raise _refused("image-damaged")
    try:
        return data[at : at + length].decode()
    except UnicodeDecodeError:
        raise _refused("image-damaged") from None


def _refused(reason: str) -> SubtrieError:
    return refusal("SubtrieError", reason, None)
