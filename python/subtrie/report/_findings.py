"""The findings of a run: rows of its tables, grouped, with a level and an example of each."""

from __future__ import annotations

import shlex
from collections import defaultdict
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import islice, takewhile
from typing import TYPE_CHECKING, Any

from .._core.printable import printable, shortened
from .._findings.finding import LEVELS, Finding
from ..audit._results.row_lines import key_text
from ..audit._results.verdict import CLAIMS
from ..audit._schema import TABLE_KEYS
from ._causes import Judged, Subscribers, by_identity
from ._rows import crossed, earliest, latest, program_of, rows_of, time_text

if TYPE_CHECKING:
    from ..audit import Run

#: Findings beyond this are counted and not shown: a list of hundreds is not read.
MOST_FINDINGS = 60
#: Titles are one or two lines; the example of a finding has all of it.
_TITLE = 160
#: The subscribed patterns that a subject without a subscriber is compared with, and the spoofed
#: subjects that violations are compared with.
_COMPARED = 2_000
#: The columns that name whom a row is about; the first that a table has.
_USERS = ("who", "identity", "service", "publisher")
#: What client libraries subscribe for themselves.
_OF_LIBRARIES = ("$", "_INBOX.")
_Row = dict[str, Any]


@dataclass(frozen=True)
class _FindingRule:
    """The rule by which rows of a table become findings.

    Attributes:
        table: The table.
        group: The columns by which rows are one finding.
        counted: The column that is added up; None counts rows.
        witness: The column of the example.
        level: The level of a group, from its rows added up.
        title: One line on a group, from its largest row.
        why: What it means; empty if the title says so.
        instead: What would work, by the largest row of a group.
        wanted: Whether a row is a finding at all.
        added: Columns by which rows of several periods are added up before they are judged.
    """

    table: str
    group: tuple[str, ...]
    counted: str | None
    witness: str
    level: Callable[[_Row], str]
    title: Callable[[_Row], str]
    why: str
    instead: Callable[[_Row], str]
    wanted: Callable[[_Row], bool] = lambda row: True
    added: tuple[str, ...] = ()


def _always(text: str) -> Callable[[_Row], str]:
    return lambda row: text


def _undelivered_title(row: _Row) -> str:
    if row["nearest"] is None:
        return "No pattern is near this subject"
    if row["subscription_inactive"]:
        return "The subscriber was not subscribed at that time"
    place = row["differs_at"]
    ours, theirs = (row[name].split(".")[place:] for name in ("subject", "nearest"))
    if not ours or not theirs:
        return f"No subscriber; the nearest pattern differs at token {place}"
    return f"No subscriber: {shortened(ours[0])}, where the nearest pattern has {theirs[0]}"


def _undelivered_advice(row: _Row) -> str:
    if row["subscription_inactive"]:
        return (
            "Find out when the subscriber was gone: subtrie audit --subject has it in the table "
            "history."
        )
    return (
        "Compare the subject with the nearest pattern: one of the two is misspelled, or the "
        "endpoint does not exist."
    )


def _spoofed_level(row: _Row) -> str:
    """Return the level; a name that the client claims itself is not an accusation."""  # A82
    if row["identity_source"] in CLAIMS:
        return "note"
    return "error" if row["accepted"] else "warning"


