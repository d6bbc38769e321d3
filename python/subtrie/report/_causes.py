"""Findings by their cause: one about each identity, and the subscriber that was gone."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from itertools import islice
from typing import TYPE_CHECKING, Any

from .._core import engine
from .._core.errors import SubtrieError
from .._core.printable import printable, shortened
from .._findings.finding import LEVELS, Finding
from ..audit._tables.accounts import may_be_equal
from ._rows import earliest, latest, rows_of, time_text

if TYPE_CHECKING:
    from ..audit import Run

#: The tables that tell what an identity may not do; all of an identity have one cause.
_MISUSE = {
    "spoofed": "other senders named",
    "claimed_users": "other users claimed",
    "violations": "rules broken",
    "cross_plane": "other planes used",
    "refused": "refused by the broker",
}
#: The characters of a name in a sentence.
_NAME = 60
#: Those of what it did.
_WHY = 400
#: The subscriptions in which the one that was gone is looked for.
_SUBSCRIPTIONS = 20_000


@dataclass(frozen=True)
class Judged:
    """A finding, its account, and how many of its messages are also among the refused ones."""

    finding: Finding
    refused: int = 0
    account: str | None = None


def by_identity(found: Iterable[Judged]) -> list[Finding]:
    """Return findings in which all misuse of one identity of an account is one."""
    single: list[Finding] = []
    of_user: dict[tuple[str, str | None], list[Judged]] = {}
    for each in found:
        if each.finding.rule in _MISUSE and each.finding.user and each.finding.level != "note":
            of_user.setdefault((each.finding.user, each.account), []).append(each)
        else:
            single.append(each.finding)
    for user, account in [key for key in of_user if key[1] is None]:
        # A capture tells the account of messages, and none for CONNECT.
        told = [key for key in of_user if key[0] == user and key[1] is not None]
        if len(told) == 1:
            of_user[told[0]] += of_user.pop((user, account))
    for (user, _), some in of_user.items():
        kinds = dict.fromkeys(each.finding.rule for each in some)
        single += [each.finding for each in some] if len(kinds) < 2 else [_one(user, some, kinds)]
    return single


def _one(user: str, some: Sequence[Judged], kinds: Iterable[str]) -> Finding:
    """Return the findings about one identity as one; the worst is its example."""
    findings = [each.finding for each in some]
    findings.sort(key=lambda each: (LEVELS.index(each.level), -(each.count or 0), each.key))
    worst, names = findings[0], sorted(kinds, key=list(_MISUSE).index)
    refused = sum(each.count or 0 for each in findings if each.rule == "refused")
    messages = [each for each in findings if each.rule not in ("refused", "claimed_users")]
    others = sum(each.count or 0 for each in messages)
    count = others + max(0, refused - sum(each.refused for each in some))
    accepted = any(each.level == "error" for each in findings)
    title = "has no enforced rules" if accepted else "is held back by the broker"
    told = ", ".join(_MISUSE[name] for name in names)
    user = shortened(printable(user), _NAME)
    return replace(
        worst,
        message=f"{user} {title}: {len(names)} kinds of misuse, {count:,} messages ({told})",
        why=shortened(_narrow(findings), _WHY),
        instead=(
            "Give it a user of its own, whose rules allow what its source needs: subtrie "
            "gencreds makes them, subtrie acl usage takes them from the log."
        ),
        count=count,
        rows=sum(each.rows or 0 for each in findings),
        first=min((each.first for each in findings if each.first), default=None),
        last=max((each.last for each in findings if each.last), default=None),
        key=(worst.user,) if some[0].account is None else (worst.user, some[0].account),
    )


def _narrow(findings: Iterable[Finding]) -> str:
    """Return the messages of findings, in words that fit a small screen."""
    words = "; ".join(dict.fromkeys(each.message for each in findings)).split(" ")
    return " ".join(shortened(printable(word), 30) for word in words)


@dataclass
class _Subscriber:
    """The subscriptions of one identity to a pattern, around a time."""

    identity: str
    ended: datetime | None = None
    begins: datetime | None = None


class Subscribers:
    """The subscriptions of a run, to tell who was gone."""

    def __init__(self, result: Run) -> None:
        self._rows: dict[str, list[dict[str, Any]]] = {}
        for row in islice(rows_of(result, "subscriptions"), _SUBSCRIPTIONS):
            self._rows.setdefault(row["pattern"], []).append(row)

    def gone(
        self, subject: str, account: str | None, first: datetime | None, last: datetime | None
    ) -> str | None:
        """Return who subscribed a subject before or after a period, and when; None if none did.

        Args:
            subject: A subject, or the pattern of some.
            account: Its account; None if it is not told.
            first: The time of the first message that no subscriber received.
            last: That of the last one.
        """
        if first is None or last is None:
            return None
        for pattern in sorted(self._rows):
            if not _overlap(pattern, subject):
                continue
            rows = (r for r in self._rows[pattern] if may_be_equal(r["account"], account))
            found = _around(rows, first, last)
            if found is not None:
                return _told(found, pattern)
        return None


def _overlap(pattern: str, subject: str) -> bool:
    try:
        return engine.overlaps(pattern, subject) is not None
    except SubtrieError:
        return False


def _around(rows: Iterable[dict[str, Any]], first: datetime, last: datetime) -> _Subscriber | None:
    """Return the subscriber that was gone in a period; None if one was there."""
    found: _Subscriber | None = None
    for row in rows:
        start, end = row["start"], row["end"]
        if start is None or (start <= first and (end is None or end > last)):
            return None
        if found is None:
            found = _Subscriber(row["identity"] or row["conn"])
        if end is not None and end <= last:
            found.ended = latest(found.ended, end)
        elif start > first:
            found.begins = earliest(found.begins, start)
    return found


def _told(found: _Subscriber, pattern: str) -> str | None:
    ended, begins = time_text(found.ended), time_text(found.begins)
    if ended and begins:
        return f"{found.identity} did not subscribe {pattern} from {ended} to {begins}"
    if ended:
        return f"{found.identity} subscribed {pattern} until {ended}"
    return f"{found.identity} subscribed {pattern} only from {begins} on" if begins else None
