"""Expectations about the tables of an audit: data that can fail."""

from __future__ import annotations

import json
import re
from pathlib import Path
from types import SimpleNamespace

import pyarrow as pa
import pytest
from trace_writer import Trace

from subtrie.audit._results.expectations import BUILTIN, failures, read_expectations
from subtrie.audit._schema import TABLE_KEYS
from subtrie.spark import Audit, audit

SUBJECT = "p1.safe.443.a_com.b_com._.GET."


@pytest.fixture
def mixed(tmp_path: Path) -> Path:
    """Return a log with a route, an undelivered subject, a malformed one, and a line of junk."""
    trace = Trace()
    trace.subscribe(1, f"{SUBJECT.replace('a_com', '*')}x", "1")
    trace.publish(2, f"{SUBJECT}x")
    trace.deliver(1, f"{SUBJECT}x", "1")
    for subject in (f"{SUBJECT}y", SUBJECT.replace("a_com", "A_com") + "x"):
        trace.publish(2, subject)
    path = tmp_path / "mixed.log"
    path.write_text(trace.text() + "junk\n")
    return path


def test_the_builtin_expectations_are_satisfied(run, mixed, captures) -> None:
    for log in (mixed, captures / "go_live" / "trace.log"):
        done = run(log, "--expect", "builtin", "--json")
        assert done.exit_code == 0, done.output
        assert json.loads(done.stdout)["expectations"] == []


def test_each_of_several_expectations_is_checked(run, mixed, tmp_path) -> None:
    (tmp_path / "own.toml").write_text('[[expect]]\nempty = "malformed"\n')
    for order in ((tmp_path / "own.toml", "builtin"), ("builtin", tmp_path / "own.toml")):
        done = run(mixed, *(word for each in order for word in ("--expect", str(each))), "--json")
        assert done.exit_code == 1, done.output
        assert [each["found"] for each in json.loads(done.stdout)["expectations"]] == ["1 rows"]


TOML = """
[[expect]]
name = "nothing is malformed"
empty = "malformed"

[[expect]]
name = "few are undelivered"
sum = ["undelivered.count", "-replies.undelivered"]
at_most = [1]

[[expect]]
name = "one plane"
unique = "call_graph"
columns = ["plane"]

[[expect]]
sum = ["counts.lines"]
equals = ["counts.operations", "counts.payloads"]
"""


def test_expectations_that_are_not_satisfied_are_a_table_and_exit_1(run, mixed, tmp_path) -> None:
    path = tmp_path / "expect.toml"
    path.write_text(TOML)
    done = run(mixed, "--expect", path)
    assert done.exit_code == 1
    lines = done.stdout[done.stdout.index("Expectations") :].splitlines()
    assert lines[0] == "Expectations that are not satisfied: 3"
    assert [re.split(r"  +", line.strip()) for line in lines[1:5]] == [
        ["expectation", "expected", "found"],
        ["nothing is malformed", "no rows", "1 rows"],
        ["one plane", "2 distinct keys", "1"],
        ['{"sum": ["counts.lines"], "equals": ["counts.operations", "counts.payloads"]}',
         "equals 9", "10"],
    ]  # fmt: skip


@pytest.mark.parametrize(
    ("text", "told"),
    [
        ("x = [", "expect.toml: "),
        ("expect = []", "no expectations"),
        ("[[expect]]\nempty = 'nowhere'", "expectation 1: there is no table 'nowhere'"),
        ("[[expect]]\nempty = 'replies'\nsum = []", "its keys must be"),
        ("[[expect]]\nunique = 'replies'\ncolumns = ['x']", "has no column 'x'"),
        ("[[expect]]\nsum = ['counts.x']\nequals = [1]", "no counter 'x'"),
        ("[[expect]]\nsum = ['replies.x']\nequals = [1]", "has no column 'x'"),
        ("[[expect]]\nsum = 'replies'\nequals = [1]", "must be a list"),
        ("[[expect]]\nsum = [true]\nequals = [1]", "a number or a text"),
    ],
)
def test_a_file_without_valid_expectations_is_exit_2(run, mixed, tmp_path, text, told) -> None:
    path = tmp_path / "expect.toml"
    path.write_text(text)
    done = run(mixed, "--expect", path)
    assert done.exit_code == 2
    assert told in done.stderr