_RULES = (
    _FindingRule(
        "spoofed",
        ("who", "claimed"),
        "count",
        "subject",
        _spoofed_level,
        lambda row: (
            f"{row['who']} sent as {row['claimed']}"
            + (f"; the broker accepted {row['accepted']}" if row["accepted"] else "; all refused")
        ),
        "",
        _always("Give each service its own user, whose publish rules name it as the source."),
    ),
    _FindingRule(
        "claimed_users",
        ("who", "claimed"),
        "count",
        "claimed",
        _always("error"),
        lambda row: f"{row['who']} claims another user: {row['claimed']}",
        "Its CONNECT names a user beside the credentials that the broker checked. The broker may "
        "print that name before its lines; the audit names the user that was proven.",
        _always("Let the client name no user beside its credentials."),
    ),
    _FindingRule(
        "violations",
        ("kind", "who", "rule"),
        "count",
        "witness",
        _always("error"),
        lambda row: (
            f"{row['who']}: the given rules forbid this "
            f"{'subscription' if row['kind'] == 'forbidden_subscription' else 'publish'}, "
            "and the broker accepted it"
        ),
        "The rules in force differ from those that were given, or a rule is missing.",
        _always("Compare them: subtrie acl diff."),
        # The other kinds have a table of their own.
        lambda row: row["kind"] in ("forbidden", "forbidden_subscription"),
    ),
    _FindingRule(
        "cross_plane",
        ("identity", "plane"),
        "count",
        "plane",
        _always("error"),
        lambda row: f"{row['identity']} of plane {row['home_plane']} published on {row['plane']}",
        "",
        _always("Permissions should fix the plane of each service."),
    ),
    _FindingRule(
        "refused",
        ("who", "kind"),
        "count",
        "subject",
        _always("warning"),
        lambda row: f"The broker refused {row['who']}: {row['kind']}",
        "Either the rules lack an entry, or the service does what it should not.",
        _always("If it should do this, add the entry that subtrie acl usage proposes."),
    ),
    _FindingRule(
        "logins",
        ("who", "why"),
        "count",
        "address",
        _always("warning"),
        lambda row: f"The broker refused logins of {row['who'] or 'clients without a user'}",
        "Its credentials are wrong or have expired, or a stranger tries some.",
        _always("Compare its credentials with those of the broker; the example is its address."),
        lambda row: row["outcome"] == "refused",
    ),
    _FindingRule(
        "links",
        ("server", "remote", "kind"),
        None,
        "address",
        _always("note"),
        lambda row: (
            f"The {row['kind']} connection to {row['remote'] or 'another server'} ended"
            + (f" at {time_text(row['end'])}" if row["end"] else "")
            + crossed(row)
        ),
        "What is published for the other side meanwhile is lost, unless a stream stores it.",
        _always(""),
        lambda row: row["end"] is not None,
    ),
    _FindingRule(
        "servers",
        ("server", "event"),
        None,
        "process",
        _always("note"),
        lambda row: f"The server of the process {row['process']} said: {row['event']}",
        "",
        _always(""),
        lambda row: row["event"] in ("lame duck", "reload"),
    ),
    _FindingRule(
        "slow_consumers",
        ("who", "client"),
        "count",
        "who",
        _always("warning"),
        lambda row: f"{program_of(row)} reads more slowly than the broker sends to it",
        "The broker closes such a connection, and messages to it are lost.",
        _always("Keep handlers from blocking the reading, or share the work in a queue group."),
    ),
    _FindingRule(
        "undelivered",
        ("nearest", "differs_at", "subscription_inactive"),
        "count",
        "subject",
        _always("warning"),
        _undelivered_title,
        "",
        _undelivered_advice,
    ),
    _FindingRule(
        "malformed",
        ("reason",),
        "count",
        "subject",
        lambda row: "warning" if row["received"] else "note",
        lambda row: (
            f"Not a canonical address: {row['reason']}"
            + (f"; {row['received']} were delivered all the same" if row["received"] else "")
        ),
        "",
        _always("Build subjects with the encoder, not by hand."),
    ),
    _FindingRule(
        "gap",
        ("service", "finding"),
        None,
        "path",
        lambda row: "warning" if row["finding"] in ("refused", "no rule", "denied") else "note",
        lambda row: f"{row['service']} to {row['destination']}: {row['finding']}",
        "The source, the permissions and the traffic differ on this edge.",
        _always(""),
        lambda row: row["finding"] != "ok",
    ),
    _FindingRule(
        "permission_usage",
        ("service",),
        None,
        "rule",
        _always("note"),
        lambda row: f"{row['service']} has rules that nothing used",
        "Each is a right that an intruder has too.",
        _always("Remove them, or keep them with a reason."),
        lambda row: row["effect"] == "allow" and not row["accepted"] and not row["refused"],
        ("service", "verb", "effect", "rule"),
    ),
    _FindingRule(
        "flows",
        ("publisher", "pattern"),
        "undelivered",
        "pattern",
        _always("warning"),
        lambda row: f"{row['publisher']} publishes what no subscriber receives",
        "",
        _always("Compare the subject with the patterns that are subscribed."),
        lambda row: bool(row["undelivered"]),
    ),
    _FindingRule(
        "coverage",
        (),
        None,
        "pattern",
        _always("note"),
        lambda row: f"Subscriptions that received no message, such as {row['pattern']}",
        "Nothing that was published matches them: they are misspelled, or not needed.",
        _always(""),
        lambda row: (
            not row["matched"]
            and not row["delivered"]
            and not row["pattern"].startswith(_OF_LIBRARIES)
        ),
    ),
    _FindingRule(
        "unparseable",
        ("reason",),
        None,
        "text",
        _always("note"),
        lambda row: f"Lines that could not be read: {row['reason']}",
        "The log was cut, or something else wrote into it.",
        _always(""),
    ),
)


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
    rules = [_without_spoofed(each, result) for each in rules]
    subscribers = Subscribers(result)
    found = by_identity(
        judged
        for rule in rules
        for judged in _of_rule(
            rule, result, subscribers, lambda table, keys: _command(name, shown, table, keys)
        )
    )
    found.sort(key=lambda each: (LEVELS.index(each.level), -(each.count or 0), each.witness or ""))
    return found


