"""Images of an index, and what may happen to them: words changed, sums made to fit again, cuts."""

from __future__ import annotations

import struct
import zlib
from typing import Any, NamedTuple

from subtrie import reference

#: Words of the header.
VERSION, FLAGS, TOKENS, LENGTH, NEXT_ID, ROW_COUNT, PATTERN_COUNT = 1, 2, 6, 7, 8, 9, 10
TABLE, LISTS, BLOCKS, ROW_WORDS, NAMES = 12, 14, 16, 18, 20
CONTENT_SUM, HEADER_SUM = 30, 31


def example() -> bytes:
    """A small image: four subscriptions, three patterns, two queues, a turn; no table."""
    trie = reference.SubjectTrie()
    trie.update([("a.*", 0, "q"), ("gone", 1), ("a.*", 2), ("b.>", 3, "w"), ("a.*", 4, "q")])
    trie.remove(list(trie)[1])
    trie.select("a.b")
    return trie.to_bytes()


def words_of(image: bytes) -> list[int]:
    """The words of an image."""
    return [word for (word,) in struct.iter_unpack("<Q", image)]


def bytes_of(words: list[int]) -> bytes:
    """The bytes of words."""
    return struct.pack(f"<{len(words)}Q", *words)


def repaired(image: bytes) -> bytes:
    """The image with both sums right."""
    words = words_of(image)
    words[CONTENT_SUM] = zlib.crc32(image[256:])
    words[HEADER_SUM] = zlib.crc32(bytes_of(words[:HEADER_SUM]))
    return bytes_of(words)


def changed(image: bytes, word: int, value: int) -> bytes:
    """The image with another word, its sums right again."""
    words = words_of(image)
    words[word] = value % 2**64
    return repaired(bytes_of(words))


class Damage(NamedTuple):
    """One word of the image that is changed, counted from a section if one is named."""

    word: int = 0
    value: int = 0
    section: int | None = None
    keeps_sums: bool = False
    length: int | None = None

    def image(self) -> bytes:
        """The damaged image."""
        image = example()
        if self.length is not None:
            return (image + bytes(self.length))[: self.length]
        words = words_of(image)
        at = self.word + (0 if self.section is None else words[self.section])
        words[at] = self.value
        return bytes_of(words) if self.keeps_sums else repaired(bytes_of(words))

    def written(self) -> dict[str, Any]:
        """Return the fields that differ from an undamaged image."""
        return {
            name: value
            for name, value in self._asdict().items()
            if value != self._field_defaults[name]
        }
