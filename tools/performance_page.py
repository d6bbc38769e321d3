"""Writes ``docs/performance.md`` and its plots from the newest records: no figure is typed.

    python tools/performance_page.py [--check]

``--check`` says whether page and plots are what the records say. Plots are compared with numbers
rounded, since another processor may draw a line a thousandth of a point elsewhere.
"""

from __future__ import annotations

import json
import re
import sys
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parent.parent
sys.path[:0] = [str(ROOT / "benches" / "peers")]

import performance_plots as plots  # noqa: E402
import sections  # noqa: E402

RECORDS = ROOT / "benches" / "records"
PAGE = ROOT / "docs" / "performance.md"
PICTURES = ROOT / "docs" / "pictures"

# A question of the page: its title, its picture, what stands below the title, and its tables.
QUESTIONS: list[tuple[str, str | None, str, list[Any]]] = [
    (
        "What does a lookup cost as subscriptions grow?",
        "growth",
        "`hot` asks 1,000 different subjects over and over, `zipf` draws from 100,000 with weight "
        "1/n, `uniform` takes every pattern equally often. Rows that are faster than ours in the "
        "same language, or than ours from Python, are bold.",
        [sections.lookups],
    ),
    (
        "How does the core compare with nats-server's own index?",
        "against-gsl",
        "`gsl` is the index that nats-server exports, asked with a callback, so that it allocates "
        "nothing. The line is its time over ours in the same run.",
        [],
    ),
    (
        "What does one lookup cost from Python?",
        "from-python",
        "Every subject is a new `str` without a hash; all rows pay for the same loop. What stands "
        "in parentheses looks nothing up: it is what a call costs.",
        [sections.yardsticks, sections.questions],
    ),
    (
        "How many subjects a second in one call?",
        "batch",
        "`match_batch` on an Arrow column of a million subjects.",
        [sections.batches],
    ),
    (
        "How much memory does a subscription take?",
        "memory",
        "Strings included. The core's heap is counted by the allocator, Go's after a collection; "
        "from Python it is the growth of the process, values and handles included.",
        [sections.memory],
    ),
    (
        "What does a change cost?",
        "changes",
        "At size one subscription drawn at random goes and a new one comes, 10,000 times, each "
        "timed by itself; `grow` is every insert from empty.",
        [sections.changes],
    ),
    (
        "Do readers wait for a writer?",
        "readers",
        "Reads of hot subjects, all readers together. The longest read leaves out those during "
        "which the kernel gave the core to another thread; without a writer it is the noise of the "
        "machine.",
        [sections.readers],
    ),
    ("What do we hold the index to?", None, "Missed figures are bold.", [sections.wanted]),
    ("Where is another ahead?", None, "Ours is so many times behind.", [sections.lost]),
]


def newest(pattern: str) -> tuple[str, dict[str, Any]]:
    """The record with the latest date, and its name."""
    path = max(RECORDS.glob(pattern))
    return path.name, json.loads(path.read_text())


def table(section: sections.Section) -> list[str]:
    """A section in Markdown."""
    lines = ["", f"**{section.title}**", "", f"| {' | '.join(section.columns)} |"]
    lines.append("|---" * len(section.columns) + "|")
    for at, cells in enumerate(section.lines):
        shown = [f"**{cell}**" if cell and at in section.lost else cell for cell in cells]
        lines.append(f"| {' | '.join(shown)} |")
    return lines


