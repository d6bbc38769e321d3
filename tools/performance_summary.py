"""The summary of the page of performance: the figures by which most users choose."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import turns

RECORDS = Path(__file__).resolve().parent.parent / "benches" / "records"


#: What the summary has of other measures of subtrie from Python: text, measure and form, unit.
_OF_THE_INDEX = (
    ("an address decoded", ("turns codec", "decode"), "ns", 1),
    ("an address encoded", ("turns codec", "encode_request"), "ns", 1),
    ("{size:,} subscriptions loaded", ("turns load", "rows"), "thousand a second", 1e-3),
    ("memory for each of {size:,}", ("turns memory", None), "bytes", 1),
    ("an image of {size:,} opened and verified", ("turns image", "verified"), "µs", 1e-3),
    ("the first change of one of {size:,}", ("turns image", "first add"), "ms", 1e-6),
)


#: The easiest and the hardest of the lookups in turns.
_LOOKUPS = (("6,000", "hot"), ("600,000", "uniform"))


def _named(row: dict[str, Any]) -> tuple[str, str | None] | None:
    return (row["measure"], row.get("form")) if row["who"] == "subtrie, Python" else None


def lines(
    peers: dict[str, Any], connector: dict[str, Any], rules: dict[str, Any], wire: dict[str, Any]
) -> list[str]:
    """Return the figures by which most users choose, each with its record's section below."""
    found = ["| | measured |", "|---|---|"]
    (turned,) = turns.in_turns(peers["rows"])
    for cells in turned.lines:
        who, size, order, least = cells[:4]
        if who == "subtrie, Python" and (size, order) in _LOOKUPS:
            found.append(f"| one lookup from Python, {size} subscriptions, {order} | {least} ns |")
    for what, measure, unit, scale in _OF_THE_INDEX:
        for row in [row for row in peers["rows"] if _named(row) == measure][:1]:
            value = row.get("least_ns") or row.get("per_second") or row["heap_bytes"]
            found.append(f"| {what.format(size=row['size'])} | {value * scale:,.0f} {unit} |")
    medians = connector["medians_us"]
    found.append(f"| a request between two services of one process | {medians['in process']} µs |")
    busy = json.loads((RECORDS / "busy-py311.json").read_text())["in_flight"]
    rate = busy["Python to Python, 64"]["answered_per_second"]
    found.append(f"| requests between two processes over NATS, 64 in flight | {rate:,} a second |")
    least = next(
        row["median_ms"]
        for row in rules["rows"]
        if (row["sets"], row["question"], row["engine"]) == ("services-1000", "both ways", "native")
    )
    found.append(f"| two sets of 1,000 permissions compared | {least:,.1f} ms |")
    parsed = next(
        row["bytes_per_second"]
        for row in wire["rows"]
        if (row["measure"], row["what"]) == ("parse", "pub-128")
    )
    found.append(f"| the protocol parsed by the core | {parsed / 1e6:,.0f} MB a second |")
    here = json.loads(max(RECORDS.glob("audit-here-*.json")).read_text())
    found.append(
        f"| {here['log_mib']:,} MiB of trace log audited in one process | "
        f"{here['cpu_seconds']} s of CPU time, {here['peak_mib']} MiB |"
    )
    return found
