"""The generator of synthetic traffic: equal bytes, and answers that a naive sweep gives too."""

from __future__ import annotations

import hashlib
import json
from collections import Counter
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from window_oracle import judge

from subtrie import classify, microbus
from subtrie.acl import Permissions
from subtrie.gencreds import scan
from synthetic_traffic import write_traffic
from synthetic_traffic.__main__ import main

# The digest of all files of seed 11 with 3,000 rows. Another value means that the bytes changed:
# then TRAFFIC_FORMAT or the page of the generator must say so.
DIGEST = "7994e89e5ccc1187b5ad01568d3786aef2588b672f1b0ce14d92bee8ed4592e1"


def truth(folder: Path, table: str) -> list[dict[str, Any]]:
    return [json.loads(line) for line in (folder / "truth" / f"{table}.jsonl").open()]


def digest(folder: Path) -> str:
    found = hashlib.sha256()
    for path in sorted(path for path in folder.rglob("*") if path.is_file()):
        found.update(str(path.relative_to(folder)).encode() + b"\0" + path.read_bytes())
    return found.hexdigest()


@pytest.fixture(scope="module", params=[11, 12, 13])
def world(request, tmp_path_factory) -> tuple[Path, dict[str, Any]]:
    out = tmp_path_factory.mktemp("traffic") / "world"
    return out, write_traffic(out, seed=request.param, rows=3000, events=True)


def parseable(folder: Path) -> str:
    """Return the log without the lines that the truth calls unparseable."""
    bad = {row["offset"] for row in truth(folder, "unparseable")}
    kept, offset = [], 0
    for line in (folder / "trace.log").read_bytes().decode("latin-1").splitlines(keepends=True):
        if offset not in bad:
            kept.append(line)
        offset += len(line)
    return "".join(kept)


def test_the_bytes_are_those_of_every_machine(tmp_path):
    write_traffic(tmp_path / "world", seed=11, rows=3000)
    assert digest(tmp_path / "world") == DIGEST


def test_the_naive_sweep_of_the_log_agrees(world):
    folder, summary = world
    found = judge(parseable(folder))
    assert (found.ambiguous, found.unmatched) == (summary["ambiguous"], summary["unmatched"])
    assert summary["ambiguous"] > 0 < summary["unmatched"]
    assert found.delivered == {r["subject"]: r["delivered"] for r in truth(folder, "fan_out")}
    hot = {row["subject"]: row["published"] for row in truth(folder, "hot_subjects")}
    assert hot == {subject: found.published[subject] for subject in hot}
    refused = Counter()
    for row in truth(folder, "refused"):
        if row["kind"] == "publish":
            refused[row["subject"]] += row["count"]
    assert refused == found.refused


def test_the_counts_add_up(world):
    folder, summary = world
    parts = ("operations", "payloads", "server", "unparseable_lines")
    assert summary["lines"] == sum(summary[name] for name in parts)
    assert summary["lines"] == (folder / "trace.log").read_bytes().count(b"\n")
    assert summary["unparseable_lines"] == len(truth(folder, "unparseable")) > 0
    assert summary["tables"] == {name: len(truth(folder, name)) for name in summary["tables"]}
    assert all(summary["tables"].values())
    graph = truth(folder, "call_graph")
    for row in graph:
        assert row["undelivered"] + row["forwarded"] <= row["published"]


def test_every_table_has_unique_keys(world):
    folder, _ = world
    keys = {
        "call_graph": 6, "replies": 3, "undelivered": 1, "malformed": 1, "other_traffic": 1,
        "fan_out": 1, "hot_subjects": 1, "coverage": 3, "cross_plane": 2, "unparseable": 2,
        "subscriptions": 4,
    }  # fmt: skip
    for table, width in keys.items():
        found = Counter(tuple(row.values())[:width] for row in truth(folder, table))
        assert max(found.values()) == 1, table


def test_what_the_generator_says_of_subjects_is_what_the_engine_says(world):
    folder, _ = world
    for row in truth(folder, "malformed"):
        (reason,) = pa.array(microbus.decode_batch([row["subject"]])).field("reason")
        assert reason.as_py() == row["reason"]
    for row in truth(folder, "other_traffic"):
        assert classify(row["subject"]) == row["class"]
    for row in truth(folder, "undelivered"):
        microbus.decode(row["subject"])
    requests = {row["subject"]: microbus.decode(row["subject"]) for row in truth(folder, "spoofed")}
    assert all(requests[r["subject"]].source == r["claimed"] for r in truth(folder, "spoofed"))


def test_the_sources_and_the_rules_can_be_read(world):
    folder, _ = world
    described = json.loads((folder / "world.json").read_text())
    services = {service.host: service for service in scan(folder / "code")}
    assert set(services) == {service["host"] for service in described["services"]}
    for host, service in services.items():
        calls = [e for e in described["edges"] if e["source"] == host and e["code"]]
        assert len(service.calls) == len({(c["destination"], c["port"] or 443,
            "GET" if c["method"] == "ANY" else c["method"], c["path"].replace("...", ""))
            for c in calls})  # fmt: skip
        assert not service.dynamic
    for path in (folder / "rules").iterdir():
        rules = Permissions.load(path)
        for row in truth(folder, "refused"):
            if (
                row["who"] == path.stem
                and row["kind"] == "publish"
                and ".reply." not in row["subject"]
            ):
                assert not rules.can_publish(row["subject"])


def test_the_command_writes_and_refuses(tmp_path, capsys):
    assert main([str(tmp_path / "w"), "--rows", "500", "--no-damage"]) == 0
    assert "500 operations" in capsys.readouterr().out
    assert main([str(tmp_path / "w")]) == 2
    assert "is not empty" in capsys.readouterr().err
    with pytest.raises(SystemExit) as refused:
        main([str(tmp_path / "x"), "--rows", "0"])
    assert refused.value.code == 2


def test_the_events_agree_with_the_answers(world):
    folder, summary = world
    rows = pq.read_table(folder / "events.parquet").to_pylist()
    data = (folder / "trace.log").read_bytes()
    assert sum(row["reason"] is not None for row in rows) == summary["unparseable_lines"]
    assert sum(row["direction"] is not None for row in rows) == summary["operations"]
    assert [row["offset"] for row in rows] == sorted({row["offset"] for row in rows})
    publishes = [row for row in rows if row["op"] in ("PUB", "HPUB") and row["refused"] is None]
    assert sum(row["ambiguous"] for row in publishes) == summary["ambiguous"]
    sent = [r for r in rows if r["op"] in ("MSG", "HMSG")]
    assert sum(r["deliveries"] for r in publishes) == len(sent) - summary["unmatched"]
    assert sum(r["forwarded"] and not r["deliveries"] for r in publishes) == summary["forwarded"]
    assert all(row["offset"] < row["until"] <= len(data) for row in publishes)
    subscribed = {row["offset"] for row in rows if row["op"] == "SUB"}
    assert {row["subscription"] for row in sent} <= subscribed
    for row in rows[::97]:
        line = data[row["offset"] :].split(b"\n", 1)[0].decode("utf-8", "backslashreplace")
        if row["op"] and row["direction"]:
            assert f"[{row['op']}" in line
            assert (row["subject"] or "") in line
