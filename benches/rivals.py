"""Alternatives to the index from Python, each with the same three operations.

A rival is built from patterns; the value of a subscription is its number, counted from zero. Its
``match`` takes a subject in the rival's own notation, so that no conversion is measured, and
returns numbers in any order.
"""

from __future__ import annotations

import functools
import gc
import re
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from typing import Any

from paho.mqtt.matcher import MQTTMatcher

import subtrie._subtrie
import subtrie.reference
from dictionary_trie import DictionaryTrie
from workload import lines

NATIVE = "subtrie, Python"
REFERENCE = "reference, Python"


@dataclass(frozen=True)
class Built:
    """A rival with its subscriptions."""

    match: Callable[[str], Iterable[int]]
    add: Callable[[str, int], Any] | None = None
    remove: Callable[[Any], Any] | None = None
    # The argument of ``remove`` for the subscription of each pattern.
    handles: Sequence[Any] = ()


@dataclass(frozen=True)
class Rival:
    """A name, a function that builds the index, and the largest size that is measured."""

    who: str
    build: Callable[[list[str]], Built]
    most: int
    form: Callable[[str], str] = str


def _trie(engine: Any) -> Callable[[list[str]], Built]:
    def build(patterns: list[str]) -> Built:
        trie = engine.SubjectTrie()
        handles = trie.update((pattern, n) for n, pattern in enumerate(patterns))
        return Built(trie.match, trie.add, trie.remove, handles)

    return build


def _dictionary(patterns: list[str]) -> Built:
    trie = DictionaryTrie()
    for number, pattern in enumerate(patterns):
        trie.add(pattern, number)
    return Built(trie.match)


def _cached(patterns: list[str]) -> Built:
    return Built(functools.lru_cache(maxsize=1024)(_dictionary(patterns).match))


def _regex(patterns: list[str]) -> Built:
    rules = []
    for n, pattern in enumerate(patterns):
        tokens = [
            {"*": r"[^.]+", ">": r".+"}.get(token) or re.escape(token)
            for token in pattern.split(".")
        ]
        rules.append((re.compile(r"\.".join(tokens)).fullmatch, n))
    return Built(lambda subject: [n for rule, n in rules if rule(subject)])


def _topic(text: str) -> str:
    # '#' also matches the parent level, but no subject here ends there, so the answers agree.
    return text.replace(".", "/").replace("*", "+").replace(">", "#")


def _paho(patterns: list[str]) -> Built:
    matcher = MQTTMatcher()
    topics = [_topic(pattern) for pattern in patterns]
    for n, topic in enumerate(topics):
        matcher[topic] = n
    find = matcher.iter_match
    return Built(lambda topic: list(find(topic)), matcher.__setitem__, matcher.__delitem__, topics)


RIVALS = [
    Rival(NATIVE, _trie(subtrie._subtrie), 10**9),
    Rival(REFERENCE, _trie(subtrie.reference), 10**9),
    Rival("dictionary trie, Python", _dictionary, 10**9),
    Rival("lru_cache(1024) over a dictionary trie, Python", _cached, 10**9),
    Rival("paho-mqtt, Python", _paho, 100_000, _topic),
    Rival("compiled regex, Python", _regex, 6_000),
]


@functools.lru_cache(maxsize=2)
def built(rival: Rival, size: int) -> Built:
    """Build the rival with the patterns of a size; the last two are cached."""
    gc.disable()  # it would scan millions of young objects repeatedly
    try:
        return rival.build(lines(size, "patterns"))
    finally:
        gc.enable()
