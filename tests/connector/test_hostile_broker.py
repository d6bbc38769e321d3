"""Attacks of a hostile broker, or of one in between: INFO, pauses, announced servers, memory."""

from __future__ import annotations

import asyncio
import json
import logging
import socket
import ssl
import struct

import pytest

from certificates import Authority
from patience import until
from subtrie import WireError, engine
from subtrie.connector._broker import connection as broker_connection
from subtrie.connector._broker import server_info, session
from subtrie.connector._broker.server_info import InfoRefused, ServerInfo
from subtrie.connector._broker.servers import Pauses, Server, ServerPool

from .hostile_broker import PLAIN, Client, HostileBroker
from .test_broker_connection import connected

REFUSED = [
    {"connect_urls": ["[::1"]},
    {"connect_urls": [1]},
    {"connect_urls": "a:1"},
    {"connect_urls": ["a..b:1"]},
    {"connect_urls": ["a:0"]},
    {"connect_urls": ["a:65536"]},
    {"connect_urls": [f"{'a' * 64}:1"]},
    {"max_payload": "abc"},
    {"max_payload": 0},
    {"max_payload": True},
    {"max_payload": "1e400"},
    {"max_payload": 1_000_000_000},
    {"tls_required": 1},
    {"tls_available": "no"},
    {"ldm": []},
    {"nonce": 7},
    {"nonce": "n" * 1025},
]


@pytest.mark.parametrize("fields", REFUSED, ids=str)
async def test_a_refused_info_is_a_connection_error_that_names_the_field(fields, monkeypatch):
    monkeypatch.setattr(broker_connection, "CONNECT_LIMIT", 0.3)
    async with HostileBroker(fields) as broker:
        with pytest.raises(
            ConnectionError, match=f"INFO of the server is refused: {next(iter(fields))}"
        ):
            async with connected(broker.url):
                pass


@pytest.mark.parametrize("fields", [REFUSED[0], REFUSED[1], REFUSED[7], REFUSED[10]], ids=str)
async def test_after_a_bad_info_the_connection_returns_with_every_subscription(fields, caplog):
    infos = ({}, fields, fields, fields, {})
    async with HostileBroker(*infos) as broker, connected(broker.url) as connection:
        await connection.subscribe(["t.*"], None, lambda *_: None)
        broker.clients[0].writer.close()
        await until(lambda: broker.greeted >= 5 and connection.connected)
        await until(lambda: b"SUB t.* 1\r\n" in broker.clients[-1].lines)
    refused = [text for text in caplog.messages if "INFO of the server is refused" in text]
    assert len(refused) == 1


async def test_a_bad_info_in_a_session_ends_it_and_the_next_one_serves():
    async with HostileBroker({}) as broker, connected(broker.url) as connection:
        made = connection._session
        broker.clients[0].info(max_payload="abc")
        await until(made.lost.done)
        assert isinstance(made.lost.result(), InfoRefused)
        await until(lambda: connection.connected and connection._session is not made)


async def test_reconnecting_survives_any_error(monkeypatch):
    made = []
    opened = broker_connection.Connection._open

    async def fails(self, server):
        made.append(server)
        if len(made) in (2, 3):
            raise ArithmeticError("unexpected")
        await opened(self, server)

    monkeypatch.setattr(broker_connection.Connection, "_open", fails)
    async with HostileBroker({}) as broker, connected(broker.url) as connection:
        broker.clients[0].writer.close()
        await until(lambda: len(made) == 4 and connection.connected)


async def test_a_broker_that_closes_after_the_handshake_is_not_flooded(caplog, monkeypatch):
    caplog.set_level(logging.INFO, "subtrie.connector")
    waits, first = [], Pauses.first
    monkeypatch.setattr(
        Pauses, "first", lambda self, lived: (waits.append(first(self, lived)), waits[-1])[1]
    )

    async def close(client):
        pass

    async with HostileBroker({}, then=close) as broker, connected(broker.url):
        await until(lambda: len(waits) >= 5)
        assert all(wait >= least for wait, least in zip(waits, (0.12, 0.25, 0.5, 1), strict=False))
        assert broker.greeted <= len(waits) + 1, "one connection for each pause"
    texts = [text for text in caplog.messages if text.startswith("a.example")]
    assert len(texts) <= len(waits) + 1, "one record for each pause, and that it was back once"


