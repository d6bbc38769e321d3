"""Our connector in the place of one recorded service, on a real nats-server.

    python -m tests.interop.replay DIR --role SERVICE

A player acts for all the others. It plays only what the recording delivered to this role, and each
message only after everything that the role had published before it was seen: request, then
acknowledgement, then answer; acknowledgement, then the next fragment; never by the clock. What we
publish must be what was recorded, byte for byte, but for masked fields.
"""

from __future__ import annotations

import argparse
import asyncio
import re
import sys
import tempfile
from collections import deque
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import nats

from subtrie.connector import Connector, HTTPError, RandomIds, Response
from tests.connector.nats_server import NatsServer
from tests.interop.cast import LATE, Cast, subscribe_all, until
from tests.interop.wire import Recorded, Recording, read

LIMIT = 15.0  # seconds for one message to come
ROUND_TRIP = 0.1  # as in the recording

#: Scenarios that no role replays, and why.
EXCLUDED = {
    "cache_store": "the distributed cache's client is not part of the connector",
    "cache_load": "the distributed cache's client is not part of the connector",
    "control_openapi": "the description of a service is worded by each implementation",
    "control_metrics": "the connector has metrics where the recorded one had none",
}


class ReplayIds(RandomIds):
    """The recorded message ids in their order, then random ones."""

    def __init__(self) -> None:
        super().__init__()
        self.next: deque[str] = deque()

    def message(self) -> str:
        return self.next.popleft() if self.next else super().message()


@dataclass
class Outcome:
    """What a run of one role came to."""

    role: str
    replayed: list[str] = field(default_factory=list)
    excluded: dict[str, str] = field(default_factory=dict)
    not_this_role: int = 0
    messages: int = 0
    failures: list[str] = field(default_factory=list)

    @property
    def passed(self) -> bool:
        return bool(self.replayed) and not self.failures

    def __str__(self) -> str:
        lines = [
            f"{self.role}: {len(self.replayed)} scenarios replayed, {self.messages} messages "
            f"compared, {len(self.excluded)} excluded, {self.not_this_role} without this role"
        ]
        lines += [f"  excluded {name}: {why}" for name, why in self.excluded.items()]
        lines += [f"  FAILED {text}" for text in self.failures]
        return "\n".join(lines)


class Player:
    """Everybody else."""

    def __init__(self, client: Any, role: str) -> None:
        self.client, self.role = client, role
        self.heard: dict[tuple[str, str, str, str], deque[bytes]] = {}
        self.count = 0

    async def listen(self, plane: str) -> None:
        async def hear(message: Any) -> None:
            text = message.data.partition(b"\r\n\r\n")[0].decode("latin-1")
            if f"Microbus-From-Id: {self.instance}" not in text:
                return  # played by ourselves
            key = (_field(text, "Msg-Id"), _field(text, "Op-Code"), _field(text, "Fragment"))
            self.heard.setdefault((*key, message.subject), deque()).append(message.data)
            self.count += 1

        await self.client.subscribe(f"{plane}.>", cb=hear)
        await self.client.flush()
        await self.client.flush()

    instance = ""

    async def play(self, messages: list[Recorded], outcome: Outcome, hold: asyncio.Event) -> None:
        """Plays one scenario and compares what comes."""
        for message in messages:
            if message.service == self.role:
                await until(
                    lambda m=message: bool(self.heard.get(m.key)), LIMIT, f"never seen: {message}"
                )
                ours = self.heard[message.key].popleft()
                difference = compare(message, ours)
                if difference:
                    outcome.failures.append(f"{message}: {difference}")
                outcome.messages += 1
            elif self.role in message.delivered_to:
                if message.op in ("Res", "Err"):
                    await hold.wait()
                await self.client.publish(message.subject, message.payload)
                await self.client.flush()


def _field(head: str, name: str) -> str:
    found = re.search(rf"^Microbus-{name}: (.*?)\r?$", head, re.M)
    return found[1] if found else ""


