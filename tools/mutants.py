"""Mutation testing of one part: some mutants, each against that part's own tests.

    python tools/mutants.py --part algebra --count 150 --seed 1 --minutes 60 --record

The mutants are drawn with the seed from all that cargo-mutants (Rust) or cosmic-ray (Python) can
make of the part's files. A mutant is killed if a test fails or does not end. The record lists each
survivor with an empty argument, to be filled in if no test can tell it from the original.
"""

from __future__ import annotations

import argparse
import json
import os
import re
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from random import Random

sys.path.insert(0, str(Path(__file__).resolve().parent))

import reliability_record
import rust_mutants
from rust_mutants import Stage
from tree_copy import copy_files

ROOT = reliability_record.ROOT


@dataclass(frozen=True)
class Part:
    """The files of a part, and the tests that are run for each of its mutants."""

    files: tuple[str, ...]
    #: Arguments of pytest.
    tests: tuple[str, ...] = ()
    #: Tests in Rust; the quickest first, as a mutant is judged by the first test that fails.
    stages: tuple[Stage, ...] = ()

    @property
    def is_rust(self) -> bool:
        """Whether its files are Rust."""
        return self.files[0].startswith("src/")


PARTS = {
    "matcher": Part(
        ("src/trie/lookup/**/*.rs", "src/trie/pattern/**/*.rs", "src/grammar/relation.rs"),
        stages=(
            Stage("core", ("trie_laws", "trie_hostile", "trie_prefix", "grammar", "match_vectors")),
            Stage("core", ("trie_images",), cpu=15),
            Stage("lib", ("trie", "grammar")),
            Stage("core", ("trie_work",), cpu=80),
        ),
    ),
    "codec": Part(
        ("src/microbus/*.rs",),
        stages=(
            Stage("core", ("microbus", "match_vectors")),
            Stage(
                "extension",
                (
                    *(
                        f"tests/test_microbus_{name}.py"
                        for name in (
                            "vectors", "encode", "decode", "urls", "targets", "laws", "hosts",
                        )
                    ),
                    "tests/connector/test_http_codec.py",
                ),
                cpu=240,
            ),
        ),
    ),
    "algebra": Part(
        ("src/permissions/*.rs",),
        stages=(
            Stage("core", ("permission_queues", "permission_laws::every_set_of_two"), cpu=30),
            Stage("core", ("permission_laws::a_million",), cpu=150),
        ),
    ),
    "connector": Part(
        tuple(
            f"python/subtrie/connector/_{name}.py"
            for name in (
                "actor", "binding", "client", "codec", "config", "control", "credentials",
                "endpoint", "headers", "identity", "lifecycle", "limits", "message", "middleware",
                "runner", "runtime", "server", "settings", "url",
            )
        ),
        tests=("tests/connector",),
    ),
    "delivery": Part(
        (
            "python/subtrie/_dispatcher.py",
            "python/subtrie/short_circuit.py",
            *(
                f"python/subtrie/connector/_{name}.py"
                for name in ("fragments", "responses", "routing", "transport")
            ),
            "python/subtrie/connector/_native/connection.py",
            "python/subtrie/connector/_native/session.py",
        ),
        tests=(
            "tests/test_dispatcher.py",
            # The quickest first: the run of a mutant ends with the first test that fails.
            *(
                f"tests/connector/test_{name}.py"
                for name in (
                    "short_circuit", "short_circuit_programs", "routing", "own_subscriptions",
                    "fragments", "limits", "refused", "on_the_bus", "native_connection", "attacks",
                    "faults", "outcomes",
                )
            ),
        ),
    ),
}  # fmt: skip

#: The operators of cosmic-ray whose mutants change what a program does.
_OPERATORS = re.compile(
    r"core/(ReplaceComparisonOperator_\w+|ReplaceAndWithOr|ReplaceOrWithAnd|AddNot|NumberReplacer"
    r"|ReplaceTrueWithFalse|ReplaceFalseWithTrue|ReplaceBreakWithContinue"
    r"|ReplaceContinueWithBreak|ZeroIterationForLoop|ReplaceUnaryOperator_\w+|ExceptionReplacer"
    r"|ReplaceBinaryOperator_(Add_Sub|Sub_Add|Mul_Add|BitAnd_BitOr|BitOr_BitAnd))"
)

#: A mutant may take so many times as long as the tests without one, and at least so many seconds.
_SLOWER, _LEAST = 4, 60


@dataclass
class Result:
    """The outcomes of the mutants of a run."""

    killed: int = 0
    timeouts: int = 0
    not_viable: int = 0
    survivors: list[str] = field(default_factory=list)
    not_run: int = 0
    possible: int = 0

    def add(self, verdict: str, name: str) -> None:
        """Count a mutant; ``name`` is written down if it survived."""
        self.killed += verdict == "killed"
        self.timeouts += verdict == "timeout"
        self.not_viable += verdict == "not viable"
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
            "minutes": round((time.monotonic() - started) / 60, 1),
        }


