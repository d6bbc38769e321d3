"""The limits of sending, reading and putting together, each at either side."""

from __future__ import annotations

import asyncio
import contextlib
import subprocess
import sys
import threading

import pytest

from patience import until
from subtrie.connector import BusError, Request
from subtrie.connector._broker import connection as connections
from subtrie.connector._broker import session
from subtrie.connector._broker.acknowledging import Acknowledging
from subtrie.connector._fragments import MAX_SILENCE
from subtrie.connector._transport import Transport

from .nats_server import NatsServer
from .test_broker_connection import connected, make_server  # noqa: F401 - a fixture

HOST, URL = "shop.example", "https://shop.example"


class Peer:
    """A server that says nothing, and what it was sent."""

    def __init__(self):
        self.read, self.say = bytearray(), None

    async def serve(self, reader, writer):
        self.say = writer.write
        while data := await reader.read(1 << 16):
            self.read += data
        writer.close()


@contextlib.asynccontextmanager
async def one_session():
    """Yield a session and its server."""
    peer, loop = Peer(), asyncio.get_running_loop()
    server = await asyncio.start_server(peer.serve, "127.0.0.1", 0)
    made = session.Session(loop, {}, on_info=print, on_error=print, on_writable=lambda: None)
    await loop.create_connection(lambda: made, *server.sockets[0].getsockname())
    await until(lambda: peer.say)
    try:
        yield made, peer
    finally:
        made.abort(ConnectionError("the test is over"))
        await made.lost
        server.close()


def transport(broker: str) -> Transport:
    return Transport(
        HOST, broker=broker, short_circuit=True, creds=None, allow_readable_creds=False
    )


# --- one session


async def test_the_bytes_that_the_server_does_not_read_are_bounded(monkeypatch):
    async with one_session() as (made, _):
        monkeypatch.setattr(session.Session, "_unread", lambda self: unread)
        made.writable, unread = False, session.MAX_UNREAD
        assert made._acknowledge(b"ack")
        assert not made.lost.done()
        made.writable, unread = True, session.MAX_UNREAD + 1
        assert made._acknowledge(b"ack")
        made.writable = False
        assert not made._acknowledge(b"ack")
        assert "does not read" in str(await made.lost)


async def test_pings_are_answered_while_the_server_reads(monkeypatch):
    async with one_session() as (made, peer):
        monkeypatch.setattr(session.Session, "_unread", lambda self: unread)
        for made.writable, unread, answered in (  # noqa: B007 - the patched method reads it
            (False, session.MAX_UNREAD_PONGS, 1),
            (False, session.MAX_UNREAD_PONGS - 1, 1),
            (True, session.MAX_UNREAD_PONGS + 1, 1),
            (False, session.MAX_UNREAD_PONGS + 1, 0),
        ):
            peer.say(b"PING\r\n")
            read = asyncio.get_running_loop().create_future()
            made._pongs.append(read)
            peer.say(b"PONG\r\n")
            assert await read is True
            made.write(b"end")
            await until(lambda: peer.read.endswith(b"end"))
            assert peer.read.count(b"PONG\r\n") == answered
            peer.read.clear()


async def test_what_another_thread_left_is_written_first():
    async with one_session() as (made, peer):
        made._rest = b"left "
        made.write(b"now ")
        made.write(b"later")
        await until(lambda: peer.read == b"left now later")
        assert made._rest == b""


async def test_the_first_reason_is_the_one_that_is_told():
    async with one_session() as (made, _):
        first = ConnectionError("first")
        pong = made.ping()
        made.abort(first)
        made.abort(ConnectionError("second"))
        assert await made.lost is first
        assert await pong is False, "a PING that is lost is answered, too"
        assert await made.ping() is False


async def test_a_loop_that_read_something_goes_on_reading(monkeypatch):
    monkeypatch.setattr(session, "WATCH", 3600.0)  # the test looks
    async with one_session() as (made, peer):
        made.share()
        made._let_read(asyncio.get_running_loop())
        reading, own = made._reading, made._socket.dup()
        assert made._read_on_loop(own) == (True, []), "there is nothing to read"
        own.close()
        peer.say(b"+OK\r\n")
        await until(lambda: reading.reads)
        assert made._reading is reading
        made._watch(reading, reading.reads - 1)
        assert made._reading is reading
        made._watch(reading, reading.reads)
        assert made._reading is None


