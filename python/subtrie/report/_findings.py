"""The findings of a run: rows of its tables, grouped, with a level and an example of each."""

from __future__ import annotations

import shlex
from collections import defaultdict
from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from itertools import islice, takewhile
from operator import itemgetter
from typing import TYPE_CHECKING, Any

from .._core.printable import printable, shortened
from .._findings.finding import LEVELS, Finding
from .._findings.rate import Rate
from ..audit._identity import may_be_equal
from ..audit._partial.rates import both_rates, rate_of_row, table_rate
from ..audit._results.row_lines import key_text
from ..audit._results.silent_consumers import silent_consumers
from ..audit._schema import TABLE_KEYS
from ._causes import (
    Gone,
    Judged,
    Program,
    Subscribers,
    by_identity,
    overlapped,
    with_slow_consumers,
)
from ._finding_rules import (
    AGAIN,
    RULES,
    UNACKNOWLEDGED,
    UNHEARD,
    UNMATCHED,
    FindingRule,
    Row,
)
from ._rows import earliest, latest, rate_of, rows_of, time_text

if TYPE_CHECKING:
    from ..audit import Run

#: Findings beyond this are counted and not shown: a list of hundreds is not read.
MOST_FINDINGS = 60
#: Titles are one or two lines; the example of a finding has all of it.
_TITLE = 160
#: The subscribed patterns that a subject without a subscriber is compared with, and the spoofed
#: subjects that violations are compared with.
_COMPARED = 2_000
#: The account of a system without accounts, as the server prints it for some connections.
_UNNAMED = (None, "$G")
#: The columns that name whom a row is about; the first that a table has.
_USERS = ("who", "identity", "service", "publisher")


def all_findings(result: Run, *, name: str = "RUN", logs: Sequence[str] = ()) -> list[Finding]:
    """Return all findings of a run, by level and count.

    Memory grows with the number of findings; each table is read once, that of violations twice.

    Args:
        result: The result of an audit.
        name: What the commands of the findings call its directory.
        logs: The logs, as the commands name them (default: ``LOG``).
    """
    has_calls = next(iter(rows_of(result, "call_graph")), None) is not None
    shown = logs or ("LOG",)
    rules = _without_flows() if has_calls else _with_nearest(result)
    subscribers = Subscribers(result)
    last = _links(subscribers)  # what its messages tell of a leaf node is not told again
    rules = [_without_spoofed(each, result) for each in rules if each.table != last.table]
    rules += [_unacknowledged(result), AGAIN, _unheard(result), _unmatched(result), last]
    judged = (
        each
        for rule in rules
        for each in _of_rule(
            rule, result, subscribers, lambda table, keys: _command(name, shown, table, keys)
        )
    )
    found = by_identity(with_slow_consumers(judged))
    found.sort(key=lambda each: (LEVELS.index(each.level), -(each.count or 0), each.witness or ""))
    return found


def _without_flows() -> list[FindingRule]:
    """Return the rules of a run with calls: the other tables say what flows would."""
    return [rule for rule in RULES if rule.table not in ("flows", "coverage")]


def _with_nearest(result: Run) -> list[FindingRule]:
    """Return all rules; that of flows names the subscribed pattern that is nearest."""
    rows = islice(rows_of(result, "coverage"), _COMPARED)
    known = sorted({(row["pattern"], row["account"]) for row in rows}, key=lambda one: one[0])

    def title(row: Row) -> str:
        told = f"{row['publisher']} publishes what no subscriber receives"
        own = [text for text, account in known if may_be_equal(account, row["account"])]
        equal, nearest = _nearest(row["pattern"], own)
        return f"{told}; the nearest pattern is {nearest}" if equal else told

    return [replace(rule, title=title) if rule.table == "flows" else rule for rule in RULES]


