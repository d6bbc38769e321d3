"""An index as a picture: for Graphviz (``dot``) or Mermaid, the same from both engines.

A node is a run of tokens that does not fork; under it stand the ids of its subscriptions, the queue
after ``@``. A picture is for eyes: it shows the first ``MOST_NODES`` nodes from the root outwards
and says in words what it leaves out. The text, ``str(trie)``, is always whole.
"""

from __future__ import annotations

from bisect import bisect_left
from collections import deque
from typing import Any, NamedTuple

#: The most nodes of a picture, root and remarks aside. Mermaid draws no more than 500 lines.
MOST_NODES = 200

# The most characters of a label's tokens, and the most subscriptions named under it.
_LONGEST = 40
_NAMED = 8

_TEXT, _DOT, _MERMAID = "text", "dot", "mermaid"

_Key = tuple[tuple[int, str], ...]

# Sorts after every token: what stands before it and no further has the tokens before in common.
_LAST = (3, "")


class _Node(NamedTuple):
    """One node of a picture: above which it stands, what is written on it, of which kind."""

    above: int
    lines: list[str]
    kind: str  # "end" with subscriptions, "way" without, "cut" for a remark


def draw(trie: Any, format: str = _TEXT) -> str:
    """The picture of an index. Raises ``ValueError`` for a format nobody knows.

    Cost: all patterns, sorted.
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
    """The text with everything but printable ASCII escaped."""
    return "".join(c if "!" <= c <= "~" else f"\\u{{{ord(c):x}}}" for c in text)


def _nodes(trie: Any) -> list[_Node]:
    """The root, then the nodes from it outwards, as many as a picture has."""
    rows: dict[str, list[str]] = {}
    for row in trie:
        queue = "" if row.queue is None else f"@{_shortened(shown(row.queue))}"
        rows.setdefault(row.pattern, []).append(f"{row.id}{queue}")
    keys = sorted((_key(pattern), pattern) for pattern in rows)
    total = sum(map(len, rows.values()))
    noun = "subscription" if total == 1 else "subscriptions"
    nodes = [_Node(0, [f"SubjectTrie: {total} {noun}"], "way")]
    drawn = 0
    # Branches still to draw: the node above, their range among the keys, the tokens behind them.
    waiting = deque([(0, 0, len(keys), 0)])
    while waiting:
        above, low, high, depth = waiting.popleft()
        while low < high and drawn < MOST_NODES:
            key = keys[low][0]
            end = bisect_left(keys, ((*key[: depth + 1], _LAST), ""), low, high)
            # The first and the last of a sorted range share what all of it shares.
            last = keys[end - 1][0]
            pairs = zip(key, last, strict=False)
            shared = next(
                (at for at, (a, b) in enumerate(pairs) if a != b), min(len(key), len(last))
            )
            label = _shortened(shown(".".join(token for _, token in key[depth:shared])))
            own = rows[keys[low][1]] if len(key) == shared else []
            lines = [label, _listed(own)] if own else [label]
            nodes.append(_Node(above, lines, "end" if own else "way"))
            drawn += 1
            inner = low + bool(own)
            if inner < end:
                waiting.append((len(nodes) - 1, inner, end, shared))
            low = end
        if low < high:
            noun = "pattern" if high - low == 1 else "patterns"
            remark = f"cut here: {high - low} more {noun}"
            nodes.append(_Node(above, [remark], "cut"))
    return nodes


def _key(pattern: str) -> _Key:
    """Literal tokens in the order of their bytes, then ``*``, then ``>``."""
    ranks = {"*": 1, ">": 2}
    return tuple((ranks.get(token, 0), token) for token in pattern.split("."))


def _shortened(text: str) -> str:
    return text if len(text) <= _LONGEST else f"{text[: _LONGEST - 1]}…"


def _listed(rows: list[str]) -> str:
    more = f", … {len(rows) - _NAMED} more" if len(rows) > _NAMED else ""
    return f"[{', '.join(rows[:_NAMED])}{more}]"


def _dot(nodes: list[_Node]) -> str:
    shapes = {"end": "", "way": ", style=dotted", "cut": ", shape=note"}
    lines = ["digraph {", "  rankdir=LR", '  node [shape=box, fontname="monospace"]']
    for number, node in enumerate(nodes):
        label = "\\n".join(map(_quoted_for_dot, node.lines))
        lines.append(f'  n{number} [label="{label}"{shapes[node.kind]}]')
    lines += [f"  n{node.above} -> n{at}" for at, node in enumerate(nodes) if at]
    return "\n".join([*lines, "}"])


def _quoted_for_dot(text: str) -> str:
    # Graphviz reads escapes of its own (\N, \G) and the entities of HTML in a quoted label.
    return text.replace("\\", "\\\\").replace('"', '\\"').replace("&", "&amp;")


def _mermaid(nodes: list[_Node]) -> str:
    shapes = {"end": '["{}"]', "way": '("{}")', "cut": '{{{{"{}"}}}}'}
    lines = ["flowchart LR"]
    for number, node in enumerate(nodes):
        label = "<br/>".join(map(_quoted_for_mermaid, node.lines))
        lines.append(f"  n{number}{shapes[node.kind].format(label)}")
    lines += [f"  n{node.above} --> n{at}" for at, node in enumerate(nodes) if at]
    return "\n".join(lines)


def _quoted_for_mermaid(text: str) -> str:
    # Mermaid reads HTML and Markdown in a label, so whatever may be a sign goes by its number.
    return "".join(
        c if c.isascii() and (c.isalnum() or c in "., :") else f"#{ord(c)};" for c in text
    )
