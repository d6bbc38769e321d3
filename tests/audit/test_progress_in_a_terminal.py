"""The progress of an audit in a terminal: a line while it works, and no trace of it at the end."""

from __future__ import annotations

import contextlib
import io
import os
import re
import sys
import threading
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from trace_writer import Trace

from subtrie._cli.app import app
from subtrie._cli.stage_progress import StageProgress
from subtrie.spark._sessions import task_watch
from subtrie.spark._sessions.task_watch import watch_tasks

pty = pytest.importorskip("pty", reason="a terminal of POSIX")

_CONTROL = re.compile(r"\x1b\[([0-9;?]*)([A-Za-z])")


def screen(text: str) -> list[str]:
    """Return the lines that a terminal shows after a text; those that are empty are left out."""
    lines, row, column, at = [""], 0, 0, 0
    while at < len(text):
        found = _CONTROL.match(text, at)
        at += 1
        if found is not None:
            at = found.end()
            if found[2] == "A":
                row -= int(found[1] or 1)
                assert row >= 0, "it goes above its own lines"
            elif found[2] == "K":
                lines[row] = ""
            else:
                assert found[2] in "mhl", found[0]
        elif text[at - 1] == "\n":
            row += 1
            lines += [""] * (row == len(lines))
        elif text[at - 1] == "\r":
            column = 0
        else:
            lines[row] = lines[row][:column].ljust(column) + text[at - 1] + lines[row][column + 1 :]
            column += 1
    return [line.rstrip() for line in lines if line.strip()]


def plain(text: str) -> str:
    """Return a text without what moves the cursor and what colours it."""
    return _CONTROL.sub("", text)


@contextlib.contextmanager
def terminal(monkeypatch: pytest.MonkeyPatch, stream: str = "stderr") -> Iterator[list[str]]:
    """Make a stream of this process that of a terminal; the list receives what it got."""
    monkeypatch.setenv("TERM", "xterm")
    monkeypatch.setenv("COLUMNS", "120")
    for name in ("NO_COLOR", "FORCE_COLOR", "TTY_COMPATIBLE", "TTY_INTERACTIVE"):
        monkeypatch.delenv(name, raising=False)
    master, slave = pty.openpty()
    pieces: list[bytes] = []
    got: list[str] = []

    def read() -> None:
        with contextlib.suppress(OSError):  # the other end is closed
            while data := os.read(master, 4096):
                pieces.append(data)

    reader = threading.Thread(target=read, name="terminal")
    reader.start()
    try:
        with monkeypatch.context() as patch, os.fdopen(slave, "w", encoding="utf-8") as file:
            patch.setattr(sys, stream, file)
            yield got
    finally:
        reader.join()
        os.close(master)
        got.append(b"".join(pieces).decode())


def run(*arguments: object) -> tuple[object, str]:
    """Run the command in this process; return the exit code and standard output."""
    with pytest.raises(SystemExit) as end, contextlib.redirect_stdout(io.StringIO()) as out:
        app.main([str(each) for each in arguments], "subtrie")
    return end.value.code, out.getvalue()


@pytest.fixture
def log(tmp_path: Path) -> Path:
    trace = Trace()
    for number in range(20):
        trace.tick(0.1)
        trace.publish(1, f"p1.safe.443.a_com.b_com._.GET.{number}", payload="")
    path = tmp_path / "nats.log"
    path.write_text(trace.text())
    return path


@pytest.mark.parametrize(
    ("options", "more"),
    [
        ([], []),
        (["--answers"], ["answering questions"]),
        (["--expect", "builtin"], ["checking expectations"]),
        (["--report", "PAGE"], ["writing the report"]),
    ],
    ids=["plain", "answers", "expect", "report"],
)
def test_each_step_of_an_audit_is_shown_and_the_line_is_removed(
    options: list[str], more: list[str], log: Path, tmp_path: Path, monkeypatch: Any
) -> None:
    monkeypatch.chdir(tmp_path)
    with terminal(monkeypatch) as got:
        told = run("audit", log, *options)
    at = [plain(got[0]).find(step) for step in ("reading lines", "writing tables (20 rows)", *more)]
    assert -1 not in at
    assert at == sorted(at)
    size = log.stat().st_size
    assert f" {size}/{size} " in plain(got[0])
    assert screen(got[0]) == []
    assert got[0].rindex("\x1b[?25h") > got[0].rindex("\x1b[?25l"), "the cursor is shown again"
    assert told == run("audit", log, *options), "standard output is that without a terminal"


