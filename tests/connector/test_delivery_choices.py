"""Sending, receiving and ending: the second branch of each choice, and each limit at both sides."""

from __future__ import annotations

import asyncio
import contextlib
import socket
import threading

import pytest

from patience import until
from subtrie._core import control_headers
from subtrie.connector import HTTPError, Request, RequestTimeout, Response, _transport
from subtrie.connector._broker import connection as connections
from subtrie.connector._broker import session
from subtrie.connector._broker.errors import RefusedOperation
from subtrie.connector._broker.shared import SharedConnection
from subtrie.connector._envelope import ResponseEnvelope
from subtrie.connector._fragments import Reassembler
from subtrie.connector._responses import ResponseStream
from subtrie.connector._routing import KnownResponders, NearestReplicas

from .test_broker_connection import connected, make_server  # noqa: F401 - a fixture
from .test_delivery_boundaries import one_session, transport

HOST, URL = "shop.example", "https://shop.example"
WEB = "web.example"
KEY = (WEB, "id-1", "AAAAAAAA")


# --- a multicast


def answer(number: int, op: str = control_headers.RESPONSE, queue: str = "") -> ResponseEnvelope:
    response = ResponseEnvelope(200, b"%d" % number)
    response.op, response.source = op, f"host{number}.example"
    response.headers["Microbus-From-Id"] = f"id-{number}"
    if queue:
        response.headers["Microbus-Queue"] = queue
    return response


def stream(known: KnownResponders, ended=None, **more) -> ResponseStream:
    loop = asyncio.get_running_loop()
    return ResponseStream(loop, "s", 60.0, known, ended or (lambda: None), **more)


async def test_a_part_of_the_known_responders_is_not_all_of_them():
    known = KnownResponders()
    for number in (1, 2):
        call = stream(known)
        for each in (1, 2):
            call.receive(answer(each, control_headers.ACK))
        call.receive(answer(1))
        assert not call._done, "the second one is waited for"
        call.receive(answer(2))
        assert call._done is (number == 2), "the first time all that may come is waited for"
        call._on_ack_timeout()
        assert call._done
        assert len(known.get("s")) == 2
    call = stream(known)
    call.receive(answer(1))
    assert not call._done, "one of two"
    call.receive(answer(3))
    assert not call._done, "two, and another one is missing"
    call.expire()


async def test_a_multicast_ends_once_and_tells_it_once():
    ends = []
    call = stream(KnownResponders(), lambda: ends.append(1))
    call.receive(answer(1, control_headers.ACK))
    call.expire()
    call.expire()
    call.fail(HTTPError("too late", status=500))
    got = [each async for each in call]
    assert [each.status for each in got] == [408]
    assert isinstance(got[0].error, RequestTimeout)
    assert ends == [1]
    assert list(call._known.silent) == ["host1.example"]
    assert call._timeout.cancelled()


async def test_a_multicast_that_was_not_sent_raises_its_error():
    call = stream(KnownResponders())
    call.fail_threadsafe(HTTPError("not sent", status=503))
    with pytest.raises(HTTPError, match="not sent"):
        await anext(call)
    assert call._done


async def test_a_second_response_of_an_instance_does_not_count():
    call = stream(KnownResponders())
    acks: list[ResponseEnvelope] = []
    call.on_ack = acks.append
    for each in (answer(1, control_headers.ACK), answer(1), answer(1), answer(2, queue="q")):
        call.receive(each)
    assert len(acks) == 1
    assert call._queues == {"id-1.host1.example", "host2.example q"}
    call._on_ack_timeout()
    assert [each.body async for each in call] == [b"1", b"2"]


# --- what arrives for a service


