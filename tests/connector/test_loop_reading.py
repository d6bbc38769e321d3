"""The event loop of the services reads their connection while messages come one at a time."""

from __future__ import annotations

import asyncio
import contextlib
import socket
import threading

import pytest

from patience import until, wait_until
from subtrie.connector import Connector
from subtrie.connector._broker import loop_reading
from subtrie.connector._broker.loop_reading import LoopReading, ReadRate

from .test_broker_connection import connected, make_server  # noqa: F401 - a fixture


def read_by(connection):
    """Return the reading of the loop, or None while the connection's thread reads."""
    session = connection._session
    return None if session is None else session._reading


async def echoed(connection, heard, number):
    """Publish a message to the connection itself, and wait for it."""
    connection.publish("t.x", b"%d" % number, pytest.fail)
    await until(lambda: heard and heard[-1][1] == b"%d" % number)


async def until_the_loop_reads(connection, heard, first=0):
    """Send messages one at a time until the loop reads them; return the next number."""
    number = first

    async def one():
        nonlocal number
        await echoed(connection, heard, number)
        number += 1

    while read_by(connection) is None or not read_by(connection).reads:
        await one()
    return number


@pytest.fixture
def at_once(monkeypatch):
    """Let the loop read after one message, however long it took: the machine may be busy."""
    monkeypatch.setattr(loop_reading, "ENOUGH", 1)
    monkeypatch.setattr(loop_reading, "SOON", 3600.0)


@contextlib.asynccontextmanager
async def listening(url):
    """Connect and subscribe; yield the connection, and what it receives: thread and payload."""
    async with connected(url) as connection:
        heard = []

        def hear(subject, data):
            heard.append((threading.get_ident(), data))

        await connection.subscribe(["t.*"], None, hear)
        yield connection, heard


async def test_messages_one_at_a_time_are_read_by_the_loop_of_the_services(
    make_server,  # noqa: F811
    at_once,
    monkeypatch,
):
    monkeypatch.setattr("subtrie.connector._broker.session.WATCH", 0.5)
    async with listening(make_server().url) as (connection, heard):
        number = await until_the_loop_reads(connection, heard)
        await echoed(connection, heard, number)
        assert threading.get_ident() in {thread for thread, _ in heard}
        assert heard[0][0] != threading.get_ident()
    assert [data for _, data in heard] == [b"%d" % each for each in range(number + 1)]


async def test_the_thread_reads_again_while_the_loop_is_blocked(make_server, at_once):  # noqa: F811
    async with listening(make_server().url) as (connection, heard):
        number = await until_the_loop_reads(connection, heard)
        connection.publish("t.x", b"last", pytest.fail)
        connection._wake()  # the message is sent, though this turn does not end
        wait_until(lambda: heard[-1][1] == b"last")
        assert heard[-1][0] != threading.get_ident()
        assert read_by(connection) is None, "the loop has not taken a turn"
        assert len(heard) == number + 1


async def test_a_request_is_acknowledged_while_a_handler_blocks_the_loop_that_reads(
    make_server,  # noqa: F811
    at_once,
):
    url = make_server().url
    # Of two servers' names, so that each has a connection of its own.
    urls = {"shop.example": url, "web.example": url.replace("127.0.0.1", "localhost")}
    shop, web = (
        Connector(host, plane="loops", nats=urls[host], short_circuit=False, deployment="LAB")
        for host in urls
    )
    acknowledged, blocked = threading.Event(), threading.Event()

    @web.watch
    def watch(direction, subject, payload):
        if blocked.is_set() and b"Microbus-Op-Code: Ack" in payload:
            acknowledged.set()

    @shop.endpoint("GET", "/quick")
    async def quick():
        return 1

    @shop.endpoint("GET", "/block")
    async def block():
        blocked.set()
        assert acknowledged.wait(60)  # of the other request
        return 2

    def ask():
        async def run():
            async with web:
                while shop._transport.nats._session._reading is None:
                    await web.request("GET", "https://shop.example/quick")
                blocking = asyncio.ensure_future(web.request("GET", "https://shop.example/block"))
                await until(blocked.is_set)
                answer = await web.request("GET", "https://shop.example/quick")
                return answer.json(), (await blocking).json()

        return asyncio.run(run())

    async with shop:
        assert await asyncio.to_thread(ask) == (1, 2)


