"""Make the tables of answers from sums of messages and from subscriptions."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from datetime import datetime
from functools import cached_property
from typing import TYPE_CHECKING, Any

from ... import SubjectTrie
from ..._core import engine
from ..._core.errors import SubtrieError
from ...acl import Permissions
from ...acl._synthesis import CLAIMED, Observed, Program, Thresholds, propose, route_key
from .._identity import PROVEN
from .._partial.rates import table_rate
from .._schema import TABLE_KEYS, TABLES
from .consumers import Consumer, ToldConsumer, consumer_rows
from .evidence import left_open, together
from .flows import answered, per_minute
from .gaps import CONTROL, Call, calls_in, gap_rows
from .questions import MAX_RULES, Questions
from .receivers import at_rows, history_rows
from .rule_table import Rule, numbered, service_of
from .rule_usage import day_of, publish_usage, subscribe_usage
from .sums import EDGE, Sums, one_name_of_many, time_of
from .violations import violation_rows

if TYPE_CHECKING:
    import pyarrow as pa

Rows = list[dict[str, Any]]


class Answers:
    """The answers to some questions; ``sums`` receives what the messages add up to.

    Args:
        subscriptions: The rows of the table ``subscriptions``.
        questions: What is asked.
        window: The length of a period of ``permission_usage`` in microseconds, or None.

    Attributes:
        sums: The sums of the messages.
        told_consumers: The settings of consumers.
    """

    def __init__(
        self, subscriptions: pa.Table, questions: Questions, window: int | None = None
    ) -> None:
        self.questions, self.sums, self._length = questions, Sums(), window
        self.told_consumers: dict[Consumer, ToldConsumer] = {}
        self.subscriptions: Rows = subscriptions.to_pylist()
        rules = questions.rules or {}
        self.rules = numbered(rules, "publish")
        self.subscribe_rules = numbered(rules, "subscribe")
        if len(self.rules) + len(self.subscribe_rules) > MAX_RULES:
            raise ValueError(f"more than {MAX_RULES} rules")
        self.code = calls_in(questions.code or ())

    @cached_property
    def edges(self) -> Rows:
        """The messages of each service to each pattern, by the rule that decides."""
        found = []
        self.sums.bound_programs()
        # What is derived must not depend on the order in which sums were added.
        edges = sorted(
            self.sums["edge"].items(),
            key=lambda edge: [(value is not None, value) for value in edge[0]],
        )
        for key, (*counts, days, first, last, rate, least, earliest, most) in edges:
            some = dict.fromkeys((least, earliest[1], most))
            found.append({
                **dict(zip(EDGE, key, strict=True)),
                **dict(zip(("published", "refused", "taken", "undelivered"), counts, strict=True)),
                "days": sorted(days), "first": time_of(first), "last": time_of(last),
                "rate": rate, "witnesses": [each for each in some if each is not None],
            })  # fmt: skip
        return found

    def check(self) -> None:
        """Refuse rules of no service of the traffic, and a time outside the log.

        Raises:
            ValueError: One of these.
        """
        questions = self.questions
        if questions.rules is not None:
            there = {
                row[name]
                for rows in (self.edges, self.subscriptions)
                for row in rows
                for name in ("identity", "user")
            }
            if not there & set(questions.rules):
                known = ", ".join(sorted(each for each in there if each)[:5]) or "no identity"
                named = ", ".join(sorted(questions.rules)[:5]) or "no service"
                raise ValueError(
                    f"the rules name no service of the traffic: they are of {named}; the "
                    f"traffic has {known}"
                )
        if questions.time is not None:
            first, last = self._span()
            if first is None or last is None or not first <= questions.time <= last:
                raise ValueError(
                    f"the time {_text(questions.time)} is outside the log, which is from "
                    f"{_text(first)} to {_text(last)}"
                )

    def _span(self) -> tuple[datetime | None, datetime | None]:
        """Return the first and the last time of the traffic."""
        times = [row[name] for row in self.edges for name in ("first", "last")]
        times += [row[name] for row in self.subscriptions for name in ("start", "end")]
        known = [each for each in times if each is not None]
        return min(known, default=None), max(known, default=None)

    def permission_usage(self) -> Rows:
        """Return the rows of the table; none without rules."""
        if self.questions.rules is None:
            return []
        self.sums.bound_programs()
        sent = publish_usage(self.sums, self.rules)
        services, received = self.questions.rules, self.subscribe_rules
        return [
            *sent,
            *subscribe_usage(self.subscriptions, self.sums, services, received, self._length),
        ]

    def violations(self) -> Rows:
        """Return the rows of the table."""
        forbidden = [row for row in self._by_program if self._may_subscribe(row) is False]
        return violation_rows(self.edges, self._forbidding, forbidden)

    def _forbidding(self, row: Mapping[str, Any], witness: str) -> str | None:
        """Return the rule that denies the messages of an edge, else the nearest one."""
        if row["decided"] >= 0:
            denying: Rule = self.rules[row["decided"]]
            return denying.text
        rules: Mapping[str, Permissions] = self.questions.rules or {}
        owner = service_of(row["identity"], row["user"], rules)
        assert owner is not None
        try:
            return rules[owner].can_publish(witness, model="broker").nearest
        except SubtrieError:
            return None  # a subject that the broker takes, and that no rule matches

    def _may_subscribe(self, row: Mapping[str, Any]) -> bool | None:
        """Return whether today's rules allow a subscription; None if they are not known."""
        rules: Mapping[str, Permissions] = self.questions.rules or {}
        permissions = rules.get(service_of(row["identity"], row["user"], rules) or "")
        if permissions is None:
            return None
        try:
            return bool(permissions.can_subscribe(row["pattern"], queue=row["queue"]))
        except SubtrieError:
            return None

    def synthesise(self) -> tuple[Rows, Rows]:
        """Return the rows of ``proposal`` and of ``too_thin``."""
        questions = self.questions
        observed: dict[str | None, list[Observed]] = {}
        for row in together(self.edges):
            free = left_open(row, self.code, questions.min_days)
            observed.setdefault(row["account"], []).extend(
                Observed(
                    row["service"], row["kind"], row["pattern"], row["route"],
                    self._standing(row["standing"], row["identity_source"]), row["allowed"],
                    each["published"], each["taken"], frozenset(each["days"]),
                    tuple(each["witnesses"]), free, None not in row["codes"],
                    frozenset(row["days"]), program,
                )
                for program, each in row["programs"].items()
            )  # fmt: skip
        values: dict[str | None, dict[str, dict[int, tuple[str, str]]]] = {}
        for (pattern, position, account, proven), (low, high) in self.sums["value"].items():
            if not (proven or questions.claimed_identities):
                continue
            into = values.setdefault(account, {}).setdefault(route_key(pattern), {})
            least, greatest = into.get(position, (low, high))
            into[position] = min(least, low), max(greatest, high)
        _, last = self._span()
        for account, subscription in self._active_subscriptions(last):
            observed.setdefault(account, []).append(subscription)
        needed = Thresholds(questions.min_days, questions.min_sources)
        rules: Rows = []
        thin: Rows = []
        for account, some in observed.items():
            for rows, found in zip((rules, thin), propose(some, values.get(account, {}), needed),
                                   strict=True):  # fmt: skip
                rows += [{**row, "account": account} for row in found]
        covering: dict[tuple[str | None, str], list[Rule]] = {}
        rules_of = questions.rules or {}
        for each in (*self.rules, *self.subscribe_rules):
            if each.effect == "allow":
                covering.setdefault((each.service, each.verb), []).append(each)
        covered = [
            {**row, "covered_by": _covering(covering.get((
                service_of(row["service"], row["user"], rules_of), row["verb"]), ()), row["rule"])}
            for row in rules
        ]  # fmt: skip
        return covered, thin

    def _standing(self, standing: str, identity_source: str | None) -> str:
        """Return ``claimed`` for what only a client's own word makes verified."""  # A82
        proven = identity_source in PROVEN or self.questions.claimed_identities
        return standing if proven or standing != "verified" else CLAIMED

    def _active_subscriptions(self, last: datetime | None) -> Iterator[tuple[str | None, Observed]]:
        """Yield each subscription of each program once, with the days on which it was active.

        Beside it stands its account.
        """
        found: dict[tuple[Any, ...], tuple[Any, int, frozenset[int]]] = {}
        of_all: dict[tuple[Any, ...], frozenset[int]] = {}
        for row in self._by_program:
            if row["identity"] is None:
                continue
            end = row["end"] or last or row["start"]
            standing = self._standing("verified", row["identity_source"])
            own = row["account"], row["identity"], row["pattern"], standing
            key = *own, Program(row["user"], row["client"], row["identity_source"])
            allowed, count, days = found.get(key) or (self._may_subscribe(row), 0, frozenset())
            active: range | tuple[()] = ()
            if row["start"] is not None:  # a log or a snapshot may have no times
                active = range(day_of(row["start"]), day_of(end) + 1)
            found[key] = allowed, count + 1, days | frozenset(active)
            of_all[own] = of_all.get(own, frozenset()) | frozenset(active)
        for key, (allowed, count, days) in found.items():
            account, identity, pattern, standing, program = key
            yield account, Observed(
                identity, "subscription", pattern, None, standing, allowed, count, count, days,
                (pattern,), all_days=of_all[account, identity, pattern, standing], program=program,
            )  # fmt: skip

    @cached_property
    def _by_program(self) -> Rows:
        """The subscriptions; the programs of one user have one name if they are many."""
        return one_name_of_many(self.subscriptions, ("identity", "account", "user"))

    def gap(self) -> Rows:
        """Return the rows of the table; none without code and rules."""
        questions = self.questions
        if questions.code is None and questions.rules is None:
            return []
        calls = []
        for row in self.edges:
            if row["kind"] != "request" or row["standing"] == "spoofed" or row["port"] == CONTROL:
                continue
            number = row["decided"]
            rule = self.rules[number] if number is not None and number >= 0 else None
            calls.append(
                Call(row["service"], row["pattern"], row["route"], row["code"],
                     None if rule is None else rule.text,
                     rule is not None and rule.effect == "deny",
                     row["published"], row["refused"], None if rule is None else rule.service)
            )  # fmt: skip
        return gap_rows(
            calls,
            None if questions.code is None else self.code,
            [each.host for each in questions.code or ()],
            None if questions.rules is None else self.rules,
        )

    def receivers(self) -> tuple[Rows, Rows]:
        """Return the rows of ``at`` and of ``history``; none without a subject."""
        subject, time = self.questions.subject, self.questions.time
        if subject is None:
            return [], []
        timed = [row for row in self.subscriptions if row["start"] is not None]
        matching = matching_rows(timed, subject)
        begin: dict[str, datetime] = {}
        for row in timed:
            start = row["start"]
            begin[row["server"]] = min(begin.get(row["server"], start), start)
        now = [] if time is None else at_rows(matching, subject, time)
        return now, history_rows(matching, subject, begin)

    def flows(self) -> Rows:
        """Return the rows of the table."""
        self.sums.bound_programs()
        names = TABLE_KEYS["flows"]
        sums = ("published", "delivered", "undelivered", "bytes")
        found = []
        for key, (*counts, first, last, rate) in answered(self.sums).items():
            row = {**dict(zip(names, key, strict=True)), **dict(zip(sums, counts, strict=True)),
                   "first": time_of(first), "last": time_of(last),
                   "rate": table_rate(rate, of=counts[2])}  # fmt: skip
            found.append({**row, "per_minute": per_minute(row)})
        return found

    def consumers(self) -> Rows:
        """Return the rows of the table; a consumer of which no client received any has one too."""
        self.sums.bound_programs()
        return consumer_rows(self.sums, self.told_consumers)

    def latency(self) -> Rows:
        """Return the rows of the table; those of Microbus requests only with heads of payloads."""
        self.sums.bound_programs()
        names = TABLE_KEYS["latency"]
        return [
            {**dict(zip(names, key, strict=True)), **_ranks(took),
             "errors": failed if key[0] == "microbus" else None}
            for key, (took, failed) in self.sums["latency"].items()
        ]  # fmt: skip

    def tables(self) -> dict[str, Rows]:
        """Return all tables that the questions ask for."""
        proposal, thin = self.synthesise()
        now, history = self.receivers()
        return {
            "permission_usage": self.permission_usage(),
            "violations": self.violations(),
            "proposal": proposal,
            "too_thin": thin,
            "gap": self.gap(),
            "at": now,
            "history": history,
            "latency": self.latency(),
            "flows": self.flows(),
            "consumers": self.consumers(),
        }


