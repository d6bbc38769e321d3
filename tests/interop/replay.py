"""A connector in the place of one recorded service, on a real nats-server.

    python -m tests.interop.replay DIR --role SERVICE

A player acts for all other services. It plays only what the recording delivered to this role, and
each message only after everything that the role had published before it was seen: request, then
acknowledgement, then response; acknowledgement, then the next fragment; nested response, then outer
response; never by the clock. The connector must publish what was recorded, byte for byte, except in
masked fields. Messages at startup and shutdown are replayed too, one exchange after the other.
Everything else about the role is read from the recording.
"""

from __future__ import annotations

import argparse
import asyncio
import sys
import tempfile
from collections import deque
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import nats

from patience import PATIENCE, settled, until
from subtrie.connector import Connector, Endpoint, HTTPError, Response
from subtrie.connector._ids import RandomIds
from tests.connector.nats_server import NatsServer
from tests.interop.differences import difference
from tests.interop.differences import field as header
from tests.interop.roles import (
    NearestByUrl,
    RecordedRole,
    ask,
    asked_for,
    configuration_of,
    deployment_of,
    options_of,
    routes_of,
    subscribe_all,
    version_of,
    without_locality,
)
from tests.interop.scenario import RoleScenario, nested_in, scenario_for, whole_body
from tests.interop.wire import Recorded, Recording, read

ROUND_TRIP = 0.1  # as in the recordings


class ReplayIds(RandomIds):
    """The recorded message ids in their order, then random ones."""

    def __init__(self) -> None:
        super().__init__()
        self.next: deque[str] = deque()

    def message(self) -> str:
        return self.next.popleft() if self.next else super().message()


@dataclass
class Outcome:
    """The result of a run of one role."""

    role: str
    published: int = 0  # by the role, in the recording
    replayed: list[str] = field(default_factory=list)
    excluded: dict[str, str] = field(default_factory=dict)
    not_this_role: int = 0
    exchanges: int = 0  # outside of scenarios
    messages: int = 0
    not_compared: int = 0
    failures: list[str] = field(default_factory=list)

    @property
    def passed(self) -> bool:
        return bool(self.replayed) and self.messages > 0 and not self.failures

    def __str__(self) -> str:
        lines = [
            f"{self.role}: {len(self.replayed)} scenarios replayed, {len(self.excluded)} excluded, "
            f"{self.not_this_role} without this role; {self.exchanges} exchanges of starting and "
            f"stopping; {self.messages} of its {self.published} messages compared"
        ]
        lines += [f"  excluded {name}: {why}" for name, why in self.excluded.items()]
        if not self.replayed:
            lines.append("  FAILED nothing was replayed")
        lines += [f"  FAILED {text}" for text in self.failures]
        return "\n".join(lines)


class Player:
    """All other services of the recording."""

    def __init__(self, client: Any, role: str, instance: str) -> None:
        self.client, self.role, self.instance = client, role, instance
        self.heard: dict[tuple[str, str, str, str], deque[bytes]] = {}

    async def listen(self, plane: str) -> None:
        """Subscribe to everything on the plane."""

        async def hear(message: Any) -> None:
            if header(message.data, "From-Id") != self.instance:
                return  # played by ourselves
            named = (header(message.data, name) for name in ("Msg-Id", "Op-Code", "Fragment"))
            key = (*named, message.subject)
            self.heard.setdefault(key, deque()).append(message.data)

        await self.client.subscribe(f"{plane}.>", cb=hear)
        await settled(self.client)

    async def play(self, plot: RoleScenario, outcome: Outcome, given_up: Any) -> None:
        """Plays one scenario and compares what comes."""
        for message in plot.messages:
            if message.message_id in plot.unplayed:
                outcome.not_compared += message.service == self.role
            elif message.service == self.role:
                await until(lambda m=message: bool(self.heard.get(m.key)), f"never seen: {message}")
                if message.is_answer and message.message_id in plot.excluded:
                    self.heard[message.key].popleft()
                    outcome.not_compared += 1
                    continue
                found = difference(message, self.heard[message.key].popleft())
                if found:
                    outcome.failures.append(f"{plot.name}: {message}: {found}")
                outcome.messages += 1
            elif self.role in message.delivered_to:
                if plot.late(message):
                    await given_up(message)
                await self.client.publish(message.subject, message.payload)
                await settled(self.client)


