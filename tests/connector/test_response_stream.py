"""The responses of a multicast that count."""

from __future__ import annotations

import asyncio

import pytest

from patience import until
from subtrie._core import control_headers
from subtrie.connector import _responses
from subtrie.connector._envelope import ResponseEnvelope
from subtrie.connector._headers import Headers
from subtrie.connector._responses import ResponseStream
from subtrie.connector._routing import KnownResponders

HOST = "shop.example"
URL = f"https://{HOST}"


def response(number: int, op: str) -> ResponseEnvelope:
    made = ResponseEnvelope(200, b"%d" % number)
    made.headers = Headers({control_headers.FROM_ID: f"id-{number}"})
    made.source, made.op = HOST, op
    return made


def stream(known: KnownResponders) -> ResponseStream:
    return ResponseStream(asyncio.get_running_loop(), "s", 1.0, known, lambda: None)


@pytest.mark.parametrize("op", [control_headers.RESPONSE, control_headers.ERROR])
async def test_a_late_response_and_no_acknowledgement_shows_an_unknown_responder(op):
    known = KnownResponders()
    call = stream(known)
    for each in (control_headers.ACK, control_headers.RESPONSE):
        call.receive(response(1, each))
    call._on_ack_timeout()
    learned = known.get("s")
    assert len(learned) == 1
    call.receive(response(2, control_headers.ACK))
    assert known.get("s") == learned
    call.receive(response(2, op))
    assert known.get("s") == frozenset()
    assert [each.body async for each in call] == [b"1"]


async def test_the_responders_of_one_multicast_are_bounded(monkeypatch):
    monkeypatch.setattr(_responses, "_MOST_INSTANCES", 2)
    call = stream(KnownResponders())
    for op in (control_headers.ACK, control_headers.RESPONSE):
        for number in (1, 2, 3):
            call.receive(response(number, op))
    call._on_ack_timeout()
    assert [each.body async for each in call] == [b"1", b"2"]


async def test_known_responders_are_not_waited_for(make, monkeypatch):
    shop, web = make(HOST), make("web.example", round_trip=0.1)
    shop.endpoint("GET", "/", queue=None)(lambda: "here")
    waits = []
    on_ack_timeout = ResponseStream._on_ack_timeout

    def waited(stream: ResponseStream) -> None:
        waits.append(stream)
        on_ack_timeout(stream)

    async with shop, web:
        # An announcement that comes later would make them unknown.
        await until(lambda: not (shop._client.responses.waiting or web._client.responses.waiting))
        monkeypatch.setattr(ResponseStream, "_on_ack_timeout", waited)
        for known, count in ((False, 1), (True, 1), (False, 2)):
            # To wait for the acknowledgements of others would outlast the test.
            web._runtime.round_trip = 600 if known else 0.1
            if not known:
                web._client.known_responders.drop_hosts({HOST})
            assert [a.body async for a in web.publish("GET", URL)] == [b"here"]
            assert len(waits) == count
