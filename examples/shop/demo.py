"""The demo, ``make demo``: a shop on a real broker, and the audit of the broker's log.

1. starts a nats-server on the loopback interface that traces every operation to a file;
2. runs the shop for a few seconds, each service in a process of its own (``--how six``) or some of
   them together (``--how mixed``), with some faulty traffic;
3. stops everything, derives the permissions that the source needs, audits the trace with Spark,
   prints the tables and writes a page about them;
4. compares them with what the services counted, and with the tables that one process makes without
   Spark; exits with 1 if any number or byte differs.

With ``--how one`` the whole shop runs in one process without a broker, so there is no log to audit.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import os
import signal
import subprocess
import sys
from collections import Counter
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pyarrow.parquet as pq
from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeElapsedColumn

from . import broker, traffic
from .comparison import differences
from .counters import Counters
from .services import OTHER_PROCESSES, PLANE, SERVICES

#: The source of the shop, as the commands name it.
SOURCE = os.path.relpath(Path(__file__).parent)

console = Console(highlight=False, soft_wrap=True)


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the demo.

    Args:
        arguments: The command line.

    Returns:
        0 if every number agrees, 1 if one differs, 2 if the demo cannot run.
    """
    parser = argparse.ArgumentParser(prog="python -m examples.shop", description=__doc__)
    parser.add_argument(
        "--how", choices=list(OTHER_PROCESSES), default="six", help="where the services run"
    )
    parser.add_argument("--out", type=Path, default=Path("out/demo"), help="folder of all files")
    parser.add_argument("--seconds", type=float, default=4, help="for how long customers arrive")
    parser.add_argument("--seed", type=int, default=1, help="seed of the random customers")
    parser.add_argument(
        "--again", action="store_true", help="audit the log of an earlier run in OUT again"
    )
    options = parser.parse_args(arguments)
    # Both signals end the demo alike: asyncio turns SIGINT into a cancellation that cleans up.
    signal.signal(signal.SIGINT, signal.default_int_handler)
    signal.signal(signal.SIGTERM, lambda *_: signal.raise_signal(signal.SIGINT))
    try:
        if options.how == "one":
            counters, seen = _open_shop("", options)
            assert not any(vars(counters).values())  # no message left the process
            console.print(summary(seen))
            return 0
        if not options.again:
            _run(options)
        return _audit(options.out)
    except KeyboardInterrupt:
        console.print("\nInterrupted; everything is stopped.")
        return 130
    except (broker.BrokerError, FileNotFoundError) as error:
        console.print(f"[red]{error}[/red]")
        return 2


def _run(options: argparse.Namespace) -> None:
    """Run steps 1 and 2; write the trace and the services' counts to the folder."""
    out = options.out
    with broker.running(out, users=SERVICES) as server:
        console.print(f"[bold]1[/bold]  nats-server at {server.url}, tracing to {out}/trace.log")
        counters, seen = _open_shop(server.url, options)
    requests, received, replies = (
        sum(each.values()) for each in (counters.sent, counters.handled, counters.replies)
    )
    console.print(
        f"[bold]2[/bold]  {summary(seen)}\n   on the bus: {requests} requests and events sent,"
        f" {received} delivered, {replies} replies and acknowledgements;"
        f" {sum(counters.undelivered.values())} undelivered,"
        f" {sum(counters.malformed.values())} malformed,"
        f" {sum(counters.spoofed.values())} spoofed"
    )
    counters.save(out / "counts.json")


def _open_shop(url: str, options: argparse.Namespace) -> tuple[Counters, Counter[str]]:
    columns = (
        TextColumn("[bold]2[/bold]  the shop is open"),
        BarColumn(30),
        MofNCompleteColumn(),
        TextColumn("customers"),
        TimeElapsedColumn(),
    )
    quiet = not console.is_terminal
    with Progress(*columns, console=console, transient=True, disable=quiet) as bar:
        task = bar.add_task("shop", total=None)

        def progress(done: int, of: int) -> None:
            bar.update(task, completed=done, total=of)

        return asyncio.run(
            traffic.run(
                url,
                how=options.how,
                seconds=options.seconds,
                seed=options.seed,
                progress=progress,
            )
        )


def summary(seen: Counter[str]) -> str:
    """Return what customers and the ledger saw; the same wherever the services run."""
    return (
        "orders: "
        + ", ".join(
            f"{seen[name]} {what}"
            for name, what in (
                ("placed", "placed"),
                ("declined", "declined"),
                ("sales", "in the ledger's sales"),
                ("orders", "in its notes"),
            )
        )
        + f"; {seen['unserved']} requests with no handler"
    )


def _audit(out: Path) -> int:
    """Run steps 3 and 4."""
    log, tables = out / "trace.log", out / "tables"
    with log.open("rb") as opened:
        lines = sum(1 for _ in opened)
    counted = Counters.load(out / "counts.json")
    rules, page = out / "rules.conf", out / "report.html"
    derive = ["gencreds", SOURCE, "--plane", PLANE, "--format", "conf"]
    audit = ["audit", str(log), "--plane", PLANE, "--rules", str(rules), "--code", SOURCE]
    # A demo lasts seconds, so evidence on one day and from one source is enough for a proposal.
    audit += ["--min-days", "1", "--min-sources", "1"]
    here = [*audit, "--out", str(out / "tables-here"), "--json"]
    audit += ["--master", "local[*]", "--out", str(tables), "--report", str(page)]
    console.print(f"[bold]3[/bold]  all stopped; now: subtrie {' '.join(derive)} > {rules}")
    console.print(f"   and: subtrie {' '.join(audit)}")
    command = [sys.executable, "-m", "subtrie.cli"]
    with rules.open("w") as file:
        done = subprocess.run([*command, *derive], check=False, stdout=file)
    if done.returncode == 0:
        done = subprocess.run([*command, *audit], check=False)
    if done.returncode == 0:
        done = subprocess.run([*command, *here], check=False, stdout=subprocess.DEVNULL)
    if done.returncode:
        return 2
    wrong = differences(counted, read_tables(tables), lines)
    wrong += [
        f"{name}: the tables with and without Spark differ"
        for name in different_files(tables, out / "tables-here")
    ]
    for each in wrong:
        console.print(f"[red]differs[/red]  {each}")
    if wrong:
        console.print(f"[bold]4[/bold]  [red]differing numbers: {len(wrong)}[/red]")
        return 1
    console.print("[bold]4[/bold]  every number agrees with what the services counted themselves,")
    console.print("   and every table is the same without Spark, byte for byte")
    return 0


def different_files(one: Path, other: Path) -> list[str]:
    """Return the tables of two runs whose files differ; that of the runs has their times."""
    first, second = (
        {
            name: entry["sha256"]
            for name, entry in json.loads((folder / "audit.json").read_text())["tables"].items()
        }
        for folder in (one, other)
    )
    names = sorted(first.keys() | second.keys())
    return [name for name in names if name != "runs" and first.get(name) != second.get(name)]


def read_tables(folder: Path) -> dict[str, Any]:
    """Return what an audit wrote: the counts, and each Parquet file as a list of rows."""
    manifest: dict[str, Any] = json.loads((folder / "audit.json").read_text())
    files = manifest.pop("tables")
    return manifest | {
        name: pq.read_table(folder / entry["file"]).to_pylist() for name, entry in files.items()
    }


if __name__ == "__main__":
    sys.exit(main())
