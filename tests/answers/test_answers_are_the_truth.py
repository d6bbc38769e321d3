"""The answers on a real Spark session are those of worlds whose truth is known."""

from __future__ import annotations

import json
from collections import defaultdict
from datetime import datetime
from pathlib import Path
from typing import Any

import pytest
from worlds import Case, calls_of

from subtrie import Pattern
from subtrie._core.engine import covers
from subtrie.audit._answers.gaps import calls_in
from subtrie.audit._answers.questions import load_code
from subtrie.spark import proposed_permissions


def shown(value: Any) -> Any:
    return f"{value:%Y-%m-%dT%H:%M:%S.%f}Z" if isinstance(value, datetime) else value


def as_text(rows: list[dict[str, Any]]) -> list[str]:
    return sorted(json.dumps(r, sort_keys=True, default=shown) for r in rows)


def without(rows: list[dict[str, Any]], *names: str) -> list[dict[str, Any]]:
    return [{k: v for k, v in row.items() if k not in names} for row in rows]


@pytest.mark.requirement("P-04", "P-08")
@pytest.mark.parametrize("name", ["permission_usage", "violations", "flows", "gap"])
def test_a_table_is_the_truth(case: Case, name: str) -> None:
    found = case.tables[name]
    if name == "permission_usage":
        assert all(row["window"] is None for row in found)
        found = without(found, "window", "origin")
    elif name == "gap":
        found = [{**row, "code": row["code"] is not None} for row in found]
    path = case.folder / "truth" / f"{name}.jsonl"
    expected = [json.loads(line) for line in path.open(encoding="utf-8")]
    ours, theirs = as_text(found), as_text(expected)
    assert [row for row in ours if row not in theirs] == []
    assert [row for row in theirs if row not in ours] == []
    assert ours == theirs != []


def test_the_origin_of_a_call_and_of_a_rule_is_the_line_that_has_it(case: Case) -> None:
    def line(origin: str) -> str:
        file, _, number = origin.rpartition(":")
        path = Path(file) if Path(file).exists() else case.folder / "code" / Path(file).name
        return path.read_text(encoding="utf-8").splitlines()[int(number) - 1]

    calls = [row for row in case.tables["gap"] if row["code"] is not None]
    assert all(f"https://{row['destination']}:" in line(row["code"]) for row in calls)
    ruled = [row for row in case.tables["permission_usage"] if row["origin"] is not None]
    assert calls
    assert ruled
    assert all(row["rule"] in line(row["origin"]) for row in ruled)


@pytest.mark.requirement("P-05")
def test_every_legitimate_call_passes_the_proposal_and_no_forbidden_one_does(case: Case) -> None:
    proposed = proposed_permissions(case.tables["proposal"])
    thin = [
        (row["service"], Pattern(row["pattern"], dialect="server"))
        for row in case.tables["too_thin"]
        if row["verb"] == "publish"
    ]
    passed = 0
    logins = {each["host"]: each["login"] for each in case.world["services"]}
    graph = [json.loads(x) for x in (case.folder / "truth" / "call_graph.jsonl").open()]
    seen = {(r["source"], r["destination"], r["method"]) for r in graph if r["delivered"]}
    for edge in case.world["edges"]:
        source = edge["source"]
        for subject in calls_of(edge):
            legitimate = source not in case.rules or bool(case.rules[source].can_publish(subject))
            allowed = source in proposed and bool(proposed[source].can_publish(subject))
            if allowed:
                assert legitimate, subject
                passed += 1
                continue
            if not legitimate or not edge["traffic"]:
                continue
            if (source, edge["destination"], subject.split(".")[6]) not in seen:
                continue  # never delivered: its service is on the other broker, or was stopped
            covered = any(s == source and p.matches(subject) for s, p in thin)
            named = any(s == source and p.split(".")[:7] == subject.split(".")[:7] for s, p in thin)
            assert covered or named or logins[source] == "none", subject
    assert passed > 5
    for row in case.tables["violations"]:
        if row["kind"] == "spoofed":
            claimed = row["witness"].split(".")[3].replace("_", ".")
            liar = proposed.get(row["who"])
            assert claimed != row["who"]
            assert liar is None or not liar.can_publish(row["witness"])
        elif row["kind"] == "forbidden" and row["who"] in proposed:
            assert not proposed[row["who"]].can_publish(row["witness"]), row


@pytest.mark.requirement("P-05", "P-06")
def test_the_proposal_is_small_and_never_wide(case: Case) -> None:
    rows = [row for row in case.tables["proposal"] if row["verb"] == "publish"]
    requests = [row["rule"] for row in rows if row["rule"].split(".")[1] != "reply"]
    # What was called at least: the head of a subject, and the number of tokens of its path.
    heads = (w.split(".") for row in rows for w in row["witnesses"].split())
    routes = {(*tokens[:7], len(tokens)) for tokens in heads if tokens[1] != "reply"}
    assert len(requests) <= 1.2 * len(routes)
    accepted = {row["subject"] for row in
                map(json.loads, (case.folder / "truth" / "fan_out.jsonl").open())}  # fmt: skip
    called: dict[str, list[str]] = defaultdict(list)
    for call in calls_in(load_code([case.folder / "code"])):
        called[call.service].append(call.pattern.removeprefix("*."))
    for row in rows:
        tokens = row["rule"].split(".")
        assert not {"*", ">"} & set(tokens[:4]), row
        assert tokens[1] == "reply" or "*" not in tokens[:7], row
        if tokens[1] == "danger":
            assert row["rule"] in accepted, row
        pattern = Pattern(row["rule"], dialect="server")
        assert all(pattern.matches(witness) for witness in row["witnesses"].split()), row
        assert row["days"] >= 3 or tokens[1] == "reply", row
        if {"*", ">"} & set(tokens[7:]):
            coded = any(covers(f"*.{each}", row["rule"]) for each in called[row["service"]])
            assert row["sources"] >= 2 or coded, row
    assert any({"*", ">"} & set(row["rule"].split(".")[7:]) for row in rows)


def test_poison_of_one_service_reaches_no_wildcard(case: Case) -> None:
    """A route that one service alone called has no wildcard, however many values it sent."""
    for row in case.tables["too_thin"]:
        if row["why"].endswith("sources"):
            assert not any(p["rule"] == row["pattern"] for p in case.tables["proposal"])