# --- Rust


def rust_result(part: Part, count: int, seed: int, ends: float) -> Result:
    """Draw mutants of cargo-mutants and run them."""
    possible = rust_mutants.possible(ROOT, part.files)
    drawn = Random(seed).sample(possible, min(count, len(possible)))
    result = Result(possible=len(possible))
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
    return result


# --- Python


def python_mutants(files: tuple[str, ...]) -> Iterator[tuple[str, str, int]]:
    """Yield each mutant of the files: its file, operator and place among those of the operator."""
    from cosmic_ray import plugins
    from cosmic_ray.ast import ast_nodes, get_ast_from_path

    operators = {name: plugins.get_operator(name) for name in sorted(plugins.operator_names())}
    chosen = {name: made() for name, made in operators.items() if _OPERATORS.fullmatch(name)}
    for file in files:
        nodes = list(ast_nodes(get_ast_from_path(ROOT / file)))
        for name, operator in chosen.items():
            places = sum(len(list(operator.mutation_positions(node))) for node in nodes)
            yield from ((file, name, place) for place in range(places))


def copy_tree(folder: Path) -> None:
    """Copy the tree with its extension, so that mutants never touch the original."""
    extension = [str(path.relative_to(ROOT)) for path in ROOT.glob("python/subtrie/_subtrie*.so")]
    copy_files(folder, extension)


def _failed(folder: Path, tests: tuple[str, ...], limit: float) -> bool | None:
    """Run the tests: whether one failed, or None if they did not end."""
    command = [sys.executable, "-m", "pytest", "-q", "-x", "-p", "no:cacheprovider", *tests]
    environment = {**os.environ, "PYTHONPATH": str(folder / "python")}
    environment["PYTHONDONTWRITEBYTECODE"] = "1"
    try:
        done = subprocess.run(
            command, cwd=folder, env=environment, capture_output=True, check=False, timeout=limit
        )
    except subprocess.TimeoutExpired:
        return None
    return done.returncode != 0


def python_result(part: Part, count: int, seed: int, ends: float) -> Result:
    """Draw mutants of cosmic-ray and run them, each in a copy of the tree."""
    from cosmic_ray import plugins
    from cosmic_ray.mutating import mutate_code

    possible = list(python_mutants(part.files))
    drawn = Random(seed).sample(possible, min(count, len(possible)))
    result = Result(possible=len(possible))
    with tempfile.TemporaryDirectory() as made:
        folder = Path(made)
        copy_tree(folder)
        began = time.monotonic()
        if _failed(folder, part.tests, ends - began) is not False:
            raise SystemExit("the tests fail without a mutant")
        limit = max(_LEAST, _SLOWER * (time.monotonic() - began))
        for number, (file, operator, place) in enumerate(drawn):
            if time.monotonic() > ends:
                result.not_run = len(drawn) - number
                break
            path = folder / file
            original = path.read_text(encoding="utf-8")
            mutant = mutate_code(original, plugins.get_operator(operator)(), place)
            if mutant is None:
                result.not_viable += 1
                continue
            path.write_text(mutant, encoding="utf-8")
            failed = _failed(folder, part.tests, limit)
            path.write_text(original, encoding="utf-8")
            line = _first_difference(original, mutant)
            verdict = {True: "killed", False: "survived", None: "timeout"}[failed]
            print(f"{verdict:9} {file}:{line} {operator}", flush=True)
            result.add(verdict, f"{file}:{line} {operator} {mutant.splitlines()[line - 1]}")
    return result


def _first_difference(one: str, other: str) -> int:
    lines = zip(one.splitlines(), other.splitlines(), strict=False)
    return next((row for row, (a, b) in enumerate(lines, 1) if a != b), 1)


def main() -> int:
    """Draw, run, print, and write the record if one is asked for."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--part", choices=PARTS, required=True)
    parser.add_argument("--count", type=int, default=150)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--minutes", type=float, default=60.0)
    parser.add_argument("--record", action="store_true", help="write docs/records/mutants-*.json")
    options = parser.parse_args()
    part, started = PARTS[options.part], time.monotonic()
    run = rust_result if part.is_rust else python_result
    result = run(part, options.count, options.seed, started + 60 * options.minutes)
    figures = result.figures(options.count, started)
    print(json.dumps(figures, indent=1))
    if options.record:
        command = f"make mutants PART={options.part} COUNT={options.count} SEED={options.seed}"
        kind = f"mutants-{options.part}"
        print(reliability_record.write(kind, command, options.seed, figures))
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
