"""A dictionary per level: the tree behind the reference index.

A token leads to the node below it, ``*`` among the literal tokens; ``>`` is no node, it ends at the
node before it. Every walk goes level by level, so depth costs no stack.

Readers take no lock. A row appears and disappears by one store in one dictionary, and a branch is
linked before a row stands in it, so under the GIL a reader sees each row whole or not at all.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from .._subscription import Subscription


class Row:
    """A subscription as the tree holds it. The ``turn`` counts its group's deliveries (A19)."""

    __slots__ = ("id", "pattern", "queue", "subscription", "turn", "value")

    def __init__(
        self,
        subscription: Subscription,
        pattern: str,
        value: object,
        queue: str | None,
        id: int,
        turn: int = 0,
    ) -> None:
        self.subscription = subscription
        self.pattern = pattern
        self.value = value
        self.queue = queue
        self.id = id
        self.turn = turn

    def twin(self) -> Row:
        """The same subscription for another tree."""
        return Row(self.subscription, self.pattern, self.value, self.queue, self.id, self.turn)


class Node:
    """What stands at the end of some leading tokens."""

    __slots__ = ("children", "exact", "tail")

    def __init__(self) -> None:
        self.children: dict[str, Node] = {}
        self.exact: dict[int, Row] = {}  # patterns that end here
        self.tail: dict[int, Row] = {}  # patterns that end in '>' after this node

    def is_bare(self) -> bool:
        return not (self.children or self.exact or self.tail)

    def below(self) -> Iterator[Node]:
        """All nodes under this one."""
        nodes = list(self.children.values())
        while nodes:
            node = nodes.pop()
            yield node
            nodes.extend(node.children.values())


def by_id(rows: list[Row]) -> list[Row]:
    if len(rows) > 1:
        rows.sort(key=_id)
    return rows


def _id(row: Row) -> int:
    return row.id


def _tokens(pattern: str) -> tuple[list[str], bool]:
    """The tokens before a final ``>``, and whether there is one."""
    tokens = pattern.split(".")
    if tokens[-1] == ">":
        return tokens[:-1], True
    return tokens, False


def insert(root: Node, row: Row) -> None:
    """Adds a row. Rows of one pattern stay in the order of their ids if they come in it."""
    end_of(root, row.pattern)[row.id] = row


def end_of(root: Node, pattern: str) -> dict[int, Row]:
    """Where the rows of a pattern stand. The branch is made; it must not stay empty."""
    tokens, tail = _tokens(pattern)
    node = root
    for token in tokens:
        below = node.children.get(token)
        if below is None:
            below = node.children[token] = Node()
        node = below
    return node.tail if tail else node.exact


def insert_all(root: Node, rows: Iterable[Row]) -> None:
    """Adds rows, each pattern read once however many rows it has."""
    ends: dict[str, dict[int, Row]] = {}
    for row in rows:
        end = ends.get(row.pattern)
        if end is None:
            end = ends[row.pattern] = end_of(root, row.pattern)
        end[row.id] = row


def delete(root: Node, row: Row) -> None:
    """Takes a row out, then the branch that nothing needs any more."""
    tokens, tail = _tokens(row.pattern)
    path = [root]
    for token in tokens:
        path.append(path[-1].children[token])
    end = path[-1]
    del (end.tail if tail else end.exact)[row.id]
    for token in reversed(tokens):
        if not path.pop().is_bare():
            break
        above = path[-1]
        del above.children[token]
        if not above.children:
            above.children = {}  # an emptied dictionary keeps its room, a new one has none


def hits(root: Node, tokens: list[str]) -> list[Row]:
    """The rows whose pattern matches a subject (S0-128, S1-036 to S1-040), unordered."""
    nodes = [root]
    rows: list[Row] = []
    for token in tokens:
        deeper = []
        for node in nodes:
            if node.tail:  # S1-037: '>' takes this token and all that follow
                rows += node.tail.values()
            children = node.children
            if (below := children.get(token)) is not None:
                deeper.append(below)
            if (below := children.get("*")) is not None:  # S0-080, S1-030
                deeper.append(below)
        if not deeper:
            return rows
        nodes = deeper
    for node in nodes:
        rows += node.exact.values()
    return rows


def overlapping(root: Node, pattern: str) -> list[Row]:
    """The rows whose pattern has a subject in common with ``pattern``, unordered."""
    tokens, tail = _tokens(pattern)
    nodes = [root]
    rows: list[Row] = []
    for token in tokens:
        for node in nodes:
            rows += node.tail.values()
        nodes = [below for node in nodes for below in _meeting(node, token)]
    for node in nodes:
        rows += _all_below(node) if tail else node.exact.values()
    return rows


def _meeting(node: Node, token: str) -> Iterable[Node]:
    """The children that share a token with ``token``."""
    if token == "*":
        return list(node.children.values())
    return _children(node, token, "*")


def _children(node: Node, *tokens: str) -> list[Node]:
    """The children for these tokens, each asked for once: a writer may take it out meanwhile."""
    found = (node.children.get(token) for token in tokens)
    return [below for below in found if below is not None]


def covered(root: Node, pattern: str) -> list[Row]:
    """The rows whose pattern matches nothing but what ``pattern`` matches, unordered."""
    tokens, tail = _tokens(pattern)
    nodes = [root]
    for token in tokens:
        if token == "*":
            nodes = [below for node in nodes for below in list(node.children.values())]
        else:
            nodes = [below for node in nodes for below in _children(node, token)]
    rows: list[Row] = []
    for node in nodes:
        rows += _all_below(node) if tail else node.exact.values()
    return rows


def _all_below(node: Node) -> Iterable[Row]:
    rows = list(node.tail.values())
    for below in node.below():
        rows += below.exact.values()
        rows += below.tail.values()
    return rows


def nearest(root: Node, tokens: list[str], limit: int) -> list[tuple[Row, int]]:
    """The patterns that agree longest with a subject that none matches, oldest first among equals.

    Each is told by its oldest row, with the number of leading tokens that agree: the place of the
    first that does not.
    """
    levels = [[root]]
    for token in tokens:
        levels.append([below for node in levels[-1] for below in _children(node, token, "*")])
    found: list[tuple[Row, int]] = []
    for place in reversed(range(len(levels))):
        if len(found) >= limit:
            break
        agreeing = (tokens[place], "*") if place < len(tokens) else ()
        rows: list[Row] = []
        for node in levels[place]:
            rows += _oldest(node)
            for key, below in list(node.children.items()):
                if key not in agreeing:
                    rows += _oldest(below)
                    for deep in below.below():
                        rows += _oldest(deep)
        found += [(row, place) for row in by_id(rows)[: limit - len(found)]]
    return found


def _oldest(node: Node) -> Iterator[Row]:
    """The oldest row of each pattern that ends at the node."""
    for rows in (node.exact, node.tail):
        if found := list(rows.values()):  # looked at once: a writer may empty it meanwhile
            yield min(found, key=_id)
