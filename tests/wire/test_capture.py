"""The record format of captures: round trips, incomplete records, damage."""

from __future__ import annotations

import json
import os
import random
import stat
import zlib

import pytest
from hypothesis import given
from hypothesis import strategies as st

from subtrie import WireError
from subtrie.wire import capture
from subtrie.wire.capture import MARK, Record, Writer, pack

ROWS = [
    ("opened", 1, b'{"kind":"client"}'), ("c2s", 1, b"PING\r\n"), ("s2c", 1, b"PONG\r\n"),
    ("c2s", 1, b""), ("c2s", 2, MARK + b"\0" * 8), ("closed", 1, b'{"reason":"closed"}'),
]  # fmt: skip


def written(folder, rows=ROWS, **options):
    with Writer(folder, **options) as writer:
        for at, (kind, conn, data) in enumerate(rows):
            writer.write(kind, conn, data, at=at)
        writer.sync()
    return capture.files(folder)


def plain(records):
    return [(record.kind, record.conn, record.data) for record in records]


def until_damage(file, start=0):
    """The records up to the first damaged one, and the error it makes, or None."""
    found = []
    try:
        for record in capture.read(file, start=start):
            found += [record]
    except WireError as error:
        return found, error
    return found, None


def test_records_survive_a_round_trip(tmp_path):
    (file,) = written(tmp_path)
    records = list(capture.read(file))
    assert plain(records) == ROWS
    assert [record.time for record in records] == list(range(len(ROWS)))
    assert records[0].about == {"kind": "client"}
    assert records[1].about == {}
    assert plain(capture.read(tmp_path)) == ROWS
    assert plain(capture.read(file, start=records[3].offset)) == ROWS[3:]


def test_files_rotate_and_a_new_writer_begins_a_new_one(tmp_path):
    rows = [("c2s", 1, b"x" * 100)] * 10
    assert len(written(tmp_path, rows, rotate=300)) == 4
    assert len(written(tmp_path, rows, rotate=1 << 20)) == 5
    assert plain(capture.read(tmp_path)) == rows * 2
    assert [file.name for file in capture.files(tmp_path)][:2] == [
        "000001.capture", "000002.capture",
    ]  # fmt: skip


def test_a_file_that_is_as_large_as_it_may_be_ends(tmp_path):
    one = len(capture.MAGIC) + len(pack(Record("c2s", 1, 0, b"x")))
    for rotate, files in ((1, 4), (one - 1, 4), (one, 4), (one + 1, 2)):
        found = written(tmp_path / str(rotate), [("c2s", 1, b"x")] * 4, rotate=rotate)
        assert len(found) == files, rotate


def test_files_are_in_the_order_of_their_numbers(tmp_path):
    for name in ("999999", "1000000", "000002", "x", "2b", "-1"):
        (tmp_path / f"{name}.capture").write_bytes(capture.MAGIC)
    (tmp_path / "000003.txt").write_bytes(b"")
    assert [each.stem for each in capture.files(tmp_path)] == ["000002", "999999", "1000000"]
    assert [each.stem for each in written(tmp_path)][-1] == "1000001"


@pytest.mark.parametrize("kind", capture.RECORD_KINDS)
def test_what_is_told_of_a_connection_is_an_object(kind):
    told = {"kind": "client"} if kind in ("opened", "closed", "lost") else {}
    assert Record(kind, 0, 1, b'{"kind":"client"}').about == told
    for data in (b"", b"[]", b"{", b"\xff", b"7", b"[" * 99_999):
        assert Record(kind, 0, 1, data).about == {}


def test_a_record_without_a_time_is_of_now(tmp_path):
    with Writer(tmp_path) as writer:
        writer.write("c2s", 1, b"x")
    (only,) = capture.read(tmp_path)
    assert only.time > 1_700_000_000 * 10**9  # nanoseconds


@pytest.mark.parametrize("place", range(-5, 2))
def test_the_next_record_is_found_at_any_offset(tmp_path, place):
    """A mark may lie across the pieces in which it is searched for."""
    good = pack(Record("c2s", 5, 1, b"good"))
    noise = b"\0" * ((1 << 16) + place)
    (tmp_path / "1.capture").write_bytes(capture.MAGIC + noise + good)
    _, error = until_damage(tmp_path / "1.capture")
    first = len(capture.MAGIC)
    assert (error.position, error.resume) == (first, first + len(noise))
    assert f"(byte {first})" in str(error)
    assert error.hint
    assert error.hint in str(error)


def test_only_the_owner_can_read_a_capture(tmp_path):
    (file,) = written(tmp_path / "very" / "deep" / "er")
    assert file.stat().st_mode & 0o077 == 0
    assert file.parent.stat().st_mode & 0o077 == 0


def test_large_data_takes_several_records(tmp_path):
    data = random.Random(1).randbytes(capture.MAX_DATA * 2 + 5)
    written(tmp_path, [("c2s", 1, data)])
    records = list(capture.read(tmp_path))
    assert len(records) == 3
    assert b"".join(record.data for record in records) == data
    most = data[: capture.MAX_DATA]
    assert pack(Record("c2s", 0, 1, most))
    with pytest.raises(ValueError, match="a record holds at most 1048576 bytes, not 1048577"):
        pack(Record("c2s", 0, 1, most + b"x"))