async def test_many_messages_of_one_read_are_read_by_the_thread_again(
    make_server,  # noqa: F811
    at_once,
    monkeypatch,
):
    monkeypatch.setattr("subtrie.connector._broker.session.WATCH", 3600.0)
    async with listening(make_server().url) as (connection, heard):
        number = await until_the_loop_reads(connection, heard)
        for each in range(100):
            connection.publish("t.x", b"%d" % (number + each), pytest.fail)
        reading = read_by(connection)
        await until(lambda: read_by(connection) is not reading)
        await until(lambda: len(heard) == number + 100)
    assert [data for _, data in heard] == [b"%d" % each for each in range(number + 100)]


async def test_a_large_message_is_read_by_the_thread_again(make_server, at_once, monkeypatch):  # noqa: F811
    monkeypatch.setattr("subtrie.connector._broker.session.WATCH", 3600.0)
    async with listening(make_server().url) as (connection, heard):
        await until_the_loop_reads(connection, heard)
        reading, body = read_by(connection), bytes(100_000)
        connection.publish("t.x", body, pytest.fail)
        await until(lambda: heard[-1][1] == body)
        assert read_by(connection) is not reading


async def test_a_connection_that_ends_while_the_loop_reads_comes_back(
    make_server,  # noqa: F811
    at_once,
    monkeypatch,
):
    monkeypatch.setattr("subtrie.connector._broker.session.WATCH", 3600.0)
    server = make_server()
    async with listening(server.url) as (connection, heard):
        number = await until_the_loop_reads(connection, heard)
        ended = connection._session
        server.stop()
        await until(lambda: ended.lost.done())
        server.start()
        await until(lambda: connection.connected)
        await until_the_loop_reads(connection, heard, number)
        await connection.flush()  # PING and PONG while the loop reads
    assert [data for _, data in heard] == [b"%d" % each for each in range(len(heard))]


async def test_services_of_two_loops_leave_the_reading_to_the_thread(make_server, at_once):  # noqa: F811
    server = make_server()
    async with listening(server.url) as (connection, heard):

        async def other():
            async with connected(server.url) as same:
                assert same is connection

        await asyncio.to_thread(asyncio.run, other())
        for number in range(50):
            await echoed(connection, heard, number)
            assert read_by(connection) is None
        assert {thread for thread, _ in heard} != {threading.get_ident()}


class _Socket:
    closed = False

    def close(self):
        self.closed = True


def _reading(loop):
    return LoopReading(loop, _Socket(), lambda _: (True, []), lambda: None)


def test_a_closed_loop_does_not_read():
    loop = asyncio.new_event_loop()
    reading, later = _reading(loop), _reading(loop)
    assert later.begin()
    loop.close()
    assert not reading.begin()
    assert reading._socket.closed
    assert later.end(wait=True)
    assert later._socket.closed


async def test_a_reading_that_ends_before_the_loop_begins_it_closes_its_socket_once():
    """Its socket was closed first, and then taken from the loop, which logged an error."""
    loop, failed = asyncio.get_running_loop(), []
    loop.set_exception_handler(lambda _, context: failed.append(context))
    read, written = socket.socketpair()
    with written:
        reading = LoopReading(loop, read, lambda _: (True, []), lambda: None)
        assert reading.begin()
        assert reading.end(wait=True)
        await until(lambda: read.fileno() == -1)
        await asyncio.sleep(0)
    assert failed == []


async def test_a_loop_that_cannot_watch_sockets_leaves_the_reading_to_the_thread(monkeypatch):
    class Loop:
        def call_soon_threadsafe(self, call):
            call()

        def add_reader(self, *_):
            raise NotImplementedError

    reading = _reading(Loop())
    assert reading.begin()
    assert reading._socket.closed
    assert reading.end(wait=False)
    assert reading.reads == 0


@pytest.mark.parametrize(
    ("messages", "nbytes", "apart", "admitted"),
    [(2, 1 << 14, 0.0049, True), (3, 1, 0.0049, False), (1, (1 << 14) + 1, 0.0049, False),
     (1, 1, 0.0051, False), (0, 0, 0.0, True)],
)  # fmt: skip
def test_the_loop_reads_after_sixteen_small_reads_in_a_row(
    monkeypatch, messages, nbytes, apart, admitted
):
    now = [100.0]
    monkeypatch.setattr("subtrie.connector._system.monotonic", lambda: now[0])
    rate = ReadRate()

    def admits(count, size, seconds):
        now[0] += seconds
        return rate.admits(count, size)

    for _ in range(2):
        assert not any(admits(1, 1, 0.001) for _ in range(15))
        assert admits(1, 1, 0.001) is (rate._in_a_row == 0), "counted anew from then on"
        while not admits(1, 1, 0.001):
            pass
    assert not any(admits(1, 1, 0.001) for _ in range(15))
    assert admits(messages, nbytes, apart) is admitted
