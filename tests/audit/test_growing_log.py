"""Logs that grow and are rotated, read in pieces: the rows of a single read, and none is lost."""

from __future__ import annotations

import gzip
import json
import random
import re
import shutil
from datetime import timedelta
from itertools import pairwise
from pathlib import Path
from typing import Any

import pytest
from local_run import read
from trace_writer import Trace, random_trace

from subtrie.audit import OutputFolderError, Questions, open_run
from subtrie.audit._growing import VERSION, GrowingAudit, check_stream, may_be_several
from subtrie.audit._readers.growing_log import (
    RotatedAwayError,
    advance,
    blocks,
    empty_offset,
    files_of,
    files_there,
    ranges,
)
from subtrie.audit._readers.log_reader import read_range, whole_logs
from synthetic_traffic import write_traffic

_PLACES = ("file", "offset", "server")


class Follower:
    """Reads a log as it grows, as a stream does: every offset passes through JSON."""

    def __init__(self, *paths: Path, split_bytes: int = 20_000, strict: bool = True) -> None:
        self.paths = [str(path) for path in paths]
        self.offset = empty_offset()
        self.rows: list[dict[str, Any]] = []
        self.counts: dict[str, int] = {}
        self.split_bytes = split_bytes
        self.strict = strict
        self.noted: list[Any] = []

    def plan(self, *, complete: bool = False) -> dict[str, Any]:
        noted = () if self.offset["logs"] else self.noted
        end = advance(self.paths, self.offset, complete=complete, strict=self.strict, noted=noted)
        return json.loads(json.dumps(end))

    def take(self, *, complete: bool = False) -> int:
        """Read what there is; return the number of new rows."""
        end = self.plan(complete=complete)
        before = len(self.rows)
        for part, files in ranges(self.offset, end, self.split_bytes, strict=self.strict):
            counts: dict[str, int] = {}
            lines = blocks(files, part.start, strict=self.strict)
            for batch in read_range(part, None, counts, lines):
                self.rows += batch.to_pylist()
            for name, count in counts.items():
                self.counts[name] = self.counts.get(name, 0) + count
        self.offset = end
        return len(self.rows) - before

    def same_as(self, data: bytes) -> None:
        """Check that the rows are those of a single read."""
        whole = read(data)
        ours = [{k: v for k, v in row.items() if k not in _PLACES} for row in self.rows]
        theirs = [{k: v for k, v in row.items() if k not in _PLACES} for row in whole]
        assert sorted(ours, key=lambda row: row["position"]) == theirs
        assert {k: n for k, n in self.counts.items() if n} == {
            k: n for k, n in whole.counts.items() if n
        }


def cuts(data: bytes, count: int, dice: random.Random) -> list[bytes]:
    """Cut a log into pieces at any byte."""
    places = sorted({0, *(dice.randrange(len(data)) for _ in range(count - 1)), len(data)})
    return [data[a:b] for a, b in pairwise(places)]


def rotated(live: Path, number: int) -> Path:
    return live.with_name(f"{live.name}.{number}")


def rotations(data: bytes, count: int, dice: random.Random) -> list[int]:
    """Return positions of lines at which a server may begin a new file, in order of their times."""
    found = [(m.start(), m[1]) for m in re.finditer(rb"(?m)^\[7\] (2026\S+ \S+) ", data)]
    kept: list[int] = []
    latest = found[0][1]
    for at, stamp in found[1:]:
        if stamp > latest and dice.random() < count / len(found):
            kept, latest = [*kept, at], stamp
    return kept


@pytest.mark.requirement("P-03")
@pytest.mark.parametrize("seed", range(6))
def test_forty_pieces_with_rotations_have_the_rows_of_one_read(tmp_path, seed):
    dice = random.Random(seed)
    data = random_trace(seed, steps=400).encode("utf-8", "surrogateescape")
    live = tmp_path / "trace.log"
    live.touch()
    follower = Follower(live)
    turns = rotations(data, 8, dice)
    places = sorted({*turns, *(dice.randrange(len(data)) for _ in range(40)), len(data)})
    done = 0
    for place in places:
        with live.open("ab") as out:
            out.write(data[done:place])
        done = place
        if dice.random() < 0.8:
            follower.take()
        if place in turns:
            live.rename(rotated(live, turns.index(place)))
            live.touch()
    follower.take()
    follower.take(complete=True)
    assert len(turns) > 3
    follower.same_as(data)


