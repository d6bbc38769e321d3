"""Writes ``docs/performance.md`` from the newest records: no figure on the page is typed."""

from __future__ import annotations

import json
import sys
from collections import defaultdict
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parent.parent
RECORDS = ROOT / "benches" / "records"
PAGE = ROOT / "docs" / "performance.md"

# A round of the lookup benchmarks asks about so many subjects.
SUBJECTS = 1000


def newest(pattern: str) -> tuple[str, dict[str, Any]]:
    """The record with the latest date, and its name."""
    path = max(RECORDS.glob(pattern))
    return path.name, json.loads(path.read_text())


def page() -> str:
    """The whole page."""
    name, lookups = newest("20*.json")
    audit_name, audit = newest("audit-scale-*.json")
    machine = lookups["machine_info"]
    lines = [
        "# Performance",
        "",
        f"Written from `benches/records/{name}` and `{audit_name}` by `tools/performance_page.py`; "
        "`make bench` makes a new record.",
        "",
        f"{machine['cpu']['brand_raw']}, {machine['cpu']['count']} cores, "
        f"{machine['python_implementation']} {machine['python_version']}, "
        f"{lookups['datetime'][:10]}. Medians of rounds of {SUBJECTS:,} subjects, in nanoseconds a "
        "subject, the loop included; every subject is a new `str`, and all answers were compared "
        "before they were timed. Trust the ratios, not the decimals.",
    ]
    groups: defaultdict[str, list[tuple[float, str]]] = defaultdict(list)
    for row in lookups["benchmarks"]:
        label = str(row["param"] or row["name"]).removesuffix("-zipf").removesuffix("-uniform")
        label = label.removesuffix("-fresh").removesuffix("-6000").removesuffix("-1000")
        groups[row["group"]].append((row["stats"]["median"], label))
    for group in sorted(groups):
        rows = sorted(groups[group])
        own = next((time for time, label in rows if "native" in label.split("-")), None)
        per_subject = "update" not in group
        unit = "ns a subject" if per_subject else "ms"
        lines += ["", f"## {group}", "", f"| | {unit} | times native |", "|---|---|---|"]
        for time, label in rows:
            shown = f"{time / SUBJECTS * 1e9:,.0f}" if per_subject else f"{time * 1e3:,.1f}"
            ratio = "" if own is None else f"{time / own:,.2f}"
            lines.append(f"| {label} | {shown} | {ratio} |")
    peak = audit["peak_mib"]
    lines += [
        "",
        "## The audit of a log",
        "",
        f"{audit['log_mib']:,} MiB, {audit['lines']:,} lines, {audit['machine']}, "
        f"{audit['date']}: {audit['seconds']} s, {audit['lines_per_second']:,} lines a second, "
        f"{audit['partitions']} partitions, driver heap {audit['driver_heap']}; at most "
        f"{peak['jvm']:,} MiB in the JVM and {peak['workers_together']:,} MiB in all workers.",
        "",
    ]
    return "\n".join(lines)


if __name__ == "__main__":
    if "--check" in sys.argv:
        raise SystemExit(0 if PAGE.read_text() == page() else f"{PAGE.name} is out of date")
    PAGE.write_text(page())