# --- one connection


async def test_creds_without_a_seed_do_not_connect(make_server):  # noqa: F811
    server = make_server(
        authorization={
            "users": [{"nkey": "UDXU4RCSJNZOIQHZNWXHXORDPRTGNJAHAHFRGZNEEJCPQTT2M7NLCNF4"}]
        }
    )
    with pytest.raises(ConnectionError, match="0 seeds where one is expected"):
        async with connected(server.url, creds="no creds"):
            pass


async def test_a_function_and_a_message_of_one_turn_keep_their_order(make_server):  # noqa: F811
    seen, go = [], threading.Event()
    async with connected(make_server().url) as connection:
        await connection.subscribe(["t.*"], None, lambda subject, data: seen.append(data))
        await connection.flush()
        connection.loop.call_soon_threadsafe(go.wait)
        connection.after_writes(lambda: seen.append("called"))
        connection.publish("t.x", b"sent", pytest.fail)
        await asyncio.sleep(0)
        go.set()
        await until(lambda: len(seen) == 2)
    assert seen == ["called", b"sent"]


async def test_much_is_written_in_parts(make_server, monkeypatch):  # noqa: F811
    monkeypatch.setattr(connections, "_CHUNK", 100)
    written, heard = [], []
    write = session.Session.write

    def note(self, data):
        written.append(len(data))
        write(self, data)

    async with connected(make_server().url) as connection:
        await connection.subscribe(["t.*"], None, lambda subject, data: heard.append(data))
        await connection.flush()

        def publish():  # on the connection's loop, so that one turn takes all of it
            monkeypatch.setattr(session.Session, "write", note)
            for number in range(10):
                connection.publish("t.x", b"%d" % number * 80, pytest.fail)

        connection.loop.call_soon_threadsafe(publish)
        await until(lambda: len(heard) == 10)
        monkeypatch.setattr(session.Session, "write", write)
    frame = len(b"PUB t.x 80\r\n\r\n") + 80
    assert [size for size in written if size >= frame] == [2 * frame] * 5


async def test_requests_are_acknowledged_until_their_host_or_subscription_is_left_out(
    make_server,  # noqa: F811
):
    subject = "p.safe.443.b_example.a_example._.GET.x"
    payload = b"GET https://a.example/x HTTP/1.1\r\nHost: a.example\r\n" + (
        b"Microbus-Op-Code: Req\r\nMicrobus-From-Id: id-1\r\nMicrobus-Msg-Id: m1\r\n\r\n"
    )
    ack = (b"HTTP/1.1 202 Accepted\r\n", b"\r\n\r\n")
    how = Acknowledging("p", "a.example", ack, ack, lambda messages: None, "tag")

    async with connected(make_server().url) as connection:
        made = await connection.subscribe([subject], None, lambda *_: None, how)
        read = b"MSG %b %d %d\r\n%b\r\n" % (subject.encode(), made[0].sid, len(payload), payload)

        async def acknowledged() -> bool:
            await connection.flush()
            return b"202 Accepted" in bytes(connection._session.reader.feed(read)[2] or b"")

        for hosts, wanted in (([], True), (["b.example"], False), (["c.example"], True)):
            connection.exclude(hosts)
            assert await acknowledged() is wanted, hosts
        await connection.unsubscribe(made)
        assert not await acknowledged()


async def test_what_was_written_waits_no_more(make_server):  # noqa: F811
    heard = []
    async with connected(make_server().url) as connection:
        await connection.subscribe(["t.*"], None, lambda subject, data: heard.append(data))
        for count in (1, 2, 3):
            connection.publish("t.x", b"%d" % count, pytest.fail)
            await until(lambda count=count: len(heard) == count)
            assert connection._waiting == 0


async def test_a_lost_connection_does_not_answer(make_server):  # noqa: F811
    server = make_server()
    async with connected(server.url) as connection:
        assert await connection.responds(60.0) is True
        await asyncio.to_thread(server.kill)
        await until(lambda: not connection.connected)
        assert await connection.responds(60.0) is False


