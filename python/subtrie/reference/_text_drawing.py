"""An index as a tree of text, whole.

Literal tokens in the order of their bytes, then ``*``, then ``>``; a branch that does not fork is
one line. Behind a pattern stand its subscriptions: id, and the queue after ``@``.
"""

from __future__ import annotations

from .._drawing import shown
from ._tree import Node, Row


def text_of(root: Node, subscriptions: int) -> str:
    """The lines of the tree under ``root``. Cost: its nodes times their depth."""
    noun = "subscription" if subscriptions == 1 else "subscriptions"
    lines = [f"SubjectTrie: {subscriptions} {noun}"]
    # A branch still to draw: what stands before it, whether it is the last one, and itself.
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


_Branch = Node | dict[int, Row]


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
    """The branches of a node, last one first, as a stack wants them."""
    branches = _branches_of(node)
    last = len(branches) - 1
    return [
        (before, place == last, *branch) for place, branch in reversed(list(enumerate(branches)))
    ]


def _listed(rows: dict[int, Row]) -> str:
    names = [
        str(row.id) if row.queue is None else f"{row.id}@{shown(row.queue)}"
        for row in sorted(rows.values(), key=lambda row: row.id)
    ]
    return f"  [{', '.join(names)}]" if names else ""
