"""Explanations: the subscriptions that match a subject, or the patterns nearest to it."""

from __future__ import annotations

import reprlib
from dataclasses import dataclass
from typing import TYPE_CHECKING

from .subject import Pattern, Subject

if TYPE_CHECKING:
    from .engine import Subscription


@dataclass(frozen=True, slots=True)
class NearMiss:
    """A pattern that does not match a subject, but shares its first tokens.

    Attributes:
        pattern: The pattern.
        differs_at: The zero-based index of the first token that differs; the number of tokens of
            the subject if the pattern is longer.
        subscription: The oldest subscription with this pattern.
    """

    pattern: Pattern
    differs_at: int
    subscription: Subscription


@dataclass(frozen=True, slots=True)
class Explanation:
    """The subscriptions that match a subject or, if none does, the nearest patterns.

    It is true if a subscription matches.
    """

    __module__ = "subtrie"  # which imports it when it is first used

    subject: Subject
    matches: tuple[Subscription, ...]
    nearest: tuple[NearMiss, ...]

    @property
    def differs_at(self) -> int | None:
        """The zero-based index of the first token in which the nearest pattern differs, or None."""
        return self.nearest[0].differs_at if self.nearest else None

    def __bool__(self) -> bool:
        return bool(self.matches)

    def __str__(self) -> str:
        if self.matches:
            lines = [f"{self.subject} matches"]
            for match in self.matches:
                queue = "" if match.queue is None else f" in queue {match.queue}"
                lines.append(f"  {match.pattern} (subscription {match.id}{queue})")
        elif self.nearest:
            lines = [f"{self.subject} matches no pattern; nearest:"]
            lines += [f"  {miss.pattern}: {self._difference(miss)}" for miss in self.nearest]
        else:
            lines = [f"{self.subject} matches no pattern"]
        return "\n".join(lines)

    def _repr_html_(self) -> str:
        from .display import table

        if self.matches:
            return table(
                f"{self.subject} matches",
                ("subscription", "pattern", "queue", "value"),
                (
                    (each.id, each.pattern, each.queue, reprlib.repr(each.value))
                    for each in self.matches
                ),
            )
        rows = ((miss.pattern, self._difference(miss)) for miss in self.nearest)
        return table(f"{self.subject} matches no pattern", ("nearest", "difference"), rows)

    def _difference(self, miss: NearMiss) -> str:
        subject, pattern, place = self.subject.tokens, miss.pattern.tokens, miss.differs_at
        if place >= len(subject):
            return f"the subject ends before token {place}, {pattern[place]!r}"
        if place >= len(pattern):
            return f"the pattern ends before token {place}, {subject[place]!r}"
        return f"token {place} is {subject[place]!r}, not {pattern[place]!r}"
