"""Matches of a subject, with queue groups, on both engines."""

from __future__ import annotations

import json
import pathlib

import pytest

import subtrie
from subtrie import Groups


def ids(found):
    return [subscription.id for subscription in found]


@pytest.mark.requirement("M-05")
@pytest.mark.parametrize(
    ("pattern", "subject", "heard"),
    [
        pytest.param(
            "a.*.c",
            "a.b.c",
            True,
            id="star-matches-one-token",
            marks=pytest.mark.requirement("S0-080"),
        ),
        pytest.param(
            "a.*.c",
            "a.b.b.c",
            False,
            id="star-does-not-match-two-tokens",
            marks=pytest.mark.requirement("S0-080"),
        ),
        pytest.param(
            "a.>",
            "a.b.c.d",
            True,
            id="tail-matches-three-tokens",
            marks=pytest.mark.requirement("S0-081"),
        ),
        pytest.param(
            "a.>", "b.b", False, id="tail-needs-its-start", marks=pytest.mark.requirement("S0-081")
        ),
        pytest.param(">", "a", True, id="tail-alone", marks=pytest.mark.requirement("S1-029")),
        pytest.param("*", "a", True, id="star-alone", marks=pytest.mark.requirement("S1-030")),
        pytest.param("*.a", "b.a", True, id="star-first", marks=pytest.mark.requirement("S1-036")),
        pytest.param("a.*", "a.b", True, id="star-last", marks=pytest.mark.requirement("S1-036")),
        pytest.param(
            "a.*", "a", False, id="star-needs-a-token", marks=pytest.mark.requirement("S1-036")
        ),
        pytest.param(
            "foo.>",
            "foo.bar",
            True,
            id="tail-matches-one-token",
            marks=pytest.mark.requirement("S1-038"),
        ),
        pytest.param(
            "foo.>",
            "foo.bar.baz.1",
            True,
            id="tail-matches-a-number-too",
            marks=pytest.mark.requirement("S1-037", "S1-039"),
        ),
        pytest.param(
            "foo.>", "foo", False, id="tail-needs-a-token", marks=pytest.mark.requirement("S1-040")
        ),
        pytest.param(
            "foo.bar", "foo.bar", True, id="literal", marks=pytest.mark.requirement("S0-128")
        ),
        pytest.param(
            "foo.bar", "foo.Bar", False, id="case", marks=pytest.mark.requirement("S0-128")
        ),
        pytest.param("foo", "foo.bar", False, id="longer", marks=pytest.mark.requirement("S0-128")),
        pytest.param(
            "foo.bar", "foo", False, id="shorter", marks=pytest.mark.requirement("S0-128")
        ),
    ],
)
def test_which_subjects_a_pattern_matches(trie, pattern, subject, heard):
    subscription = trie.add(pattern, "v")
    assert trie.match(subject) == (("v",) if heard else ())
    assert trie(subject) == trie.match(subject)
    assert trie.subscriptions(subject) == ((subscription,) if heard else ())
    assert trie.has_interest(subject) is heard
    assert trie.count(subject) == heard


@pytest.mark.requirement("S1-047", "S1-048")
def test_two_patterns(trie):
    trie.add("foo.*.quux", "star")
    trie.add("foo.>", "tail")
    assert trie.match("foo.bar.quux") == ("star", "tail")
    assert trie.match("foo.bar.baz") == ("tail",)


@pytest.mark.parametrize("before", range(60, 67))
def test_patterns_that_differ_after_some_sixty_tokens(engine, before):
    trie, stars, start = engine.SubjectTrie(max_tokens=70), "*." * before, "a." * before
    names = [f"name{number}" for number in range(200)]
    for name in names:
        trie.add(f"{stars}{name}", name)
        trie.add(f"{stars}{name}.z", f"{name}.z")
    for name in names:
        assert trie.match(f"{start}{name}") == (name,)
        assert trie.match(f"{start}{name}.z") == (f"{name}.z",)
    assert trie.match(f"{start}name") == ()
    assert trie.match(start + "name0.y") == ()


def test_order_is_that_of_insertion(trie):
    patterns = ["a.>", "a.b", ">", "*.b", "a.*", "a.b", "*.*", "*.>"]
    for number, pattern in enumerate(patterns):
        assert trie.add(pattern, number, queue="q" if number % 3 == 0 else None).id == number
    assert trie.match("a.b") == tuple(range(len(patterns)))
    assert ids(trie) == list(range(len(patterns)))


