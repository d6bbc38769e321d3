"""Pictures of an index: the same from both engines, readable by the tools they are for."""

from __future__ import annotations

import re
from functools import cache

import pydot
import pytest

from engines import ENGINES
from subtrie._core import drawing

ROWS = [
    ("shop.orders.*", 0), ("shop.orders.new", 1, "w"), ("shop.orders.new", 2), ("shop.>", 3),
    ("shop.a.b.c", 4), (">", 5), ("shop.a.b.c.d", 6),
]  # fmt: skip

#: Everything that a picture's language could mistake for its own.
ODD = [
    'a"b', "a\\b", "a\\", "a\\nb", "\\N", "a&amp;b", "<b>", "a;b", "#35;", "a#b", "`a`", "]", '"]',
    "{x}", "é", "日本", "\u202e", "\x00", "\x7f", "1", "-",
    "---", "+", "end", "%%", "$$x$$", "_a_",
    "a|b", "subgraph", "}", "/*", "//", "**a**", "a:::b", "@{", "~~~", "(", "\U0001f600",
]  # fmt: skip


@pytest.fixture
def trie(engine):
    trie = engine.SubjectTrie()
    trie.update(ROWS)
    return trie


def test_the_format_text_equals_str(trie):
    assert trie.draw() == trie.draw("text") == trie.draw(format="text") == str(trie)


def test_dot(trie):
    assert trie.draw("dot").splitlines() == [
        "digraph {",
        "  rankdir=LR",
        '  node [shape=box, fontname="monospace"]',
        '  n0 [label="SubjectTrie: 7 subscriptions", style=dotted]',
        '  n1 [label="shop", style=dotted]',
        '  n2 [label=">\\n[5]"]',
        '  n3 [label="a.b.c\\n[4]"]',
        '  n4 [label="orders", style=dotted]',
        '  n5 [label=">\\n[3]"]',
        '  n6 [label="d\\n[6]"]',
        '  n7 [label="new\\n[1@w, 2]"]',
        '  n8 [label="*\\n[0]"]',
        "  n0 -> n1",
        "  n0 -> n2",
        "  n1 -> n3",
        "  n1 -> n4",
        "  n1 -> n5",
        "  n3 -> n6",
        "  n4 -> n7",
        "  n4 -> n8",
        "}",
    ]


def test_mermaid(trie):
    lines = trie.draw("mermaid").splitlines()
    assert lines[:5] == [
        "flowchart LR",
        '  n0("SubjectTrie: 7 subscriptions")',
        '  n1("shop")',
        '  n2["#62;<br/>#91;5#93;"]',
        '  n3["a.b.c<br/>#91;4#93;"]',
    ]
    assert lines[-1] == "  n4 --> n8"


@cache  # both engines draw the same, and the parser takes seconds
def _labels_of_dot(text):
    (graph,) = pydot.graph_from_dot_data(text)
    nodes = {node.get_name(): node.get_label() for node in graph.get_nodes()}
    edges = [(edge.get_source(), edge.get_destination()) for edge in graph.get_edges()]
    nodes.pop("node", None)
    return nodes, edges


_NODE = re.compile(r'  n(\d+)(?:\["|\("|\{\{")([^"]*)(?:"\]|"\)|"\}\})')
_EDGE = re.compile(r"  n(\d+) --> n(\d+)")


def _labels_of_mermaid(text):
    first, *lines = text.splitlines()
    assert first == "flowchart LR"
    nodes, edges = {}, []
    for line in lines:
        if found := _NODE.fullmatch(line):
            nodes[int(found[1])] = re.sub(r"#(\d+);", lambda sign: chr(int(sign[1])), found[2])
            # Between the signs that go by number, nothing that means anything.
            assert re.fullmatch(r"([A-Za-z0-9., :]|#\d+;|<br/>)*", found[2])
        else:
            edges.append(tuple(map(int, _EDGE.fullmatch(line).groups())))
    return nodes, edges


