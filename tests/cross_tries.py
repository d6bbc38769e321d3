"""Random programs on an index of each engine, every step of them compared."""

from __future__ import annotations

import pickle
from collections.abc import Iterator
from random import Random
from types import ModuleType
from typing import Any

import wide_texts
from cross_questions import CANONICAL, bent, outcome

NAMES = ["a", "b", "c"]
QUEUES = [None, None, None, "q", "r", "v1.x", "é", "e\u0301", "", "a b", "*", "q\ud800"]
MICROBUS = [
    "p.safe.443.*.a_b._.GET.x.*",
    "p.safe.443.*.a_b._.*.x.>",
    "p.safe.*.*.a_b._.GET.x.y",
    "p.safe.443.*.a_b.id-1.GET.x.*",
    "p.reply._.*.c_d.id-1",
]
MICROBUS_SUBJECTS = [
    "p.safe.443.c_d.a_b._.GET.x.y",
    "p.safe.80.c_d.a_b._.GET.x.y",
    "p.safe.443.c_d.a_b.id-1.GET.x.z",
    "p.reply._.a_b.c_d.id-1",
]


def _pattern(random: Random, names: list[str]) -> Any:
    if random.random() < 0.2:
        return random.choice(MICROBUS)
    tokens = random.choices([*names, "*"], k=random.choice((1, 2, 3, 3, 4)))
    if random.random() < 0.25:
        tokens[-1] = ">"
    return bent(random, ".".join(tokens)) if random.random() < 0.15 else ".".join(tokens)


def _subject(random: Random, names: list[str]) -> Any:
    if random.random() < 0.2:
        return random.choice(MICROBUS_SUBJECTS)
    text = ".".join(random.choices([*names, "d"], k=random.choice((1, 2, 3, 3, 4))))
    return bent(random, random.choice((text, *CANONICAL))) if random.random() < 0.15 else text


def _row(random: Random, number: float, names: list[str]) -> tuple[Any, ...]:
    row = (_pattern(random, names), number)
    return row if random.random() < 0.5 else (*row, random.choice(QUEUES))


def program(
    random: Random, native: ModuleType, reference: ModuleType
) -> Iterator[tuple[str, object, object]]:
    """A program of some tens of steps: the step, and what each engine made of it."""
    options: dict[str, Any] = {"dialect": random.choice(("strict", "strict", "server"))}
    if random.random() < 0.1:
        options["max_tokens"] = random.choice((0, 1, 3, 100))
    if random.random() < 0.1:
        options["max_length"] = random.choice((1, 7, 10_000))
    wide = options["dialect"] == "server" and random.random() < 0.7
    names = random.sample(wide_texts.TOKENS, 4) if wide else NAMES
    sides = [_Side(engine) for engine in (native, reference)]
    yield f"SubjectTrie(**{options})", *(side.build(options) for side in sides)
    if any(side.trie is None for side in sides):
        return
    for number in range(random.randint(5, 40)):
        step, arguments = _step(random, number, names)
        yield f"{step}{arguments!a}", *(getattr(side, step)(*arguments) for side in sides)


def _step(random: Random, number: int, names: list[str]) -> tuple[str, tuple[Any, ...]]:
    chance = random.random()
    if chance < 0.3:
        return "add", (_pattern(random, names), number, random.choice(QUEUES))
    if chance < 0.36:
        count = random.randint(0, 7)
        return "update", ([_row(random, number + i / 8, names) for i in range(count)],)
    if chance < 0.48:
        return "remove", (random.random(),)
    if chance < 0.82:
        questions = (
            "match", "match", "select", "select", "groups", "count", "has_interest", "explain",
            "subscriptions",
        )  # fmt: skip
        return "ask", (random.choice(questions), _subject(random, names))
    if chance < 0.92:
        return "ask", (random.choice(("matching", "covered_by")), _pattern(random, names))
    if chance < 0.94:
        return "odd", (random.randrange(12),)
    if chance < 0.98:
        questions = ("len", "iter", "str", "draw", "stats", "copy", "pickle", "image")
        return "whole", (random.choice(questions),)
    return ("clear", ()) if random.random() < 0.3 else ("whole", ("iter",))


class _Side:
    """One engine's index and the handles it gave out."""

    def __init__(self, engine: ModuleType) -> None:
        self.engine = engine
        self.trie: Any = None
        self.handles: list[Any] = []

    def build(self, options: dict[str, Any]) -> object:
        def call() -> str:
            self.trie = self.engine.SubjectTrie(**options)
            return f"{self.trie.dialect} {self.trie.max_tokens} {self.trie.max_length}"

        return outcome(call)

    def add(self, pattern: Any, value: Any, queue: Any) -> object:
        def call() -> object:
            self.handles.append(self.trie.add(pattern, value, queue=queue))
            return self.handles[-1]

        return outcome(call)

    def update(self, rows: Any) -> object:
        def call() -> object:
            made = self.trie.update(rows)
            self.handles += made
            return made

        return outcome(call), len(self.trie)

    def remove(self, which: float) -> object:
        if not self.handles:
            return None
        handle = self.handles[int(which * len(self.handles))]
        return outcome(lambda: (handle in self.trie, self.trie.remove(handle), handle in self.trie))

    def ask(self, question: str, text: Any) -> object:
        return outcome(lambda: getattr(self.trie, question)(text))

    def whole(self, question: str) -> object:
        return outcome(lambda: getattr(self, f"_{question}")())

    def odd(self, which: int) -> object:
        """Misuse an index."""
        trie, handles = self.trie, self.handles
        foreign = type(trie)()  # an unpickled index is of the engine in use
        calls: list[Any] = [
            lambda: trie.remove(None),
            lambda: trie.remove(foreign.add("a", 0)),
            lambda: foreign.add("a", 0) in trie,
            lambda: "a" in trie,
            lambda: trie.update(None),
            lambda: trie.update(["ab"]),
            lambda: trie.update([("a",)]),
            lambda: trie.update([("a", 1, None, 2)]),
            lambda: trie.update([("a", 1, "q"), ("a..b", 2), ("b", 3)]),
            lambda: [trie.explain("z.z.z", limit=limit) for limit in (0, 1, 7, 10**6)],
            lambda: trie.explain("z.z.z", limit=-1),
            lambda: [trie.remove(handle) for handle in reversed(handles)],
        ]
        return outcome(calls[which]), len(trie)

    def clear(self) -> object:
        return outcome(lambda: self.trie.clear())

    def _len(self) -> int:
        return len(self.trie)

    def _iter(self) -> list[Any]:
        return list(self.trie)

    def _str(self) -> str:
        return str(self.trie)

    def _draw(self) -> list[str]:
        return [self.trie.draw(form) for form in ("text", "dot", "mermaid")]

    def _stats(self) -> object:
        # Memory is the one figure in which engines differ.
        return self.trie.stats()._replace(memory=0)

    def _copy(self) -> list[Any]:
        """The program goes on with the copy, which has the handles of the original."""
        self.trie = self.trie.copy()
        return list(self.trie)

    def _pickle(self) -> list[Any]:
        self.trie, self.handles = pickle.loads(pickle.dumps((self.trie, self.handles)))
        return list(self.trie)

    def _image(self) -> list[Any]:
        """An image has no values, and its handles are of an index that cannot change."""
        opened = type(self.trie).from_bytes(self.trie.to_bytes())
        return [list(opened), str(opened), opened.stats()._replace(memory=0)]
