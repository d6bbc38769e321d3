"""Generate ``docs/performance.md`` and its plots from the newest records.

    python tools/performance_page.py [--check | --all]

``--check`` only checks that page and plots agree with the records. Numbers in plots are compared
rounded, because another processor may place a line a thousandth of a point off. ``--all`` prints
the page with every row of every table; the page itself has those by which users choose.
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
import performance_spark  # noqa: E402
import performance_summary  # noqa: E402
import performance_tables  # noqa: E402
import sections  # noqa: E402
import turns  # noqa: E402

RECORDS = ROOT / "benches" / "records"
PAGE = ROOT / "docs" / "performance.md"
PICTURES = ROOT / "docs" / "pictures"

#: The numbers of requests in flight that the page shows.
_SHOWN_IN_FLIGHT = (1, 64, 1024)

#: Tables that only ``--all`` prints: pictures and the summary have what users need of them.
_ONLY_IN_ALL = (
    turns.loading,
    turns.codec,
    turns.images,
    turns.caches,
    turns.waits,
    turns.batches_in_turns,
    turns.shared,
    sections.lookups,
    sections.yardsticks,
    sections.questions,
    sections.batches,
    sections.memory,
    sections.changes,
    sections.readers,
)

# A section of the page: its title, its picture, the text below the title, and its tables.
SECTIONS: list[tuple[str, str | None, str, list[Any]]] = [
    (
        "The index in turns with its alternatives",
        None,
        "Every subject is a new `str`. `hot` looks up the same 1,000 subjects, `zipf` draws from "
        "100,000 with weight 1/n, `uniform` uses every pattern equally often. Bold: faster than "
        "subtrie from Python. Where a picture differs, this table is meant.",
        [turns.in_turns, turns.caches],
    ),
    (
        "Batches, loading, addresses and images in turns",
        None,
        "Bold: an earlier build was faster.",
        [turns.batches_in_turns, turns.loading, turns.shared, turns.codec, turns.images],
    ),
    (
        "Waits of three threads of Python",
        None,
        "One thread calls `match`, one `match_batch` with 10,000 subjects, one adds and removes.",
        [turns.waits],
    ),
    (
        "Lookup cost by number of subscriptions",
        "growth",
        "",
        [sections.lookups],
    ),
    (
        "Comparison with the index of nats-server",
        "against-gsl",
        "`gsl` is the index that nats-server exports: its time divided by that of the core.",
        [],
    ),
    (
        "Cost of one lookup from Python",
        "from-python",
        "Rows in parentheses look nothing up.",
        [sections.yardsticks, sections.questions],
    ),
    (
        "Batch lookups",
        "batch",
        "`match_batch` on an Arrow column of a million subjects.",
        [sections.batches],
    ),
    (
        "Memory per subscription",
        "memory",
        "Strings included; in Python values and handles too.",
        [sections.memory],
    ),
    (
        "Cost of a change",
        "changes",
        "`grow`: every insert into an index that starts empty.",
        [sections.changes],
    ),
    (
        "Readers during writes",
        "readers",
        "Reads of hot subjects from Rust, under a lock; left-right is of an earlier version.",
        [sections.readers],
    ),
    ("Missed targets of the index", None, "", [sections.wanted]),
    (
        "Where another index is faster",
        None,
        "",
        [sections.lost],
    ),
]


def newest(pattern: str) -> tuple[str, dict[str, Any]]:
    """Return the name and content of the record with the latest date."""
    path = max(RECORDS.glob(pattern))
    return path.name, json.loads(path.read_text())


def made(everything: bool = False) -> dict[Path, str]:
    """Return the page and its pictures, by file."""
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
        *performance_summary.lines(peers, connector, rules, wire),
        "",
        f"{peers['processor']}, {peers['cores']} cores, {peers['date']}; {versions}. All programs "
        "read the same files, with subjects of Microbus, and all answers were compared. "
        + (f"Each figure is the best of {peers['runs']} runs. " if peers["runs"] > 1 else "")
        + "Ratios are more reliable than decimals.",
        "",
        f"`tools/performance_page.py` generates this page from `benches/records/{name}`, "
        f"`{connector_name}`, `{rules_name}`, `{wire_name}` and `{audit_name}`; with `--all` it "
        "prints every row. `benches/README.md` says how to make a record.",
    ]
    if max(peers["sizes"]) < 1_000_000:
        lines += ["", "This record is a sample: it has fewer than 1,000,000 subscriptions."]
    lines += [line for note in peers["notes"] for line in ("", f"Not measured: {note}.")]
    files = {}
    for title, picture, text, parts in SECTIONS:
        parts = [part for part in parts if everything or part not in _ONLY_IN_ALL]
        found = [section for part in parts for section in part(rows) if section.lines]
        svg = plots.drawn(picture, rows) if picture else None
        if not found and not svg:
            continue
        lines += ["", f"## {title}", *(("", text) if text else ())]
        if svg:
            files[PICTURES / f"{picture}.svg"] = svg
            lines += ["", f"![{title}](pictures/{picture}.svg)"]
        for section in found:
            lines += performance_tables.table(section, everything)
    lines += _of_the_connector(connector, everything)
    lines += _of_the_client(everything)
    if everything:
        lines += _of_permissions(rules)
    lines += _of_the_wire(wire, everything)
    lines += _of_the_audit(audit)
    lines += performance_spark.section(everything)
    return {PAGE: "\n".join(lines), **files}


def _of_the_connector(record: dict[str, Any], everything: bool) -> list[str]:
    """Return the section about requests between two connectors."""
    lines = [
        "",
        "## Cost of a request between two services",
        "",
        "A path argument and a JSON body each way; medians of "
        f"{record['calls']:,} calls, {record['processor']}, {record['cores']} cores under a "
        f"load of {record['load_average']}, {record['date']} (`python -m "
        "benches.connector_speed`).",
        "",
        "| | median |",
        "|---|---|",
    ]
    lines += [
        f"| {name} | {value:.2f} µs |"
        for name, value in record["medians_us"].items()
        if everything or value > 10
    ]
    lines += ["", f"| {'' if everything else 'missed'} | wanted | measured |", "|---|---|---|"]
    for each in record["figures"]:
        if each["reached"] and not everything:
            continue
        shown = f"{each['value']:,}"
        shown = shown if each["reached"] else f"**{shown}**"
        lines.append(f"| {each['figure']} | {each['wanted']} | {shown} |")
    if (load := record["load"]) is not None and everything:
        lines += [
            "",
            f"{load['requests']:,} requests of mixed kinds in {load['seconds']} s over one "
            f"nats-server: {load['lost']} lost, {load['doubled']} doubled, {load['wrong']} wrong; "
            f"{load['cpu_us_a_request']} µs of processor time per request for both sides, "
            f"{load['resident_mib']} MiB resident at the end.",
        ]
    return lines


def _cpu_beside_go(everything: bool) -> list[str]:
    """Return the table of CPU beside a connector of Go, of the latest run."""
    name, record = newest("busy-go-*.json")
    lines = [
        "",
        f"CPU of one request beside {record['peer']} (`{name}`).",
        "",
        "| in flight | caller, Python | caller, Go | service, Python | service, Go |",
        "|---|---|---|---|---|",
    ]
    rows = record["in_flight"]
    for number in sorted({int(what.rpartition(", ")[2]) for what in rows}):
        if not everything and number not in _SHOWN_IN_FLIGHT:
            continue
        cells = [
            rows[f"{caller} to {service}, {number}"][f"{side}_us_a_request"]
            for caller, service, side in (
                ("Python", "peer", "caller"),
                ("peer", "peer", "caller"),
                ("peer", "Python", "service"),
                ("peer", "peer", "service"),
            )
        ]
        lines.append(f"| {number:,} | " + " | ".join(f"{cell} µs" for cell in cells) + " |")
    return lines


def _of_the_client(everything: bool) -> list[str]:
    """Return the sections about the NATS client and its acknowledgements."""
    record = json.loads((RECORDS / "busy-py311.json").read_text())
    before = json.loads((RECORDS / "busy-py312-nats-py.json").read_text())
    lines = [
        "",
        "## The NATS client of connectors",
        "",
        "Requests answered a second, and the time within which 99 of 100 were: two processes and "
        f"nats-server on {record['cores']} cores, Python {record['python']}; the peer is "
        f"{record['peer']} (`python -m benches.connector_busy`). With nats-py: an earlier version, "
        f"Python {before['python']}.",
        "",
    ]
    rows = list(record["in_flight"].items())
    rows += [
        (what.replace("Python,", "Python with nats-py,"), row)
        for what, row in before["in_flight"].items()
        if what.startswith("Python to Python")
    ]
    found: dict[str, dict[str, str]] = {}
    for what, row in rows:
        kind, _, count = what.rpartition(", ")
        if everything or int(count) in _SHOWN_IN_FLIGHT:
            cell = f"{row['answered_per_second']:,}, {row['p99_ms']} ms"
            found.setdefault(kind, {})[f"{int(count):,}"] = cell
    counts = list(found["Python to Python"])
    lines += [f"| in flight | {' | '.join(counts)} |", "|---" * (len(counts) + 1) + "|"]
    lines += [
        f"| {kind} | {' | '.join(cells.get(count, '') for count in counts)} |"
        for kind, cells in found.items()
    ]
    lines += _cpu_beside_go(everything)
    told = record["acknowledgements"]
    shown = [
        f"{what}, {each['in_time']}"
        for what, each in told.items()
        if everything or "interval" not in what
    ]
    return [
        *lines,
        "",
        "A caller of Go gives up if no acknowledgement comes within 100 ms. Of "
        f"{next(iter(told.values()))['tries']} requests to a busy service these were acknowledged "
        f"in time: {'; '.join(shown)}.",
    ]


def _of_permissions(record: dict[str, Any]) -> list[str]:
    sets = {
        "services-1000": "1,000 rules of services against 1,000 others",
        "services-equal": "1,000 rules of services against the same in reverse order",
        "hostile": "700 allow and 300 deny rules of 16 tokens over `{a, b, *, >}`, twice",
    }
    lines = [
        "",
        "## Comparison of permissions",
        "",
        f"Median milliseconds; {record['machine']}, {record['date']}, load average "
        f"{record['load_average']}. *Both ways* is what `compare` decides: whether each set "
        "contains the other (wanted: 50 ms for two sets of 1,000 rules).",
        "",
    ]
    found: dict[str, dict[str, str]] = {}
    for row in record["rows"]:
        name = f"{sets[row['sets']]}, {row['engine']}"
        found.setdefault(name, {})[row["question"]] = f"{row['median_ms']:,.1f}"
    asked = list(dict.fromkeys(question for cells in found.values() for question in cells))
    lines += [f"| | {' | '.join(asked)} |", "|---" * (len(asked) + 1) + "|"]
    for name, cells in found.items():
        lines.append(f"| {name} | {' | '.join(cells.get(each, '') for each in asked)} |")
    return lines


def _of_the_wire(record: dict[str, Any], everything: bool) -> list[str]:
    """Return the section about parsing and name checks."""
    rows = record["rows"]
    found = {(row["measure"], row["what"], row["who"]): row for row in rows}
    lines = [
        "",
        "## Protocol parsing",
        "",
        f"{record['processor']}, {record['cores']} cores under a load of "
        f"{record['load_average']}, {record['date']}; "
        + ", ".join(f"{what} {version}" for what, version in record["versions"].items())
        + ". The core parses, in MB per second: "
        + ", ".join(
            f"{row['what']} {row['bytes_per_second'] / 1e6:,.0f}"
            for row in rows
            if row["measure"] == "parse"
        )
        + ".",
        "",
        "Nanoseconds from Python for each of 1,000 deliveries of 128 bytes: "
        + ", ".join(f"{row['who']} {row['ns']:,.0f}" for row in rows if row["measure"] == "read")
        + ". *native-parts* accesses subject, reply and payload, which nats-py always creates.",
    ]
    if not everything:
        return lines
    lines += [
        "",
        "`check_name` from Python (wanted: ten times the reference; rows below it are bold).",
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
    priority = "with the priority of real time, " if audit.get("real_time") else ""
    return [
        "",
        "## Duration of an audit",
        "",
        f"{audit['log_mib']:,} MiB on Spark ({audit['machine']}, {priority}{audit['date']}): "
        f"{audit['seconds']} s with the start of the session; at most "
        f"{peak['jvm']:,} MiB in the JVM and {peak['workers_together']:,} MiB in all workers.",
        "",
    ]


NUMBER = re.compile(r"-?\d+\.\d+")


def same(one: str, other: str) -> bool:
    """Compare two pictures, except for rounding."""
    if NUMBER.split(one) != NUMBER.split(other):
        return False
    pairs = zip(NUMBER.findall(one), NUMBER.findall(other), strict=True)
    return all(abs(float(a) - float(b)) < 0.02 for a, b in pairs)


def check(files: dict[Path, str]) -> str | None:
    """Return a message that names an outdated file, or None."""
    for path, text in files.items():
        there = path.read_text() if path.exists() else ""
        if not (same(there, text) if path.suffix == ".svg" else there == text):
            return f"{path.relative_to(ROOT)} is out of date: run tools/performance_page.py"
    left = {path for path in PICTURES.glob("*.svg") if path.stem in plots.PLOTS} - set(files)
    return f"{min(left).relative_to(ROOT)} has no plot any more; delete it" if left else None


def main() -> None:
    """Write the page and its pictures, or check them."""
    if "--all" in sys.argv:
        print(made(everything=True)[PAGE])
        return
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
