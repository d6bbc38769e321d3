"""Dividing a log: skimming gives the same rows as reading every line."""

from __future__ import annotations

import gzip
import random
from pathlib import Path

import pyarrow as pa
import pytest
from local_run import read
from trace_writer import Trace, random_trace

from subtrie.audit._readers.log_reader import (
    BATCH_ROWS,
    LogRange,
    divide,
    holds_server_lines,
    native,
    open_plain,
    read_range,
    split_bytes_of,
    whole_logs,
)

_NEVER = 1 << 62


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


def test_a_log_is_divided_at_positions_near_each_other() -> None:
    """After the first one it is decided anew whether the next can be reached."""
    trace = Trace()
    trace.subscribe(3, "s", "1")
    for at in range(300):
        trace.tick(1.7)
        trace.publish(at % 2 + 1, "s")
        trace.deliver(3, "s", "1")
    data = trace.text().encode()
    (first, _) = state_before(data, 20_000, skim=None) or (0, b"")
    for gap in range(200, 6_000, 200):
        divider = native().LogDivider([20_000, 20_000 + gap], skim=1)
        divider.feed(data)
        positions = [position for position, _ in divider.take()]
        assert (divider.failed, len(positions)) == (False, 2)
        assert positions[0] == first  # it skims no further than shortly before it


