"""The native client against a real server: authentication, limits, loss and return."""

from __future__ import annotations

import asyncio
import base64
import json
import logging
import math
import os
import random
import signal
import ssl
from contextlib import asynccontextmanager
from dataclasses import replace

import nkeys
import pytest

import subtrie
from certificates import Authority
from patience import until, wait_until
from subtrie._nats.nkey import key_pair, seed_of
from subtrie.connector._broker import connection as broker_connection
from subtrie.connector._broker import session, shared
from subtrie.connector._broker.handshake import connect_line
from subtrie.connector._broker.server_info import ServerInfo
from subtrie.connector._broker.servers import Server, ServerPool, waits
from subtrie.connector._credentials import Credentials

from .nats_server import NatsServer


@pytest.fixture
def make_server(tmp_path):
    """Return a function that starts a server with options."""
    made = []

    def make(**options):
        made.append(NatsServer(tmp_path / f"server{len(made)}", **options).start())
        return made[-1]

    yield make
    for each in made:
        each.stop()


@asynccontextmanager
async def connected(url, host="a.example", **more):
    """A connection with credentials."""
    credentials = Credentials(url, **{"digest": repr((url, host, more)), **more})
    connection = await shared.connect(credentials, host)
    try:
        yield connection
    finally:
        await connection.release()


async def heard_over(connection, count=3):
    """Return what arrives of so many messages from the connection to itself."""
    heard = []
    made = await connection.subscribe(["t.*"], None, lambda subject, data: heard.append(data))
    for number in range(count):
        connection.publish("t.x", b"%d" % number, pytest.fail)
    await connection.flush()
    await connection.unsubscribe(made)
    return heard


def creds_of_nkey():
    """A user key, and a creds text that holds its seed alone."""
    pair = nkeys.from_seed(nkeys.encode_seed(os.urandom(32), nkeys.PREFIX_BYTE_USER))
    seed = pair.seed.decode()
    text = f"-----BEGIN USER NKEY SEED-----\n{seed}\n------END USER NKEY SEED------\n"
    return pair.public_key.decode(), text


@pytest.mark.parametrize("way", ["none", "user", "token", "nkey", "url", "url token", "encoded"])
async def test_each_way_to_authenticate(make_server, monkeypatch, way):
    key, creds = creds_of_nkey()
    user = {"user": "u", "password": "p@s:s/w%"}
    options, given, prefix = {
        "none": ({}, {}, ""),
        "user": ({"authorization": user}, user, ""),
        "token": ({"authorization": {"token": "tok"}}, {"token": "tok"}, ""),
        "nkey": ({"authorization": {"users": [{"nkey": key}]}}, {"creds": creds}, ""),
        "url": ({"authorization": {"user": "u", "password": "pw"}}, {}, "u:pw@"),
        "url token": ({"authorization": {"token": "tok"}}, {}, "tok@"),
        "encoded": ({"authorization": user}, {}, "u:p%40s%3As%2Fw%25@"),
    }[way]
    server = make_server(**options)
    async with connected(server.url.replace("://", f"://{prefix}"), **given) as connection:
        assert await heard_over(connection) == [b"0", b"1", b"2"]
    if options:
        # It is not tried again: that would outlast the test.
        monkeypatch.setattr(broker_connection, "CONNECT_LIMIT", 600)
        with pytest.raises(ConnectionError, match="Authorization Violation") as refused:
            async with connected(server.url, user="u", password="wrong"):
                pass
        assert "wrong" not in str(refused.value)
    assert shared.open_connections() == 0


