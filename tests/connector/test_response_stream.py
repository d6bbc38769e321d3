"""The responses of a multicast that count."""

from __future__ import annotations

import asyncio

import pytest

from subtrie import _control_headers
from subtrie.connector import _responses
from subtrie.connector._envelope import ResponseEnvelope
from subtrie.connector._headers import Headers
from subtrie.connector._responses import ResponseStream
from subtrie.connector._routing import KnownResponders

HOST = "shop.example"


def response(number: int, op: str) -> ResponseEnvelope:
    made = ResponseEnvelope(200, b"%d" % number)
    made.headers = Headers({_control_headers.FROM_ID: f"id-{number}"})
    made.source, made.op = HOST, op
    return made


def stream(known: KnownResponders) -> ResponseStream:
    return ResponseStream(asyncio.get_running_loop(), "s", 1.0, known, lambda: None)


@pytest.mark.parametrize("op", [_control_headers.RESPONSE, _control_headers.ERROR])
async def test_a_late_response_and_no_acknowledgement_shows_an_unknown_responder(op):
    known = KnownResponders()
    call = stream(known)
    for each in (_control_headers.ACK, _control_headers.RESPONSE):
        call.receive(response(1, each))
    call._on_ack_timeout()
    learned = known.get("s")
    assert len(learned) == 1
    call.receive(response(2, _control_headers.ACK))
    assert known.get("s") == learned
    call.receive(response(2, op))
    assert known.get("s") == frozenset()
    assert [each.body async for each in call] == [b"1"]


async def test_the_responders_of_one_multicast_are_bounded(monkeypatch):
    monkeypatch.setattr(_responses, "_MOST_INSTANCES", 2)
    call = stream(KnownResponders())
    for op in (_control_headers.ACK, _control_headers.RESPONSE):
        for number in (1, 2, 3):
            call.receive(response(number, op))
    call._on_ack_timeout()
    assert [each.body async for each in call] == [b"1", b"2"]
