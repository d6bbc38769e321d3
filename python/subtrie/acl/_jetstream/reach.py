"""The subjects that a user can make arrive in an account, and those that it can receive of it."""

from __future__ import annotations

import dataclasses
from collections.abc import Iterator, Sequence

from ..._core import engine
from ..._nats.reserved_subjects import RESERVED_REPLIES
from .._account import Account, pattern_of, transformed
from .._delivery import Courses, delivery
from .._deployment import Deployment
from .._entitlement import entitlement
from .._permissions import Permissions

#: Most service imports that follow one another.
_MAX_IMPORTS = 4

#: Stand for wildcards while a pattern is renamed as a subject is.
_ONE, _REST = "\N{SECTION SIGN}", "\N{PILCROW SIGN}"

_EVERYTHING = Permissions()


@dataclasses.dataclass(frozen=True, slots=True)
class Reached:
    """The answer to one question of reach.

    Attributes:
        subject: the subject that the user publishes or subscribes to; an example.
        rule: the entry of the user's lists that allows it, or why it is not known.
        determined: False if it is not known whether the user can.
    """

    subject: str
    rule: str
    determined: bool = True


class Reach:
    """The reach of one user: what it can make arrive in an account, and receive of it.

    Args:
        deployment: the accounts and users.
        user: the name of the user.
        account: the name of the account.
    """

    def __init__(self, deployment: Deployment, user: str, account: str) -> None:
        self.permissions = deployment.users[user]
        self._accounts = deployment.accounts
        self._here, self._there = deployment.account_of(user), deployment.accounts[account]
        self._courses = Courses(deployment.accounts, deployment.cluster)

    @property
    def inside(self) -> bool:
        """True if the user is one of the account."""
        return self._here is self._there

    def sent(self, pattern: str, *, as_stream: bool = False) -> Reached | None:
        """Return how the user can make a message arrive under some subject of a pattern.

        Args:
            pattern: a pattern of the account.
            as_stream: also by what the account imports as a stream.
        """
        unsure = None
        for here in self._origins(self._here, pattern, as_stream, 0):
            means = entitlement(self.permissions, here, "publish")
            if means is None:
                continue
            subject = means.witness or here
            if not means.determined:
                unsure = Reached(subject, means.rule, determined=False)
                continue
            found = delivery(
                self._courses, self._here, subject, self._there, self.permissions, _EVERYTHING,
                pattern, None,
            )  # fmt: skip
            if found:
                return Reached(subject, means.rule)
            # Another subject of the pattern may pass the mapping.
            unsure = Reached(subject, found.explanation, determined=False)
        return unsure

    def received(self, pattern: str, without: Sequence[str] = ()) -> Reached | None:
        """Return how the user can receive a message of the account of some subject of a pattern.

        Args:
            pattern: a pattern of the account.
            without: patterns of subjects that do not count.
        """
        unsure = None
        for there, here in self._ends(pattern):
            if not without or not self.inside:
                if any(engine.covers(each, there) for each in without):
                    continue
                means = entitlement(self.permissions, here, "receive")
                if means is None:
                    continue
                found = Reached(means.witness or here, means.rule, means.determined)
            else:
                apart = self._apart(here, without)
                if apart is None:
                    continue
                found = apart
            if found.determined:
                return found
            unsure = found
        return unsure

    def answered(self) -> Reached | None:
        """Return a subject at which the user can receive an answer: any that is not reserved."""
        if not self.permissions.determined:
            return self.received(">")
        return self._apart(">", tuple(f"{each}>" for each in RESERVED_REPLIES))

    def published(self, without: Sequence[str]) -> Reached | None:
        """Return a subject of none of some patterns that the user may publish in the account."""
        return self._apart(">", without, "publish") if self.inside else None

    def _apart(self, pattern: str, without: Sequence[str], verb: str = "receive") -> Reached | None:
        """A subject of a pattern, but of none of others, that the user may use."""
        if not self.permissions.determined:
            return Reached(pattern, self.permissions.decided_by, determined=False)
        allow, deny = self.permissions.lists("publish" if verb == "publish" else "subscribe")
        denied = [*deny, *without]
        found = engine.rules_overlap(allow, denied, [pattern], [], self.permissions.cap)
        if found is None:
            return None
        means = entitlement(self.permissions, str(found[0]), verb)
        if means is None:
            return None
        return Reached(str(found[0]), means.rule, means.determined)

    def _origins(
        self, account: Account, pattern: str, as_stream: bool, depth: int
    ) -> Iterator[str]:
        """The patterns of an account under which a message reaches the other as a pattern."""
        if account is self._there:
            yield pattern
        if depth == _MAX_IMPORTS:
            return
        for each in account.imports:
            if each.kind == "service" and each.account in self._accounts:
                there = self._accounts[each.account]
                for wanted in self._origins(there, pattern, as_stream, depth + 1):
                    if (here := renamed(*each.ends, wanted)) is not None:
                        yield here
        if as_stream and account is not self._there:
            for each in self._there.imports:
                if each.kind == "stream" and each.account == account.name:
                    there_pattern = renamed(*each.ends[::-1], pattern)
                    if there_pattern is not None:
                        yield there_pattern

    def _ends(self, pattern: str) -> Iterator[tuple[str, str]]:
        """The parts of a pattern that the user's account receives: as they are there, and here."""
        if self.inside:
            yield pattern, pattern
            return
        for each in self._here.imports:
            if each.kind == "stream" and each.account == self._there.name:
                there = meet(pattern_of(each.subject), pattern)
                if there is None:
                    continue
                here = renamed(*each.ends, pattern)
                if here is not None:
                    yield there, here


def meet(one: str, two: str) -> str | None:
    """Return the pattern of the subjects that two patterns match; None if there are none."""
    left, right = one.split("."), two.split(".")
    found: list[str] = []
    for index in range(max(len(left), len(right))):
        if index >= len(left) or index >= len(right):
            return None
        a, b = left[index], right[index]
        if a == ">":
            return ".".join([*found, *right[index:]])
        if b == ">":
            return ".".join([*found, *left[index:]])
        if a != b and "*" not in (a, b):
            return None
        found.append(b if a == "*" else a)
    return ".".join(found)


def renamed(source: str, target: str, pattern: str) -> str | None:
    """Return the subjects of a pattern that match ``source`` as they are under ``target``.

    Either side may number its wildcards, as imports do.
    """
    both = meet(pattern_of(source), pattern)
    if both is None:
        return None
    text = ".".join({"*": _ONE, ">": _REST}.get(token, token) for token in both.split("."))
    found = transformed(source, target, text)
    if found is None:
        return None
    return ".".join({_ONE: "*", _REST: ">"}.get(token, token) for token in found.split("."))