def test_ids_are_never_reused(trie):
    first = trie.add("a", 1)
    assert trie.remove(first)
    trie.clear()
    assert trie.add("a", 2).id == 1
    with pytest.raises(subtrie.PatternError):
        trie.add("a..b", 3)
    assert trie.add("a", 4).id == 2


def test_same_value_twice_is_two_subscriptions(trie):
    value = object()
    trie.add("a", value)
    trie.add("*", value)
    assert trie.match("a") == (value, value)


@pytest.mark.requirement("A18")
def test_one_group_a_name_over_all_patterns(trie):
    trie.add("a.b", "plain")
    trie.add("a.*", "w1", queue="w")
    trie.add("a.b", "x1", queue="x")
    trie.add("a.>", "w2", queue="w")
    groups = trie.groups("a.b")
    assert isinstance(groups, Groups)
    assert groups.plain == ("plain",)
    assert list(groups.queues.items()) == [("w", ("w1", "w2")), ("x", ("x1",))]
    assert trie.match("a.b") == ("plain", "w1", "x1", "w2")
    assert trie.groups("b") == Groups((), {})


@pytest.mark.requirement("A18")
def test_groups_stand_in_order_of_their_oldest_member(trie):
    for number, name in enumerate("zyxzyx"):
        trie.add("a", number, queue=name)
    gone = trie.add("a", 6, queue="w")
    trie.remove(gone)
    assert list(trie.groups("a").queues) == ["z", "y", "x"]


@pytest.mark.requirement("A19")
def test_select_rotates_members_and_lookups_do_not(trie):
    for number in range(3):
        trie.add("a.b", number, queue="q")
    trie.add("a.b", "plain")
    seen = []
    for _ in range(7):
        trie.match("a.b"), trie.groups("a.b"), trie.has_interest("a.b"), trie.explain("a.b")
        seen.append(trie.select("a.b"))
    assert seen == [(n % 3, "plain") for n in range(7)]


@pytest.mark.requirement("A19")
def test_the_turn_is_counted_by_the_oldest_member_that_matches(trie):
    trie.add("a.*", "first", queue="q")
    trie.add("*.b", "second", queue="q")
    trie.add("*.b", "third", queue="q")
    assert trie.select("x.b") == ("second",)  # counted by the second
    assert trie.select("a.b") == ("first",)  # counted by the first
    assert trie.select("x.b") == ("third",)
    assert trie.select("a.b") == ("second",)
    assert trie.select("a.b") == ("third",)
    assert trie.select("a.x") == ("first",)  # 3 % 1
    assert trie.select("a.b") == ("second",)  # 4 % 3


@pytest.mark.requirement("A19")
def test_the_turn_of_a_member_is_kept_when_another_subscription_goes(trie):
    first = trie.add("x", "x")
    trie.add("g", "a", queue="q")
    assert trie.select("g") == ("a",)
    trie.remove(first)
    trie.add("g", "b", queue="q")
    assert [trie.select("g") for _ in range(3)] == [("b",), ("a",), ("b",)]


def test_groups_are_in_the_order_of_their_oldest_members_that_match(trie):
    trie.add("elsewhere", 0, queue="b")
    for value, queue in ((1, "a"), (2, "b"), (3, "a")):
        trie.add("g", value, queue=queue)
    assert list(trie.groups("g").queues.items()) == [("a", (1, 3)), ("b", (2,))]


@pytest.mark.requirement("A19")
def test_a_selection_is_in_order_of_insertion(trie):
    trie.add("a", "q0", queue="q")
    trie.add("a", "plain")
    trie.add("a", "q1", queue="q")
    assert [trie.select("a") for _ in range(2)] == [("q0", "plain"), ("plain", "q1")]


@pytest.mark.requirement("A39")
@pytest.mark.parametrize(
    "name", ["workers", "a.b", "v1.*x", "a..b", ".", "é", "_", "\x00", "a" * 5000]
)
def test_queue_names(trie, name):
    assert trie.add("a", 1, queue=name).queue == name
    assert trie.groups("a").queues == {name: (1,)}


