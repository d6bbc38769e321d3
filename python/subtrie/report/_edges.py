"""The edges of the picture: calls between services, or flows where there is no Microbus traffic."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from datetime import datetime
from itertools import islice
from typing import TYPE_CHECKING, Any

from .. import microbus
from .._core.address import trust_of
from .._core.errors import SubtrieError
from ._content import Edge
from ._rows import earliest, latest, rows_of, time_text

if TYPE_CHECKING:
    from ..audit import Run

#: A report has the edges with the most messages, at most so many.
MOST_EDGES = 6_000
#: Subjects that are read to find examples: beyond this, edges have none rather than a long wait.
_SUBJECTS_READ = 50_000
_SAMPLES = 3
#: The end of a flow without a subscriber.
NO_SUBSCRIBER = "(no subscriber)"
_COUNTS = ("published", "refused", "delivered", "undelivered", "bytes")


@dataclass
class _Sum:
    counts: dict[str, int] = field(default_factory=lambda: dict.fromkeys(_COUNTS, 0))
    planes: set[str] = field(default_factory=set)
    trusts: set[str] = field(default_factory=set)
    routes: set[tuple[Any, ...]] = field(default_factory=set)
    first: datetime | None = None
    last: datetime | None = None

    def add(self, row: dict[str, Any]) -> None:
        """Add the counts and times of a row."""
        for name in _COUNTS:
            self.counts[name] += row.get(name) or 0
        self.first = earliest(self.first, row.get("first"))
        self.last = latest(self.last, row.get("last"))


def edges_of(result: Run) -> tuple[str, list[Edge], int]:
    """Return the kind of the graph, its largest edges, and how many edges there are."""
    kind, sums = "calls", _calls(rows_of(result, "call_graph"))
    if not sums:
        kind, sums = "flows", _flows(rows_of(result, "flows"))
    if not sums:
        return "none", [], 0
    order = sorted(sums, key=lambda key: (-sums[key].counts["published"], key))[:MOST_EDGES]
    samples = _samples(result, set(order)) if kind == "calls" else {}
    return kind, [_edge(key, sums[key], samples.get(key, [])) for key in order], len(sums)


def _calls(rows: Iterable[dict[str, Any]]) -> dict[tuple[str, str], _Sum]:
    """Return the sum of the call graph for each caller and callee."""
    sums: dict[tuple[str, str], _Sum] = defaultdict(_Sum)
    for row in rows:
        each = sums[row["source"], row["destination"]]
        each.add(row)
        each.planes.add(row["plane"])
        each.trusts.add(trust_of(row["port"]))
        each.routes.add((row["port"], row["method"], row["route"]))
    return sums


def _flows(rows: Iterable[dict[str, Any]]) -> dict[tuple[str, str], _Sum]:
    """Return the sum of the flows for each publisher and subscriber."""
    sums: dict[tuple[str, str], _Sum] = defaultdict(_Sum)
    for row in rows:
        each = sums[row["publisher"] or "(unknown)", row["subscriber"] or NO_SUBSCRIBER]
        each.add(row)
        each.routes.add((row["pattern"],))
    return sums


def _edge(key: tuple[str, str], total: _Sum, samples: list[str]) -> Edge:
    return Edge(
        source=key[0],
        destination=key[1],
        planes=tuple(sorted(total.planes)),
        trusts=tuple(sorted(total.trusts)),
        **total.counts,
        first=time_text(total.first),
        last=time_text(total.last),
        routes=len(total.routes),
        samples=tuple(samples),
    )


def _samples(result: Run, wanted: set[tuple[str, str]]) -> dict[tuple[str, str], list[str]]:
    """Return a few subjects of each edge, undelivered ones first."""
    found: dict[tuple[str, str], list[str]] = defaultdict(list)
    for subject in islice(_subjects(result), _SUBJECTS_READ):
        try:
            address = microbus.decode(subject)
        except SubtrieError:
            continue
        if not isinstance(address, microbus.RequestAddress):
            continue
        key = address.source, address.host
        if key in wanted and len(found[key]) < _SAMPLES and subject not in found[key]:
            found[key].append(subject)
    return found


def _subjects(result: Run) -> Iterator[str]:
    for table in ("undelivered", "refused", "hot_subjects", "fan_out"):
        for row in rows_of(result, table):
            yield row["subject"]
