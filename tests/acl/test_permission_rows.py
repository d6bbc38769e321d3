"""Rows of the kind ``perm``, and those in which a model differs from the broker."""

from __future__ import annotations

import json

import pytest

from subtrie import conformance

ROWS = [
    # As the broker holds them, an empty list to publish allows nothing; one to subscribe, all.
    {"op": "pub", "subject": "a", "pub_allow": [], "expect": False},
    {"op": "sub", "subject": "a", "sub_allow": [], "expect": True},
    {"op": "pub", "subject": "a", "pub_deny": [], "expect": True},
    {"op": "sub", "subject": "a.>", "sub_allow": ["a.>"], "sub_deny": [], "expect": True},
    {"op": "sub", "subject": "a", "sub_allow": ["b"], "queue": "", "expect": False},
    # The entries do not cover the request: not determined.
    {"op": "sub", "subject": "a.>", "sub_allow": ["a.*"], "expect": None},
    {"op": "sub", "subject": "a.>", "sub_allow": ["a.*"], "expect": True, "differs": "A67"},
    {"op": "sub", "subject": "a.*", "sub_allow": ["a.*"], "sub_deny": ["a.b q"], "queue": "q",
     "deliver": ["a.b", "a.c"], "expect": {"allowed": True, "delivered": {"a.b": False,
                                                                          "a.c": True}}},
    {"op": "sub", "subject": "a", "queue": "_sys_", "expect": True, "differs": "reserved"},
]  # fmt: skip


@pytest.mark.parametrize("name", ["native", "reference"])
def test_rows_of_permissions(name, tmp_path):
    path = tmp_path / "rows.jsonl"
    rows = [{"id": f"r{n}", "kind": "perm", **row} for n, row in enumerate(ROWS)]
    path.write_text("".join(json.dumps(row) + "\n" for row in rows))
    report = conformance.run([path], engine=name)
    assert report, report
    wrong = [{**row, "expect": not row["expect"]} for row in rows if row["expect"] in (True, False)]
    wrong = [row for row in wrong if "differs" not in row]
    path.write_text("".join(json.dumps(row) + "\n" for row in wrong))
    assert conformance.run([path], engine=name).passed == 0
