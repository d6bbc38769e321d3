"""Unmodified clients and servers communicate through the tap, which captures every byte."""

from __future__ import annotations

import asyncio
import contextlib
import json
import os
import signal
import socket
import struct
import subprocess
import sys
import threading
import time
from base64 import b64decode
from collections import defaultdict
from pathlib import Path
from typing import Any

import click
import nats
import pytest
from click.testing import CliRunner

from examples.shop.broker import running
from patience import PATIENCE, settled, until, wait_until
from subtrie import reference
from subtrie._cli.app import app
from subtrie._cli.tap import Address
from subtrie.wire import (
    OperationRow,
    StreamError,
    Tap,
    capture,
    log,
    read_capture_operations,
    read_operations,
    read_records,
)
from subtrie.wire._tap import _Recorder
from subtrie.wire._trace_operations import log_operation


def command(*arguments: object) -> tuple[int, list[str]]:
    done = CliRunner().invoke(app, ["wire", *map(str, arguments)])
    return done.exit_code, done.stdout.splitlines()


async def conversation(url: str) -> dict[str, Any]:
    """Two clients: headers, large payloads, a queue group, requests, no responders."""
    said: dict[str, Any] = {"sent": [], "heard": []}
    one, two = await nats.connect(url, name="one"), await nats.connect(url, name="two")

    async def heard(message: Any) -> None:
        said["heard"].append((message.subject, message.data, message.headers))

    async def answered(message: Any) -> None:
        await message.respond(message.data[::-1])

    await two.subscribe("plain.>", cb=heard)
    await two.subscribe("work", queue="workers", cb=heard)
    await one.subscribe("work", queue="workers", cb=heard)
    await two.subscribe("ask", cb=answered)
    await settled(two)
    await settled(one)
    for data in (b"", b"x", b"\r\nPUB a 0\r\n\r\n", os.urandom(300_000)):
        await one.publish("plain.a", data)
        said["sent"].append(("plain.a", data, None))
    headers = {"Key": "value", "Other": "é"}
    await one.publish("plain.h", b"with headers", headers=headers)
    said["sent"].append(("plain.h", b"with headers", headers))
    for number in range(20):
        await one.publish("work", b"%d" % number)
        said["sent"].append(("work", b"%d" % number, None))
    answer = await one.request("ask", b"abc", timeout=10)
    assert answer.data == b"cba"
    with contextlib.suppress(nats.errors.NoRespondersError):
        await one.request("nobody", b"", timeout=10)
    await until(lambda: len(said["heard"]) == len(said["sent"]))
    await one.close()
    await two.close()
    return said


@pytest.fixture(scope="module")
def talk(tmp_path_factory: pytest.TempPathFactory) -> tuple[dict[str, Any], Path, Path, Any]:
    """Return the traffic, the capture, the log of the broker, and a saved /connz."""
    folder = tmp_path_factory.mktemp("tap")

    async def through(url: str) -> dict[str, Any]:
        host, _, port = url.removeprefix("nats://").rpartition(":")
        async with Tap(to=(host, int(port)), out=folder / "capture", rotate=200_000) as tap:
            said = await conversation(f"nats://127.0.0.1:{tap.port}")
        assert tap.error is None
        return said

    with running(folder / "broker") as broker:
        said = asyncio.run(through(broker.url))
    return said, folder / "capture", broker.log, None


