"""Logs as they are found: cut, half rotated away, with jumping clocks, mixed with other lines.

What cannot be read is counted and named by file and position, the rest is audited, and nothing
ends a run but an input of which no line can be read.
"""

from __future__ import annotations

import json
import random
from pathlib import Path
from typing import Any

import pytest
from jetstream_log import jetstream_log
from local_run import counts, read
from test_trace_reference import compare
from trace_writer import Trace, random_trace

from subtrie.audit import Questions, Run, audit

LINES = ("operations", "payloads", "server", "unparseable_lines")


@pytest.fixture(scope="module")
def real(tmp_path_factory: pytest.TempPathFactory) -> bytes:
    """The log of a running server whose clients use JetStream."""
    return jetstream_log(tmp_path_factory.mktemp("real"), 4)[0].read_bytes()


def audited(folder: Path, *contents: bytes) -> Run:
    """Return the audit of logs, which counts each line once."""
    paths = []
    for number, data in enumerate(contents):
        paths.append(folder / f"{number}.log")
        paths[-1].write_bytes(data)
    run = audit([str(path) for path in paths], questions=Questions())
    assert run.summary["lines"] == sum(run.summary[name] for name in LINES)
    return run


def unread(run: Run) -> list[dict[str, Any]]:
    return list(run.rows("unparseable"))


@pytest.mark.parametrize("end", ["the end", "the beginning"])
def test_a_log_cut_at_any_byte_has_at_most_one_line_that_is_not_read(real, end) -> None:
    begin = real.index(b"STREAM.CREATE.ORDERS") - 400
    part = real[begin : begin + 2_500]
    part = part[part.index(b"\n") + 1 : part.rindex(b"\n") + 1]
    for at in range(1, len(part)):
        cut = part[:at] if end == "the end" else part[at:]
        rows = read(cut)
        found = counts(rows)
        assert found.total() == len(cut.splitlines()), at
        damaged = [row for row in rows if row["reason"] is not None]
        assert len(damaged) == found["unparseable_lines"] <= 1, at
        place = cut.rstrip(b"\n").rfind(b"\n") + 1 if end == "the end" else 0
        assert [row["offset"] for row in damaged] in ([], [place]), at


def test_a_log_cut_anywhere_is_audited(real, tmp_path) -> None:
    dice = random.Random(3)
    for number, at in enumerate(sorted(dice.sample(range(2_000, len(real)), 6))):
        for side, cut in (("begin", real[:at]), ("end", real[at:])):
            folder = tmp_path / f"{side}{number}"
            folder.mkdir()
            with audited(folder, cut) as run:
                for row in unread(run):
                    assert row["file"] == str(folder / "0.log")
                    assert 0 <= row["offset"] < len(cut)
                assert len(unread(run)) <= 1
                assert run.summary["operations"] > 0


@pytest.mark.parametrize("missing", [0, 1, 2])
def test_a_rotated_set_of_which_a_file_is_missing(real, tmp_path, missing) -> None:
    """The parts without the file that is written now were logs of two servers."""
    lines = real.splitlines(keepends=True)
    third = len(lines) // 3
    parts = [lines[:third], lines[third : 2 * third], lines[2 * third :]]
    names = ["nats.log.2", "nats.log.1", "nats.log"]
    left = [each for number, each in enumerate(zip(names, parts, strict=True)) if number != missing]
    for name, part in left:
        (tmp_path / name).write_bytes(b"".join(part))
    with audit([str(tmp_path / name) for name, _ in left], questions=Questions()) as run:
        assert run.summary["lines"] == sum(len(part) for _, part in left)
        assert unread(run) == []
        servers = {row["server"] for row in run.rows("coverage") if row["delivered"]}
        assert len(servers) == 1
        assert run.summary["operations"] > 100


