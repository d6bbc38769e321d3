"""Bad inputs: each public function holds to its class, reason, position and field, or its answer.

``bad_inputs.jsonl`` is the promise, line by line; ``bad_inputs.py`` makes its questions.
"""

from __future__ import annotations

import json
import time
from collections import defaultdict
from functools import partial
from pathlib import Path
from typing import Any

import pytest

import bad_inputs
import counted_work
import subtrie
from subtrie import SubtrieError
from subtrie._core.dispatcher import Dispatcher

TABLE = Path(__file__).parents[1] / "bad_inputs.jsonl"

#: CPU time of a call, at most, on a slow machine and a debug build: native code gives no events to
#: count. The longest text has 1 MiB.
SECONDS = 5.0


def _rows() -> dict[str, list[dict[str, Any]]]:
    rows = defaultdict(list)
    for line in TABLE.read_text(encoding="utf-8").splitlines():
        row = json.loads(line)
        rows[row["call"]].append(row)
    return dict(rows)


ROWS = _rows()


def _arguments(row: dict[str, Any]) -> dict[str, Any]:
    return {name: bad_inputs.read(value) for name, value in row["with"].items()}


def _said(row: dict[str, Any]) -> dict[str, Any]:
    return {key: value for key, value in row.items() if key not in ("call", "with")}


def test_the_table_has_every_question():
    asked = [(row["call"], row["with"]) for rows in ROWS.values() for row in rows]
    wanted = [
        (name, {key: bad_inputs.written(value) for key, value in arguments.items()})
        for name, arguments in bad_inputs.questions()
    ]
    assert len(asked) > 2500
    assert asked == wanted


@pytest.mark.requirement("M-09")
@pytest.mark.parametrize("call", list(ROWS))
def test_both_engines_refuse_every_bad_input_with_the_same_error(engine, call):
    wrong = []
    for row in ROWS[call]:
        began = time.thread_time()
        answer = bad_inputs.answer(engine, call, _arguments(row))
        if time.thread_time() - began > SECONDS:
            wrong.append((row["with"], "too slow"))
        if answer != _said(row):
            wrong.append((row["with"], answer, _said(row)))
    assert not wrong, wrong[:5]


def test_every_refusal_says_what_would_work():
    reasons = {row["reason"] for rows in ROWS.values() for row in rows if "reason" in row}
    assert len(reasons) > 30
    for reason in reasons:
        rule = subtrie._core.errors.REASONS[reason]
        assert rule.sentence
        assert rule.hint
        assert "\n" not in rule.sentence + rule.hint


def test_a_message_is_one_short_line_whatever_was_refused(engine):
    for text in bad_inputs.TEXTS:
        for check in (engine.check_subject, engine.check_identity_host, engine.decode):
            try:
                check(text)
            except SubtrieError as error:
                message = str(error)
            except TypeError as error:
                message = str(error)
            else:
                continue
            assert message.isascii() or "…" in message, message
            assert message.replace("…", "").isprintable()
            assert len(message) < 500


def _raised(call: Any, *arguments: Any) -> tuple[Any, ...]:
    try:
        call(*arguments)
    except SubtrieError as error:
        return type(error).__name__, error.reason, error.position, error.status
    except TypeError:
        return ("TypeError",)
    return ("fine",)


def _promised(row: dict[str, Any]) -> tuple[Any, ...]:
    if "error" not in row:
        return ("fine",)
    if row["error"] == "TypeError":
        return ("TypeError",)
    return row["error"], row["reason"], row["position"], row["status"]


SUBJECT_QUESTIONS = (
    "match", "__call__", "subscriptions", "groups", "select", "has_interest", "count", "explain",
)  # fmt: skip


@pytest.mark.requirement("A17")
@pytest.mark.parametrize("dialect", ["strict", "server"])
def test_the_index_refuses_the_subjects_that_the_grammar_refuses(engine, dialect):
    trie = engine.SubjectTrie(dialect=dialect)
    trie.add("a.>", 0)
    for row in ROWS["check_subject"]:
        arguments = _arguments(row)
        if arguments["dialect"] != dialect:
            continue
        for question in SUBJECT_QUESTIONS:
            raised = _raised(getattr(trie, question), arguments["text"])
            assert raised == _promised(row), (question, row["with"])


