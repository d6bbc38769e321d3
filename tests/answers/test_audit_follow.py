"""``subtrie audit --follow``, here and on a real Spark session, on logs that grow while it runs."""

from __future__ import annotations

import json
import os
import signal
import tempfile
import threading
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner, Result
from worlds import Case

from patience import wait_until
from subtrie._cli.app import app
from subtrie._cli.audit_follow import Following, _Watcher, next_reading
from subtrie.acl import Permissions
from subtrie.audit import Questions, audit, open_run
from subtrie.audit._answers.questions import load_code
from subtrie.audit._answers.receivers import at_rows, history_rows
from subtrie.audit._answers.tables import matching_rows, sorted_rows
from subtrie.audit._growing import GrowingAudit
from subtrie.audit._runs.run_folder import read_manifest
from subtrie.spark import audit_stream

LONG = 240.0  # seconds, for an audit on a busy machine
SHORT = (
    '[7] 2026/11/21 08:00:00.000001 [INF] Server is ready\n'
    '[7] 2026/11/21 08:00:01.000001 [TRC] 127.0.0.1:4 - cid:1 - "v1:go:{0}.shop" - <<- [SUB '
    "prod.safe.443.*.{0}_shop._.GET.items  1]\n"
)  # fmt: skip
SPOOFED = (
    '[7] 2026/11/21 08:00:0{0}.000001 [TRC] 127.0.0.1:5 - cid:2 - "v1:go:evil.shop" - '
    '"$G/user:evil.shop" - <<- [PUB '
    "prod.safe.443.web_shop.stock_shop._.GET.items 0]\n"
)


_LINE = '[7] 2026/11/21 08:00:0{}.000001 [TRC] 127.0.0.1:6 - cid:{} - "v1:go:{}.shop" - {}\n'
_CALL = "prod.safe.443.web_shop.stock_shop._.GET.items"
# A message that is delivered; the last line decides that.
CALLED = (
    _LINE.format(2, 3, "web", f"<<- [PUB {_CALL} 0]")
    + _LINE.format(2, 1, "stock", f"->> [MSG {_CALL} 1 0]")
    + _LINE.format(3, 3, "web", "<<- [PING]")
)


@pytest.fixture(params=["here", "spark"])
def where(request: pytest.FixtureRequest) -> list[str]:
    """The options of the place where the logs are read."""
    if request.param == "here":
        return []
    request.getfixturevalue("spark")
    return ["--master", "local[2]"]


@pytest.mark.parametrize(
    ("took", "worked", "rest"),
    [
        (0.1, 0.1, 0.4),  # half a second after it began
        (0.4, 0.2, 0.4),  # a third of the processor
        (3.0, 3.0, 6.0),
        # It waited twice as long as it took, also on a machine that gave it no time.
        (3.0, 0.2, 0.4),
        (3.0, 0.0, 0.0),
    ],
)
def test_the_next_reading_follows_what_the_last_one_cost(took, worked, rest) -> None:
    assert next_reading(100.0, 100.0 + took, worked) == pytest.approx(100.0 + took + rest)


def following(*words: str, then: Callable[[], None] = lambda: None) -> Result:
    """Run the command in this process, and something beside it."""
    beside = threading.Thread(target=then)
    beside.start()
    try:
        return CliRunner().invoke(app, ["audit", *words, "--follow"])
    finally:
        beside.join(LONG)
        assert not beside.is_alive()


def test_a_log_that_ended_has_the_tables_of_one_audit(where: list[str], tmp_path: Path) -> None:
    """Its last message is decided when it was idle."""
    log, out, whole = tmp_path / "nats.log", tmp_path / "run", tmp_path / "whole"
    log.write_text(SHORT.format("stock") + CALLED + SPOOFED.format(4))
    done = following(str(log), "--out", str(out), "--until-idle", "0.5", *where)
    assert done.exit_code == 0, done.output
    assert done.output.count("error spoofed: evil.shop sent as web.shop; ") == 1
    audit([str(log)], out=whole)
    ours, theirs = (
        {name: entry["sha256"] for name, entry in read_manifest(str(each))["tables"].items()}
        for each in (out, whole)
    )
    assert ours.pop("runs") != theirs.pop("runs")  # a stream has no digest of its input
    assert ours == theirs
    assert (tmp_path / "run.checkpoint").is_dir() == bool(where)