async def test_deliveries_are_counted_by_their_way(make_nats, make_memory, plane):
    head = b"HTTP/1.1 202 Accepted\r\nMicrobus-Op-Code: Ack\r\nMicrobus-Msg-Id: AAAAAAAA\r\n\r\n"
    async with make_nats(WEB) as web:
        await until(lambda: not web._runtime._background)  # it has announced itself
        before = dict(web.metrics.deliveries)
        subject = f"{plane}.reply._.shop_example.web_example.{web.id}"
        web._client.responses.receive_payload(subject, head)
        assert web.metrics.deliveries["nats"] == before["nats"] + 1
        assert web._client.responses.receive_local(subject, Request("GET", "x")) is False
        assert web._client.responses.receive_local(subject, Response(200)) is True
        assert web.metrics.deliveries["memory"] == before["memory"] + 1
        rejected = web.metrics.rejects.get("source", 0)
        web._client.responses.receive_payload("no address", head)
        assert web.metrics.rejects["source"] == rejected + 1
    assert web._client.responses.receive_local(subject, Response(200)) is False


@pytest.mark.parametrize(
    ("op", "message_id", "malformed"),
    [("Ack", "AAAAAAAA", 0), ("Res", "AAAAAAAA", 0), ("Err", "AAAAAAAA", 0), ("Req", "AAAAAAAA", 1),
     ("", "AAAAAAAA", 1), ("Res", "", 1), ("Req", "", 1)],
)  # fmt: skip
async def test_a_response_has_a_kind_and_an_id(make_memory, plane, op, message_id, malformed):
    async with make_memory(WEB) as web:
        subject = f"{plane}.reply._.shop_example.web_example.{web.id}"
        response = Response(200)
        for name, value in (("Op-Code", op), ("Msg-Id", message_id)):
            if value:
                response.headers[f"Microbus-{name}"] = value
        before = web.metrics.rejects.get("malformed", 0)
        web._client.responses.receive_local(subject, response)
        assert web.metrics.rejects.get("malformed", 0) == before + malformed


async def test_whatever_waits_is_ended_when_the_connector_is(make_nats):
    shop, web = make_nats(HOST), make_nats(WEB)

    @shop.endpoint("GET", "/")
    async def never() -> None:
        await asyncio.Event().wait()

    async with shop, web:
        one = asyncio.create_task(web.request("GET", f"{URL}/", timeout=60))
        several = web.publish("GET", f"{URL}/", timeout=60)
        await until(lambda: len(shop._server.runner.tasks) == 2)
        web._client.responses.close()
        with pytest.raises(HTTPError, match="shutting down") as ended:
            await one
        assert ended.value.status == 503
        assert [each.status async for each in several] == [408]
        for task in list(shop._server.runner.tasks):
            task.cancel()


async def test_a_request_in_process_is_ended_when_the_connector_is(make_memory):
    shop, web = make_memory(HOST), make_memory(WEB)

    @shop.endpoint("GET", "/")
    async def never() -> None:
        await asyncio.Event().wait()

    async with shop, web:
        one = asyncio.create_task(web.request("GET", f"{URL}/", timeout=60))
        await until(lambda: shop._server.runner.tasks)
        web._client.responses.close()
        with pytest.raises(HTTPError, match="shutting down"):
            await one
        for task in list(shop._server.runner.tasks):
            task.cancel()


class Call:
    """A multicast of a loop, and what it received in which thread."""

    def __init__(self, loop):
        self.loop, self.seen = loop, []

    def receive(self, response):
        self.seen.append(threading.get_ident())


async def test_a_response_is_taken_on_the_loop_of_its_caller(make_memory):
    async with make_memory(WEB) as web:
        responses = web._client.responses
        other = asyncio.new_event_loop()
        thread = threading.Thread(target=other.run_forever, daemon=True)
        thread.start()
        here, there = Call(asyncio.get_running_loop()), Call(other)
        for call in (here, there):
            responses._complete(call, answer(1))
        assert (here.seen, web._runtime._handed[-1][0]) == ([], here.receive)
        await until(lambda: here.seen and there.seen)
        assert (here.seen, there.seen) == ([threading.get_ident()], [thread.ident])
        other.call_soon_threadsafe(other.stop)
        await asyncio.to_thread(thread.join)
        other.close()
        responses._complete(there, answer(1))
        assert len(there.seen) == 1


# --- the transports


