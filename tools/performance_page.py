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
import sections  # noqa: E402
import turns  # noqa: E402

RECORDS = ROOT / "benches" / "records"
PAGE = ROOT / "docs" / "performance.md"
PICTURES = ROOT / "docs" / "pictures"

#: Tables that only ``--all`` prints: pictures and other tables of the page say the same.
_ONLY_IN_ALL = (
    turns.caches,
    turns.waits,
    sections.lookups,
    sections.yardsticks,
    sections.questions,
    sections.batches,
    sections.changes,
    sections.readers,
)

# A section of the page: its title, its picture, the text below the title, and its tables.
SECTIONS: list[tuple[str, str | None, str, list[Any]]] = [
    (
        "The index in turns with its alternatives",
        None,
        "Programs that take turns, round by round over all subjects; the least round of each. "
        "Every subject is a new `str`, and every row from Python has the same loop. "
        "`lru_cache` is what a program can do by hand: over a trie of dictionaries, with 1,024 "
        "entries or without a limit. Without one it is faster "
        "once every subject was seen, and it grows with each new one. Alternatives that are faster "
        "than subtrie from Python are bold. Where a picture has another figure, that of this table "
        "is meant: its programs took turns, so that the machine was the same for all.",
        [turns.in_turns, turns.caches],
    ),
    (
        "Batches, loading, addresses and images in turns",
        None,
        "`rows` are tuples, `lists` are two lists, `Arrow` is a column of patterns; the handles "
        "are kept. The growth of the process has values and handles in it, but not the texts of "
        "the patterns. The first question and the first change after opening an image have it in "
        "memory already.",
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
        "`hot` looks up the same 1,000 subjects repeatedly, `zipf` draws from 100,000 with weight "
        "1/n, `uniform` uses every pattern equally often.",
        [sections.lookups],
    ),
    (
        "Comparison with the index of nats-server",
        "against-gsl",
        "`gsl` is the index that nats-server exports, called with a callback, so that it does not "
        "allocate. The line is its time divided by that of the core in the same run.",
        [],
    ),
    (
        "Cost of one lookup from Python",
        "from-python",
        "Every subject is a new `str` without a cached hash, and every row includes the same loop. "
        "Rows in parentheses do not look anything up: they show the cost of a call.",
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
        "Including strings. The allocator counts the core's heap, and Go's is read after a garbage "
        "collection. For Python it is the growth of the process, values and handles included.",
        [sections.memory],
    ),
    (
        "Cost of a change",
        "changes",
        "At full size, 10,000 times, a random subscription is removed and a new one is added, each "
        "timed separately; `grow` is every insert into an index that starts empty.",
        [sections.changes],
    ),
    (
        "Readers during writes",
        "readers",
        "Reads of hot subjects from Rust, all readers together. The index has one copy, which a "
        "program in Rust shares by a lock of its choice; rows of left-right are of an earlier "
        "version, which had two copies ([why not](index-notes.md#tried-and-rejected)). The "
        "longest read excludes reads during which the kernel ran another thread on the core; "
        "without a writer it is the noise of the machine.",
        [sections.readers],
    ),
    ("Targets of the index", None, "Missed targets are bold.", [sections.wanted]),
    (
        "Where another index is faster",
        None,
        "The factor by which subtrie is slower.",
        [sections.lost],
    ),
]


def newest(pattern: str) -> tuple[str, dict[str, Any]]:
    """Return the name and content of the record with the latest date."""
    path = max(RECORDS.glob(pattern))
    return path.name, json.loads(path.read_text())


def table(section: sections.Section, everything: bool = False) -> list[str]:
    """Return a section in Markdown, without the rows that only developers compare."""
    shown_columns = [each for each in section.columns if everything or "baseline" not in each]
    lines = ["", f"**{section.title}**", "", f"| {' | '.join(shown_columns)} |"]
    lines.append("|---" * len(shown_columns) + "|")
    for at, cells in enumerate(section.lines):
        if not everything and _is_for_developers(section, cells):
            continue
        cells = cells[: len(shown_columns)]  # an earlier build is the last column
        shown = [f"**{cell}**" if cell and at in section.lost else cell for cell in cells]
        lines.append(f"| {' | '.join(shown)} |")
    return lines


