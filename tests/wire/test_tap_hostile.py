"""The tap under failure and load: kill -9, many connections, stalled ends, TLS."""

from __future__ import annotations

import asyncio
import json
import os
import shutil
import signal
import ssl
import subprocess
import sys
from collections import Counter, defaultdict
from pathlib import Path
from typing import Any

import nats
import pytest

from examples.shop.broker import find_binary, running
from patience import settled, until
from subtrie.wire import OperationRow, StreamError, Tap, capture, read_operations


def tap_command(to: str, out: Path) -> subprocess.Popen[str]:
    """Start ``subtrie tap`` in a process; its first line names the port."""
    return subprocess.Popen(
        [sys.executable, "-m", "subtrie.cli", "tap", "--listen", "127.0.0.1:0", "--to", to,
         "--out", out, "--rotate", "100000"],
        stderr=subprocess.PIPE, text=True,
    )  # fmt: skip


async def _talk(port: int, count: int) -> None:
    client = await nats.connect(f"nats://127.0.0.1:{port}", allow_reconnect=False)
    for number in range(count):
        await client.publish("a.b", b"%d" % number * 100)
    await settled(client)
    await client.close()


def test_a_killed_tap_leaves_complete_records_and_the_next_one_continues(tmp_path):
    """After kill -9 under traffic, everything forwarded is read back up to the last record."""
    folder = tmp_path / "capture"
    with running(tmp_path / "broker") as broker:
        to = broker.url.removeprefix("nats://")

        def written() -> list[bytes]:
            return [file.read_bytes() for file in capture.files(folder)]

        async def until_killed() -> None:
            process = tap_command(to, folder)
            try:
                port = int(process.stderr.readline().rpartition(":")[2])  # type: ignore[union-attr]
                client = await nats.connect(f"nats://127.0.0.1:{port}", allow_reconnect=False)
                for number in range(2000):
                    await client.publish("a.b", b"%06d" % number)
                await settled(client)
                await until(lambda: any(b"000100" in data for data in written()))
                await client.publish("a.b", b"last words")
                os.kill(process.pid, signal.SIGKILL)
            finally:
                process.kill()
                process.communicate(timeout=20)

        asyncio.run(until_killed())
        rows = list(read_operations(folder))
        assert {row.reason for row in rows if isinstance(row, StreamError)} <= {"torn"}
        seen = [
            row.op.body for row in rows if isinstance(row, OperationRow) and row.op.op == "PUB"
        ][:2000]
        assert len(seen) > 100
        assert [bytes(body) for body in seen] == [b"%06d" % n for n in range(len(seen))]

        # A crash of the machine can also leave an incomplete record.
        last = capture.files(folder)[-1]
        last.write_bytes(last.read_bytes()[:-3])
        process = tap_command(to, folder)
        try:
            port = int(process.stderr.readline().rpartition(":")[2])  # type: ignore[union-attr]
            asyncio.run(_talk(port, 3))
        finally:
            process.send_signal(signal.SIGTERM)
            process.communicate(timeout=20)
    assert len(capture.files(folder)) > len([last])
    rows = [row for row in read_operations(folder) if isinstance(row, OperationRow)]
    connects = [row.conn for row in rows if row.op.op == "CONNECT"]
    assert connects == [1, 2], "the connection of the second tap has a number of its own"
    assert [row.op.op for row in rows if row.conn == 2].count("PUB") == 3


def test_many_connections_at_once(tmp_path):
    async def main(to: tuple[str, int]) -> None:
        async with Tap(to=to, out=tmp_path / "capture") as tap:
            await asyncio.gather(*(_talk(tap.port, 5) for _ in range(60)))

    with running(tmp_path / "broker") as broker:
        host, _, port = broker.url.removeprefix("nats://").rpartition(":")
        asyncio.run(main((host, int(port))))
    rows = list(read_operations(tmp_path / "capture"))
    assert not [row for row in rows if isinstance(row, StreamError)]
    published = Counter(row.conn for row in rows if row.op.op == "PUB")
    assert published == Counter(dict.fromkeys(range(1, 61), 5))
    kinds = Counter(record.kind for record in capture.read(tmp_path / "capture"))
    assert (kinds["opened"], kinds["closed"]) == (60, 60)


async def _served(handle: Any, out: Path, talk: Any, **options: Any) -> Any:
    """Run ``talk`` with the port of a tap in front of the server ``handle``."""
    server = await asyncio.start_server(handle, "127.0.0.1", 0)
    port = server.sockets[0].getsockname()[1]
    async with server, Tap(to=("127.0.0.1", port), out=out, **options) as tap:
        return await asyncio.wait_for(talk(tap.port), 30)