def test_the_capture_holds_what_was_sent_and_received(talk):
    said, folder, _, _ = talk
    assert len(capture.files(folder)) > 1, "files rotate"
    published, delivered = [], []
    for row in read_capture_operations(capture.read(folder)):
        assert isinstance(row, OperationRow), row
        if row.op.op in ("PUB", "HPUB"):
            published.append(row.op)
        elif row.op.op in ("MSG", "HMSG"):
            delivered.append(row.op)
    sent = [op for op in published if op.subject.split(".")[0] in ("plain", "work")]
    assert [(op.subject, bytes(op.body)) for op in sent] == [item[:2] for item in said["sent"]]
    got = [op for op in delivered if op.subject.split(".")[0] in ("plain", "work")]
    assert sorted((op.subject, bytes(op.body)) for op in got) == sorted(
        item[:2] for item in said["heard"]
    )
    (with_headers,) = [op for op in sent if op.headers]
    assert dict(with_headers.headers) == {"Key": "value", "Other": "é"}
    assert any(op.status == "503" for op in delivered), "nobody answers"
    assert any(op.reply and op.subject == "ask" for op in delivered)
    assert {op.queue for op in ops_named(folder, "SUB") if op.subject == "work"} == {"workers"}


def ops_named(folder: Path, name: str) -> list[Any]:
    return [
        row.op
        for row in read_operations(folder)
        if isinstance(row, OperationRow) and row.op.op == name
    ]


def test_operations_serialise_to_the_captured_bytes(talk):
    _, folder, _, _ = talk
    streams: defaultdict[Any, list[bytes]] = defaultdict(list)
    for record in capture.read(folder):
        if record.kind in ("c2s", "s2c"):
            streams[record.conn, record.kind].append(record.data)
    assert len(streams) == 4
    rows: defaultdict[Any, list[Any]] = defaultdict(list)
    for row in read_operations(folder):
        rows[row.conn, row.direction].append(row.op)
    for place, pieces in streams.items():
        stream = b"".join(pieces)
        assert b"".join(op.raw for op in rows[place]) == stream
        conn = "client" if place[1] == "c2s" else "server_to_client"
        again = reference.Parser(conn).feed(b"".join(map(bytes, rows[place])))
        assert [op.as_dict() for op in again] == [op.as_dict() for op in rows[place]]


def test_the_log_of_the_broker_agrees_with_the_capture(talk):
    _, folder, path, _ = talk
    seen: defaultdict[Any, list[Any]] = defaultdict(list)
    for row in read_operations(folder):
        # The broker logs neither its INFO nor its own "no responders" messages.
        if row.op.op != "INFO" and row.op.status != "503":
            parts = {key: value for key, value in row.parts.items()
                     if key not in ("payload_b64", "status", "description", "headers")}  # fmt: skip
            seen[row.conn, row.direction].append(parts)
    traced_ops: defaultdict[Any, list[Any]] = defaultdict(list)
    for line in path.read_text(errors="surrogateescape").splitlines():
        record = log.parse_line(line, reveal=True)
        parts = None if record is None else log_operation(record)
        if parts is not None:
            traced_ops[record.id, "c2s" if record.direction == "in" else "s2c"].append(parts)
    assert sorted(map(json.dumps, seen.values())) == sorted(map(json.dumps, traced_ops.values()))


def test_the_command_prints_each_input_as_operations(talk, tmp_path):
    _, folder, path, _ = talk
    code, lines = command(folder)
    assert code == 0
    assert any("SUB subject=work queue=workers" in line for line in lines)
    code, lines = command(folder, "--json")
    rows = [json.loads(line) for line in lines]
    assert code == 0
    assert {row["op"] for row in rows} >= {"INFO", "CONNECT", "PUB", "HPUB", "SUB", "MSG", "HMSG"}
    assert all(row["direction"] in ("c2s", "s2c") and row["time"] for row in rows)
    code, lines = command(capture.files(folder)[0], "--json")
    assert lines
    code, lines = command(path, "--json")
    traced_names = [json.loads(line).get("op") for line in lines]
    assert "PUB" in traced_names
    raw = tmp_path / "bytes"
    raw.write_bytes(b"PING\r\nPUB a 1\r\nx\r\nSUB")
    code, lines = command(raw, "--conn", "client", "--json")
    assert code == 1
    assert [json.loads(line).get("op") for line in lines] == ["PING", "PUB", None]
    assert json.loads(lines[-1])["error"] == "torn"
    raw.write_bytes(b"PING\r\nXX")
    code, lines = command(raw, "--conn", "client")
    assert (code, lines[0]) == (1, "PING")
    assert "! protocol error: this connection has no operation of this name" in lines[1]
    assert command(tmp_path / "missing")[0] == 2