def _is_for_developers(section: sections.Section, cells: list[str]) -> bool:
    """Tell whether a row is of an earlier build, or of a target that was not missed."""
    if section.title == "targets of the index":
        return cells[-1] != "missed"
    return any(cell.startswith("baseline") for cell in cells) or "baseline" in section.title


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
        f"Generated from `benches/records/{name}`, `{connector_name}`, `{rules_name}`, "
        f"`{wire_name}` and `{audit_name}` by "
        "`tools/performance_page.py`, which with `--all` prints every row; "
        "`make bench-peers` makes a new record. `benches/README.md` describes how each figure is "
        "measured.",
        "",
        f"{peers['processor']}, {peers['cores']} cores, {peers['date']}; {versions}. All programs "
        "read the same files, with subjects of Microbus, and all answers were compared before any "
        "time was recorded. "
        + (f"Each figure is the best of {peers['runs']} runs. " if peers["runs"] > 1 else "")
        + "Ratios are more reliable than decimals.",
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
        lines += ["", f"## {title}", "", text]
        if svg:
            files[PICTURES / f"{picture}.svg"] = svg
            lines += ["", f"![{title}](pictures/{picture}.svg)"]
        for section in found:
            lines += table(section, everything)
    lines += _of_the_connector(connector)
    lines += _of_the_client(everything)
    lines += _of_permissions(rules, everything)
    lines += _of_the_wire(wire, everything)
    lines += _of_the_audit(audit)
    lines += performance_spark.section()
    return {PAGE: "\n".join(lines), **files}


def _of_the_connector(record: dict[str, Any]) -> list[str]:
    """Return the section about requests between two connectors."""
    lines = [
        "",
        "## Cost of a request between two services",
        "",
        "A path argument and a JSON body each way, answers compared; the variants alternate in one "
        f"run of {record['calls']:,} calls each, {record['processor']}, {record['cores']} cores "
        f"under a load of {record['load_average']}, {record['date']}. "
        "`python -m benches.connector_speed` measures it.",
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
            f"wrong; both sides together used {load['cpu_us_a_request']} µs of processor time per "
            f"request, and {load['resident_mib']} MiB resident at the end.",
        ]
    return lines


def _cpu_beside_go() -> list[str]:
    """Return the table of CPU beside a connector of Go, of the latest run."""
    name, record = newest("busy-go-*.json")
    lines = [
        "",
        f"CPU of one request beside that of {record['peer']}, in one run (record `{name}`): "
        "callers of a service of Go, and services under a caller of Go.",
        "",
        "| in flight | caller, Python | caller, Go | service, Python | service, Go |",
        "|---|---|---|---|---|",
    ]
    rows = record["in_flight"]
    for number in sorted({int(what.rpartition(", ")[2]) for what in rows}):
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
        f"Requests from one process to another over nats-server, all three on {record['cores']} "
        f"cores, Python {record['python']}; the peer is {record['peer']}. `python -m "
        "benches.connector_busy` measures it (record `busy-py311.json`). The rows with nats-py are "
        f"of connectors when they could use it (Python {before['python']}, record "
        "`busy-py312-nats-py.json`).",
        "",
        "| from, to | in flight | answered a second | 99 of 100 within | CPU of the service |",
        "|---|---|---|---|---|",
    ]
    rows = list(record["in_flight"].items())
    rows += [
        (what.replace("Python,", "Python with nats-py,"), row)
        for what, row in before["in_flight"].items()
        if what.startswith("Python to Python")
    ]
    for what, row in rows:
        kind, _, count = what.rpartition(", ")
        if not everything and count not in ("1", "64", "1024"):
            continue
        lines.append(
            f"| {kind} | {int(count):,} | {row['answered_per_second']:,} | "
            f"{row['p99_ms']} ms | {row['service_us_a_request']} µs |"
        )
    lines += _cpu_beside_go()
    lines += [
        "",
        "Acknowledgements while the service is busy, with the switch interval of 0.5 ms that a "
        "connection sets, and with the interpreter's own (`SUBTRIE_KEEP_SWITCH_INTERVAL=1`). A "
        "caller of Go gives up after 100 ms.",
        "",
        "| the service | within 100 ms | the slowest | answered |",
        "|---|---|---|---|",
    ]
    lines += [
        f"| {what} | {told['in_time']} of {told['tries']} | {told['slowest_ms']} ms | "
        f"{told['answered']} |"
        for what, told in record["acknowledgements"].items()
    ]
    return lines


