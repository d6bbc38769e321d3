"""Services with creds of their own on a server that restricts each to its own source."""

from __future__ import annotations

import asyncio
import base64
import json
import os
import time

import nats
import nkeys
import pytest

from subtrie import Dispatcher
from subtrie._core import control_headers
from subtrie.connector import AckTimeout, Connector, Request
from subtrie.connector._broker import connection as broker_connection
from subtrie.connector._broker.shared import open_connections
from subtrie.connector._codec import write_request
from subtrie.connector._credentials import Credentials, load_credentials

from .nats_server import NatsServer

PLANE = "p"


def _pair(kind):
    return nkeys.from_seed(nkeys.encode_seed(os.urandom(32), kind))


def _public(pair):
    return pair.public_key.decode()


def _jwt(issuer, subject, name, claims, **more):
    def encoded(value):
        return base64.urlsafe_b64encode(json.dumps(value).encode()).rstrip(b"=")

    head = {"typ": "JWT", "alg": "ed25519-nkey"}
    body = {"jti": name, "iat": int(time.time()), "iss": _public(issuer), "name": name}
    body |= {"sub": _public(subject), "nats": {"version": 2, **claims}, **more}
    text = encoded(head) + b"." + encoded(body)
    signed = base64.urlsafe_b64encode(issuer.sign(text)).rstrip(b"=")
    return (text + b"." + signed).decode()


class Realm:
    """An operator, an account, and a server that trusts them."""

    def __init__(self, folder):
        self.operator, self.account = (
            _pair(nkeys.PREFIX_BYTE_OPERATOR),
            _pair(nkeys.PREFIX_BYTE_ACCOUNT),
        )
        trusted = folder / "operator.jwt"
        trusted.write_text(_jwt(self.operator, self.operator, "op", {"type": "operator"}))
        limits = dict.fromkeys(
            ("subs", "data", "payload", "imports", "exports", "conn", "leaf"), -1
        )
        account = _jwt(
            self.operator,
            self.account,
            "acc",
            {"type": "account", "limits": {**limits, "wildcards": True}},
        )
        self.server = NatsServer(
            folder / "nats",
            operator=str(trusted),
            resolver="MEMORY",
            resolver_preload={_public(self.account): account},
        )

    def creds(self, file, host):
        """The least a service needs: its own name in everything it publishes."""
        own = host.replace(".", "_")
        user = _pair(nkeys.PREFIX_BYTE_USER)
        claims = {
            "type": "user",
            "pub": {"allow": [f"{PLANE}.*.*.{own}.>"]},
            "sub": {"allow": [f"{PLANE}.*.*.*.{own}.>", f"{PLANE}.safe.888.*.all.>"]},
            **dict.fromkeys(("subs", "data", "payload"), -1),
        }
        token = _jwt(self.account, user, host, claims)
        file.write_text(
            f"-----BEGIN NATS USER JWT-----\n{token}\n------END NATS USER JWT------\n\n"
            f"-----BEGIN USER NKEY SEED-----\n{user.seed.decode()}\n"
            "------END USER NKEY SEED------\n"
        )
        file.chmod(0o600)


def _connector(host, url, **more):
    return Connector(host, plane=PLANE, nats=url, short_circuit=False, **more)


@pytest.mark.requirement("S0-119", "S0-122", "S0-124")
async def test_the_broker_restricts_each_service_to_its_own_source(tmp_path):
    realm = Realm(tmp_path)
    realm.creds(tmp_path / "shop.example_nats.creds", "shop.example")
    realm.creds(tmp_path / "web.example_nats.creds", "web.example")
    realm.creds(tmp_path / "elsewhere", "rogue.example")
    realm.server.start()
    try:
        shop = _connector("shop.example", realm.server.url)
        web = _connector("web.example", realm.server.url)
        rogue = _connector("rogue.example", realm.server.url, creds=tmp_path / "elsewhere")
        heard = []

        @shop.endpoint("GET", "/who")
        def who(request):
            heard.append(request.headers[control_headers.FROM_HOST])
            return request.source

        async with shop, web, rogue:
            assert open_connections() == 3, "one for each credentials"
            url = "https://shop.example/who"
            assert (await web.request("GET", url)).body == b"web.example"
            assert (await rogue.request("GET", url)).body == b"rogue.example"
            forged = Request("GET", "https://shop.example:443/who")
            for name, value in (
                (control_headers.OP_CODE, "Req"),
                (control_headers.MSG_ID, "AAAAAAAA"),
                (control_headers.FROM_ID, web.id),
                (control_headers.FROM_HOST, "web.example"),
            ):
                forged.headers[name] = value
            before = shop.metrics.deliveries["nats"]
            rogue._transport.publish_bytes(
                f"{PLANE}.safe.443.web_example.shop_example._.GET.who",
                write_request(forged),
                pytest.fail,
            )
            await rogue._transport.flush()
            await asyncio.sleep(0.1)
            assert shop.metrics.deliveries["nats"] == before, "the broker let nothing through"
            # The overwrite is worth what the broker enforces: it lets this source through.
            rogue._transport.publish_bytes(
                f"{PLANE}.safe.443.rogue_example.shop_example._.GET.who",
                write_request(forged),
                pytest.fail,
            )
            for _ in range(3000):
                await asyncio.sleep(0.01)
                if len(heard) > 2:
                    break
            assert shop.metrics.deliveries["nats"] == before + 1
            assert heard == ["web.example", "rogue.example", "rogue.example"]
        unsigned = _connector("other.example", realm.server.url)
        before_limit, broker_connection.CONNECT_LIMIT = broker_connection.CONNECT_LIMIT, 0.5
        try:
            with pytest.raises((ConnectionError, nats.errors.Error)):
                await unsigned.startup()
        finally:
            broker_connection.CONNECT_LIMIT = before_limit
    finally:
        realm.server.stop()


