"""The ranges of a log adjoin, however quiet and busy stretches of it follow each other.

Busy stretches cannot be skimmed, so the division of a log goes on in another way inside of it.
"""

from __future__ import annotations

import random
from pathlib import Path

import pytest
from trace_writer import Trace

from subtrie.audit._readers.log_reader import LogRange, divide, native, read_range, whole_logs

#: The seconds before each message of a stretch: a window of a subject is open for about one.
STRETCHES = {"quiet": 1.7, "busy": 0.3, "still": 40.0}
#: Stretches in each order that matters, and random ones.
ORDERS = [
    ("quiet", "busy"),
    ("busy", "quiet"),
    ("still", "busy", "quiet"),
    ("quiet", "still", "busy"),
    ("quiet", "busy", "quiet", "busy"),
    *(random.Random(seed).choices(tuple(STRETCHES), k=5) for seed in range(4)),
]
SKIMS = (None, 1, 300)


def log_of(order: tuple[str, ...] | list[str], path: Path) -> LogRange:
    """Write a log, each of whose messages is delivered once."""
    trace = Trace()
    trace.subscribe(3, "s", "1")
    for number, stretch in enumerate(order):
        for at in range(50):
            trace.tick(STRETCHES[stretch])
            trace.publish(at % 2 + 1, "s", f"{number}.{at}")
            trace.deliver(3, "s", "1", f"{number}.{at}")
    path.write_text(trace.text())
    return whole_logs([str(path)])[0]


def rows_of(*parts: LogRange) -> list[dict[str, object]]:
    found = [row for part in parts for batch in read_range(part) for row in batch.to_pylist()]
    return sorted(found, key=lambda row: row["position"])


@pytest.mark.parametrize("order", ORDERS, ids="-".join)
def test_the_ranges_of_a_log_adjoin_and_have_its_rows(
    order: tuple[str, ...], tmp_path: Path
) -> None:
    log = log_of(order, tmp_path / "nats.log")
    whole = rows_of(log)
    for split in (1_500, log.size // 3):
        every = [part.start for part in divide(log, split, skim=None)]
        for skim in SKIMS:
            parts = list(divide(log, split, skim=skim))
            assert [part.start for part in parts] == [0, *(part.end for part in parts[:-1])]
            assert (parts[-1].end, parts[0].state) == (None, None)
            starts = [part.start for part in parts]
            assert starts == sorted(set(starts))
            assert len(starts) == len(every) == -(-log.size // split)
            assert rows_of(*parts) == whole


def test_some_of_these_logs_cannot_be_skimmed_only_after_ranges_of_them_were_found(
    tmp_path: Path,
) -> None:
    found = []
    for number, order in enumerate(ORDERS):
        log = log_of(order, tmp_path / f"{number}.log")
        divider = native().LogDivider(list(range(1_500, log.size, 1_500)), 0, skim=300)
        divider.feed(Path(log.files[0][0]).read_bytes())
        found.append(divider.failed and bool(divider.take()))
    assert found.count(True) > 3