def compare(recorded: Recorded, ours: bytes) -> str:
    """What is different, but for masked fields; empty where nothing is."""
    theirs_masked, ours_masked = _masked(recorded.payload), _masked(ours)
    if theirs_masked == ours_masked:
        return _budgets(recorded.payload, ours)
    for theirs_line, our_line in zip(
        theirs_masked.split(b"\r\n"), ours_masked.split(b"\r\n"), strict=False
    ):
        if theirs_line != our_line:
            return f"{our_line[:200]!r} instead of {theirs_line[:200]!r}"
    return f"{len(ours_masked)} bytes instead of {len(theirs_masked)}"


def _masked(payload: bytes) -> bytes:
    head, _, body = payload.partition(b"\r\n\r\n")
    head = re.sub(rb"\r\nTraceparent: [^\r]*", b"", head)
    if b"\r\nMicrobus-Call-Depth: 1\r\n" not in head + b"\r\n":
        head = re.sub(rb"(\r\nMicrobus-Time-Budget: )[^\r]*", rb"\1*", head)
    if b"\r\nMicrobus-Op-Code: Err" in head:
        body = re.sub(rb'"trace": ?"[0-9a-f]{32}"', b'"trace": *', body)
        body = re.sub(rb'\n    "stack": \[.*?\n    \],', b"", body, flags=re.S)
        body = re.sub(rb'"stack":\[.*?\],', b"", body, flags=re.S)
        head = re.sub(rb"\r\nContent-Length: \d+", b"\r\nContent-Length: *", head)
    return head + b"\r\n\r\n" + body


def _budgets(theirs: bytes, ours: bytes) -> str:
    from subtrie.connector.frame import seconds_of

    left, right = (
        seconds_of(_field(each.partition(b"\r\n\r\n")[0].decode(), "Time-Budget"))
        for each in (theirs, ours)
    )
    # A nested budget is what the outer one left: never more, and not much less on a slow machine.
    return (
        "" if left - 8 < right <= max(left, round(left + 0.1, 6)) else f"budget {right}, not {left}"
    )


async def replay(recording: Recording, role: str, url: str) -> Outcome:
    """Runs every scenario in which the role has a part."""
    truth = recording.truth
    service = next(each for each in truth["services"] if each["name"] == role)
    recording.messages(truth["outside_scenarios"])  # they are not replayed, but they were published
    outcome, ids = Outcome(role), ReplayIds()
    version = 254 if service["host"] == "configurator.core" else service["version"]
    connector = Connector(
        service["host"],
        version=version,
        id=service["instance"],
        plane=truth["plane"],
        locality=service["locality"],
        deployment="LOCAL",
        nats=url,
        short_circuit=False,
        ids=ids,
        round_trip=ROUND_TRIP,
    )
    cast = Cast(connector)
    subscribe_all(connector, cast.handle)
    if role == "stock":
        connector.config("Shelf", default="")
    client = await nats.connect(url)
    player = Player(client, role)
    async with connector:
        await asyncio.sleep(3 * ROUND_TRIP)  # its own announcement is over
        player.instance = connector.id
        await player.listen(truth["plane"])
        for scenario in truth["scenarios"]:
            messages = recording.messages(scenario["messages"])
            name = scenario["name"]
            if not any(m.service == role or role in m.delivered_to for m in messages):
                outcome.not_this_role += 1
            elif name in EXCLUDED:
                outcome.excluded[name] = EXCLUDED[name]
            else:
                try:
                    await _scenario(scenario, messages, connector, cast, player, outcome, ids)
                    outcome.replayed.append(name)
                except AssertionError as failed:
                    outcome.failures.append(f"{name}: {failed}")
    await client.close()
    return outcome


