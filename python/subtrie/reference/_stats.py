"""Statistics of an index, counted level by level."""

from __future__ import annotations

from .._core.subscription import TrieStats
from ._tree import Entry, Node


def stats_of(root: Node, rows: dict[int, Entry]) -> TrieStats:
    """Return counts and memory; the cost is linear in nodes and tokens."""
    patterns = nodes = depth = memory = 0
    level, at = [root], 0
    while level:
        for node in level:
            patterns += bool(node.exact) + bool(node.tail)
            parts = (node, node.children, node.exact, node.tail)
            memory += sum(part.__sizeof__() for part in parts)
            depth = max(depth, at + bool(node.tail))
        nodes += len(level)
        depth = max(depth, at)
        at += 1
        level = [below for node in level for below in node.children.values()]
    queues = {row.queue for row in rows.values()} - {None}
    shapes = {_shape(pattern) for pattern in {row.pattern for row in rows.values()}}
    memory += rows.__sizeof__() + sum(row.__sizeof__() for row in rows.values())
    return TrieStats(len(rows), patterns, nodes - 1, len(queues), depth, len(shapes), memory)


def _shape(pattern: str) -> str:
    """Return the pattern with ``x`` for every literal token."""
    return "".join(token if token in ("*", ">") else "x" for token in pattern.split("."))
