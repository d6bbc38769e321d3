"""Logs that a container runtime wrapped: docker's JSON lines, CRI, journald."""

from __future__ import annotations

import json
import random
from collections.abc import Callable
from pathlib import Path

import pytest
from local_run import read
from test_trace_reference import compare
from trace_writer import Trace, random_trace

from subtrie._nats.container_lines import DOCKER, LONGEST, unwrapped, whole_lines
from subtrie.audit import Questions, audit
from subtrie.audit._readers.log_reader import whole_logs
from subtrie.wire import OperationRow, read_operations
from subtrie.wire.log import parse_line

STAMP = "2026-11-21T08:00:00.000000001Z"


def docker(line: str, *, ends: bool = True) -> str:
    """Return what docker's driver ``json-file`` writes."""
    record = {"log": line + "\n" * ends, "stream": "stderr", "time": STAMP}
    text = json.dumps(record, separators=(",", ":"), ensure_ascii=False)
    for sign in "<>&":
        text = text.replace(sign, f"\\u{ord(sign):04x}")
    return text


def cri(line: str, *, ends: bool = True) -> str:
    """Return what a runtime of Kubernetes writes."""
    return f"{STAMP} stderr {'F' if ends else 'P'} {line}"


def wrapped(data: bytes, wrap: Callable[..., str], dice: random.Random | None = None) -> bytes:
    """Return a log as a runtime wraps it; with dice, some lines in parts."""
    found = []
    for line in data.decode("utf-8", "surrogateescape").split("\n")[:-1]:
        parts = [line]
        if dice is not None and dice.random() < 0.3:
            at = dice.randrange(len(line) + 1)
            parts = [line[:at], line[at:]]
        found += [wrap(part, ends=False) for part in parts[:-1]] + [wrap(parts[-1])]
    return "\n".join([*found, ""]).encode("utf-8", "surrogateescape")


def without_places(rows: list[dict]) -> list[dict]:
    """Return rows with the order of their places in place of these."""
    order = sorted(
        {at for row in rows for at in (row["position"], row["subscription"]) if at is not None}
    )
    places = {at: number for number, at in enumerate(order)}
    dropped = {"until", "offset", "_corrupt_record"}
    return [
        {name: value for name, value in row.items() if name not in dropped}
        | {name: places.get(row[name]) for name in ("position", "subscription")}
        for row in rows
    ]


@pytest.mark.parametrize("wrap", [docker, cri])
@pytest.mark.parametrize("seed", range(6))
def test_a_wrapped_log_has_the_events_of_the_log(wrap, seed: int) -> None:
    plain = random_trace(seed, steps=300).encode("latin-1")
    if not plain.endswith(b"\n"):
        plain += b"\n"
    data = wrapped(plain, wrap, random.Random(seed))
    rows = compare(data)
    assert without_places(rows) == without_places(compare(plain))
    dice = random.Random(seed)
    edges = [dice.randrange(1, len(data)) for _ in range(4)]
    assert read(data, *edges) == read(data)  # a range may begin inside a line in parts


PAYLOAD = '[7] 2026/11/21 08:00:02.000002 [TRC] 10.0.0.1:4 - cid:4 - <<- MSG_PAYLOAD: ["{}"]'


