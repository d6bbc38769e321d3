"""The other program: as a service whose lines are read, and as a caller.

``SUBTRIE_INTEROP_PEER`` names it; the default is ``examples/interop/peer.py``. With
``SUBTRIE_INTEROP_EXACT`` its responses are compared with the example's texts too.
"""

from __future__ import annotations

import asyncio
import json
import os
import shlex
import sys
from pathlib import Path

from subtrie.connector import Connector
from tests.connector.nats_server import NatsServer

ROOT = Path(__file__).resolve().parents[2]
ROUND_TRIP = 0.4  # seconds: more than a connector measures, for busy machines
PEER = shlex.split(os.environ.get("SUBTRIE_INTEROP_PEER", ""))
MORE: list[str] = []
#: Whether the peer's texts equal the example's where the protocol leaves them open.
EXACT = not PEER or bool(os.environ.get("SUBTRIE_INTEROP_EXACT"))
if not PEER:
    PEER = [sys.executable, "-m", "examples.interop.peer"]
    MORE = ["--round-trip", f"{ROUND_TRIP}s"]  # an option of the example only
PLANE = "interop1"
HIS, OURS = "his.example", "ours.example"
URL = f"https://{HIS}"
# In TESTING, which a test run may set, unsigned actor tokens are accepted.
_ENVIRONMENT = {**os.environ, "MICROBUS_DEPLOYMENT": "LOCAL"}
_LINE = 8 << 20  # bytes: an event may be large


class PeerService:
    """The peer as a service, and the lines it prints."""

    def __init__(self, url: str, *more: str) -> None:
        self.arguments = ["serve", "--nats", url, "--plane", PLANE, "--host", HIS, *MORE, *more]
        self.events: list[str] = []
        self.id = ""

    async def __aenter__(self) -> PeerService:
        self.process = await asyncio.create_subprocess_exec(
            *PEER,
            *self.arguments,
            stdout=asyncio.subprocess.PIPE,
            cwd=ROOT,
            limit=_LINE,
            env=_ENVIRONMENT,
        )
        while not self.id:
            line = (await self.process.stdout.readline()).decode()
            assert line, "the peer ended before it was ready"
            if line.startswith("READY "):
                _, host, self.id = line.split()
                assert host == HIS
        self.reading = asyncio.create_task(self._read())
        return self

    async def _read(self) -> None:
        while line := (await self.process.stdout.readline()).decode():
            if line.startswith("EVENT "):
                self.events.append(line.rstrip("\n"))

    async def event(self, text: str) -> None:
        for _ in range(500):
            if text in self.events:
                return
            await asyncio.sleep(0.02)
        raise AssertionError(f"{text!r} is not among {self.events}")

    async def __aexit__(self, *_) -> None:
        self.process.terminate()
        await asyncio.wait_for(self.process.wait(), 30)
        self.reading.cancel()


async def call(url: str, *arguments: str) -> list[dict]:
    """Run the peer as a caller; return its responses."""
    process = await asyncio.create_subprocess_exec(
        *(*PEER, "call", "--nats", url, "--plane", PLANE, "--host", HIS, *MORE, *arguments),
        stdout=asyncio.subprocess.PIPE,
        cwd=ROOT,
        env=_ENVIRONMENT,
    )
    out, _ = await asyncio.wait_for(process.communicate(), 60)
    return [json.loads(line) for line in out.decode().splitlines() if line.startswith("{")]


async def function(url: str, to: str, name: str, arguments: dict) -> dict:
    """Run the peer as a caller of one of its functions; return what it printed."""
    more = ["--plane", PLANE, "--host", HIS, *MORE, "--to", to, name, json.dumps(arguments)]
    process = await asyncio.create_subprocess_exec(
        *(*PEER, "function", "--nats", url, *more),
        stdout=asyncio.subprocess.PIPE,
        cwd=ROOT,
        env=_ENVIRONMENT,
    )
    out, _ = await asyncio.wait_for(process.communicate(), 60)
    (line,) = [each for each in out.decode().splitlines() if each.startswith("{")]
    return json.loads(line)


def joined(server: NatsServer, host: str = OURS, **more) -> Connector:
    """Return a connector of this process that is connected to the same bus as the peer."""
    options = {"plane": PLANE, "nats": server.url, "short_circuit": False, "deployment": "LOCAL"}
    options["round_trip"] = ROUND_TRIP
    return Connector(host, **{**options, **more})
