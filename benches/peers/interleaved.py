"""Measure several programs in turn, round by round, and keep the least time of each.

Load on the machine by others comes in bursts of seconds. Programs that are measured one after the
other meet different ones; programs that take turns meet the same, and the least of several rounds
is what each takes without them. Each program is a process that answers commands: this build from
Python, another build (``--baseline``), the core in Rust, and ``gsl`` in Go.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import Any

from programs import BENCHES, ROOT, WORKLOADS, Missing, Say, run_core
from rows import (
    BASELINE,
    BASELINE_CORE,
    CACHED_GO,
    CACHES,
    CORE,
    EMPTY,
    GSL,
    PYTHON,
    SPLIT,
    Row,
)
from rows import IMAGE as IMAGE_OF

SIZES = (6_000, 600_000)
IMAGE = 1_000_000
#: Subscriptions of one pattern.
SHARED = (1, 1_000, 1_000_000)
#: Rounds of lookups, of batches, of loading and of the codec.
LOOKUPS, BATCHES, LOADS, CODEC, OPENED = 15, 25, 5, 40, 25
CODECS = ("decode", "encode_request")

Ask = Callable[[], float]


class Program:
    """A running program, and how it is asked."""

    def __init__(self, process: subprocess.Popen[str], form: Callable[..., str]) -> None:
        self._process = process
        self._form = form

    def ask(self, what: str, *arguments: Any, **named: Any) -> Any:
        """Return the answer to one command."""
        assert self._process.stdin is not None
        assert self._process.stdout is not None
        print(self._form(what, *arguments, **named), file=self._process.stdin, flush=True)
        line = self._process.stdout.readline()
        if not line:
            raise Missing(f"{what}: the program ended with {self._process.wait()}")
        return json.loads(line)


@contextmanager
def running(command: list[str], form: Callable[..., str], **more: Any) -> Iterator[Program]:
    """Start a program and stop it at the end."""
    pipes = {"stdin": subprocess.PIPE, "stdout": subprocess.PIPE, "text": True, "cwd": ROOT}
    with subprocess.Popen(command, **pipes, **more) as process:
        try:
            yield Program(process, form)
        finally:
            process.stdin.close()


def _words(what: str, *arguments: Any) -> str:
    return " ".join(map(str, (what, *arguments)))


def _json(what: str, **named: Any) -> str:
    return json.dumps({"do": what, **named})


def python(folder: Path) -> Any:
    """Start a build of the package, from the folder of its repository."""
    path = f"{folder / 'python'}{os.pathsep}{BENCHES}"
    environment = os.environ | {"PYTHONPATH": path}
    command = [sys.executable, str(BENCHES / "peers" / "worker.py")]
    return running(command, _json, env=environment)


def least(asks: dict[str, Ask], rounds: int) -> dict[str, float]:
    """Ask all in turn, so many times; return the least answer of each."""
    found = dict.fromkeys(asks, float("inf"))
    for _ in range(rounds):
        for who, ask in asks.items():
            found[who] = min(found[who], ask())
    return found


class Interleaved:
    """One run: the programs, and the rows they make."""

    def __init__(
        self,
        core: Path | None,
        gsl: Path | None,
        baseline: Path | None,
        baseline_core: Path | None = None,
        most_rounds: int | None = None,
    ) -> None:
        self._paths = core, gsl, baseline_core
        self._baseline = baseline
        self._most_rounds = most_rounds

    def _least(self, asks: dict[str, Ask], rounds: int) -> dict[str, float]:
        return least(asks, min(rounds, self._most_rounds or rounds))

    def rows(self, say: Say) -> Iterator[Row]:
        """Yield all rows; answers are compared by those of the measures ``lookup``."""
        core, gsl, baseline_core = self._paths
        baseline = self._baseline
        with ExitStack() as stack:
            self.here = stack.enter_context(python(ROOT))
            builds = {PYTHON: self.here}
            if baseline:
                builds[BASELINE] = stack.enter_context(python(baseline))
                if not Path(builds[BASELINE].ask("package")).is_relative_to(baseline.resolve()):
                    raise Missing(f"{baseline} has no build of its own")
            rust, old = (
                path
                and stack.enter_context(
                    running([str(path), "--folder", str(WORKLOADS), "--serve"], _words)
                )
                for path in (core, baseline_core)
            )
            go = gsl and stack.enter_context(
                running([str(gsl), "-folder", str(WORKLOADS), "-serve"], _words)
            )
            found = ((CORE, rust), (BASELINE_CORE, old), (GSL, go))
            natives = {who: program for who, program in found if program}
            for size in SIZES:
                for order in ("hot", "zipf", "uniform"):
                    say(f"in turn: lookups, {size:,}, {order}")
                    yield from self._lookups(builds, natives, size, order)
                    say(f"in turn: batches, {size:,}, {order}")
                    yield from self._batches(builds, natives, size, order)
                if size == min(SIZES):
                    say("in turn: caches")
                    yield from self._caches(size)
            for program in builds.values():
                program.ask("forget")
            say("in turn: loading")
            yield from self._loads(builds, max(SIZES))
            say("in turn: the codec of addresses")
            yield from self._codec(builds)
            say("in turn: one pattern with many subscriptions")
            yield from self._shared(builds)
            say("in turn: images")
            yield from self._images(builds)
        yield from self._alone(say)

    def _lookups(
        self, builds: dict[str, Program], natives: dict[str, Program], size: int, order: str
    ) -> Iterator[Row]:
        where = {"size": size, "order": order}
        told: dict[str, Any] = {
            who: program.ask("answers", **where) for who, program in builds.items()
        } | {who: program.ask("answers", size, order) for who, program in natives.items()}
        if len({(each["checksum"], each["matches"]) for each in told.values()}) > 1:
            raise Missing(f"the answers differ at {size:,}, {order}: {told}")
        asks: dict[str, Ask] = {}
        for who, program in builds.items():
            asks[who] = lambda program=program: program.ask("lookup", **where)
        for who, program in natives.items():
            asks[who] = lambda program=program: program.ask("lookup", size, order)
        if GSL in natives:
            asks[CACHED_GO] = lambda: natives[GSL].ask("cached", size, order)
        asks[IMAGE_OF] = lambda: self.here.ask("lookup", **where, of="image")
        asks[SPLIT] = lambda: self.here.ask("split", **where)
        asks[EMPTY] = lambda: self.here.ask("empty", **where)
        for who, found in self._least(asks, LOOKUPS).items():
            row = {"who": who, "measure": "turns", **where, "least_ns": round(found, 1)}
            yield row | told.get(who, {})

    def _batches(
        self, builds: dict[str, Program], natives: dict[str, Program], size: int, order: str
    ) -> Iterator[Row]:
        where = {"size": size, "order": order}
        one = builds[PYTHON].ask("answers", **where)
        for who, program in builds.items():
            if program.ask("answers", **where, whose="batch") != one:
                raise Missing(f"the answers of a batch differ at {size:,}, {order}: {who}")
        asks: dict[str, Ask] = {
            who: lambda program=program: program.ask("batch", **where)
            for who, program in builds.items()
        }
        for who in (CORE, BASELINE_CORE):
            if who in natives:
                asks[who] = lambda who=who: natives[who].ask("batch", size, order)
        for who, found in self._least(asks, BATCHES).items():
            yield {
                "who": who, "measure": "turns batch", **where, "threads": 1,
                "per_second": round(1e9 / found),
            }  # fmt: skip

    def _caches(self, size: int) -> Iterator[Row]:
        where = {"size": size, "order": "zipf"}
        grown = {who: self.here.ask("growth", size=size, most=most) for who, most in CACHES.items()}
        wanted = self.here.ask("answers", **where)
        for most in CACHES.values():
            if self.here.ask("answers", **where, whose=str(most or 0)) != wanted:
                raise Missing(f"the answers of a cache of {most} differ")
        asks: dict[str, Ask] = {PYTHON: lambda: self.here.ask("lookup", **where)}
        for who, most in CACHES.items():
            asks[who] = lambda most=most: self.here.ask("cache", **where, most=most)
        for who, found in self._least(asks, LOOKUPS).items():
            row = {"who": who, "measure": "turns", **where, "least_ns": round(found, 1)}
            yield row | grown.get(who, {})

    def _loads(self, builds: dict[str, Program], size: int) -> Iterator[Row]:
        asks: dict[str, Ask] = {}
        for who, program in builds.items():
            for form in ("rows", "lists", "Arrow") if who == PYTHON else ("rows",):
                asks[f"{who}|{form}"] = lambda program=program, form=form: program.ask(
                    "load", size=size, form=form
                )
        for name, found in self._least(asks, LOADS).items():
            who, form = name.split("|")
            yield {
                "who": who, "measure": "turns load", "size": size, "form": form,
                "per_second": round(1e9 / found),
            }  # fmt: skip

    def _codec(self, builds: dict[str, Program]) -> Iterator[Row]:
        found: dict[tuple[str, str], float] = {}
        for number in range(min(CODEC, self._most_rounds or CODEC)):
            for who, program in builds.items():
                for case in CODECS:
                    took = program.ask("codec", case=case, number=number)
                    found[who, case] = min(found.get((who, case), took), took)
        for (who, case), took in found.items():
            yield {
                "who": who, "measure": "turns codec", "size": 0, "form": case,
                "least_ns": round(took, 1),
            }  # fmt: skip

    def _shared(self, builds: dict[str, Program]) -> Iterator[Row]:
        """Yield the time of a change of one pattern by its number of subscriptions."""
        for count in SHARED:
            for form in ("add", "remove"):
                asks: dict[str, Ask] = {
                    who: lambda program=program, form=form, count=count: program.ask(
                        "shared", count=count, form=form
                    )
                    for who, program in builds.items()
                }
                for who, took in self._least(asks, LOADS).items():
                    yield {
                        "who": who, "measure": "turns shared", "size": count, "form": form,
                        "least_ns": round(took, 1),
                    }  # fmt: skip
            for program in builds.values():
                program.ask("forget")

    def _images(self, builds: dict[str, Program]) -> Iterator[Row]:
        def row(who: str, size: int, form: str, took: float) -> Row:
            found = {"who": who, "measure": "turns image", "size": size, "form": form}
            return found | {"least_ns": round(took, 1)}

        here = self.here
        asks: dict[str, Ask] = {
            form: lambda form=form: here.ask("opened", size=IMAGE, then=form)
            for form in ("verified", "unverified")
        }
        asks["verified, memory map"] = lambda: here.ask("mapped", size=IMAGE)
        for form, took in self._least(asks, OPENED).items():
            yield row(PYTHON, IMAGE, form, took)
        here.ask("forget")
        size = max(SIZES)
        first = ("match", "add", "matching", "covered_by", "explain")
        asks = {
            f"first {form}": lambda form=form: here.ask("opened", size=size, then=form)
            for form in first
        }
        for form, took in self._least(asks, LOADS).items():
            yield row(PYTHON, size, form, took)
        here.ask("forget")
        if BASELINE in builds:
            took = builds[BASELINE].ask("opened", size=size, then="add")
            yield row(BASELINE, size, "first add", took)

    def _alone(self, say: Say) -> Iterator[Row]:
        """Yield the rows of what needs a process of its own."""
        core, _, _ = self._paths
        if core:
            say("readers beside a writer")
            yield from run_core(core, min(SIZES), ["readers"])
        for who, folder in ((PYTHON, ROOT), (BASELINE, self._baseline)):
            if folder is None:
                continue
            environment = os.environ | {"PYTHONPATH": str(folder / "python")}
            for script, *given in (
                ("python_memory.py", PYTHON, max(SIZES)),
                ("waits.py", "--size", min(SIZES)),
            ):
                say(f"{script}: {who}")
                command = [sys.executable, str(BENCHES / script), *map(str, given)]
                done = subprocess.run(
                    command, env=environment, cwd=ROOT, stdout=subprocess.PIPE, text=True
                )
                if done.returncode:
                    raise Missing(f"{script} ended with {done.returncode}")
                for line in done.stdout.splitlines():
                    made = json.loads(line) | {"who": who}
                    if made["measure"] == "memory":
                        made["measure"] = "turns memory"
                    yield made