@pytest.mark.parametrize("case", [305], indirect=True)
def test_the_answers_of_a_stream_are_those_of_one_audit(
    spark: Any, case: Case, tmp_path: Path
) -> None:
    subject = min(row["witness"] for row in case.tables["violations"] if row["kind"] == "spoofed")
    matching = matching_rows(case.tables["subscriptions"], subject)
    time = min(row["start"] for row in matching)
    code = load_code([case.folder / "code"])
    questions = Questions(rules=case.rules, code=code, subject=subject, time=time)
    query = audit_stream(
        spark, [str(case.folder / "trace.log")], out=tmp_path / "run", complete=True,
        checkpoint=str(tmp_path / "checkpoint"), questions=questions,
    )  # fmt: skip
    assert query.awaitTermination(600)
    assert query.exception() is None
    found = open_run(tmp_path / "run")
    for name, rows in case.tables.items():
        if name not in ("at", "history"):
            assert list(found.rows(name)) == rows, name
    assert list(found.rows("at")) == sorted_rows("at", at_rows(matching, subject, time)) != []
    begin: dict[str, Any] = {}
    for row in case.tables["subscriptions"]:
        begin[row["server"]] = min(begin.get(row["server"], row["start"]), row["start"])
    history = sorted_rows("history", history_rows(matching, subject, begin))
    assert list(found.rows("history")) == history != []


def test_an_interrupt_is_an_end(where: list[str], tmp_path: Path) -> None:
    """The lines so far are in the tables, and nothing temporary stays."""
    live, page = tmp_path / "nats.log", tmp_path / "page.html"
    live.write_text(SHORT.format("stock") + SPOOFED.format(2) + SPOOFED.format(5))
    before = temporary()

    def interrupt() -> None:
        wait_until(page.exists, seconds=LONG)
        os.kill(os.getpid(), signal.SIGINT)

    done = following(str(live), "--report", str(page), "--json", *where, then=interrupt)
    assert done.exit_code == 0, done.output
    *findings, last = map(json.loads, done.output.splitlines())
    assert [each["finding"]["rule"] for each in findings] == ["spoofed", "undelivered"]
    assert last["spoofed"][0]["who"] == "evil.shop"
    assert temporary() <= before


def watched(log: Path, out: Path) -> _Watcher:
    what = Following([str(log)], str(out), None, None, None, (), False, Questions(), {})
    return _Watcher(what, str(out))


def test_after_it_has_ended_signals_do_what_they_did_before(tmp_path: Path) -> None:
    log = tmp_path / "trace.log"
    log.write_text(SHORT.format("web"))
    before = {each: signal.getsignal(each) for each in (signal.SIGINT, signal.SIGTERM)}
    words = ["audit", str(log), "--follow", "--until-idle", "0.1"]
    assert CliRunner().invoke(app, words).exit_code == 0
    assert {each: signal.getsignal(each) for each in before} == before


def test_a_finding_is_printed_when_it_first_appears(tmp_path: Path, capsys: Any) -> None:
    log, out = tmp_path / "nats.log", tmp_path / "run"
    watcher, growing = watched(log, out), GrowingAudit([str(log)], str(out))
    assert not watcher.refresh()
    log.write_text(SHORT.format("stock") + SPOOFED.format(2) + SPOOFED.format(5))
    for printed in (1, 0):
        assert growing.read_on(complete=not printed)
        assert watcher.refresh()
        assert not watcher.refresh()
        assert capsys.readouterr().out.count("error spoofed: ") == printed


