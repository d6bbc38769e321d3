"""Texts with holes: what an expression may be, where part of it nobody can tell."""

from __future__ import annotations

import dataclasses
import itertools
from collections.abc import Iterable

#: Most texts that one expression may be; beyond that it is a hole.
MOST = 64
#: Longest text, in characters: no subject holds more.
LONGEST = 8192


@dataclasses.dataclass(frozen=True, slots=True)
class Hole:
    """A part that nobody can tell, and why."""

    why: str


Text = tuple[str | Hole, ...]


def hole(why: str) -> list[Text]:
    """One text, of which nothing is told."""
    return [(Hole(why),)]


def few(texts: Iterable[Text]) -> list[Text]:
    """Each once, or a hole where they are too many."""
    found = list(dict.fromkeys(merged(each) for each in itertools.islice(texts, MOST * MOST)))
    return found if len(found) <= MOST else hole(f"more than {MOST} values")


def merged(text: Text) -> Text:
    """In the fewest parts, or a hole where it is too long."""
    parts: list[str | Hole] = []
    for each in text:
        if isinstance(each, str) and parts and isinstance(parts[-1], str):
            parts[-1] += each
        elif isinstance(each, Hole) and parts and isinstance(parts[-1], Hole):
            continue  # one beside another is one
        elif each != "":
            parts.append(each)
    if len(parts) > MOST or sum(len(p) for p in parts if isinstance(p, str)) > LONGEST:
        return (Hole(f"a text of more than {LONGEST} characters or {MOST} parts"),)
    return tuple(parts) if parts else ("",)


def product(parts: Iterable[list[Text]]) -> list[Text]:
    """Each of the first before each of the second, and so on."""
    found: list[Text] = [("",)]
    for part in parts:
        if len(found) * len(part) > MOST * MOST:
            return hole(f"more than {MOST} values")
        several = dict.fromkeys(merged((*left, *right)) for left in found for right in part)
        if len(several) > MOST:
            return hole(f"more than {MOST} values")
        found = list(several)
    return found