@pytest.mark.parametrize("dialect", ["strict", "server"])
def test_the_index_refuses_the_patterns_that_the_grammar_refuses(engine, dialect):
    for row in ROWS["check_pattern"]:
        arguments = _arguments(row)
        if arguments["dialect"] != dialect:
            continue
        text = arguments["text"]
        trie = engine.SubjectTrie(dialect=dialect)
        promised = _promised(row)
        for call in (
            trie.matching,
            trie.covered_by,
            lambda text, trie=trie: trie.add(text, 0),
            lambda text, trie=trie: trie.update([("b", 1), (text, 0)]),
        ):
            before = len(trie)
            assert _raised(call, text) == promised, row["with"]
            if promised != ("fine",):  # all or nothing
                assert len(trie) == before


def test_the_dispatcher_refuses_what_the_index_refuses(engine_in_use):
    dispatcher = Dispatcher()
    for row in ROWS["check_pattern"]:
        arguments = _arguments(row)
        if arguments["dialect"] == "strict":
            raised = _raised(dispatcher.subscribe, arguments["text"], print)
            assert raised == _promised(row), row["with"]
    dispatcher.clear()
    for row in ROWS["check_subject"]:
        arguments = _arguments(row)
        if arguments["dialect"] == "strict":
            for call in (dispatcher.handlers, lambda text: dispatcher.dispatch(text, None)):
                assert _raised(call, arguments["text"]) == _promised(row), row["with"]
    for row in ROWS["SubjectTrie.add"]:
        arguments = _arguments(row)
        raised = _raised(
            lambda queue: dispatcher.subscribe("a", print, queue=queue), arguments["queue"]
        )
        assert raised == _promised(row), row["with"]


def test_the_classes_refuse_what_the_engine_refuses(engine_in_use):
    fine = subtrie.Pattern("a.*")
    for call, wrapped, relation in (
        ("check_subject", subtrie.Subject, fine.matches),
        ("check_pattern", subtrie.Pattern, fine.covers),
        ("check_pattern", subtrie.Pattern, fine.overlaps),
    ):
        for row in ROWS[call]:
            arguments = _arguments(row)
            text, dialect = arguments["text"], arguments["dialect"]
            raised = _raised(partial(wrapped, dialect=dialect), text)
            assert raised == _promised(row), row["with"]
            if dialect == "strict":
                assert _raised(relation, text) == _promised(row), row["with"]


@pytest.mark.parametrize("dialect", ["", "Strict", "adr6", "\ud800", None, 7])
def test_an_unknown_dialect_is_refused(engine, dialect):
    for call in (
        lambda: engine.check_subject("a", dialect),
        lambda: engine.check_pattern("a", dialect),
        lambda: engine.SubjectTrie(dialect=dialect),
    ):
        with pytest.raises((ValueError, TypeError)) as caught:
            call()
        assert not isinstance(caught.value, SubtrieError)


@pytest.mark.requirement("T7")
def test_a_published_wildcard_is_refused_and_a_plain_subject_is_matched_quickly(engine):
    """40 '*' tokens published at 40 '*' subscribed: the naive walk takes two ways at each."""
    trie = engine.SubjectTrie()
    for depth in range(1, 41):
        trie.add(".".join(["*"] * depth), depth)
        trie.add(".".join(["a"] * depth), depth)
    stars = ".".join(["*"] * 40)
    assert _raised(trie.match, stars)[:2] == ("SubjectError", "wildcard")
    calls, found = counted_work.calls(lambda: trie.match(stars.replace("*", "a")))
    assert found == (40, 40)
    assert calls <= 16 * 40  # the native engine: tests/core/trie_hostile.rs


@pytest.mark.requirement("T7")
def test_every_mixture_of_a_and_star_to_depth_ten(engine):
    """2,046 patterns that all match: the walk visits each node once, and no more."""
    trie = engine.SubjectTrie()
    rows = [
        (".".join("a*"[n >> bit & 1] for bit in range(depth)), (depth, n))
        for depth in range(1, 11)
        for n in range(2**depth)
    ]
    trie.update(rows)
    assert trie.count(".".join("a" * 10)) == 1024
    assert trie.count("a") == 2
    assert len(trie.matching(">")) == 2046


