"""Patterns of the simulated world, compared token by token without an index."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from .connections import Subscription

Tokens = tuple[str, ...]


def matches(pattern: Tokens, subject: Tokens) -> bool:
    """Return whether a pattern matches a subject, token by token."""
    for i, token in enumerate(pattern):
        if token == ">":
            return i < len(subject)
        if i >= len(subject) or token not in ("*", subject[i]):
            return False
    return len(pattern) == len(subject)


def covers(pattern: Tokens, other: Tokens) -> bool:
    """Return whether a pattern matches all that another one matches."""
    for place, token in enumerate(pattern):
        if token == ">":
            return place < len(other)
        if place >= len(other) or other[place] == ">" or token not in ("*", other[place]):
            return False
    return len(pattern) == len(other)


class SubscribedPatterns:
    """The patterns of all accepted subscriptions, the oldest first."""

    def __init__(self, subscriptions: Iterable[Subscription]) -> None:
        self._all = {each.pattern: each.tokens for each in subscriptions}  # in order of first SUB
        self._by_fifth: dict[str, list[tuple[int, str]]] = defaultdict(list)
        for number, (text, tokens) in enumerate(self._all.items()):
            plain = len(tokens) > 4 and tokens[4] not in ("*", ">") and ">" not in tokens[:4]
            self._by_fifth[tokens[4] if plain else ""].append((number, text))

    def matching(self, subject: Tokens) -> list[str]:
        """Return the patterns that match a subject, the oldest first."""
        some = [*self._by_fifth[""]]
        if len(subject) > 4 and subject[4] in self._by_fifth:
            some += self._by_fifth[subject[4]]
        return [text for _, text in sorted(some) if matches(self._all[text], subject)]

    def nearest(self, subject: Tokens) -> tuple[str | None, int | None]:
        """Return the oldest pattern that matches, else the nearest and where it differs."""
        found = self.matching(subject)
        if found:
            return found[0], None
        best: tuple[str | None, int | None] = (None, None)
        most = -1
        for text, tokens in self._all.items():
            equal = _equal_tokens(tokens, subject)
            if equal > most:
                best, most = (text, equal), equal
        return best

    def route(self, subject: Tokens) -> str | None:
        """Return the path of the most specific route that matches a request."""
        found = [self._all[text] for text in self.matching(subject)]
        routes = [tokens for tokens in found if len(tokens) > 7 and _is_route(tokens)]
        if not routes:
            return None
        return ".".join(min(routes, key=_specific)[7:])


def _is_route(tokens: Tokens) -> bool:
    """Whether a pattern is one that a service subscribes to for a route."""
    return (
        tokens[1] in ("safe", "danger")
        and tokens[3] == "*"
        and "*" not in (tokens[0], tokens[4], tokens[5])
        and ">" not in tokens[:7]
    )


def _specific(tokens: Tokens) -> list[tuple[int, str]]:
    """Return a sort key: literal tokens before ``*`` before ``>``."""
    return [({"*": 1, ">": 2}.get(token, 0), token) for token in tokens[7:]]


def _equal_tokens(pattern: Tokens, subject: Tokens) -> int:
    """Return how many leading tokens of a pattern match those of a subject."""
    count = 0
    for ours, theirs in zip(pattern, subject, strict=False):
        if ours not in (theirs, "*"):
            break
        count += 1
    return count
