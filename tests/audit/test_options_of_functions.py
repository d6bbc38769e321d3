"""Each option of a public function of Spark reaches what does the work, under its own name."""

from __future__ import annotations

import inspect
from datetime import UTC, datetime
from types import SimpleNamespace
from typing import Any

import pytest

import subtrie.audit
import subtrie.spark
from subtrie.acl import Permissions
from subtrie.audit import ANSWERS, TABLES, Questions, Selection
from subtrie.spark import _answer_functions, _pipeline, _table_functions

RULES = {"web.x": Permissions(publish_allow=["a"])}
DAY = datetime(2026, 11, 21, tzinfo=UTC)
#: What stands for a table of events, and for its session.
EVENTS = SimpleNamespace(sparkSession="session")


class Enough(Exception):
    """The function that does the work was called."""


@pytest.fixture
def asked(monkeypatch):
    """Let a function be called in place of the one that does the work; return what it is given."""

    def spy(module: Any, name: str) -> dict[str, Any]:
        found: dict[str, Any] = {}
        signature = inspect.signature(getattr(module, name))

        def called(*given: Any, **named: Any) -> None:
            found.clear()
            bound = signature.bind(*given, **named)
            bound.apply_defaults()
            found.update(bound.arguments)
            raise Enough

        monkeypatch.setattr(module, name, called)
        return found

    return spy


def keywords(function: Any) -> dict[str, Any]:
    """Return the names of the keyword options of a function, with their defaults."""
    parameters = inspect.signature(function).parameters.values()
    return {each.name: each.default for each in parameters if each.kind is each.KEYWORD_ONLY}


@pytest.mark.parametrize("name", sorted(TABLES.keys() - {*ANSWERS, "runs"}))
def test_a_table_of_the_planes_that_are_given(asked, name):
    found = asked(_table_functions, "_table")
    made = getattr(subtrie.spark, name)
    periods = ({}, {"window": 60}) if name == "call_graph" else ({},)
    for planes in ({}, {"planes": ["p"]}):
        for window in periods:
            with pytest.raises(Enough):
                made("events", **planes, **window)
            wanted = {"planes": (), "window": None, **planes, **window}
            assert found == {"events": "events", "name": name, **wanted}


#: What stands for services that were found in source code.
CODE = ("service",)
#: A function of answers, its options, and what is asked.
ASKED: list[tuple[str, dict[str, Any], dict[str, Any]]] = [
    ("permission_usage", {"rules": RULES}, {"rules": RULES}),
    ("violations", {}, {}),
    ("violations", {"rules": RULES}, {"rules": RULES}),
    ("synthesise", {}, {}),
    ("gap", {}, {}),
    ("gap", {"rules": RULES}, {"rules": RULES}),
    ("gap", {"code": ["service"]}, {"code": CODE}),
    ("gap", {"code": []}, {"code": ()}),
    ("flows", {}, {}),
    ("consumers", {}, {}),
    ("latency", {}, {}),
    *(("synthesise", option, option) for option in (
        {"rules": RULES}, {"min_days": 1}, {"min_sources": 5}, {"claimed_identities": True},
    )),
]  # fmt: skip


@pytest.mark.parametrize(("name", "given", "questions"), ASKED)
def test_an_answer_to_what_is_asked(asked, name, given, questions):
    found = asked(_answer_functions, "_answers")
    with pytest.raises(Enough):
        getattr(subtrie.spark, name)(EVENTS, **given)
    assert found == {"events": EVENTS, "questions": Questions(**questions), "window": None}


def test_the_usage_of_rules_by_period(asked):
    found = asked(_answer_functions, "_answers")
    with pytest.raises(Enough):
        subtrie.spark.permission_usage(EVENTS, RULES, window=60)
    assert found["window"] == 60


#: A value for each option of an audit; each is passed on as it is.
OPTIONS = {
    "planes": ("p",), "out": "out", "window": 60, "redact": ("id",), "redact_key": b"k" * 16,
    "split_bytes": 1000, "questions": Questions(min_days=1), "selection": Selection(since=DAY),
    "step": print,
}  # fmt: skip


def test_an_audit_without_a_session_is_the_one_of_this_process(asked):
    found = asked(_pipeline, "audit_here")
    defaults = keywords(subtrie.audit.audit)
    assert defaults.keys() - keywords(subtrie.spark.audit).keys() == {"memory", "progress"}
    assert keywords(subtrie.spark.audit).keys() == OPTIONS.keys()
    for given in ({}, *({name: value} for name, value in OPTIONS.items())):
        with pytest.raises(Enough):
            subtrie.spark.audit(None, ["a.log"], **given)
        step = found.pop("step") if "step" not in given else None
        assert step is None or step("reading lines", 1) is None
        wanted = {"logs": ["a.log"], **defaults, **given}
        assert found == {name: wanted[name] for name in found}
        assert found.keys() >= defaults.keys() - {"step"}


#: A value for each question that the class of an audit takes by itself.
QUESTIONS = {"subject": "a", "time": DAY, "min_days": 1, "min_sources": 1,
             "claimed_identities": True, "rules": RULES, "code": CODE}  # fmt: skip


def test_the_class_of_an_audit_takes_questions_and_options(asked):
    found = asked(_pipeline, "audit")
    options = {name: value for name, value in OPTIONS.items() if name != "questions"}
    defaults = keywords(subtrie.spark.audit)
    for name, value in {**QUESTIONS, **options}.items():
        subject = {"subject": "a"} if name == "time" else {}
        given = {name: value, **subject}
        with pytest.raises(Enough):
            subtrie.spark.Audit(events=EVENTS, **given)
        asks = given if name in QUESTIONS else {}
        wanted = defaults | {"questions": Questions(**asks)} | ({} if asks else given)
        assert found == {"spark": "session", "logs": EVENTS, **wanted}
