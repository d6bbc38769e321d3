"""The relation of two patterns: the subjects that they share, and which one covers the other."""

from __future__ import annotations

from typing import NamedTuple

from .._core import engine


class Relation(NamedTuple):
    """The relation of one pattern to another.

    Attributes:
        word: ``equals``, ``covers``, ``is covered by``, ``overlaps`` or ``is disjoint from``.
        common: a subject of both; None if there is none.
    """

    word: str
    common: str | None


def relation(pattern: str, other: str) -> Relation:
    """Return how one pattern relates to another.

    Args:
        pattern: a valid pattern.
        other: another.
    """
    common = engine.overlaps(pattern, other)
    if common is None:
        return Relation("is disjoint from", None)
    wider, narrower = engine.covers(pattern, other), engine.covers(other, pattern)
    if wider:
        return Relation("equals" if narrower else "covers", common)
    return Relation("is covered by" if narrower else "overlaps", common)
