"""Classify the messages of a bucket: sender, pattern, rules that match, call in the code."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from functools import cached_property
from typing import TYPE_CHECKING, Any, NamedTuple

from .._answers.folding import HEAD, fold
from .._answers.rule_table import NO_RULE, NO_RULES, Rule
from .bucket import Bucket, Subjects, are_hosts

if TYPE_CHECKING:
    import pyarrow as pa


class Matched(NamedTuple):
    """The rules of senders that match their subjects.

    Attributes:
        decided: The rule that decides each row, or ``NO_RULE`` or ``NO_RULES``.
        rules: All rules that match, row after row.
        offsets: The place in ``rules`` at which those of each row begin, and the number of them.
    """

    decided: Any
    rules: Any
    offsets: Any

    def of(self, row: int) -> list[int]:
        """Return the rules that match a row."""
        found: list[int] = self.rules[self.offsets[row] : self.offsets[row + 1]].tolist()
        return found


class Classified:
    """The sender, the pattern, the rules and the call of each row of messages of a bucket.

    Attributes:
        kinds: request, reply or other, of each row.
        standing: verified, spoofed or unknown: whether the identity is the source.
        service: The identity if it is a host, else the source in the subject, else the identity,
            else the connection.
        pattern: The subject with its route in place of the path; folded without one.
        route: The most specific subscribed route of a request.
        matched: The rules.
        call: The number of the call in the code, or null.
        account: The account.
    """

    def __init__(self, bucket: Bucket) -> None:
        import pyarrow as pa
        import pyarrow.compute as pc

        assert bucket.subjects is not None
        self._bucket, subjects = bucket, bucket.subjects
        self.subjects: Subjects = subjects
        self.at = bucket.publishes["at"].combine_chunks()
        self.identity, self.identity_source = (
            bucket.publishes[name].combine_chunks() for name in ("identity", "identity_source")
        )
        conn = bucket.publishes["conn"].combine_chunks()
        of_subject = _OfSubjects(subjects)
        self.source = of_subject.source.take(self.at)
        self.account = subjects.account.take(self.at)
        self.plane = of_subject.plane.take(self.at)
        self.port = of_subject.port.take(self.at)
        self.kinds = of_subject.kinds.take(self.at)
        self.pattern = of_subject.patterns.take(self.at)
        self.route = of_subject.routes.take(self.at)
        verified = pc.fill_null(pc.equal(self.identity, self.source), False)
        standing = pc.if_else(
            verified, "verified", pc.if_else(are_hosts(self.identity), "spoofed", "unknown")
        )
        self.standing = pc.if_else(pc.is_null(self.source), "unknown", standing)
        unknown = pc.equal(self.standing, "unknown")
        named = pc.if_else(unknown, pc.coalesce(self.source, self.identity), self.identity)
        self.service = pc.coalesce(named, conn)
        self.who = pc.coalesce(self.identity, conn)
        self.user, self.client = (
            bucket.publishes[name].combine_chunks() for name in ("user", "client")
        )
        ruled = pc.is_in(self.user, value_set=pa.array(bucket.asked.services, pa.string()))
        #: The service whose rules apply, as ``service_of`` says.
        self.owner = pc.if_else(ruled, self.user, self.identity)
        self.texts = subjects.texts.take(self.at)
        self.call = self._calls(subjects)
        self.matched = self._matched(subjects)

    def _matched(self, subjects: Subjects) -> Matched:
        """Return the rules of each sender that match its subject, and the one that decides."""
        import numpy as np
        import pyarrow as pa
        import pyarrow.compute as pc

        rules = self._bucket.asked.rules
        length = len(self.at)
        services = pa.array(self._bucket.asked.services, pa.string())
        if not len(services):
            none = np.zeros(length + 1, np.int64)
            return Matched(np.full(length, NO_RULES), none[:0], none)
        owners = pc.fill_null(pc.index_in(self.owner, value_set=services), -1).to_numpy(
            zero_copy_only=False
        )
        row, numbers = _joined(self.at.to_numpy(), *self._bucket.ruled.matches(subjects.texts))
        row, rule = _rules_of(rules, self._bucket.ruled.patterns.to_pylist(), row, numbers)
        of = {name: at for at, name in enumerate(services.to_pylist())}
        rule_owner = np.array([of[each.service] for each in rules], dtype=np.int64)
        own = rule_owner[rule] == owners[row]
        implied = np.full(len(of) + 1, -1)  # the last is that of senders without rules
        for number, each in enumerate(rules):
            if each.implied:
                implied[of[each.service]] = number
        free = np.flatnonzero(implied[owners] >= 0)
        row = np.concatenate([row[own], free])
        rule = np.concatenate([rule[own], implied[owners[free]]])
        order = np.lexsort((rule, row))
        row, rule = row[order], rule[order]
        decided = np.where(owners < 0, NO_RULES, len(rules))
        np.minimum.at(decided, row, rule)
        decided[decided == len(rules)] = NO_RULE
        return Matched(decided, rule, np.searchsorted(row, np.arange(length + 1)))

    def _calls(self, subjects: Subjects) -> pa.Array:
        """Return the number of the most specific call in the code that makes each subject."""
        import numpy as np
        import pyarrow as pa

        code, index = self._bucket.asked.code, self._bucket.called
        if not code:
            return pa.nulls(len(self.at), pa.int32())
        rows, numbers = index.matches(subjects.texts)
        place = {pattern: number for number, pattern in enumerate(index.patterns.to_pylist())}
        # The source is in the pattern, so a pattern belongs to one service.
        first = np.full(max(1, len(index.patterns)), len(code), dtype=np.int64)
        for number, call in enumerate(code):
            at = place.get(call.pattern)
            if at is not None:
                first[at] = min(first[at], number)
        best = np.full(len(subjects.texts), len(code), dtype=np.int64)
        np.minimum.at(best, rows, first[numbers])
        found = pa.array(best, mask=(best == len(code))).cast(pa.int32())
        return found.take(self.at)


class _OfSubjects:
    """The parts of each distinct subject, and its pattern."""

    def __init__(self, subjects: Subjects) -> None:
        import pyarrow as pa
        import pyarrow.compute as pc

        self._subjects = subjects
        is_request, is_reply = pc.equal(subjects.kind, 1), pc.equal(subjects.kind, 2)
        self.kinds = pc.if_else(is_request, "request", pc.if_else(is_reply, "reply", "other"))
        everything = pa.array(range(len(subjects.texts)), pa.int32())
        self.source, self.plane, self.port = (
            subjects.text(name, everything) for name in ("source", "plane", "port")
        )
        routes = subjects.index.routes.take(subjects.rank)
        self.routes = pc.if_else(is_request, routes, pa.scalar(None, pa.string()))

    @cached_property
    def patterns(self) -> pa.Array:
        """Each subject with its route in place of the path; folded where there is none."""
        import pyarrow as pa
        import pyarrow.compute as pc

        texts, routes = self._subjects.texts, self.routes
        routed = pc.is_valid(routes)
        split = pc.list_slice(pc.split_pattern(texts.filter(routed), "."), 0, HEAD)
        with_route = pc.binary_join_element_wise(
            pc.binary_join(split, "."), routes.filter(routed), "."
        )
        others = texts.filter(pc.invert(routed))
        folded = pa.array(map(_folded, others.to_pylist()), pa.string())
        result = pc.replace_with_mask(texts, routed, with_route.cast(pa.string()))
        return pc.replace_with_mask(result, pc.invert(routed), folded)


def _folded(subject: str | None) -> str | None:
    return None if subject is None else fold(subject)


def _joined(at: Any, rows: Any, numbers: Any) -> tuple[Any, Any]:
    """Return the matches of each row of messages, from those of each subject.

    Args:
        at: The subject of each row.
        rows: For each match of a subject, its number, ascending.
        numbers: For each match, the number of its pattern.
    """
    import numpy as np

    starts = np.searchsorted(rows, at)
    counts = np.searchsorted(rows, at, side="right") - starts
    row = np.repeat(np.arange(len(at)), counts)
    within = np.arange(len(row)) - np.repeat(np.cumsum(counts) - counts, counts)
    return row, numbers[np.repeat(starts, counts) + within]


def _rules_of(
    rules: Sequence[Rule], patterns: Sequence[str], rows: Any, numbers: Any
) -> tuple[Any, Any]:
    """Return the rules of each match: one pattern can be a rule of several services."""
    import numpy as np

    by_pattern: dict[str, list[int]] = {}
    for number, each in enumerate(rules):
        by_pattern.setdefault(each.pattern, []).extend([] if each.implied else [number])
    sizes = np.array([len(by_pattern[p]) for p in patterns] or [0], dtype=np.int64)
    flat = np.array([n for p in patterns for n in by_pattern[p]] or [0], dtype=np.int64)
    begin = np.cumsum(sizes) - sizes
    counts = sizes[numbers]
    row = np.repeat(rows, counts)
    step = np.arange(len(row)) - np.repeat(np.cumsum(counts) - counts, counts)
    return row, flat[np.repeat(begin[numbers], counts) + step]


def columns_of(table: pa.Table, *names: str) -> Iterator[list[Any]]:
    """Yield columns as lists; times as microseconds."""
    import pyarrow as pa

    for name in names:
        column = table[name]
        yield (
            column.cast(pa.int64()) if pa.types.is_timestamp(column.type) else column
        ).to_pylist()