def test_a_real_world_in_forty_pieces(tmp_path):
    write_traffic(tmp_path / "world", seed=81, rows=3000)
    data = (tmp_path / "world" / "trace.log").read_bytes()
    live = tmp_path / "trace.log"
    follower = Follower(tmp_path / "trace.log*")
    for piece in cuts(data, 40, random.Random(1)):
        with live.open("ab") as out:
            out.write(piece)
        follower.take()
    there = {row["position"] for row in follower.rows}
    whole = read(data)
    latest = max(row["time"] for row in whole if row["time"])
    held = [row for row in whole if row["position"] not in there]
    assert held
    assert all(row["time"] is None or latest - row["time"] < timedelta(seconds=5) for row in held)
    follower.take(complete=True)
    follower.same_as(data)
    server = whole_logs([str(live)])[0].server
    assert {row["server"] for row in follower.rows} == {server}


def messages(*texts: str, start: float = 0) -> bytes:
    """Return a log in which one client publishes, two seconds apart."""
    trace = Trace()
    trace.tick(start)
    for text in texts:
        trace.publish(1, text)
        trace.tick(2)
    return trace.text().encode()


def subjects(follower: Follower) -> list[str]:
    return [row["subject"] for row in follower.rows if row["op"] == "PUB"]


@pytest.fixture
def live(tmp_path: Path) -> Path:
    return tmp_path / "nats.log"


def test_a_half_line_waits_for_its_end(live):
    data = messages("a", "b", "c")
    live.write_bytes(data[:-130])
    follower = Follower(live)
    follower.take()
    before = follower.offset
    follower.take()
    assert follower.offset == before  # nothing is new, so there is no batch
    live.write_bytes(data)
    follower.take(complete=True)
    assert subjects(follower) == ["a", "b", "c"]
    assert follower.counts["unparseable_lines"] == 0


def test_the_deliveries_of_the_last_message_are_waited_for(live):
    live.write_bytes(messages("a"))
    follower = Follower(live)
    assert follower.take() == 0
    with live.open("ab") as out:
        out.write(messages("b", start=2))
    assert follower.take() == 1
    assert subjects(follower) == ["a"]


def test_a_directory_beside_a_log_is_not_a_rotated_file(live):
    """Bug: with the tables in ``nats.log.run`` the second reading failed."""
    live.write_bytes(messages("a"))
    live.with_name(f"{live.name}.run").mkdir()
    follower = Follower(live)
    follower.take(complete=True)
    assert subjects(follower) == ["a"]


@pytest.mark.parametrize("compressed", [False, True])
def test_three_rotations_between_two_reads_lose_nothing(live, compressed):
    """Only the live file was given; the rest is found beside it, compressed or not."""
    live.write_bytes(messages("a", "b"))
    follower = Follower(live)
    follower.take()
    for number, text in enumerate(("c", "d", "e")):
        with live.open("ab") as out:
            out.write(messages(text, start=10 + 10 * number))
        if compressed:
            with gzip.open(f"{live}.{number}.gz", "wb") as out:
                out.write(live.read_bytes())
        else:
            live.rename(rotated(live, number))
        live.write_bytes(messages(f"{text}2", start=13 + 10 * number))
    follower.take(complete=True)
    assert subjects(follower) == ["a", "b", "c", "c2", "d", "d2", "e", "e2"]


def test_a_rotation_between_the_plan_and_the_read_loses_nothing(live):
    live.write_bytes(messages("a", "b", "c"))
    follower = Follower(live)
    end = follower.plan(complete=True)
    live.rename(rotated(live, 1))
    live.write_bytes(messages("later", start=60))
    ((part, files),) = ranges(follower.offset, end, 1 << 20)
    rows = [
        row for b in read_range(part, blocks=blocks(files, part.start)) for row in b.to_pylist()
    ]
    assert [row["subject"] for row in rows if row["op"] == "PUB"] == ["a", "b", "c"]


def test_a_log_that_is_copied_and_truncated_goes_on(live):
    live.write_bytes(messages("a", "b"))
    follower = Follower(live)
    follower.take()
    shutil.copy(live, rotated(live, 1))
    live.write_bytes(messages("c", start=10))
    follower.take(complete=True)
    assert subjects(follower) == ["a", "b", "c"]