@pytest.mark.parametrize("verify", [False, True])
async def test_tls_with_and_without_a_client_certificate(
    make_server, tmp_path, verify, monkeypatch
):
    authority, another = Authority(), Authority("another")
    ca, strange = authority.write(tmp_path / "ca.pem"), another.write(tmp_path / "strange.pem")
    authority.vouch("localhost", tmp_path / "cert.pem", tmp_path / "key.pem")
    files = {"cert_file": str(tmp_path / "cert.pem"), "key_file": str(tmp_path / "key.pem")}
    server = make_server(tls={**files, "ca_file": str(ca), "verify": verify})
    own = {"cert": tmp_path / "cert.pem", "key": tmp_path / "key.pem"} if verify else {}
    async with connected(server.url, ca=ca, **own) as connection:
        assert connection._session._transport.get_extra_info("cipher")
        assert await heard_over(connection, 300) == [b"%d" % n for n in range(300)]
    with pytest.raises(ConnectionError, match="certificate") as refused:
        async with connected(server.url, ca=strange, **own):
            pass
    assert isinstance(refused.value.__cause__, ssl.SSLError)
    if verify:
        monkeypatch.setattr(broker_connection, "CONNECT_LIMIT", 0.5)
        with pytest.raises(ConnectionError):
            async with connected(server.url, ca=ca):
                pass


async def test_an_encrypted_connection_is_not_made_without_encryption(make_server, tmp_path):
    server = make_server()
    ca = Authority().write(tmp_path / "ca.pem")
    for url, more in ((server.url, {"ca": ca}), (server.url.replace("nats:", "tls:"), {})):
        before, broker_connection.CONNECT_LIMIT = broker_connection.CONNECT_LIMIT, 0.3
        try:
            with pytest.raises(ConnectionError, match="does not offer TLS"):
                async with connected(url, **more):
                    pass
        finally:
            broker_connection.CONNECT_LIMIT = before


async def test_a_lost_connection_returns_with_every_subscription(make_server, caplog):
    caplog.set_level(logging.INFO, "subtrie.connector")
    server = make_server()
    heard = []
    async with connected(server.url) as connection:
        await connection.subscribe(["t.*"], None, lambda subject, data: heard.append(data))
        gone = await connection.subscribe(["t.*"], "q", lambda subject, data: heard.append(data))
        await connection.unsubscribe(gone)
        await asyncio.to_thread(server.kill)
        await until(lambda: not connection.connected)
        assert not await connection.responds(0.2)
        await connection.flush()  # does not wait for a broker that is not there
        called = []
        connection.publish("t.1", b"while lost", pytest.fail)
        connection.after_writes(lambda: called.append(1))
        await until(lambda: called)
        await asyncio.to_thread(server.start)
        await until(lambda: heard == [b"while lost"])
        assert await connection.responds(2)
    texts = [record.getMessage() for record in caplog.records]
    assert texts == [
        "a.example: the connection to the broker is lost",
        "a.example: the broker is back",
    ]


async def test_what_waits_for_a_lost_broker_is_bounded(make_server, monkeypatch):
    server = make_server()
    monkeypatch.setattr(broker_connection, "MAX_WAITING_LOST", 10_000)
    heard, failures = [], []
    async with connected(server.url) as connection:
        await connection.subscribe(["t.*"], None, lambda subject, data: heard.append(data))
        await connection.flush()
        await asyncio.to_thread(server.kill)
        await until(lambda: not connection.connected)
        for _ in range(20):
            connection.publish("t.x", bytes(1000), failures.append)
        assert [error.status for error in failures] == [503] * 11
        await asyncio.to_thread(server.start)
        await until(lambda: len(heard) == 9)
        connection.publish("t.x", b"later", pytest.fail)
        await until(lambda: heard[-1] == b"later")
    failures.clear()
    connection.publish("t.x", b"", failures.append)
    assert "closed" in str(failures[0])


async def test_a_broker_that_reads_slowly_stops_the_writing(make_server, monkeypatch):
    server = make_server(write_deadline="60s")
    monkeypatch.setattr(broker_connection, "MAX_WAITING", 4 << 20)
    failures = []
    async with connected(server.url) as connection:
        os.kill(server._process.pid, signal.SIGSTOP)
        try:
            for _ in range(64):
                connection.publish("t.x", bytes(1 << 19), failures.append)
                await asyncio.sleep(0.002)
            assert failures
            assert {error.status for error in failures} == {503}
            assert not connection._session.writable
            buffered = connection._session._transport.get_write_buffer_size()
            assert buffered < 4 << 20, "the buffer of the socket grows without a bound"
        finally:
            os.kill(server._process.pid, signal.SIGCONT)
        await connection.flush()
        assert connection._waiting == 0
        assert await heard_over(connection) == [b"0", b"1", b"2"]


