"""The whole text of each record of the log, with values that all differ from one another."""

from __future__ import annotations

import dataclasses
import logging
import os
import re
from pathlib import Path

import nats
import pytest

from patience import settled, until
from subtrie import BusError
from subtrie._core import control_headers
from subtrie.connector import Connector, HTTPError, Request, _config
from subtrie.connector._actor import ISSUERS, ActorVerifier
from subtrie.connector._codec import write_request

from .nats_server import NatsServer

SHOP, WEB = "shop.example", "web.example"


@pytest.fixture
def records(caplog):
    """A function that returns the warnings and errors so far."""
    caplog.set_level(logging.INFO, "subtrie")
    return lambda: [each.getMessage() for each in caplog.records if each.levelno >= logging.WARNING]


def _raw(**headers):
    """The bytes of a request of another program."""
    asked = Request("POST", f"https://{SHOP}:443/path", body=b"x")
    told = {
        control_headers.OP_CODE: "Req", control_headers.MSG_ID: "AAAAAAAA",
        control_headers.FROM_ID: "id-9", **headers,
    }  # fmt: skip
    for name, value in told.items():
        asked.headers[name] = value
    return write_request(asked)


async def test_of_what_is_larger_than_the_broker_allows(make_nats, broker, plane, records):
    shop, client = make_nats(SHOP), await nats.connect(broker.url)
    subject = f"{plane}.safe.443.web_example.shop_example._.POST.path"
    reply = f"{plane}.reply._.shop_example.web_example.id-9"
    shop.watch(lambda *_: None)  # the connection leaves the acknowledgements to the connector
    told = "could not be sent: 413: the message has 1000 bytes; the server allows {}".format
    texts = (
        f"{SHOP}: a response to {reply} {told(100)}", f"{SHOP}: an acknowledgement {told(99)}",
    )  # fmt: skip

    def allow(size):
        bus = shop._transport.nats
        bus._info = dataclasses.replace(bus._info, max_payload=size)

    @shop.endpoint("POST", "/path")
    def handler():
        allow(100)
        return "x"

    def shown():
        told = [each for each in records() if "shop_example.shop_example" not in each]
        return [re.sub(r"has [1-9]\d\d bytes", "has 1000 bytes", each) for each in told]

    async with shop:
        for number in (1, 2):
            await client.publish(subject, _raw())
            await until(lambda: len(shown()) >= number)  # noqa: B023
            allow(99)
    await client.close()
    assert tuple(shown()[:2]) == texts


async def test_of_a_first_fragment_that_comes_twice(make_nats, broker, plane, records):
    shop, client = make_nats(SHOP), await nats.connect(broker.url)
    shop.endpoint("POST", "/path")(lambda: "x")
    subject = f"{plane}.safe.443.web_example.shop_example._.POST.path"
    async with shop:
        for _ in range(2):
            await client.publish(subject, _raw(**{control_headers.FRAGMENT: "1/2"}))
        await settled(client)
        await until(records)
        assert records() == [f"{SHOP}: repeated first fragment from {WEB}"]
    await client.close()


async def test_of_a_handler_that_fails(make_nats, records):
    shop, web = make_nats(SHOP), make_nats(WEB)

    @shop.endpoint("GET", "/path")
    def handler():
        raise KeyError("lost")

    async with shop, web:
        with pytest.raises(BusError) as caught:
            await web.request("GET", f"https://{SHOP}/path?q=1")
    trace = f" (trace {caught.value.trace})" if caught.value.trace else ""
    assert records() == [f"{SHOP}: handling GET /path failed: KeyError: 'lost'{trace}"]


async def test_of_a_watcher_that_fails(make_nats, plane, records):
    shop, web = make_nats(SHOP), make_nats(WEB)
    shop.endpoint("GET", "/path")(lambda: "x")

    @shop.watch
    def broken(direction, subject, payload):
        raise RuntimeError("cannot look")

    async with shop, web:
        await web.request("GET", f"https://{SHOP}/path")
        assert set(records()) >= {
            f"{SHOP}: a watcher failed for subject {plane}.{each}" for each in (
                "safe.443.web_example.shop_example._.GET.path",
                f"reply._.shop_example.web_example.{web.id}",
            )
        }  # fmt: skip