@pytest.mark.parametrize("first", ["client", "server"])
def test_a_half_close_is_forwarded(tmp_path, first):
    """Either side may close its half and still receive the rest."""

    async def handle(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        if first == "server":
            writer.write(b"PING\r\n")
            writer.write_eof()
            assert await reader.read(-1) == b"PONG\r\n"
        else:
            assert await reader.read(-1) == b"PING\r\n"
            await asyncio.sleep(0.05)
            writer.write(b"PONG\r\n")
        writer.close()

    async def talk(port: int) -> bytes:
        reader, writer = await asyncio.open_connection("127.0.0.1", port)
        if first == "server":
            heard = await reader.read(-1)
            await asyncio.sleep(0.05)
            writer.write(b"PONG\r\n")
            writer.write_eof()
        else:
            writer.write(b"PING\r\n")
            writer.write_eof()
            heard = await reader.read(-1)
        await until(lambda: len(records()) == 4)
        writer.close()
        return heard

    def records() -> list[Any]:
        return list(capture.read(tmp_path)) if capture.files(tmp_path) else []

    heard = asyncio.run(_served(handle, tmp_path, talk))
    assert heard == (b"PING\r\n" if first == "server" else b"PONG\r\n")
    assert {record.data for record in records() if record.kind in ("c2s", "s2c")} == {
        b"PING\r\n", b"PONG\r\n",
    }  # fmt: skip


def test_backpressure_is_forwarded_and_does_not_stop_the_tap(tmp_path):
    """A stalled end fills no more than the buffers of its connection."""
    sent = 0
    release = asyncio.Event()

    async def handle(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        await release.wait()
        while await reader.read(1 << 16):
            pass
        writer.close()

    async def talk(port: int) -> int:
        nonlocal sent
        _, stalled = await asyncio.open_connection("127.0.0.1", port)
        piece = bytes(1 << 16)

        async def push() -> None:
            nonlocal sent
            while sent < 200 << 20:
                stalled.write(piece)
                await stalled.drain()
                sent += len(piece)

        pushing = asyncio.ensure_future(push())
        before, quiet = -1, 0
        while quiet < 10:  # until nothing moves any more
            quiet = quiet + 1 if sent == before else 0
            before = sent
            await asyncio.sleep(0.05)
        held = sent
        # Meanwhile another connection opens and closes normally.
        _, other = await asyncio.open_connection("127.0.0.1", port)
        other.write_eof()
        other.close()
        pushing.cancel()
        await asyncio.gather(pushing, return_exceptions=True)
        release.set()
        stalled.close()
        return held

    held = asyncio.run(_served(handle, tmp_path, talk))
    assert held < 64 << 20, "buffers of the kernel and of two streams, not all that was offered"


@pytest.mark.skipif(shutil.which("openssl") is None, reason="openssl makes the certificate")
def test_tls_is_forwarded_and_reported_as_tls(tmp_path):
    key, certificate = tmp_path / "key.pem", tmp_path / "cert.pem"
    subprocess.run(
        ["openssl", "req", "-x509", "-newkey", "rsa:2048", "-nodes", "-keyout", key, "-out",
         certificate, "-days", "1", "-subj", "/CN=localhost", "-addext",
         "subjectAltName=DNS:localhost,IP:127.0.0.1"],
        check=True, capture_output=True,
    )  # fmt: skip
    (tmp_path / "nats.conf").write_text(
        f'listen: "127.0.0.1:-1"\nports_file_dir: "{tmp_path}"\n'
        f'tls {{ cert_file: "{certificate}", key_file: "{key}" }}\n'
    )
    process = subprocess.Popen(
        [find_binary(), "-c", tmp_path / "nats.conf", "-l", tmp_path / "log"]
    )

    async def main() -> bytes:
        def ports() -> list[Path]:
            return list(tmp_path.glob("nats-server_*.ports"))

        await until(lambda: ports() and ports()[0].read_text().strip().endswith("}"))
        url = json.loads(ports()[0].read_text())["nats"][0]
        port = int(url.rpartition(":")[2])
        context = ssl.create_default_context(cafile=str(certificate))
        async with Tap(to=("127.0.0.1", port), out=tmp_path / "capture") as tap:
            client = await nats.connect(f"tls://localhost:{tap.port}", tls=context)
            heard = await client.subscribe("a")
            await client.publish("a", b"in secret")
            message = await heard.next_msg(timeout=10)
            await client.close()
            return bytes(message.data)

    try:
        assert asyncio.run(main()) == b"in secret"
    finally:
        process.terminate()
        process.wait(timeout=20)
    raw: defaultdict[str, bytes] = defaultdict(bytes)
    for record in capture.read(tmp_path / "capture"):
        raw[record.kind] += record.data
    assert raw["s2c"].startswith(b"INFO {")
    assert b"in secret" not in raw["c2s"]
    rows = list(read_operations(tmp_path / "capture"))
    assert [row.op.op for row in rows if isinstance(row, OperationRow)] == ["INFO"]
    broken = [(row.direction, row.reason) for row in rows if isinstance(row, StreamError)]
    assert sorted(broken) == [("c2s", "tls"), ("s2c", "tls")]