async def test_a_slow_consumer_is_cut_off_and_returns(make_server):
    server = make_server(max_pending=1 << 20)
    heard = []
    async with connected(server.url) as sender, connected(server.url, "b.example") as connection:
        await connection.subscribe(["t.*"], None, lambda subject, data: heard.append(data))
        await connection.flush()
        slow = connection._session
        connection.loop.call_soon_threadsafe(slow._transport.pause_reading)
        for _ in range(40):
            sender.publish("t.x", bytes(1 << 19), pytest.fail)
            await sender.flush()
        connection.loop.call_soon_threadsafe(slow._transport.resume_reading)
        await until(lambda: connection.connected and connection._session is not slow)
        await connection.flush()
        sender.publish("t.x", b"again", pytest.fail)
        await until(lambda: heard and heard[-1] == b"again")


async def test_a_silent_broker_is_taken_for_dead(make_server, monkeypatch, caplog):
    caplog.set_level(logging.DEBUG, "subtrie.connector")
    monkeypatch.setattr(broker_connection, "PING_INTERVAL", 0.7)
    server = make_server()
    async with connected(server.url) as connection:
        first = connection._session
        await asyncio.sleep(1.0)
        assert connection.connected, "pings are answered"
        assert connection._session is first, "so it is the same connection"
        os.kill(server._process.pid, signal.SIGSTOP)
        try:
            await until(lambda: not connection.connected)
        finally:
            os.kill(server._process.pid, signal.SIGCONT)
        # The task that connects again says so, which may come after the connection is lost.
        await until(lambda: "a.example: the server does not answer" in caplog.messages)
        await until(lambda: connection.connected)
        assert await heard_over(connection) == [b"0", b"1", b"2"]


async def test_another_server_of_the_cluster_takes_over(make_server, tmp_path):
    free = NatsServer(tmp_path / "free")  # a free port for the route
    route = {"name": "c", "host": "127.0.0.1", "port": free.port}
    one = make_server(cluster=route, server_name="one")
    url = f"nats://127.0.0.1:{free.port}"
    cluster = {"name": "c", "host": "127.0.0.1", "port": -1, "routes": [url]}
    two = make_server(cluster=cluster, server_name="two")
    heard = []
    async with connected(one.url) as connection:
        await connection.subscribe(["t.*"], None, lambda subject, data: heard.append(data))
        await until(lambda: len(connection._servers) == 2)
        assert await connection.round_trip() == 0.3
        await asyncio.to_thread(one.kill)
        await until(lambda: connection.connected and connection._server.port == two.port)
        connection.publish("t.x", b"over two", pytest.fail)
        await until(lambda: heard == [b"over two"])
    async with connected(f"{one.url},{two.url}") as connection:
        assert connection._server.port == two.port, "the one that is up"


async def test_a_changed_limit_is_followed(make_server):
    server = make_server(max_payload=1000)
    failures = []
    async with connected(server.url) as connection:
        assert connection.max_payload == 1000
        connection.publish("t.x", bytes(1001), failures.append)
        assert failures[0].status == 413
        await asyncio.to_thread(server.kill)
        config = server.folder / "nats.conf"
        config.write_text(config.read_text().replace("1000", "2000"))
        await asyncio.to_thread(server.start)
        await until(lambda: connection.connected and connection.max_payload == 2000)
        connection.publish("t.x", bytes(1001), pytest.fail)
        assert await connection.responds(2)


async def test_refused_permissions_are_reported_and_the_rest_goes_on(make_server):
    permissions = {"publish": ["t.>", "$SYS.>"], "subscribe": ["t.>"]}
    server = make_server(
        authorization={"users": [{"user": "u", "password": "p", "permissions": permissions}]}
    )
    found = []
    async with connected(server.url, user="u", password="p") as connection:
        connection.on_violation.append(found.append)
        await connection.subscribe(["Not.Allowed"], "Q", pytest.fail)
        connection.publish("Neither.This", b"", pytest.fail)
        await connection.flush()
        assert sorted((each.verb, each.subject, each.queue) for each in found) == [
            ("publish", "Neither.This", None),
            ("subscribe", "Not.Allowed", "Q"),
        ]
        assert await heard_over(connection) == [b"0", b"1", b"2"]


