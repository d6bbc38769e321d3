"""A cluster of real brokers whose clients and routes pass through proxies."""

from __future__ import annotations

import asyncio
import contextlib
import json
import socket
import subprocess
import time
from pathlib import Path

from examples.shop.broker import find_binary
from servers import free_ports

from .fault_proxy import FaultProxy

_START = 20.0  # seconds


class BrokerCluster:
    """Some nats-servers in one cluster, started and killed one by one.

    Args:
        folder: Where configurations and logs are written.
        count: The number of servers.
        seed: The seed of the proxies.
    """

    def __init__(self, folder: Path, count: int, seed: int) -> None:
        self.folder, self.count = folder, count
        ports = free_ports(2 * count)
        self.ports, self.routes = ports[:count], ports[count:]
        self.clients = [FaultProxy(port, f"{seed}:client:{port}") for port in self.ports]
        self.between = [FaultProxy(p, f"{seed}:{p}", reads_protocol=False) for p in self.routes]
        self._processes: list[subprocess.Popen[bytes] | None] = [None] * count

    @property
    def url(self) -> str:
        """The servers, as their clients reach them."""
        return ",".join(f"nats://127.0.0.1:{proxy.port}" for proxy in self.clients)

    async def __aenter__(self) -> BrokerCluster:
        try:
            for proxy in (*self.clients, *self.between):
                await proxy.start()
            for number in range(self.count):
                await self.start(number)
            await self._wait_for(self._is_whole)
        except BaseException:
            await self.__aexit__()
            raise
        return self

    async def __aexit__(self, *_: object) -> None:
        for number in range(self.count):
            self.kill(number)
        for proxy in (*self.clients, *self.between):
            await proxy.stop()

    async def start(self, number: int) -> None:
        """Start a server, and return when it accepts connections."""
        if self._processes[number] is not None:
            return
        folder = self.folder / f"broker-{number}"
        folder.mkdir(parents=True, exist_ok=True)
        others = [proxy for other, proxy in enumerate(self.between) if other != number]
        config = {
            "server_name": f"broker-{number}", "host": "127.0.0.1", "port": self.ports[number],
            "max_payload": 262_144, "ping_interval": "2s", "ping_max": 2,
            "cluster": {
                "name": "chaos", "listen": f"127.0.0.1:{self.routes[number]}",
                "no_advertise": True, "pool_size": -1, "compression": "off",
                "routes": [f"nats-route://127.0.0.1:{each.port}" for each in others],
            },
        }  # fmt: skip
        (folder / "nats.conf").write_text(json.dumps(config))
        self._processes[number] = subprocess.Popen(
            [find_binary(), "-c", folder / "nats.conf", "-l", folder / "log"],
            stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, start_new_session=True,
        )  # fmt: skip
        await self._wait_for(lambda: self._answers(self.ports[number]))

    def kill(self, number: int) -> None:
        """End a server without notice."""
        process, self._processes[number] = self._processes[number], None
        if process is not None:
            process.kill()
            process.wait()

    def _answers(self, port: int) -> bool:
        with contextlib.suppress(OSError), socket.create_connection(("127.0.0.1", port), 1):
            return True
        return False

    def _is_whole(self) -> bool:
        """Whether every proxy between servers carries a route."""
        return sum(len(proxy._open) for proxy in self.between) >= 2 * (self.count - 1)

    async def _wait_for(self, true: object) -> None:
        limit = time.monotonic() + _START
        while not true():  # type: ignore[operator]
            if time.monotonic() > limit:
                raise TimeoutError("the brokers did not come up")
            await asyncio.sleep(0.02)