@pytest.mark.parametrize("wrap", [docker, cri])
@pytest.mark.parametrize("size", [16_384, 70_000, 10_000_000])
def test_a_line_of_many_parts_is_one_line(wrap, size: int) -> None:
    line = PAYLOAD.format("<a" * (size // 2))
    parts = [line[at : at + 16_384] for at in range(0, len(line), 16_384)]
    texts = [*(wrap(part, ends=False) for part in parts[:-1]), wrap(parts[-1])]
    rows, counts = (found := read("\n".join([*texts, ""]).encode())), found.counts
    assert (list(rows), counts["payloads"], counts["unparseable_lines"]) == ([], 1, 0)


#: Ends of a record that was cut, in the middle of an escape or before one.
CUT = ["", "\\", "\\u", "\\ud8", "\\ud83d", "\\ud83d\\", "\\ud83d\\ude0", "\\n"]


@pytest.mark.parametrize("end", CUT)
def test_a_record_that_was_cut_is_a_line_if_it_is_longer_than_what_is_read(end) -> None:
    head = DOCKER + '"'
    for size, read_ in ((LONGEST, False), (LONGEST + 1, True)):
        text = "a" * (size - len(head) - len(end))
        found = unwrapped(head + text + end)
        if not read_:
            assert found is None
        else:
            assert found is not None
            assert set(found.text.removeprefix(text)) <= {"\ufffd"}
            assert found.text.startswith(text)
            assert found.ends


def test_the_first_bytes_of_a_line_in_parts_are_kept() -> None:
    parts = [(5, cri("a" * 40_000, ends=False)), (6, cri("b" * 40_000)), (7, cri("c"))]
    assert list(whole_lines(parts)) == [
        (5, "a" * 40_000 + "b" * (LONGEST + 1 - 40_000)), (7, "c"),
    ]  # fmt: skip
    open_ = [(1, docker("a", ends=False)), (2, docker("b", ends=False)), (3, "other")]
    assert list(whole_lines(open_)) == [(1, "ab"), (3, "other")]
    assert list(whole_lines(open_[:2])) == [(1, "ab")]


@pytest.mark.parametrize("wrap", [docker, cri])
def test_damaged_records(wrap) -> None:
    """Records are cut, repeated and mixed with others; both readers agree on what is left."""
    lines = wrapped(random_trace(3, steps=200).encode("latin-1"), wrap).split(b"\n")
    lines += [
        b'{"log":"\\ud800\\udc00 \\ud800 \\\\ud800"}',
        b'{"log":1}',
        b'{"log":',
        b"2026-11-21T x",
    ]
    for seed in range(30):
        dice = random.Random(seed)
        changed = []
        for line in lines:
            kind = dice.random()
            at = dice.randrange(len(line) + 1)
            if kind < 0.1:
                line = line[:at]
            elif kind < 0.2:
                line = line[:at] + dice.choice([b'"', b"\\", b"\xff", b"\\n", b" P "]) + line[at:]
            changed.append(line)
        compare(b"\n".join(changed))


def test_the_audit_and_the_other_verbs_read_it(tmp_path: Path) -> None:
    trace = Trace()
    trace.subscribe(3, "orders.*", "1")
    for number in range(5):
        trace.publish(1, f"orders.{number}")
        trace.deliver(3, f"orders.{number}", "1", "hi")
    plain = trace.text().encode()
    path = tmp_path / "c-json.log"
    path.write_bytes(wrapped(plain, docker))
    with audit([str(path)], questions=Questions()) as run:
        assert [row["published"] for row in run.rows("flows")] == [5]
    rows = list(read_operations(path))
    assert len(rows) == 11
    assert all(isinstance(row, OperationRow) for row in rows)


def test_rotated_files_of_a_container_are_one_log(tmp_path: Path) -> None:
    lines = wrapped(random_trace(1, steps=50).encode("latin-1"), docker).split(b"\n")
    (tmp_path / "c-json.log.1").write_bytes(b"\n".join([*lines[:40], b""]))
    (tmp_path / "c-json.log").write_bytes(b"\n".join(lines[40:]))
    [log] = whole_logs([str(tmp_path / "c-json.log"), str(tmp_path / "c-json.log.1")])
    assert [Path(path).name for path, _ in log.files] == ["c-json.log.1", "c-json.log"]


def test_a_line_is_parsed_as_what_is_wrapped() -> None:
    line = PAYLOAD.format("a<b")
    assert parse_line(docker(line)) == parse_line(cri(line)) == parse_line(line) is not None
    journal = f"Nov 21 08:00:02 host nats-server[7]: {line}"
    assert parse_line(journal) == parse_line(line)
