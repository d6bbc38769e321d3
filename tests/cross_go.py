"""Random programs on an index of each engine and on nats-server's own, every answer compared.

    python tests/cross_go.py --cases 1000000 --seed 7

The peer is a small Go program over the exported packages of nats-server (``tests/go_peer``). It
answers what an index matches, which texts are patterns and subjects, and whether two patterns
collide. Exit 1 on any difference.
"""

from __future__ import annotations

import argparse
import json
import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path
from random import Random
from types import ModuleType, TracebackType
from typing import Any, Self

import subtrie._subtrie
import subtrie.reference
from subtrie import SubtrieError

SOURCES = Path(__file__).resolve().parent / "go_peer"
ENGINES: tuple[ModuleType, ...] = (subtrie._subtrie, subtrie.reference)

#: Differences that are printed; the rest is counted.
SHOWN = 10

#: Questions that travel in one line.
_AT_ONCE = 2000

TOKENS = ["a", "b", "c", "foo", "*", "*"]
SUBJECT_TOKENS = ["a", "b", "c", "foo", "x"]
#: Parts of texts for the grammar: what the broker splits, refuses, or takes as text.
PARTS = ["a", "b", "foo", "*", ">", "**", "a*", ">a", "", "é", "%2e", "$", "-", "_", "\x7f", "日"]
#: What is put into texts. A form feed is left out: a broker takes it in a SUB, as both engines do,
#: but nats-server's ``IsValidSubject``, which checks other inputs, refuses it.
ODD = ["\v", "\0", "\u00a0", "\u2028", "\u200b"]
#: Blanks, which ``IsValidLiteralSubject`` takes: the broker's parser has split lines at them.
BLANKS = [" ", "\t", "\n", "\r"]


def build(folder: Path) -> Path:
    """Compile the peer into a folder.

    Raises:
        FileNotFoundError: Go is not installed.
    """
    go = shutil.which("go")
    if go is None:
        raise FileNotFoundError("go is not installed; see docs/reliability.md")
    program = folder / "go_peer"
    subprocess.run([go, "build", "-o", str(program), "."], cwd=SOURCES, check=True)
    return program


class Peer:
    """The running peer, asked many questions at once."""

    def __init__(self, program: Path) -> None:
        self._process = subprocess.Popen(
            [str(program)], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
        )

    def ask(self, questions: list[list[Any]]) -> list[Any]:
        """Return the answers, in order."""
        assert self._process.stdin is not None
        assert self._process.stdout is not None
        self._process.stdin.write(json.dumps(questions) + "\n")
        self._process.stdin.flush()
        answers: list[Any] = json.loads(self._process.stdout.readline())
        return answers

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        assert self._process.stdin is not None
        self._process.stdin.close()
        self._process.wait(timeout=20)


def _pattern(random: Random) -> str:
    tokens = random.choices(TOKENS, k=random.choice((1, 2, 3, 3, 4, 7)))
    if random.random() < 0.3:
        tokens[-1] = ">"
    return ".".join(tokens)


def _subject(random: Random) -> str:
    return ".".join(random.choices(SUBJECT_TOKENS, k=random.choice((1, 2, 3, 3, 4, 7))))


def _text(random: Random, odd: list[str]) -> str:
    text = ".".join(random.choices(PARTS, k=random.randint(1, 4)))
    if random.random() < 0.3:
        at = random.randint(0, len(text))
        text = text[:at] + random.choice(odd) + text[at:]
    return text