async def test_a_message_goes_as_it_is_to_a_single_receiver_and_as_a_copy_to_several():
    made, seen = transport(""), []
    await made.open()
    message = answer(1)
    subject = "p.reply._.a.b.id-1"
    assert made.deliver(subject, message) is False
    one = made.in_process.subscribe(subject, None, lambda s, m: seen.append((s, m)) or True)
    assert made.deliver(subject, message) is True
    assert seen == [(subject, message)]
    assert made.in_process.deliver(subject, message, kept=True) == 1
    assert seen[1][1] is not message
    two = made.in_process.subscribe(subject, None, lambda s, m: False)
    assert made.in_process.deliver(subject, message, kept=False) == 1
    assert seen[2][1] is not message
    one.unsubscribe()
    assert made.deliver(subject, message) is False, "its receiver did not take it"
    two.unsubscribe()
    await made.close()
    assert made.deliver(subject, message) is False
    assert not made.is_open


def test_what_the_broker_refuses_is_noted_by_its_kind(monkeypatch):
    monkeypatch.setattr(_transport, "_MOST_REFUSED", 2)
    made, told = transport(""), []
    for starting in (False, True):
        made.starting = starting
        verb = "".join(["sub", "scribe"])
        assert made._on_violation(RefusedOperation(verb, f"a.{starting}", None)) is starting
        assert made._on_violation(RefusedOperation("publish", "b", None)) is False
        made.on_refused = told.append
    made._on_violation(RefusedOperation(verb, "c", None))
    assert made.refused == {"a.False", "a.True"}, "two are kept"
    assert told == ["b"]


async def test_without_a_broker_nothing_is_waited_for():
    made, called = transport(""), []
    await made.open()
    made.after_writes(lambda: called.append(1))
    assert called == [1]
    assert made.ack_limit(0.25) == 0.25
    assert made.disconnected() is False
    assert await made.responds(0.0) is True
    assert await made.round_trip() == _transport._LOCAL_ROUND_TRIP == 0.01
    made.note_ack(9.0)
    made.publish_bytes("a", b"", pytest.fail)
    await made.flush()
    await made.close()


async def test_watchers_see_what_is_sent_and_received_until_one_fails(broker, caplog):
    made, seen, got = transport(broker.url), [], []

    @made.watch
    def fails(*_):
        raise ValueError("of the watcher")

    made.watch(lambda *told: seen.append(told))
    await made.open()
    registrations = await made.subscribe(
        ["watched.subject"], None, lambda *_: True, lambda *told: got.append(told)
    )
    await made.flush()
    assert [each.local is not None for each in registrations] == [True]
    made.publish_bytes("watched.subject", b"x", pytest.fail)
    await until(lambda: got)
    assert got == [("watched.subject", b"x")]
    assert seen == [("out", "watched.subject", b"x"), ("in", "watched.subject", b"x")]
    assert caplog.text.count("a watcher failed for subject watched.subject") == 2
    await made.unsubscribe(registrations)
    assert [(each.local, each.remote) for each in registrations] == [(None, None)]
    await made.unsubscribe(registrations)
    assert made.nats.on_violation == [made._on_violation]
    nats = made.nats
    await made.close()
    assert nats.on_violation == []


# --- one connection


def unconnected() -> SharedConnection:
    return SharedConnection("key", HOST, asyncio.new_event_loop())


@pytest.mark.parametrize(("most", "taken"), [(59, 1), (60, 2), (61, 2), (29, 0), (30, 1)])
def test_as_many_bytes_wait_for_a_lost_broker_as_may(monkeypatch, most, taken):
    made, failed = unconnected(), []
    monkeypatch.setattr(connections, "MAX_WAITING_LOST", most)
    monkeypatch.setattr(connections, "MAX_WAITING", 0)
    made._wake_once_a_turn = lambda: None
    for _ in range(3):
        made.publish("t.x", b"x" * 16, failed.append)
    assert len(made._outbox[0] if made._outbox else b"x" * 30) == 30
    assert (len(made._outbox), made._waiting) == (taken, 30 * taken)
    assert [error.status for error in failed] == [503] * (3 - taken)
    assert all("too much waits" in str(error) for error in failed)
    made._ended = True
    made.publish("t.x", b"", failed.append)
    assert "the connection is closed" in str(failed[-1])
    made.loop.close()