def _without_flows() -> list[_FindingRule]:
    """Return the rules of a run with calls: the other tables say what flows would."""
    return [rule for rule in _RULES if rule.table not in ("flows", "coverage")]


def _with_nearest(result: Run) -> list[_FindingRule]:
    """Return all rules; that of flows names the subscribed pattern that is nearest."""
    patterns = sorted({row["pattern"] for row in islice(rows_of(result, "coverage"), _COMPARED)})

    def title(row: _Row) -> str:
        told = f"{row['publisher']} publishes what no subscriber receives"
        equal, nearest = _nearest(row["pattern"], patterns)
        return f"{told}; the nearest pattern is {nearest}" if equal else told

    return [replace(rule, title=title) if rule.table == "flows" else rule for rule in _RULES]


def _without_spoofed(rule: _FindingRule, result: Run) -> _FindingRule:
    """Return a rule that leaves out violations that are findings about a spoofed source."""
    if rule.table != "violations":
        return rule
    rows = (row for row in rows_of(result, rule.table) if row["kind"] == "spoofed")
    told = {(row["who"], row["subject"]) for row in islice(rows, _COMPARED)}
    return replace(
        rule, wanted=lambda row: rule.wanted(row) and (row["who"], row["subject"]) not in told
    )


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
    rule: _FindingRule,
    result: Run,
    subscribers: Subscribers,
    command: Callable[[str, list[Any]], str],
) -> Iterator[Judged]:
    groups: dict[tuple[Any, ...], _Group] = defaultdict(_Group)
    for row in _added(rows_of(result, rule.table), rule.added):
        if rule.wanted(row):
            counted = 1 if rule.counted is None else row[rule.counted]
            groups[tuple(row[name] for name in rule.group)].add(row, counted)
    for values, group in groups.items():
        row = {**group.largest, **group.sums}
        keys = [group.largest[name] for name in TABLE_KEYS[rule.table]]
        gone = None
        if rule.table in ("undelivered", "flows"):
            gone = subscribers.gone(str(row[rule.witness]), group.first, group.last)
        finding = Finding(
            rule=rule.table,
            level=rule.level(row),
            message=shortened(rule.title(row) if gone is None else _gone(row, gone), _TITLE),
            user=next((str(row[name]) for name in _USERS if row.get(name)), ""),
            why=rule.why,
            instead=rule.instead(row) if gone is None else _GONE,
            count=group.count,
            rows=group.rows,
            witness=str(row[rule.witness]),
            first=time_text(group.first),
            last=time_text(group.last),
            command=command(rule.table, keys),
            key=tuple(map(key_text, values)),
        )
        refused = group.count - row["accepted"] if rule.table == "spoofed" else 0
        yield Judged(finding, refused)


#: What helps if a subscriber was gone.
_GONE = (
    "Let the subscriber reconnect sooner, or run two in a queue group; a stream keeps messages for "
    "it meanwhile. The table history has the times: subtrie audit --subject."
)


def _gone(row: _Row, told: str) -> str:
    """Return the title of messages whose subscriber was gone."""
    publisher = row.get("publisher")
    return f"{publisher} published while no client received it: {told}" if publisher else told


def _added(rows: Iterator[_Row], keys: tuple[str, ...]) -> Iterator[_Row]:
    """Yield rows; those of several periods as one, with the sums of what was used."""
    if not keys:
        yield from rows
        return
    sums: dict[tuple[Any, ...], _Row] = {}
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
        self.largest: _Row = {}
        self.sums = {"accepted": 0, "received": 0}
        self.first: Any = None
        self.last: Any = None
        self._size = -1

    def add(self, row: _Row, count: int) -> None:
        self.count += count
        self.rows += 1
        for name in self.sums:
            self.sums[name] += row.get(name) or 0
        if count > self._size:
            self._size, self.largest = count, row
        self.first = earliest(self.first, row.get("first"))
        self.last = latest(self.last, row.get("last"))


def _command(run: str, logs: Sequence[str], table: str, keys: list[Any]) -> str:
    """Return the command that shows the lines of a row, quoted for a POSIX shell."""
    texts = [printable(key_text(key)) for key in keys]
    named = [word for log in logs for word in ("--log", printable(log))]
    # Words after -- are not options.
    return shlex.join(["subtrie", "report", "lines", *named, "--", run, table, *texts])
