"""The reader of trace logs in plain Python has the rows of the native one."""

from __future__ import annotations

import random
from pathlib import Path
from typing import Any

import pytest
from local_run import COLUMNS, read
from trace_writer import random_trace

from plain_trace_log import COLUMNS as THEIRS
from plain_trace_log import read_events
from synthetic_traffic import write_traffic


def compare(data: bytes) -> list[dict[str, Any]]:
    """Return the rows of a log, after both readers were found to agree."""
    native = read(data)
    rows, counts = read_events(data)
    for ours, theirs in zip(rows, native, strict=False):
        assert ours == {name: theirs[name] for name in ours}, (ours, theirs)
    assert len(rows) == len(native)
    assert counts == dict(native.counts)
    return rows


def test_both_have_the_same_columns() -> None:
    assert set(THEIRS) == set(COLUMNS)


@pytest.mark.requirement("P-03")
@pytest.mark.parametrize("name", ["go_live", "go_app"])
def test_the_events_of_a_recording(captures: Path, name: str) -> None:
    rows = compare((captures / name / "trace.log").read_bytes())
    assert sum(row["deliveries"] or 0 for row in rows) > 100


@pytest.mark.parametrize("seed", [21, 22])
def test_the_events_of_a_world(tmp_path: Path, seed: int) -> None:
    write_traffic(tmp_path / "world", seed=seed, rows=1500)
    rows = compare((tmp_path / "world" / "trace.log").read_bytes())
    assert any(row["refused"] for row in rows)
    assert any(row["reason"] for row in rows)


def test_random_traffic_in_which_windows_end_in_every_way() -> None:
    ambiguous = 0
    for seed in range(100):
        ambiguous += sum(bool(row["ambiguous"]) for row in compare(random_trace(seed).encode()))
    assert ambiguous > 20


def test_damaged_lines(captures: Path) -> None:
    """A byte is changed, removed or repeated in every few lines."""
    lines = (captures / "go_live" / "trace.log").read_bytes().split(b"\n")[200:500]
    for seed in range(40):
        dice = random.Random(seed)
        changed = []
        for line in lines:
            data = bytearray(line)
            if data and dice.random() < 0.2:
                at = dice.randrange(len(data))
                what = dice.choice(["change", "cut", "remove", "repeat"])
                if what == "change":
                    data[at] = dice.choice(b'[]" \t\\:-<>9a\xff\x1b')
                elif what == "cut":
                    del data[at:]
                elif what == "remove":
                    del data[at]
                else:
                    data[at:at] = data[: dice.randrange(20)]
            changed.append(bytes(data))
        compare(b"\n".join(changed))


ROUTES = rb"""[7] 2026/11/21 08:00:00.000001 [TRC] 10.0.0.1:4 - rid:3 - <<- [RMSG $G a.b 2]
[7] 2026/11/21 08:00:00.000002 [TRC] 10.0.0.1:4 - cid:3 - ->> [MSG a.b 1 2]
[7] 2026/11/21 08:00:00.000003 [TRC] 10.0.0.1:4 - rid:3 - <<- [RMSG $G a.b r 2]
[7] 2026/11/21 08:00:00.000004 [TRC] 10.0.0.1:4 - cid:3 - ->> [MSG a.b 1 r 2]
[7] 2026/11/21 08:00:00.000005 [TRC] 10.0.0.1:4 - cid:4 - <<- [PUB x y 2]
[7] 2026/11/21 08:00:00.000006 [TRC] 10.0.0.1:4 - rid:3 - ->> [RMSG x y 2]
[7] 2026/11/21 08:00:00.000007 [TRC] 10.0.0.1:4 - lid:3 - ->> [LMSG x + y q 2]
[7] 2026/11/21 08:00:00.000008 [TRC] 10.0.0.1:4 - rid:4 - ->> [HMSG $G x | q 12 14]
[7] 2026/11/21 08:00:00.000009 [TRC] 10.0.0.1:4 - rid:4 - <-> [HMSG]
[7] 2026/11/21 08:00:00.000010 [TRC] 10.0.0.1:4 - gid:4 - <<- [RMSG a]
[7] 2026/11/21 08:00:00.000011 [TRC] 10.0.0.1:4 - cid:4 - <<- [UNSUB 1 5]
[7] 2026/13/21 08:00:00.000012 [TRC] 10.0.0.1:4 - cid:4 - <<- [UNSUB 1]
[7] 2026/11/21 08:00:00.000013 [INF] Starting nats-server
"""


def test_messages_between_servers() -> None:
    rows = compare(ROUTES)
    assert [row["deliveries"] for row in rows[:5]] == [1, None, 1, None, 0]
    assert rows[4]["forwarded"] == 2
    assert rows[5]["reply"] == "y"


CLOCK = rb"""[7] 2026/11/21 08:00:18.901205 [TRC] 10.0.0.1:4 - cid:4 - <<- [PUB a r 2]
[7] 2026/11/21 08:00:18.601207 [TRC] 10.0.0.1:4 - cid:4 - <<- MSG_PAYLOAD: ["yo"]
[7] 2026/11/21 08:00:19.801207 [TRC] 10.0.0.1:5 - cid:1 - ->> [MSG a 1 r 2]
[7] 2026/11/21 08:00:19.801208 [TRC] 10.0.0.1:4 - cid:4 - <<- [PING]
"""


def test_a_clock_that_is_set_back_between_a_message_and_its_payload() -> None:
    """The window ended when the first of the two times had passed, not the second one."""
    rows = compare(CLOCK)
    assert (rows[0]["until"], rows[0]["deliveries"]) == (CLOCK.index(b"[7] 2026/11/21 08:00:19"), 0)