async def test_messages_with_headers_and_failing_receivers(make_server, caplog):
    server = make_server()
    heard = []

    def receive(subject, data):
        heard.append((subject, data))
        if data == b"bad":
            raise ValueError("a receiver fails")

    import nats

    async with connected(server.url) as connection:
        await connection.subscribe(["t.é"], None, receive)
        await connection.flush()
        other = await nats.connect(server.url)
        await other.publish("t.é", b"bad", headers={"A": "b"})
        await other.publish("t.é", b"good", headers={"A": "b"})
        await other.publish("t.é", b"")
        await other.flush()
        await other.close()
        await until(lambda: len(heard) == 3)
    assert heard == [("t.é", b"bad"), ("t.é", b"good"), ("t.é", b"")]


async def test_nothing_that_was_sent_is_lost_by_unsubscribing(make_server):
    server = make_server()
    heard = []
    async with connected(server.url) as sender, connected(server.url, "b.example") as connection:
        made = await connection.subscribe(["t.*"], None, lambda subject, data: heard.append(data))
        await connection.flush()
        for number in range(5000):
            sender.publish("t.x", b"%d" % number, pytest.fail)
        await sender.flush()  # the server has taken all of them for this subscription
        await connection.unsubscribe(made)
        assert len(heard) == 5000
        sender.publish("t.x", b"too late", pytest.fail)
        await sender.flush()
        await connection.flush()
        assert len(heard) == 5000


async def test_a_start_without_a_server_names_it():
    before, broker_connection.CONNECT_LIMIT = broker_connection.CONNECT_LIMIT, 0.3
    try:
        for url, text in (
            ("nats://user:secret@127.0.0.1:1", r"127\.0\.0\.1:1"),
            ("http://127.0.0.1:1", "not the URL of a NATS server"),
            ("nats://127.0.0.1:x", "not the URL of a NATS server"),
        ):
            with pytest.raises(ConnectionError, match=text) as refused:
                async with connected(url):
                    pass
            assert "secret" not in str(refused.value)
    finally:
        broker_connection.CONNECT_LIMIT = before
    assert shared.open_connections() == 0


def test_announced_servers_replace_each_other_and_take_the_user():
    pool = ServerPool("tls://u:p@one.example:5000, two.example")
    one = Server.of("tls://u:p@one.example:5000")
    pool.announce([("10.0.0.1", 4222), ("two.example", 4222), ("::1", 7)], one)
    assert len(pool) == 4
    added = next(each for each in pool.round() if each.host == "10.0.0.1")
    assert (added.port, added.tls, added.user, added.password) == (4222, True, "u", "p")
    assert added.tls_name == one.tls_name == "one.example"
    pool.announce([("three.example", 4222), ("10.0.0.2", 4222)], added)
    names = {each.host: each.tls_name for each in pool.round()}
    assert (names["three.example"], names["10.0.0.2"]) == ("three.example", "one.example")
    pool.announce([], one)
    assert len(pool) == 2
    assert "'p'" not in repr(one)


async def test_the_certificate_of_an_announced_server_must_name_it(make_server, tmp_path):
    """Not the host of the server that announced it, which the certificates name here too."""
    authority = Authority()
    ca = authority.write(tmp_path / "ca.pem")
    servers = {}
    for name in ("localhost", "b.example"):
        cert, key = tmp_path / f"{name}.pem", tmp_path / f"{name}.key"
        authority.vouch(name, cert, key)  # and for 127.0.0.1
        servers[name] = make_server(tls={"cert_file": str(cert), "key_file": str(key)})
    first = servers["localhost"].port
    async with connected(f"tls://127.0.0.1:{first}", ca=ca) as connection:
        pool, by = connection._servers, connection._server
        for name, accepted in (("localhost", True), ("b.example", False)):
            pool.announce([("localhost", servers[name].port)], by, encrypted=True)
            (announced,) = [each for each in pool.round() if each.host == "localhost"]

            async def opened(server=announced):
                greeted = session.Session(
                    connection.loop, {}, on_info=print, on_error=print, on_writable=print
                )
                try:
                    await connection._greet(greeted, server)
                finally:
                    greeted.abort(ConnectionError("enough"))

            done = asyncio.run_coroutine_threadsafe(opened(), connection.loop)
            if accepted:
                await asyncio.wrap_future(done)
            else:
                with pytest.raises(ssl.SSLCertVerificationError, match="localhost"):
                    await asyncio.wrap_future(done)


