"""Findings by their cause: one about each identity, and the subscriber that was gone, and why."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from datetime import datetime, timedelta
from itertools import islice
from typing import TYPE_CHECKING, Any, NamedTuple

from .._core import engine
from .._core.errors import SubtrieError
from .._core.printable import printable, shortened
from .._findings.finding import LEVELS, Finding
from ..audit._identity import may_be_equal
from ._rows import earliest, rates_together, rows_of, time_text

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
#: The characters of a title.
_TITLE = 160
#: The characters of a name in a sentence.
_NAME = 60
#: Those of what it did.
_WHY = 400
#: The subscriptions in which the one that was gone is looked for.
_SUBSCRIPTIONS = 20_000
#: The longest time between the end of a subscription and the line that tells its cause.
_AT_ONCE = timedelta(seconds=1)


class Program(NamedTuple):
    """A client of an account, as the tables name it."""

    account: str | None
    who: str | None
    client: str | None


@dataclass(frozen=True)
class Judged:
    """A finding, and what joins it with others.

    Attributes:
        finding: The finding.
        refused: How many of its messages are also among the refused ones.
        account: Its account.
        slow: The slow consumer that it is about, or whose end is its cause.
    """

    finding: Finding
    refused: int = 0
    account: str | None = None
    slow: Program | None = None


def with_slow_consumers(found: Iterable[Judged]) -> list[Judged]:
    """Return findings in which messages lost to a slow consumer are part of the one about it."""
    kept: list[Judged] = []
    lost: dict[Program, list[Finding]] = {}
    for each in found:
        if each.slow is not None and each.finding.rule != "slow_consumers":
            lost.setdefault(each.slow, []).append(each.finding)
        else:
            kept.append(each)
    return [
        replace(each, finding=_cut_off(each.finding, lost[each.slow]))
        if each.slow in lost
        else each
        for each in kept
    ]


def _cut_off(slow: Finding, lost: Sequence[Finding]) -> Finding:
    """Return the finding about a slow consumer with the messages that no client received then."""
    count = sum(each.count or 0 for each in lost)
    subjects = ", ".join(sorted({str(each.witness) for each in lost}))
    told = f"{slow.message}, and was cut off: no client received {count:,} messages to {subjects}"
    return replace(
        slow,
        message=shortened(told, _TITLE),
        count=count,
        rows=(slow.rows or 0) + sum(each.rows or 0 for each in lost),
        first=min((each.first for each in (slow, *lost) if each.first), default=None),
        last=max((each.last for each in (slow, *lost) if each.last), default=None),
        rate=rates_together((each.rate for each in lost), of=count),
    )


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
        rate=rates_together(
            (each.rate for each in findings if each.rule != "claimed_users"), of=count
        ),
        key=(worst.user,) if some[0].account is None else (worst.user, some[0].account),
    )


def _narrow(findings: Iterable[Finding]) -> str:
    """Return the messages of findings, in words that fit a small screen."""
    words = "; ".join(dict.fromkeys(each.message for each in findings)).split(" ")
    return " ".join(shortened(printable(word), 30) for word in words)


#: Server, connection and end of a link.
_Link = tuple[str, str, datetime]


#: Subjects on which a client waits for a reply to one request.
_INBOX = "_INBOX."


class Gone(NamedTuple):
    """A subscriber that was gone.

    Attributes:
        told: Who it was, and when, in words.
        slow: The program, if it was too slow.
        waited: Whether it waited for a reply; folded subjects of replies do not say who did.
    """

    told: str
    slow: Program | None
    waited: bool = False


@dataclass
class _Subscriber:
    """The subscriptions of one identity to a pattern, around a time."""

    row: dict[str, Any]
    ended: datetime | None = None
    begins: datetime | None = None


class Subscribers:
    """The subscriptions of a run, to tell who was gone, and why."""

    def __init__(self, result: Run) -> None:
        self._rows: dict[str, list[dict[str, Any]]] = {}
        for row in islice(rows_of(result, "subscriptions"), _SUBSCRIPTIONS):
            self._rows.setdefault(row["pattern"], []).append(row)
        #: Of a program, a row for each of its users.
        self._slow: dict[Program, list[dict[str, Any]]] = {}
        for row in rows_of(result, "slow_consumers"):
            program = Program(row["account"], row["who"], row["client"])
            self._slow.setdefault(program, []).append(row)
        links = [row for row in rows_of(result, "links") if row["kind"] == "leaf" and row["end"]]
        self._leaf_nodes = {_link(row): row for row in links}
        #: Of the two ends of a connection to a leaf node, the one that its findings are about.
        self._other_end = _pairs(links)
        self._named: set[_Link] = set()

    def gone(
        self, subject: str, account: str | None, first: datetime | None, last: datetime | None
    ) -> Gone | None:
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
                told = _told(found, pattern, self._leaf_node(found))
                return Gone(told, self._slow_one(found), pattern.startswith(_INBOX))
        return None

    def _slow_one(self, found: _Subscriber) -> Program | None:
        """Return the slow consumer whose connection ended with the subscription."""
        row = found.row
        program = Program(row["account"], row["identity"], row["client"])
        ended = found.ended
        at_once = ended is not None and any(
            slow["first"] - _AT_ONCE <= ended <= slow["last"] + _AT_ONCE
            for slow in self._slow.get(program, ())
            if slow["first"] is not None
        )
        return program if at_once else None

    def is_told_elsewhere(self, row: dict[str, Any]) -> bool:
        """Return whether the end of a link is that of another row, or was named as a cause."""
        link = _link(row)
        return link in self._other_end or link in self._named

    def _leaf_node(self, found: _Subscriber) -> str | None:
        """Return the name of the leaf node whose connection ended with the subscription."""
        for (server, conn, end), link in self._leaf_nodes.items():
            ours = (server, conn) == (found.row["server"], found.row["conn"])
            if ours and found.ended and abs(end - found.ended) <= _AT_ONCE:
                self._named |= {_link(link), self._other_end.get(_link(link), _link(link))}
                return str(link["remote"] or found.row["identity"] or conn)
        return None


def _link(row: dict[str, Any]) -> _Link:
    return row["server"], row["conn"], row["end"]


def _pairs(links: Sequence[dict[str, Any]]) -> dict[_Link, _Link]:
    """Return the links to leaf nodes whose end another server told first, each with that link."""
    found: dict[_Link, _Link] = {}
    rows = sorted(links, key=lambda row: row["end"])
    for place, row in enumerate(rows):
        until = row["end"] + _AT_ONCE
        for other in rows[place + 1 :]:
            if other["end"] > until:
                break
            free = not {_link(row), _link(other)} & {*found, *found.values()}
            if free and other["server"] != row["server"]:
                found[_link(other)] = _link(row)
                break
    return found


def overlapped(subjects: set[str], patterns: Iterable[str]) -> set[str]:
    """Return the subjects that one of some patterns matches."""
    found: set[str] = set()
    for pattern in patterns if subjects else ():
        found |= {each for each in subjects - found if _overlap(pattern, each)}
    return found


def _overlap(pattern: str, subject: str) -> bool:
    try:
        return engine.overlaps(pattern, subject) is not None
    except SubtrieError:
        return False


def _around(rows: Iterable[dict[str, Any]], first: datetime, last: datetime) -> _Subscriber | None:
    """Return the subscriber that was gone in a period; None if one was there.

    Of several it is the one that left last, of those a leaf node sooner than its clients.
    """
    found: _Subscriber | None = None
    begins: datetime | None = None
    for row in rows:
        start, end = row["start"], row["end"]
        if start is None or (start <= first and (end is None or end > last)):
            return None
        if found is None:
            found = _Subscriber(row)
        if end is not None and end <= last:
            if _leaves_later(row, found):
                found = _Subscriber(row, end)
        elif start > first:
            begins = earliest(begins, start)
    if found is not None:
        found.begins = begins
    return found


def _leaves_later(row: dict[str, Any], known: _Subscriber) -> bool:
    """Return whether a subscription is the one to name, rather than the one that is known."""
    if known.ended is None:
        return True
    leaf_node, other = ("/leaf:" in each["conn"] for each in (row, known.row))
    near = abs(row["end"] - known.ended) <= _AT_ONCE
    return leaf_node if near and leaf_node != other else bool(row["end"] > known.ended)


def _told(found: _Subscriber, pattern: str, leaf_node: str | None) -> str:
    """Return what became of a subscriber, which has ended or begins."""
    ended, begins = time_text(found.ended), time_text(found.begins)
    who = found.row["identity"] or found.row["conn"]
    if leaf_node is not None:
        since = f"from {ended} to {begins}" if begins else f"from {ended} on"
        return f"the leaf node {leaf_node} ({pattern}) was down {since}"
    if ended and begins:
        return f"{who} did not subscribe {pattern} from {ended} to {begins}"
    if ended:
        return f"{who} subscribed {pattern} until {ended}"
    return f"{who} subscribed {pattern} only from {begins} on"