@pytest.mark.parametrize("hours", [-9_000, -1, -0.002, 0.002, 1, 9_000])
def test_a_clock_that_jumps_changes_no_count_of_lines(tmp_path, hours) -> None:
    trace = Trace()
    trace.subscribe(2, "a.>", "1")
    for number in range(40):
        if number == 20:
            trace.tick(hours * 3_600)
        trace.publish(1, f"a.{number % 3}")
        trace.deliver(2, f"a.{number % 3}", "1")
        trace.tick(0.01)
    with audited(tmp_path, trace.text().encode()) as run:
        assert (run.summary["lines"], unread(run), run.summary["unmatched"]) == (161, [], 0)
        [flow] = run.rows("flows")
        assert (flow["published"], flow["delivered"], flow["undelivered"]) == (40, 40, 0)
        assert flow["first"] <= flow["last"]


OTHER = (
    b"Nov 21 08:00:00 host sshd[7]: Accepted publickey for root\n",
    b"2026-11-21T08:00:00Z INFO tokio: worker started\n",
    b'{"level":"info","msg":"ready"}\n',
    b"goroutine 1 [running]:\n",
    b"\x00\x01\xff\xfe\n",
    b"\n",
    b"\xef\xbb\xbf# a comment\r\n",
)


def test_lines_of_other_programs_in_between_are_named_and_change_nothing_else(
    real, tmp_path
) -> None:
    clean, mixed = tmp_path / "clean", tmp_path / "mixed"
    clean.mkdir()
    mixed.mkdir()
    lines, dice, added = real.splitlines(keepends=True), random.Random(5), 0
    data = []
    for line in lines:
        data.append(line)
        if dice.random() < 0.1:
            data.append(dice.choice(OTHER))
            added += 1
    with audited(clean, real) as before, audited(mixed, b"".join(data)) as after:
        assert after.summary["unparseable_lines"] == len(unread(after)) == added > 50
        whole = (mixed / "0.log").read_bytes()
        for row in unread(after):
            assert row["file"] == str(mixed / "0.log")
            assert whole[row["offset"] - 1 : row["offset"]] == b"\n"
        for table in ("flows", "latency", "refused", "other_traffic", "coverage", "logins"):
            assert list(map(str, before.rows(table))) == list(map(str, after.rows(table))), table


def test_lines_of_ten_megabytes_are_counted_and_only_their_beginning_is_kept(tmp_path) -> None:
    trace = Trace()
    trace.subscribe(2, "a", "1")
    trace.write(1, f"<<- [PUB a {10_000_000}]")
    trace.write(1, '<<- MSG_PAYLOAD: ["' + "x" * 10_000_000 + '"]')
    trace.write(2, f"->> [MSG a 1 {10_000_000}]")
    trace.write(2, '->> MSG_PAYLOAD: ["' + "x" * 10_000_000 + '"]')
    trace.lines.append("y" * 10_000_000)
    trace.write(1, "<<- [PUB " + "s" * 10_000_000 + " 2]")
    with audited(tmp_path, trace.text().encode()) as run:
        assert [(row["reason"], len(row["text"])) for row in unread(run)] == [
            ("not a nats-server line", 512), ("line too long", 512),
        ]  # fmt: skip
        assert (run.summary["operations"], run.summary["payloads"]) == (3, 2)
        [flow] = run.rows("flows")
        assert (flow["published"], flow["delivered"], flow["bytes"]) == (1, 1, 10_000_000)


def test_a_log_whose_bytes_are_shuffled_ends_in_one_error_or_in_counts(tmp_path) -> None:
    text = random_trace(4, steps=200).encode()
    dice = random.Random(6)
    for number in range(40):
        data = bytearray(text)
        for _ in range(60):
            data[dice.randrange(len(data))] = dice.randrange(256)
        folder = tmp_path / str(number)
        folder.mkdir()
        with audited(folder, bytes(data)) as run:
            assert len(unread(run)) == run.summary["unparseable_lines"]