class _Index:
    """The same index in both engines and, by its questions, in the peer."""

    def __init__(self, random: Random) -> None:
        self.random = random
        self.tries = [engine.SubjectTrie(dialect="server") for engine in ENGINES]
        self.handles: dict[tuple[str, int], list[Any]] = {}
        self.number = 0

    def step(self) -> tuple[list[Any], list[Any]]:
        """Return a question for the peer, and the answer of each engine."""
        random, chance = self.random, self.random.random()
        if chance < 0.35:
            pattern, self.number = _pattern(random), self.number + 1
            given = [trie.add(pattern, self.number) for trie in self.tries]
            self.handles[pattern, self.number] = given
            return ["add", pattern, self.number], [True, True]
        if chance < 0.5 and self.handles:
            key = random.choice(list(self.handles))
            taken = self.handles.pop(key)
            answers = [t.remove(handle) for t, handle in zip(self.tries, taken, strict=True)]
            return ["remove", *key], answers
        if chance < 0.53:
            return ["count"], [len(trie) for trie in self.tries]
        if chance < 0.6:
            subject = _subject(random)
            return ["interest", subject], [trie.has_interest(subject) for trie in self.tries]
        subject = _subject(random)
        return ["match", subject], [sorted(trie.match(subject)) for trie in self.tries]


def _valid(check: Any, text: str) -> bool:
    """Whether the broker's dialect takes the text, whatever its length."""
    try:
        check(text, "server")
    except SubtrieError:
        return False
    return True


def grammar(random: Random) -> tuple[list[Any], list[Any]]:
    """Return a question about texts alone, and the answer of each engine."""
    chance = random.random()
    if chance < 0.4:
        text = _text(random, ODD + BLANKS)
        return ["subject", text], [_valid(engine.check_pattern, text) for engine in ENGINES]
    if chance < 0.7:
        text = _text(random, ODD)
        return ["literal", text], [_valid(engine.check_subject, text) for engine in ENGINES]
    one, other = _pattern(random), _pattern(random)
    return ["collide", one, other], [engine.overlaps(one, other) is not None for engine in ENGINES]


def questions(random: Random, count: int) -> Iterator[tuple[list[Any], list[Any]]]:
    """Yield so many questions: programs on an index, and questions about texts between them."""
    index = _Index(random)
    yield ["clear"], [True, True]
    for place in range(count - 1):
        if place % 400 == 399:
            index = _Index(random)
            yield ["clear"], [True, True]
        yield index.step() if random.random() < 0.7 else grammar(random)


def run(program: Path, cases: int, seed: int) -> tuple[int, list[str]]:
    """Ask so many questions; return how many were asked, and the differences."""
    random, done, differences = Random(f"go:{seed}"), 0, []
    with Peer(program) as peer:
        while done < cases:
            asked = list(questions(random, min(_AT_ONCE, cases - done)))
            done += len(asked)
            answers = peer.ask([question for question, _ in asked])
            for (question, own), answer in zip(asked, answers, strict=True):
                differences += [
                    f"{question!a}: nats-server {answer!a}, {engine.__name__} {each!a}"
                    for engine, each in zip(ENGINES, own, strict=True)
                    if each != answer
                ]
    return done, differences


def main() -> int:
    """Build the peer, ask, print, and write the record if one is asked for."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--cases", type=int, default=100_000)
    parser.add_argument("--seed", type=int, default=20_261_122)
    parser.add_argument("--record", action="store_true", help="write docs/records/cross-go-*.json")
    options = parser.parse_args()
    began = time.monotonic()
    with tempfile.TemporaryDirectory() as folder:
        done, differences = run(build(Path(folder)), options.cases, options.seed)
    for difference in differences[:SHOWN]:
        print(difference)
    figures = {
        "cases": done,
        "differences": len(differences),
        "seconds": round(time.monotonic() - began),
    }
    print(f"{done:,} cases with nats-server, seed {options.seed}, {len(differences)} differences")
    if options.record:
        sys.path.insert(0, str(SOURCES.parents[1] / "tools"))
        import reliability_record

        command = f"make cross-go CASES={options.cases} SEED={options.seed}"
        print(reliability_record.write("cross-go", command, options.seed, figures))
    return int(bool(differences))


if __name__ == "__main__":
    raise SystemExit(main())