def made() -> dict[Path, str]:
    """The page and its pictures, by file."""
    name, peers = newest("peers-*.json")
    audit_name, audit = newest("audit-scale-*.json")
    connector_name, connector = newest("connector-*.json")
    rules_name, rules = newest("permissions-*.json")
    wire_name, wire = newest("wire-*.json")
    rows = peers["rows"]
    versions = ", ".join(f"{what} {version}" for what, version in peers["versions"].items())
    lines = [
        "# Performance",
        "",
        f"Written from `benches/records/{name}`, `{connector_name}`, `{rules_name}`, "
        f"`{wire_name}` and `{audit_name}` by "
        "`tools/performance_page.py`; `make bench-peers` makes a new record. How each figure is "
        "measured stands in `benches/README.md`.",
        "",
        f"{peers['processor']}, {peers['cores']} cores, {peers['date']}; {versions}. All programs "
        "read the same files, in the shape of Microbus, and all answers were compared before a "
        "time was believed. " + _runs(peers["runs"]) + "Trust the ratios, not the decimals.",
    ]
    if max(peers["sizes"]) < 1_000_000:
        lines += ["", "This record is a sample: it stops short of 1,000,000 subscriptions."]
    lines += [line for note in peers["notes"] for line in ("", f"Not measured: {note}.")]
    files = {}
    for title, picture, text, parts in QUESTIONS:
        found = [section for part in parts for section in part(rows) if section.lines]
        svg = plots.drawn(picture, rows) if picture else None
        if not found and not svg:
            continue
        lines += ["", f"## {title}", "", text]
        if svg:
            files[PICTURES / f"{picture}.svg"] = svg
            lines += ["", f"![{title}](pictures/{picture}.svg)"]
        for section in found:
            lines += table(section)
    lines += _of_the_connector(connector)
    lines += _of_permissions(rules)
    lines += _of_the_wire(wire)
    lines += _of_the_audit(audit)
    return {PAGE: "\n".join(lines), **files}


def _runs(runs: int) -> str:
    return f"Each figure is the best of {runs} runs. " if runs > 1 else ""


def _of_the_connector(record: dict[str, Any]) -> list[str]:
    """Requests between two connectors, in process and under load over NATS."""
    lines = [
        "",
        "## What does a request between two services cost?",
        "",
        "A path argument and a JSON body each way, answers compared; all take turns in one run of "
        f"{record['calls']:,} calls each, {record['processor']}, {record['cores']} cores under a "
        f"load of {record['load_average']}, {record['date']}. `python -m benches.connector_speed` "
        "measures it.",
        "",
        "| | median |",
        "|---|---|",
    ]
    lines += [f"| {name} | {value:.2f} µs |" for name, value in record["medians_us"].items()]
    lines += ["", "| | wanted | measured |", "|---|---|---|"]
    for each in record["figures"]:
        shown = f"{each['value']:,}"
        shown = shown if each["reached"] else f"**{shown}**"
        lines.append(f"| {each['figure']} | {each['wanted']} | {shown} |")
    if (load := record["load"]) is not None:
        lines += [
            "",
            f"The load: {load['requests']:,} requests of mixed kinds in {load['seconds']} s over "
            f"one nats-server, {load['lost']} lost, {load['doubled']} doubled, {load['wrong']} "
            f"wrong; both sides together took {load['cpu_us_a_request']} µs of processor time a "
            f"request, and {load['resident_mib']} MiB resident in the end.",
        ]
    return lines


def _of_permissions(record: dict[str, Any]) -> list[str]:
    sets = {
        "services-1000": "1,000 rules of services against 1,000 others",
        "services-equal": "1,000 rules of services against the same, turned round",
        "hostile": "700 allow and 300 deny rules of 16 tokens over `{a, b, *, >}`, twice",
    }
    lines = [
        "",
        "## How long does it take to compare permissions?",
        "",
        f"{record['machine']}, {record['date']}, load average {record['load_average']}. "
        "*Both ways* is what `compare` asks: is one set inside the other, is that inside the "
        "one? The promise is 50 ms for two sets of 1,000 rules.",
        "",
        "| sets | question | engine | median ms | least ms |",
        "|---|---|---|---|---|",
    ]
    for row in record["rows"]:
        figures = f"{row['median_ms']:,.1f} | {row['least_ms']:,.1f}"
        cells = (sets[row["sets"]], row["question"], row["engine"], figures)
        lines.append(f"| {' | '.join(cells)} |")
    return lines