def test_the_time_of_day_of_a_capture_is_that_of_utc(tmp_path, monkeypatch):
    with capture.Writer(tmp_path) as writer:
        writer.write("c2s", 1, b"PING\r\n", at=1_795_219_200_250_001_000)
    try:
        for zone in ("Asia/Tokyo", "UTC"):
            monkeypatch.setenv("TZ", zone)
            time.tzset()
            code, (line,) = command(tmp_path)
            assert (code, line) == (0, "00:00:00.250001 1 -> PING")
    finally:
        monkeypatch.undo()
        time.tzset()


def test_secrets_are_printed_only_with_reveal(tmp_path):
    with capture.Writer(tmp_path) as writer:
        writer.write("c2s", 1, b'CONNECT {"pass":"hunter2","name":"n"}\r\n')
    for option in ([], ["--json"]):
        assert "hunter2" not in "".join(command(tmp_path, *option)[1])
        assert "hunter2" in "".join(command(tmp_path, *option, "--reveal")[1])


def test_secrets_in_payloads_and_texts_are_redacted(tmp_path):
    jwt = "eyJ0eXAiOiJKV1QifQ.eyJqdGkiOiJB.c2lnbmF0dXJl"
    with capture.Writer(tmp_path) as writer:
        writer.write("c2s", 1, f"PUB a {len(jwt)}\r\n{jwt}\r\n".encode())
        writer.write("s2c", 1, f"-ERR 'no {jwt}'\r\n".encode())
    for option in ([], ["--json"]):
        assert jwt not in "".join(command(tmp_path, *option)[1])
    shown = [json.loads(line) for line in command(tmp_path, "--json")[1]]
    assert b64decode(shown[0]["payload_b64"]) == b"*" * len(jwt)
    assert shown[0]["size"] == len(jwt)
    assert shown[1]["message"] == "'no [REDACTED]'"
    shown = [json.loads(line) for line in command(tmp_path, "--json", "--reveal")[1]]
    assert b64decode(shown[0]["payload_b64"]).decode() == jwt
    line = f'[1] 2026/11/21 02:50:28.8 [TRC] 127.0.0.1:1 - cid:8 - <<- MSG_PAYLOAD: ["{jwt}"]'
    assert log.parse_line(line).payload == "[REDACTED]"
    assert log.parse_line(line, reveal=True).payload == jwt


def test_the_command_checks_a_capture_against_the_rules(tmp_path):
    with capture.Writer(tmp_path / "good") as writer:
        writer.write("s2c", 1, b'INFO {"server_id":"A"}\r\n', at=1)
        writer.write("c2s", 1, b'CONNECT {"verbose":false}\r\n', at=2)
    code, lines = command(tmp_path / "good", "--check", "--long")
    assert (code, len(lines)) == (0, 57)
    code, lines = command(tmp_path / "good", "--check")
    assert (code, len(lines)) == (0, 3), "two rules that are seen, and how many are not"
    assert lines[-1] == "55 rules about what is not in the capture: --long"
    assert command(tmp_path / "good", "--long") == (2, []), "it was taken, without effect"
    assert "S4-033 kept: a server sends INFO first (connection 1, byte 0)" in lines
    with capture.Writer(tmp_path / "bad") as writer:
        writer.write("s2c", 1, b"PING\r\n", at=1)
    code, lines = command(tmp_path / "bad", "--check", "--json")
    assert code == 1
    (found,) = [row for row in map(json.loads, lines) if row["verdict"] == "broken"]
    assert (found["row"], found["conn"], found["offset"]) == ("S4-033", 1, 0)
    (tmp_path / "log").write_text("no capture")
    assert command(tmp_path / "log", "--check")[0] == 2