# --- the transports of a connector


async def test_hosts_of_this_process_are_acknowledged_by_themselves(broker):
    one = transport(broker.url)
    two = Transport(
        "web.example", broker=broker.url, short_circuit=False, creds=None,
        allow_readable_creds=False,
    )  # fmt: skip
    await asyncio.gather(one.open(), two.open())
    await until(lambda: two.nats._excluded == [HOST])
    await one.close()
    await until(lambda: two.nats._excluded == [])
    await two.close()


@pytest.mark.parametrize("payload", [131_071, 131_072, 196_608])
async def test_a_server_must_take_a_message_of_128_kib(tmp_path, payload):
    server = NatsServer(tmp_path, max_payload=payload).start()
    made = transport(server.url)
    try:
        if payload < 131_072:
            with pytest.raises(BusError) as refused:
                await made.open()
            assert refused.value.reason == "payload-limit"
        else:
            await made.open()
            assert made.fragment_size == payload - 65_536
    finally:
        await made.close()
        server.stop()
    assert transport("").fragment_size == 983_040


async def test_the_first_acknowledgement_of_a_request_over_the_bus_is_timed(make_nats):
    shop, web, go = make_nats(HOST), make_nats("web.example"), asyncio.Event()
    acknowledged = []

    @shop.endpoint("GET", "/")
    async def slow() -> None:
        await go.wait()

    @web.watch
    def note(direction, subject, payload):
        if b"Microbus-Op-Code: Ack" in payload:
            acknowledged.append((subject, payload))

    async with shop, web:
        await until(lambda: not web._runtime._background)  # it has announced itself
        before = sum(web.metrics._acks)
        acknowledged.clear()
        asked = asyncio.create_task(web.request("GET", f"{URL}/"))
        await until(lambda: acknowledged and sum(web.metrics._acks) == before + 1)
        web._client.responses.receive_payload(*acknowledged[0])
        assert sum(web.metrics._acks) == before + 1, "the second one says nothing of the way"
        go.set()
        await asked


async def test_a_transfer_may_be_silent_for_so_many_round_trips(make_memory):
    async with make_memory(HOST, round_trip=0.5) as shop:
        wanted = MAX_SILENCE * 0.5
        assert shop._server.transfers.silence == wanted
        assert shop._client.responses.transfers.silence == wanted


@pytest.mark.parametrize(("host", "right"), [("web_example", True), ("other_example", False)])
@pytest.mark.parametrize("id_right", [True, False])
async def test_a_response_to_another_host_or_instance_is_rejected(
    make_nats, plane, host, right, id_right
):
    web = make_nats("web.example")
    async with web:
        before = web.metrics.rejects.get("source", 0)
        subject = f"{plane}.reply._.shop_example.{host}.{web.id if id_right else 'id-other'}"
        head = (
            b"HTTP/1.1 202 Accepted\r\nMicrobus-Op-Code: Ack\r\nMicrobus-Msg-Id: AAAAAAAA\r\n\r\n"
        )
        web._client.responses.receive_payload(subject, head)
        rejected = web.metrics.rejects.get("source", 0) - before
        assert rejected == (0 if right and id_right else 1)


async def test_a_multicast_to_one_in_this_process_arrives_as_it_was_sent(make_memory):
    shop, web = make_memory(HOST), make_memory("web.example")
    seen = []

    @shop.endpoint("GET", "/")
    async def note(request: Request) -> str:
        seen.append(
            (request.headers["X-A"], request.source, request.headers["Microbus-Time-Budget"])
        )
        request.headers["X-A"] = "changed"
        return "heard"

    headers = {"X-A": "1"}
    async with shop, web:
        for _ in range(2):
            answers = web.publish("GET", f"{URL}/", headers=headers, timeout=7)
            assert [each.body async for each in answers] == [b"heard"]
    assert seen == [("1", "web.example", "7s")] * 2
    assert headers == {"X-A": "1"}


def test_the_short_circuit_of_nats_py_imports_no_client():
    code = "import sys, subtrie.short_circuit; assert not {'nats'} & set(sys.modules)"
    subprocess.run([sys.executable, "-c", code], check=True, timeout=60)
