"""Streams that may hold a message of one subject, and what of one stream another one captures."""

from __future__ import annotations

import dataclasses
from collections.abc import Iterator
from itertools import combinations

from ..._core import engine
from .access import pattern_of_destination
from .streams import Stream, Streams


@dataclasses.dataclass(frozen=True, slots=True)
class Overlap:
    """Two streams with a common subject.

    Attributes:
        one: a stream.
        two: the stream that captures the subject, too.
        how: what of the first stream has the subject: ``captures``, ``publishes again``, or
            ``delivers`` and the name of a consumer.
        example: a common subject.
    """

    one: Stream
    two: Stream
    how: str
    example: str

    @property
    def sentence(self) -> str:
        """The overlap as a sentence."""
        if self.how == "captures":
            return f"{self.one.label} and {self.two.label} both capture {self.example}"
        return f"{self.two.label} captures what {self.one.label} {self.how}: {self.example}"


def overlaps(streams: Streams) -> list[Overlap]:
    """Return each overlap of two streams, with an example.

    In one account, the broker refuses two streams that capture a common subject; in two accounts,
    both may.
    """
    found = []
    for one, two in combinations(streams.streams, 2):
        example = _common(one.subjects, two)
        if example is not None:
            found.append(Overlap(one, two, "captures", example))
    for one in streams.streams:
        for two in streams.of(one.account):
            if two is not one:
                found += _captured(one, two)
    return found


def _captured(one: Stream, two: Stream) -> Iterator[Overlap]:
    if one.republish is not None:
        pattern = pattern_of_destination(one.republish[1])
        if (example := _common((pattern,), two)) is not None:
            yield Overlap(one, two, "publishes again", example)
    for each in one.consumers or ():
        if each.deliver is not None and (example := _common((each.deliver,), two)) is not None:
            yield Overlap(one, two, f"delivers by the consumer {each.name}", example)


def _common(patterns: tuple[str, ...], stream: Stream) -> str | None:
    for one in patterns:
        for two in stream.subjects:
            if (found := engine.overlaps(one, two)) is not None:
                return str(found)
    return None