def test_damage_in_a_capture_is_reported_and_reading_continues(tmp_path):
    with capture.Writer(tmp_path) as writer:
        for data in (b"PING\r\n", b"PONG\r\nPU", b"B a 0\r\n\r\n", b"PING\r\n"):
            writer.write("c2s", 1, data)
        writer.write("s2c", 2, b"PONG\r\n")
    (file,) = capture.files(tmp_path)
    third = list(capture.read(file))[2].offset
    data = bytearray(file.read_bytes())
    data[third + 30] ^= 1
    file.write_bytes(data)
    rows = list(read_operations(tmp_path))
    assert [row.reason if isinstance(row, StreamError) else row.op.op for row in rows] == [
        "PING", "PONG", "record", "torn", "PONG",
    ]  # fmt: skip
    assert rows[2].position == third


def test_lost_bytes_end_a_stream_with_an_error(tmp_path):
    with capture.Writer(tmp_path) as writer:
        writer.write("c2s", 1, b"PING\r\n")
        writer.write("lost", 1, b'{"direction":"c2s","bytes":7}')
        writer.write("c2s", 1, b"ONG\r\n")
        writer.write("s2c", 1, b"PONG\r\n")
    rows = list(read_operations(tmp_path))
    assert [row.reason if isinstance(row, StreamError) else row.op.op for row in rows] == [
        "PING", "lost", "PONG",
    ]  # fmt: skip


#: An operation of each kind of connection that no other kind has, from either end.
OF_KIND = {
    "client": (b"PUB a 0\r\n\r\n", b"MSG a 1 0\r\n\r\n"),
    "route": (b"RS+ $G a\r\n", b"RS+ $G a\r\n"),
    "leaf": (b"LS+ a\r\n", b"LS+ a\r\n"),
    "route_legacy": (b"MSG a RSID:1:2 0\r\n\r\n", b"MSG a RSID:1:2 0\r\n\r\n"),
}


@pytest.mark.parametrize("kind", OF_KIND)
@pytest.mark.parametrize("closed", [True, False])
def test_a_connection_of_a_capture_is_read_as_its_kind(tmp_path, kind, closed):
    assert set(OF_KIND) == set(capture.CONNECTION_KINDS)
    assert Tap(to=("127.0.0.1", 1), out=tmp_path / kind, kind=kind).kind == kind
    with capture.Writer(tmp_path) as writer:
        writer.write("opened", 1, json.dumps({"kind": kind}).encode())
        for way, data in zip(("c2s", "s2c"), OF_KIND[kind], strict=True):
            writer.write(way, 1, data + data[:3], at=7)
        if closed:
            writer.write("closed", 1, b"", at=9)
    rows = list(read_capture_operations(read_records(tmp_path), closings=True))
    ends = [(each.direction, each.reason, each.position) for each in rows
            if isinstance(each, StreamError)]  # fmt: skip
    assert ends == [(way, "torn", len(data)) for way, data in
                    zip(("c2s", "s2c"), OF_KIND[kind], strict=True)]  # fmt: skip
    told = [each for each in rows if isinstance(each, OperationRow)]
    assert [(each.conn, each.direction, each.time, each.parts["op"]) for each in told] == [
        (1, way, 7, data.split()[0].decode())
        for way, data in zip(("c2s", "s2c"), OF_KIND[kind], strict=True)
    ] + [(1, None, 9, "CLOSED")] * closed
    assert all(each.parts == each.op.as_dict() for each in told[:2])
    assert not any(each.parts["op"] == "CLOSED" for each in read_operations(tmp_path)
                   if isinstance(each, OperationRow))  # fmt: skip


