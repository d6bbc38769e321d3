"""Mutation testing of one part: some mutants, each against that part's own tests.

    python tools/mutants.py --part algebra --count 150 --seed 1 --minutes 60 --record

The mutants are drawn with the seed from all that cargo-mutants (Rust) or cosmic-ray (Python) can
make of the part's files. A mutant is killed if a test fails or does not end. The record lists each
survivor with an empty argument, to be filled in if no test can tell it from the original.
"""

from __future__ import annotations

import argparse
import json
import re
import sys
import tempfile
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from pathlib import Path
from queue import SimpleQueue
from random import Random
from typing import Any, NamedTuple

sys.path.insert(0, str(Path(__file__).resolve().parent))

import python_mutants
import reliability_record
import rust_mutants
from rust_mutants import Stage
from tree_copy import copy_files

ROOT = reliability_record.ROOT


@dataclass(frozen=True)
class Part:
    """The files of a part, and the tests that are run for each of its mutants."""

    #: Names or patterns.
    files: tuple[str, ...]
    tests: tuple[str, ...] = ()
    options: tuple[str, ...] = ()  # of pytest
    #: Tests in Rust; the quickest first, as a mutant is judged by the first test that fails.
    stages: tuple[Stage, ...] = ()
    #: Tests that do not end under coverage.
    without_coverage: tuple[str, ...] = ()

    @property
    def is_rust(self) -> bool:
        """Whether its files are Rust."""
        return self.files[0].endswith(".rs")

    @property
    def python_files(self) -> tuple[str, ...]:
        """The names of its files in Python, sorted."""
        found = {path.relative_to(ROOT) for name in self.files for path in ROOT.glob(name)}
        return tuple(sorted(map(str, found)))


PARTS = {
    "matcher": Part(
        ("src/trie/lookup/**/*.rs", "src/trie/pattern/**/*.rs", "src/grammar/relation.rs"),
        stages=(
            Stage("core", ("trie_laws", "trie_hostile", "trie_prefix", "grammar", "match_vectors")),
            Stage("core", ("trie_images",)),
            Stage("lib", ("trie", "grammar"), cpu=60, optimised=True),
            Stage("core", ("trie_work",), cpu=80, optimised=True),
        ),
    ),
    "codec": Part(
        ("src/microbus/*.rs",),
        stages=(
            Stage("core", ("microbus", "match_vectors")),
            Stage(
                "extension",
                (*(f"tests/microbus/test_microbus_{name}.py" for name in (
                    "vectors", "encode", "decode", "urls", "targets", "laws", "hosts"
                )), "tests/connector/test_http_codec.py"),
                cpu=480,
            ),
        ),
    ),
    "algebra": Part(
        ("crates/nats/src/permissions/*.rs",),
        stages=(
            Stage(
                "nats",
                (*(f"permission_{name}" for name in ("answers", "work", "queues", "pairs")),
                 "permission_laws::every_set_of_two"),
                cpu=60,
                optimised=True,
            ),
            Stage("nats", ("permission_laws::a_million",), cpu=150, optimised=True),
        ),
    ),
    "connector": Part(
        tuple(
            f"python/subtrie/connector/_{name}.py"
            for name in (
                "actor", "client", "codec", "config", "control", "credentials",
                "endpoint", "headers", "identity", "lifecycle", "limits", "message", "middleware",
                "runner", "runtime", "server", "settings", "url",
            )
        ),
        tests=("tests/connector",),
    ),
    "delivery": Part(
        (
            "python/subtrie/_core/dispatcher.py",
            "python/subtrie/short_circuit.py",
            *(
                f"python/subtrie/connector/_{name}.py"
                for name in ("fragments", "responses", "routing", "transport")
            ),
            "python/subtrie/connector/_broker/connection.py",
            "python/subtrie/connector/_broker/session.py",
        ),
        tests=(
            "tests/index/test_dispatcher.py",
            *(
                f"tests/connector/test_{name}.py"
                for name in (
                    "short_circuit", "short_circuit_programs", "routing", "own_subscriptions",
                    "fragments", "limits", "refused", "on_the_bus", "broker_session", "attacks",
                    "faults", "outcomes", "locality", "peer_cache", "calls", "as_in_go", "services",
                    "broker_acknowledgements", "error_responses", "request_path", "bodies",
                    "bounds", "wait_for_broker", "shutdown", "timers", "tls", "loops", "lifecycle",
                    "ack_timer", "response_stream", "transport", "boundaries", "broker_connection",
                    "loop_reading", "hostile_broker", "delivery_boundaries", "part_boundaries",
                    "delivery_choices", "request_boundaries", "state_boundaries", "protocol_errors",
                    "bus_of_tests", "overdue", "source", "control", "elsewhere", "runner_boundaries"
                )
            ),
        ),
        # The child of a fork waits for a lock that a thread of the parent held, which coverage saw.
        without_coverage=(
            "tests/index/test_dispatcher.py::test_the_shared_dispatcher_is_empty_in_a_forked_child",
        ),
    ),
    "permissions": Part(("python/subtrie/acl/**/*.py",), tests=("tests/acl",)),
    "audit": Part(
        tuple(f"python/subtrie/audit/{name}/*.py" for name in ("_answers", "_partial", "_tables")),
        # Coverage does not see the workers of Spark: the same tables are made without it.
        options=("-m", "not spark", "-k", "not Spark"),
        tests=tuple(
            f"tests/{name}.py"
            for name in (
                *(f"answers/test_{each}" for each in (
                    "answer_boundaries", "answer_columns", "answer_inputs", "answer_options",
                    "answer_parts", "answer_rules", "claimed_identities", "microbus_latency",
                    "payload_heads")),
                *(f"audit/test_{each}" for each in (
                    "accounts", "bucket_rows", "connections", "consumers", "delivery_rule",
                    "expectations", "identity", "inboxes", "jetstream", "matched", "partials_add",
                    "parts_of_inputs", "pattern_index", "plain_audit", "planted_faults", "programs",
                    "rates", "read_once", "rows_of_partials", "saved_events", "several_servers",
                    "stored_messages", "subjects_and_streams", "sums_of_buckets", "table_context",
                    "table_rows", "traffic_sums", "without_times")),
            )
        ),
    ),
}  # fmt: skip