def test_a_file_that_was_removed_unread_is_an_error(live, monkeypatch):
    monkeypatch.setattr("subtrie.audit._readers.growing_log._PAUSE", 0)
    live.write_bytes(messages("a", "b"))
    follower = Follower(live)
    follower.take()
    live.write_bytes(messages("c", "d", start=10))
    with pytest.raises(RotatedAwayError, match="was removed before all of it was read"):
        follower.take()
    follower.strict = False
    follower.take(complete=True)
    assert subjects(follower) == ["a", "c", "d"]


def test_a_file_that_was_read_to_its_end_may_be_removed(live):
    live.write_bytes(messages("a", "b"))
    follower = Follower(live)
    follower.take()
    live.rename(rotated(live, 1))
    live.write_bytes(messages("c", "d", start=10))
    follower.take()
    rotated(live, 1).unlink()
    with live.open("ab") as out:
        out.write(messages("e", start=20))
    follower.take(complete=True)
    assert subjects(follower) == ["a", "b", "c", "d", "e"]


@pytest.mark.parametrize("less", [1, 200])
def test_a_file_that_became_shorter_is_an_error(live, less):
    data = messages("a", "b", "c")
    live.write_bytes(data)
    follower = Follower(live)
    follower.take(complete=True)
    live.write_bytes(data[:-less])
    with pytest.raises(OSError, match="became shorter"):
        follower.take()


def test_a_file_of_which_the_next_begins_where_reading_goes_on_may_be_removed(live):
    """The second file has one message, which is not decided yet, so none of it was read."""
    live.write_bytes(messages("a", "b"))
    follower = Follower(live)
    follower.take()
    live.rename(rotated(live, 1))
    live.write_bytes(messages("c", start=10))
    follower.take()
    (log,) = follower.offset["logs"].values()
    assert log["position"] == log["files"][-1]["base"]
    rotated(live, 1).unlink()
    with live.open("ab") as out:
        out.write(messages("d", start=20))
    follower.take(complete=True)
    assert subjects(follower) == ["a", "b", "c", "d"]


def test_a_file_that_was_cut_off_in_the_middle_of_a_line_ends_its_line(live):
    first, second = messages("a", "b", "c")[:-40], messages("d", start=20)
    live.write_bytes(first)
    follower = Follower(live, split_bytes=150)
    follower.take()
    live.rename(rotated(live, 1))
    live.write_bytes(second)
    follower.take(complete=True)
    follower.same_as(first + b"\n" + second)


@pytest.mark.parametrize("given", ["nats.log", "nats.log*"])
def test_files_that_begin_at_the_same_time_are_one_log(live, given):
    """A log may be rotated within a microsecond, and files of one time are not earlier."""
    follower = Follower(live.with_name(given))
    for number, name in enumerate("abc"):
        live.write_bytes(messages(name, f"{name}2"))
        follower.take()
        live.rename(rotated(live, number))
    live.write_bytes(messages("d"))
    follower.take(complete=True)
    assert sorted(set(subjects(follower))) == ["a", "a2", "b", "b2", "c", "c2", "d"]
    assert len(follower.offset["logs"]) == 1


def test_files_from_before_the_reading_that_were_not_asked_for_are_not_read(live):
    """They are beside the live log, of the same process or of another one."""
    rotated(live, 1).write_bytes(messages("old"))
    rotated(live, 2).write_bytes(messages("older").replace(b"[7]", b"[8]"))
    live.write_bytes(messages("a", "b", start=60))
    follower = Follower(live)
    follower.take()
    with live.open("ab") as out:
        out.write(messages("c", start=80))
    follower.take(complete=True)
    assert subjects(follower) == ["a", "b", "c"]


def test_names_that_only_begin_alike_are_two_logs(live):
    """In containers each server is process 1."""
    other = live.with_name("nats.logger")
    live.write_bytes(messages("a", "b"))
    other.write_bytes(messages("c", "d", start=60))
    follower = Follower(live, other)
    follower.take(complete=True)
    assert sorted(subjects(follower)) == ["a", "b", "c", "d"]
    assert len(follower.offset["logs"]) == 2