@pytest.mark.parametrize(("size", "status"), [(10, None), (11, 413)])
def test_a_message_as_large_as_the_server_allows_is_taken(monkeypatch, size, status):
    made, failed = unconnected(), []
    monkeypatch.setattr(type(made), "max_payload", 10)
    made._wake_once_a_turn = lambda: None
    made.publish("t.x", b"x" * size, failed.append)
    assert [error.status for error in failed] == ([] if status is None else [status])
    assert len(made._outbox) == (1 if status is None else 0)
    made.loop.close()


class Written:
    """A session that notes what is written."""

    def __init__(self, writable=True, at_once=True):
        self.writable, self.at_once, self.parts = writable, at_once, []

    def write(self, data):
        self.parts.append(data)

    def write_at_once(self, data):
        self.parts.append(data)
        return self.at_once


@pytest.mark.parametrize(
    ("chunk", "sizes"),
    [(60, [60, 60, 30]), (61, [90, 60]), (59, [60, 60, 30]), (30, [30] * 5), (150, [150]),
     (151, [150])],
)  # fmt: skip
def test_what_waits_is_written_in_parts_of_a_chunk(monkeypatch, chunk, sizes):
    made = unconnected()
    monkeypatch.setattr(connections, "_CHUNK", chunk)
    made._wake_once_a_turn = lambda: None
    for number in range(5):
        made.publish("t.x", b"%d" % number * 16, pytest.fail)
    made._session = Written()
    made._write()
    assert [len(part) for part in made._session.parts if part] == sizes
    assert (made._outbox, made._waiting, made._writing, made._woken) == ([], 0, False, False)
    made.loop.close()


def test_a_function_is_called_between_what_was_published_before_and_after(monkeypatch):
    made, order = unconnected(), []
    monkeypatch.setattr(connections, "_CHUNK", 90)
    made._wake = made._wake_once_a_turn = lambda: None
    made.publish("t.x", b"0" * 16, pytest.fail)
    made.publish("t.x", b"1" * 16, pytest.fail)
    made.after_writes(lambda: order.append(len(made._session.parts)))
    for number in (2, 3, 4):
        made.publish("t.x", b"%d" % number * 16, pytest.fail)
    made.after_writes(lambda: order.append(len(made._session.parts)))
    assert made._calls == 2
    made._session = Written()
    made._write()
    assert [len(part) for part in made._session.parts if part] == [60, 90]
    assert order == [1, 2]
    assert made._calls == 0
    made.loop.close()


def test_messages_wait_for_a_session_that_takes_them_and_functions_do_not():
    made, called = unconnected(), []
    made._wake = made._wake_once_a_turn = lambda: None
    made.publish("t.x", b"x" * 16, pytest.fail)
    made.after_writes(lambda: called.append(1))
    for lost in (None, Written(writable=False)):
        made._session = lost
        made._write()
        assert (len(made._outbox), made._waiting, called) == (1, 30, [1])
    made.publish("t.x", b"y", pytest.fail)
    made._session = Written()
    made._write()
    assert made._session.parts[0].startswith(b"PUB t.x 16\r\nx")
    made.loop.close()


@pytest.mark.parametrize(
    ("change", "here"),
    [({}, True), ({"_writing": True}, False), ({"_calls": 1}, False), ({"_session": None}, False),
     ({"_waiting": 1 << 20}, True), ({"_waiting": (1 << 20) + 1}, False)],
)  # fmt: skip
def test_another_thread_writes_unless_the_loop_must(change, here):
    made = unconnected()
    made._outbox, made._session, made._waiting = [b"a", b"b"], Written(), 2
    for name, value in change.items():
        setattr(made, name, value)
    assert made._write_here() is here
    if here:
        assert made._session.parts == [b"ab"]
        assert (made._outbox, made._waiting, made._joined) == ([], 0, True)
        assert made._write_here() is True
        assert (made._session.parts, made._joined) == ([b"ab"], False), "nothing is left to write"
        made._outbox, made._session.at_once = [b"c"], False
        assert made._write_here() is False
        assert made._outbox == [b"c"]
    made.loop.close()


