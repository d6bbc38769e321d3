"""The files of a writer of captures: each is closed, and none is that of another writer."""

from __future__ import annotations

import gc
import warnings
from pathlib import Path

import pytest

from subtrie.wire import capture, read_records


def test_each_file_is_closed_when_the_next_one_begins(tmp_path: Path) -> None:
    gc.collect()
    with warnings.catch_warnings(record=True) as told:
        warnings.simplefilter("always", ResourceWarning)
        with capture.Writer(tmp_path, rotate=1) as writer:
            for number in range(3):
                writer.write("c2s", number, b"x")
        gc.collect()
    assert [str(each.message) for each in told] == []
    assert len(capture.files(tmp_path)) == 3


def test_a_writer_that_was_closed_begins_a_new_file(tmp_path: Path) -> None:
    writer = capture.Writer(tmp_path)
    for number in range(3):
        writer.write("c2s", number, b"x")
        writer.sync()
        for _ in range(2):
            writer.close()
        writer.sync()
    assert [each.conn for each in capture.read(tmp_path)] == [0, 1, 2]
    assert len(capture.files(tmp_path)) == 3


@pytest.mark.parametrize(("taken", "tries"), [(0, 1), (2, 3), (2, 2), (3, 2)])
def test_a_number_that_another_writer_has_taken_meanwhile_is_not_taken(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, taken: int, tries: int
) -> None:
    monkeypatch.setattr(capture, "files", lambda folder: [])  # as they were before
    monkeypatch.setattr(capture, "_TRIES", tries)
    for number in range(taken):
        (tmp_path / f"{number + 1:06}.capture").write_bytes(b"of another")
    writer = capture.Writer(tmp_path)
    if taken >= tries:
        with pytest.raises(FileExistsError):
            writer.write("c2s", 1, b"x")
    else:
        writer.write("c2s", 1, b"x")
        own = tmp_path / f"{taken + 1:06}.capture"
        assert [each.data for each in capture.read(own)] == [b"x"]
    writer.close()
    contents = [path.read_bytes() for path in sorted(tmp_path.iterdir())]
    assert contents[:taken] == [b"of another"] * taken


def test_a_disk_that_takes_a_part_of_a_record_is_an_error(tmp_path: Path) -> None:
    resource = pytest.importorskip("resource", reason="limits of POSIX")
    before = resource.getrlimit(resource.RLIMIT_FSIZE)
    with capture.Writer(tmp_path) as writer:
        writer.write("c2s", 1, b"whole")
        size = capture.files(tmp_path)[0].stat().st_size
        try:
            resource.setrlimit(resource.RLIMIT_FSIZE, (size + 30, before[1]))
            with pytest.raises(OSError, match="large"):
                writer.write("c2s", 2, b"in part" * 10)
        finally:
            resource.setrlimit(resource.RLIMIT_FSIZE, before)
        writer.write("c2s", 3, b"after it")
    data = [each.data for each in read_records(tmp_path) if isinstance(each, capture.Record)]
    assert data == [b"whole", b"after it"]
