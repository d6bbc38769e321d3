"""Recorded bytes of Go, altered: the source is read from the subject, or the message dropped."""

from __future__ import annotations

import asyncio
from pathlib import Path

import nats
import pytest

from patience import settled
from subtrie.connector import Connector
from tests.interop.differences import field
from tests.interop.wire import read

RECORDING = Path(__file__).resolve().parents[1] / "recordings" / "go_live"
REAL = "web.client.example"
TOKEN = "web_client_example"
OWN = "shop_example"


@pytest.fixture(scope="module")
def recorded():
    """A request as Go sent it: subject and bytes."""
    return next(
        (subject, payload)
        for subject, payload in read(RECORDING).published["web"]
        if ".order.A-17." in subject
    )


class Shop:
    """A connector that is asked, and everything it says."""

    def __init__(self, url: str) -> None:
        self.connector = Connector(
            "shop.example", plane="goldplane1", nats=url, short_circuit=False
        )
        self.sources: list[str] = []
        self.said: list[tuple[str, bytes]] = []
        self.url = url

        @self.connector.endpoint("GET", "/order/{id}/line/{n}")
        async def line(request):
            self.sources.append(request.source)
            assert request.headers["Microbus-From-Host"] == request.source

    async def __aenter__(self):
        await self.connector.startup()
        self.client = await nats.connect(self.url)

        async def hear(message):
            # Everyone tells everyone of new endpoints at the start, and so answers itself too.
            if f".{OWN}.{OWN}." not in message.subject:
                self.said.append((message.subject, message.data))

        await self.client.subscribe("goldplane1.reply.>", cb=hear)
        await settled(self.client)
        return self

    async def asked(self, subject: str, payload: bytes) -> list[tuple[str, bytes]]:
        """Return the responses to a message; a marker sent after it shows when it is processed."""
        self.said.clear()
        last = payload.replace(b"JJ2Y3vM1", b"LASTLAST").replace(b"victim.example", REAL.encode())
        await self.client.publish(subject, payload)
        await self.client.publish(
            "goldplane1.safe.443.last_example.shop_example._.GET.order.A-17.line.3", last
        )
        async with asyncio.timeout(20):
            while sum(field(data, "Msg-Id") == "LASTLAST" for _, data in self.said) < 2:
                await asyncio.sleep(0.005)
        return [each for each in self.said if field(each[1], "Msg-Id") != "LASTLAST"]

    async def __aexit__(self, *_):
        await self.client.close()
        await self.connector.shutdown()


@pytest.mark.requirement("S0-040")
async def test_the_header_says_another_name(server, recorded):
    subject, payload = recorded
    line = f"Microbus-From-Host: {REAL}".encode()
    assert line in payload
    async with Shop(server.url) as shop:
        for lie in (
            b"Microbus-From-Host: victim.example",
            b"Microbus-From-Host: ",
            b"X-Nothing: 1",
        ):
            answers = await shop.asked(subject, payload.replace(line, lie))
            # Answered to who sent it; nothing ever to who it says.
            assert len(answers) == 2
            assert all(f".shop_example.{TOKEN}.id-" in to for to, _ in answers)
        assert set(shop.sources) == {REAL, "last.example"}
        assert not shop.connector.metrics.rejects


@pytest.mark.requirement("S0-041")
@pytest.mark.parametrize(
    "token",
    [
        "web%2eclient%2eexample",
        "WEB_client_example",
        "web_client_example_",
        "%77eb_client_example",
        "_",
        "*",
        ">",
        "id-1_client_example",
        "all",
        "web_client%0d%0aexample",
    ],
)
async def test_the_source_token_is_not_canonical(server, recorded, token):
    subject, payload = recorded
    altered = subject.replace(f".{TOKEN}.", f".{token}.")
    assert altered != subject
    async with Shop(server.url) as shop:
        before = shop.connector.metrics.rejects.total()
        assert await shop.asked(altered, payload) == []
        assert set(shop.sources) == {"last.example"}
        assert shop.connector.metrics.rejects.total() == before + 1


async def test_the_source_token_names_another_service(server, recorded):
    """Only the broker's permissions can refuse that: it is answered to the one it names."""
    subject, payload = recorded
    async with Shop(server.url) as shop:
        answers = await shop.asked(subject.replace(f".{TOKEN}.", ".victim_example."), payload)
        assert all(".shop_example.victim_example.id-" in to for to, _ in answers)
        assert set(shop.sources) == {"victim.example", "last.example"}