class Replay:
    """One role on a server that runs."""

    def __init__(self, recording: Recording, role: str, url: str) -> None:
        truth = self.truth = recording.truth
        service = next(each for each in truth["services"] if each["name"] == role)
        self.role, self.url, self.ids = role, url, ReplayIds()
        self.subscriptions = [
            (row["subject"], row["queue"])
            for row in truth["subscriptions"]
            if row["service"] == role
        ]
        self.outcome = Outcome(role, published=len(recording.published.get(role, ())))
        self.connector = Connector(
            service["host"],
            version=version_of(recording, service),
            id=service["instance"],
            plane=truth["plane"],
            locality=service.get("locality") or "",
            deployment=deployment_of(recording),
            nats=url,
            short_circuit=False,
            ids=self.ids,
            round_trip=ROUND_TRIP,
            configurator="optional",  # values are not recorded where the configurator has none
        )
        for name in configuration_of(recording, service):
            self.connector.config(name, default="")
        self.roles = RecordedRole(self.connector)
        late = {p for s in truth["scenarios"] for p in s.get("subscribed") or ()}
        first = [each for each in self.subscriptions if each[0] not in late]
        subscribe_all(self.connector, routes_of(service["host"], first), self.roles.handle)
        self.late: list[Endpoint] = []
        # In the order of the run: the bytes of equal-looking messages are told apart by it.
        outside = recording.messages(truth.get("outside_scenarios", []))
        self.scenarios = [(s, recording.messages(s["messages"])) for s in truth["scenarios"]]
        self.exchanges: dict[str, list[Recorded]] = {}
        for message in outside:
            self.exchanges.setdefault(message.message_id, []).append(message)
        for message in [*outside, *(m for _, messages in self.scenarios for m in messages)]:
            if message.service == role and message.is_answer:
                self.roles.answers.setdefault(message.message_id, []).append(message)

    async def run(self) -> Outcome:
        """Every scenario in which the role has a part, then every other exchange."""
        client = await nats.connect(self.url, max_reconnect_attempts=0)
        async with self.connector as connector:
            if connector.nearest is not None:
                connector.nearest = NearestByUrl(connector.locality)
            await asyncio.sleep(3 * ROUND_TRIP)  # its own announcement is over
            player = Player(client, self.role, connector.id)
            await player.listen(self.truth["plane"])
            for scenario, messages in self.scenarios:
                if self._concerned(scenario, messages):
                    await self._one(player, scenario, messages)
                else:
                    self.outcome.not_this_role += 1
            for messages in self.exchanges.values():
                if self._concerned({}, messages):
                    name = f"outside: {messages[0]}"
                    await self._one(player, {"name": name}, messages)
            await client.close()
        return self.outcome

    def _concerned(self, scenario: dict[str, Any], messages: list[Recorded]) -> bool:
        return any(m.service == self.role or self.role in m.delivered_to for m in messages) or (
            scenario.get("caller") == self.connector.host and bool(scenario.get("unsubscribed"))
        )

    async def _one(
        self, player: Player, scenario: dict[str, Any], messages: list[Recorded]
    ) -> None:
        outcome = self.outcome
        plot = scenario_for(self.role, self.connector.host, scenario, messages)
        try:
            async with asyncio.timeout(5 * PATIENCE):
                await self._play(player, plot)
        except (AssertionError, TimeoutError) as failed:
            outcome.failures.append(f"{plot.name}: {failed or 'took too long'}")
            return
        if plot.excluded:
            outcome.excluded[plot.name] = "; ".join(sorted(set(plot.excluded.values())))
        elif "messages" in scenario:
            outcome.replayed.append(plot.name)
        else:
            outcome.exchanges += 1

    async def _play(self, player: Player, plot: RoleScenario) -> None:
        self.roles.nested |= plot.nested
        self.roles.ends |= {
            message.message_id: place
            for place, message in enumerate(plot.messages)
            if message.service == self.role and message.is_answer
        }
        for key, value in plot.held.items():
            self.connector._cache.hold(key, value)
        self.ids.next = deque(
            m.message_id
            for m in plot.messages
            if m.service == self.role and m.is_request and m.message_id not in plot.unplayed
        )
        statuses: list[int] = []
        doing = [asyncio.create_task(work) for work in self._own_doing(plot, statuses)]
        own = [message.message_id for message in plot.own]

        async def given_up(answer: Recorded) -> None:
            number = own.index(answer.message_id) if answer.message_id in own else 0
            await until(
                lambda: len(statuses) > number or all(task.done() for task in doing),
                f"still waited for: {answer}",
            )

        try:
            await player.play(plot, self.outcome, given_up)
            for task in doing:
                await task
        finally:
            for task in doing:
                task.cancel()
        told = [result["status"] for result in plot.scenario.get("results", ())]
        if statuses and sorted(statuses) != sorted(told):
            self.outcome.failures.append(f"{plot.name}: statuses {statuses}, not {told}")

    def _own_doing(self, plot: RoleScenario, statuses: list[int]) -> list[Any]:
        """Send the requests that the role sends by itself in this scenario."""
        scenario = plot.scenario
        if scenario.get("caller") == self.connector.host:
            if scenario.get("subscribed") or scenario.get("unsubscribed"):
                return [self._resubscribe(scenario)]
            if scenario.get("method") and plot.own:
                return [self._call(plot, statuses)]
        return [
            ask(self.connector, message, whole_body(plot.messages, message)) for message in plot.own
        ]

    async def _resubscribe(self, scenario: dict[str, Any]) -> None:
        """Routes that come and go while the service runs."""
        new = set(scenario.get("subscribed") or ())
        pairs = [each for each in self.subscriptions if each[0] in new]
        for method, route, queue in routes_of(self.connector.host, pairs):
            self.late.append(
                await self.connector.subscribe(method, route, self.roles.handle, queue=queue)
            )
        assert {place.pattern for each in self.late for place in each.registrations} >= new
        if scenario.get("unsubscribed"):
            gone = sum(len(each.registrations) for each in self.late)
            assert gone == scenario["unsubscribed"], f"{gone} subscriptions taken down"
            for endpoint in self.late:
                await endpoint.unsubscribe()
            self.late.clear()

    async def _call(self, plot: RoleScenario, statuses: list[int]) -> None:
        """Repeat a recorded request, with the URL as the caller wrote it."""
        own = [nested_in(plot.messages, m, plot.messages.index(m)) for m in plot.own]
        calls = plot.scenario.get("calls", 1)
        beside: list[asyncio.Task[None]] = []
        for number in range(calls):
            beside.append(asyncio.create_task(self._call_once(plot, statuses)))
            # The next one began before this one was answered, or it did not.
            overlap = len(own) == calls > number + 1 and not own[number].over(own[number + 1])
            if not overlap:
                await asyncio.gather(*beside)
                beside.clear()

    async def _call_once(self, plot: RoleScenario, statuses: list[int]) -> None:
        scenario, first = plot.scenario, plot.own[0]
        options = options_of(first, whole_body(plot.messages, first))
        method, url = scenario["method"], scenario["url"]
        asked_for.set(without_locality(url))
        if scenario.get("multicast"):
            answers = [a async for a in self.connector.publish(method, url, **options)]
            statuses += [a.error.status if a.error else a.status for a in answers]
            return
        try:
            answer: Response | HTTPError
            answer = await self.connector.request(method, url, **options)
        except HTTPError as error:
            answer = error
        statuses.append(answer.status)


def run(folder: Path, role: str) -> Outcome:
    """One role, by its name in the truth or by its host, on a server of its own."""
    recording = read(folder)
    services = recording.truth["services"]
    if role not in [each["name"] for each in services]:
        named = [each["name"] for each in services if role in (each["host"], each["instance"])]
        if len(named) != 1:
            known = ", ".join(each["name"] for each in services)
            raise SystemExit(f"no role {role!r}; there are: {known}")
        (role,) = named
    with tempfile.TemporaryDirectory() as place:
        payload = recording.truth.get("max_payload", 1 << 20)
        server = NatsServer(Path(place), max_payload=payload).start()
        try:
            return asyncio.run(Replay(recording, role, server.url).run())
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
