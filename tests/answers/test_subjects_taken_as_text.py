"""Subjects with wildcard tokens or empty ones, which a broker takes as text, end no audit."""

from __future__ import annotations

import asyncio
import itertools
import json
from pathlib import Path
from typing import Any

import nats
import pyarrow as pa
import pytest
from broker import running
from click.testing import CliRunner

from patience import settled
from subtrie import SubjectTrie
from subtrie._cli.app import app
from subtrie.acl import Permissions, Traffic, narrowed
from subtrie.acl._broker_model import matches_text
from subtrie.acl._rule_usage import refusals
from subtrie.audit._answers.folding import fold
from subtrie.audit._results.row_lines import _subject_test
from subtrie.audit._tables.pattern_index import PatternIndex, pattern_table
from subtrie.spark import open_audit

FILTERED = "$JS.API.CONSUMER.CREATE.ORDERS.shipper.orders.*.created"
CONFIG = """
debug: true, trace: true, logtime_utc: true, logfile: "{folder}/nats.log"
jetstream {{ store_dir: "{folder}/js" }}
authorization {{ users: [
  {{ user: admin, password: a }}
  {{ user: shipper, password: s, permissions: {{
    publish: {{ allow: ["$JS.API.>", "$JS.ACK.>", "parcels.*"], deny: "parcels.*.>" }}
    subscribe: "_INBOX.>" }} }}
] }}
"""


async def ship(address: str) -> None:
    """Fetch a message of a filtered consumer, and publish what no client should."""
    admin = await nats.connect(f"nats://{address}", user="admin", password="a")
    stream = admin.jetstream()
    await stream.add_stream(name="ORDERS", subjects=["orders.>"])
    await stream.publish("orders.7.created", b"")
    shipper = await nats.connect(f"nats://{address}", user="shipper", password="s")
    consumer = await shipper.jetstream().pull_subscribe("orders.*.created", "shipper")
    (message,) = await consumer.fetch(1)
    await message.ack()
    for subject in ("parcels.*", "parcels.>.deep", "parcels..x"):
        await shipper._send_command(f"PUB {subject} 0\r\n\r\n".encode())
    await settled(shipper)
    await admin.close()
    await shipper.close()


def test_a_user_of_jetstream_is_audited_with_rules(spark: Any, tmp_path: Path) -> None:
    """The log of a real server: what it accepted is allowed, what it refused is denied."""
    config = tmp_path / "nats.conf"
    config.write_text(CONFIG.format(folder=tmp_path))
    with running(config) as address:
        asyncio.run(ship(address))
    runner = CliRunner()
    log, run = str(tmp_path / "nats.log"), str(tmp_path / "run")
    done = runner.invoke(app, ["audit", log, "--rules", str(config), "--out", run])
    assert done.exit_code == 0, done.output
    result = open_audit(run)
    sent = {row["subject"] for row in result.rows("other_traffic")}
    assert {"parcels.*", FILTERED} < sent
    assert list(result.rows("violations")) == []
    refused = {row["subject"] for row in result.rows("refused")}
    assert refused == {"parcels.>.deep", "parcels..x"}
    usage = {
        (row["effect"], row["rule"]): (row["accepted"], row["refused"], row["decided"])
        for row in result.rows("permission_usage")
        if (row["service"], row["verb"]) == ("shipper", "publish")
    }
    assert usage["allow", "parcels.*"] == (1, 0, 1)
    assert usage["deny", "parcels.*.>"] == (0, 1, 1)
    assert usage["none", None] == (0, 1, 0)
    assert usage["allow", "$JS.API.>"][0] > 1
    done = runner.invoke(app, ["acl", "usage", str(config), "--traffic", run, "--user", "shipper"])
    assert done.exit_code == 1, done.output
    assert f"+ publish {FILTERED}" in done.output
    assert "parcels.>.deep was refused once, by the deny entry parcels.*.>" in done.output