def test_connections_are_selected_by_their_unique_numbers(tmp_path):
    """A tap that begins again numbers its connections from 1 again, and may leave some open."""
    with capture.Writer(tmp_path) as writer:
        for number in (1, 3, 1, 1):
            writer.write("opened", number, b'{"kind":"client"}')
            writer.write("c2s", number, b"PUB")
        writer.write("c2s", 3, b" three 0\r\n\r\nPING\r\n")
        writer.write("c2s", 1, b" last 0\r\n\r\n")
    found = list(read_operations(tmp_path))
    ops = [each for each in found if isinstance(each, OperationRow)]
    assert [(op.conn, op.parts.get("subject")) for op in ops] == [
        (3, "three"), (3, None), (5, "last"),
    ]  # fmt: skip
    assert sorted(each.conn for each in found if isinstance(each, StreamError)) == [1, 4]
    for wanted in range(1, 6):
        only = list(read_capture_operations(read_records(tmp_path), lambda n, w=wanted: n == w))
        assert only == [each for each in found if each.conn == wanted]


def test_what_precedes_damage_is_read_and_payloads_have_no_limit(tmp_path):
    large = b"PUB a %d\r\n%b\r\n" % (9 << 20, bytes(9 << 20))
    with capture.Writer(tmp_path / "capture") as writer:
        writer.write("c2s", 1, large)
        writer.write("c2s", 1, b"PING\r\nXX\r\n")
        writer.write("c2s", 1, b"PING\r\n")
        writer.write("lost", 2, b'{"direction":"s2c","bytes":7}')
        writer.write("lost", 3, b"{}")
    (tmp_path / "bytes").write_bytes(large + b"PING\r\nXX\r\nPING\r\n")
    for rows in (list(read_operations(tmp_path / "capture")),
                 list(read_operations(tmp_path / "bytes", conn="client"))):  # fmt: skip
        assert [each.parts["op"] for each in rows[:2]] == ["PUB", "PING"]
        assert (rows[2].reason, rows[2].position) == ("unknown op", len(large) + 6)
        assert "byte" in rows[2].message
    lost = [each for each in read_operations(tmp_path / "capture") if each.conn != 1]
    assert [(each.conn, each.direction, each.message) for each in lost] == [
        (2, "s2c", "7 bytes were not recorded"), (3, "c2s", "None bytes were not recorded"),
    ]  # fmt: skip


def test_only_a_handshake_of_tls_is_told_as_tls(tmp_path):
    for number, (first, tls) in enumerate(
        [(b"\x16\x03\x00", 1), (b"\x16\x03\x04", 1), (b"\x16\x03\x05", 0), (b"\x16\x02\x01", 0)]
    ):
        with capture.Writer(tmp_path / str(number)) as writer:
            writer.write("s2c", 1, b"PING\r\n")
            writer.write("s2c", 1, b"PING\r\n" + first)
        ping, _, told = read_operations(tmp_path / str(number))
        assert ping.parts["op"] == "PING"
        assert (told.reason == "tls", told.position == 12) == (bool(tls), True)
        assert ("TLS begins at byte 12" in told.message) == bool(tls)


@pytest.mark.parametrize("packets", [0, 1, 2])
def test_a_log_says_how_many_lines_are_of_mqtt(tmp_path, packets):
    front = "[1] 2026/11/21 02:50:28.844932 [TRC] 127.0.0.1:1 - mid:8 - <<- "
    (tmp_path / "log").write_bytes(
        f"{front}[CONNECT x]\n".encode() * packets
        + f"{front.replace('mid', 'cid')}[PUB \xff 2]\r\njunk\n{front}[PUB a]\n".encode("latin-1")
    )
    rows = list(read_operations(tmp_path / "log"))
    (op,) = [each for each in rows if isinstance(each, OperationRow)]
    assert (op.conn, op.direction, op.time) == ("127.0.0.1:1", "in", "2026/11/21 02:50:28.844932")
    assert op.parts == {"op": "PUB", "subject": "\udcff", "reply": None, "size": 2}
    errors = [(each.reason, each.position, each.message) for each in rows if each is not op]
    assert errors[0][:2] == ("no line of a trace log", packets + 2)
    assert f"line {packets + 2} is not a line of nats-server" in errors[0][2]
    lines = "1 line" if packets == 1 else f"{packets} lines"
    assert errors[1:] == [("mqtt", None, f"{lines} of MQTT not read")] * bool(packets)