@pytest.mark.requirement("T8")
def test_a_subject_of_65400_dots_is_refused_at_once(engine):
    dots = "." * 65_400
    for check in (engine.check_subject, engine.check_pattern, engine.decode):
        calls, raised = counted_work.calls(lambda check=check: _raised(check, dots))
        assert raised[1] == "too-long"
        assert calls < 200


@pytest.mark.requirement("T8")
def test_deep_subjects_do_not_exhaust_the_stack(engine):
    """With limits raised, 30,000 tokens are matched, drawn, counted and removed."""
    trie = engine.SubjectTrie(max_tokens=100_000, max_length=1_000_000)
    deep = ".".join("a" * 30_000)
    plain = trie.add(deep, "deep")
    tail = trie.add(f"{deep}.>", "tail")
    assert trie.match(deep) == ("deep",)
    assert trie.match(f"{deep}.b") == ("tail",)
    assert len(trie.matching(">")) == 2
    assert len(trie.covered_by("a.>")) == 2
    assert str(trie)
    assert trie.stats().depth >= 30_000
    assert len(trie.copy()) == 2
    assert trie.remove(plain)
    assert trie.remove(tail)
    assert trie.stats().nodes == 0


@pytest.mark.requirement("T10")
def test_many_tokens_under_one_node_and_none_is_left(engine):
    trie = engine.SubjectTrie()
    added = trie.update([(f"a.t{n}", n) for n in range(50_000)])
    assert trie.match("a.t49999") == (49_999,)
    assert trie.count("a.x") == 0
    for subscription in added:
        trie.remove(subscription)
    assert (len(trie), trie.stats().nodes) == (0, 0)


@pytest.mark.requirement("T9")
def test_tokens_that_collide_in_a_known_hash(engine):
    """Collisions in Java's hash: 'Aa' and 'BB' have the same hash, and so do strings of them."""
    tokens = ["".join(("Aa", "BB")[n >> bit & 1] for bit in range(12)) for n in range(4096)]
    trie = engine.SubjectTrie()
    trie.update([(f"a.{token}", token) for token in tokens])
    assert all(trie.match(f"a.{token}") == (token,) for token in tokens[::16])


@pytest.mark.parametrize("name", ["max_tokens", "max_length"])
@pytest.mark.parametrize(
    ("given", "kind"),
    [(0, ValueError), (-1, ValueError), (1.5, TypeError), ("3", TypeError), (b"", TypeError)],
)
def test_invalid_limits_are_refused(engine, name, given, kind):
    for call in (
        lambda: engine.check_subject("a", **{name: given}),
        lambda: engine.check_pattern("a", **{name: given}),
        lambda: engine.SubjectTrie(**{name: given}),
    ):
        with pytest.raises(kind) as caught:
            call()
        assert not isinstance(caught.value, SubtrieError)


def test_a_limit_of_more_than_64_bits_is_unlimited(engine):
    engine.check_subject(".".join("a" * 500), max_tokens=2**70)
    engine.check_subject("a" * 5000, max_length=2**70)


def test_cut_slot_gives_plain_text_whatever_class_it_was_given(engine):
    host, slot = engine.cut_slot(subtrie.Subject("a.b"))
    assert (type(host), type(slot)) == (str, str)


def test_whole_columns_give_the_reasons_of_single_texts(engine):
    """``decode_batch`` says why a row is not an address; ``match_batch`` gives it no match."""
    rows = [row for row in ROWS["decode"] if isinstance(_arguments(row)["subject"], str)]
    texts = [_arguments(row)["subject"] for row in rows]
    batch = engine.decode_batch(texts)
    assert len(batch) == len(texts) > 130
    for index, row in enumerate(rows):
        assert batch[index]["reason"] == row.get("reason"), row["with"]

    trie = engine.SubjectTrie()
    trie.add("p.safe.>", 0)
    matches = trie.match_batch(texts)
    for index, text in enumerate(texts):
        valid = _raised(trie.match, text) == ("fine",)
        assert matches.values(index) == (trie.match(text) if valid else ()), text