def test_the_pauses_begin_anew_after_a_connection_that_has_lived():
    pauses = Pauses(0.25, 4.0, 5.0)
    grown = [pauses.first(4.9) for _ in range(7)]
    assert all(2.0 <= wait <= 4.0 for wait in grown[4:])
    assert pauses.short_lived == 7
    assert pauses.first(5.0) == 0.0
    assert pauses.short_lived == 0
    assert pauses.first(0.0) <= 0.25


def context(authority, folder, name):
    folder.mkdir(exist_ok=True)
    authority.vouch(name, folder / "cert.pem", folder / "key.pem")
    made = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    made.load_cert_chain(folder / "cert.pem", folder / "key.pem")
    return made


async def test_servers_named_in_plain_text_get_no_password(tmp_path):
    authority = Authority()
    ca = authority.write(tmp_path / "ca.pem")
    own, strange = (
        context(authority, tmp_path / "a", "127.0.0.1"),
        context(authority, tmp_path / "b", "localhost"),
    )
    async with HostileBroker(context=strange) as stranger:
        announced = {"connect_urls": [f"localhost:{stranger.port}"]}
        async with HostileBroker(announced, context=own) as broker:  # noqa: SIM117
            async with connected(broker.url, ca=ca, user="admin", password="hunter2") as connection:
                assert len(connection._servers) == 1
                assert broker.clients[0].connect["pass"] == "hunter2"
                broker.clients[0].writer.close()
                await until(lambda: broker.greeted >= 2 and connection.connected)
                # What comes encrypted names servers.
                broker.clients[-1].info(**announced)
                await until(lambda: len(connection._servers) == 2)
        assert stranger.clients == []


@pytest.mark.parametrize("name", ["localhost", "another.example"])
async def test_the_certificate_of_an_announced_name_must_name_it(tmp_path, name):
    authority = Authority()
    ca = authority.write(tmp_path / "ca.pem")
    own = context(authority, tmp_path / "a", "127.0.0.1")
    # Both certificates name the address of the given server too.
    async with HostileBroker(context=context(authority, tmp_path / "b", name)) as other:  # noqa: SIM117
        async with HostileBroker(context=own) as broker:
            async with connected(broker.url, ca=ca, user="u", password="p") as connection:
                broker.clients[0].info(connect_urls=[f"localhost:{other.port}"])
                await until(lambda: len(connection._servers) == 2)
                broker._server.close()
                broker.clients[0].writer.close()
                await until(lambda: other.greeted >= 2 or connection.connected)
                await until(lambda: not connection.connected or other.clients)
                await asyncio.sleep(0.3)
                assert bool(other.clients[-1].connect) == (name == "localhost")


def test_the_certificate_of_an_announced_address_must_name_the_server_that_announced_it():
    pool = ServerPool("tls://one.example:5000,tls://two.example:5000")
    pool.announce(
        [("10.0.0.1", 4222), ("named.example", 4222)], Server.of("tls://two.example:5000")
    )
    names = {each.host: each.tls_name for each in pool.round()}
    assert names["10.0.0.1"] == "two.example"
    assert names["named.example"] == "named.example"
    address = next(each for each in pool.round() if each.host == "10.0.0.1")
    pool.announce([("10.0.0.2", 4222)], address)
    assert {each.tls_name for each in pool.round()} == {"one.example", "two.example"}


def test_servers_announced_over_an_encrypted_connection_are_reached_encrypted():
    pool = ServerPool("nats://one.example:5000")
    pool.announce([("two.example", 1)], Server.of("nats://one.example:5000"), encrypted=True)
    assert [each.tls for each in pool.round() if each.host == "two.example"] == [True]


async def test_nothing_that_began_in_plain_text_ends_in_what_comes_encrypted(tmp_path, monkeypatch):
    monkeypatch.setattr(session, "INFO_PAUSE", 0.01)

    def greet(self, **fields):
        """Send two INFO, the second with a server, and a message that is not complete."""
        both = (PLAIN | fields, PLAIN | fields | {"connect_urls": ["other.example:1"]})
        infos = b"".join(f"INFO {json.dumps(each)}\r\n".encode() for each in both)
        self.send(infos + b"MSG a 1 1000\r\nhi")

    monkeypatch.setattr(Client, "info", greet)
    authority = Authority()
    ca = authority.write(tmp_path / "ca.pem")
    made = HostileBroker(context=context(authority, tmp_path / "a", "127.0.0.1"))
    async with made as broker, connected(broker.url, ca=ca) as connection:
        heard = []
        await connection.subscribe(["a"], None, lambda *message: heard.append(message))
        broker.clients[0].send(b"MSG a 1 2\r\nhe\r\n")
        await until(lambda: heard)
        assert heard == [("a", b"he")]
        assert connection._session.encrypted
        await asyncio.sleep(0.05)
        assert len(connection._servers) == len(broker.clients) == 1