@dataclass
class Result:
    """The outcomes of the mutants of a run."""

    killed: int = 0
    timeouts: int = 0
    not_viable: int = 0
    survivors: list[str] = field(default_factory=list)
    not_run: int = 0
    possible: int = 0
    #: The minutes of earlier runs that this one goes on with.
    minutes: float = 0.0

    @classmethod
    def of(cls, figures: dict[str, Any]) -> Result:
        """Return the result that a record holds."""
        timeouts = figures["of which timeouts"]
        return cls(
            killed=figures["killed"] - timeouts,
            timeouts=timeouts,
            not_viable=figures["not viable"],
            survivors=[each["mutant"] for each in figures["survivors"]],
            not_run=figures["not run"],
            possible=figures["possible"],
            minutes=figures["minutes"],
        )

    def begin(self, possible: list[Any], count: int, seed: int) -> list[Any]:
        """Draw mutants, and return those that were not run yet.

        Raises:
            SystemExit: There is none, or the files are not those of the earlier run.
        """
        if self.possible not in (0, len(possible)):
            raise SystemExit(f"{self.possible} mutants were possible, now {len(possible)}")
        if not possible:
            raise SystemExit("no mutant is possible: are these the files of the part?")
        drawn = Random(seed).sample(possible, min(count, len(possible)))
        judged = len(drawn) - self.not_run if self.possible else 0
        self.possible, self.not_run = len(possible), 0
        return drawn[judged:]

    def add(self, verdict: str, name: str) -> None:
        """Count a mutant; ``name`` is written down if it survived."""
        self.killed += verdict == "killed"
        self.timeouts += verdict == "timeout"
        self.not_viable += verdict == "not viable"
        self.not_run += verdict == "not run"
        if verdict == "survived":
            self.survivors.append(name)

    def figures(self, count: int, started: float) -> dict[str, object]:
        """Return what the record holds."""
        judged = self.killed + self.timeouts + len(self.survivors)
        return {
            "possible": self.possible,
            "drawn": count,
            "killed": self.killed + self.timeouts,
            "of which timeouts": self.timeouts,
            "not viable": self.not_viable,
            "not run": self.not_run,
            "killed of judged": round((self.killed + self.timeouts) / judged, 3) if judged else 0.0,
            "survivors": [{"mutant": name, "argument": ""} for name in self.survivors],
            "minutes": round(self.minutes + (time.monotonic() - started) / 60, 1),
        }


# --- Rust


