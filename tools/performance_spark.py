"""The section of the page of performance about the pipeline, from the newest records."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

RECORDS = Path(__file__).resolve().parent.parent / "benches" / "records"


def section(everything: bool) -> list[str]:
    """Return the lines of the section; targets that were missed are bold.

    Of single functions and of scaling only ``everything`` has those that were reached.
    """
    lines = ["## The pipeline on Spark"]
    ratios, subjects = _newest("spark-ratios-*.json"), _newest("spark-subjects-*.json")
    if ratios is not None:
        lines += [
            "",
            f"A trace log of {ratios['log_mib']:,} MiB ({ratios['machine']}, under a load of "
            f"{ratios['load_average']}, {ratios['date']}; `benches/spark/ratios.py`), as multiples "
            "of Spark's own `regexp_extract` cutting the same lines into nine columns "
            f"({ratios['medians']['regexp_extract']['seconds']} s).",
        ]
        found = ratios["times_regexp_extract"]
        rows = [
            *_first(found),
            ("the whole audit", found["audit"], "at most 0.2", found["audit"][0] <= 0.2),
            *_here(found),
            (
                "`nats-trace`, 11 columns",
                found["events"],
                "at most 0.125",
                found["events"][0] <= 1 / 8,
            ),
            ("counting the lines of the text", found["count_lines"], "", True),
        ]
        lines += _table(rows, with_cpu=everything)
        lines += [
            "",
            f"The largest Python worker had {ratios['worker_mib']} MiB (wanted: under 400).",
        ]
    here = _newest("audit-here-*.json")
    if here is not None and everything:
        peak = here["peak_mib"]
        shown = f"{peak} MiB" if peak <= 800 else f"**{peak} MiB**"
        lines += [
            "",
            f"Without Spark, {here['log_mib']:,} MiB under a load of {here['load_average']:.1f} "
            f"({here['date']}) took {here['seconds']} s and at most {shown}.",
        ]
    threads = _newest("audit-threads-*.json")
    if threads is not None and (everything or threads["one_to_two"] < 1.6):
        one, two = (threads["medians"][count]["seconds"] for count in ("1", "2"))
        ratio = threads["one_to_two"]
        shown = f"{ratio}" if ratio >= 1.6 else f"**{ratio}**"
        priority = "; with the priority of real time" if threads["real_time"] else ""
        lines += [
            "",
            f"Two threads on {threads['log_mib']:,} MiB of log take {two} s and one takes {one} s, "
            f"{shown} times as long (wanted: at least 1.6{priority}, {threads['date']}).",
        ]
    if subjects is not None:
        priority = " under the priority of real time" if subjects.get("real_time") else ""
        lines += [
            "",
            f"{subjects['rows']:,} subjects of {subjects['patterns']:,} patterns in Parquet, as "
            "multiples of an identity `mapInArrow` of the same column "
            f"({subjects['medians']['identity']['seconds']} s; a load of "
            f"{subjects['load_average']}{priority}, {subjects['date']}).",
        ]
        found = subjects["times_identity"]
        rows = [
            ("first id, kind and port", found["ids_and_codes"], "at most 1.45",
             found["ids_and_codes"][0] <= 1.45),
            ("id, port and seven texts", found["all_columns"], "at most 2.2",
             found["all_columns"][0] <= 2.2),
        ]  # fmt: skip
        if "tables" in found:
            rows.append(
                (
                    "all tables of the audit",
                    found["tables"],
                    "at most 2.0",
                    found["tables"][1] <= 2.0,
                )
            )
        lines += _table([row for row in rows if everything or not row[3]], with_cpu=True)
        for name, key, wanted in (
            ("a trie of dictionaries in Python", "python_trie_times_native", 6),
            ("a join by `rlike` with 1,000 patterns", "rlike_times_native_by_row", 1000),
        ):
            value = subjects[key]
            if value >= wanted and not everything:
                continue
            shown = f"{value:,}" if value >= wanted else f"**{value:,}**"
            lines += [
                "",
                f"The CPU time of {name} is {shown} times that of the native match "
                f"(wanted: {wanted:,}).",
            ]
    lines += _scale(everything)
    return [*lines, ""] if len(lines) > 1 else []


def _scale(everything: bool) -> list[str]:
    """Return the list of how the audit scales; targets that were missed are bold."""
    rows = []
    if (linear := _newest("spark-linear-*.json")) is not None:
        small, large = (int(rows) for rows in linear["nanoseconds_a_row"])
        rows.append(
            (f"a row of {large:,} events, as a multiple of one of {small:,}, which start as well",
             f"{linear['large_to_small']}", "at most 1.2", linear["large_to_small"] <= 1.2)
        )  # fmt: skip
    if (held := _newest("spark-subscriptions-*.json")) is not None:
        rows.append(
            (f"the largest worker with {held['patterns']:,} subscriptions",
             f"{held['worker_mib']} MiB", "under 400", held["worker_mib"] < 400)
        )  # fmt: skip
    if (workers := _newest("spark-workers-*.json")) is not None:
        inputs = {
            "log": ("workers", f"{workers['log_mib']:,} MiB of log"),
            "table": ("table_workers", f"{workers['table_rows']:,} messages in Parquet"),
        }
        for name, (times, what) in inputs.items():
            one, two = (workers[times][count]["cpu_seconds"] for count in ("1", "2"))
            ratio = workers["cpu_of_two_to_one"][name]
            rows.append(
                (f"CPU time of an audit by two workers of one core, as a multiple of one's "
                 f"({what}; {two} s and {one} s, the driver's included)",
                 f"{ratio}", "at most 1.15", ratio <= 1.15)
            )  # fmt: skip
    if (small := _newest("spark-small-*.json")) is not None:
        seconds = small["median_seconds"]["command"]
        rows.append(
            (f"the command on a log of {small['log_mib']} MiB, the start included",
             f"{seconds} s", "within 10 s", seconds <= 10)
        )  # fmt: skip
    rows = [row for row in rows if everything or not row[3] or row[0].startswith("the command")]
    if not rows:
        return []
    lines = ["", "How the audit scales, by `benches/spark/scale.py`:", ""]
    for name, value, wanted, reached in rows:
        lines.append(f"- {name}: {value if reached else f'**{value}**'} (wanted: {wanted})")
    return lines


def _newest(pattern: str) -> dict[str, Any] | None:
    found = sorted(RECORDS.glob(pattern))
    return json.loads(found[-1].read_text()) if found else None


def _first(found: dict[str, Any]) -> list[tuple[str, Any, str, bool]]:
    """Return the row of the first audit of the session, if the record has it."""
    if "first_audit" not in found:
        return []
    first = found["first_audit"]
    return [("the first audit of the session", first, "at most 0.4", first[0] <= 0.4)]


def _here(found: dict[str, Any]) -> list[tuple[str, Any, str, bool]]:
    """Return the rows of the audit in one process, on all cores and on one."""
    whole, one = found["audit_here"], found["audit_here_one_core"]
    return [
        ("the same without Spark, all cores", whole, "at most 0.15", whole[0] <= 0.15),
        ("the same without Spark, one core", one, "", True),
    ]


def _table(rows: list[tuple[str, list[float], str, bool]], *, with_cpu: bool) -> list[str]:
    """Return the table of multiples, of which those that were missed are bold."""
    lines = ["", "| | time | wanted |" + " CPU time |" * with_cpu]
    lines.append("|---|---|---|" + "---|" * with_cpu)
    for name, (wall, cpu), wanted, reached in rows:
        shown = f"{wall}" if reached else f"**{wall}**"
        lines.append(f"| {name} | {shown} | {wanted} |" + f" {cpu} |" * with_cpu)
    return lines