async def test_the_reason_of_the_server_is_told_before_that_of_the_network(caplog):
    async with HostileBroker({}) as broker, connected(broker.url) as connection:
        made, writer = connection._session, broker.clients[0].writer
        broker.clients[0].send(b"-ERR 'Stale Connection'\r\n")
        await until(lambda: "a.example: NATS error: Stale Connection" in caplog.messages)
        writer.get_extra_info("socket").setsockopt(
            socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0)
        )
        writer.transport.abort()  # the connection is reset
        await until(made.lost.done)
        assert str(made.lost.result()) == "Stale Connection"


async def test_a_message_above_the_announced_size_ends_the_session():
    async with HostileBroker({}) as broker, connected(broker.url) as connection:
        made = connection._session
        broker.clients[0].send(b"MSG a 1 999999999\r\n" + bytes(1 << 20))
        await until(made.lost.done)
        assert "max_payload" in str(made.lost.result())


def test_a_reader_refuses_messages_above_its_limit_from_then_on(engine):
    reader = engine.DeliveryReader()
    reader.limit(3)
    assert reader.feed(b"MSG a 1 3\r\nabc\r\n")[0] == [(1, "a", b"abc")]
    with pytest.raises(WireError, match="max_payload"):
        reader.feed(b"MSG a 1 4\r\nabcd\r\n")


@pytest.mark.parametrize(("announced", "size"), [(9 << 20, 9 << 20), (1, 2 << 20)])
async def test_a_message_of_a_size_that_any_server_may_announce_is_read(announced, size):
    """Other servers of its cluster may allow more than the one that announces little."""
    heard, info = [], {"max_payload": announced}
    async with HostileBroker(info) as broker, connected(broker.url) as connection:
        await connection.subscribe(["a"], None, lambda subject, data: heard.append(len(data)))
        broker.clients[0].send(b"MSG a 1 %d\r\n%b\r\n" % (size, bytes(size)))
        await until(lambda: heard)
    assert heard == [size]


@pytest.mark.skipif(engine().name != "native", reason="the reference reads them for a minute")
async def test_pings_whose_pongs_are_not_read_take_no_memory():
    held = []

    async def flood(client):
        client.writer.transport.pause_reading()
        while len(held) < 100:  # 100 times 64 KiB of PINGs
            client.send(b"PING\r\n" * 10_922)
            await client.writer.drain()
            held.append(1)
        await asyncio.sleep(60)

    async with HostileBroker({}, then=flood) as broker, connected(broker.url) as connection:
        made = connection._session
        await until(lambda: len(held) >= 100)
        assert made._unread() <= session.MAX_UNREAD_PONGS + session._READ
        for each in broker.clients:
            each.writer.transport.abort()


async def test_a_server_that_does_not_read_acknowledgements_loses_the_connection(monkeypatch):
    monkeypatch.setattr(session, "MAX_UNREAD", 1 << 16)
    async with HostileBroker({}, then=lambda client: asyncio.sleep(60)) as broker:  # noqa: SIM117
        async with connected(broker.url) as connection:
            made = connection._session
            broker.clients[0].writer.transport.pause_reading()

            class Reader:
                def feed(self, data):
                    return [], [], bytes(1 << 20)

                def limit(self, size):
                    pass

            made.reader = Reader()
            while not made.lost.done():
                broker.clients[0].send(b"x")
                await asyncio.sleep(0.01)
            assert "does not read" in str(made.lost.result())


async def test_endless_info_is_looked_at_ten_times_a_second(monkeypatch):
    looked = []
    updated = ServerInfo.updated
    monkeypatch.setattr(
        ServerInfo, "updated", lambda self, fields: (looked.append(1), updated(self, fields))[1]
    )
    urls = [f"host-{n}.example:4222" for n in range(3300)]
    async with HostileBroker({}) as broker, connected(broker.url) as connection:
        for _ in range(400):
            broker.clients[0].info(connect_urls=urls)
        broker.clients[0].info(connect_urls=["last.example:1"])
        await until(
            lambda: [each.host for each in connection._servers._announced] == ["last.example"]
        )
        assert len(looked) < 100
        broker.clients[0].info(connect_urls=urls)
        await until(lambda: len(connection._servers) > 2)
        assert len(connection._servers) == 1 + server_info.MAX_ANNOUNCED


