"""Logs that grow: a file or a pattern without a file hides none of the others."""

from __future__ import annotations

import gc
import warnings
from pathlib import Path

import pytest
from trace_writer import random_trace

from subtrie.audit._readers.growing_log import advance, blocks, empty_offset, files_there


@pytest.fixture
def logs(tmp_path: Path) -> Path:
    """A folder with logs, and before, between and behind them names of files that are gone."""
    for number in range(3):
        (tmp_path / f"{number}a.log").symlink_to("nowhere")
        (tmp_path / f"{number}b.log").write_text(
            random_trace(number + 3).replace("[7]", f"[{number}]")
        )
    (tmp_path / "9.log").symlink_to("nowhere")
    return tmp_path


@pytest.mark.parametrize("first", [True, False])
def test_what_is_gone_hides_no_file(logs: Path, first: bool) -> None:
    there = [str(logs / f"{number}b.log") for number in range(3)]
    gone = [str(logs / "none" / "*.log"), str(logs / "none.log")]
    given = [*gone, str(logs / "*.log")] if first else [str(logs / "*.log"), *gone]
    assert files_there(given) == files_there(there)
    assert len(files_there(there)) == 3
    found = advance(given, empty_offset())
    assert found == advance(there, empty_offset())
    assert len(found["logs"]) == 3


@pytest.mark.parametrize("place", range(3))
def test_a_file_that_may_be_gone_hides_no_later_one(logs: Path, place: int) -> None:
    found = advance([str(logs / "*b.log")], empty_offset())
    entries = [log["files"][0] for log in found["logs"].values()]
    base = 0
    for entry in entries:
        entry["base"], base = base, base + Path(entry["path"]).stat().st_size
    Path(entries[place]["path"]).unlink()
    read = {path for (_, path), block in blocks(entries, 0, strict=False) if len(block) > 1}
    assert read == {entry["path"] for entry in entries if entry is not entries[place]}


def test_a_file_that_became_shorter_is_closed(logs: Path) -> None:
    found = advance([str(logs / "1b.log")], empty_offset())
    (entry,) = (log["files"][0] for log in found["logs"].values())
    gc.collect()
    with warnings.catch_warnings(record=True) as told:
        warnings.simplefilter("always", ResourceWarning)
        with pytest.raises(OSError, match="became shorter"):
            list(blocks([entry], 1_000_000))
        gc.collect()
    assert [str(each.message) for each in told] == []
