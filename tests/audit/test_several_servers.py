"""Logs of several servers in one file: refused, with the way to separate them."""

from __future__ import annotations

import subprocess
from itertools import chain
from pathlib import Path

import pytest
from local_run import read
from trace_writer import Trace, random_trace

from subtrie.audit._readers.growing_log import advance, empty_offset
from subtrie.audit._readers.log_reader import divide, native, read_range, whole_logs
from subtrie.spark import audit


def of_process(pid: int, seed: int = 1) -> list[str]:
    lines = random_trace(seed, steps=300).splitlines()
    return [line.replace("[7] ", f"[{pid}] ", 1) for line in lines if line.startswith("[7] 2026")]


@pytest.fixture
def both(tmp_path) -> Path:
    path = tmp_path / "both.log"
    pairs = zip(of_process(7), of_process(8, 2), strict=False)
    path.write_text("".join(f"{line}\n" for line in chain.from_iterable(pairs)))
    return path


def test_interleaved_logs_of_two_servers_are_refused(both, run):
    """Their clocks differ, so that windows ended early: four times as many undelivered messages."""
    done = run(both)
    assert done.exit_code == 2
    assert "processes 8 and 7" in done.stderr
    command = done.stderr.partition("as with: ")[2].strip()
    subprocess.run(command, shell=True, check=True, cwd=both.parent)
    apart = (both.parent / "7.log").read_text().splitlines()
    assert apart == [line for line in both.read_text().splitlines() if line.startswith("[7]")]
    with audit(None, [str(both.parent / "7.log")]) as result:
        assert result.summary["operations"] > 0


@pytest.mark.parametrize("split", [1, 700, 5_000, 10**9])
def test_every_division_of_the_file_refuses_it(both, split):
    with pytest.raises(ValueError, match="several servers alternate"):
        audit(None, [str(both)], split_bytes=split)


def test_servers_that_alternate_across_ranges_are_refused(tmp_path):
    """The second range has no line of another process than its first one."""
    lines = [*of_process(7)[:100], *of_process(8, 2), *of_process(7)[100:]]
    path = tmp_path / "both.log"
    path.write_text("".join(f"{line}\n" for line in lines))
    (log,) = whole_logs([str(path)])
    parts = divide(log, 4_000)
    with pytest.raises(ValueError, match="several servers alternate"):
        sum(len(batch) for part in parts for batch in read_range(part))


def test_a_stray_line_before_a_division_is_no_server_that_alternates():
    lines = [*of_process(7)[:100], of_process(8, 2)[0], *of_process(7)[100:]]
    data = "".join(f"{line}\n" for line in lines).encode()
    position = sum(len(line) + 1 for line in lines[:101])
    divider = native().LogDivider([position])
    divider.feed(data)
    ((start, state),) = divider.take()
    assert start == position
    for begin, known in ((0, None), (start, state)):
        reader = native().TraceReader(["op"], begin, None, state=known)
        reader.feed(data[begin:])
        assert reader.alternating is None


def test_a_process_that_was_stray_before_a_division_is_another_server_after_it():
    own, other = of_process(7), of_process(8, 2)
    lines = [*own[:50], other[0], *own[50:100], other[1], *own[100:]]
    data = "".join(f"{line}\n" for line in lines).encode()
    divider = native().LogDivider([sum(len(line) + 1 for line in lines[:60])])
    assert divider.feed(data)
    ((start, state),) = divider.take()
    found = []
    for begin, known in ((0, None), (start, state)):
        reader = native().TraceReader(["op"], begin, None, state=known)
        reader.feed(data[begin:])
        found.append(reader.alternating)
    tells = sum(len(line) + 1 for line in lines[:102])
    assert found == [("7", "8", tells)] * 2


def test_a_stray_line_where_lines_are_skimmed_is_no_server_that_alternates():
    trace = Trace(pid=7)
    for at in range(100):
        trace.tick(1.7)
        trace.publish(1, "s")
        if at == 20:
            trace.lines.append(f"[8] {trace.clock:%Y/%m/%d %H:%M:%S.%f} [INF] Server is ready")
    data = trace.text().encode()
    divider = native().LogDivider([len(data) * 3 // 4], skim=300)
    assert divider.feed(data)
    assert len(divider.take()) == 1
    assert divider.alternating is None


@pytest.mark.parametrize("end", ["", "\n"])
def test_the_last_line_may_be_the_one_that_tells(tmp_path, end):
    lines = [*of_process(7)[:20], *of_process(8, 2), of_process(7)[21]]
    path = tmp_path / "both.log"
    path.write_text("\n".join(lines) + end)
    (log,) = whole_logs([str(path)])
    with pytest.raises(ValueError, match="several servers alternate"):
        list(read_range(log))
    path.write_text("\n".join(lines[:-1]) + end)
    (log,) = whole_logs([str(path)])
    assert sum(map(len, read_range(log))) > 100


def test_a_growing_log_of_two_servers_is_refused(both):
    with pytest.raises(ValueError, match="several servers alternate"):
        advance([str(both)], empty_offset())


@pytest.mark.parametrize("split", [700, 10**9])
def test_a_server_that_started_again_is_one_server(tmp_path, split):
    path = tmp_path / "again.log"
    path.write_text("".join(f"{line}\n" for line in [*of_process(7), *of_process(8, 2)]))
    with audit(None, [str(path)], split_bytes=split) as result:
        assert result.summary["operations"] > 0


def test_a_process_id_that_comes_again_with_a_start_is_another_process():
    trace = Trace(pid=1)
    trace.write(1, "<<- [PING]")
    lines = [*trace.lines]
    trace.pid = 2
    trace.write(1, "<<- [PING]")
    started = lines[0].partition(" [TRC]")[0] + " [INF] Starting nats-server"
    data = "".join(f"{line}\n" for line in [*lines, trace.lines[-1], started, lines[0]])
    assert [row["op"] for row in read(data.encode())] == ["PING", "PING", "START", "PING"]