def test_a_run_that_fails_leaves_the_result_before_it_and_no_other_file(
    real, tmp_path, run
) -> None:
    log, out, rules = tmp_path / "0.log", tmp_path / "out", tmp_path / "svc.json"
    log.write_bytes(real)
    rules.write_text('{"subtrie": 1, "publish_allow": ["a"]}')
    assert run(log, "--out", out).exit_code == 0
    before = {path.name: path.read_bytes() for path in out.iterdir()}
    assert set(before) == {"audit.json"} | {
        entry["file"] for entry in json.loads(before["audit.json"])["tables"].values()
    }
    done = run(log, "--out", out, "--rules", rules)  # of no service of the traffic
    assert done.exit_code == 2
    assert {path.name: path.read_bytes() for path in out.iterdir()} == before
    done = run(log, "--out", tmp_path / "new", "--rules", rules)
    assert done.exit_code == 2
    assert not (tmp_path / "new").exists()


@pytest.mark.parametrize(
    ("options", "told"),
    [
        (["--since", "yesterday"], "--since: not a time: 'yesterday'"),
        (["--subject", "a", "--at", "noon"], "--at: not a time: 'noon'"),
        (["--rules", "nope"], "nope: No such file or directory"),
        (["--rules", "none"], "none: no file of rules in this folder: neither *.json nor *.jwt"),
        (["--rules", "rules"], "rules/web.json:2: publish_allow 'a..b'"),
        (["--report", "none/such/page.html"], "--report none/such/page.html: its folder"),
        (["--expect", "e.toml"], "e.toml: expectation 1: table 'flows' has no column 'nope'"),
    ],
)
def test_an_error_names_its_file_option_and_column(real, tmp_path, run, monkeypatch, options, told):
    """A time named no option, a folder of no rules asked for JWTs, a report a hidden file."""
    monkeypatch.chdir(tmp_path)
    for name in ("none", "rules"):
        (tmp_path / name).mkdir()
    (tmp_path / "nats.log").write_bytes(real)
    (tmp_path / "rules" / "ship.json").write_text('{"subtrie": 1, "publish_allow": ["a"]}')
    (tmp_path / "rules" / "web.json").write_text('{"subtrie": 1,\n "publish_allow": ["a..b"]}')
    (tmp_path / "e.toml").write_text(
        "[[expect]]\nname = 'x'\nsum = ['flows.nope']\nat_most = [1]\n"
    )
    done = run("nats.log", *options)
    assert done.exit_code == 2
    assert done.stderr.startswith(f"subtrie audit: {told}")
    assert len(done.stderr.splitlines()) == 1


def test_a_folder_of_rules_is_read_file_by_file(real, tmp_path, run):
    (tmp_path / "nats.log").write_bytes(real)
    folder = tmp_path / "rules"
    folder.mkdir()
    for name in ("web", "ship"):
        (folder / f"{name}.json").write_text('{"subtrie": 1, "publish_allow": ["orders.>"]}')
    done = run(tmp_path / "nats.log", "--rules", folder, "--json")
    assert done.exit_code == 0
    used = {row["service"] for row in json.loads(done.stdout)["permission_usage"]}
    assert {"web", "ship"} <= used


def test_a_message_larger_than_the_server_allows_is_refused(tmp_path) -> None:
    """It counted as undelivered; the line of the server names no subject."""
    trace = Trace()
    trace.write(3, "maximum payload exceeded: 9 vs 8", level="ERR")  # its message is not in the log
    trace.publish(1, "files.small")
    trace.write(1, "<<- [PUB files.large 9]")
    trace.write(2, "maximum payload exceeded: 9 vs 8", level="ERR")  # of another client
    trace.write(1, "maximum payload exceeded: 9 vs 8", level="ERR")
    trace.write(1, "Client connection closed: Maximum Message Payload Exceeded", level="DBG")
    data = trace.text().encode()
    compare(data)
    with audited(tmp_path, data) as run:
        columns = ("who", "subject", "kind", "count")
        found = [tuple(row[name] for name in columns) for row in run.rows("refused")]
        assert found == [("7/client:1", "files.large", "payload", 1)]
        [flow] = run.rows("flows")
        assert (flow["pattern"], flow["undelivered"]) == ("files.small", 1)
