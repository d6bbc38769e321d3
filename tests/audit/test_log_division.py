"""Dividing a log: skimming gives the same rows as reading every line."""

from __future__ import annotations

import random
from pathlib import Path

import pytest
from local_run import read
from trace_writer import Trace, random_trace

from subtrie.audit._readers.log_reader import LogRange, divide, native, read_range, whole_logs


def state_before(data: bytes, target: int, *, skim: int | None) -> tuple[int, bytes] | None:
    """Return the first line at which a log is divided, and the state before it."""
    divider = native().LogDivider([target], skim=skim)
    divider.feed(data)
    return next(iter(divider.take()), None)


@pytest.mark.parametrize("seed", range(90))
def test_a_skimmed_log_has_the_same_rows(seed: int) -> None:
    data = random_trace(seed, steps=900, quiet=seed % 3 / 10).encode("latin-1")
    dice = random.Random(seed)
    edges = [dice.randrange(1, len(data)) for _ in range(dice.randint(1, 4))]
    skimmed = read(data, *edges, skim=dice.choice([1, 300, 2_000]))
    assert skimmed == read(data)


def test_most_random_logs_are_skimmed() -> None:
    """The states differ in the numbers of windows, which are not counted while a log is skimmed."""
    differ = 0
    for seed in range(20):
        data = random_trace(seed, steps=900, quiet=0.1).encode("latin-1")
        found, full = (state_before(data, len(data) // 2, skim=skim) for skim in (300, None))
        differ += found is not None and full is not None and found[1] != full[1]
    assert differ > 10


def busy_log(*, seconds: float = 30.0, times: bool = True) -> bytes:
    """Return a log in which some window of one subject is always open."""
    trace = Trace()
    trace.subscribe(3, "s", "1")
    for at in range(int(seconds / 0.3)):
        trace.tick(0.3)
        trace.publish(at % 2 + 1, "s")
        trace.deliver(3, "s", "1", "hi")
    data = trace.text()
    if not times:
        data = "\n".join(line[:4] + line[31:] for line in data.split("\n"))
    return data.encode()


@pytest.mark.parametrize("times", [True, False])
def test_a_log_that_cannot_be_skimmed_is_read_in_full(times: bool, tmp_path: Path) -> None:
    data = busy_log(times=times)
    divider = native().LogDivider([len(data) // 2], skim=100)
    divider.feed(data)
    assert divider.failed or not times  # without times it does not begin to skim
    path = tmp_path / "nats.log"
    path.write_bytes(data)
    parts = [list(divide(whole_logs([str(path)])[0], 2_000, skim=skim)) for skim in (100, None)]
    assert [part.start for part in parts[0]] == [part.start for part in parts[1]]
    assert len(parts[0]) > 5
    one, other = ([row for part in found for row in rows(part)] for found in parts)
    assert one == other
    assert rows(parts[0][0].__class__(parts[0][0].files, parts[0][0].server)) == sorted(
        one, key=lambda row: row["position"]
    )


def rows(part: LogRange) -> list[dict]:
    found = [row for batch in read_range(part) for row in batch.to_pylist()]
    return sorted(found, key=lambda row: row["position"])


def test_a_line_from_the_future_does_not_hide_a_window() -> None:
    """A damaged date makes the divider read every line, and the rows stay the same."""
    lines = random_trace(5, steps=900, quiet=0.1).split("\n")
    lines.insert(100, lines[3].replace("2026/", "2096/"))
    data = "\n".join(lines).encode("latin-1")
    assert read(data, len(data) // 2, skim=300) == read(data)