async def test_a_flush_waits_two_seconds_at_most_for_the_server(make_server, monkeypatch):  # noqa: F811
    async with connected(make_server().url) as connection:
        limits = []

        async def responds(timeout: float) -> bool:
            limits.append(timeout)
            return True

        monkeypatch.setattr(connection, "_responds", responds)
        await connection.flush()
        monkeypatch.undo()
        assert limits == [2.0]


async def test_a_lost_session_is_asked_no_more(make_server):  # noqa: F811
    server = make_server()
    async with connected(server.url) as connection:
        await until(lambda: connection._pinger is not None)
        pinger = connection._pinger
        assert not pinger.cancelled()
        await asyncio.to_thread(server.kill)
        await until(lambda: not connection.connected)
        await until(pinger.cancelled)
    made = unconnected()
    made._on_lost(Written())
    assert made._session is None
    made.loop.close()


# --- one session


@pytest.mark.parametrize(
    ("count", "nbytes", "rest", "reads_on"),
    [(session.MANY, 1, b"", True), (session.MANY + 1, 1, b"", False), (0, session.MUCH, b"", True),
     (0, session.MUCH + 1, b"", False), (0, 1, b"x", False), (0, 0, b"", False)],
)  # fmt: skip
async def test_a_loop_reads_on_while_there_is_little(count, nbytes, rest, reads_on):
    class Read:
        def recv_into(self, buffer):
            return nbytes

    async with one_session() as (made, _):
        made._rest = rest
        made._deliver = lambda size, process: (count, ["step"])
        assert made._read_on_loop(Read()) == (reads_on, ["step"] if nbytes else [])
        made._rest = b""

        class Broken:
            def recv_into(self, buffer):
                raise ConnectionResetError

        assert made._read_on_loop(Broken()) == (False, [])


async def test_an_info_that_is_refused_is_not_a_greeting(caplog):
    async with one_session() as (made, peer):
        told = []
        made._on_info = told.append
        peer.say(b'INFO {"max_payload":"x"}\r\n')
        await made.lost
        assert not made.greeted.done()
    async with one_session() as (made, peer):
        made._on_info = told.append
        peer.say(b'INFO {"max_payload":1000}\r\n')
        await made.greeted
        assert made.info.max_payload == 1000
        peer.say(b'INFO {"max_payload":2000}\r\n')
        await until(lambda: told)
        assert [each.max_payload for each in told] == [2000]
        told.clear()
        peer.say(b'INFO {"max_payload":"x"}\r\n')
        await made.lost
        assert told == []


async def test_a_socket_that_takes_nothing_leaves_the_bytes_to_the_loop():
    async with one_session() as (made, peer):
        assert made.write_at_once(b"a") is False, "it is not shared yet"
        made.share()
        assert made.write_at_once(b"abc") is True
        await until(lambda: peer.read == b"abc")
        made.writable = False
        assert made.write_at_once(b"d") is False
        made.writable, made._rest = True, b"e"
        assert made.write_at_once(b"d") is False
        made._rest = b""
        with made._lock:
            assert made.write_at_once(b"d") is False
        own, made._socket = made._socket, socket.socket()
        made._socket.close()
        assert made.write_at_once(b"d") is False
        made._socket = own
        assert made.write_at_once(b"f") is True
        await until(lambda: peer.read == b"abcf")