def _of_permissions(record: dict[str, Any], everything: bool) -> list[str]:
    sets = {
        "services-1000": "1,000 rules of services against 1,000 others",
        "services-equal": "1,000 rules of services against the same in reverse order",
        "hostile": "700 allow and 300 deny rules of 16 tokens over `{a, b, *, >}`, twice",
    }
    lines = [
        "",
        "## Comparison of permissions",
        "",
        f"{record['machine']}, {record['date']}, load average {record['load_average']}. "
        "*Both ways* is what `compare` decides: whether each set contains the other. The target is "
        "50 ms for two sets of 1,000 rules.",
        "",
        "| sets | question | engine | median ms | least ms |",
        "|---|---|---|---|---|",
    ]
    for row in record["rows"]:
        if not everything and (row["engine"] != "native" or row["sets"] == "services-equal"):
            continue
        figures = f"{row['median_ms']:,.1f} | {row['least_ms']:,.1f}"
        cells = (sets[row["sets"]], row["question"], row["engine"], figures)
        lines.append(f"| {' | '.join(cells)} |")
    return lines


def _of_the_wire(record: dict[str, Any], everything: bool) -> list[str]:
    """Return the section about parsing and name checks."""
    rows = record["rows"]
    found = {(row["measure"], row["what"], row["who"]): row for row in rows}
    lines = [
        "",
        "## Protocol parsing and name checks",
        "",
        f"{record['processor']}, {record['cores']} cores under a load of "
        f"{record['load_average']}, {record['date']}; "
        + ", ".join(f"{what} {version}" for what, version in record["versions"].items())
        + ". The fastest round of each; `python benches/wire_speed.py` measures it. The core "
        "allocates nothing for an operation that one chunk contains whole "
        "(`tests/core/wire_memory.rs`); the target is at least 1 GB per second of `pub-128`.",
        "",
        "| the core parses | MB per second |",
        "|---|---|",
    ]
    for row in rows:
        if row["measure"] == "parse":
            lines.append(f"| {row['what']} | {row['bytes_per_second'] / 1e6:,.0f} |")
    lines += [
        "",
        "From Python, 1,000 deliveries of 128 bytes in chunks of 64 KiB. The target is ten times "
        "the speed of nats-py's parser. That parser always creates the subject, reply and payload "
        "of a message; subtrie creates them on access, and *native-parts* accesses all three.",
        "",
        "| parser | ns per operation | times nats-py |",
        "|---|---|---|",
    ]
    rival = found["read", "MSG of 128 bytes", "nats-py"]["ns"]
    for row in rows:
        if row["measure"] == "read":
            lines.append(f"| {row['who']} | {row['ns']:,.0f} | {rival / row['ns']:.1f} |")
    lines += [
        "",
        "`check_name` from Python. The target is ten times the speed of the reference; rows below "
        "it are bold.",
        "",
        "| kind | native ns | reference ns | times |",
        "|---|---|---|---|",
    ]
    for row in rows:
        if (row["measure"], row["who"]) == ("check_name", "native"):
            if not everything and "of 40 bytes" not in row["what"]:
                continue
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
        f"{audit['log_mib']:,} MiB on Spark, {audit['lines']:,} lines, {audit['machine']}, "
        f"{priority}{audit['date']}: {audit['seconds']} s with the start of the session, "
        f"{audit['lines_per_second']:,} lines per second, "
        f"{audit['partitions']} partitions, driver heap {audit['driver_heap']}; at most "
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
