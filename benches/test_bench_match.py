"""How long does a lookup take, beside everything one might use instead?

``pytest benches --benchmark-only``. One round asks about 1,000 subjects, so the µs of a round are
ns a subject; every subject is a new ``str``. In ``zipf`` and ``uniform`` the same 1,000 texts come
in every round, which is what a cache hopes for; in ``fresh`` every round has others. All answers
are compared before anything is timed.
"""

from __future__ import annotations

import functools
import itertools
import re

import pytest

import subtrie._subtrie
import subtrie.reference
from workload import Workload, fresh

ENGINES = {"native": subtrie._subtrie, "reference": subtrie.reference}
COUNT = 1000
ROUNDS = 20
SIZES = {"1000": 1, "6000": 6}


@functools.cache
def workload(size: str) -> tuple[list[str], dict[str, list[str]]]:
    made = Workload(slots=SIZES[size])
    subjects = {order: made.subjects(COUNT, order) for order in ("zipf", "uniform")}
    return made.patterns, subjects | {"fresh": made.subjects((ROUNDS + 1) * COUNT, "uniform")}


def native(patterns):
    trie = subtrie._subtrie.SubjectTrie()
    trie.update((pattern, n) for n, pattern in enumerate(patterns))
    return trie.match


def reference(patterns):
    trie = subtrie.reference.SubjectTrie()
    trie.update((pattern, n) for n, pattern in enumerate(patterns))
    return trie.match


def cached_reference(patterns):
    return functools.lru_cache(maxsize=100_000)(reference(patterns))


def compiled_regex_list(patterns):
    rules = []
    for n, pattern in enumerate(patterns):
        tokens = [
            {"*": r"[^.]+", ">": r".+"}.get(token) or re.escape(token)
            for token in pattern.split(".")
        ]
        rules.append((re.compile(r"\.".join(tokens)).fullmatch, n))
    return lambda subject: tuple([n for rule, n in rules if rule(subject)])


def paho(patterns):
    matcher = pytest.importorskip("paho.mqtt.matcher").MQTTMatcher()
    for n, pattern in enumerate(patterns):
        topic = pattern.replace(".", "/").replace("*", "+").replace(">", "#")
        try:
            matcher[topic].append(n)
        except KeyError:
            matcher[topic] = [n]
    # Its '#' also takes the level above: no subject here ends there, so answers agree.
    return lambda subject: tuple(
        sorted(n for found in matcher.iter_match(subject.replace(".", "/")) for n in found)
    )


ANSWERING = [native, reference, cached_reference, compiled_regex_list, paho]


def loop(call):
    def run(subjects):
        for subject in subjects:
            call(subject)

    return run


def timed(benchmark, call, subjects, rounds=ROUNDS):
    portions = itertools.cycle(
        [subjects[start : start + COUNT] for start in range(0, len(subjects), COUNT)]
    )

    # New strings for every round, made outside the time.
    def setup():
        return ([fresh(subject) for subject in next(portions)],), {}

    benchmark.pedantic(loop(call), setup=setup, rounds=rounds, warmup_rounds=1)


@pytest.mark.parametrize("order", ["zipf", "uniform", "fresh"])
@pytest.mark.parametrize("size", SIZES)
@pytest.mark.parametrize("make", ANSWERING, ids=lambda make: make.__name__)
def test_match(benchmark, make, size, order):
    benchmark.group = f"match, {size} subscriptions, {order}"
    patterns, subjects = workload(size)
    call, expected = make(patterns), reference(patterns)
    for subject in subjects["zipf"]:
        assert call(subject) == expected(subject)
    timed(benchmark, call, subjects[order], 1 if make is compiled_regex_list else ROUNDS)


@pytest.mark.parametrize("size", SIZES)
@pytest.mark.parametrize(
    "call",
    [
        pytest.param(lambda subject: subject.split("."), id="str.split alone"),
        pytest.param(subtrie._subtrie.check_subject, id="native check alone"),
        pytest.param(subtrie._subtrie.SubjectTrie().match, id="native, empty index"),
        pytest.param(lambda subject: None, id="empty Python call"),
    ],
)
def test_what_a_lookup_stands_on(benchmark, call, size):
    benchmark.group = f"match, {size} subscriptions, zipf"
    timed(benchmark, call, workload(size)[1]["zipf"])


@pytest.mark.parametrize("engine", ENGINES)
@pytest.mark.parametrize("ask", ["select", "groups", "has_interest", "explain"])
def test_other_questions(benchmark, engine, ask):
    benchmark.group = f"{ask}, 6000 subscriptions, zipf"
    patterns, subjects = workload("6000")
    trie = ENGINES[engine].SubjectTrie()
    trie.update((p, n, f"q{n % 50}") for n, p in enumerate(patterns))
    timed(benchmark, getattr(trie, ask), subjects["zipf"], rounds=5)


@pytest.mark.parametrize("engine", ENGINES)
def test_building(benchmark, engine):
    benchmark.group = "update with 6000 patterns, then remove all"
    rows = [(pattern, None) for pattern in workload("6000")[0]]

    def build():
        trie = ENGINES[engine].SubjectTrie()
        for handle in trie.update(rows):
            trie.remove(handle)
        assert len(trie) == 0

    benchmark.pedantic(build, rounds=5)
