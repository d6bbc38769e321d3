"""The whole text of an error, with values that all differ from one another."""

from __future__ import annotations

import dataclasses
import os
from dataclasses import dataclass
from datetime import datetime, timedelta
from pathlib import Path
from typing import Any

import nkeys
import pytest

from subtrie import BusError, HostnameCollision
from subtrie.connector import (
    AckTimeout,
    Client,
    Connector,
    HTTPError,
    RequestTimeout,
    _env_files,
    ingress,
)
from subtrie.connector._fragments import Reassembler

from .test_credentials import _jwt, _pair

SHOP, WEB = "shop.example", "web.example"


def _said(call, *arguments, **more):
    with pytest.raises((BusError, ValueError, TypeError, AttributeError)) as caught:
        call(*arguments, **more)
    return str(caught.value)


@pytest.mark.parametrize(("begins", "ends", "text"), [
    ("2001-02-03 04:05:06", "2002-03-04 05:06:07", "expired at 2002-03-04 05:06:07 UTC"),
    ("2101-02-03 04:05:06", "2102-03-04 05:06:07", "is valid from 2101-02-03 04:05:06 UTC"),
])  # fmt: skip
async def test_of_the_times_of_creds(begins, ends, text, tmp_path):
    account, user = _pair(nkeys.PREFIX_BYTE_ACCOUNT), _pair(nkeys.PREFIX_BYTE_USER)
    moments = [int(datetime.fromisoformat(f"{each}+00:00").timestamp()) for each in (begins, ends)]
    token = _jwt(account, user, SHOP, {"type": "user"}, nbf=moments[0], exp=moments[1])
    path = tmp_path / "own.creds"
    path.write_text(
        f"-----BEGIN NATS USER JWT-----\n{token}\n------END NATS USER JWT------\n\n"
        f"-----BEGIN USER NKEY SEED-----\n{user.seed.decode()}\n------END USER NKEY SEED------\n"
    )
    path.chmod(0o600)
    shop = Connector(SHOP, plane="texts2", nats="nats://127.0.0.1:9", creds=path)
    with pytest.raises(BusError) as caught:
        await shop.startup()
    assert str(caught.value).endswith(f"; {path} {text}")


def test_of_hosts_that_collide(make_memory):
    shop = make_memory("a.b.c")
    with pytest.raises(HostnameCollision) as caught:
        shop.endpoint("GET", "//a_b.c/path")(lambda: "x")
    assert str(caught.value) == (
        "host 'a_b.c' collides with 'a.b.c': both become the token 'a_b_c'"
    )


def test_of_a_transfer_that_is_late():
    told = []
    assembly: Reassembler[Any] = Reassembler(max_body=10, max_fragments=4, silence=1.0)
    key = (WEB, "id-9", "AAAAAAAA")
    assembly.begin(key, 3, now=0, ends=9, given_up=told.append)
    assembly.add(key, 2, 3, dataclasses.make_dataclass("Part", [("body", bytes)])(b"x"), now=0)
    assert assembly.overdue(2.0) == [key]
    assert [str(each) for each in told] == [
        str(RequestTimeout(f"timeout: 1 of 3 fragments arrived from {WEB} (id-9)"))
    ]
    with pytest.raises(HTTPError) as caught:
        assembly.begin(key, 7, now=0, ends=9)
    assert str(caught.value) == "413: 7 fragments exceed the limit of 4"


@pytest.mark.skipif(os.name != "posix", reason="modes are of POSIX")
def test_of_files_of_variables(caplog, monkeypatch):
    monkeypatch.setattr(_env_files, "_skipped", set())
    path = Path.cwd() / "env.yaml"
    long = b"#" * (_env_files._MAX_SIZE + 1)
    for make, text in (
        (lambda: os.mkfifo(path), "it is not a regular file"),
        (
            lambda: path.write_bytes(long),
            "it is larger than 1048576 bytes",
        ),
    ):
        make()
        _env_files._skipped.clear()
        _env_files.read_env_files()
        path.unlink()
        assert caplog.messages[-1] == f"{path} is not read: {text}"


def _front(**options):
    return lambda: ingress(Connector(WEB), **options)


ERRORS = {
    "configurator is 'required' or 'optional', not 'x'": lambda: Connector(SHOP, configurator="x"),
    "on() takes an Event, not str": lambda: Connector(SHOP).on("x"),
    "the handler must be callable, not int": lambda: Connector(SHOP).endpoint("GET", "/x")(7),
    "the status of an error is 200 to 999, not 7": lambda: HTTPError("x", status=7),
    "max_at_work must be at least 1, not 0": lambda: Connector(SHOP, max_at_work=0),
    "deployment must be one of PROD, LAB, LOCAL, TESTING, not 'X'": (
        lambda: Connector(SHOP, deployment="x")
    ),
    "the interval of a ticker must be above 0, not -3": lambda: Connector(SHOP).every(-3)(print),
    "ports are numbers from 1 to 65535, not [70000]": lambda: ingress(
        Connector(WEB), ports=[70000]
    ),
    "the timeout is a number of seconds above 0, not -2": lambda: ingress(
        Connector(WEB), timeout=-2
    ),
    "origins is a list of texts, not 'x'": _front(origins="x"),
    "an origin is 'https://shop.example' or '*', not 'x'": lambda: ingress(
        Connector(WEB), origins=["x"]
    ),
}