def test_the_time_between_attempts_grows_to_a_limit_and_is_random():
    pauses = waits(0.25, 4.0)
    first = [next(pauses) for _ in range(12)]
    for wait, most in zip(first, [0.25, 0.5, 1, 2, 4, 4, 4, 4, 4, 4, 4, 4], strict=True):
        assert most / 2 <= wait <= most
    assert len(set(first)) == 12


async def test_what_several_threads_write_stays_whole_and_in_order(make_server, monkeypatch):
    server, count, publishers = make_server(), 120, 3
    heard: dict[int, list[bytes]] = {number: [] for number in range(publishers)}
    cut = []
    write = session.Session.write
    monkeypatch.setattr(
        session.Session,
        "write",
        lambda self, data: (cut.append(self) if not data else None, write(self, data)),
    )

    def body(publisher, number):
        return random.Random(f"{publisher} {number}").randbytes(400_000 if number % 3 else 20)

    async with (
        connected(server.url) as ours,
        connected(server.url, "b.example") as theirs,
    ):
        await theirs.subscribe(["t.*"], None, lambda subj, data: heard[int(subj[2:])].append(data))
        await theirs.flush()

        async def publish_all(publisher):
            for number in range(count):
                ours.publish(f"t.{publisher}", body(publisher, number), pytest.fail)
                await asyncio.sleep(0)
                while ours._waiting > 8_000_000:
                    await asyncio.sleep(0.001)

        await asyncio.gather(
            *(asyncio.to_thread(asyncio.run, publish_all(each)) for each in range(publishers))
        )
        await ours.flush()
        await until(lambda: all(len(each) == count for each in heard.values()))
    for publisher, bodies in heard.items():
        assert bodies == [body(publisher, number) for number in range(count)]
    assert cut, "no write of another thread was taken in part only"


async def test_a_message_alone_is_written_without_waking_the_connection(make_server, monkeypatch):
    async with connected(make_server().url) as connection:
        heard, woken = [], []
        await connection.subscribe(["t.*"], None, lambda subject, data: heard.append(data))
        await connection.flush()
        monkeypatch.setattr(connection, "_wake", lambda: woken.append(connection))
        await asyncio.sleep(0.01)
        connection.publish("t.x", b"1", pytest.fail)
        wait_until(lambda: heard)  # it is sent before the turn of the publisher ends
        assert (heard, woken) == ([b"1"], [])


@pytest.mark.parametrize(
    ("url", "server"),
    [
        ("a.example", Server("a.example", 4222)), (" a.example:5 ", Server("a.example", 5)),
        ("nats://a.example:0", Server("a.example", 4222)),
        ("tls://A.example", Server("a.example", 4222, True)),
        ("TLS://[::1]:7", Server("::1", 7, True)),
        ("nats://tok@a", Server("a", 4222, False, "tok")),
        ("nats://u:p%40@a", Server("a", 4222, False, "u", "p@")),
        ("u%20:@a", Server("a", 4222, False, "u ", "")),
        ("nats://a:65535", Server("a", 65_535)), ("nats://a:65536", None), ("nats://a:x", None),
        ("http://a", None), ("nats://", None),
        ("nats://u:secret@:5", None),
        ("nats://u:secret@a:x", None),
    ],
)  # fmt: skip
def test_the_url_of_a_server(url, server):
    if server is None:
        with pytest.raises(ConnectionError, match="is not the URL of a NATS server") as refused:
            Server.of(url)
        assert "secret" not in str(refused.value)
    else:
        assert Server.of(url) == server
        assert not {server.user, server.password} & set(repr(Server.of(url)).split("'")) - {""}


