"""Synthetic traffic with a known answer: a broker's trace log, and what an audit of it must say.

A simulated broker with services, replicas, routes and permissions writes its log and reports every
decision to a ``Truth``. The bytes are determined by the arguments, on every machine.
"""

from __future__ import annotations

import hashlib
import json
import os
from collections.abc import Callable
from pathlib import Path
from typing import Any

from .answers import AnswerTruth, rows_sorted
from .broker import Broker
from .events import EventRows
from .scenarios import Scenarios
from .sources import describe, write_sources
from .split_mix import SplitMix64
from .trace_log import SECOND, TraceLog
from .truth import Truth
from .world import HOME, OTHER, draw_world, give_rules

#: The version of the files that ``write_traffic`` writes.
TRAFFIC_FORMAT = 2
_START = 1_795_248_000 * SECOND  # 2026-11-21 08:00:00 UTC


def write_traffic(
    out: str | os.PathLike[str],
    *,
    seed: int = 1,
    rows: int = 10_000,
    damage: bool = True,
    events: bool = False,
    days: int = 1,
    answers: bool = False,
    progress: Callable[[int], None] = lambda rows: None,
) -> dict[str, Any]:
    """Write synthetic traffic and the right answers of an audit.

    The directory then holds ``trace.log`` (as nats-server 2.15 writes it), ``truth/`` (a file of
    JSON lines for each table, and ``summary.json``), ``world.json`` (services, and who calls
    whom), ``code/`` (the sources of the services) and ``rules/`` (their permissions). The same
    arguments give the same bytes on every machine. Cost: 15 to 20 s for a million rows, and memory
    for each distinct subject.

    Args:
        out: A directory that does not exist, or an empty one.
        seed: Determines the world and the traffic.
        rows: The number of operations in the log; the last scenario is completed.
        damage: Whether the log contains lines that cannot be parsed.
        events: Whether to write ``events.parquet`` too: the table ``events`` of this log. Needs
            pyarrow; the bytes of this file depend on its version.
        days: The days over which the traffic is spread.
        answers: Whether to write the right answers about rules, code and flows too. Then all
            services with a login have rules, some of which the broker does not enforce.
        progress: Is called with the number of rows so far, now and then.

    Returns:
        The contents of ``truth/summary.json``.

    Raises:
        FileExistsError: The directory is not empty.
        OSError: A file cannot be written.
        ValueError: ``rows`` or ``days`` is less than 1.
    """
    if rows < 1 or days < 1:
        raise ValueError("rows and days must be at least 1")
    folder = Path(out)
    folder.mkdir(parents=True, exist_ok=True)
    if any(folder.iterdir()):
        raise FileExistsError(f"{folder} is not empty")
    world = draw_world(seed)
    if answers:
        give_rules(world)
    dice = SplitMix64(seed ^ 0x5EED)
    pid = 1000 + seed % 60_000  # logs of different seeds are those of different servers
    truth = Truth(pid)
    truth.answers = AnswerTruth(truth) if answers else None
    rows_of_events = EventRows(folder / "events.parquet" if events else None, pid)
    with (folder / "trace.log").open("wb", buffering=1 << 20) as stream:
        log = TraceLog(stream, pid, _START)
        broker = Broker(log, truth, dice, rows_of_events)
        scenarios = Scenarios(world, broker, truth, dice, damage)
        scenarios.begin()
        truth.server = rows_of_events.server = server_of(log.first_line)
        told = 0
        restarted = False
        day = 1
        while broker.operations < rows:
            scenarios.step()
            if not restarted and broker.operations >= rows // 2:
                scenarios.restart()
                restarted = True
            if broker.operations >= rows * day // days and day < days:
                scenarios.next_day()
                day += 1
            if broker.operations - told >= 100_000:
                told = broker.operations
                progress(told)
        broker.finish()
    rows_of_events.close()
    tables = truth.tables()
    if truth.answers is not None:
        answered = truth.answers.tables(world, truth.routes())
        tables |= {name: rows_sorted(found) for name, found in answered.items()}
    summary = {
        "format": TRAFFIC_FORMAT,
        "seed": seed,
        "rows": broker.operations,
        "lines": log.lines,
        **log.counts,
        "planes": sorted((HOME, OTHER)),
        "ambiguous": truth.ambiguous,
        "unmatched": truth.unmatched,
        "forwarded": truth.forwarded(),
        "tables": {name: len(found) for name, found in tables.items()},
    }
    _write_truth(folder / "truth", tables, summary)
    _write_json(folder / "world.json", {"format": TRAFFIC_FORMAT, "seed": seed, **describe(world)})
    write_sources(world, folder)
    return summary


def server_of(first_line: bytes) -> str:
    """Return the name of the server of a log: a digest of its first line."""
    return hashlib.sha256(first_line.rstrip(b"\r\n")).hexdigest()[:12]


def _write_truth(folder: Path, tables: dict[str, list[dict[str, Any]]], summary: Any) -> None:
    folder.mkdir()
    for name, found in tables.items():
        with (folder / f"{name}.jsonl").open("w", encoding="utf-8", newline="\n") as file:
            for row in found:
                file.write(json.dumps(row) + "\n")
    _write_json(folder / "summary.json", summary)


def _write_json(path: Path, value: Any) -> None:
    with path.open("w", encoding="utf-8", newline="\n") as file:
        file.write(json.dumps(value, indent=1) + "\n")