def test_the_first_bytes_say_what_an_input_is(tmp_path):
    (tmp_path / "empty").mkdir()
    with pytest.raises(FileNotFoundError, match=r"no \*\.capture files in .*empty"):
        list(read_operations(tmp_path / "empty"))
    page = tmp_path / "page"
    page.write_text('\n {"connections":[{"cid":4,"subscriptions_list":["a"]}]}')
    (row,) = read_operations(page)
    assert (row.conn, row.direction, row.parts["subject"]) == (4, None, "a")
    docker = tmp_path / "docker"
    docker.write_text(json.dumps({"log": "[1] [TRC] 1.2.3.4:5 - cid:8 - <<- [PING]\n"},
                                 separators=(",", ":")))  # fmt: skip
    assert [each.parts["op"] for each in read_operations(docker)] == ["PING"]
    with capture.Writer(tmp_path / "c") as writer:
        writer.write("c2s", 1, b"PING\r\n")
    (file,) = capture.files(tmp_path / "c")
    assert [each.parts["op"] for each in read_operations(file)] == ["PING"]


def test_a_slow_disk_does_not_slow_the_traffic_and_lost_bytes_are_counted(tmp_path, monkeypatch):
    """Real traffic with a blocked writer and a small queue."""
    held = threading.Event()
    append = capture.Writer._append

    def slow(self, row):
        held.wait(20)
        append(self, row)

    monkeypatch.setattr(capture.Writer, "_append", slow)
    payload = bytes(500_000)

    async def main() -> bytes:
        async def echo(reader, writer):
            while data := await reader.read(65536):
                writer.write(data)
            writer.close()

        server = await asyncio.start_server(echo, "127.0.0.1", 0)
        port = server.sockets[0].getsockname()[1]
        async with server, Tap(to=("127.0.0.1", port), out=tmp_path, max_queue=100_000) as tap:
            reader, writer = await asyncio.open_connection("127.0.0.1", tap.port)
            writer.write(payload)
            writer.write_eof()
            back = await asyncio.wait_for(reader.read(-1), PATIENCE)
            writer.close()
            held.set()
        return back

    assert asyncio.run(main()) == payload
    records = list(capture.read(tmp_path))
    kept = sum(len(record.data) for record in records if record.kind in ("c2s", "s2c"))
    lost = sum(record.about["bytes"] for record in records if record.kind == "lost")
    assert lost
    assert kept + lost == 2 * len(payload)


def test_as_many_bytes_may_wait_as_the_limit_says(tmp_path, monkeypatch):
    held = threading.Event()
    append = capture.Writer._append
    monkeypatch.setattr(
        capture.Writer, "_append", lambda self, row: (held.wait(20), append(self, row))
    )
    recorder = _Recorder(capture.Writer(tmp_path), 4)
    recorder.put("opened", 1, b"")  # the writer is busy with it
    recorder.put("c2s", 1, b"ab")
    recorder.put("s2c", 1, b"cd")
    for piece in (b"x", b"yz"):
        recorder.put("c2s", 1, piece)
    held.set()
    recorder.close()
    records = [(each.kind, each.about.get("bytes", each.data)) for each in capture.read(tmp_path)]
    assert records == [("opened", b""), ("c2s", b"ab"), ("s2c", b"cd"), ("lost", 3)]


def test_what_was_written_makes_room(tmp_path):
    recorder = _Recorder(capture.Writer(tmp_path), 2)
    for number in range(1, 6):
        recorder.put("c2s", number, b"ab")
        wait_until(lambda n=number: sum(len(list(capture.read(file)))
                                        for file in capture.files(tmp_path)) == n)  # fmt: skip
    recorder.close()
    assert [(each.kind, each.conn) for each in capture.read(tmp_path)] == [
        ("c2s", number) for number in range(1, 6)
    ]