def test_an_incomplete_last_record_ends_a_file_at_every_byte(tmp_path):
    (file,) = written(tmp_path)
    whole = file.read_bytes()
    offsets = [record.offset for record in capture.read(file)]
    for size in range(len(capture.MAGIC), len(whole)):
        file.write_bytes(whole[:size])
        kept = sum(1 for end in [*offsets[1:], len(whole)] if end <= size)
        assert plain(capture.read(file)) == ROWS[:kept]


def test_the_next_writer_continues_after_an_incomplete_record(tmp_path):
    (file,) = written(tmp_path)
    os.truncate(file, file.stat().st_size - 3)
    written(tmp_path)
    assert plain(capture.read(tmp_path)) == ROWS[:-1] + ROWS


def test_damage_is_reported_and_reading_continues_after_it(tmp_path):
    (file,) = written(tmp_path)
    whole = bytearray(file.read_bytes())
    offsets = [record.offset for record in capture.read(file)]
    for place in range(offsets[1], offsets[-1]):
        hurt = whole.copy()
        hurt[place] ^= 0x10
        file.write_bytes(hurt)
        number = sum(1 for offset in offsets if offset <= place) - 1
        got, error = until_damage(file)
        assert plain(got) == ROWS[:number]
        assert error is not None
        assert (error.reason, error.position) == ("record", offsets[number])
        assert error.resume == offsets[number + 1]
        assert plain(capture.read(file, start=error.resume)) == ROWS[number + 1 :]


def test_a_file_that_is_not_a_capture_is_refused(tmp_path):
    file = tmp_path / "x"
    for content in (b"PING\r\n", b"SUBTRIE-CAPTURE 2\n", b"\0" * 100):
        file.write_bytes(content)
        with pytest.raises(WireError) as caught:
            list(capture.read(file))
        assert caught.value.reason == "not a capture"
    file.write_bytes(capture.MAGIC[:5])  # stopped in the very first write
    assert list(capture.read(file)) == []
    with pytest.raises(FileNotFoundError):
        list(capture.read(tmp_path / "none"))
    with pytest.raises(FileNotFoundError):
        list(capture.read(tmp_path))
    with pytest.raises(ValueError, match="rotate"):
        Writer(tmp_path, rotate=0)


@pytest.mark.skipif(not hasattr(os, "geteuid"), reason="modes are those of POSIX")
def test_the_mode_of_an_existing_folder_is_kept(tmp_path):
    shared = tmp_path / "shared"
    shared.mkdir()
    shared.chmod(0o1777)
    (tmp_path / "link").symlink_to(shared)
    for folder in (shared, tmp_path / "link"):
        (file,) = written(folder)
        assert stat.S_IMODE(shared.stat().st_mode) == 0o1777
        assert stat.S_IMODE(file.stat().st_mode) == 0o600
        file.unlink()
    written(tmp_path / "made" / "here")
    assert stat.S_IMODE((tmp_path / "made" / "here").stat().st_mode) == 0o700


@pytest.mark.skipif(not hasattr(os, "geteuid"), reason="modes are those of POSIX")
def test_a_folder_of_another_user_is_refused(tmp_path, monkeypatch):
    monkeypatch.setattr(os, "geteuid", lambda: tmp_path.stat().st_uid + 1)
    with pytest.raises(PermissionError, match="belongs to another user"):
        Writer(tmp_path)
    assert list(tmp_path.iterdir()) == []


def test_writers_that_begin_at_the_same_time_have_files_of_their_own(tmp_path, monkeypatch):
    monkeypatch.setattr(capture, "files", lambda folder: [])  # neither sees the other's file
    with Writer(tmp_path) as one, Writer(tmp_path) as other:
        one.write("opened", 1, b"one")
        other.write("opened", 2, b"other")
    monkeypatch.undo()
    assert [record.data for record in capture.read(tmp_path)] == [b"one", b"other"]


def test_a_false_length_allocates_nothing(tmp_path):
    file = tmp_path / "1.capture"
    file.write_bytes(capture.MAGIC + MARK + b"\xff\xff\xff\xff" + b"\0" * 4)
    assert list(capture.read(file)) == []


@given(st.binary(max_size=300))
def test_random_bytes_raise_only_wire_errors(tmp_path_factory, noise):
    folder = tmp_path_factory.mktemp("noise", numbered=True)
    good = pack(Record("c2s", 5, 1, b"good"))
    (folder / "1.capture").write_bytes(capture.MAGIC + good + noise + good)
    start, found = 0, []
    while True:
        got, error = until_damage(folder / "1.capture", start)
        found += got
        if error is None:
            break
        assert error.resume > error.position
        start = error.resume
    assert plain(found)[0] == plain(found)[-1] == ("c2s", 1, b"good")
    assert len(found) >= 2
    assert json.dumps([record.offset for record in found])


@pytest.mark.parametrize("kind", [len(capture.RECORD_KINDS), 255])
def test_a_record_of_an_unknown_kind_is_damaged(tmp_path, kind):
    good = pack(Record("c2s", 1, 2, b"PING\r\n"))
    body = bytes([kind]) + good[capture._HEAD.size + 1 :]
    length = len(body).to_bytes(4, "little")
    unknown = MARK + length + zlib.crc32(length + body).to_bytes(4, "little") + body
    assert len(unknown) == len(good)
    file = tmp_path / "000001.capture"
    file.write_bytes(capture.MAGIC + unknown + good)
    with pytest.raises(WireError) as caught:
        list(capture.read(file))
    assert (caught.value.reason, caught.value.position) == ("record", len(capture.MAGIC))
    assert [each.data for each in capture.read(file, start=caught.value.resume)] == [b"PING\r\n"]
