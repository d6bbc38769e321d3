"""The public functions of Spark that answer a question: the rows of an audit that is asked it."""

from __future__ import annotations

import pytest

import subtrie.spark
from subtrie.audit import Questions, audit
from subtrie.audit._answers.questions import load_code, load_rules
from subtrie.spark import _answer_functions
from synthetic_traffic import write_traffic


def test_each_answer_about_events_is_that_of_the_audit(spark, tmp_path, monkeypatch) -> None:
    """The events are read once: what each function asks is in ``test_options_of_functions``."""
    world = tmp_path / "world"
    write_traffic(world, seed=305, rows=600, days=2, answers=True, events=True)
    rules, code = load_rules(sorted((world / "rules").iterdir())), load_code([world / "code"])
    log = [str(world / "trace.log")]
    with audit(log) as known:
        subject = next(iter(known.rows("hot_subjects")))["subject"]
        time = max(row["first"] for row in known.rows("call_graph"))
    questions = Questions(
        rules=rules, code=code, subject=subject, time=time, min_days=1, min_sources=1,
        claimed_identities=True,
    )  # fmt: skip
    events = spark.read.parquet(str(world / "events.parquet")).coalesce(1)
    answers = _answer_functions._answers(events, questions, 600)
    monkeypatch.setattr(_answer_functions, "_answers", lambda *_: answers)
    with audit(log, questions=questions, window=600) as asked:
        subscriptions = spark.read.parquet(asked.path("subscriptions")).coalesce(1)
        proposal, thin = subtrie.spark.synthesise(events, rules)
        found = {
            "permission_usage": subtrie.spark.permission_usage(events, rules, window=600),
            "violations": subtrie.spark.violations(events, rules),
            "proposal": proposal,
            "too_thin": thin,
            "gap": subtrie.spark.gap(events, rules=rules, code=code),
            "flows": subtrie.spark.flows(events),
            "latency": subtrie.spark.latency(events),
            "at": subtrie.spark.at(subscriptions, subject, time),
            "history": subtrie.spark.history(subscriptions, subject),
        }
        for name, rows in found.items():
            expected = list(asked.rows(name))
            assert rows.toArrow().to_pylist() == expected, name
            assert expected, name
    with pytest.raises(ValueError, match="the time has no time zone"):
        subtrie.spark.at(subscriptions, subject, time.replace(tzinfo=None))
