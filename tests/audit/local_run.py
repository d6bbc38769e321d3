"""The steps of the audit without Spark: the same functions on the same rows, in one process."""

from __future__ import annotations

import io
from collections import Counter, defaultdict
from itertools import pairwise
from typing import Any

import pyarrow as pa

from subtrie.spark import _delivery as delivery
from subtrie.spark import _subscriptions as subscriptions
from subtrie.spark._trace_parser import rows_of


def read(data: bytes, *edges: int) -> list[dict[str, Any]]:
    """Return the rows of a log that is split at ``edges``."""
    cuts = [0, *sorted(edges), len(data)]
    rows: list[dict[str, Any]] = []
    for start, end in pairwise(cuts):
        for batch in rows_of(io.BytesIO(data), 0, start, end, len(data)):
            rows.extend(batch)
    return rows


def counts(rows: list[dict[str, Any]]) -> Counter[str]:
    """Count the lines by category."""
    total: Counter[str] = Counter()
    for row in rows:
        if row["kind"] == "count":
            total[row["subject"]] += row["size"]
    return total


def matched(rows: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """Return the outcome of each match group: the rows of ``delivery.SCHEMA``."""
    events = sorted(
        (row for row in rows if row["kind"] in ("subscribe", "unsubscribe", "closed", "refusal")),
        key=lambda row: (row["conn"], row["pos"]),
    )
    names = ("log", "conn", "pos", "kind", "sid", "subject", "queue", "account")
    active: dict[tuple[str, str], list[dict[str, Any]]] = defaultdict(list)
    if events:
        table = pa.table({name: [row[name] for row in events] for name in names})
        for batch in subscriptions._spans(table.to_batches()):
            for row in batch.to_pylist():
                active[row["conn"], row["sid"]].append(row)

    def subscriber(row: dict[str, Any]) -> str:
        before = [s for s in active[row["conn"], row["sid"]] if s["start"] < row["pos"]]
        queue = max(before, key=lambda s: s["start"])["queue"] if before else None
        return queue or f"{row['conn']} {row['sid']}"

    entries = []
    for row in rows:
        key = (row["log"], row["subject"], row["reply"], row["size"])
        if row["kind"] in ("publish", "inbound") and row["reason"] is None:
            entries.append((*key, row["pos"], row["end"], row["kind"] == "inbound", None))
        elif row["kind"] == "hop":
            entries.append((*key, row["pos"], None, True, row["conn"]))
        elif row["kind"] == "delivery":
            entries.append((*key, row["pos"], None, False, subscriber(row)))
    entries.sort(key=lambda entry: entry[:5])
    if not entries:
        return []
    columns = [pa.array(column) for column in zip(*entries, strict=True)]
    batch = pa.record_batch(columns, names=[str(i) for i in range(8)])
    return [row for out in delivery._matched([batch]) for row in out.to_pylist()]