def _links(subscribers: Subscribers) -> FindingRule:
    """Return the rule about links that ended; each is one finding, also in the logs of both ends.

    A leaf node that messages missed is part of the finding about them.
    """
    [rule] = [each for each in RULES if each.table == "links"]
    return replace(
        rule, wanted=lambda row: rule.wanted(row) and not subscribers.is_told_elsewhere(row)
    )


def _unacknowledged(result: Run) -> FindingRule:
    """Return the rule about programs that acknowledge nothing of what a consumer delivers."""
    keys = TABLE_KEYS[UNACKNOWLEDGED.table]

    def key(row: Row) -> tuple[Any, ...]:
        return tuple(row[name] for name in keys)

    silent = {key(row) for row in silent_consumers(rows_of(result, UNACKNOWLEDGED.table))}
    return replace(UNACKNOWLEDGED, wanted=lambda row: key(row) in silent)


def _unheard(result: Run) -> FindingRule:
    """Return the rule about consumers that deliver to a subject that no client subscribes.

    Where a server has routes or gateways, clients of another one may subscribe it.
    """
    rows = list(rows_of(result, UNHEARD.table))
    subjects = (row.get("deliver_subject") for row in rows if row["who"] is None)
    wanted = {str(each) for each in subjects if each is not None}
    heard = overlapped(wanted, (row["pattern"] for row in rows_of(result, "subscriptions")))
    elsewhere = any(row["kind"] != "leaf" for row in rows_of(result, "links"))
    return replace(
        UNHEARD,
        level=lambda row: "note" if elsewhere else "warning",
        wanted=lambda row: row["who"] is None and row.get("deliver_subject") in wanted - heard,
    )


def _unmatched(result: Run) -> FindingRule:
    """Return the rule about consumers whose filter no stored message matched, of several others."""
    stored: dict[tuple[str, str | None], set[str]] = defaultdict(set)
    for row in rows_of(result, "flows"):
        kind, _, stream = str(row["subscriber"]).partition(" ")
        if kind == "stream" and row["queue"] is None and row["delivered"]:
            stored[stream, row["account"]].add(row["pattern"])

    def wanted(row: Row) -> bool:
        subjects = stored.get((row["stream"], row["account"]), set())
        filters = (row.get("filter_subject") or "").split()
        return bool(subjects and filters and not overlapped(subjects, filters))

    return replace(UNMATCHED, wanted=lambda row: row["who"] is None and wanted(row))


def _without_spoofed(rule: FindingRule, result: Run) -> FindingRule:
    """Return a rule that leaves out violations that are findings about a spoofed source."""
    if rule.table != "violations":
        return rule
    rows = (row for row in rows_of(result, rule.table) if row["kind"] == "spoofed")
    message = itemgetter("account", "who", "subject")
    told = set(map(message, islice(rows, _COMPARED)))
    return replace(rule, wanted=lambda row: rule.wanted(row) and message(row) not in told)


def _nearest(subject: str, patterns: Sequence[str]) -> tuple[int, str]:
    """Return the first pattern with the most leading tokens that match, and how many."""
    tokens = subject.split(".")
    best = 0, ""
    for pattern in patterns:
        pairs = zip(pattern.split("."), tokens, strict=False)
        equal = sum(1 for _ in takewhile(lambda pair: pair[0] in ("*", pair[1]), pairs))
        if equal > best[0]:
            best = equal, pattern
    return best