def _ranks(took: Mapping[int | None, int]) -> dict[str, Any]:
    """Return count, nearest ranks and unanswered requests of times in microseconds."""
    times = sorted((time, count) for time, count in took.items() if time is not None)
    total = sum(count for _, count in times)

    def rank(percent: int) -> int | None:
        left = -(-total * percent // 100)
        for time, count in times:
            left -= count
            if left <= 0:
                return time
        return None

    return {"count": total, "p50": rank(50), "p99": rank(99), "unanswered": took.get(None, 0)}


def _text(time: datetime | None) -> str:
    return "nothing" if time is None else f"{time:%Y-%m-%dT%H:%M:%S.%f}Z"


def _covering(rules: Iterable[Rule], pattern: str) -> str | None:
    return next((each.text for each in rules if engine.covers(each.pattern, pattern)), None)


def matching_rows(subscriptions: Iterable[Mapping[str, Any]], subject: str) -> Rows:
    """Return the subscriptions whose pattern matches a subject."""
    rows = list(subscriptions)
    trie: Any = SubjectTrie(dialect="server")
    for pattern in {row["pattern"] for row in rows}:
        try:
            trie.add(pattern, pattern)
        except SubtrieError:
            continue
    patterns = set(trie.match(subject))
    return [dict(row) for row in rows if row["pattern"] in patterns]


def sorted_rows(name: str, rows: Rows) -> Rows:
    """Return rows with the columns of a table, sorted by all of them; null is first."""
    columns = TABLES[name]

    def key(row: Mapping[str, Any]) -> list[tuple[bool, Any]]:
        values = (row[each] for each in columns)
        plain = (tuple(v.values()) if isinstance(v, dict) else v for v in values)
        return [(each is not None, each) for each in plain]

    return [{each: row[each] for each in columns} for row in sorted(rows, key=key)]