@pytest.mark.parametrize(
    ("each", "told"),
    [
        (7, "not an object"),
        ({"empty": "replies"}, None),
        ({"name": "n", "unique": "replies"}, None),
        ({"unique": "replies", "columns": ["plane"]}, None),
        ({"columns": ["plane"]}, "its keys must be"),
        ({"empty": "replies", "columns": ["plane"]}, "its keys must be"),
        ({"sum": ["replies"]}, "its keys must be"),
        *(({"sum": ["replies"], name: [1]}, None) for name in ("equals", "at_most", "at_least")),
        *(({"sum": ["replies"], name: 1}, f"{name} must be a list")
          for name in ("equals", "at_most", "at_least")),
        ({"sum": ["replies"], "equals": ["x"]}, "there is no table 'x'"),
        ({"unique": "x"}, "there is no table 'x'"),
        ({"sum": ["counts.lines", "-counts.lines", 1.5, "-replies", "-replies.published"],
          "equals": []}, None),
        ({"sum": ["-counts.x"], "equals": []}, "no counter 'x'"),
        ({"sum": [None], "equals": []}, "a number or a text"),
        *(({"sum": [f"counts.{name}"], "equals": []}, None)
          for name in ("lines", "operations", "payloads", "server", "unparseable_lines",
                       "published", "ambiguous", "unmatched", "forwarded")),
    ],
)  # fmt: skip
@pytest.mark.parametrize("kind", ["object", "list"])
def test_each_form_of_an_expectation_is_read_or_refused(tmp_path, each, told, kind) -> None:
    path = tmp_path / "own.json"
    path.write_text(json.dumps({"expect": [each]} if kind == "object" else [each]))
    if told is None:
        assert read_expectations(str(path)) == [each]
        return
    with pytest.raises(ValueError, match=r"own\.json: expectation 1: ") as caught:
        read_expectations(str(path))
    assert told in str(caught.value)


@pytest.mark.parametrize("text", ["[" * 99_999, '{"expect": 7}', "7", "[]", "{", "x = ["])
@pytest.mark.parametrize("name", ["own.json", "own.toml"])
def test_a_text_without_expectations_is_refused_with_its_file(tmp_path, text, name) -> None:
    path = tmp_path / name
    path.write_text(text)
    with pytest.raises(ValueError, match=re.escape(f"{path}: ")):
        read_expectations(str(path))


def test_each_builtin_expectation_can_fail(spark, mixed) -> None:
    class Altered:
        """A result in which every count differs and every row is there twice."""

        def __init__(self, found: Audit) -> None:
            self.found = found
            self.counters = {name: 2 + 3**i for i, name in enumerate(found.counters)}

        def count(self, table: str) -> int:
            return 2 * self.found.count(table)

        def columns(self, table: str, names: list[str]) -> pa.Table:
            rows = self.found.columns(table, names)
            if len(names) == 1 and names[0] in ("published", "delivered", "count"):
                rows = pa.table({names[0]: [1 if table == "fan_out" else 10**6]})
            return pa.concat_tables([rows, rows])

    with audit(spark, [str(mixed)]) as found:
        failed = {row["expectation"] for row in failures(Altered(found), BUILTIN)}
        tables = [name for name in TABLE_KEYS if found.count(name)]
    others = {each["name"] for each in BUILTIN if "unique" not in each}
    assert failed == others | {f"keys of {name} are unique" for name in tables}


@pytest.mark.parametrize(
    ("comparison", "satisfied"),
    [("equals", {5}), ("at_most", {5, 6}), ("at_least", {4, 5})],
)
def test_the_bounds_of_each_comparison(comparison, satisfied) -> None:
    """Of a sum of 5, which is 2 + 4 - 1: a counter, a number, and one that is taken away."""
    counted = SimpleNamespace(counters={"lines": 2, "published": 1})
    for bound in (4, 5, 6):
        each = {"name": "n", "sum": ["counts.lines", 4, "-counts.published"], comparison: [bound]}
        found = failures(counted, [each])
        assert (found == []) is (bound in satisfied), bound


@pytest.mark.parametrize(
    ("term", "value"),
    [(1.5, 1.5), (-2, -2), ("counts.lines", 4), ("-counts.lines", -4), ("replies", 3),
     ("-replies", -3), ("replies.published", 7), ("-replies.published", -7)],
)  # fmt: skip
def test_the_value_of_each_kind_of_term(term, value) -> None:
    counted = SimpleNamespace(
        counters={"lines": 4},
        count={"replies": 3}.__getitem__,
        columns=lambda table, names: pa.table({name: [5, 2] for name in names}),
    )
    assert failures(counted, [{"sum": [term], "equals": [value]}]) == []
    (row,) = failures(counted, [{"name": "n", "sum": [term], "equals": [100]}])
    assert row == {"expectation": "n", "expected": "equals 100", "found": f"{value:g}"}