def _of_rule(
    rule: FindingRule,
    result: Run,
    subscribers: Subscribers,
    command: Callable[[str, list[Any]], str],
) -> Iterator[Judged]:
    groups: dict[tuple[Any, ...], _Group] = defaultdict(_Group)
    for row in _added(rows_of(result, rule.table), rule.added):
        if rule.wanted(row):
            counted = 1 if rule.counted is None else row[rule.counted]
            # A finding is about one account.
            groups[(*(row[name] for name in rule.group), row.get("account"))].add(row, counted)
    for (*values, account), group in groups.items():
        row = {**group.largest, **group.sums}
        keys = [group.largest[name] for name in TABLE_KEYS[rule.table]]
        if account in _UNNAMED:
            keys = keys[:-1] if TABLE_KEYS[rule.table][-1] == "account" else keys
        else:
            values.append(account)
        gone = None
        if rule.table in ("undelivered", "flows"):
            gone = subscribers.gone(str(row[rule.witness]), account, group.first, group.last)
        finding = Finding(
            rule=rule.table,
            level=rule.level(row),
            message=shortened(rule.title(row) if gone is None else _gone(row, gone), _TITLE),
            user=next((str(row[name]) for name in _USERS if row.get(name)), ""),
            why=rule.why,
            instead=rule.instead(row) if gone is None else _LATE if gone.waited else _GONE,
            count=group.count,
            rows=group.rows,
            witness=str(row[rule.witness]),
            first=time_text(group.first),
            last=time_text(group.last),
            rate=group.rate,
            command=command(rule.table, keys),
            key=tuple(map(key_text, values)),
        )
        refused = group.count - row["accepted"] if rule.table == "spoofed" else 0
        slow = None if gone is None else gone.slow
        if rule.table == "slow_consumers":
            slow = Program(row["account"], row["who"], row["client"])
        yield Judged(finding, refused, None if account in _UNNAMED else account, slow)


#: What helps if a subscriber was gone.
_GONE = (
    "Let the subscriber reconnect sooner, or run two in a queue group; a stream keeps messages for "
    "it meanwhile. The table history has the times: subtrie audit --subject."
)


#: Of a reply the requester does not wait for any longer.
_LATE = "Answer sooner, or let the requester wait longer; the table latency has the times."


def _gone(row: Row, gone: Gone) -> str:
    """Return the title of messages whose subscriber was gone."""
    publisher = row.get("publisher")
    if publisher is None:
        return gone.told
    if gone.waited:
        return f"{publisher} replied when the requester did not wait any longer"
    return f"{publisher} published while no client received it: {gone.told}"


def _added(rows: Iterator[Row], keys: tuple[str, ...]) -> Iterator[Row]:
    """Yield rows; those of several periods as one, with the sums of what was used."""
    if not keys:
        yield from rows
        return
    sums: dict[tuple[Any, ...], Row] = {}
    for row in rows:
        found = sums.setdefault(tuple(row[name] for name in keys), row)
        if found is not row:
            for name in ("accepted", "refused"):
                found[name] += row[name]
    yield from sums.values()


class _Group:
    """Rows that are one finding; the largest is its example."""

    def __init__(self) -> None:
        self.count = self.rows = 0
        self.largest: Row = {}
        self.sums = dict.fromkeys(("accepted", "received", "delivered", "redelivered"), 0)
        self.first: Any = None
        self.last: Any = None
        self._rate: tuple[int, ...] | None = None
        self._size = -1

    def add(self, row: Row, count: int) -> None:
        self.count += count
        self.rows += 1
        for name in self.sums:
            self.sums[name] += row.get(name) or 0
        if count > self._size:
            self._size, self.largest = count, row
        self.first = earliest(self.first, row.get("first"))
        self.last = latest(self.last, row.get("last"))
        self._rate = both_rates(self._rate, rate_of_row(row))

    @property
    def rate(self) -> Rate | None:
        """The count over time, if all of it has a time."""
        value = table_rate(self._rate, of=self.count)
        return None if value is None else rate_of(value)


def _command(run: str, logs: Sequence[str], table: str, keys: list[Any]) -> str:
    """Return the command that shows the lines of a row, quoted for a POSIX shell."""
    texts = [printable(key_text(key)) for key in keys]
    named = [word for log in logs for word in ("--log", printable(log))]
    # Words after -- are not options.
    return shlex.join(["subtrie", "report", "lines", *named, "--", run, table, *texts])
