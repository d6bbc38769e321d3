"""The table of requirements is true: no row of the core is without a test."""

from __future__ import annotations

import re

import pytest

import coverage_table


@pytest.fixture(scope="module")
def renewed() -> list[dict[str, str]]:
    return coverage_table.renewed()


def test_M_01_the_committed_table_is_up_to_date(renewed):
    committed = coverage_table.TABLE.read_text(encoding="utf-8")
    is_up_to_date = coverage_table.as_csv(renewed) == committed  # the whole table is no message
    assert is_up_to_date, "run: make coverage-table"


# Of seed 002: the rules of subjects, patterns and the characters in them.
SUBJECT_ROWS = {"S2-002", "S2-007", "S2-008", "S2-009", "S2-011", "S2-023", "S2-024", "S2-030"}


def test_M_01_every_core_row_of_subjects_and_addresses_has_a_test(renewed):
    required = {
        row["id"]: row["evidence"]
        for row in renewed
        if (row["area"] == "core" and row["id"][:2] in ("S0", "S1")) or row["id"] in SUBJECT_ROWS
    }
    assert len(required) == 120
    untested = [name for name, evidence in required.items() if "::" not in evidence]
    assert not untested


def test_every_id_of_the_table_is_well_formed_and_there_once(renewed):
    ids = [row["id"] for row in renewed]
    assert len(ids) == len(set(ids)) == 463
    assert all(re.fullmatch(r"S[0-4]-\d{3}|[MP]-\d{2}", name) for name in ids)


@pytest.mark.parametrize(
    ("name", "ids"),
    [
        ("test_S0_041_spoofed", {"S0-041"}),
        ("test_refused[native-S1-014]", {"S1-014"}),
        ("s0_080_s0_081_walk", {"S0-080", "S0-081"}),
        ("test_S0_0411", set()),
        ("test_numbers_12", set()),
    ],
)
def test_a_name_carries_ids(name, ids):
    assert coverage_table.named_in(name) == ids


def test_every_decision_of_the_page_names_tests_that_carry_its_number(renewed):
    page = (coverage_table.ROOT / "docs" / "decisions.md").read_text(encoding="utf-8")
    rows = re.findall(r"^\| (A\d+a?) \|.*\| ([^|]+) \|$", page, re.MULTILINE)
    assert len(rows) == 62
    collected = coverage_table.python_tests()
    for number, tests in rows:
        named = re.findall(r"`([^`]+)`", tests)
        assert named or tests == "not yet", number
        carried = [
            test
            for test in collected
            if re.search(rf"(?<![A-Za-z0-9]){number}(?![A-Za-z0-9])", test.partition("::")[2])
        ]
        for name in named:
            file, _, function = name.partition("::")
            place = f"tests/{file}.py::{function}"
            assert any(test.partition("[")[0] == place for test in carried), (number, name)
