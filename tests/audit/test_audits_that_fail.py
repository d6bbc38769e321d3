"""An audit that fails leaves everything as it was, and the next one has its tables."""

from __future__ import annotations

import contextlib
import gc
import json
import re
import tempfile
import warnings
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from trace_writer import Trace

from subtrie.audit import audit
from subtrie.audit._growing import GrowingAudit

resource = pytest.importorskip("resource", reason="limits of POSIX")


@contextlib.contextmanager
def full_disk() -> Iterator[None]:
    """Let no file become larger than a few bytes, and expect the error of that."""
    told: list[OSError] = []
    before = resource.getrlimit(resource.RLIMIT_FSIZE)
    try:
        resource.setrlimit(resource.RLIMIT_FSIZE, (64, before[1]))
        yield
    except OSError as error:
        told.append(error)
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, before)
    assert re.search("large|no space is left", str(told))


@contextlib.contextmanager
def every_file_closed() -> Iterator[None]:
    """Check that each file is closed by the program, and not because it is forgotten."""
    gc.collect()
    with warnings.catch_warnings(record=True) as told:
        warnings.simplefilter("always", ResourceWarning)
        yield
        gc.collect()
    assert [str(each.message) for each in told] == []


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


def files_of(folder: Path) -> dict[str, bytes]:
    found = sorted(folder.rglob("*")) if folder.exists() else []
    return {str(each): each.read_bytes() if each.is_file() else b"" for each in [folder, *found]
            if each.exists()}  # fmt: skip


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
        before = files_of(tmp_path)
        for _ in range(2):
            with full_disk():
                audit([str(log)], out=folder, memory=memory)
            assert files_of(tmp_path) == before
        with audit([str(log)], out=folder, memory=memory) as found, audit([str(log)]) as other:
            assert tables_of(found.folder.path) == tables_of(other.folder.path)


@pytest.mark.parametrize("fails_at", [0, 1, 2])
def test_logs_that_grow_are_read_on_after_a_failure(fails_at: int, tmp_path: Path) -> None:
    log, out = tmp_path / "nats.log", tmp_path / "out"
    growing = None
    with every_file_closed():
        for step in range(3):
            written(log, range(step * 10, step * 10 + 10), "a")
            growing = growing or GrowingAudit([str(log)], str(out))
            if step == fails_at:
                before = files_of(out)
                for _ in range(2):
                    with full_disk():
                        growing.read_on()
                    assert files_of(out) == before
            assert growing.read_on()
        growing.read_on(complete=True)
        with audit([str(log)]) as whole:
            wanted = {**tables_of(whole.folder.path)}
    found = tables_of(out)
    assert wanted.pop("runs") != found.pop("runs")  # which tells the digest of the input
    assert found == wanted