async def test_of_cached_values_that_are_lost(make_memory, caplog):
    caplog.set_level(logging.INFO, "subtrie")
    one, two = make_memory(SHOP), make_memory(SHOP)
    async with one, two:
        for key in "abc":
            two._cache.hold(key, b"value")
        assert await two._cache.offload(two._client, 0) == 0
    said = [each for each in caplog.messages if "hand over" in each]
    assert said[0] == f"{SHOP} could not hand over 3 cached values: "


@pytest.mark.parametrize("issuer", ISSUERS)
async def test_of_keys_that_cannot_be_read(issuer, records):
    async def fetch(url, timeout):
        raise HTTPError("lost", status=404)

    async def other(url, timeout):
        return "evil.example", {}

    for way, text in (
        (fetch, f"{SHOP}: the keys of {issuer} cannot be read: 404: lost"),
        (other, f"{SHOP}: keys of {issuer} came from evil.example and are not used"),
    ):
        checks = ActorVerifier(way, allow_unsigned=lambda: False, host=SHOP, clock=lambda: 1.0)
        await checks._replace_keys(issuer)
        assert records()[-1] == text


async def test_of_values_without_a_configurator(make_nats, records):
    shop = make_nats(SHOP, deployment="LAB", configurator="optional")
    shop.config("Limit", default="1")
    shop.config("Shelf", default="upper")
    async with shop:
        pass
    assert records() == [f"{SHOP}: no configurator; the defaults of Limit, Shelf are in force"]
    required = make_nats(SHOP, deployment="LAB")
    required.config("Limit", default="1")
    with pytest.raises(BusError) as caught:
        await required.startup()
    assert str(caught.value) == (
        f"{SHOP}: config 'Limit': configurator.core does not answer, and these values have no "
        "other source; set them in config.yaml or config=, or pass configurator='optional'; the "
        "variable of Limit is SHOP_EXAMPLE_LIMIT"
    )


async def test_of_a_configurator_that_fails(make_nats, records):
    shop, core = make_nats(SHOP, deployment="LAB"), make_nats("configurator.core", deployment="LAB")
    shop.config("Limit", default="1")

    @core.endpoint("POST", ":888/values")
    def values():
        raise KeyError("lost")

    async with core:
        with pytest.raises(BusError):
            await shop.startup()
    [said] = [each for each in records() if "cannot be read" in each]
    assert said == f"{SHOP}: the configuration cannot be read: 500: KeyError: 'lost'"


def test_of_files_of_values(tmp_path, records):
    _config._warn_once.cache_clear()
    for name, text in (
        ("a", b"x: {\n"), ("b", b"\xff"), ("c", b"#" * (_config._MAX_SIZE + 1)),
    ):  # fmt: skip
        (tmp_path / name).mkdir()
        (tmp_path / name / "config.yaml").write_bytes(text)
    (tmp_path / "d" / "config.yaml").mkdir(parents=True)
    file = "{}/config.yaml".format
    for name, text in (
        ("a", "{}:1 is not read: not 'domain:' or '  name: value'"),
        ("b", "{} is not read: it is not UTF-8"),
        ("c", "{} is larger than 1048576 bytes and not read"),
        ("d", "{} is not read: it is not a regular file"),
    ):
        os.chdir(tmp_path / name)
        _config.read_config_files()
        assert records()[-1] == text.format(file(tmp_path / name))


async def test_of_a_login_by_variables(tmp_path, monkeypatch, records):
    server = NatsServer(tmp_path).start()
    monkeypatch.setenv("MICROBUS_NATS_USER", "u")
    monkeypatch.setenv("MICROBUS_NATS_PASSWORD", "p")
    shop = Connector(SHOP, plane="texts1", nats=server.url, deployment="LAB")
    async with shop:
        pass
    server.stop()
    assert records() == [
        f"{SHOP}: authentication with MICROBUS_NATS_USER, MICROBUS_NATS_TOKEN or "
        f"MICROBUS_NATS_USER_JWT is deprecated: use the file {SHOP}_nats.creds"
    ]


async def test_of_a_start_and_an_end(make_nats, broker, plane, caplog):
    caplog.set_level(logging.INFO, "subtrie")
    Path("env.yaml").write_text("MICROBUS_LOCALITY: west\n")
    Path("env.yaml").chmod(0o600)
    shop = make_nats(SHOP)
    shop.endpoint("GET", "/path")(lambda: "x")
    async with shop:
        pass
    file = Path.cwd() / "env.yaml"
    assert caplog.messages[0] == (
        f"{SHOP}: up as {shop.id}, on plane {plane}, {broker.url}, 1 endpoint, settings from {file}"
    )
