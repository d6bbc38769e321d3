"""The responses of a multicast that count."""

from __future__ import annotations

import asyncio

import pytest

from patience import PATIENCE, until
from subtrie._core import control_headers
from subtrie.connector import Answer, Response, _responses
from subtrie.connector._answers import Triggered
from subtrie.connector._envelope import ResponseEnvelope
from subtrie.connector._headers import Headers
from subtrie.connector._responses import ResponseStream
from subtrie.connector._results import Result
from subtrie.connector._routing import MAX_KNOWN, MAX_SILENT, KnownResponders

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
    got = [each async for each in call]
    assert sorted(each.body for each in got) == [b"", b"1", b"2"]
    (missing,) = [each for each in got if each.error]
    assert (missing.status, missing.error.status) == (503, 503)


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


def response_of(source: str, number: int, op: str, size: int = 0) -> ResponseEnvelope:
    made = response(number, op)
    made.source, made.body = source, bytes(size)
    return made


async def test_the_answers_of_one_source_to_a_multicast_are_bounded_and_leave_room():
    loop = asyncio.get_running_loop()
    call = ResponseStream(loop, "s", 9.0, KnownResponders(), lambda: None, max_bytes=1000)
    for number in range(30):
        call.receive(response_of("evil.example", number, control_headers.RESPONSE, 100))
    for number in range(2):
        call.receive(response_of(HOST, 100 + number, control_headers.RESPONSE, 200))
    assert call._held.taken_bytes == 1400
    call._on_ack_timeout()
    got = [each async for each in call]
    assert sum(len(each.body) for each in got) == 1400
    assert [each.error.status for each in got if each.error] == [503], "said once"
    assert [each.source for each in got if len(each.body) == 200] == [HOST, HOST]
    assert (call._held.taken_bytes, call._unanswered) == (0, set())


async def test_the_bytes_that_the_caller_has_taken_do_not_count():
    loop = asyncio.get_running_loop()
    call = ResponseStream(loop, "s", 9.0, KnownResponders(), lambda: None, max_bytes=100)
    for number in range(30):
        call.receive(response_of("a.example", number, control_headers.RESPONSE, 100))
        assert len((await anext(call)).body) == 100


async def test_the_instances_of_one_source_leave_room_for_others(monkeypatch):
    monkeypatch.setattr(_responses, "_MOST_INSTANCES", 10)
    call = stream(KnownResponders())
    for number in range(30):
        call.receive(response_of("evil.example", number, control_headers.ACK))
    call.receive(response_of(HOST, 100, control_headers.RESPONSE))
    assert len(call._instances) == 11
    for number in range(100):  # one instance with many queue names
        again = response_of(HOST, 100, control_headers.ACK)
        again.headers.lists[control_headers.QUEUE] = [f"q{number}"]
        call.receive(again)
    assert len(call._queues) <= 12
    call.expire()


async def test_one_acknowledgement_without_an_answer_does_not_hold_the_end(monkeypatch):
    known, loop = KnownResponders(), asyncio.get_running_loop()

    def ask(timeout: float) -> ResponseStream:
        call = ResponseStream(loop, "s", timeout, known, lambda: None)
        call.receive(response_of("evil.example", 1, control_headers.ACK))
        call.receive(response_of(HOST, 2, control_headers.RESPONSE))
        call._on_ack_timeout()
        return call

    first = ask(600.0)
    assert not first._done, "it may be slow"
    first.expire()
    assert [each.error and each.error.status async for each in first] == [None, 408]
    assert list(known.silent) == ["evil.example"]
    second = ask(1.0)
    assert not second._done
    assert [each.source async for each in second] == [HOST], "without a 408"
    third = ask(600.0)
    third.receive(response_of("evil.example", 1, control_headers.RESPONSE))
    assert len([each async for each in third]) == 2
    assert not known.silent


async def test_a_silent_source_does_not_end_the_wait_for_others():
    known, loop = KnownResponders(), asyncio.get_running_loop()
    known.note_silent("evil.example")
    call = ResponseStream(loop, "s", 0.2, known, lambda: None)
    call.receive(response_of("evil.example", 1, control_headers.ACK))
    call._on_ack_timeout()
    assert call._silent_timer is not None
    call.receive(response_of(HOST, 2, control_headers.ACK))
    got = [each async for each in call]
    assert [each.error.status for each in got] == [408]
    assert set(known.silent) == {"evil.example", HOST}


def test_what_is_remembered_of_responders_is_bounded():
    known = KnownResponders()
    for number in range(2 * MAX_SILENT):
        known.note_silent(f"h{number}")
    assert len(known.silent) == MAX_SILENT
    known.keep("s", frozenset(map(str, range(MAX_KNOWN))))
    assert known.get("s")
    known.keep("s", frozenset(map(str, range(MAX_KNOWN + 1))))
    assert not known.get("s")


class _Endless:
    """Responses of which none comes."""

    def __aiter__(self):
        return self

    async def __anext__(self):
        while True:
            await asyncio.sleep(0)


@pytest.mark.parametrize("given", [(KeyError("k"),), (KeyError, KeyError("k")), (KeyError,)])
def test_an_exception_ends_the_wait_for_all_answers_to_an_event(given):
    answers = Triggered(_Endless(), Result(Response))
    answers.send(None)
    with pytest.raises(KeyError):
        answers.throw(*given)
    with pytest.raises(RuntimeError, match="already awaited"):
        answers.send(None)


def test_a_wait_for_all_answers_that_is_closed_has_ended():
    answers = Triggered(_Endless(), Result(Response))
    answers.send(None)
    answers.close()
    with pytest.raises(RuntimeError, match="already awaited"):
        answers.send(None)


def test_an_answer_is_shown_with_its_service():
    response = Response(204)
    assert repr(Answer(response, Result(Response))) == "<Answer of no service: 204>"
    response.source = "shop.example"
    assert repr(Answer(response, Result(Response))) == "<Answer of shop.example: 204>"


async def test_a_multicast_is_kept_for_a_round_trip_after_its_end(make_memory, plane):
    shop, web = make_memory(HOST), make_memory("web.example", round_trip=PATIENCE)
    shop.endpoint("GET", "/")(lambda: None)
    subject = f"{plane}.safe.443.web_example.shop_example._.GET._"
    known, waiting = web._client.known_responders, web._client.responses.waiting
    async with shop, web:
        known.keep(subject, frozenset([f"{HOST} {HOST}"]))
        sent = web.publish("GET", f"https://{HOST}/")
        assert [each.status async for each in sent] == [200]
        (message_id,) = [each for each, call in waiting.items() if call is sent]
        for _ in range(5):
            await asyncio.sleep(0)
        assert waiting.get(message_id) is sent
        late = ResponseEnvelope(200, b"")
        late.headers[control_headers.OP_CODE] = control_headers.RESPONSE
        late.headers[control_headers.MSG_ID] = message_id
        reply = f"{plane}.reply._.other_example.web_example.{web.id}"
        assert known.get(subject)
        web._client.responses.receive_local(reply, late)
        await until(lambda: not known.get(subject))
