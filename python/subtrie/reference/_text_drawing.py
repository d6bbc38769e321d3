"""The text drawing of an index, always complete.

Literal tokens are in byte order, then ``*``, then ``>``; nodes without a branch share a line. The
subscriptions follow their pattern: the id, and the queue after ``@``.
"""

from __future__ import annotations

from .._core.drawing import shown
from ._tree import Entry, Node


def text_of(root: Node, subscriptions: int) -> str:
    """Return the drawing; the cost is the number of nodes times their depth."""
    noun = "subscription" if subscriptions == 1 else "subscriptions"
    lines = [f"SubjectTrie: {subscriptions} {noun}"]
    # Branches still to draw: the indentation, whether it is the last one, its token, its node.
    waiting = _branches("", root)
    while waiting:
        before, is_last, token, found = waiting.pop()
        label = token
        while isinstance(found, Node) and not found.exact and _forks(found) == 1:
            token, found = _branches_of(found)[0]
            label += "." + token
        rows = found.exact if isinstance(found, Node) else found
        lines.append(f"{before}{'└── ' if is_last else '├── '}{shown(label)}{_listed(rows)}")
        if isinstance(found, Node):
            waiting += _branches(before + ("    " if is_last else "│   "), found)
    return "\n".join(lines)


_Branch = Node | dict[int, Entry]


def _forks(node: Node) -> int:
    return len(node.children) + bool(node.tail)


def _branches_of(node: Node) -> list[tuple[str, _Branch]]:
    children = list(node.children.items())
    ordered: list[tuple[str, _Branch]] = [
        *sorted((pair for pair in children if pair[0] != "*"), key=lambda pair: pair[0]),
        *(pair for pair in children if pair[0] == "*"),
    ]
    if node.tail:
        ordered.append((">", node.tail))
    return ordered


def _branches(before: str, node: Node) -> list[tuple[str, bool, str, _Branch]]:
    """Return the branches of a node, the last one first, for a stack."""
    branches = _branches_of(node)
    last = len(branches) - 1
    return [
        (before, place == last, *branch) for place, branch in reversed(list(enumerate(branches)))
    ]


def _listed(rows: dict[int, Entry]) -> str:
    names = [
        str(row.id) if row.queue is None else f"{row.id}@{shown(row.queue)}"
        for row in sorted(rows.values(), key=lambda row: row.id)
    ]
    return f"  [{', '.join(names)}]" if names else ""
