"""The audit of real systems with planted faults has these first, and nothing else."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest
from faulty_systems import ABSENT, DOWN, leaf

from subtrie._findings.finding import Finding
from subtrie.audit import Questions, audit
from subtrie.report._findings import all_findings


def above_a_note(logs: list[Path]) -> Iterator[Finding]:
    """Yield the findings that are warnings or errors, as they are printed."""
    with audit([str(each) for each in logs], questions=Questions()) as run:
        yield from (each for each in all_findings(run) if each.level != "note")


@pytest.fixture(scope="module")
def of_leaf(tmp_path_factory: pytest.TempPathFactory) -> list[Finding]:
    return list(above_a_note(leaf(tmp_path_factory.mktemp("leaf"))))


def test_three_faults_of_a_leaf_node_and_accounts_are_three_findings(of_leaf):
    """There were six: messages of the next run of the leaf node were among the lost ones."""
    assert [(each.rule, each.witness) for each in of_leaf] == [
        ("slow_consumers", "bill"), ("flows", "cmd.till"), ("flows", "stock.count"),
    ]  # fmt: skip
    assert [each.count for each in of_leaf[1:]] == [DOWN, ABSENT]


def test_what_a_slow_consumer_lost_is_part_of_its_finding(of_leaf):
    """They were two, and the one about its messages said that it had to reconnect sooner."""
    slow = of_leaf[0]
    assert slow.message == (
        "bill (client bill-slow) reads more slowly than the broker sends to it, and was cut off: "
        f"no client received {slow.count} messages to invoices.eu"
    )
    assert "handlers" in slow.instead


def test_a_leaf_node_that_was_down_is_named(of_leaf):
    """It was one of its clients that did not subscribe, or the leaf node, by chance."""
    assert "no client received it: the leaf node edge (cmd.till) was down from " in (
        of_leaf[1].message
    )