def test_findings_of_a_log_that_is_followed_are_not_in_a_line_of_progress(
    log: Path, monkeypatch: Any
) -> None:
    with terminal(monkeypatch) as got:
        told = run("audit", log, "--follow", "--until-idle", "0.01")
    assert screen(got[0]) == []
    assert "b_com" not in got[0]
    assert told == run("audit", log, "--follow", "--until-idle", "0.01")
    assert "b_com" in told[1].split("\n")[0]


@pytest.mark.parametrize(
    ("options", "last"),
    [
        (["--rules", "a.conf"], "answering questions"),
        (["--at", "noon", "--subject", "a"], ""),
        (["--master", "spark://127.0.0.1:1"], "starting Spark"),
    ],
    ids=["after reading", "before a step", "on Spark"],
)
def test_an_error_stays_and_the_line_does_not(
    options: list[str], last: str, log: Path, tmp_path: Path, monkeypatch: Any
) -> None:
    monkeypatch.chdir(tmp_path)
    Path("a.conf").write_text("authorization { users: [{user: a, password: b}] }\n")
    with terminal(monkeypatch) as got:
        assert run("audit", log, *options) == (2, "")
    assert last in plain(got[0])
    told = "".join(screen(got[0]))
    assert told.startswith("subtrie audit: ")
    assert "━" not in told


def test_the_tasks_of_a_session_are_shown(spark: Any, monkeypatch: Any) -> None:
    def slow(batches: Any) -> Any:
        time.sleep(0.2)
        yield from batches

    with terminal(monkeypatch) as got, StageProgress() as progress:
        progress.step("reading lines", 1000)
        progress.watch(spark)
        spark.range(0, 8, 1, 8).mapInArrow(slow, "id bigint").collect()
        threads = {each.name for each in threading.enumerate()}
        progress.stop()
        assert "subtrie-progress" in threads
        assert "subtrie-progress" not in {each.name for each in threading.enumerate()}
    assert re.search(r"reading lines \(1,000 rows\) .* \d/8 ", plain(got[0]))
    assert screen(got[0]) == []


def test_the_session_of_an_audit_is_watched_until_its_end(
    spark: Any, log: Path, tmp_path: Path, monkeypatch: Any
) -> None:
    """It ends before it reads: the format of its tables is not there."""
    watched: list[Any] = []
    ended: list[Any] = []

    def watch(session: Any, update: Any) -> Any:
        watched.append(session)
        stop = watch_tasks(session, update)
        return lambda: (stop(), ended.append(session))

    monkeypatch.setattr(task_watch, "watch_tasks", watch)
    options = ["--master", spark.conf.get("spark.master"), "--format", "delta", "--out", "out"]
    with terminal(monkeypatch) as got:
        assert run("audit", log, *options) == (2, "")
    assert (watched, ended) == ([spark], [spark])
    assert "cannot write delta" in "".join(screen(got[0]))


def test_a_step_begins_without_the_counts_of_the_one_before(monkeypatch: Any) -> None:
    with terminal(monkeypatch) as got, StageProgress() as progress:
        progress.step("reading lines")
        progress.update(3_000_000, 8_000_000)
        progress.step("writing tables", 1000)
        progress.update(1, 4)
        progress.step("answering questions")
        progress.update(2, 4)
        progress.step("writing the report")
        for _ in range(2):
            progress.stop()
    shown = plain(got[0])
    for count in (
        r"reading lines +━+ +0/\? +0:",
        r"reading lines .*━ 3000000/8000000 [\d.]+ MB/s, \d+ s left 0:",
        r"writing tables \(1,000 rows\) +━+ +0/\? +0:",
        r"writing tables \(1,000 rows\) .*━ 1/4 [\d,]+ rows/s, \d+ s left 0:",
        r"answering questions +━+ +0/\? +0:",
        r"answering questions .*━ 2/4 [\d.]+ MB/s, \d+ s left 0:",
        r"writing the report +━+ +0/\? +0:",
    ):
        found = re.search(count, shown)
        assert found, (count, shown)
        shown = shown[found.end() :]
    assert screen(got[0]) == []


@pytest.mark.parametrize("stream", ["stdout", "stdin"])
def test_a_terminal_elsewhere_does_not_show_the_line(
    stream: str, monkeypatch: Any, capfd: Any
) -> None:
    with terminal(monkeypatch, stream), StageProgress() as progress:
        progress.step("reading lines")
    assert capfd.readouterr() == ("", "")