@pytest.mark.parametrize("text", ERRORS)
def test_of_a_wrong_argument(text):
    assert _said(ERRORS[text]) == text


async def test_of_a_client_and_its_functions():
    client = Client(SHOP)
    assert _said(lambda: client.other) == f"the client of {SHOP} declares no function 'other'"

    async def at() -> int: ...

    async def order(number: int) -> int: ...

    assert _said(client.call("GET", "/at"), at) == "a client has a method 'at': rename the function"
    with pytest.raises(TypeError) as caught:
        await client.call("GET", "/order")(order)(7, 8)
    assert str(caught.value) == (
        "the first argument of order is the connector that sends the request, not int: "
        "order(connector, …)"
    )


def test_of_metrics_of_a_service(make_memory):
    metrics = make_memory(SHOP).metrics
    counter, histogram = metrics.counter("a"), metrics.histogram("b")
    assert _said(counter.add, -2) == "a counter cannot have -2 added"
    assert _said(histogram.add, 3) == "a histogram cannot have 3 added"
    assert _said(counter.set, 3) == "a counter cannot be set"
    assert _said(counter.observe, 3) == "a counter has no observations"


def test_of_a_folder_that_is_not_there(make_memory):
    assert _said(make_memory(SHOP).static, "/assets/{name...}", "there") == (
        f"'there' is not a folder, in {Path.cwd()}"
    )


@dataclass
class Order:
    item: str
    pieces: int = 1


async def test_of_a_request_that_does_not_fit(pair):
    shop, web = pair

    @shop.endpoint("POST", "/order")
    def order(first: Order, second: int = 0) -> None: ...

    @shop.endpoint("GET", "/naive")
    def naive() -> datetime:
        return datetime(2026, 1, 2)

    @shop.endpoint("GET", "/long")
    def long() -> timedelta:
        return timedelta(days=200_000)

    @shop.endpoint("GET", "/object")
    def strange():
        return object()

    said = {}
    async with shop, web:
        for path, body in (
            ("order", b"[1, 2]"), ("order", b'{"item": "tea"}'), ("naive", None), ("long", None),
            ("object", None),
        ):  # fmt: skip
            verb = "GET" if body is None else "POST"
            headers = {"Content-Type": "application/json"}
            with pytest.raises(HTTPError) as caught:
                await web.request(verb, f"https://{SHOP}/{path}", body=body, headers=headers)
            said[path, body] = caught.value.message
        with pytest.raises(AckTimeout) as caught:
            await web.request("GET", "https://other.example/path?q=1", timeout=0.2)
    shape = '{"first": …, "second": …}'
    assert said == {
        ("order", b"[1, 2]"): f"the body is a list of 2, not an object of the arguments: {shape}",
        ("order", b'{"item": "tea"}'): (
            "the body is an object with \"item\", the members of the argument 'first' itself; "
            f"arguments travel by name: {shape}. A parameter http_request_body takes the whole body"
        ),
        ("naive", None): (
            "the time 2026-01-02 00:00:00 has no zone; make it with datetime.now(timezone.utc)"
        ),
        ("long", None): "the duration 200000 days, 0:00:00 is longer than 292 years",
        ("object", None): (
            "object cannot be represented in JSON; return a dict, a dataclass or a Response"
        ),
    }
    assert str(caught.value) == (
        "404: ack timeout: https://other.example:443/path; there is no broker, so only this "
        "process is reached"
    )
    assert caught.value.hint == (
        f"is the service running, on the plane {web.plane}? Set MICROBUS_NATS to reach others"
    )


BODIES = [
    ("item", b"[1]", "the response is a list of 1, not an object with 'item'"),
    ("order", b'{"item": "tea"}', "the response is an object with \"item\", the members of the "
     "result itself, not an object with 'order'; declare the call without result="),
    (None, b'{"order": {"item": "tea"}}', "the response is an object with 'order', which has the "
     "declared members; declare the call with result='order', or a result with a member 'order'"),
]  # fmt: skip


@pytest.mark.parametrize(("result", "body", "text"), BODIES)
async def test_of_a_response_that_does_not_fit(result, body, text, pair):
    shop, web = pair
    shop.endpoint("GET", "/order")(lambda: body)
    client = Client(SHOP)
    options = {} if result is None else {"result": result}

    @client.call("GET", "/order", **options)
    async def order() -> Order: ...

    async with shop, web:
        with pytest.raises(HTTPError) as caught:
            await order(web)
    assert caught.value.message == text