def test_the_servers_of_a_connection_are_tried_in_random_order():
    pool = ServerPool("a, ,b:5,")
    pool.announce([("c", 4222), ("a", 4222), ("c", 4222), ("b", 4222)], Server("b", 5))
    names = sorted({(each.host, each.port) for each in pool.round()})
    assert names == [("a", 4222), ("b", 5), ("b", 4222), ("c", 4222)]
    assert len(pool) == 4
    assert len({tuple(each.host for each in pool.round()) for _ in range(200)}) > 6
    for nothing in ("", " , "):
        with pytest.raises(ConnectionError, match="no URL of a NATS server"):
            ServerPool(nothing)


@pytest.mark.parametrize(
    ("by", "encrypted", "host", "tls", "name"),
    [(Server("h", 1), False, "b", False, "b"), (Server("h", 1), True, "b", True, "b"),
     (Server("h", 1, True), False, "b", True, "b"),
     (Server("h", 1, True), False, "::1", True, "h"),
     (Server("10.0.0.1", 1, True, certified="h"), True, "10.0.0.2", True, "h")],
)  # fmt: skip
def test_an_announced_server_is_reached_as_its_announcer(by, encrypted, host, tls, name):
    pool = ServerPool("x")
    by = replace(by, user="u", password="p")
    pool.announce([(host, 7)], by, encrypted=encrypted)
    (found,) = [each for each in pool.round() if each.host == host]
    assert (found.port, found.tls, found.tls_name) == (7, tls, name)
    assert (found.user, found.password) == ("u", "p")


_EVERY = {"creds": "of an nkey", "user": "cu", "password": "cp", "token": "ct"}


@pytest.mark.parametrize(
    ("given", "url", "expected"),
    [
        (_EVERY, "u:p@a", {"nkey": "its key"}),
        (_EVERY | {"creds": ""}, "u:p@a", {"user": "cu", "pass": "cp"}),
        ({"user": "cu", "token": "ct"}, "u:p@a", {"auth_token": "ct"}),
        ({"password": "cp", "token": "ct"}, "u:p@a", {"auth_token": "ct"}),
        ({"user": "cu"}, "u:p@a", {"user": "u", "pass": "p"}),
        ({}, "u:@a", {"user": "u", "pass": ""}),
        ({}, "tok@a", {"auth_token": "tok"}), ({}, ":p@a", {}), ({}, "a", {}),
    ],
    ids=lambda each: str(each)[:20],
)  # fmt: skip
@pytest.mark.parametrize("tls", [False, True])
def test_what_a_client_says_of_itself(given, url, expected, tls):
    info, (key, creds) = ServerInfo(nonce="of-the-server"), creds_of_nkey()
    given = given | ({"creds": creds} if given.get("creds") else {})
    line = connect_line(Credentials("", **given), Server.of(url), info, name="shop", tls=tls)
    assert line.startswith(b"CONNECT {")
    assert line.endswith(b"}\r\n")
    said = json.loads(line[8:])
    if "nkey" in expected:
        signature = base64.urlsafe_b64decode(said.pop("sig") + "==")
        assert key_pair(seed_of(creds.encode()), "SU").verify(b"of-the-server", signature)
        expected = {"nkey": key}
    assert said == expected | {
        "verbose": False, "pedantic": False, "tls_required": tls, "name": "shop", "protocol": 1,
        "lang": "python-subtrie", "version": subtrie.__version__, "echo": True, "headers": True,
        "no_responders": True,
    }  # fmt: skip


@pytest.mark.parametrize("spent", [0.0, 0.01, 0.02, 0.03, 0.07, 0.08, 0.12, 1.0])
async def test_a_round_trip_is_twice_the_time_to_the_server_and_more(monkeypatch, spent):
    now, answers = [100.0], [True]
    monkeypatch.setattr("subtrie.connector._system.monotonic", lambda: now[0])
    connection = shared.SharedConnection("k", "shop.example", asyncio.get_running_loop())

    async def responds(timeout):
        assert timeout == 2.0
        now[0] += spent
        return answers[0]

    monkeypatch.setattr(connection, "responds", responds)
    connection._servers = ServerPool("a")
    assert await connection.round_trip() == pytest.approx(math.ceil(20 * spent + 0.5) / 10)
    answers[0] = False
    assert await connection.round_trip() == 0.25
    connection._servers = ServerPool("a,b")
    assert await connection.round_trip() == 0.3