def test_a_subscription_with_a_blank_before_it_is_not_skimmed() -> None:
    trace = Trace()
    for at in range(100):
        trace.tick(1.7)
        trace.publish(1, "s")
        trace.deliver(3, "s", "1")
        if at == 20:
            trace.write(3, "<<- [ SUB s q 1]")
    data = trace.text().encode()
    found = read(data, len(data) * 3 // 4, skim=300)
    assert found[-1]["queue"] == "q"
    assert found == read(data)


def test_a_late_payload_keeps_the_window_of_a_skimmed_publish() -> None:
    """The window ends a second after the payload, so the delivery below may be of that message."""
    trace = Trace()

    def ping(count: int, seconds: float) -> None:
        for _ in range(count):
            trace.tick(seconds)
            trace.write(4, "<<- [PING]")

    trace.subscribe(3, "s", "1")
    ping(80, 0.75)
    begin = len(trace.lines)
    ping(12, 0.15)
    trace.write(1, "<<- [PUB s 2]")
    ping(6, 0.15)
    trace.write(1, '<<- MSG_PAYLOAD: ["hi"]')
    ping(3, 0.15)
    trace.publish(2, "s")
    ping(1, 0.15)
    trace.deliver(3, "s", "1")
    ping(20, 0.15)
    data = trace.text().encode()
    whole = read(data)
    assert [row["deliveries"] for row in whole if row["op"] == "PUB"] == [1, 0]
    position = sum(len(line) + 1 for line in trace.lines[:begin])
    for line in trace.lines[begin:]:
        assert read(data, position, skim=500) == whole
        position += len(line) + 1


def state_of(data: bytes, start: int = 0, state: bytes | None = None) -> bytes:
    """Return the state after the lines of a log that begin at ``start``."""
    divider = native().LogDivider([_NEVER], start, state=state)
    divider.feed(data)
    return divider.state()


def test_a_range_that_has_ended_ends_once() -> None:
    trace = Trace()
    trace.publish(1, "s")
    trace.publish(1, "s")
    first = trace.text().encode()
    trace.publish(2, "t")
    data = trace.text().encode()
    reader = native().TraceReader(["op", "subject"], 0, len(first))
    assert reader.feed(data[:-1]) is False  # its last message may be delivered yet
    trace.tick(3)
    for _ in range(2):
        trace.write(1, "<<- [PING]")
    assert reader.feed(trace.text().encode()[len(data) - 1 :] + b"rest of a line") is True
    own = pa.array(reader.take()).to_pylist()
    assert [row["subject"] for row in own] == ["s", "s"]
    reader.finish()
    assert pa.array(reader.take()).to_pylist() == []


def test_the_last_line_of_a_log_needs_no_end() -> None:
    lines = random_trace(3, steps=100).encode("latin-1").splitlines(keepends=True)

    def ended(data: bytes) -> tuple[bytes, int]:
        divider = native().LogDivider([_NEVER])
        divider.feed(data)
        divider.finish()
        return divider.state(), divider.settled

    for count in range(1, len(lines) + 1):
        data = b"".join(lines[:count])
        (state, settled), cut_off = ended(data), ended(data[:-1])
        assert cut_off == (state, settled - 1)


@pytest.mark.parametrize("seed", range(10))
def test_a_state_that_is_read_and_written_again_is_the_same(seed: int) -> None:
    dice = random.Random(seed)
    lines = random_trace(seed, steps=300).encode("latin-1").splitlines(keepends=True)
    for count in dice.sample(range(len(lines)), 30):
        begun = b"".join(lines[:count])
        state = state_of(begun)
        assert state_of(b"", len(begun), state) == state


def test_a_line_that_a_message_took_before_a_division_is_not_taken_again() -> None:
    """Each message has one line of each of many receivers, except the last one, which has none."""
    trace = Trace()

    def deliver() -> None:
        for conn in range(10, 30):
            trace.deliver(conn, "s", "1")

    for conn in (1, 2, 3):
        trace.publish(conn, "s")
    deliver()
    deliver()
    trace.write(1, "<<- [PING]")
    begun = len(trace.text())
    trace.publish(4, "s")
    deliver()
    for conn in (2, 3, 4):
        trace.write(conn, "<<- [PING]")
    data = trace.text().encode()
    whole = read(data)
    assert [row["deliveries"] for row in whole if row["op"] == "PUB"] == [20, 20, 20, 0]
    assert read(data, begun) == whole


def test_a_server_to_which_messages_go_on_both_sides_of_a_division_is_one_receiver() -> None:
    """Each message has one of its lines."""
    trace = Trace()

    def forward() -> None:
        trace.write(9, "->> [RMSG $G s 2]")
        trace.lines[-1] = trace.lines[-1].replace(' - cid:9 - "v1:x"', " - rid:9")

    trace.publish(1, "s")
    forward()
    begun = len(trace.text())
    trace.publish(2, "s")
    forward()
    for conn in (1, 2):
        trace.write(conn, "<<- [PING]")
    data = trace.text().encode()
    whole = read(data)
    assert [row["forwarded"] for row in whole if row["op"] == "PUB"] == [1, 1]
    assert read(data, begun) == whole


def test_a_client_that_only_connected_before_a_division_keeps_its_name() -> None:
    trace = Trace()
    trace.write(1, '<<- [CONNECT {"name":"web"}]')
    trace.lines[0] = trace.lines[0].replace(' - "v1:x"', "")  # the server does not know it yet
    begun = len(trace.text())
    trace.write(1, "<<- [PING]")
    data = trace.text().encode()
    whole = read(data)
    assert [row["client"] for row in whole if row["op"] == "PING"] == ["web"]
    assert read(data, begun) == whole


def test_a_state_does_not_grow_with_the_uses_of_one_subscription_id() -> None:
    def size(count: int) -> int:
        trace = Trace()
        for _ in range(count):
            trace.subscribe(3, "s", "1")
            trace.write(3, "<<- [UNSUB 1 ]")
        return len(state_of(trace.text().encode()))

    assert size(1_000) <= size(2) + 8


def test_a_window_without_a_time_is_not_forgotten_by_a_later_part_of_its_log() -> None:
    """It ends with the next operation of its connection only, which may be anywhere."""
    trace = Trace()
    trace.publish(1, "s")
    timed = trace.text().encode()
    timeless = "".join(f"{line[:4]}{line[31:]}\n" for line in trace.lines).encode()
    trace.lines.clear()
    for _ in range(200):
        trace.tick(1.7)
        trace.publish(2, "t")
    rest = trace.text().encode()
    for begun, reached in ((timed, True), (timeless, False)):
        target = len(begun) + len(rest) // 2
        divider = native().LogDivider([target], len(begun), state=state_of(begun), skim=300)
        divider.feed(rest)
        assert (divider.failed, len(divider.take())) == (not reached, int(reached))


def test_a_window_that_ends_later_than_every_later_line_is_not_forgotten() -> None:
    """The clock is set back after its message, so it is open where the log is to be divided."""
    trace = Trace()
    for seconds, reached in ((0, True), (1_000, False)):
        trace.lines.clear()
        trace.tick(seconds)
        trace.publish(1, "s")
        begun = trace.text().encode()
        trace.lines.clear()
        trace.tick(-seconds)
        for _ in range(200):
            trace.tick(1.7)
            trace.publish(2, "t")
        rest = trace.text().encode()
        target = len(begun) + len(rest) // 2
        divider = native().LogDivider([target], len(begun), state=state_of(begun), skim=300)
        divider.feed(rest)
        assert (divider.failed, len(divider.take())) == (not reached, int(reached))


def test_a_line_from_the_future_does_not_hide_a_window() -> None:
    """A damaged date makes the divider read every line, and the rows stay the same."""
    lines = random_trace(5, steps=900, quiet=0.1).split("\n")
    lines.insert(100, lines[3].replace("2026/", "2096/"))
    data = "\n".join(lines).encode("latin-1")
    assert read(data, len(data) // 2, skim=300) == read(data)


def begun(folder: Path, files: dict[str, tuple[int, int]]) -> list[str]:
    """Write logs, each with the process id and the second of its first line."""
    for name, (process, second) in files.items():
        line = f"[{process}] 2026/11/21 08:00:{second:02}.000000 [INF] {name}\n"
        (folder / name).write_text(line)
    return [str(folder / name) for name in files]


@pytest.mark.parametrize(
    ("files", "logs"),
    [
        ({"n.log": (7, 1), "n.log.1": (7, 0)}, [["n.log.1", "n.log"]]),
        ({"n.log": (7, 0), "n.log.1": (7, 1)}, [["n.log", "n.log.1"]]),
        ({"n.log.1": (7, 0), "n.log.2": (7, 1)}, [["n.log.1", "n.log.2"]]),
        ({"n.log.2": (7, 0), "n.log.1": (7, 1)}, [["n.log.2", "n.log.1"]]),
        ({"n": (7, 0), "n.1": (7, 1)}, [["n", "n.1"]]),
        ({"n.log": (7, 0), "n.log.1": (8, 1)}, [["n.log"], ["n.log.1"]]),
        ({"n.1": (7, 0), "n.2": (7, 1)}, [["n.1"], ["n.2"]]),
        ({"n.log.old": (7, 0), "n.log.new": (7, 1)}, [["n.log.old"], ["n.log.new"]]),
        ({"a.log.1": (7, 0), "b.log.2": (7, 1)}, [["a.log.1"], ["b.log.2"]]),
        ({"n.log": (7, 0), "n.logger": (7, 1)}, [["n.log"], ["n.logger"]]),
    ],
    ids=range(10),
)
def test_which_files_are_one_log(
    files: dict[str, tuple[int, int]], logs: list[list[str]], tmp_path: Path
) -> None:
    found = whole_logs(begun(tmp_path, files))
    assert [[Path(path).name for path, _ in log.files] for log in found] == logs


@pytest.mark.parametrize("end", [b"", b"\n"], ids=["inside a line", "after a line"])
@pytest.mark.parametrize("split", [500, 1_500, 100_000])
def test_lines_have_their_place_in_their_own_file(split: int, end: bytes, tmp_path: Path) -> None:
    """Also where the file before it was rotated before the end of its last line was written."""
    trace = Trace()
    for number in range(40):
        trace.tick(0.01)
        trace.publish(1, f"p.{number}", payload="")
    lines = trace.text().encode().splitlines(keepends=True)
    parts = {"n.log.1": lines[:17], "n.log": lines[17:]}
    parts["n.log.1"][-1] = parts["n.log.1"][-1].removesuffix(b"\n") + end
    wanted = []
    for name, some in parts.items():
        (tmp_path / name).write_bytes(b"".join(some))
        path = str(tmp_path / name)
        wanted += [(path, sum(map(len, some[:number]))) for number in range(len(some))]
    (log,) = whole_logs([str(tmp_path / name) for name in parts])
    names = ["file", "offset", "subject", "position"]
    batches = [batch for part in divide(log, split) for batch in read_range(part, names)]
    rows = sorted(pa.Table.from_batches(batches).to_pylist(), key=lambda row: row["position"])
    assert [row["subject"] for row in rows] == [f"p.{number}" for number in range(40)]
    assert [(row["file"], row["offset"]) for row in rows] == wanted


def test_empty_logs_are_not_copies_of_one(tmp_path: Path) -> None:
    paths = [tmp_path / name for name in ("a.log", "b.log")]
    for path in paths:
        path.touch()
    assert len(whole_logs(list(map(str, paths)))) == 2
    for path in paths:
        path.write_text("[7] 2026/11/21 08:00:00.000000 [INF] a\n")
    with pytest.raises(ValueError, match="begin with the same line"):
        whole_logs(list(map(str, paths)))


_TRACED = '[7] 2026/11/21 08:00:00.000000 [TRC] 127.0.0.1:4 - cid:1 - "v1" - <<- '


@pytest.mark.parametrize(
    ("text", "holds"),
    [
        ("", True),
        ("[7] 2026/11/21 08:00:00.000000 [INF] Server is ready\n", True),
        (f"{_TRACED}[PING]\n", True),
        (f'{_TRACED}MSG_PAYLOAD: ["x"]\n', True),
        (f"something else\n{_TRACED}[PING]\n", True),
        ("something else\nand more\n", False),
    ],
    ids=range(6),
)
def test_a_log_has_lines_of_a_server_or_is_empty(text: str, holds: bool, tmp_path: Path) -> None:
    (tmp_path / "n.log").write_text(text)
    assert holds_server_lines(str(tmp_path / "n.log")) is holds


def test_a_log_is_compressed_if_all_of_its_first_bytes_say_so(tmp_path: Path) -> None:
    path = tmp_path / "n.log"
    for data, plain in ((b"\x1f\n", b"\x1f\n"), (b"\x28\xb5\x2f\n", b"\x28\xb5\x2f\n"),
                        (gzip.compress(b"a\n"), b"a\n"), (b"", b"")):  # fmt: skip
        path.write_bytes(data)
        stream, compressed = open_plain(str(path))
        with stream:
            assert (stream.read(), compressed) == (plain, data != plain)


def test_a_damaged_or_shorter_log_is_an_error(tmp_path: Path) -> None:
    path = tmp_path / "n.log"
    data = random_trace(3, steps=900).encode("latin-1")
    path.write_bytes(data)
    (log,) = whole_logs([str(path)])
    path.write_bytes(data[:-1])
    with pytest.raises(OSError, match="became shorter while it was read"):
        list(read_range(log))
    packed = gzip.compress(data)
    middle = len(packed) // 2
    for broken in (
        packed[:-1],
        packed[:middle] + b"\xff" * 40 + packed[middle + 40 :],
        packed[:10] + b"\x07" + packed[11:],  # the first block has no valid type
    ):
        path.write_bytes(broken)
        with pytest.raises(OSError, match=r"damaged|CRC"):
            list(read_range(whole_logs([str(path)])[0]))


def test_a_batch_is_not_larger_than_a_block_of_lines_needs(tmp_path: Path) -> None:
    """Memory is that of a batch, whatever the size of a log."""
    path = tmp_path / "n.log"
    path.write_text(f"{_TRACED}[PING]\n" * 60_000)
    (log,) = whole_logs([str(path)])
    sizes = [len(batch) for batch in read_range(log, ["op"])]
    assert sum(sizes) == 60_000
    assert max(sizes) < 40_000
    assert min(sizes[:-1]) >= BATCH_ROWS


@pytest.mark.parametrize("parts", [1, 2, 3, 7])
def test_a_log_has_as_many_ranges_as_its_size_needs(parts: int, tmp_path: Path) -> None:
    path = tmp_path / "n.log"
    path.write_bytes(random_trace(3, steps=900).encode("latin-1"))
    (log,) = whole_logs([str(path)])
    split = -(-log.size // parts)
    assert len(list(divide(log, split))) == parts
    assert len(list(divide(log, log.size - 1))) == 2
    assert len(list(divide(log, log.size))) == 1


def test_the_size_of_a_range_is_positive() -> None:
    assert split_bytes_of({}) == split_bytes_of({"splitbytes": ""}) == 64 << 20
    assert split_bytes_of({"splitbytes": "1"}) == 1
    for size in ("0", "-1"):
        with pytest.raises(ValueError, match="splitBytes must be at least 1"):
            split_bytes_of({"splitbytes": size})