def test_a_file_that_is_being_compressed_is_read_from_its_original(live):
    """Bug: the incomplete file beside it was an error, and ended the reading."""
    follower = Follower(live)
    live.write_bytes(messages("a", "b"))
    follower.take()
    live.rename(rotated(live, 1))
    live.write_bytes(messages("c", "d", start=10))
    packed = gzip.compress(rotated(live, 1).read_bytes())
    for size in (0, 3, 12, len(packed) - 1):
        live.with_name("nats.log.1.gz").write_bytes(packed[:size])
        follower.take()
    live.with_name("nats.log.1.gz").write_bytes(packed)
    follower.take()
    rotated(live, 1).unlink()
    follower.take(complete=True)
    assert subjects(follower) == ["a", "b", "c", "d"]


def test_of_a_file_and_its_copy_the_original_is_read(live):
    """The copy is not complete, though more than its first line is there."""
    live.write_bytes(messages(*(f"a{number}" for number in range(900))))
    follower = Follower(live)
    follower.take()
    live.rename(rotated(live, 1))
    live.write_bytes(messages("b", start=3000))
    packed = gzip.compress(rotated(live, 1).read_bytes())
    live.with_name("nats.log.1.gz").write_bytes(packed[:-9])
    follower.take(complete=True)
    assert len(subjects(follower)) == 901


def test_a_damaged_file_without_an_original_is_an_error(live):
    live.with_name("nats.log.1.gz").write_bytes(gzip.compress(messages("a"))[:-9])
    with pytest.raises(OSError, match="the compressed log is damaged"):
        Follower(live.with_name("nats.log*")).take()


@pytest.mark.parametrize("limit", [2, None])
def test_files_that_were_read_to_their_end_are_known_for_a_while(live, monkeypatch, limit):
    """Otherwise a pattern finds them again, as files with lines from before those read."""
    if limit is not None:
        monkeypatch.setattr("subtrie.audit._readers.growing_log._REMEMBERED", limit)
    follower = Follower(live.with_name("nats.log*"))
    for number in range(4):
        live.write_bytes(messages(f"a{number}", f"b{number}", start=20 * number))
        follower.take()
        if limit is not None and number > 1:
            rotated(live, number - 2).unlink()  # forgotten by now
        live.rename(rotated(live, number))
    live.write_bytes(messages("c", "d", start=200))
    follower.take(complete=True)
    assert subjects(follower)[-2:] == ["c", "d"]
    assert len(subjects(follower)) == 10
    (log,) = follower.offset["logs"].values()
    assert len(log["done"]) == (limit or 3)


def test_a_first_line_of_any_length_names_its_file(live):
    """A line without an end is complete if it is longer than what is read of it."""
    begin = messages("a").split(b"\n")[0]
    live.write_bytes(begin + b"x" * 70_000)
    follower = Follower(live)
    follower.take()
    assert follower.rows == [], "nothing of it is decided"
    with live.open("ab") as out:
        out.write(b"\n" + messages("b", "c", start=5))
    follower.take()
    assert subjects(follower) == ["b"]


@pytest.mark.parametrize("end", [b"\n", b"\r\n"])
def test_a_log_has_one_name_however_it_is_read(live, end):
    live.write_bytes(messages("a", "b").replace(b"\n", end))
    follower = Follower(live)
    follower.take()
    assert set(follower.offset["logs"]) == {whole_logs([str(live)])[0].server}