def test_a_capture_ends_at_the_first_error_of_the_disk(tmp_path, monkeypatch):
    append, failures = capture.Writer._append, [None, OSError("the disk is full"), None]

    def failing(self, row):
        error = failures.pop(0)
        if error is not None:
            raise error
        append(self, row)

    monkeypatch.setattr(capture.Writer, "_append", failing)
    recorder = _Recorder(capture.Writer(tmp_path), 99)
    for data in (b"first", b"second", b"third"):
        recorder.put("c2s", 1, data)
    recorder.close()
    assert (str(recorder.error), len(failures)) == ("the disk is full", 1)
    assert [each.data for each in capture.read(tmp_path)] == [b"first"]


def test_a_tap_is_open_while_it_is_entered(tmp_path):
    tap = Tap(to=("127.0.0.1", 1), out=tmp_path)
    assert (tap.error, tap.connections) == (None, 0)
    with pytest.raises(RuntimeError, match="not open"):
        _ = tap.port
    with pytest.raises(ValueError, match="kind must be one of client, route, leaf, route_legacy"):
        Tap(to=("127.0.0.1", 1), out=tmp_path, kind="gateway")

    async def main() -> None:
        async with tap:
            port = tap.port
            for number in (1, 2):
                reader, writer = await asyncio.open_connection("127.0.0.1", port)
                assert await reader.read() == b""  # nothing listens at its other end
                writer.close()
                assert tap.connections == number
        with pytest.raises(OSError, match=r"\d"):
            await asyncio.open_connection("127.0.0.1", port)

    asyncio.run(main())
    opened, closed = list(capture.read(tmp_path))[:2]
    assert opened.about["kind"] == "client"
    assert opened.about["from"].startswith("127.0.0.1:")
    assert opened.about["to"] == "127.0.0.1:1"
    assert "refused" in closed.about["reason"].lower() or "[Errno" in closed.about["reason"]
    files = {str(path) for path in capture.files(tmp_path)}
    if Path("/proc/self/fd").is_dir():
        held = {os.path.realpath(each) for each in Path("/proc/self/fd").iterdir()}
        assert files.isdisjoint(held)


def test_a_tap_that_cannot_listen_leaves_no_thread(tmp_path):
    with socket.create_server(("127.0.0.1", 0)) as taken:
        tap = Tap(to=("127.0.0.1", 1), out=tmp_path, listen=taken.getsockname())
        with pytest.raises(OSError, match="in use"):
            asyncio.run(tap.__aenter__())
    assert not tap._recorder._thread.is_alive()


def test_the_command_records_until_it_is_stopped(tmp_path):
    with running(tmp_path / "broker") as broker:
        port = broker.url.rpartition(":")[2]
        process = subprocess.Popen(
            [sys.executable, "-m", "subtrie.cli", "tap", "--listen", "127.0.0.1:0",
             "--to", f"127.0.0.1:{port}", "--out", tmp_path / "capture"],
            stderr=subprocess.PIPE, text=True,
        )  # fmt: skip
        try:
            said = process.stderr.readline()
            assert said.startswith("listening on 127.0.0.1:"), said

            async def ping() -> None:
                client = await nats.connect(f"nats://127.0.0.1:{said.rpartition(':')[2].strip()}")
                await settled(client)
                await client.close()

            asyncio.run(ping())
        finally:
            process.send_signal(signal.SIGTERM)
            process.communicate(timeout=20)
    assert process.returncode == 0
    assert [op.op for op in ops_named(tmp_path / "capture", "CONNECT")] == ["CONNECT"]
    records = list(capture.read(tmp_path / "capture"))
    assert (records[0].kind, records[-1].kind) == ("opened", "closed")