def run_rust(part: Part, result: Result, count: int, seed: int, ends: float) -> None:
    """Draw mutants of cargo-mutants and run them."""
    drawn = result.begin(rust_mutants.possible(ROOT, part.files), count, seed)
    judge = rust_mutants.Judge(*rust_mutants.tree_for(ROOT, copy_tree))
    without = judge.verdict(None, part.stages)
    if without != "survived":
        raise SystemExit(f"the tests without a mutant: {without}")
    for number, mutant in enumerate(drawn):
        if time.monotonic() > ends:
            result.not_run = len(drawn) - number
            break
        verdict = judge.verdict(mutant, part.stages)
        print(f"{verdict:10} {mutant['name']}", flush=True)
        result.add(verdict, mutant["name"])


# --- Python


def copy_tree(folder: Path) -> None:
    """Copy the tree with its extension, so that mutants never touch the original."""
    extension = [str(path.relative_to(ROOT)) for path in ROOT.glob("python/subtrie/_subtrie*.so")]
    copy_files(folder, extension)


def run_python(part: Part, result: Result, count: int, seed: int, ends: float, jobs: int) -> None:
    """Draw mutants of cosmic-ray and run them, each in one of a few copies of the tree."""
    drawn = result.begin(list(python_mutants.possible(ROOT, part.python_files)), count, seed)
    for judged in _judged(part, drawn, ends, jobs):
        result.add(judged.verdict, judged.name)


def _judged(
    part: Part, mutants: list[python_mutants.Mutant], ends: float, jobs: int
) -> Iterator[Judged]:
    """Yield what became of each mutant."""
    with tempfile.TemporaryDirectory() as made, ThreadPoolExecutor(jobs) as pool:
        idle: SimpleQueue[python_mutants.Tree] = SimpleQueue()
        tests = (*part.options, *part.tests)
        for number in range(jobs):
            folder = Path(made).resolve() / str(number)
            copy_tree(folder)
            tree = python_mutants.Tree(folder)
            tree.compile(tests)
            idle.put(tree)
        tree = idle.get()
        coverage = tree.cover(tests, part.python_files, part.without_coverage)
        idle.put(tree)
        print(f"{len(coverage.seconds)} tests, {sum(coverage.seconds.values()):.0f} s", flush=True)
        each = PythonMutants(coverage, idle, ends)
        first = list(pool.map(each.first, mutants))
        yield from pool.map(each.rest, first)


class Judged(NamedTuple):
    """A mutant and what became of it so far."""

    verdict: str
    name: str
    mutant: python_mutants.Mutant
    #: The changed text of the file, and the tests that the mutant was not given yet.
    changed: str = ""
    left: tuple[str, ...] = ()


@dataclass(frozen=True)
class PythonMutants:
    """Judges mutants: all with the shortest tests first, then the survivors with the others."""

    coverage: python_mutants.Coverage
    trees: SimpleQueue[python_mutants.Tree]
    #: The time at which no further tests are started.
    ends: float

    @staticmethod
    def name(mutant: python_mutants.Mutant, original: str, changed: str | None) -> str:
        """Return the file, the line, the operator and the changed line."""
        if changed is None:
            return str(mutant)
        line = python_mutants.first_difference(original, changed)
        return f"{mutant.file}:{line} {mutant.operator} {changed.splitlines()[line - 1].strip()}"

    def first(self, mutant: python_mutants.Mutant) -> Judged:
        """Judge a mutant with the shortest tests that execute its statement."""
        original = (ROOT / mutant.file).read_text(encoding="utf-8")
        changed = mutant.text(original)
        name = self.name(mutant, original, changed)
        if changed is None:
            return Judged("not viable", name, mutant)
        line = python_mutants.first_difference(original, changed)
        if time.monotonic() > self.ends:
            return Judged("not run", name, mutant)
        executing = self.coverage.tests_for(mutant.file, python_mutants.statement(original, line))
        tests = self.coverage.first(executing)
        verdict = self._verdict(mutant, changed, tests)
        print(f"{verdict:9} {len(executing):4} {name}", flush=True)
        left = {*executing, *self.coverage.programs}.difference(tests)
        return Judged(verdict, name, mutant, changed, tuple(self.coverage.shortest(left)))

    def rest(self, judged: Judged) -> Judged:
        """Judge a survivor with the other tests that execute it or may do so."""
        if judged.verdict != "survived" or not judged.left:
            return judged
        if time.monotonic() > self.ends:
            print(f"not given {len(judged.left)} tests that take long: {judged.name}", flush=True)
            return judged
        verdict = self._verdict(judged.mutant, judged.changed, list(judged.left))
        print(f"{verdict:9} at last {judged.name}", flush=True)
        return judged._replace(verdict=verdict)

    def _verdict(self, mutant: python_mutants.Mutant, changed: str, tests: list[str]) -> str:
        took = sum(self.coverage.seconds[test] for test in tests)
        tree = self.trees.get()
        try:
            return tree.verdict(mutant, changed, tests, took)
        finally:
            self.trees.put(tree)


