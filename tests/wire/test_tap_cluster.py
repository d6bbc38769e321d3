"""Two live servers of a cluster behind the tap, and their monitoring endpoints."""

from __future__ import annotations

import asyncio
import contextlib
import json
import subprocess
import urllib.request
from pathlib import Path
from typing import Any

import nats
import pytest

from engines import ENGINES
from examples.shop.broker import find_binary
from patience import settled, until, wait_until
from servers import free_ports
from subtrie.wire import StreamError, Tap, monitor, read_operations


@contextlib.contextmanager
def server(folder: Path, name: str, port: int, cluster: int, http: int, routes: list[int]):
    folder.mkdir(parents=True, exist_ok=True)
    config = {
        "server_name": name, "host": "127.0.0.1", "port": port, "http": f"127.0.0.1:{http}",
        "cluster": {
            "name": "C", "listen": f"127.0.0.1:{cluster}", "no_advertise": True, "pool_size": -1,
            "compression": "off", "routes": [f"nats-route://127.0.0.1:{each}" for each in routes],
        },
    }  # fmt: skip
    (folder / "nats.conf").write_text(json.dumps(config))
    process = subprocess.Popen([find_binary(), "-c", folder / "nats.conf", "-l", folder / "log"])
    try:
        yield process
    finally:
        process.terminate()
        process.wait(timeout=20)


def asked(http: int, path: str) -> bytes:
    with urllib.request.urlopen(f"http://127.0.0.1:{http}/{path}", timeout=10) as answer:
        return bytes(answer.read())


@pytest.mark.requirement("S4-001", "S4-051", "S4-057", "S4-068", "S4-078", "S4-087")
def test_two_servers_talk_through_the_tap(tmp_path):
    ports = free_ports(6)
    a, a_cluster, a_http, b, b_cluster, b_http = ports

    async def main() -> dict[str, bytes]:
        async with Tap(to=("127.0.0.1", a_cluster), out=tmp_path / "capture", kind="route") as tap:
            with (
                server(tmp_path / "a", "A", a, a_cluster, a_http, []),
                server(tmp_path / "b", "B", b, b_cluster, b_http, [tap.port]),
            ):
                loop = asyncio.get_running_loop()

                def formed() -> bool:
                    with contextlib.suppress(OSError):
                        routes = [asked(each, "routez") for each in (a_http, b_http)]
                        return all(json.loads(text)["routes"] for text in routes)
                    return False

                await asyncio.to_thread(wait_until, formed, "the cluster never formed")
                one = await nats.connect(f"nats://127.0.0.1:{a}")
                two = await nats.connect(f"nats://127.0.0.1:{b}")
                heard: list[Any] = []

                async def got(message: Any) -> None:
                    heard.append(message)
                    if message.reply:
                        await message.respond(b"yes")

                await two.subscribe("far.*", cb=got)
                worker = await two.subscribe("far.work", queue="workers", cb=got)
                await settled(two)

                async def known(there: bool) -> bytes:
                    """The subscriptions of B that A knows, once it knows both or none."""
                    texts = []

                    def all_or_none() -> bool:
                        texts.append(asked(a_http, "routez?subs=detail"))
                        return {name in texts[-1] for name in (b"far.work", b"far.*")} == {there}

                    await asyncio.to_thread(wait_until, all_or_none, "the interest did not change")
                    return texts[-1]

                snapshots = {"routez": await known(True)}
                snapshots["connz"] = await loop.run_in_executor(
                    None, asked, b_http, "connz?subs=detail&auth=1"
                )
                snapshots["subsz"] = await loop.run_in_executor(None, asked, b_http, "subsz?subs=1")
                await one.publish("far.work", b"hello")
                await one.publish("far.h", b"body", headers={"A": "b"})
                assert (await one.request("far.ask", b"?", timeout=10)).data == b"yes"
                await until(lambda: len(heard) >= 4)
                await worker.unsubscribe()
                await settled(two)
                await one.close()
                await two.close()
                await known(False)
            return snapshots

    snapshots = asyncio.run(main())
    rows = list(read_operations(tmp_path / "capture"))
    assert not [row for row in rows if isinstance(row, StreamError)]
    names = {row.op.op for row in rows}
    assert names >= {"INFO", "CONNECT", "RS+", "RS-", "RMSG", "HMSG"}
    connects = [row.op.json for row in rows if row.op.op == "CONNECT"]
    assert connects
    assert not any(options.get("verbose", False) for options in connects)
    assert "+OK" not in names
    for row in rows:
        for engine in ENGINES.values():
            (again,) = engine.Parser("route", max_payload=None).feed(bytes(row.op))
            assert again.as_dict() == row.parts
    interest = [row.parts for row in rows if row.op.op == "RS+"]
    wanted = {"op": "RS+", "account": "$G", "subject": "far.work", "queue": "workers", "weight": 1}
    assert wanted in interest
    # A reply travels with its message, and interest ends when a client leaves.
    asked_for = next(row.op for row in rows if row.op.subject == "far.ask")
    assert asked_for.reply
    gone = [(op.subject, op.queue) for op in (row.op for row in rows) if op.op == "RS-"]
    assert ("far.work", "workers") in gone
    (work,) = [row.op for row in rows if row.op.op == "RMSG" and row.op.subject == "far.work"]
    assert (work.queues, bytes(work.payload)) == (("workers",), b"hello")
    # The snapshots have the same subscriptions.
    subsz, connz, routez = (monitor.loads(snapshots[name]) for name in ("subsz", "connz", "routez"))
    assert (subsz.endpoint, connz.endpoint, routez.endpoint) == ("subsz", "connz", "routez")
    held = {(s.subject, s.queue) for s in connz.subscriptions}
    assert held >= {("far.*", None), ("far.work", "workers")}
    assert wanted in [s.operation for s in routez.subscriptions]
    assert held <= {(s.subject, s.queue) for s in subsz.subscriptions}