def test_the_rules_may_be_those_of_services_that_have_not_begun(tmp_path: Path) -> None:
    """Of a log that has ended that is an error; one that grows may have their messages later."""
    log, out = tmp_path / "nats.log", tmp_path / "run"
    log.write_text(SHORT.format("stock") + CALLED)
    questions = Questions(rules={"late.shop": Permissions(publish_allow=["prod.>"])})
    with pytest.raises(ValueError, match="the rules name no service of the traffic"):
        audit([str(log)], questions=questions)
    assert GrowingAudit([str(log)], str(out), questions=questions).read_on(complete=True)
    used = {row["rule"]: row["accepted"] for row in open_run(out).rows("permission_usage")}
    assert used["prod.>"] == 0


def test_a_result_that_is_replaced_while_it_is_read_is_read_again(tmp_path: Path) -> None:
    log, out = tmp_path / "nats.log", tmp_path / "run"
    log.write_text(SHORT.format("stock") + SPOOFED.format(2))
    watcher, kept = watched(log, out), tmp_path / "kept"
    audit([str(log)], out=out)
    kept.mkdir()
    tables = list(out.glob("*.parquet"))
    for each in tables:
        each.rename(kept / each.name)
    assert (watcher.refresh(), watcher.result) == (False, None)
    for each in tables:
        (kept / each.name).rename(each)
    assert watcher.refresh()
    assert watcher.result is not None


def temporary() -> set[str]:
    """Return the temporary folders of follow; a shipped file or a session has others."""
    folder = tempfile.gettempdir()
    return {name for name in os.listdir(folder) if name.startswith("subtrie-follow-")}


def test_a_finding_that_appears_ends_it_at_once(where: list[str], tmp_path: Path) -> None:
    """The page and the tables are those of the log as it has grown."""
    live, out, page = tmp_path / "nats.log", tmp_path / "run", tmp_path / "page.html"
    live.write_text(SHORT.format("stock") + CALLED)
    pages: list[bytes] = []

    def spoof() -> None:
        wait_until(page.exists, seconds=LONG)
        pages.append(page.read_bytes())
        with live.open("a") as file:
            file.write(SPOOFED.format(4) + SPOOFED.format(7))

    words = [str(live), "--out", str(out), "--report", str(page), "--fail-on", "spoofed,refused"]
    done = following(*words, *where, then=spoof)
    assert done.exit_code == 1, done.output
    assert done.output.startswith("error spoofed: evil.shop sent as web.shop; ")
    assert done.output.endswith("subtrie audit: --fail-on: 1 in spoofed\n")
    assert open_run(out).count("spoofed") == 1
    assert b"evil.shop" not in pages[0]
    assert b"evil.shop" in page.read_bytes()


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (["--until-idle", "1"], "--until-idle and --checkpoint need --follow"),
        (["--checkpoint", "c"], "--until-idle and --checkpoint need --follow"),
        (["--follow", "--checkpoint", "c"], "--checkpoint needs --master: without Spark the "),
        (["--follow", "--master", "local", "--checkpoint", "c"], "--checkpoint needs --out"),
        *(
            (["--follow", *words], "--follow audits all messages: give no --since, --until, ")
            for words in (
                ["--since", "2026-11-21"],
                ["--until", "2026-11-21"],
                ["--source", "web.shop"],
                ["--host", "web.shop"],
            )
        ),
        (["--follow", "--subject", "a", "--at", "2026-11-21"], "--at needs a log that has ended"),
        (["--follow", "--out", "s3://bucket/run"], "--follow needs --out on this machine"),
        (["--follow", "--out", "x", "--format", "delta"], "give no --follow with it"),
    ],
)
def test_contradictions_are_one_line_and_exit_2(
    tmp_path: Path, words: list[str], message: str
) -> None:
    log = tmp_path / "nats.log"
    log.write_text(SHORT.format("stock"))
    done = CliRunner().invoke(app, ["audit", str(log), *words])
    assert done.exit_code == 2
    assert message in done.stderr
    assert len(done.stderr.splitlines()) == 1
