"""Drawings of an index for Graphviz (``dot``) and Mermaid, the same from both engines.

A node is a sequence of tokens without a branch; below it are the ids of its subscriptions, each
with its queue after ``@``. A drawing shows the first ``MAX_NODES`` nodes, breadth first, and says
what it leaves out. The text, ``str(trie)``, is always complete.
"""

from __future__ import annotations

from bisect import bisect_left
from collections import deque
from typing import Any, NamedTuple

#: The maximum number of nodes of a drawing, without the root and remarks. Mermaid draws no more
#: than 500 edges.
MAX_NODES = 200

# The maximum number of characters of a label, and of subscriptions listed below it.
_MAX_LABEL = 40
_MAX_LISTED = 8

_TEXT, _DOT, _MERMAID = "text", "dot", "mermaid"

_Key = tuple[tuple[int, str], ...]

# Sorts after every token, so bisection finds the end of the keys with a common prefix.
_LAST = (3, "")


class _Node(NamedTuple):
    """One node of a drawing: its parent, its lines of text and its kind."""

    parent: int
    lines: list[str]
    kind: str  # "end" with subscriptions, "inner" without, "cut" for a remark


def draw(trie: Any, format: str = _TEXT) -> str:
    """Return the drawing of an index; the cost is that of sorting all its patterns.

    Args:
        trie: An index of either engine.
        format: ``text``, ``dot`` or ``mermaid``.

    Raises:
        ValueError: The format is unknown.
    """
    if not isinstance(format, str):
        raise TypeError(f"format must be str, not {type(format).__name__}")
    if format == _TEXT:
        return str(trie)
    if format == _DOT:
        return _dot(_nodes(trie))
    if format == _MERMAID:
        return _mermaid(_nodes(trie))
    raise ValueError(f"format must be 'text', 'dot' or 'mermaid', not {format!a}")


def shown(text: str) -> str:
    """Return the text with everything but printable ASCII escaped."""
    return "".join(c if "!" <= c <= "~" else f"\\u{{{ord(c):x}}}" for c in text)


def _nodes(trie: Any) -> list[_Node]:
    """Return the root and the nodes below it, breadth first, up to ``MAX_NODES``."""
    rows: dict[str, list[str]] = {}
    for row in trie:
        queue = "" if row.queue is None else f"@{_shortened(shown(row.queue))}"
        rows.setdefault(row.pattern, []).append(f"{row.id}{queue}")
    keys = sorted((_key(pattern), pattern) for pattern in rows)
    total = sum(map(len, rows.values()))
    noun = "subscription" if total == 1 else "subscriptions"
    nodes = [_Node(0, [f"SubjectTrie: {total} {noun}"], "inner")]
    drawn = 0
    # Branches still to draw: the parent, their range of keys, the depth of their common prefix.
    waiting = deque([(0, 0, len(keys), 0)])
    while waiting:
        parent, low, high, depth = waiting.popleft()
        while low < high and drawn < MAX_NODES:
            key = keys[low][0]
            end = bisect_left(keys, ((*key[: depth + 1], _LAST), ""), low, high)
            # The common prefix of the first and the last key of a sorted range is that of all.
            last = keys[end - 1][0]
            pairs = zip(key, last, strict=False)
            shared = next(
                (at for at, (a, b) in enumerate(pairs) if a != b), min(len(key), len(last))
            )
            label = _shortened(shown(".".join(token for _, token in key[depth:shared])))
            own = rows[keys[low][1]] if len(key) == shared else []
            lines = [label, _listed(own)] if own else [label]
            nodes.append(_Node(parent, lines, "end" if own else "inner"))
            drawn += 1
            inner = low + bool(own)
            if inner < end:
                waiting.append((len(nodes) - 1, inner, end, shared))
            low = end
        if low < high:
            noun = "pattern" if high - low == 1 else "patterns"
            remark = f"cut here: {high - low} more {noun}"
            nodes.append(_Node(parent, [remark], "cut"))
    return nodes


def _key(pattern: str) -> _Key:
    """Return the sort key: literal tokens in byte order, then ``*``, then ``>``."""
    ranks = {"*": 1, ">": 2}
    return tuple((ranks.get(token, 0), token) for token in pattern.split("."))


def _shortened(text: str) -> str:
    return text if len(text) <= _MAX_LABEL else f"{text[: _MAX_LABEL - 1]}…"


def _listed(rows: list[str]) -> str:
    more = f", … {len(rows) - _MAX_LISTED} more" if len(rows) > _MAX_LISTED else ""
    return f"[{', '.join(rows[:_MAX_LISTED])}{more}]"


def _dot(nodes: list[_Node]) -> str:
    shapes = {"end": "", "inner": ", style=dotted", "cut": ", shape=note"}
    lines = ["digraph {", "  rankdir=LR", '  node [shape=box, fontname="monospace"]']
    for number, node in enumerate(nodes):
        label = "\\n".join(map(_quoted_for_dot, node.lines))
        lines.append(f'  n{number} [label="{label}"{shapes[node.kind]}]')
    lines += [f"  n{node.parent} -> n{at}" for at, node in enumerate(nodes) if at]
    return "\n".join([*lines, "}"])


def _quoted_for_dot(text: str) -> str:
    # In a quoted label Graphviz interprets its own escapes (\N, \G) and HTML entities.
    return text.replace("\\", "\\\\").replace('"', '\\"').replace("&", "&amp;")


def _mermaid(nodes: list[_Node]) -> str:
    shapes = {"end": '["{}"]', "inner": '("{}")', "cut": '{{{{"{}"}}}}'}
    lines = ["flowchart LR"]
    for number, node in enumerate(nodes):
        label = "<br/>".join(map(_quoted_for_mermaid, node.lines))
        lines.append(f"  n{number}{shapes[node.kind].format(label)}")
    lines += [f"  n{node.parent} --> n{at}" for at, node in enumerate(nodes) if at]
    return "\n".join(lines)


def _quoted_for_mermaid(text: str) -> str:
    # Mermaid interprets HTML and Markdown in a label, so other characters are escaped.
    return "".join(
        c if c.isascii() and (c.isalnum() or c in "., :") else f"#{ord(c)};" for c in text
    )
