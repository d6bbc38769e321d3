"""The table of requirements is true, and no area loses evidence."""

from __future__ import annotations

import re

import pytest

import coverage_table

#: The rows of each area that have no evidence yet. A row leaves this list when it gets a test.
WITHOUT_EVIDENCE = {
    "acl": set(),
    "connector": set(),
    "core": set(),
    "pipeline": set(),
    "protocol": set(),
}  # fmt: skip

#: How many rows of each area rest on tests alone that may be skipped. This may shrink.
MAY_BE_SKIPPED = {"acl": 0, "connector": 1, "core": 0, "pipeline": 0, "protocol": 0}


@pytest.fixture(scope="module")
def renewed() -> list[dict[str, str]]:
    return coverage_table.renewed()


def test_the_committed_table_is_up_to_date(renewed):
    committed = coverage_table.TABLE.read_text(encoding="utf-8")
    is_up_to_date = (
        coverage_table.as_csv(renewed) == committed
    )  # not compared in the assert: the message would hold both tables
    assert is_up_to_date, "run: make coverage-table"


def test_every_decision_of_the_page_has_a_test():
    numbers = coverage_table.decisions()
    assert len(numbers) == len(set(numbers)) == 82
    assert [each for each in numbers if each not in coverage_table.evidence()] == []


@pytest.mark.parametrize("area", WITHOUT_EVIDENCE)
def test_the_rows_without_evidence_are_the_known_ones(renewed, area):
    without = {
        row["id"]
        for row in renewed
        if row["area"] == area and row["evidence"] == coverage_table.NOT_YET
    }
    assert without == WITHOUT_EVIDENCE[area]


@pytest.mark.parametrize("area", MAY_BE_SKIPPED)
def test_no_more_rows_rest_on_tests_that_may_be_skipped(renewed, area):
    skipped = [
        row["id"]
        for row in renewed
        if row["area"] == area and row["evidence"].endswith(coverage_table.MAY_BE_SKIPPED)
    ]
    assert len(skipped) <= MAY_BE_SKIPPED[area]


def test_every_row_is_of_a_guarded_area(renewed):
    assert {row["area"] for row in renewed} == set(WITHOUT_EVIDENCE) == set(MAY_BE_SKIPPED)


def test_every_id_of_the_table_is_well_formed_and_there_once(renewed):
    ids = [row["id"] for row in renewed]
    assert len(ids) == len(set(ids)) == 468
    assert all(re.fullmatch(r"S[0-4]-\d{3}|[MP]-\d{2}", name) for name in ids)


def test_no_statement_has_changed(renewed):
    """A change to the words of a statement is a change to its digest, too."""
    changed = {
        row["id"]: coverage_table.digest(row)
        for row in renewed
        if row["digest"] != coverage_table.digest(row)
    }
    assert not changed, "these statements are not those of their digests"


def test_each_row_names_the_lines_that_it_is_from(renewed):
    for row in renewed:
        document, _, lines = row["source"].partition(":")
        assert document == (f"00{row['id'][1]}" if row["id"].startswith("S") else "card")
        if lines:
            first, last = map(int, lines.split("-"))
            assert 1 <= first <= last <= 252


def test_no_test_of_the_table_is_evidence(renewed):
    assert not [row for row in renewed if "test_requirements.py" in row["evidence"]]


_ID = r"(?<![A-Za-z0-9])(s[0-4]_\d{3}|[mp]_\d{2}|[at]\d{1,2}a?)(?![A-Za-z0-9])"


def test_no_name_of_a_test_carries_an_id():
    in_name = re.compile(_ID, re.IGNORECASE)
    names = [
        f"{file.relative_to(coverage_table.TESTS)}: {name}"
        for file in coverage_table.TESTS.rglob("test_*.py")
        for name in re.findall(r"\bdef (test_\w+)", file.read_text(encoding="utf-8"))
    ]
    assert len(names) > 3_000
    assert not [name for name in names if in_name.search(name)]
    rust = re.compile(rf"\bfn \w*{_ID}")
    assert not [
        file
        for file in coverage_table.rust_files()
        if rust.search(file.read_text(encoding="utf-8"))
    ]


@pytest.mark.parametrize(
    ("source", "carried"),
    [
        pytest.param(
            "// requirement: S0-080, A17\n#[test]\nfn walks() {}\n",
            {"walks": {"S0-080", "A17"}},
            id="comment",
        ),
        pytest.param(
            "    // requirement: A45a\n    /// Text.\n    #[test]\n    fn levels() {}\n",
            {"levels": {"A45a"}},
            id="comment-above-documentation",
        ),
        pytest.param("#[test]\nfn walks() {}\n", {}, id="no-requirement"),
        pytest.param("// requirement: S0-080\n\nfn far() {}\n", {}, id="comment-of-another-thing"),
    ],
)
def test_a_rust_test_carries_requirements(source, carried):
    assert coverage_table.carried_in_rust(source) == carried


def test_a_test_that_may_be_skipped_is_recognised():
    skips = {str(each["test"]): each["may_skip"] for each in coverage_table.python_tests()}
    assert skips["tests/wire/test_streaming_live.py::test_all_traffic_of_a_live_server_decodes"]
    assert skips["tests/connector/test_loops.py::test_a_child_has_connections_of_its_own"]
    assert not skips[
        "tests/repository/test_requirements.py::test_a_test_that_may_be_skipped_is_recognised"
    ]
