"""The index that a program writes by hand: a dictionary for each token, without anything else."""

from __future__ import annotations

from typing import Any


class DictionaryTrie:
    """A trie of tokens from nested dictionaries; the key ``""`` has the values of a pattern."""

    def __init__(self) -> None:
        self._root: dict[str, Any] = {}

    def add(self, pattern: str, value: int) -> None:
        """Subscribe a value to a pattern."""
        node = self._root
        for token in pattern.split("."):
            node = node.setdefault(token, {})
        node.setdefault("", []).append(value)

    def match(self, subject: str) -> tuple[int, ...]:
        """Return the values whose patterns match."""
        found: list[int] = []
        nodes = [self._root]
        for token in subject.split("."):
            following = []
            for node in nodes:
                if token in node:
                    following.append(node[token])
                if "*" in node:
                    following.append(node["*"])
                if ">" in node:
                    found += node[">"][""]
            nodes = following
        for node in nodes:
            found += node.get("", ())
        return tuple(found)
