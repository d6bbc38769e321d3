"""A trie of tokens with one dictionary per node, for the reference index.

A node maps a token, or ``*``, to a child; patterns that end with ``>`` are stored at the node
before it. Every search proceeds level by level, without recursion.

Readers take no lock. An entry is added or removed by one store in one dictionary, and a branch is
linked before an entry is stored in it, so with the GIL a reader sees each entry completely or not
at all.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from ._subscription import Subscription


class Entry:
    """A stored subscription; ``turn`` counts the deliveries of its queue group."""  # A19

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

    def copy(self) -> Entry:
        """Return the same subscription for another tree."""
        return Entry(self.subscription, self.pattern, self.value, self.queue, self.id, self.turn)


class Node:
    """The children and the subscriptions after some leading tokens."""

    __slots__ = ("children", "exact", "tail")

    def __init__(self) -> None:
        self.children: dict[str, Node] = {}
        self.exact: dict[int, Entry] = {}  # patterns that end here
        self.tail: dict[int, Entry] = {}  # patterns that end with '>' after this node

    def is_empty(self) -> bool:
        return not (self.children or self.exact or self.tail)

    def below(self) -> Iterator[Node]:
        """Iterate over all descendants."""
        nodes = list(self.children.values())
        while nodes:
            node = nodes.pop()
            yield node
            nodes.extend(node.children.values())


def handles(rows: list[Entry]) -> tuple[Subscription, ...]:
    """Return the subscriptions of entries."""
    return tuple([row.subscription for row in rows])


def sorted_by_id(rows: list[Entry]) -> list[Entry]:
    if len(rows) > 1:
        rows.sort(key=_id)
    return rows


def _id(row: Entry) -> int:
    return row.id


def _tokens(pattern: str) -> tuple[list[str], bool]:
    """Return the tokens before a final ``>``, and whether there is one."""
    tokens = pattern.split(".")
    if tokens[-1] == ">":
        return tokens[:-1], True
    return tokens, False


def insert(root: Node, row: Entry) -> None:
    """Add an entry; entries of one pattern must be added in the order of their ids."""
    end_of(root, row.pattern)[row.id] = row


def end_of(root: Node, pattern: str) -> dict[int, Entry]:
    """Return the dictionary of the entries of a pattern, creating its branch."""
    tokens, tail = _tokens(pattern)
    node = root
    for token in tokens:
        below = node.children.get(token)
        if below is None:
            below = node.children[token] = Node()
        node = below
    return node.tail if tail else node.exact


def insert_all(root: Node, rows: Iterable[Entry]) -> None:
    """Add entries, tokenizing each pattern once."""
    ends: dict[str, dict[int, Entry]] = {}
    for row in rows:
        end = ends.get(row.pattern)
        if end is None:
            end = ends[row.pattern] = end_of(root, row.pattern)
        end[row.id] = row


def delete(root: Node, row: Entry) -> None:
    """Remove an entry and the nodes that are empty without it."""
    tokens, tail = _tokens(row.pattern)
    path = [root]
    for token in tokens:
        path.append(path[-1].children[token])
    end = path[-1]
    del (end.tail if tail else end.exact)[row.id]
    for token in reversed(tokens):
        if not path.pop().is_empty():
            break
        above = path[-1]
        del above.children[token]
        if not above.children:
            above.children = {}  # an emptied dictionary keeps its memory, a new one has none


def matching(root: Node, tokens: list[str]) -> list[Entry]:
    """Return the entries whose pattern matches a subject, unordered."""
    # S0-128, S1-036 to S1-040
    nodes = [root]
    rows: list[Entry] = []
    for token in tokens:
        deeper = []
        for node in nodes:
            if node.tail:  # S1-037: '>' matches this token and all that follow
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


def contains(root: Node, pattern: str) -> bool:
    """Return whether any entry has exactly this pattern."""
    tokens, tail = _tokens(pattern)
    node: Node | None = root
    for token in tokens:
        node = node.children.get(token) if node is not None else None
    return node is not None and bool(node.tail if tail else node.exact)


def overlapping(root: Node, pattern: str) -> list[Entry]:
    """Return the entries whose pattern has a subject in common with ``pattern``, unordered."""
    tokens, tail = _tokens(pattern)
    nodes = [root]
    rows: list[Entry] = []
    for token in tokens:
        for node in nodes:
            rows += node.tail.values()
        nodes = [below for node in nodes for below in _overlapping_children(node, token)]
    for node in nodes:
        rows += _all_below(node) if tail else node.exact.values()
    return rows


def _overlapping_children(node: Node, token: str) -> Iterable[Node]:
    """Return the children whose token overlaps ``token``."""
    if token == "*":
        return list(node.children.values())
    return _children(node, token, "*")


def _children(node: Node, *tokens: str) -> list[Node]:
    """Return the children for these tokens; each is looked up once, as a writer may remove it."""
    found = (node.children.get(token) for token in tokens)
    return [below for below in found if below is not None]


def covered(root: Node, pattern: str) -> list[Entry]:
    """Return the entries whose pattern matches only what ``pattern`` matches, unordered."""
    tokens, tail = _tokens(pattern)
    nodes = [root]
    for token in tokens:
        if token == "*":
            nodes = [below for node in nodes for below in list(node.children.values())]
        else:
            nodes = [below for node in nodes for below in _children(node, token)]
    rows: list[Entry] = []
    for node in nodes:
        rows += _all_below(node) if tail else node.exact.values()
    return rows


def _all_below(node: Node) -> Iterable[Entry]:
    rows = list(node.tail.values())
    for below in node.below():
        rows += below.exact.values()
        rows += below.tail.values()
    return rows


def nearest(root: Node, tokens: list[str], limit: int) -> list[tuple[Entry, int]]:
    """Return the patterns with the most leading tokens in common with a subject, then the oldest.

    Each is represented by its oldest entry, with the number of equal leading tokens.
    """
    levels = [[root]]
    for token in tokens:
        levels.append([below for node in levels[-1] for below in _children(node, token, "*")])
    found: list[tuple[Entry, int]] = []
    for place in reversed(range(len(levels))):
        if len(found) >= limit:
            break
        agreeing = (tokens[place], "*") if place < len(tokens) else ()
        rows: list[Entry] = []
        for node in levels[place]:
            rows += _oldest(node)
            for key, below in list(node.children.items()):
                if key not in agreeing:
                    rows += _oldest(below)
                    for deep in below.below():
                        rows += _oldest(deep)
        found += [(row, place) for row in sorted_by_id(rows)[: limit - len(found)]]
    return found


def _oldest(node: Node) -> Iterator[Entry]:
    """Return the oldest entry of each pattern that ends at the node."""
    for rows in (node.exact, node.tail):
        if found := list(rows.values()):  # copied first, as a writer may empty it
            yield min(found, key=_id)