async def test_a_service_without_publish_permission_gets_an_ack_timeout(tmp_path):
    realm = Realm(tmp_path)
    realm.creds(tmp_path / "nats.creds", "web.example")
    realm.server.start()
    try:
        async with _connector("web.example", realm.server.url) as web:
            with pytest.raises(AckTimeout):
                await web.request("GET", "https://shop.example/who")
    finally:
        realm.server.stop()


@pytest.mark.requirement("M-12")
async def test_connectors_share_the_dispatcher_of_the_process(make_memory, plane):
    shop = make_memory("shop.example")
    shop.endpoint("GET", "/{id}")(lambda id: id)
    async with shop:
        subject = f"{plane}.safe.443.web_example.shop_example._.GET.7"
        assert len(Dispatcher.shared().handlers(subject)) == 1
    assert Dispatcher.shared().handlers(subject) == ()


def test_the_repr_of_credentials_shows_no_secret():
    url = "nats://admin:hunter2@one.example:4222, tls://sesame@two.example"
    shown = repr(Credentials(url, creds="SU", user="u", password="pass", token="t0ken"))
    assert "nats://one.example:4222, tls://two.example" in shown
    for secret in ("hunter2", "admin", "sesame", "pass", "t0ken", "SU"):
        assert secret not in shown


@pytest.mark.requirement("S0-124")
def test_every_variable_with_credentials_counts_for_sharing_a_connection(monkeypatch):
    def digest(**variables: str) -> str:
        with monkeypatch.context() as patch:
            for name, value in variables.items():
                patch.setenv(f"MICROBUS_NATS_{name}", value)
            return load_credentials("nats://h:1", "a.example").digest

    ways = [
        {},
        {"USER": "u", "PASSWORD": "p"},
        {"USER": "v", "PASSWORD": "p"},
        {"USER": "u", "PASSWORD": "q"},
        {"TOKEN": "p"},
        {"TOKEN": "q"},
        {"USER_JWT": "j", "NKEY_SEED": "s"},
        {"USER_JWT": "k", "NKEY_SEED": "s"},
        {"USER_JWT": "j", "NKEY_SEED": "t"},
    ]
    assert len({digest(**each) for each in ways}) == len(ways)
    assert [digest(**each) for each in ways] == [digest(**each) for each in ways]
    # A part of a way is none, and what two texts are is more than what they are together.
    for part in ({"USER": "u"}, {"PASSWORD": "p"}, {"USER_JWT": "j"}, {"NKEY_SEED": "s"}):
        assert digest(**part) == digest()
    assert digest(USER="ab", PASSWORD="c") != digest(USER="a", PASSWORD="bc")


@pytest.mark.requirement("S0-124")
def test_each_file_with_credentials_counts_for_sharing_a_connection(tmp_path, monkeypatch):
    def loaded(**files: str):
        folder = tmp_path / f"of {files}"
        folder.mkdir()
        for name, text in files.items():
            (folder / f"{name}.{'creds' if name == 'nats' else 'pem'}").write_text(text)
            (folder / f"{name}.{'creds' if name == 'nats' else 'pem'}").chmod(0o600)
        return load_credentials("nats://h:1", "a.example", folder=folder)

    given = [
        loaded(),
        loaded(ca="AB"),
        loaded(ca="A"),
        loaded(ca="A", cert="B", key="C"),
        loaded(ca="AB", cert="", key="C"),
        loaded(ca="A", cert="BC", key=""),
        loaded(nats="A"),
        loaded(nats="B"),
    ]
    assert len({each.digest for each in given}) == len(given)
    assert loaded(cert="x").digest == given[0].digest  # without its key it is not used
    # A file comes before the variables.
    monkeypatch.setenv("MICROBUS_NATS_USER_JWT", "j")
    monkeypatch.setenv("MICROBUS_NATS_NKEY_SEED", "s")
    assert loaded(nats="C").from_variables is False
    assert loaded(ca="C").from_variables is True