async def _scenario(
    scenario: dict[str, Any],
    messages: list[Recorded],
    connector: Connector,
    cast: Cast,
    player: Player,
    outcome: Outcome,
    ids: ReplayIds,
) -> None:
    role = player.role
    mine = [m for m in messages if m.service == role]
    ids.next = deque(dict.fromkeys(m.message_id for m in mine if m.op == "Req"))
    own_call = scenario["caller"] == connector.host
    hold = asyncio.Event()
    _prepare(scenario, messages, cast, role, own_call)
    calling: asyncio.Task[Any] | None = None
    if own_call and any(m.op == "Req" for m in mine):
        calling = asyncio.create_task(_call(scenario, connector))
        gives_up = scenario.get("timeout_ms") and scenario["expected_status"] == [408]
        if gives_up and not any(m.op == "Err" for m in messages):
            calling.add_done_callback(lambda _: hold.set())  # the answer came too late
        else:
            hold.set()
    else:
        hold.set()
    await player.play(messages, outcome, hold)
    if calling is not None:
        statuses = await calling
        expected = scenario["expected_status"] * (1 if scenario["multicast"] else scenario["calls"])
        if scenario["method"] and sorted(statuses) != sorted(
            result["status"] for result in scenario["results"]
        ):
            outcome.failures.append(f"{scenario['name']}: {statuses}, expected {expected}")


def _prepare(
    scenario: dict[str, Any], messages: list[Recorded], cast: Cast, role: str, own_call: bool
) -> None:
    """Which answer each request gets, and what its handler asks before."""
    asked = [m for m in messages if m.op == "Req" and (m.fragment or "1/")[:2] == "1/"]
    for request in asked:
        if role not in request.delivered_to:
            continue
        answers = [
            m
            for m in messages
            if m.service == role and m.op in ("Res", "Err") and m.message_id == request.message_id
        ]
        if answers:
            cast.answers[request.message_id] = answers
            depth = int(request.headers["Microbus-Call-Depth"][0])
            cast.nested[request.message_id] = [
                (m, len(m.delivered_to) != 1)
                for m in asked
                if m.service == role
                and not own_call
                and int(m.headers["Microbus-Call-Depth"][0]) == depth + 1
                and "config-refresh" not in scenario["name"]
            ]


async def _call(scenario: dict[str, Any], connector: Connector) -> list[int]:
    """What the recorded caller did."""
    if scenario.get("action") == "latesub":
        await connector.subscribe(*LATE, lambda: Response())
        return []
    if scenario["method"] is None:
        return []
    timeout = scenario.get("timeout_ms")
    body = scenario.get("body")
    options: dict[str, Any] = {
        "headers": dict(scenario.get("headers") or {}),
        "timeout": timeout / 1000 if timeout else None,
        "body": body.encode() if body else None,
    }
    if scenario.get("body_size"):
        options["body"] = (b"abcdefghijklmnopqrstuvwxyz0123456789\n" * 9000)[
            : scenario["body_size"]
        ]
        options["headers"]["Content-Type"] = "text/plain"
    elif body:
        options["headers"]["Content-Type"] = "application/json"
    statuses = []
    for _ in range(scenario["calls"]):
        if scenario["multicast"]:
            answers = connector.publish(scenario["method"], scenario["url"], **options)
            statuses += [a.error.status if a.error else a.status async for a in answers]
            continue
        try:
            answer = await connector.request(scenario["method"], scenario["url"], **options)
            statuses.append(answer.status)
        except HTTPError as error:
            statuses.append(error.status)
    return statuses


def run(folder: Path, role: str) -> Outcome:
    """One role on a server of its own."""
    recording = read(folder)
    with tempfile.TemporaryDirectory() as place:
        server = NatsServer(Path(place), max_payload=recording.truth["max_payload"]).start()
        try:
            return asyncio.run(replay(recording, role, server.url))
        finally:
            server.stop()


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("folder", type=Path)
    parser.add_argument("--role", required=True)
    given = parser.parse_args()
    outcome = run(given.folder, given.role)
    print(outcome)
    return 0 if outcome.passed else 1


if __name__ == "__main__":
    sys.exit(main())
