"""Encrypted connections, and services with client certificates.

``ca.pem``, ``cert.pem`` and ``key.pem`` in the working folder, each first under the service's name.
"""

from __future__ import annotations

import asyncio

import pytest

from certificates import Authority
from patience import until
from servers import free_port
from subtrie import BusError
from subtrie.connector import Connector
from subtrie.connector._broker import connection as broker_connection
from subtrie.connector._broker.shared import open_connections
from subtrie.connector._credentials import load_credentials

from .nats_server import NatsServer

HOST = "shop.example"


@pytest.fixture
def authority(tmp_path):
    """Its certificate lies in the working folder: everyone trusts it."""
    made = Authority()
    made.write(tmp_path / "ca.pem")
    return made


@pytest.fixture
def server(tmp_path, authority):
    """A server that asks everyone for a certificate of the authority."""
    folder = tmp_path / "server"
    folder.mkdir()
    authority.vouch("localhost", folder / "cert.pem", folder / "key.pem")
    made = NatsServer(
        folder,
        tls={
            "cert_file": str(folder / "cert.pem"),
            "key_file": str(folder / "key.pem"),
            "ca_file": str(tmp_path / "ca.pem"),
            "verify": True,
        },
    ).start()
    yield made
    made.stop()


def _cipher(connection):
    """The cipher of a connection of either client."""
    client = getattr(connection, "client", None)
    socket = client._transport._io_writer if client else connection._session._transport
    return socket.get_extra_info("cipher")


def _connector(host, server, plane, **more):
    return Connector(host, plane=plane, nats=server.url, short_circuit=False, **more)


@pytest.mark.requirement("S0-124")
async def test_services_with_the_same_files_share_a_connection(server, authority, tmp_path, plane):
    authority.vouch("everyone", tmp_path / "cert.pem", tmp_path / "key.pem")
    authority.vouch("c.example", tmp_path / "c.example_cert.pem", tmp_path / "c.example_key.pem")
    a, b, c = (_connector(f"{name}.example", server, plane) for name in "abc")
    c.endpoint("GET", "/")(lambda: "over TLS")
    async with c:
        assert open_connections() == 1
        async with a:
            assert open_connections() == 2
            async with b:
                assert open_connections() == 2
                lines = [each._transport.nats for each in (a, b, c)]
                assert lines[0] is lines[1] is not lines[2]
                assert all(_cipher(each) for each in lines)
                for each in (a, b):
                    assert (await each.request("GET", "https://c.example/")).body == b"over TLS"
            # b has left, its connection is still a's
            assert (await a.request("GET", "https://c.example/")).body == b"over TLS"
            assert open_connections() == 2
        assert open_connections() == 1
    assert open_connections() == 0


@pytest.mark.requirement("S0-122", "S0-123")
def test_own_files_come_first_and_each_is_looked_up_alone(authority, tmp_path):
    url = "nats://h:1"
    alone = load_credentials(url, HOST)
    assert (alone.ca, alone.cert, alone.key) == (tmp_path / "ca.pem", None, None)
    authority.vouch("everyone", tmp_path / "cert.pem", tmp_path / "key.pem")
    shared = load_credentials(url, HOST)
    assert (shared.cert, shared.key) == (tmp_path / "cert.pem", tmp_path / "key.pem")
    own = tmp_path / f"{HOST}_cert.pem"
    authority.vouch(HOST, own, tmp_path / f"{HOST}_key.pem")
    (tmp_path / f"{HOST}_key.pem").unlink()
    mixed = load_credentials(url, HOST)
    assert (mixed.cert, mixed.key) == (own, tmp_path / "key.pem")
    (tmp_path / "key.pem").unlink()
    certless = load_credentials(url, HOST)
    assert (certless.cert, certless.key) == (None, None), "one without the other is no use"
    assert len({each.digest for each in (alone, shared, mixed)}) == 3
    assert certless.digest == alone.digest, "what is not used does not count"
    Authority("another").write(tmp_path / f"{HOST}_ca.pem")
    assert load_credentials(url, HOST).ca == tmp_path / f"{HOST}_ca.pem"
    assert load_credentials(url, HOST).digest != alone.digest