def test_every_special_character_is_escaped(engine):
    for token in ODD:
        trie = engine.SubjectTrie(dialect="server")
        trie.add(f"x.{token}", 0, queue=token)
        trie.add("x.y", 1)
        label = f"{drawing.shown(token)}\n[0@{drawing.shown(token)}]"
        nodes, edges = _labels_of_mermaid(trie.draw("mermaid"))
        assert label.replace("\n", "<br/>") in nodes.values()
        assert edges == [(0, 1), (1, 2), (1, 3)]
        nodes, edges = _labels_of_dot(trie.draw("dot"))
        quoted = label.replace("\\", "\\\\").replace('"', '\\"').replace("&", "&amp;")
        assert '"{}"'.format(quoted.replace("\n", "\\n")) in nodes.values()
        assert edges == [("n0", "n1"), ("n1", "n2"), ("n1", "n3")]


@pytest.mark.parametrize("format", ["text", "dot", "mermaid"])
def test_both_engines_draw_the_same(format):
    pictures = set()
    for engine in ENGINES.values():
        trie = engine.SubjectTrie(dialect="server")
        trie.update((f"{a}.{b}.{c}", None, c) for a in "ab*" for b in ODD for c in ("x", "y*", "z"))
        trie.update([("a.>", None), (">", None), ("a", None)])
        pictures.add(trie.draw(format))
    assert len(pictures) == 1


def test_an_empty_index(engine):
    trie = engine.SubjectTrie()
    assert _labels_of_dot(trie.draw("dot")) == ({"n0": '"SubjectTrie: 0 subscriptions"'}, [])
    assert _labels_of_mermaid(trie.draw("mermaid")) == ({0: "SubjectTrie: 0 subscriptions"}, [])


@pytest.mark.parametrize("shape", ["flat", "deep", "wide"])
def test_a_large_index_is_cut_and_says_so(engine, shape):
    patterns = {
        "flat": [f"t{n:05}" for n in range(3_000)],
        "deep": [".".join("a" * n) for n in range(1, 400)],
        "wide": [f"s{n % 300}.t{n % 7}.u{n}" for n in range(3_000)],
    }[shape]
    trie = engine.SubjectTrie(max_tokens=2000, max_length=10_000)
    trie.update((pattern, None) for pattern in patterns)
    nodes, edges = _labels_of_mermaid(trie.draw("mermaid"))
    remarks = [label for label in nodes.values() if label.startswith("cut here: ")]
    assert len(nodes) - len(remarks) == 1 + drawing.MAX_NODES
    assert len(edges) == len(nodes) - 1 <= 500  # as many as Mermaid draws
    drawn = sum("[" in label for label in nodes.values())
    left = sum(int(remark.split()[2]) for remark in remarks)
    assert drawn + left == len(patterns)
    assert len(_labels_of_dot(trie.draw("dot"))[0]) == len(nodes)
    assert len(str(trie).splitlines()) > drawing.MAX_NODES  # the text is whole


def test_many_subscriptions_and_long_tokens_are_shortened(engine):
    trie = engine.SubjectTrie()
    trie.update(("a" * 500, None) for _ in range(500))
    label = _labels_of_mermaid(trie.draw("mermaid"))[0][1]
    assert label == "a" * 39 + "…<br/>[0, 1, 2, 3, 4, 5, 6, 7, … 492 more]"
    assert "a" * 39 + "…\\n" in trie.draw("dot")
    few = engine.SubjectTrie()
    few.update(("a" * 40, None) for _ in range(8))
    (_, label) = _labels_of_mermaid(few.draw("mermaid"))[0].values()
    assert label == "a" * 40 + "<br/>[0, 1, 2, 3, 4, 5, 6, 7]"


@pytest.mark.parametrize("format", ["", "svg", "DOT", "text "])
def test_an_unknown_format_is_refused(engine, format):
    with pytest.raises(ValueError, match="format must be 'text', 'dot' or 'mermaid'"):
        engine.SubjectTrie().draw(format)


@pytest.mark.parametrize("format", [None, 1, b"dot"])
def test_a_format_is_text(engine, format):
    with pytest.raises(TypeError):
        engine.SubjectTrie().draw(format)
