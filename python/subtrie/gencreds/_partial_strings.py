"""Partial strings: the texts an expression may have, with parts that are unknown statically."""

from __future__ import annotations

import dataclasses
import itertools
from collections.abc import Iterable

#: Most texts that one expression may have; an expression with more is an unknown part.
MAX_VALUES = 64
#: Longest text, in characters: longer than any subject.
MAX_CHARACTERS = 8192


@dataclasses.dataclass(frozen=True, slots=True)
class UnknownPart:
    """A part that cannot be determined, and the reason."""

    why: str


PartialString = tuple[str | UnknownPart, ...]


def unknown(why: str) -> list[PartialString]:
    """Return one text that consists of an unknown part."""
    return [(UnknownPart(why),)]


def bounded(texts: Iterable[PartialString]) -> list[PartialString]:
    """Return the distinct texts, or an unknown part if there are too many."""
    several = itertools.islice(texts, MAX_VALUES * MAX_VALUES)
    found = list(dict.fromkeys(normalised(each) for each in several))
    return found if len(found) <= MAX_VALUES else unknown(f"more than {MAX_VALUES} values")


def normalised(text: PartialString) -> PartialString:
    """Return the text in the fewest parts, or an unknown part if it is too long."""
    parts: list[str | UnknownPart] = []
    for each in text:
        if isinstance(each, str) and parts and isinstance(parts[-1], str):
            parts[-1] += each
        elif isinstance(each, UnknownPart) and parts and isinstance(parts[-1], UnknownPart):
            continue  # adjacent unknown parts are one
        elif each != "":
            parts.append(each)
    if len(parts) > MAX_VALUES or sum(len(p) for p in parts if isinstance(p, str)) > MAX_CHARACTERS:
        why = f"a text of more than {MAX_CHARACTERS} characters or {MAX_VALUES} parts"
        return (UnknownPart(why),)
    return tuple(parts) if parts else ("",)


def concatenations(parts: Iterable[list[PartialString]]) -> list[PartialString]:
    """Return each text of the first part followed by each of the second, and so on."""
    found: list[PartialString] = [("",)]
    for part in parts:
        several = dict.fromkeys(normalised((*left, *right)) for left in found for right in part)
        if len(several) > MAX_VALUES:
            return unknown(f"more than {MAX_VALUES} values")
        found = list(several)
    return found
