"""The inboxes of requests on plain NATS: a sample stays single, the others are counted together."""

from __future__ import annotations

import functools
import hashlib
import json
import random
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from trace_writer import Trace

import subtrie.audit._growing
import subtrie.spark._stream
from subtrie.audit import Questions, open_run
from subtrie.audit._growing import GrowingAudit
from subtrie.audit._partial.inboxes import bounded
from subtrie.audit._partial.partial import Partial
from subtrie.audit._partial.parts import Reading, partials_of_part, plan
from subtrie.audit._schema import TABLES

MOST = 128
FEW = functools.partial(bounded, most=MOST)


def requests(count: int) -> str:
    """Two clients ask two services; each third request has an answer that no client receives."""
    trace = Trace()
    for caller in (1, 2):
        trace.subscribe(caller, f"_INBOX.c{caller}.*", "1")
    for service in (3, 4):
        trace.subscribe(service, f"ask.{service}", "1")
    for number in range(count):
        caller, service = 1 + number % 2, 3 + number // 2 % 2
        inbox = f"_INBOX.c{caller if number % 3 else 9}.r{number}"
        trace.tick(0.002)
        trace.publish(caller, f"ask.{service}", reply=inbox)
        trace.deliver(service, f"ask.{service}", "1", reply=inbox)
        trace.tick(0.001)
        trace.publish(service, inbox)
        if number % 3:
            trace.deliver(caller, inbox, "1")
    return trace.text()


def read(log: Path) -> Partial:
    """Return the partial of a log."""
    whole = Partial()
    for part in plan([str(log)]).parts:
        for each in partials_of_part(part, Reading(answers=True)):
            whole.add(each)
    return whole


def rows_of(partial: Partial) -> list[tuple[Any, ...]]:
    """Return the rows of a partial, sorted: kind, bucket, number and digest of the values."""
    found: list[tuple[Any, ...]] = []
    for kind, _, table in partial._take_summed():
        found += [(kind, repr(row)) for row in table.to_pylist()]
    for kind, table in partial._take_others():
        found += [(kind, repr(row)) for row in table.to_pylist()]
    return sorted(found)


@pytest.mark.parametrize("seed", range(4))
def test_in_any_order_and_division_the_same_inboxes_stay(tmp_path: Path, seed: int) -> None:
    log = tmp_path / "nats.log"
    log.write_text(requests(900))
    reading, dice = Reading(answers=True), random.Random(seed)

    def parts() -> Iterator[Partial]:
        for part in plan([str(log)], 9_000).parts:
            yield from partials_of_part(part, reading)

    whole = Partial()
    for each in parts():
        whole.add(each)
    expected = rows_of(FEW(whole))
    assert any(kind == "publish" and "_INBOX.c1.*" in row for kind, row in expected)
    shuffled = list(parts())
    dice.shuffle(shuffled)
    found = Partial()
    while shuffled:
        group = Partial()
        for _ in range(min(len(shuffled), dice.randint(1, 6))):
            group.add(shuffled.pop())
        group = FEW(group) if dice.random() < 0.5 else group
        found.add(Partial.of_rows([group.to_rows()]) if dice.random() < 0.5 else group)
        found = FEW(found) if dice.random() < 0.5 else found
    assert rows_of(FEW(FEW(found))) == expected


def grown(folder: Path, data: bytes, readings: int, questions: Questions | None) -> Path:
    """Return the result of so many readings of a log that grows."""
    folder.mkdir()
    live, out = folder / "nats.log", folder / "out"
    growing = GrowingAudit([str(live)], str(out), questions=questions)
    for number in range(1, readings + 1):
        live.write_bytes(data[: len(data) * number // readings])
        growing.read_on(complete=number == readings)
    return out


def digests(out: Path) -> dict[str, str]:
    run = open_run(out)
    return {name: hashlib.sha256(Path(run.path(name)).read_bytes()).hexdigest() for name in TABLES}


def test_the_tables_of_a_log_that_grows_do_not_depend_on_the_readings(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(subtrie.audit._growing, "bounded", FEW)
    data = requests(900).encode()
    outs = [grown(tmp_path / str(n), data, n, Questions()) for n in (1, 4)]
    # The positions of the first lines and the digest of a log are those of each file.
    assert digests(outs[0]) == digests(outs[1])
    run = open_run(outs[0])
    rows = list(run.rows("other_traffic"))
    single = [
        row for row in rows if row["subject"].startswith("_INBOX") and "*" not in row["subject"]
    ]
    folded = [row for row in rows if row["subject"].startswith("_INBOX") and "*" in row["subject"]]
    assert len(single) <= MOST
    # A sample by hashes, not by names: each connection has some.
    assert {row["subject"].split(".")[1] for row in single} == {"c1", "c2", "c9"}
    assert sum(row["count"] for row in (*single, *folded)) == 900
    assert run.counters["folded_messages"] == sum(row["count"] for row in folded) > 0
    timed = sum(row["count"] for row in run.rows("latency"))
    assert timed + run.counters["untimed_requests"] == 900


def test_a_part_without_deliveries_is_bounded_too(tmp_path: Path) -> None:
    log = tmp_path / "nats.log"
    trace = Trace()
    trace.publish(1, "_INBOX.c1.r1")
    log.write_text(trace.text())

    assert rows_of(FEW(read(log))) == rows_of(read(log))


def test_what_is_kept_does_not_grow_with_the_requests(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(subtrie.audit._growing, "bounded", FEW)
    kept = []
    for count in (1_000, 3_000):
        out = grown(tmp_path / str(count), requests(count).encode(), 2, Questions())
        kept.append(json.loads((out / "audit.json").read_text())["stream"]["rows"])
    assert kept[1] <= kept[0] + MOST


def test_the_tasks_of_spark_keep_the_same(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A task has all rows of some buckets."""
    monkeypatch.setattr(subtrie.spark._stream, "bounded", FEW)
    log = tmp_path / "nats.log"
    log.write_text(requests(900))

    moved = read(log).to_rows()
    numbers = moved.column("bucket").to_pylist()
    found = Partial()
    for task in range(3):
        own = moved.take([at for at, bucket in enumerate(numbers) if bucket % 3 == task])
        for batch in subtrie.spark._stream._compact([own]):
            found.add(Partial.of_rows([batch]))
    assert rows_of(found) == rows_of(FEW(read(log)))
