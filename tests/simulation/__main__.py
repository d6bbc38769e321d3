"""The command ``make simulate``: many worlds, and a record of them; or the tape of one seed."""

from __future__ import annotations

import argparse
import contextlib
import gc
import hashlib
import json
import logging
import os
import subprocess
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import pytest

from . import broker_tapes
from .plan import FAULTS, PHASES, Plan, plan_of
from .planted import FOUND, PLANS, PLANTED
from .scheduler import Violation
from .world import World

_ROOT = Path(__file__).resolve().parents[2]
_PART = 1_000  # seeds of one process


@contextlib.contextmanager
def _one_processor(number: int = 0) -> Iterator[None]:
    """Stay on one processor: of the threads of a world one runs, and goes on where its data is.

    Args:
        number: Which of them: parts that run at a time are given other ones.
    """
    if not hasattr(os, "sched_setaffinity"):
        yield
        return
    may = os.sched_getaffinity(0)
    os.sched_setaffinity(0, {sorted(may)[number % len(may)]})
    try:
        yield
    finally:
        os.sched_setaffinity(0, may)


def run_worlds(first: int, count: int) -> dict[str, Any]:
    """Return the figures of some worlds.

    Args:
        first: The first seed.
        count: The number of seeds.
    """
    began = time.process_time()
    outcomes: Counter[str] = Counter()
    seen: Counter[str] = Counter()
    violations: dict[str, str] = {}
    steps, virtual = 0, 0.0
    with _one_processor(first // _PART):
        for seed in range(first, first + count):
            world = World(seed)
            try:
                world.run()
            except Violation as violation:
                violations[str(seed)] = str(violation)
            outcomes.update({f"{kind}: {how}": n for (kind, how), n in world.outcomes.items()})
            seen.update({f"{fault}, {phase}": 1 for fault, phase in world.seen})
            steps += world.scheduler.steps
            virtual += world.scheduler.now - 1_000
    return {
        "seeds": count, "cpu_seconds": round(time.process_time() - began, 1), "points": steps,
        "virtual_seconds": round(virtual), "violations": violations,
        "outcomes": dict(sorted(outcomes.items())), "faults_by_phase": dict(sorted(seen.items())),
    }  # fmt: skip


@_one_processor()
def digests(first: int, count: int) -> list[str]:
    """Return a digest of the tape of each of some seeds."""
    found = []
    for seed in range(first, first + count):
        tape = "\n".join(World(seed).run().scheduler.tape)
        found.append(hashlib.sha256(tape.encode()).hexdigest())
    return found


def printed(hash_seed: str, *options: str) -> str:
    """Return what this command prints in a process of its own."""
    environment = {**_environment(), "PYTHONHASHSEED": hash_seed}
    command = [sys.executable, "-m", "simulation", *options]
    done = subprocess.run(command, env=environment, capture_output=True, text=True, check=True)
    return done.stdout


def repeats(count: int) -> dict[str, int]:
    """Make the worlds of some seeds twice here, and once in a process with other hashes.

    Returns:
        How many seeds there are, and of how many all tapes are equal byte for byte.
    """
    elsewhere = printed("7", "--digests", "--seeds", str(count)).split()
    made = zip(digests(0, count), digests(0, count), elsewhere, strict=True)
    return {"seeds": count, "equal": sum(len(set(each)) == 1 for each in made)}


def _broken(plan: Plan, plant: Callable[[Any], None] | None) -> str | None:
    """Return what a world breaks, if it does, with a fault that is planted in the connector."""
    how = None
    with pytest.MonkeyPatch.context() as patch:
        if plant is not None:
            plant(patch.setattr)
        try:
            World(plan).run()
        except Violation as violation:
            how = str(violation)[:200]
    if how is not None:
        gc.collect()  # its stopped handlers end now, and not within a later world
    return how


@_one_processor()
def find_planted(name: str, most: int, first: int = 0) -> dict[str, Any]:
    """Return the first seed whose world finds a planted fault, and the CPU time until then.

    The same world holds without the fault. Numbers below ``first`` are tried last.
    """
    began = time.process_time()
    plant, (plan_for, text) = (PLANTED | FOUND)[name], PLANS.get(name, (plan_of, ""))
    for seed in (*range(first, most), *range(first)):
        how = _broken(plan_for(seed), plant)
        if how is not None and text in how and _broken(plan_for(seed), None) is None:
            took = time.process_time() - began
            return {"seed": seed, "cpu_seconds": round(took, 1), "how": how}
    return {"seed": None, "cpu_seconds": round(time.process_time() - began, 1), "how": ""}


def _environment() -> dict[str, str]:
    paths = ("python", "", "tests")
    return {**os.environ, "PYTHONPATH": ":".join(str(_ROOT / each) for each in paths)}


def _part(first: int, count: int, folder: Path) -> dict[str, Any]:
    """Run some worlds in a process of its own; what a folder has of an earlier run is taken."""
    kept = folder / f"{first:08d}-{count}.json"
    if not kept.exists():
        command = [sys.executable, "-m", "simulation", "--json"]
        command += ["--first", str(first), "--seeds", str(count)]
        done = subprocess.run(
            command, stdout=subprocess.PIPE, env=_environment(), text=True, check=True
        )
        new = folder / f"{kept.name}.new"
        new.write_text(done.stdout.splitlines()[-1])
        new.rename(kept)
    figures: dict[str, Any] = json.loads(kept.read_text())
    return figures


def _added(parts: Iterable[dict[str, Any]]) -> dict[str, Any]:
    """Return the sums of the figures of several parts."""
    total: dict[str, Any] = {}
    for part in parts:
        for name, value in part.items():
            if isinstance(value, dict):
                into = total.setdefault(name, {})
                for key, number in value.items():
                    into[key] = into.get(key, 0) + number if isinstance(number, int) else number
            else:
                total[name] = total.get(name, 0) + value
    return total


def _parallel(options: argparse.Namespace, folder: Path) -> dict[str, Any]:
    """Run the worlds in parts, several at a time, and add up their figures."""
    end = options.first + options.seeds
    starts = range(options.first, end, _PART)
    with ThreadPoolExecutor(options.jobs) as pool:
        return _added(pool.map(lambda at: _part(at, min(_PART, end - at), folder), starts))


def _judged(tapes: int) -> dict[str, int]:
    """Compare the simulated broker with a real nats-server."""
    from connector.nats_server import NatsServer

    with tempfile.TemporaryDirectory() as folder:
        server = NatsServer(Path(folder) / "nats").start()
        try:
            return broker_tapes.compare(server.port, tapes)
        finally:
            server.stop()


def _summed_up(figures: dict[str, Any]) -> dict[str, Any]:
    """Return the figures with the rarest pair of fault and phase."""
    by = figures["faults_by_phase"]
    pairs = {f"{fault}, {phase}": 0 for fault in FAULTS for phase in PHASES} | by
    rarest = min(pairs, key=lambda each: pairs[each])
    share = round(100 * pairs[rarest] / figures["seeds"], 3)
    return {**figures, "rarest": {"pair": rarest, "percent_of_seeds": share}}


def main() -> int:
    """Run, print the figures, and write the record if one is asked for."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--seeds", type=int, default=1_000)
    parser.add_argument("--first", type=int, default=0)
    parser.add_argument("--jobs", type=int, default=1)
    parser.add_argument("--tape", action="store_true", help="print the tape of the first seed")
    parser.add_argument("--digests", action="store_true", help="print a digest of each tape")
    parser.add_argument("--json", action="store_true", help="print the figures as JSON")
    parser.add_argument("--folder", type=Path, help="keep the figures of parts, and go on there")
    parser.add_argument(
        "--record", action="store_true", help="write docs/records/simulation-*.json"
    )
    options = parser.parse_args()
    options.folder = options.folder and options.folder.absolute()
    os.environ.pop("PYTEST_CURRENT_TEST", None)
    logging.lastResort = None
    with tempfile.TemporaryDirectory() as folder:
        os.chdir(folder)  # no creds or configuration of the caller's folder
        try:
            return _run(options)
        finally:
            os.chdir(_ROOT)


def _run(options: argparse.Namespace) -> int:
    if options.tape:
        world = World(options.first)
        try:
            world.run()
        except Violation as violation:
            print(violation, file=sys.stderr)
        print("\n".join([str(world.plan), *world.scheduler.tape]))
        return 0
    if options.digests:
        print("\n".join(digests(options.first, options.seeds)))
        return 0
    if options.json:
        print(json.dumps(run_worlds(options.first, options.seeds)))
        return 0
    with tempfile.TemporaryDirectory() as folder:
        if options.folder is not None:
            options.folder.mkdir(parents=True, exist_ok=True)
        figures = _summed_up(_parallel(options, options.folder or Path(folder)))
    if options.record:
        figures["planted"] = {name: find_planted(name, 1_000) for name in PLANTED}
        figures["found"] = {name: find_planted(name, 1_000) for name in FOUND}
        figures["tapes"] = repeats(100)
        figures["broker"] = _judged(10_000)
        sys.path.insert(0, str(_ROOT / "tools"))
        import reliability_record

        command = f"make simulate SEEDS={options.seeds}"
        print(reliability_record.write("simulation", command, options.first, figures))
    for name, value in figures.items():
        print(f"{name}: {value}")
    return 1 if figures["violations"] else 0


if __name__ == "__main__":
    raise SystemExit(main())