def test_a_wildcard_token_of_a_published_subject_is_text_in_every_lookup() -> None:
    tokens = ("a", "*", ">", "**")
    subjects = [".".join(each) for n in (1, 2, 3) for each in itertools.product(tokens, repeat=n)]
    patterns: list[str] = []
    trie: Any = SubjectTrie(dialect="server")
    for each in subjects:
        if ">" not in each.split(".")[:-1]:
            trie.add(each, None)
            patterns.append(each)
    index = PatternIndex(trie.to_bytes(), pattern_table(patterns))
    texts = pa.array([*subjects, "a..b", "", None])
    rows, numbers = index.matches(texts)
    assert list(rows) == sorted(rows)
    found = {
        (texts[int(row)].as_py(), patterns[number])
        for row, number in zip(rows, numbers, strict=True)
    }
    assert found == {
        (text, pattern) for text in subjects for pattern in patterns if matches_text(pattern, text)
    }


@pytest.mark.parametrize("subject", ["a.>.b", "a..b", "a.*", FILTERED])
def test_a_subject_that_strict_refuses_ends_no_usage(subject: str) -> None:
    flow = {"publisher": "me", "pattern": fold(subject), "subscriber": None, "published": 2}
    row = {"who": "me", "kind": "publish", "subject": subject, "count": 3}
    tables = {"flows": [flow, {**flow, "pattern": "$JS.API..x"}], "refused": [row]}
    seen = Traffic.of_tables(lambda name: tables.get(name, ()))["me"]
    rules = Permissions(publish_allow=["a.*", "$JS.API.>"], publish_deny=["a.*.>"])
    (attempt,) = refusals(rules, seen)
    assert (attempt.witness, attempt.count) == (subject, 3)
    assert attempt.allowed == (subject in ("a.*", FILTERED))
    assert attempt.rule == ("a.*.>" if subject == "a.>.b" else None)
    assert narrowed(rules, seen).permissions <= rules


@pytest.mark.parametrize(
    ("key", "matching", "others"),
    [
        ("a.>.b", ["a.>.b"], ["a.x.b", "a..b"]),
        ("a.*.b", ["a.x.b", "a.*.b", "a.>.b"], ["a..b", "a.b"]),
        ("a.>", ["a.b", "a.*", "a.>"], ["a..b", "a"]),
        ("a..b", ["a..b"], ["a.x.b"]),
    ],
)
def test_the_lines_of_a_subject_with_wildcard_tokens(
    key: str, matching: list[str], others: list[str]
) -> None:
    wanted = _subject_test(key)
    assert [each for each in [*matching, *others] if wanted(each)] == matching


def test_a_service_without_a_list_may_publish_what_no_entry_matches(
    spark: Any, tmp_path: Path
) -> None:
    front = '[7] 2026/11/21 08:00:0{}.000001 [TRC] 127.0.0.1:4 - cid:1 - "v1:go:me" - <<- [{}]'
    texts = ("PUB a..b 0", f"PUB {FILTERED} 0", "PUB a.>.b 0")
    lines = [front.format(number, text) for number, text in enumerate(texts, 1)]
    log = tmp_path / "trace.log"
    log.write_text("[7] 2026/11/21 08:00:00.000001 [INF] Server is ready\n" + "\n".join(lines))
    for rules, forbidden in (
        ({"publish_deny": ["b"]}, []),
        ({"publish_allow": [">"]}, ["a..b"]),
        ({"publish_allow": ["$JS.API.>"]}, ["a..b", "a.>.b"]),
    ):
        file = tmp_path / "me.json"
        file.write_text(json.dumps({"subtrie": 1, **rules}))
        done = CliRunner().invoke(app, ["audit", str(log), "--rules", str(file), "--json"])
        assert done.exit_code == 0, done.output
        told = sorted(row["witness"] for row in json.loads(done.stdout)["violations"])
        assert told == forbidden, rules