@pytest.mark.requirement("A39")
@pytest.mark.parametrize(
    ("name", "reason", "position"),
    [
        ("", "queue-empty", 0),
        ("a b", "queue-whitespace", 1),
        ("é\t", "queue-whitespace", 2),
        ("a\r", "queue-whitespace", 1),
        ("a\n", "queue-whitespace", 1),
        ("a\x0b", "queue-whitespace", 1),
        ("a.b\x0c", "queue-whitespace", 3),
        ("*", "queue-wildcard", 0),
        ("é.>.x", "queue-wildcard", 3),
        ("*. ", "queue-wildcard", 0),
        ("é\ud800 ", "surrogate", 2),
    ],
)
def test_queue_names_refused_in_the_strict_dialect(trie, name, reason, position):
    with pytest.raises(subtrie.InvalidName) as caught:
        trie.add("a", 1, queue=name)
    error = caught.value
    assert (error.reason, error.position, error.field) == (reason, position, "queue")
    assert len(trie) == 0
    assert trie.stats().nodes == 0


@pytest.mark.requirement("A39")
@pytest.mark.parametrize(
    "name", ["q.*", "*", ">", ">.q", "q*", "a..b", "é", "\x0b", "a\x0cb", "\x00"]
)
def test_the_server_dialect_takes_every_queue_name_the_broker_takes(engine, name):
    trie = engine.SubjectTrie(dialect="server")
    assert trie.add("a", 1, queue=name).queue == name
    assert trie.groups("a").queues == {name: (1,)}
    # The name passes every other way into an index too.
    assert engine.SubjectTrie.from_bytes(trie.to_bytes()).groups("a").queues == {name: (0,)}
    assert trie.copy().update([("a", 2, name)])[0].queue == name


@pytest.mark.requirement("A39")
@pytest.mark.parametrize(
    ("name", "reason", "position"),
    [
        ("", "queue-empty", 0),
        ("a b", "queue-whitespace", 1),
        ("*. ", "queue-whitespace", 2),
        ("é\t", "queue-whitespace", 2),
        ("a\r", "queue-whitespace", 1),
        ("a\n", "queue-whitespace", 1),
        ("é\ud800 ", "surrogate", 2),
    ],
)
def test_queue_names_refused_in_the_server_dialect(engine, name, reason, position):
    trie = engine.SubjectTrie(dialect="server")
    with pytest.raises(subtrie.InvalidName) as caught:
        trie.add("a", 1, queue=name)
    error = caught.value
    assert (error.reason, error.position, error.field) == (reason, position, "queue")
    assert len(trie) == 0


@pytest.mark.requirement("A39")
def test_an_image_keeps_to_the_queue_names_of_its_dialect(engine):
    trie = engine.SubjectTrie(dialect="server")
    trie.add("a", 1, queue="q.*")
    strict = engine.SubjectTrie()
    strict.add("a", 1, queue="q.x")
    image = strict.to_bytes()
    damaged = image.replace(b"q.x", b"q.*")
    assert damaged != image
    with pytest.raises(subtrie.SubtrieError) as caught:
        list(engine.SubjectTrie.from_bytes(damaged, verify=False))
    assert caught.value.reason == "image-damaged"


# The broker's index looks up anything; ours looks up subjects (A17, S1-014, S1-026).
_NO_SUBJECT = {"*": "wildcard", "foo.*": "wildcard", "": "empty"} | dict.fromkeys(
    ["..foo", "foo..", "foo...bar"], "empty-token"
)


def _broker_rows():
    path = pathlib.Path(__file__).parents[1] / "vectors" / "nats_match.jsonl"
    for line in path.read_text().splitlines():
        row = json.loads(line)
        if row["kind"] == "match":
            yield pytest.param(row, id=row["id"])


@pytest.mark.requirement("M-05")
@pytest.mark.parametrize("row", list(_broker_rows()))
def test_matches_agree_with_the_broker(engine, row):
    trie = engine.SubjectTrie(dialect="server")
    for number, pattern in enumerate(row["patterns"]):
        if isinstance(pattern, dict):
            trie.add(pattern["s"], number, queue=pattern["q"])
        else:
            trie.add(pattern, number)
    if row["subject"] in _NO_SUBJECT:
        with pytest.raises(subtrie.SubjectError) as caught:
            trie.groups(row["subject"])
        assert caught.value.reason == _NO_SUBJECT[row["subject"]]
        return
    groups = trie.groups(row["subject"])
    assert list(groups.plain) == sorted(row["expect"]["plain"])
    assert {name: list(group) for name, group in groups.queues.items()} == {
        name: sorted(group) for name, group in row["expect"]["queues"].items()
    }