# --- The survivors of an earlier run


def judge_again(part: Part, file: Path, ends: float, jobs: int) -> None:
    """Run the survivors of a record again, and write what became of each into it.

    One is found by its name; if the code has changed, it may not be there any more.
    """
    record = json.loads(file.read_text(encoding="utf-8"))
    survivors = {each["mutant"]: each for each in record["figures"]["survivors"]}
    began = time.monotonic()
    if part.is_rust:
        judged = _again_in_rust(part, set(survivors), ends)
    else:
        judged = _again_in_python(part, set(survivors), ends, jobs)
    for name, verdict in judged.items():
        survivors[name]["later"] = "killed" if verdict == "timeout" else verdict
    for each in survivors.values():
        each.setdefault("later", "changed")
    record["figures"]["later"] = {
        "commit": reliability_record.commit(),
        "killed": sum(each["later"] == "killed" for each in survivors.values()),
        "survived": sum(each["later"] == "survived" for each in survivors.values()),
        "the code was changed": sum(each["later"] == "changed" for each in survivors.values()),
        "minutes": round((time.monotonic() - began) / 60, 1),
    }
    file.write_text(json.dumps(record, indent=1) + "\n", encoding="utf-8")


def _again_in_rust(part: Part, names: set[str], ends: float) -> dict[str, str]:
    judge = rust_mutants.Judge(*rust_mutants.tree_for(ROOT, copy_tree))
    found = {}
    for mutant in rust_mutants.possible(ROOT, part.files):
        if mutant["name"] in names and time.monotonic() < ends:
            found[mutant["name"]] = judge.verdict(mutant, part.stages)
            print(f"{found[mutant['name']]:10} {mutant['name']}", flush=True)
    return found


def _again_in_python(part: Part, names: set[str], ends: float, jobs: int) -> dict[str, str]:
    def without_line(name: str) -> str:
        return re.sub(r":\d+ ", " ", name, count=1)

    operators = {name.split(" ")[1] for name in names}
    possible: dict[str, list[tuple[str, python_mutants.Mutant]]] = {}
    for mutant in python_mutants.possible(ROOT, part.python_files):
        if mutant.operator in operators:
            original = (ROOT / mutant.file).read_text(encoding="utf-8")
            name = PythonMutants.name(mutant, original, mutant.text(original))
            possible.setdefault(without_line(name), []).append((name, mutant))
    wanted = {}
    for name in names:
        alike = possible.get(without_line(name), [])
        same = [mutant for each, mutant in alike if each == name]
        if same or len(alike) == 1:  # the line may have moved
            wanted[same[0] if same else alike[0][1]] = name
    judged = _judged(part, list(wanted), ends, jobs)
    return {wanted[each.mutant]: each.verdict for each in judged}


def main() -> int:
    """Draw, run, print, and write the record if one is asked for."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--part", choices=PARTS, required=True)
    parser.add_argument("--count", type=int, default=150)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--minutes", type=float, default=60.0)
    parser.add_argument("--jobs", type=int, default=2, help="mutants at a time, in Python")
    parser.add_argument("--again", type=Path, help="a record: run its survivors, and say so in it")
    parser.add_argument("--resume", type=Path, help="a record: run what was not run there")
    parser.add_argument("--record", action="store_true", help="write docs/records/mutants-*.json")
    options = parser.parse_args()
    part, started = PARTS[options.part], time.monotonic()
    drawn = (options.count, options.seed, started + 60 * options.minutes)
    if options.again:
        judge_again(part, options.again, drawn[2], options.jobs)
        return 0
    result = Result()
    if options.resume:
        result = Result.of(json.loads(options.resume.read_text(encoding="utf-8"))["figures"])
    if part.is_rust:
        run_rust(part, result, *drawn)
    else:
        run_python(part, result, *drawn, options.jobs)
    figures = result.figures(options.count, started)
    print(json.dumps(figures, indent=1))
    if options.record:
        command = f"make mutants PART={options.part} COUNT={options.count} SEED={options.seed}"
        kind = f"mutants-{options.part}"
        print(reliability_record.write(kind, command, options.seed, figures))
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
