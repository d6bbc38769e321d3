"""Files for the workers of a session: a file that could not be written is written anew."""

from __future__ import annotations

from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from subtrie.spark._sessions.shipped_files import send_file


def session(key: str, sent: list[str]) -> Any:
    """Return what this module uses of a session."""
    return SimpleNamespace(
        _jsparkSession=SimpleNamespace(sessionUUID=lambda: key),
        addArtifact=lambda path, file: sent.append(path),
    )


def test_a_file_that_a_full_disk_cut_off_is_not_sent_later() -> None:
    resource = pytest.importorskip("resource", reason="limits of POSIX")
    sent: list[str] = []
    spark, data = session("a full disk", sent), b"whole" * 1000
    before = resource.getrlimit(resource.RLIMIT_FSIZE)
    try:
        resource.setrlimit(resource.RLIMIT_FSIZE, (100, before[1]))
        with pytest.raises(OSError, match="large"):
            send_file(spark, "of-a-full-disk", data)
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, before)
    assert sent == []
    for _ in range(2):
        send_file(spark, "of-a-full-disk", data)
    (path,) = sent
    assert Path(path).read_bytes() == data
    assert [each.name for each in Path(path).parent.glob("*of-a-full*")] == ["of-a-full-disk"]


def test_each_session_is_sent_the_bytes_that_the_first_one_got() -> None:
    sent: list[str] = []
    for number, key in enumerate(("one", "two", "one", "two")):
        send_file(session(key, sent), "of-two-sessions", b"%d" % number)
    assert len(sent) == 2
    assert {Path(path).read_bytes() for path in sent} == {b"0"}
