"""Describe the subjects of uses with native columns: address, route, rules, calls in the code."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from ... import SubjectTrie, microbus
from ..._core.errors import SubtrieError
from .._identity import is_host
from .._schema import arrow_schema
from .._tables.pattern_index import PatternIndex, pattern_table
from .folding import HEAD, fold
from .gaps import CodeCall
from .rule_table import NO_RULE, NO_RULES, Rule
from .uses import USES

if TYPE_CHECKING:
    import pyarrow as pa

#: What is added to uses. ``kind`` is request, reply or other; ``service`` the identity, else the
#: source in the subject; ``decided`` the number of the rule that decides; ``code`` that of a call.
ADDED: tuple[tuple[str, str], ...] = (
    ("kind", "string"),
    ("plane", "string"),
    ("service", "string"),
    ("standing", "string"),
    ("port", "int"),
    ("route", "string"),
    ("pattern", "string"),
    ("decided", "int"),
    ("code", "int"),
)
DESCRIBED = (*USES, *ADDED)
#: The column with the numbers of all rules that match is a list, which ``arrow_schema`` has not.
MATCHED = "matched"


@dataclass(frozen=True)
class IndexedPatterns:
    """Patterns with their index."""

    index: PatternIndex

    def open(self) -> PatternIndex:
        """Return the index. The numbers of the patterns are their ids in it."""
        return self.index


def index_image(patterns: Iterable[str]) -> tuple[bytes, list[str]]:
    """Return the image of an index, and its patterns: distinct ones that a server accepts."""
    trie: Any = SubjectTrie(dialect="server")
    accepted = []
    for pattern in dict.fromkeys(patterns):
        try:
            trie.add(pattern, None)
        except SubtrieError:
            continue
        accepted.append(pattern)
    return trie.to_bytes(), accepted


def index_patterns(patterns: Iterable[str]) -> IndexedPatterns:
    """Return the index of patterns in this process."""
    image, accepted = index_image(patterns)
    return IndexedPatterns(PatternIndex(image, pattern_table(accepted)))


@dataclass(frozen=True)
class Description:
    """Classifies subjects by route, rule and call site.

    Attributes:
        subscribed: The patterns of all subscriptions.
        ruled: The patterns of the publish rules.
        rules: The publish rules, by number.
        called: The patterns of the calls in the code.
        code: The calls, by number: specific ones first.
    """

    subscribed: IndexedPatterns
    ruled: IndexedPatterns
    rules: tuple[Rule, ...]
    called: IndexedPatterns
    code: tuple[CodeCall, ...]

    def describe(self, batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        """Describe the uses of the kind ``publish`` in each batch."""
        import pyarrow as pa

        for batch in batches:
            if batch.num_rows:
                found = self._described(pa.Table.from_batches([batch]))
                yield from found.combine_chunks().to_batches()

    def _described(self, uses: pa.Table) -> pa.Table:
        import pyarrow as pa
        import pyarrow.compute as pc

        texts = uses["subject"].combine_chunks()
        fields = ("kind", "plane", "port", "source")
        decoded = pa.array(microbus.decode_batch(texts, fields=fields))
        address = {name: decoded.field(name).cast(pa.string()) for name in ("plane", "source")}
        code = pc.fill_null(decoded.field("kind").cast(pa.int64()), 0)
        is_request, is_reply = pc.equal(code, 1), pc.equal(code, 2)
        kind = pc.if_else(is_request, "request", pc.if_else(is_reply, "reply", "other"))
        identity, source = uses["identity"].combine_chunks(), address["source"]
        verified = pc.fill_null(pc.equal(identity, source), False)
        standing = pc.if_else(
            verified, "verified", pc.if_else(_are_hosts(identity), "spoofed", "unknown")
        )
        standing = pc.if_else(pc.is_null(source), "unknown", standing)
        named = pc.if_else(pc.equal(standing, "unknown"), pc.coalesce(source, identity), identity)
        service = pc.coalesce(named, uses["who"].combine_chunks())
        route = pc.if_else(is_request, self._routes(texts), pa.scalar(None, pa.string()))
        matched, decided = self._decided(texts, identity)
        columns = {
            **{name: uses[name] for name, _ in USES},
            "kind": kind,
            "plane": address["plane"],
            "service": service,
            "standing": standing,
            "port": decoded.field("port").cast(pa.int32()),
            "route": route,
            "pattern": _patterns(texts, route),
            "decided": decided,
            "code": self._called(texts, service, is_request),
        }
        table = pa.table(columns).cast(arrow_schema(DESCRIBED))
        return table.append_column(MATCHED, matched)

    def _routes(self, texts: pa.Array) -> pa.Array:
        """Return the path of the most specific subscribed route that matches each subject."""
        import numpy as np
        import pyarrow as pa

        index = self.subscribed.open()
        rows, numbers = index.matches(texts)
        best = np.full(len(texts), len(index.patterns), dtype=np.int64)
        np.minimum.at(best, rows, index.ranks[numbers])
        rank = pa.array(best, mask=best == len(index.patterns))
        return index.routes.take(rank)

    def _decided(self, texts: pa.Array, identity: pa.Array) -> tuple[pa.Array, pa.Array]:
        """Return the rules of the sender that match each subject, and the one that decides."""
        import numpy as np
        import pyarrow as pa
        import pyarrow.compute as pc

        services = pa.array(sorted({each.service for each in self.rules}), pa.string())
        owner = pc.fill_null(pc.index_in(identity, value_set=services), -1)
        owners = owner.to_numpy(zero_copy_only=False)
        index = self.ruled.open()
        rows, numbers = index.matches(texts)
        by_pattern: dict[str, list[int]] = {}
        place = {pattern: number for number, pattern in enumerate(index.patterns.to_pylist())}
        for number, each in enumerate(self.rules):
            by_pattern.setdefault(each.pattern, []).extend([] if each.implied else [number])
        sizes = np.array([len(by_pattern[p]) for p in place] or [0], dtype=np.int64)
        rule_of = np.array([n for p in place for n in by_pattern[p]] or [0], dtype=np.int64)
        begin = np.cumsum(sizes) - sizes
        # One pattern can be a rule of several services.
        row = np.repeat(rows, sizes[numbers])
        step = np.arange(len(row)) - np.repeat(np.cumsum(sizes[numbers]) - sizes[numbers],
                                               sizes[numbers])  # fmt: skip
        rule = rule_of[np.repeat(begin[numbers], sizes[numbers]) + step]
        of = {name: at for at, name in enumerate(services.to_pylist())}
        rule_owner = np.array([of[each.service] for each in self.rules] or [0], dtype=np.int64)
        own = rule_owner[rule] == owners[row]
        implied = np.full(len(of) + 1, -1)  # the last is that of senders without rules
        for number, each in enumerate(self.rules):
            if each.implied:
                implied[of[each.service]] = number
        free = np.flatnonzero(implied[owners] >= 0)
        row = np.concatenate([row[own], free])
        rule = np.concatenate([rule[own], implied[owners[free]]])
        order = np.lexsort((rule, row))
        row, rule = row[order], rule[order]
        decided = np.where(owners < 0, NO_RULES, len(self.rules))
        np.minimum.at(decided, row, rule)
        decided[decided == len(self.rules)] = NO_RULE
        if not self.rules:
            decided[:] = NO_RULES
        offsets = np.searchsorted(row, np.arange(len(texts) + 1))
        lists = pa.ListArray.from_arrays(pa.array(offsets, pa.int32()), pa.array(rule, pa.int32()))
        return lists, pa.array(decided, pa.int32())

    def _called(self, texts: pa.Array, service: pa.Array, request: pa.Array) -> pa.Array:
        """Return the number of the most specific call in the code that makes each subject."""
        import numpy as np
        import pyarrow as pa

        index = self.called.open()
        rows, numbers = index.matches(texts)
        place = {pattern: number for number, pattern in enumerate(index.patterns.to_pylist())}
        # The source is in the pattern, so a pattern belongs to one service.
        first = np.full(max(1, len(index.patterns)), len(self.code), dtype=np.int64)
        for number, call in enumerate(self.code):
            at = place.get(call.pattern)
            if at is not None:
                first[at] = min(first[at], number)
        best = np.full(len(texts), len(self.code), dtype=np.int64)
        np.minimum.at(best, rows, first[numbers])
        return pa.array(best, mask=(best == len(self.code))).cast(pa.int32())


def _are_hosts(names: pa.Array) -> pa.Array:
    """Return which names can be the host of a service."""
    import pyarrow as pa
    import pyarrow.compute as pc

    unique = pc.unique(names)
    hosts = pa.array([name for name in unique.to_pylist() if is_host(name)], pa.string())
    return pc.is_in(names, value_set=hosts)


def _patterns(texts: pa.Array, routes: pa.Array) -> pa.Array:
    """Return each subject with its route in place of the path; folded where there is none."""
    import pyarrow as pa
    import pyarrow.compute as pc

    routed = pc.is_valid(routes)
    heads = pc.binary_join(pc.list_slice(pc.split_pattern(texts.filter(routed), "."), 0, HEAD), ".")
    with_route = pc.binary_join_element_wise(heads, routes.filter(routed), ".")
    others = texts.filter(pc.invert(routed)).dictionary_encode()
    folded = pa.array([fold(each) for each in others.dictionary.to_pylist()], pa.string())
    result = pc.replace_with_mask(texts, routed, with_route.cast(pa.string()))
    return pc.replace_with_mask(result, pc.invert(routed), folded.take(others.indices))