async def test_an_info_that_comes_before_the_connection_is_established_is_used_then(
    monkeypatch, caplog
):
    looked = []
    updated = ServerInfo.updated
    monkeypatch.setattr(
        ServerInfo, "updated", lambda self, fields: (looked.append(1), updated(self, fields))[1]
    )
    monkeypatch.setattr(session, "INFO_PAUSE", 0.0)

    class Slow(HostileBroker):
        async def _accept(self, reader, writer):
            client = Client(reader, writer)
            self.clients.append(client)
            client.info()
            while await reader.readline() != b"PING\r\n":
                pass
            client.info(connect_urls=["other.example:1"])
            await until(lambda: len(looked) == 2)
            client.send(b"PONG\r\n")
            await client.read()

    async with Slow() as broker, connected(broker.url) as connection:
        assert [each.host for each in connection._servers._announced] == ["other.example"]
    assert [each for each in caplog.messages if "callback" in each] == []


def test_fields_that_info_lacks_stay_and_others_are_not_looked_at():
    known = ServerInfo().updated({"max_payload": 5, "nonce": "x", "unknown": object()})
    later = known.updated(json.loads('{"connect_urls": ["[::1]:7", "a_b-c.example:1"]}'))
    assert (later.max_payload, later.nonce) == (5, "x")
    assert later.connect_urls == (("::1", 7), ("a_b-c.example", 1))
    assert later.updated({"connect_urls": None}).connect_urls == ()


@pytest.mark.parametrize(
    ("name", "value"),
    [("max_payload", 1), ("max_payload", 999_999_999), ("tls_required", True), ("ldm", True),
     ("tls_available", True), ("nonce", "n" * 1024), ("nonce", "")],
    ids=str,
)  # fmt: skip
def test_each_field_of_info_is_taken_up_to_its_limit(name, value):
    assert getattr(ServerInfo().updated({name: value}), name) == value


@pytest.mark.parametrize(
    ("text", "address"),
    [("a:1", ("a", 1)), ("a:65535", ("a", 65_535)), ("10.0.0.1:4222", ("10.0.0.1", 4222)),
     (f"{'a' * 63}:1", ("a" * 63, 1)), ("[::1]:7", ("::1", 7)),
     ("[::ffff:10.0.0.1]:7", ("::ffff:10.0.0.1", 7)), (f"{'a.' * 126}a:1", ("a." * 126 + "a", 1)),
     (f"{'a.' * 126}ab:1", None), ("a:123456", None),
     ("a", None), (":1", None), ("a:", None), ("a b:1", None), ("a:1 ", None), ("::1:7", None),
     ("[]:1", None), ("[a.example]:1", None), ("é:1", None), (f"{'a.' * 260}a:1", None)],
    ids=lambda each: str(each)[:20],
)  # fmt: skip
def test_an_announced_server_is_a_host_and_a_port(text, address):
    if address is None:
        with pytest.raises(InfoRefused, match="expected host:port in each entry"):
            ServerInfo().updated({"connect_urls": ["ok:1", text]})
    else:
        (found,) = ServerInfo().updated({"connect_urls": [text]}).connect_urls
        assert found == address


@pytest.mark.parametrize(
    ("fields", "told"),
    [({"max_payload": 0}, "max_payload is 0, expected a whole number from 1 to 999,999,999"),
     ({"ldm": None}, "ldm is None, expected true or false"),
     ({"nonce": "é"}, r"nonce is '\xe9', expected an ASCII text of at most 1024 characters"),
     ({"connect_urls": {}}, "connect_urls is {}, expected a list of texts host:port"),
     ({"max_payload": "x" * 58}, f"max_payload is '{'x' * 58}', expected"),
     ({"max_payload": "x" * 59}, f"max_payload is '{'x' * 59}…, expected")],
    ids=str,
)  # fmt: skip
def test_a_refused_field_is_shown_in_short(fields, told):
    with pytest.raises(InfoRefused) as refused:
        ServerInfo().updated(fields)
    assert f"the INFO of the server is refused: {told}" in str(refused.value)


def test_a_nonce_is_not_shown():
    assert "secret" not in repr(ServerInfo(nonce="secret"))