def _of_the_wire(record: dict[str, Any]) -> list[str]:
    """Bytes to operations in the core and from Python, and names beside the reference."""
    rows = record["rows"]
    found = {(row["measure"], row["what"], row["who"]): row for row in rows}
    lines = [
        "",
        "## How fast are bytes read, and names checked?",
        "",
        f"{record['processor']}, {record['cores']} cores under a load of "
        f"{record['load_average']}, {record['date']}; "
        + ", ".join(f"{what} {version}" for what, version in record["versions"].items())
        + ". The fastest round of each; `python benches/wire_speed.py` measures it. The core "
        "allocates nothing for an operation that lies whole in its piece (`tests/wire_memory.rs`); "
        "at least 1 GB a second of `pub-128` is promised.",
        "",
        "| the core reads | MB a second |",
        "|---|---|",
    ]
    for row in rows:
        if row["measure"] == "parse":
            lines.append(f"| {row['what']} | {row['bytes_per_second'] / 1e6:,.0f} |")
    lines += [
        "",
        "From Python, 1,000 deliveries of 128 bytes in pieces of 64 KiB. The promise is ten times "
        "nats-py's own parser. That always makes subject, reply and payload of a message; here "
        "they are made when asked for, and *native-parts* asks for all three.",
        "",
        "| who | ns an operation | times nats-py |",
        "|---|---|---|",
    ]
    rival = found["read", "MSG of 128 bytes", "nats-py"]["ns"]
    for row in rows:
        if row["measure"] == "read":
            lines.append(f"| {row['who']} | {row['ns']:,.0f} | {rival / row['ns']:.1f} |")
    lines += [
        "",
        "`check_name` from Python, ten times the reference promised; less is bold.",
        "",
        "| kind | native ns | reference ns | times |",
        "|---|---|---|---|",
    ]
    for row in rows:
        if (row["measure"], row["who"]) == ("check_name", "native"):
            other = found["check_name", row["what"], "reference"]["ns"]
            shown = f"{other / row['ns']:.1f}"
            shown = shown if other >= 10 * row["ns"] else f"**{shown}**"
            lines.append(f"| {row['what']} | {row['ns']:,.0f} | {other:,.0f} | {shown} |")
    return lines


def _of_the_audit(audit: dict[str, Any]) -> list[str]:
    peak = audit["peak_mib"]
    return [
        "",
        "## How long does the audit of a log take?",
        "",
        f"{audit['log_mib']:,} MiB, {audit['lines']:,} lines, {audit['machine']}, "
        f"{audit['date']}: {audit['seconds']} s, {audit['lines_per_second']:,} lines a second, "
        f"{audit['partitions']} partitions, driver heap {audit['driver_heap']}; at most "
        f"{peak['jvm']:,} MiB in the JVM and {peak['workers_together']:,} MiB in all workers.",
        "",
    ]


NUMBER = re.compile(r"-?\d+\.\d+")


def same(one: str, other: str) -> bool:
    """Are two pictures the same, but for what rounding does?"""
    if NUMBER.split(one) != NUMBER.split(other):
        return False
    pairs = zip(NUMBER.findall(one), NUMBER.findall(other), strict=True)
    return all(abs(float(a) - float(b)) < 0.02 for a, b in pairs)


def check(files: dict[Path, str]) -> str | None:
    """What is out of date, if anything."""
    for path, text in files.items():
        there = path.read_text() if path.exists() else ""
        if not (same(there, text) if path.suffix == ".svg" else there == text):
            return f"{path.relative_to(ROOT)} is out of date: run tools/performance_page.py"
    left = {path for path in PICTURES.glob("*.svg") if path.stem in plots.PLOTS} - set(files)
    return f"{min(left).relative_to(ROOT)} is left over" if left else None


def main() -> None:
    """Writes, or checks."""
    files = made()
    if "--check" in sys.argv:
        raise SystemExit(check(files))
    PICTURES.mkdir(exist_ok=True)
    for picture in plots.PLOTS:
        (PICTURES / f"{picture}.svg").unlink(missing_ok=True)
    for path, text in files.items():
        path.write_text(text)


if __name__ == "__main__":
    main()