@pytest.mark.requirement("A30")
def test_a_key_that_others_may_read_is_refused(authority, tmp_path):
    authority.vouch("everyone", tmp_path / "cert.pem", tmp_path / "key.pem")
    (tmp_path / "key.pem").chmod(0o644)
    with pytest.raises(BusError) as refused:
        load_credentials("nats://h:1", HOST)
    assert refused.value.reason == "readable-creds"
    assert load_credentials("nats://h:1", HOST, allow_readable=True).key == tmp_path / "key.pem"


async def test_a_client_without_a_trusted_certificate_is_refused(
    server, authority, tmp_path, plane
):
    nobody = _connector("a.example", server, plane)
    with pytest.raises(ConnectionError):
        await nobody.startup()
    stranger = Authority("stranger")
    stranger.vouch("b.example", tmp_path / "b.example_cert.pem", tmp_path / "b.example_key.pem")
    with pytest.raises(ConnectionError):
        await _connector("b.example", server, plane).startup()
    assert open_connections() == 0


async def test_a_server_that_the_authority_does_not_know_is_not_trusted(
    server, tmp_path, plane, monkeypatch
):
    another = Authority("another")
    another.write(tmp_path / f"{HOST}_ca.pem")
    # It is not tried again: that would outlast the test.
    monkeypatch.setattr(broker_connection, "CONNECT_LIMIT", 600)
    with pytest.raises(ConnectionError, match="certificate"):
        await _connector(HOST, server, plane).startup()


async def test_an_encrypted_connection_is_restored_with_every_handler(
    server, authority, tmp_path, plane
):
    authority.vouch("web", tmp_path / "web.example_cert.pem", tmp_path / "web.example_key.pem")
    authority.vouch("shop", tmp_path / f"{HOST}_cert.pem", tmp_path / f"{HOST}_key.pem")
    shop, web = _connector(HOST, server, plane), _connector("web.example", server, plane)
    for n in range(20):
        shop.endpoint("GET", f"/{n}")(lambda n=n: str(n))
    async with shop, web:
        for _ in range(2):
            await asyncio.to_thread(server.kill)
            while web._transport.nats.connected or shop._transport.nats.connected:
                await asyncio.sleep(0.01)
            await asyncio.to_thread(server.start)
            while not (web._transport.nats.connected and shop._transport.nats.connected):
                await asyncio.sleep(0.01)
            await shop._transport.flush()
            for n in range(20):
                assert (await web.request("GET", f"https://{HOST}/{n}")).body == b"%d" % n


async def test_the_servers_of_a_cluster_are_learned_and_reached_over_tls(
    authority, tmp_path, plane
):
    authority.vouch("localhost", tmp_path / "one.pem", tmp_path / "one.key")
    tls = {"cert_file": str(tmp_path / "one.pem"), "key_file": str(tmp_path / "one.key")}
    port = free_port()
    cluster = {"name": "c", "listen": f"127.0.0.1:{port}", "compression": "off"}
    one = NatsServer(tmp_path / "one", tls=tls, cluster=cluster).start()
    cluster = {**cluster, "listen": "127.0.0.1:-1", "routes": [f"nats://127.0.0.1:{port}"]}
    two = NatsServer(tmp_path / "two", tls=tls, cluster=cluster).start()
    try:
        connector = _connector(HOST, one, plane)
        async with connector:
            connection = connector._transport.nats
            await until(lambda: len(connection._servers) == 2)
            assert [each.tls for each in connection._servers._announced] == [True]
            one.stop()
            await until(lambda: connection.connected and connection._server.port == two.port)
            assert connection._session.encrypted
    finally:
        one.stop()
        two.stop()
