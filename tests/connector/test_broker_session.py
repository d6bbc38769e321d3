"""One connection of the native client to one server: what it writes, and how it ends."""

from __future__ import annotations

import asyncio
import contextlib
import json
import time
import urllib.request

import pytest

import subtrie
from patience import until, wait_until
from servers import free_port
from subtrie.connector._broker import session
from subtrie.connector._broker.acknowledging import Acknowledging

from .test_broker_connection import connected, make_server  # noqa: F401 - a fixture


async def test_the_pings_of_the_server_are_answered(make_server, monkeypatch):  # noqa: F811
    written = []
    write = session.Session.write
    monkeypatch.setattr(
        session.Session, "write", lambda self, data: (written.append(data), write(self, data))
    )
    async with connected(make_server(ping_interval="300ms").url):
        await until(lambda: b"PONG\r\n" in written)


async def test_a_connection_that_is_released_is_ended(make_server):  # noqa: F811
    async with connected(make_server().url) as connection:
        made = connection._session
        assert not made.lost.done()
    assert made.lost.done()


async def test_a_function_that_fails_does_not_stop_the_writing(make_server, caplog):  # noqa: F811
    heard = []
    async with connected(make_server().url) as connection:
        await connection.subscribe(["t.*"], None, lambda subject, data: heard.append(data))
        await connection.flush()

        def publish_around():  # on the connection's loop, so that one write takes all of it
            connection.publish("t.x", b"1", pytest.fail)
            connection.after_writes(lambda: 1 / 0)
            connection.publish("t.x", b"2", pytest.fail)

        connection.loop.call_soon_threadsafe(publish_around)
        await until(lambda: heard == [b"1", b"2"])
    assert "a.example: a received message could not be processed" in caplog.messages


async def test_a_receiver_of_acknowledged_requests_that_fails_does_not_end_the_connection(
    make_server,  # noqa: F811
):
    payload = b"GET https://a.example/x HTTP/1.1\r\nHost: a.example\r\n" + (
        b"Microbus-Op-Code: Req\r\nMicrobus-From-Id: id-1\r\nMicrobus-Msg-Id: m1\r\n\r\n"
    )
    heard, errors = [], []

    def fail(*_):
        raise RuntimeError("receiver")

    async with connected(make_server().url) as connection:
        connection.loop.call_soon_threadsafe(
            connection.loop.set_exception_handler, lambda loop, context: errors.append(context)
        )
        made, ack = connection._session, (b"HTTP/1.1 202 Accepted\r\n", b"\r\n\r\n")
        how = Acknowledging("p", "a.example", ack, ack, fail, "tag")
        subject = "p.safe.443.b_example.a_example._.GET.x"
        await connection.subscribe([subject], None, fail, how)
        await connection.subscribe(["t.*"], None, lambda subject, data: heard.append(data))
        await connection.flush()
        connection.publish(subject, payload, pytest.fail)
        connection.publish("t.x", b"after", pytest.fail)
        await until(lambda: heard)
        assert (connection._session, made.lost.done()) == (made, False)
    assert heard == [b"after"]
    (error,) = errors
    assert str(error["exception"]) == "receiver"
    assert subject in error["message"]


async def test_the_broker_is_told_the_version_of_the_package(make_server):  # noqa: F811
    port = free_port()
    async with connected(make_server(http=f"127.0.0.1:{port}").url):
        url = f"http://127.0.0.1:{port}/connz"
        listed = await asyncio.to_thread(lambda: json.load(urllib.request.urlopen(url)))
    (one,) = listed["connections"]
    assert (one["lang"], one["version"]) == ("python-subtrie", subtrie.__version__)


async def test_what_a_function_publishes_while_the_broker_is_lost_waits_too(
    make_server,  # noqa: F811
):
    server, heard, called = make_server(), [], []
    async with connected(server.url) as connection:
        await connection.subscribe(["t.*"], None, lambda subject, data: heard.append(data))
        await connection.flush()
        await asyncio.to_thread(server.kill)
        await until(lambda: not connection.connected)

        def publish_more():
            connection.publish("t.x", b"2", pytest.fail)
            called.append(1)

        def publish():
            connection.publish("t.x", b"1", pytest.fail)
            connection.after_writes(publish_more)

        connection.loop.call_soon_threadsafe(publish)
        await until(lambda: called)
        await asyncio.to_thread(server.start)
        await until(lambda: len(heard) == 2)
    assert heard == [b"1", b"2"]


async def test_no_thread_overtakes_one_byte_that_waits():
    loop, lost = asyncio.get_running_loop(), []
    peers: asyncio.Queue[asyncio.StreamReader] = asyncio.Queue()
    done = asyncio.Event()

    async def serve(reader, writer):
        # Nothing is read before the test says so.
        writer.transport.pause_reading()
        peers.put_nowait((reader, writer))
        await done.wait()
        writer.close()

    server = await asyncio.start_server(serve, "127.0.0.1", 0, limit=1024)
    made = session.Session(loop, {}, on_info=print, on_error=lost.append, on_writable=lambda: None)
    await loop.create_connection(lambda: made, *server.sockets[0].getsockname())
    made.share()
    _reader, writer = await peers.get()
    sent = 0
    for size in (1 << 16, 1, 1, 1):  # until the operating system refuses even one byte
        with contextlib.suppress(BlockingIOError):
            while True:
                sent += made._socket.send(bytes(size))
        time.sleep(0.1)
    made.write(b"x")
    assert made._transport.get_write_buffer_size() == 1
    peer, read = writer.get_extra_info("socket").dup(), bytearray()

    def received() -> int:
        with contextlib.suppress(BlockingIOError):
            read.extend(peer.recv(1 << 16))
        return len(read)

    wait_until(lambda: received() >= sent)  # the loop of the session does not run
    assert len(read) == sent
    assert not made.write_at_once(b"y"), "it must wait for the byte before it"
    made.write(b"y")
    await until(lambda: received() >= sent + 2)
    assert bytes(read[sent:]) == b"xy"
    assert lost == []
    made.close()
    await asyncio.wait((made.lost,), timeout=60)
    peer.close()
    done.set()
    server.close()


async def test_acknowledgements_of_the_loop_of_the_services_are_behind_what_waits():
    loop, written = asyncio.get_running_loop(), []
    made = session.Session(
        loop, {}, on_info=print, on_error=written.append, on_writable=lambda: None
    )
    made._in_thread = lambda step, *arguments: written.append((step, arguments))
    made._reading = object()  # the loop of the services reads
    made._rest = b"before"
    assert made._acknowledge(b" after")
    assert made._rest == b"before after"
    assert written == [(made.write, (b"",))]
