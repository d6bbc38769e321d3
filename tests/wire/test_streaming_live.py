"""A live nats-streaming-server behind the tap: all its traffic decodes."""

from __future__ import annotations

import asyncio
import os
import shutil
import subprocess
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import nats
import pytest

from patience import until, wait_until
from servers import free_port
from subtrie.wire import OperationRow, Tap, conversation, read_operations, streaming
from subtrie.wire.streaming import Conversation

MODULE = "github.com/nats-io/nats-streaming-server@v0.25.6"


@pytest.fixture(scope="module")
def binary(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> str:
    """The server: on PATH, kept from an earlier run, or built with the ordinary Go client."""
    if found := shutil.which("nats-streaming-server"):
        return found
    cache = getattr(request.config, "cache", None)
    name = "nats-streaming-server"
    kept = Path(tmp_path_factory.mktemp(name) if cache is None else cache.mkdir(name))
    built = kept / "nats-streaming-server"
    if not built.exists():
        go = shutil.which("go")
        if go is None:
            pytest.skip("no nats-streaming-server on PATH, and no Go to build one with")
        done = subprocess.run(
            [go, "install", "-gcflags=all=-l", MODULE],  # a quarter faster to compile
            env={**os.environ, "GOBIN": str(kept), "GOFLAGS": "-mod=mod"},
            capture_output=True, text=True, timeout=300, cwd=kept, check=False,
        )  # fmt: skip
        if done.returncode != 0:
            pytest.skip(f"nats-streaming-server cannot be built: {done.stderr[-300:]}")
    return str(built)


@contextmanager
def server(binary: str, folder: Path):
    port = free_port()
    process = subprocess.Popen(
        [binary, "-a", "127.0.0.1", "-p", str(port), "-cid", "mycluster", "-store", "memory",
         "-hbi", "300ms", "-hbt", "5s", "-hbf", "20", "-l", folder / "stan.log"],
    )  # fmt: skip
    try:
        log = folder / "stan.log"

        def is_up() -> bool:
            assert process.poll() is None
            return log.exists() and "Streaming Server is ready" in log.read_text()

        wait_until(is_up, "the server never came up")
        yield port
    finally:
        process.terminate()
        process.wait(timeout=20)


SENT_BY_CLIENT = {
    "ConnectRequest", "SubscriptionRequest", "UnsubscribeRequest", "PubMsg", "Ack", "CloseRequest",
    "HeartbeatAnswer",
}  # fmt: skip
SENT_BY_SERVER = {
    "ConnectResponse", "SubscriptionResponse", "PubAck", "MsgProto", "CloseResponse", "Heartbeat",
}  # fmt: skip


class Client:
    """A client with the behaviour that the protocol page describes."""

    def __init__(self, name: str) -> None:
        self.name = name
        self.beats = 0
        self.got: list[Any] = []
        self.delivered_again = False

    async def connect(self, url: str) -> Any:
        self.nc = await nats.connect(url)
        inbox = self.nc.new_inbox()
        await self.nc.subscribe(inbox, cb=self.beat)
        request = streaming.ConnectRequest(clientID=self.name, heartbeatInbox=inbox)
        # S3-026: the default prefix and the cluster's id.
        answer = await self.nc.request("_STAN.discover.mycluster", request.encode(), timeout=10)
        self.response = streaming.ConnectResponse.decode(answer.data)
        return self.response

    async def beat(self, message: Any) -> None:
        self.beats += 1
        await self.nc.publish(message.reply, b"")

    async def publish(self, channel: str, data: bytes, guid: str) -> Any:
        message = streaming.PubMsg(clientID=self.name, guid=guid, subject=channel, data=data)
        subject = f"{self.response.pubPrefix}.{channel}"
        answer = await self.nc.request(subject, message.encode(), timeout=10)
        return streaming.PubAck.decode(answer.data)

    async def subscribe(self, channel: str, *, skip_first_ack: bool = False, **options: Any) -> Any:
        inbox = self.nc.new_inbox()
        answered: asyncio.Future[str] = asyncio.get_running_loop().create_future()
        skipped: list[int] = []

        async def deliver(message: Any) -> None:
            found = streaming.MsgProto.decode(message.data)
            self.got.append(found)
            # Twice: the first acknowledgement is then late by any clock.
            if skip_first_ack and len(skipped) < 2 and found.sequence in (skipped or [1]):
                skipped.append(found.sequence)
                return
            self.delivered_again |= found.sequence in skipped
            ack = streaming.Ack(subject=found.subject, sequence=found.sequence)
            # The first delivery may arrive before the answer, which has its own inbox.
            await self.nc.publish(await answered, ack.encode())

        await self.nc.subscribe(inbox, cb=deliver)
        request = streaming.SubscriptionRequest(
            clientID=self.name, subject=channel, inbox=inbox, maxInFlight=16, ackWaitInSecs=1,
            startPosition=streaming.StartPosition["First"], **options,
        )  # fmt: skip
        answer = await self.nc.request(self.response.subRequests, request.encode(), timeout=10)
        response = streaming.SubscriptionResponse.decode(answer.data)
        assert not response.error
        answered.set_result(response.ackInbox)
        return response

    async def unsubscribe(self, channel: str, inbox: str, durable: str = "") -> Any:
        request = streaming.UnsubscribeRequest(
            clientID=self.name, subject=channel, inbox=inbox, durableName=durable
        )
        answer = await self.nc.request(self.response.unsubRequests, request.encode(), timeout=10)
        return streaming.SubscriptionResponse.decode(answer.data)

    async def close(self) -> Any:
        request = streaming.CloseRequest(clientID=self.name)
        answer = await self.nc.request(self.response.closeRequests, request.encode(), timeout=10)
        await self.nc.close()
        return streaming.CloseResponse.decode(answer.data)


async def talk(port: int, out: Path) -> Client:
    async with Tap(to=("127.0.0.1", port), out=out) as tap:
        client = Client("me")
        url = f"nats://127.0.0.1:{tap.port}"
        assert not (await client.connect(url)).error
        other = Client("me")
        assert "clientID" in (await other.connect(url)).error  # S3-022: it is in use
        await other.nc.close()
        durable = await client.subscribe("foo", skip_first_ack=True, durableName="d")
        queue = await client.subscribe("foo", qGroup="q")
        for number in range(5):
            ack = await client.publish("foo", b"%d" % number, f"g{number}")
            assert (ack.guid, ack.error) == (f"g{number}", "")
        plain = await client.subscribe("foo")
        # Five for each subscription, and one that was not acknowledged twice. Others may be, too.
        await until(lambda: len(client.got) >= 17 and client.delivered_again)
        await until(lambda: client.beats >= 2)
        assert not (await client.unsubscribe("foo", plain.ackInbox)).error
        assert not (await client.unsubscribe("foo", queue.ackInbox)).error
        assert not (await client.unsubscribe("foo", durable.ackInbox, "d")).error
        assert not (await client.close()).error
    return client


@pytest.mark.requirement(
    *[f"S3-{row:03}" for row in range(9, 20)],
    "S3-020",
    "S3-038",
    "S3-055",
    "S3-059",
    "S3-060",
    "S3-065",
    "S3-073",
    "S3-089",
    "S3-093",
    "S3-097",
)
def test_all_traffic_of_a_live_server_decodes(binary, tmp_path):
    with server(binary, tmp_path) as port:
        client = asyncio.run(talk(port, tmp_path / "capture"))
    rows = list(read_operations(tmp_path / "capture"))
    assert all(isinstance(row, OperationRow) for row in rows)
    talks: dict[Any, Conversation] = {}
    counted: dict[str, int] = {}
    directions: dict[str, set[str]] = {}
    undecoded = []
    for row in rows:
        typed = talks.setdefault(row.conn, Conversation()).feed(row.op)
        if typed is not None:
            directions.setdefault(typed.name, set()).add(row.direction)
            counted[typed.name] = counted.get(typed.name, 0) + 1
        elif row.op.payload is not None:
            undecoded.append(row.op)
    assert undecoded == []
    assert directions == {
        **{key: {"c2s"} for key in SENT_BY_CLIENT},
        **{key: {"s2c"} for key in SENT_BY_SERVER},
    }
    assert counted["ConnectRequest"] == counted["ConnectResponse"] == 2
    assert counted["PubMsg"] == counted["PubAck"] == 5
    assert counted["SubscriptionRequest"] == counted["UnsubscribeRequest"] == 3
    assert counted["SubscriptionResponse"] == 6
    assert counted["MsgProto"] == len(client.got)
    assert counted["Ack"] == len(client.got) - 2
    assert counted["Heartbeat"] >= counted["HeartbeatAnswer"] >= 2
    assert counted["CloseRequest"] == counted["CloseResponse"] == 1
    verdicts = {finding.row: finding.verdict for finding in conversation.check(rows)}
    assert "broken" not in verdicts.values()
    kept = (
        *(f"S3-{row:03}" for row in range(9, 20)),
        "S3-004", "S3-007", "S3-020", "S3-022", "S3-023", "S3-040", "S3-042", "S3-044", "S3-054",
        "S3-056", "S3-061", "S3-066", "S3-067", "S3-081", "S3-082", "S3-087", "S3-094", "S4-033",
        "S4-049", "S4-083", "S4-093",
    )  # fmt: skip
    for row in kept:
        assert verdicts[row] == "kept", row