def test_ranges_are_as_many_as_the_size_needs_and_none_is_empty(live):
    data = messages(*"abcdefghij")
    live.write_bytes(data)
    follower = Follower(live)
    end = follower.plan(complete=True)
    early = follower.plan()  # the last message is not decided yet
    (log,) = early["logs"].values()
    found = [part for part, _ in ranges(follower.offset, early, 1)]
    assert all(part.start < part.end for part in found)
    assert found[-1].end == log["position"] < len(data)
    for split, count in ((len(data), 1), (len(data) - 1, 2), (len(data) // 2 - 100, 3)):
        found = [part for part, _ in ranges(follower.offset, end, split)]
        assert len(found) == count
    for split in (1, 50, 100):
        found = [part for part, _ in ranges(follower.offset, end, split)]
        assert [part.start for part in found] == [0, *(part.end for part in found[:-1])]
        assert all(part.start < part.end for part in found)
        assert found[-1].end == len(data)


def test_a_range_needs_only_the_files_that_it_is_in(live):
    live.write_bytes(messages("a", "b"))
    follower = Follower(live)
    follower.take()
    live.rename(rotated(live, 1))
    live.write_bytes(messages("c", "d", start=10))
    end = follower.plan(complete=True)
    (log,) = end["logs"].values()
    base = log["files"][1]["base"]
    rotated(live, 1).unlink()
    assert b"".join(block for _, block in blocks(log["files"], base)) == live.read_bytes()
    # It is found under another name of its log, too.
    live.rename(live.with_name("nats-old.log"))
    found = [{**log["files"][1], "path": str(rotated(live, 2))}]
    assert b"".join(block for _, block in blocks(found, base)).startswith(b"[7]")


def test_the_files_of_some_logs_are_those_of_their_processes_from_their_start_on(tmp_path):
    names = {"a.log.1": (7, 0), "a.log.2": (7, 60), "a.log": (7, 60), "b.log": (8, 0)}
    for number, (name, (process, start)) in enumerate(names.items()):
        text = messages(f"m{number}", start=start).replace(b"[7]", b"[%d]" % process)
        (tmp_path / name).write_bytes(text)
    servers = {name: whole_logs([str(tmp_path / name)])[0].server for name in names}

    def of(*wanted: str) -> list[str]:
        found = files_of([str(tmp_path)], [servers[name] for name in wanted])
        return sorted(Path(path).name for path in found)

    assert of("a.log.1") == ["a.log", "a.log.1", "a.log.2"]
    assert of("a.log.2") == ["a.log", "a.log.2"]
    assert of("b.log") == ["b.log"]
    assert of("b.log", "a.log") == ["a.log", "a.log.2", "b.log"]
    (tmp_path / "b.log").unlink()
    with pytest.raises(RotatedAwayError, match=f"first file of the log {servers['b.log']}"):
        of("a.log", "b.log")


def test_a_file_with_earlier_lines_that_comes_late_is_an_error(live):
    live.write_bytes(messages("b", "c", start=60))
    follower = Follower(live.with_name("nats.log*"))
    follower.take()
    rotated(live, 1).write_bytes(messages("a"))
    with pytest.raises(ValueError, match=r"from before those of .*nats\.log"):
        follower.take()


def test_logs_of_two_servers_have_their_own_offsets(tmp_path):
    for name, text in (("one.log", "a"), ("two.log", "b")):
        (tmp_path / name).write_bytes(messages(text, text, start=len(name) + ord(text)))
    follower = Follower(tmp_path)
    follower.take()
    with (tmp_path / "two.log").open("ab") as out:
        out.write(messages("c", start=300))
    follower.take(complete=True)
    assert sorted(subjects(follower)) == ["a", "a", "b", "b", "c"]
    assert len(follower.offset["logs"]) == 2


def test_an_offset_of_another_version_is_refused(live):
    live.write_bytes(messages("a"))
    for version in (0, 9):
        with pytest.raises(ValueError, match=f"offsets of version {version}"):
            advance([str(live)], {"version": version, "logs": {}})


def test_an_audit_goes_on_in_its_own_directory_only(live, tmp_path):
    out = tmp_path / "out"
    live.write_bytes(messages("a", "b"))
    growing = GrowingAudit([str(live)], str(out), planes=["q", "p"])
    assert growing.read_on() is True
    before = (out / "audit.json").read_bytes()
    assert growing.read_on() is False, "nothing is new"
    assert (out / "audit.json").read_bytes() == before
    with open_run(out) as result:
        (record,) = result.rows("runs")
        assert json.loads(record["options"])["planes"] == ["p", "q"]
        assert record["input_digest"] is None
    # The next process goes on where this one was.
    with live.open("ab") as file:
        file.write(messages("c", start=10))
    again = GrowingAudit([str(live)], str(out), planes=["q", "p"])
    assert again.read_on(complete=True) is True
    with open_run(out) as result:
        assert result.counters["published"] == 3
    with pytest.raises(ValueError, match="SUBTRIE_REDACT_KEY"):
        GrowingAudit([str(live)], str(tmp_path / "other"), redact=["id"])
    manifest = json.loads((out / "audit.json").read_text())
    del manifest["stream"]["offset"]
    (out / "audit.json").write_text(json.dumps(manifest))
    with pytest.raises(OutputFolderError, match="has a stream of Spark"):
        GrowingAudit([str(live)], str(out))


def test_partials_that_cannot_be_gone_on_with_are_refused():
    asked = Questions()
    check_stream({"logs": {}, "version": -1}, asked, "out")  # nothing was read
    for version, answers, questions, told in (
        (VERSION + 1, True, None, "another version of subtrie"),
        (VERSION - 1, True, None, "another version of subtrie"),
        (None, True, None, "another version of subtrie"),
        (VERSION, False, asked, "a stream that began without questions"),
    ):
        stream = {"logs": {"a": 1}, "version": version, "answers": answers}
        with pytest.raises(OutputFolderError, match=told):
            check_stream(stream, questions, "out")
    for answers, questions in ((True, asked), (True, None), (False, None)):
        stream = {"logs": {"a": 1}, "version": VERSION, "answers": answers}
        check_stream(stream, questions, "out")


def test_which_paths_may_be_the_logs_of_several_servers(tmp_path):
    (tmp_path / "folder").mkdir()
    several = [["a", "b"], [str(tmp_path / "folder")], ["*.log"], ["a?.log"], ["a[12].log"]]
    assert all(may_be_several(each) for each in several)
    assert not may_be_several([str(tmp_path / "a.log")])


@pytest.mark.parametrize("begun", ["with a line", "empty"])
def test_a_log_that_is_rotated_before_the_first_batch_is_read_from_its_first_line(tmp_path, begun):
    """The session of ``--follow`` takes seconds to start; the file it was given was lost."""
    data = random_trace(5, steps=200).encode("utf-8", "surrogateescape")
    (turn,) = rotations(data, 8, random.Random(5))[-1:]
    live = tmp_path / "trace.log"
    live.write_bytes(data[:100] if begun == "with a line" else b"")
    follower = Follower(live)
    follower.noted = files_there([str(live)])
    live.write_bytes(data[:turn])
    live.rename(rotated(live, 1))
    live.write_bytes(data[turn:])
    follower.take()
    follower.take(complete=True)
    follower.same_as(data)


@pytest.mark.parametrize("paths", [["b.log"], ["b*.log"], ["a.log", "b.log"], ["*.log"]], ids=str)
def test_a_log_is_known_before_its_first_message_is_decided(tmp_path, paths):
    """It was lost if it was rotated then, after a batch of another log or without one."""
    one, other = tmp_path / "a.log", tmp_path / "b.log"
    lines = messages(*"cdef").splitlines(keepends=True)
    one.write_bytes(messages("x", "y").replace(b"[7]", b"[8]"))
    other.write_bytes(lines[0])
    follower = Follower(*(tmp_path / path for path in paths))
    follower.noted = files_there(follower.paths)
    audit = GrowingAudit(follower.paths, str(tmp_path / "run"), noted=follower.noted)
    for _ in range(2):
        follower.take()
        audit.read_on()
    rotated(other, 1).write_bytes(lines[0] + lines[1])
    other.write_bytes(b"".join(lines[2:]))
    follower.take(complete=True)
    expected = [*"cdef", *(["x", "y"] if paths[0] in ("a.log", "*.log") else [])]
    assert sorted(subjects(follower)) == expected
    audit.read_on(complete=True)
    assert open_run(tmp_path / "run").counters["published"] == len(expected)


def test_a_log_that_is_compressed_before_the_first_batch_is_read(tmp_path):
    data = random_trace(5, steps=200).encode("utf-8", "surrogateescape")
    (turn,) = rotations(data, 8, random.Random(5))[-1:]
    live = tmp_path / "trace.log"
    live.write_bytes(data[:turn])
    follower = Follower(live)
    follower.noted = files_there([str(live)])
    live.with_name("trace.log.1.gz").write_bytes(gzip.compress(data[:turn]))
    live.write_bytes(data[turn:])
    follower.take()
    follower.take(complete=True)
    follower.same_as(data)


def test_a_log_that_is_removed_before_the_first_batch_is_told(tmp_path):
    data = random_trace(5, steps=200).encode("utf-8", "surrogateescape")
    live = tmp_path / "trace.log"
    live.write_bytes(data)
    follower = Follower(live)
    follower.noted = files_there([str(live)])
    live.write_bytes(data[data.index(b"\n", 9000) + 1 :])
    with pytest.raises(RotatedAwayError, match="removed before it was read"):
        follower.take()
