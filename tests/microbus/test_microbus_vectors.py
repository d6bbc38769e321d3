"""Vectors of the Go framework: the same bytes, or a difference with a decision."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

import subtrie

VECTORS = Path(__file__).parents[1] / "vectors"


def rows(name: str) -> list[dict]:
    lines = (VECTORS / name).read_text("utf-8").split("\n")  # strings hold other line ends
    return [json.loads(line) for line in lines if line]


@pytest.mark.parametrize("name", ["go_subjects.jsonl", "go_more.jsonl"])
def test_same_bytes_as_go(engine, name):
    failed = []
    for row in rows(name):
        refused = row.get("error") or ("differs" in row and "ours" not in row)
        wanted = row.get("ours", row["out"])
        try:
            answer = getattr(engine, row["op"])(**row["in"])
        except subtrie.AddressError:
            agrees = refused
        else:
            answer = list(answer) if isinstance(answer, tuple) else answer
            agrees = not refused and answer == wanted
        if not agrees:
            failed.append(row["id"])
    assert failed == []


@pytest.mark.requirement("S0-003")
def test_every_request_of_go_decodes_to_itself(engine):
    for row in rows("go_subjects.jsonl") + rows("go_more.jsonl"):
        if row.get("error") or "differs" in row:
            continue
        if row["op"] in ("encode_request", "encode_reply", "request_from_url"):
            assert str(engine.decode(row["out"])) == row["out"]
            assert engine.source_of(row["out"]) == row["in"]["source"].lower()
        elif row["op"] in ("encode_subscription", "subscription_from_route"):
            assert str(engine.decode_subscription(row["out"])) == row["out"]
