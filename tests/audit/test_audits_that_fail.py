"""An audit that fails leaves everything as it was, and the next one has its tables."""

from __future__ import annotations

import contextlib
import gc
import hashlib
import json
import re
import sys
import tempfile
import warnings
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from trace_writer import Trace

from subtrie.audit import _growing, _here, audit
from subtrie.audit._growing import GrowingAudit

resource = pytest.importorskip("resource", reason="limits of POSIX")


def on_full_disks(call: Callable[[], Any], unchanged: Callable[[], Any]) -> int:
    """Call while no file may become larger than a few bytes, then than more, until it succeeds.

    Returns:
        How often it failed; it left things unchanged then.
    """
    before, limits = unchanged(), resource.getrlimit(resource.RLIMIT_FSIZE)
    for count, size in enumerate((64, 64, 2_000, 4_000, 5_000, 6_000, 8_000, 12_000, 1 << 20)):
        try:
            resource.setrlimit(resource.RLIMIT_FSIZE, (size, limits[1]))
            call()
        except OSError as error:
            told = str(error)
        else:
            return count
        finally:
            resource.setrlimit(resource.RLIMIT_FSIZE, limits)
        assert re.search("large|no space is left", told)
        assert unchanged() == before
    raise AssertionError("it never succeeds")


@contextlib.contextmanager
def every_file_closed() -> Iterator[None]:
    """Check that each file is closed by the program, and not because it is forgotten.

    An error that then occurs is printed, with its traceback.
    """
    gc.collect()
    ignored: list[str] = []
    with warnings.catch_warnings(record=True) as told, pytest.MonkeyPatch.context() as patch:
        warnings.simplefilter("always", ResourceWarning)
        patch.setattr(sys, "unraisablehook", lambda each: ignored.append(repr(each)))
        yield
        gc.collect()
    assert ([str(each.message) for each in told], ignored) == ([], [])


def written(path: Path, messages: range, mode: str = "w") -> Path:
    """Write messages of some services to a log, each a second after the one before."""
    trace = Trace()
    trace.tick(messages.start)
    for number in messages:
        trace.tick(1)
        trace.publish(1 + number % 3, f"p1.safe.443.a_com.b{number % 5}_com._.GET.{number}")
        trace.write(1 + number % 3, "<<- [PING]")
    with path.open(mode) as file:
        file.write(trace.text())
    return path


def files_of(folder: Path) -> list[str]:
    """Return the names of all files below a folder, with digests of what they hold."""
    found = [folder, *sorted(folder.rglob("*"))] if folder.exists() else []
    digest = hashlib.sha256
    return [f"{each} {digest(each.read_bytes() if each.is_file() else b'').hexdigest()[:12]}"
            for each in found]  # fmt: skip


def tables_of(folder: Path | str) -> Any:
    return json.loads((Path(folder) / "audit.json").read_text())["tables"]


@pytest.fixture(autouse=True)
def temporary(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """The folder of temporary files, which is empty at the end."""
    folder = tmp_path / "temporary"
    folder.mkdir()
    monkeypatch.setattr(tempfile, "tempdir", str(folder))
    yield folder
    assert list(folder.iterdir()) == []


@pytest.mark.parametrize(
    ("out", "memory"),
    [("none", 0), ("new", 0), ("empty", 1 << 28), ("earlier", 1 << 28), ("none", 1 << 28)],
)
def test_an_audit_that_fails_leaves_its_folder_as_it_was(
    out: str, memory: int, tmp_path: Path
) -> None:
    log = written(tmp_path / "nats.log", range(20))
    folder = None if out == "none" else tmp_path / "out"
    with every_file_closed():
        if out == "empty":
            (tmp_path / "out").mkdir()
        if out == "earlier":
            with audit([str(written(tmp_path / "first.log", range(7)))], out=folder):
                pass

        def once() -> None:
            with audit([str(log)], out=folder, memory=memory) as found:
                made.append(tables_of(found.folder.path))

        made: list[Any] = []
        assert on_full_disks(once, lambda: files_of(tmp_path)) > 2
        with audit([str(log)]) as other:
            assert made == [tables_of(other.folder.path)]


@pytest.mark.parametrize("fails_at", [0, 1, 2])
def test_logs_that_grow_are_read_on_after_a_failure(
    fails_at: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(_growing, "_MEMORY", 1)  # so that rows are on the disk
    log, out = tmp_path / "nats.log", tmp_path / "out"
    growing = None
    with every_file_closed():
        for step in range(3):
            written(log, range(step * 10, step * 10 + 10), "a")
            growing = growing or GrowingAudit([str(log)], str(out))
            if step == fails_at:
                assert on_full_disks(growing.read_on, lambda: files_of(out)) > 2
            else:
                assert growing.read_on()
        growing.read_on(complete=True)
        with audit([str(log)]) as whole:
            wanted = {**tables_of(whole.folder.path)}
    found = tables_of(out)
    assert wanted.pop("runs") != found.pop("runs")  # which tells the digest of the input
    assert found == wanted


@pytest.mark.parametrize("grows", [False, True])
@pytest.mark.parametrize("earlier", [False, True])
def test_an_interrupt_after_the_tables_were_written_leaves_none_of_them(
    grows: bool, earlier: bool, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def interrupted(*_: object, **__: object) -> None:
        assert len(files_of(out)) > len(before), "some are there"
        raise KeyboardInterrupt

    log, out = written(tmp_path / "nats.log", range(20)), tmp_path / "out"
    growing = GrowingAudit([str(log)], str(out))

    def read() -> None:
        if grows:
            growing.read_on()
        else:
            with audit([str(log)], out=out):
                pass

    if earlier:
        read()
        written(log, range(20, 30), "a")
    before = files_of(out)
    with monkeypatch.context() as patch:
        patch.setattr(_here, "committed", interrupted)
        for _ in range(2):
            with pytest.raises(KeyboardInterrupt):
                read()
            assert files_of(out) == before
    read()
    assert files_of(out) != before