async def test_what_a_socket_takes_in_part_is_written_by_the_loop():
    class Half:
        def send(self, data):
            return own.send(data[: len(data) // 2])

        def close(self):
            own.close()

    async with one_session() as (made, peer):
        made.share()
        own, made._socket = made._socket, Half()
        assert made.write_at_once(b"abcd") is True
        assert made._rest == b"cd"
        await until(lambda: peer.read == b"abcd")
        assert made._rest == b""


async def test_a_session_without_answers_is_ended_at_the_third_look():
    async with one_session() as (made, peer):
        for number in (1, 2):
            made.check()
            assert len(made._pongs) == number
            await asyncio.sleep(0)
            await until(lambda: made._shared_ping is None)
        assert not made.lost.done()
        made.check()
        assert isinstance(await made.lost, TimeoutError)
    async with one_session() as (made, peer):
        first = made.ping()
        assert made.ping() is first, "of one turn"
        await until(lambda: made._shared_ping is None)
        second = made.ping()
        assert second is not first
        peer.say(b"PONG\r\nPONG\r\nPONG\r\n")
        assert (await first, await second) == (True, True)


# --- fragments


def test_a_closed_reassembler_gives_all_up():
    held, told = Reassembler(max_body=10, max_fragments=4, silence=1.0), []
    for number in range(3):
        held.begin((*KEY[:2], str(number)), 2, now=0, ends=9, given_up=told.append)
    held.begin((*KEY[:2], "3"), 2, now=0, ends=9)
    held.close()
    assert [error.status for error in told] == [503] * 3
    assert all("shutting down" in str(error) for error in told)
    assert (len(held), held.ended((*KEY[:2], "0")), held.ended((*KEY[:2], "9"))) == (0, True, False)
    held.close()
    assert len(told) == 3


async def test_open_transfers_are_looked_at_sixteen_times_in_their_silence(monkeypatch):
    reads, answers = [], [True, False]

    async def read_all() -> bool:
        reads.append(1)
        return answers[0]

    held = Reassembler(max_body=10, max_fragments=4, silence=1.6, read_all=read_all)
    loop, told, pauses = asyncio.get_running_loop(), [], []
    now, later = loop.time(), loop.call_later
    monkeypatch.setattr(
        loop, "call_later", lambda pause, *more: pauses.append(pause) or later(pause, *more)
    )
    held.begin(KEY, 2, now=now, ends=now + 99, given_up=told.append)
    assert pauses == [0.1]
    first = held._sweep
    held.begin((WEB, "id-1", "B"), 2, now=now, ends=now + 99)
    assert held._sweep is first, "one timer for all"
    monkeypatch.undo()
    held._sweep_now()
    assert (reads, len(held)) == ([], 2), "none is late"
    held._heard = {KEY[:2]: now - 99}
    held._sweep.cancel()
    held._sweep_now()
    await until(lambda: told)
    assert (reads, told[0].status) == ([1], 408)
    assert "0 of 2 fragments arrived from web.example (id-1)" in str(told[0])
    held.close()
    assert held._sweep is None


async def test_a_broker_that_does_not_answer_makes_none_late():
    async def read_all() -> bool:
        return False

    held = Reassembler(max_body=10, max_fragments=4, silence=1.6, read_all=read_all)
    now = asyncio.get_running_loop().time()
    held.begin(KEY, 2, now=now, ends=now + 99)
    held._heard = {KEY[:2]: now - 99}
    await held._sweep_after_reading()
    assert KEY in held
    held._open[KEY].ends = now - 1
    await held._sweep_after_reading()
    assert KEY not in held, "its end is not for the broker to say"
    held.close()


@pytest.mark.parametrize(("others", "room"), [(1023, True), (1024, True)])
def test_the_source_with_the_most_transfers_makes_room(others, room):
    held, told = Reassembler(max_body=10, max_fragments=4, silence=1.0), []
    for number in range(others):
        held.begin(("a", "id", str(number)), 2, now=0, ends=9, given_up=told.append)
    held.begin(KEY, 2, now=0, ends=9)
    assert len(told) == (others == 1024)
    if told:
        with pytest.raises(HTTPError) as full:
            held.begin(("a", "id", "more"), 2, now=0, ends=9)
        assert full.value.status == 503
        assert held.ended(("a", "id", "more"))


def test_a_source_with_as_many_transfers_makes_no_room():
    held, told = Reassembler(max_body=10, max_fragments=4, silence=1.0), []
    for number in range(1024):
        source = "ab"[number % 2]
        held.begin((source, "id", str(number)), 2, now=0, ends=9, given_up=told.append)
    held._end(("a", "id", "0"))  # 511 and 512
    held.begin(("c", "id", "x"), 2, now=0, ends=9)
    for source, displaced in (("b", 0), ("a", 0), ("c", 1)):
        before = len(told)
        with contextlib.suppress(HTTPError):
            held.begin((source, "id", "y"), 2, now=0, ends=9)
        assert len(told) - before == displaced, source


# --- what a caller keeps


def test_only_what_a_locality_shares_with_this_one_is_learned():
    nearest, key = NearestReplicas("us-west-az1"), ("GET", URL)
    for locality, learned in (
        ("not a locality!", ""),
        ("-us", ""),
        ("us-east-az1", "us"),
        ("eu", "us"),
        ("us-west-az2", "us-west"),
        ("us", "us-west"),
    ):
        nearest.learn(key, locality)
        assert nearest.nearest(key) == learned


def test_a_caller_keeps_so_many_routes_and_subjects():
    nearest, known = NearestReplicas("us-az1"), KnownResponders()
    for number in range(65_536):
        nearest.learn(("GET", str(number)), "us")
        known.keep(str(number), frozenset({"a"}))
    assert nearest.nearest(("GET", "1")) == "us"
    assert known.get("0") == frozenset({"a"})
    nearest.learn(("GET", "new"), "us")
    known.keep("new", frozenset({"a"}))
    assert [nearest.nearest(("GET", each)) for each in ("0", "1", "2", "new")] == ["", *["us"] * 3]
    assert [len(known.get(each)) for each in ("0", "1", "2", "new")] == [0, 1, 1, 1]


async def test_what_cannot_be_put_together_is_told_to_a_stream_while_its_loop_is_open(make_memory):
    async with make_memory(WEB) as web:
        responses, error = web._client.responses, HTTPError("a fragment is missing", status=502)
        open_call, closed = stream(KnownResponders()), asyncio.new_event_loop()
        closed.close()
        closed_call = stream(KnownResponders())
        closed_call.loop = closed
        for call in (open_call, closed_call):
            responses._fail(call, answer(1), error)
        await until(lambda: open_call._queues)
        assert (await anext(open_call)).error is error
        assert not closed_call._queues
        for call in (open_call, closed_call):
            call.expire()


# --- the ends of sessions and connections


async def test_a_session_without_a_connection_lets_no_thread_write():
    async with one_session() as (made, _peer):
        assert made._unread() == 0
    made.share()
    assert made._socket is None
    assert made._unread() == 0


async def test_the_first_look_at_a_loop_that_reads_is_at_all_of_its_reads(monkeypatch):
    looks = []
    monkeypatch.setattr(session.Session, "_watch", lambda made, *look: looks.append(look))
    monkeypatch.setattr(session, "WATCH", 0.0)
    async with one_session() as (made, _peer):
        made.share()
        made._let_read(asyncio.get_running_loop())
        await until(lambda: looks)
        assert looks == [(made._reading, 0)]
        monkeypatch.undo()
        made._read_here()


async def test_a_flush_waits_until_all_is_written_and_the_server_answers(make_server):  # noqa: F811
    async with connected(make_server().url) as connection:

        async def on_its_loop() -> list[bool]:
            seen = []
            connection._session.pause_writing()
            connection.publish("a", b"x", pytest.fail)
            flush = asyncio.ensure_future(connection._flush())
            await asyncio.sleep(0.02)
            seen += [bool(connection._outbox), flush.done()]
            connection._session.resume_writing()
            await flush
            return [*seen, bool(connection._outbox)]

        assert await connection._on_loop(on_its_loop()) == [True, False, False]


async def test_what_runs_beside_a_connection_ends_with_it(make_server):  # noqa: F811
    url = make_server().url
    # The last connection of a process ends all that runs on their loop.
    async with connected(url, "other.example"):
        async with connected(url) as connection:

            async def on_its_loop() -> asyncio.Task[None]:
                connection._start(asyncio.sleep(3600))
                return next(iter(connection._background))

            task = await connection._on_loop(on_its_loop())
            assert not task.done()
        await until(task.done)
        assert task.cancelled()
