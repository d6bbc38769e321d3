"""A bad line of a log is told in its place, and what follows it is read as without it."""

from __future__ import annotations

from pathlib import Path

import pytest

from subtrie.wire import OperationRow, StreamError, read_operations

_FRONT = "[7] 2026/11/21 08:00:00.000001 [TRC] 1.2.3.4:5 - cid:1 - "
GOOD = [f"{_FRONT}<<- [SUB a.* 1]", f"{_FRONT}<<- [PUB a.b 2]", f"{_FRONT}->> [MSG a.b 1 2]"]


@pytest.mark.parametrize(
    "bad",
    ["not a line", f"{_FRONT}<<- [PUB a x]", f"{_FRONT}<<- [SUB ]", f"{_FRONT}->> [MSG a 1 z]",
     f"{_FRONT}<<- [CONNECT {{]", f"{_FRONT}<<- [XX y]"],
)  # fmt: skip
@pytest.mark.parametrize("place", range(len(GOOD) + 1))
def test_the_lines_of_a_log_after_a_bad_one_are_read(tmp_path: Path, bad: str, place: int) -> None:
    (tmp_path / "good.log").write_text("\n".join(GOOD))
    (tmp_path / "bad.log").write_text("\n".join([*GOOD[:place], bad, bad, *GOOD[place:]]))
    whole = list(read_operations(tmp_path / "good.log"))
    found = list(read_operations(tmp_path / "bad.log"))
    assert all(isinstance(each, OperationRow) for each in whole)
    assert len(whole) == len(GOOD)
    told = found[place : place + 2]
    assert [each.position for each in told if isinstance(each, StreamError)] == [
        place + 1,
        place + 2,
    ]
    assert found[:place] + found[place + 2 :] == whole