def test_an_unreachable_broker_and_a_port_in_use(tmp_path):
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        taken.listen()
        arguments = [
            "--listen",
            f"127.0.0.1:{taken.getsockname()[1]}",
            "--to",
            ":1",
            "--out",
            tmp_path,
        ]
        assert CliRunner().invoke(app, ["tap", *map(str, arguments)]).exit_code == 2
    arguments = ["--to", "nonsense", "--out", str(tmp_path)]
    assert CliRunner().invoke(app, ["tap", *arguments]).exit_code == 2

    async def main() -> bytes:
        async with Tap(to=("127.0.0.1", 1), out=tmp_path) as tap:
            reader, writer = await asyncio.open_connection("127.0.0.1", tap.port)
            data = await reader.read(-1)
            writer.close()
            return data

    assert asyncio.run(main()) == b""
    assert [record.kind for record in capture.read(tmp_path)] == ["opened", "closed"]


@pytest.mark.parametrize(
    ("text", "address"),
    [
        (":4222", ("127.0.0.1", 4222)), ("4222", ("127.0.0.1", 4222)), ("h:0", ("h", 0)),
        ("h:65535", ("h", 65535)), ("[::1]:5", ("::1", 5)), (("h", 5), ("h", 5)),
        *((text, None) for text in ("h:65536", "h:", "h", "h:-1", "h:1.5", "h:٣", "")),
    ],
)  # fmt: skip
def test_an_address_is_a_host_and_a_port(text, address):
    if address is not None:
        assert Address().convert(text, None, None) == address
        return
    with pytest.raises(click.BadParameter, match="is not a valid host:port"):
        Address().convert(text, None, None)


def test_leaving_the_tap_ends_open_connections(tmp_path):
    """A client and a server that say nothing more do not hold it."""

    async def main() -> tuple[bytes, bytes]:
        served: asyncio.Queue[asyncio.StreamReader] = asyncio.Queue()
        server = await asyncio.start_server(lambda r, w: served.put_nowait(r), "127.0.0.1", 0)
        to = server.sockets[0].getsockname()[:2]
        async with asyncio.timeout(2 * PATIENCE):
            async with Tap(to=to, out=tmp_path) as tap:
                reader, writer = await asyncio.open_connection("127.0.0.1", tap.port)
                writer.write(b"PING\r\n")
                there = await served.get()
                assert await there.readexactly(6) == b"PING\r\n"
            ends = await reader.read(), await there.read()
            writer.close()
            server.close()
            return ends

    assert asyncio.run(main()) == (b"", b"")
    records = list(capture.read(tmp_path))
    assert [each.kind for each in records] == ["opened", "c2s", "closed"]
    assert json.loads(records[-1].data) == {"reason": "the tap was closed"}


@pytest.mark.parametrize("side", ["client", "server"])
def test_a_connection_that_is_reset_on_one_side_ends_on_the_other(tmp_path, side):
    reset = struct.pack("ii", 1, 0)  # closing sends RST and not FIN

    async def main() -> bytes:
        served: asyncio.Queue[tuple[asyncio.StreamReader, asyncio.StreamWriter]] = asyncio.Queue()
        server = await asyncio.start_server(lambda r, w: served.put_nowait((r, w)), "127.0.0.1", 0)
        to = server.sockets[0].getsockname()[:2]
        async with asyncio.timeout(2 * PATIENCE), Tap(to=to, out=tmp_path) as tap:
            ends = {"client": await asyncio.open_connection("127.0.0.1", tap.port)}
            ends["client"][1].write(b"PING\r\n")
            ends["server"] = await served.get()
            assert await ends["server"][0].readexactly(6) == b"PING\r\n"
            (other,) = [end for name, end in ends.items() if name != side]
            socket_of_side = ends[side][1].get_extra_info("socket")
            socket_of_side.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, reset)
            ends[side][1].transport.abort()
            rest = await other[0].read()
            other[1].close()
            server.close()
            return rest

    assert asyncio.run(main()) == b""


def test_importing_wire_does_not_import_asyncio():
    program = "import subtrie.wire, sys; print('asyncio' in sys.modules, subtrie.wire.Tap.__name__)"
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True)
    assert (done.stdout, done.stderr) == ("False Tap\n", "")
