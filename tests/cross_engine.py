"""The same random question to both engines: any difference is a bug.

    python tests/cross_engine.py --cases 1000000 --seed 7 [--part codec]

One case is one question with its two answers: the value, or the class, reason, position, field,
status and sentence of the refusal. Each round of cases is made from the seed and its own number, so
``--seed S --round N`` asks one round again. Exit 1 on any difference.
"""

from __future__ import annotations

import argparse
import sys
import time
import warnings
from collections.abc import Iterator
from pathlib import Path
from random import Random
from types import ModuleType
from typing import NamedTuple

import cross_questions
import cross_tries
import subtrie._subtrie
import subtrie.reference

NATIVE: ModuleType = subtrie._subtrie
REFERENCE: ModuleType = subtrie.reference

#: Differences that are printed; the rest is counted.
SHOWN = 10


class Difference(NamedTuple):
    """One question that the engines answered differently."""

    round: int
    question: str
    native: object
    reference: object

    def __str__(self) -> str:
        return (
            f"round {self.round}: {self.question}\n"
            f"  native    {self.native}\n"
            f"  reference {self.reference}"
        )


def ask(seed: int, number: int) -> Iterator[tuple[str, object, object]]:
    """One round: the questions of one family, each with both answers."""
    random = Random(f"{seed}:{number}")
    if number % (cross_questions.FAMILIES + 1) == cross_questions.FAMILIES:
        yield from cross_tries.program(random, NATIVE, REFERENCE)
    else:
        for name, arguments, keywords in cross_questions.questions(
            random, number % (cross_questions.FAMILIES + 1)
        ):
            yield (
                f"{name}(*{arguments!a}, **{keywords!a})",
                cross_questions.answer(NATIVE, name, arguments, keywords),
                cross_questions.answer(REFERENCE, name, arguments, keywords),
            )


#: The rounds of each part, as places among the families of questions and the tries after them.
PARTS = {
    "all": range(cross_questions.FAMILIES + 1),
    "codec": cross_questions.CODEC,
}


def run(
    cases: int, seed: int, *, part: str = "all", progress: bool = False
) -> tuple[int, list[Difference]]:
    """Asks until so many cases have been compared; how many they were, and the differences."""
    done, number, began, told = 0, 0, time.monotonic(), 0.0
    differences: list[Difference] = []
    while done < cases:
        if number % (cross_questions.FAMILIES + 1) not in PARTS[part]:
            number += 1
            continue
        for question, native, reference in ask(seed, number):
            done += 1
            if native != reference:
                differences.append(Difference(number, question, native, reference))
        number += 1
        now = time.monotonic() - began
        if progress and now - told > 1:
            told = now
            print(
                f"\r{done:,} of {cases:,} cases, {len(differences)} differences, {now:.0f} s",
                end="",
                file=sys.stderr,
            )
    if progress:
        print(file=sys.stderr)
    return done, differences


def main() -> int:
    """The command."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--cases", type=int, default=100_000)
    parser.add_argument("--seed", type=int, default=20_261_121)
    parser.add_argument("--part", choices=PARTS, default="all")
    parser.add_argument("--round", type=int, help="ask one round again, and print it")
    parser.add_argument("--record", action="store_true", help="write docs/records/cross-*.json")
    options = parser.parse_args()
    warnings.simplefilter("ignore")
    if options.round is not None:
        different = 0
        for question, native, reference in ask(options.seed, options.round):
            different += native != reference
            print("same" if native == reference else "DIFFERENT", question, native, reference)
        return int(different > 0)
    began = time.monotonic()
    done, differences = run(options.cases, options.seed, part=options.part, progress=True)
    for difference in differences[:SHOWN]:
        print(difference)
    seconds = time.monotonic() - began
    print(f"{done:,} cases, seed {options.seed}, {len(differences)} differences, {seconds:.0f} s")
    if options.record:
        sys.path.insert(0, str(Path(__file__).resolve().parent.parent / "tools"))
        import reliability_record

        chosen = "" if options.part == "all" else f" PART={options.part}"
        command = f"make cross CASES={options.cases} SEED={options.seed}{chosen}"
        kind = "cross" if options.part == "all" else f"cross-{options.part}"
        figures = {"cases": done, "differences": len(differences), "seconds": round(seconds)}
        print(reliability_record.write(kind, command, options.seed, figures))
    return int(bool(differences))


if __name__ == "__main__":
    raise SystemExit(main())
