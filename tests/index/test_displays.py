"""The tables that a notebook shows: escaped, bounded, the same from both engines."""

from __future__ import annotations

from html.parser import HTMLParser

import pytest

from subtrie import Pattern, microbus
from subtrie._core.display import MAX_ROWS, MAX_TREE, table
from subtrie.acl import Permissions

HOSTILE = "<script>alert(1)</script>&\"'\u202e\x1b[2J"


class Reader(HTMLParser):
    """Collects the cells of a table, and the names of its tags."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.tags: set[str] = set()
        self.rows: list[list[str]] = []
        self.caption = ""
        self._open = ""
        self.feed(text)

    def handle_starttag(self, tag, attrs):
        self.tags.add(tag)
        self._open = tag
        if tag == "tr":
            self.rows.append([])
        if tag in ("td", "th"):
            self.rows[-1].append("")

    def handle_data(self, data):
        if self._open in ("td", "th"):
            self.rows[-1][-1] += data
        elif self._open == "caption":
            self.caption += data


TAGS = {"table", "caption", "thead", "tbody", "tr", "th", "td", "p"}


def read(value) -> Reader:
    reader = Reader(value._repr_html_())
    assert reader.tags <= TAGS
    return reader


def test_an_address_shows_its_parts(engine_in_use):
    address = microbus.decode("p.safe.443.web_shop.orders_shop._.GET.orders.7")
    shown = read(address)
    assert ["source", "web.shop"] in shown.rows
    assert shown.caption == "RequestAddress p.safe.443.web_shop.orders_shop._.GET.orders.7"
    pattern = microbus.decode_subscription("p.safe.*.*.orders_shop._.GET.orders.*")
    assert ["port", "any"] in read(pattern).rows
    reply = microbus.decode("p.reply._.orders_shop.web_shop.id-1")
    assert ["id", "id-1"] in read(reply).rows


def test_an_explanation_shows_matches_or_the_nearest_patterns(trie):
    trie.add("orders.*", HOSTILE, queue="workers")
    found = read(trie.explain("orders.new"))
    assert found.rows[1][:3] == ["0", "orders.*", "workers"]
    assert "<script>" in found.rows[1][3]  # as text
    missed = read(trie.explain("order.new"))
    assert missed.caption == "order.new matches no pattern"
    assert missed.rows[1] == ["orders.*", "token 0 is 'order', not 'orders'"]
    assert ["one of workers", found.rows[1][3]] in read(trie.groups("orders.new")).rows
    assert ["subscriptions", "1"] in read(trie.stats()).rows


def test_a_decision_and_a_difference_of_permissions(engine_in_use):
    old = Permissions(publish_allow=["a.*"])
    decision = read(old.can_publish("b"))
    assert decision.caption == "refused"
    assert ["nearest", "a.*"] in decision.rows
    assert read(old.can_publish("a.b")).caption == "allowed"
    undetermined = Permissions(subscribe_allow=["a.*"]).can_subscribe("a.>", model="broker")
    assert read(undetermined).caption == "not determined"
    change = read(old.diff(Permissions(publish_allow=["a.>"])))
    assert change.caption == "1 added, 0 removed"
    assert change.rows[1][0] == "+"
    assert read(old.diff(old)).caption == "no difference"


def test_an_index_is_shown_as_a_tree_and_a_large_one_as_its_size(trie):
    trie.add("orders.<b&.*", 1)
    html = trie._repr_html_()
    assert html.startswith("<pre>")
    assert "&lt;b&amp;" in html
    assert html.count("\n") == str(trie).count("\n")
    for number in range(MAX_TREE - 1):
        trie.add(f"a.{number}", number)
    assert trie._repr_html_().startswith("<pre>")
    trie.add("a.last", 1)
    assert ["subscriptions", str(MAX_TREE + 1)] in read(trie).rows


def test_columns_of_matches_and_of_addresses_say_what_they_hold(trie):
    trie.add("orders.*", HOSTILE)
    matches = trie.match_batch(["orders.new", "a..b", "orders.x", "stock"])
    assert repr(matches) == "<Matches of 4 rows: 2 matched, 2 values>"
    assert repr(trie.match_batch(["orders.new"])) == "<Matches of 1 row: 1 matched, 1 value>"
    assert matches[0] == (HOSTILE,) == matches[-2]
    assert list(matches) == [(HOSTILE,), (), (HOSTILE,), ()]
    with pytest.raises(IndexError):
        matches[4]
    shown = read(matches)
    assert shown.caption == repr(matches)
    assert shown.rows[2] == ["1", "()"]


def test_a_batch_of_addresses_says_what_it_holds(engine_in_use):
    batch = microbus.decode_batch([None, "p.safe.443.web_shop.orders_shop._.GET.orders.7", "x"])
    assert repr(batch) == "<Batch of 3 rows>"
    shown = read(batch)
    assert shown.rows[0][:2] == ["kind", "plane"]
    assert shown.rows[1] == [""] * 10
    assert "web.shop" in shown.rows[2]
    empty = microbus.decode_batch([])
    assert read(empty).caption == "<Batch of 0 rows>"


def test_nothing_that_is_shown_is_markup():
    text = table(HOSTILE, [HOSTILE], [[HOSTILE]])
    assert "<script" not in text
    assert "\x1b" not in text
    assert "\u202e" not in text
    assert Reader(text).tags <= TAGS


def test_a_long_table_is_cut_and_says_so():
    text = table("t", ["n"], ([n] for n in range(MAX_ROWS + 7)))
    assert text.count("<tr>") == MAX_ROWS + 1
    assert "… and 7 more" in text
    assert "more" not in table("t", ["n"], ([n] for n in range(MAX_ROWS)))
    assert "<p>… and 1,000 more</p>" in table("t", ["n"], [[None]] * (MAX_ROWS + 1000))
    assert table("t", (), [[None, 0]]) == (
        "<table><caption>t</caption><tbody><tr>"
        '<td style="text-align:left"></td><td style="text-align:left">0</td></tr></tbody></table>'
    )


def test_a_subject_is_shown_as_python_writes_it():
    assert repr(Pattern("a.*")) == "Pattern('a.*')"
