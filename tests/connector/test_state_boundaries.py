"""The state of a connector: keys, headers, steps of its loop, configuration; each choice alone."""

from __future__ import annotations

import asyncio
import json
import logging

import pytest

from patience import until
from subtrie import AddressError
from subtrie.connector import BusError, HTTPError, RateLimiter, Request, Response, _system
from subtrie.connector._actor import ISSUERS, _decoded, _keys_in, _object
from subtrie.connector._config import (
    Config,
    _warn_once,
    parse_config,
    read_config_files,
    value_of,
    variable_of,
)
from subtrie.connector._endpoint import Endpoint
from subtrie.connector._headers import Headers, canonical
from subtrie.connector._identity import (
    address_url,
    reply_address,
    request_address,
    return_subject,
    url_at,
)
from subtrie.connector._url import argument_without_value, at_instance, has_slot, parse_query

from .test_actor_tokens import (  # noqa: F401 - a fixture
    ACCESS,
    BEARER,
    encoded,
    service,
    status_of,
    verifier,
)

HOST, URL = "shop.example", "https://shop.example"
WEB = "web.example"


# --- actor tokens


@pytest.mark.parametrize(("after", "asked"), [(0.0, 1), (0.999, 1), (1.0, 2), (1.5, 2)])
async def test_keys_are_asked_for_again_after_a_second(service, monkeypatch, after, asked):  # noqa: F811
    checks, now = verifier(service), [1000.0]
    monkeypatch.setattr(_system, "monotonic", lambda: now[0])
    for _ in range(2):
        assert await status_of(checks, service.sign(header={"kid": "other"})) == 401
        now[0] += after
    assert len(service.asked) == asked
    service.host = BEARER
    assert await status_of(checks, service.sign()) != 401, "each issuer for itself"


async def test_the_first_keys_are_asked_for_whatever_the_clock_says(service, monkeypatch):  # noqa: F811
    monkeypatch.setattr(_system, "monotonic", lambda: 0.0)
    assert await status_of(verifier(service), service.sign()) != 401


def test_256_keys_of_an_issuer_are_kept():
    def key(number: int, **more: object) -> dict[str, object]:
        return {"kid": f"k{number}", "x": encoded(bytes([number % 256] * 32)), **more}

    assert len(_keys_in({"keys": [key(n) for n in range(257)]})) == 256
    assert _keys_in({"keys": [key(1)]}) == {"k1": bytes([1] * 32)}
    good = key(9)
    for bad in (
        key(1, crv="X25519"), key(1, kid=""), key(1, kid=7), key(1, x=None), key(1, x="AA"), 7,
        None, [], key(1, crv=None),
    ):  # fmt: skip
        assert list(_keys_in({"keys": [bad, good, bad]})) == ["k9"], bad
    assert list(_keys_in({"keys": [key(1, crv="Ed25519"), good]})) == ["k1", "k9"]
    for other in ({}, {"keys": None}, {"keys": {"k": 1}}, [], None, "keys"):
        assert _keys_in(other) == {}


@pytest.mark.parametrize("size", range(6))
def test_a_part_of_a_token_needs_no_padding(size):
    assert _decoded(encoded(b"x" * size)) == b"x" * size


@pytest.mark.parametrize(
    "text", [b"7", b"[]", b"null", b"", b"{", b'{"a":NaN}', b"\xff", b"[" * 9999]
)
def test_a_part_of_a_token_is_an_object_of_json(text):
    with pytest.raises(HTTPError, match="not a JWT") as refused:
        _object(text)
    assert refused.value.status == 401
    assert _object(b'{"a":1e999}')["a"] > 0


def test_a_token_of_another_issuer_is_not_issued_where_unsigned_ones_count(service):  # noqa: F811
    testing = verifier(service, allow_unsigned=lambda: True)
    assert not testing.issued(service.sign(iss="https://idp.example"))
    assert testing.issued(service.sign())


async def test_a_request_for_keys_ends_with_the_connector(make, service):  # noqa: F811
    begun = asyncio.Event()

    async def never() -> None:
        begun.set()
        await asyncio.Event().wait()

    tokens, shop = make(ACCESS), make("shop.example")
    tokens.endpoint("GET", ":888/jwks")(never)
    async with tokens:
        await shop.startup()
        asking = asyncio.create_task(status_of(shop._actors, service.sign()))
        await begun.wait()
        (task,) = shop._actors._fetching.values()
        await shop.shutdown(timeout=0)
        assert await asking == 401
        assert task.done()
        assert shop._actors._fetching == {}


def test_the_keys_are_asked_for_on_the_loop_that_runs(service):  # noqa: F811
    checks = verifier(service)

    async def never(url: str, timeout: float) -> tuple[str, object]:
        assert timeout == 5.0
        await asyncio.Event().wait()
        raise AssertionError

    async def begin() -> None:
        asking = asyncio.create_task(checks._request_keys(ACCESS))
        for _ in range(3):
            await asyncio.sleep(0)
        asking.cancel()

    checks._fetch = never
    loop = asyncio.new_event_loop()
    try:
        loop.run_until_complete(begin())
        checks._fetch = service.fetch
        checks._fetched.clear()
        assert asyncio.run(status_of(checks, service.sign())) != 401
    finally:
        for task in asyncio.all_tasks(loop):
            task.cancel()
        loop.run_until_complete(asyncio.sleep(0))
        loop.close()


@pytest.mark.parametrize("source", [ACCESS, BEARER, "evil.example"])
async def test_keys_from_another_host_are_told_in_the_log(service, caplog, source):  # noqa: F811
    service.answered_by = source
    checks = verifier(service, host=HOST)
    assert (await status_of(checks, service.sign()) != 401) is (source == ACCESS)
    told = f"{HOST}: keys of {ACCESS} came from {source} and are not used"
    assert (told in caplog.text) is (source != ACCESS)
    assert ISSUERS == ("access.token.core", "bearer.token.core")


# --- messages


@pytest.mark.parametrize(
    ("status", "raises"), [(200, False), (399, False), (400, True), (599, True)]
)
def test_a_status_from_400_on_is_raised_if_asked(status, raises):
    response = Response(status, "é" * 300)
    if not raises:
        assert response.raise_for_status() is response
        return
    with pytest.raises(HTTPError) as raised:
        response.raise_for_status()
    assert (raised.value.status, raised.value.message) == (status, "é" * 200)
    response.error = HTTPError("its own", status=418)
    with pytest.raises(HTTPError, match="its own"):
        response.raise_for_status()


def test_an_error_is_raised_whatever_the_status():
    response = Response(200)
    response.error = HTTPError("its own", status=418)
    with pytest.raises(HTTPError, match="its own"):
        response.raise_for_status()


def test_a_message_begins_empty():
    request, response = Request("GET", "x"), Response()
    assert (request.path, request.url_query, request.body, request.arguments) == ("/", "", b"", {})
    assert (request.source, request.attested, request.budget, request.actor) == (
        "",
        False,
        0.0,
        None,
    )
    assert (request.query, request.json(), dict(request.headers)) == ({}, None, {})
    assert repr(request) == "<Request GET x source=unverified>"
    assert (response.status, response.body, response.source, response.error) == (200, b"", "", None)
    assert (response.id, response.queue, response.locality, response.text) == ("", None, "", "")
    assert response.json() is None
    assert repr(response) == "<Response 200 source=unset, 0 bytes>"
    response.source = request.source = HOST
    assert "source=shop.example" in repr(request)
    assert "source=shop.example" in repr(response)


def test_a_body_that_is_not_json_blames_its_sender():
    for message, status in ((Request("POST", "x", body=b"{"), 400), (Response(200, b"{"), 502)):
        with pytest.raises(HTTPError, match="not valid JSON") as refused:
            message.json()
        assert refused.value.status == status
    assert Request("POST", "x", body=b"0").json() == 0
    assert Response(200, b"\xff").text == "�"


def test_a_response_has_headers_of_its_own():
    given = Headers({"X-A": "1"})
    assert Response(headers=given).headers is given
    assert dict(Response(headers={"x-a": "1"}).headers) == {"X-A": "1"}
    assert dict(Response(headers={}).headers) == {}
    named = Response(
        headers={"Microbus-Queue": "q", "Microbus-From-Id": "i", "Microbus-Locality": "l"}
    )
    assert (named.queue, named.id, named.locality) == ("q", "i", "l")


def test_a_query_is_read_once():
    request = Request("GET", "x", url_query="a=1&b=&a=2")
    assert request.query == {"a": ["1", "2"], "b": [""]}
    assert request.query is request.query


@pytest.mark.parametrize(
    ("accepted", "chosen"), [("de", "de"), ("fr", "en"), ("", "en"), (None, "en"), ("fr, de", "de")]
)
def test_the_language_is_one_that_is_offered(accepted, chosen):
    headers = None if accepted is None else Headers({"Accept-Language": accepted})
    assert Request("GET", "x", headers=headers).language("en", "de") == chosen
    with pytest.raises(TypeError):
        Request("GET", "x").language()


# --- headers and URLs


@pytest.mark.parametrize("copy", [Headers, Headers.copy])
def test_headers_that_are_made_of_others_are_independent_of_them(copy):
    one = Headers({"X-A": "1"})
    two = copy(one)
    two["X-B"] = "2"
    two.add("X-A", "3")
    assert list(one.pairs()) == [("X-A", "1")]
    assert list(two.pairs()) == [("X-A", "1"), ("X-A", "3"), ("X-B", "2")]
    del two["X-A"]
    assert one["X-A"] == "1"


def test_headers_are_equal_if_all_are():
    one = Headers({"A": "1", "B": "2"})
    assert one == Headers([("b", "2"), ("a", "1")])
    for other in (
        Headers({"A": "1"}),
        Headers({"A": "1", "B": "3"}),
        Headers(),
        {"A": "1", "B": "2"},
    ):
        assert one != other
        assert other != one
    copy = one.copy()
    copy["A"] = "7"
    assert (one["A"], len(one), list(one), "a" in one, "c" in one, 7 in one) == (
        "1", 2, ["A", "B"], True, False, False,
    )  # fmt: skip
    assert repr(one) == "Headers([('A', '1'), ('B', '2')])"


@pytest.mark.parametrize(
    ("value", "reason", "offset"),
    [("\ud800", "surrogate", None), ("\x01\ud800", "surrogate", None), ("a\r", "header-value", 1),
     ("é\n", "header-value", 2), ("\x7f", "header-value", 0), ("é\x1f", "header-value", 2)],
)  # fmt: skip
def test_a_value_that_ends_its_line_is_refused_with_its_place(value, reason, offset):
    with pytest.raises(BusError) as refused:
        Headers({"X": value})
    assert refused.value.reason == reason
    if offset is not None:
        assert refused.value.position == offset
    assert Headers({"X": " \té\tb\t "})["X"] == "é\tb"
    with pytest.raises(TypeError):
        Headers({"X": 7})


@pytest.mark.parametrize(
    ("name", "written"),
    [("x", "X"), ("MICROBUS-OP-code", "Microbus-Op-Code"), ("a--b", "A--B"), ("x_y", "X_y"),
     ("", None), ("a b", None), ("a:", None), ("é", None)],
)  # fmt: skip
def test_a_name_in_canonical_form(name, written):
    if written is None:
        with pytest.raises(BusError):
            canonical(name)
    else:
        assert canonical(name) == written


@pytest.mark.parametrize(
    ("url", "params", "missing"),
    [("/{a}/{b}", {"a": 1}, "{b}"), ("/{a}/{b}", {"b": 1}, "{a}"), ("/{}/{}", {"path1": 1}, "{}"),
     ("/{}/{}", {"path2": 1}, "{}"), ("/{}/{}", {"path1": 1, "path2": 2}, ""),
     ("/{a}/{}", {"a": 1, "path1": 1}, "{}"), ("/{a}/{}", {"a": 1, "path2": 1}, ""),
     ("/{a}", {"a": None}, "{a}"), ("/{a}", {"a": []}, "{a}"), ("/{a}", {"a": 0}, ""),
     ("/{a}", None, "{a}"), ("/{a}?a=1", None, ""), ("/{a}?b=1", None, "{a}"),
     ("/{a}#?a=1", None, "{a}"), ("/{a}", [("a", "")], ""), ("/{a...}", {"a": "x"}, "")],
)  # fmt: skip
def test_the_first_argument_without_a_value(url, params, missing):
    assert argument_without_value(f"https://h{url}", params) == missing


def test_a_host_with_a_slot():
    for host in ("id-1.h", "ID-1.h", "loc-us.h", "LOC-us.h", "id-", "loc-"):
        assert has_slot(host)
    for host in ("", "id", "loc", "xid-1", "lo-c", "idx-1.h"):
        assert not has_slot(host)
    assert at_instance("https://h/", "id-a1") == "https://id-a1.h/"
    for url, instance in (
        ("https://id-1.h/", "id-2"),
        ("https://h/", "a"),
        ("https://h/", "id-a.b"),
    ):
        with pytest.raises(AddressError):
            at_instance(url, instance)
    assert parse_query("") == {}
    assert parse_query("a=1&a=&b") == {"a": ["1", ""], "b": [""]}


def test_a_subject_without_an_address():
    for subject in ("", "p.safe.443.web_example.shop_example._.GET", "p.reply._.a.b.id-1", "\x00"):
        assert request_address(subject) is None
    for subject in ("", "p.safe.443.web_example.shop_example._.GET.a", "p.reply._.a.b"):
        assert reply_address(subject) is None
    assert return_subject("p", HOST, WEB, "not valid") is None
    address = request_address("p.safe.444.web_example.shop_example._.GET._")
    assert address_url(address, "") == "https://shop.example:444/"
    assert address_url(address, "a=1") == "https://shop.example:444/?a=1"
    for host in ("shop.example", "shop_example", "id-1.shop.example", "loc-us.shop_example"):
        assert url_at(address, f"https://{host}:444/x?y", "a=1") == f"https://{host}:444/x?y"
    for other in ("web.example:444", "shop.example:443", "id-.shop.example:444", "shop.example"):
        assert url_at(address, f"https://{other}/x?y", "a=1") == "https://shop.example:444/?a=1"


# --- rates


def test_tokens_come_back_at_the_rate_and_no_more_than_the_burst():
    now = [100.0]
    limiter = RateLimiter(2, burst=3, clock=lambda: now[0])
    assert [limiter.admit("a") for _ in range(4)] == [0.0, 0.0, 0.0, 0.5]
    assert limiter.admit("b") == 0.0, "each source has its own"
    now[0] += 0.25
    assert limiter.admit("a") == 0.25
    now[0] -= 50.0  # a clock that goes back gives nothing, and takes nothing
    assert limiter.admit("a") == 0.25
    now[0] += 0.25
    assert limiter.admit("a") == 0.0
    now[0] += 1000.0
    assert [limiter.admit("a") for _ in range(4)] == [0.0, 0.0, 0.0, 0.5]


@pytest.mark.parametrize(
    ("rate", "burst", "valid"),
    [(0, None, False), (-1, None, False), (0.1, None, True), (5, 0.99, False), (5, 1, True),
     (0.5, 0.5, False), (float("nan"), None, False), (0, 5, False)],
)  # fmt: skip
def test_a_limiter_admits_something(rate, burst, valid):
    if valid:
        assert RateLimiter(rate, burst=burst).admit("a") == 0.0
    else:
        with pytest.raises(ValueError, match="above 0 and the burst at least 1"):
            RateLimiter(rate, burst=burst)


# --- configuration


def test_the_most_specific_domain_has_the_value():
    values = {"all": dict.fromkeys("ABCD", "1"), "example": dict.fromkeys("ABC", "2"),
              "shop.example": {"A": "3", "B": "3"}, "eu.shop.example": {"A": "4"}}  # fmt: skip
    found = [value_of(values, "EU.shop.example", name) for name in "ABCDE"]
    assert found == ["4", "3", "2", "1", None]
    assert value_of({}, HOST, "A") is None
    assert variable_of("eu-1.shop.example", "Max-Size") == "EU_1_SHOP_EXAMPLE_MAX_SIZE"


@pytest.mark.parametrize(
    ("line", "value"),
    [("  A: 7", "7"), ("  A:   7   ", "7"), ("  A: 7 # note", "7"), ("  A: a#b", "a#b"),
     ("  A:", ""),
     ('  "A": 7', "7"), ("  'A': 7", "7"), ('  A: "7"  # note', "7"), ('  "A" : "x:y"', "x:y"),
     ("  A: 'x'", "x"), (" A: 7", "7"), ("\tA: 7", None), ("  A:7", None), ("  - A: 7", None),
     ("  A: [7]", None), ("  A: {a: 7}", None), ("  A: |", None), ("  A: &x 7", None)],
)  # fmt: skip
def test_a_line_of_a_configuration_file(line, value):
    text = f"# note\n---\n\n Shop.Example : \n{line}\n".replace("\n Shop", "\nShop")
    values = parse_config(text, "some.yaml")
    assert values[HOST].get("A") == value
    if value is not None:
        assert values[HOST]["A"].place == "some.yaml:5"


def test_a_value_before_any_domain_does_not_count():
    assert parse_config("  A: 7\nb:\n  A: 8\nb:\n  C: 9\n") == {"b": {"A": "8", "C": "9"}}


def test_a_warning_about_a_file_is_given_once(caplog):
    for _ in range(2):
        _warn_once("%s is as it is", "some file of this test")
    assert caplog.text.count("some file of this test is as it is") == 1


def test_a_value_that_cannot_be_parsed_leaves_the_old_one():
    value = Config("Limit", 7, int)
    value.take("8")
    with pytest.raises(ValueError, match="invalid literal"):
        value.take("x")
    assert (value.get(), repr(value)) == (8, "Config('Limit')")
    value.take(None)
    assert value.get() == 7


async def test_a_value_is_that_of_the_nearest_source(make_memory, monkeypatch, tmp_path, caplog):
    (tmp_path / "config.yaml").write_text("shop.example:\n  A: file\n  B: file\n  C: file\n")
    monkeypatch.setenv("SHOP_EXAMPLE_B", "variable")
    monkeypatch.setenv("SHOP_EXAMPLE_C", "variable")
    shop = make_memory(HOST, config={"C": "given"})
    values = {name: shop.config(name, default="default") for name in "ABCD"}
    core = make_memory("configurator.core")
    asked = []

    @core.endpoint("POST", "//configurator.core:888/values")
    def answer(request: Request) -> dict[str, object]:
        asked.append(json.loads(request.body))
        return {"values": {"A": "told", "C": "told", "D": "told", "E": "told"}}

    async with shop:
        assert [each.get() for each in values.values()] == ["file", "variable", "given", "default"]
        places = {name: text.place for name, text in shop._configuration._local().items()}
        assert places["B"] == "SHOP_EXAMPLE_B"
        assert places["C"] == "config="
        assert places["A"].endswith("config.yaml:2")
        assert "D" not in places
    async with core, shop:
        assert [each.get() for each in values.values()] == ["told", "variable", "given", "told"]
        assert asked == [{"names": ["A", "B", "C", "D"]}]


# --- the loop of a connector


async def test_64_steps_are_taken_before_other_work_has_its_turn(make_memory):
    async with make_memory(HOST) as shop:
        await until(lambda: not shop._runtime._background)
        loop, taken = asyncio.get_running_loop(), []
        for number in range(130):
            shop._runtime.hand_over(taken.append, number)
        loop.call_soon(lambda: taken.append("other"))
        await until(lambda: len(taken) == 131)
        assert taken.index("other") == 64
        assert [each for each in taken if each != "other"] == list(range(130))


async def test_a_step_that_fails_is_logged_and_the_next_is_taken(make_memory, caplog):
    async with make_memory(HOST) as shop:
        taken: list[int] = []
        shop._runtime.hand_over(lambda: 1 / 0)
        shop._runtime.hand_over(taken.append, 1)
        await until(lambda: taken)
        assert f"{HOST}: a received message could not be processed" in caplog.text
        take = shop._runtime.hand_over_all(taken.append, [(2,), (3,)])
        assert taken == [1]
        take()
        assert taken == [1, 2, 3]
        assert shop._runtime._waker is None


async def test_steps_from_a_thread_and_from_another_loop_are_taken(make_memory):
    async with make_memory(HOST) as shop:
        await until(lambda: not shop._runtime._background)
        runtime, taken = shop._runtime, []

        async def several() -> None:
            for number in range(3):
                runtime.hand_over(taken.append, number)
            assert runtime._waker is asyncio.get_running_loop()
            await asyncio.sleep(0)

        await asyncio.to_thread(asyncio.run, several())
        await until(lambda: taken == [0, 1, 2])
        await asyncio.to_thread(runtime.hand_over, taken.append, 3)
        await until(lambda: len(taken) == 4)
        assert await asyncio.to_thread(runtime.hand_over_all, taken.append, [(4,)]) is None
        await until(lambda: len(taken) == 5)
    runtime.hand_over(taken.append, 6)
    runtime.run_on_loop(taken.append, 7)
    await asyncio.sleep(0)
    assert taken == [0, 1, 2, 3, 4]


async def test_who_sends_stands_in_the_headers_of_each_kind(make_memory):
    shop = make_memory(HOST, locality="us-west", version=3)
    async with shop:
        for op, queue, more in (
            ("Req", None, {"Microbus-From-Version": ["3"]}),
            ("Ack", None, {"Microbus-Locality": ["us-west"]}),
            ("Res", "q", {"Microbus-From-Version": ["3"], "Microbus-Queue": ["q"],
                          "Microbus-Locality": ["us-west"]}),
            ("Err", "", {"Microbus-From-Version": ["3"], "Microbus-Queue": [""],
                         "Microbus-Locality": ["us-west"]}),
        ):  # fmt: skip
            wanted = {
                "Microbus-Op-Code": [op], "Microbus-From-Host": [HOST],
                "Microbus-From-Id": [shop.id], **more,
            }  # fmt: skip
            assert shop._runtime.sender_headers(op, queue) == wanted
            assert shop._runtime.sender_headers(op, queue) is shop._runtime.sender_headers(
                op, queue
            )
    shop._runtime.version, shop._runtime.locality = 0, ""
    shop._runtime._sender_headers.clear()
    assert len(shop._runtime.sender_headers("Res")) == 3


async def test_work_of_a_connector_that_has_stopped_does_not_begin(make_memory, caplog):
    shop, ran = make_memory(HOST), []

    async def work(fails: bool) -> None:
        ran.append(fails)
        if fails:
            raise ValueError("of the work")

    shop._runtime.spawn(work(False))
    async with shop:
        await until(lambda: not shop._runtime._background)
        shop._runtime.spawn(work(True))
        await until(lambda: ran and not shop._runtime._background)
    shop._runtime.spawn(work(False))
    await asyncio.sleep(0)
    assert ran == [True]
    assert f"{HOST}: ValueError('of the work')" in caplog.text


# --- the control plane


async def test_a_description_is_made_again_when_the_routes_change(make_memory):
    async with make_memory(HOST) as shop:
        control = shop._lifecycle._control
        first = control._description(None)
        assert control._description(None) is first
        await shop.subscribe("GET", "/new", lambda: None)
        second = control._description(None)
        assert b"/new" in second
        assert b"/new" not in first
        assert control._description(None) is second
        assert control._description({}) is not second
        await shop.endpoints[0].unsubscribe()
        await shop.subscribe("GET", "/newer", lambda: None)
        third = control._description(None)
        assert b'/newer"' in third
        assert b'/new"' not in third


async def test_the_control_plane_answers_as_it_should(make_memory, monkeypatch):
    shop, web = make_memory(HOST), make_memory(WEB)
    async with shop, web:
        for path, kind in (
            ("ping", "application/json"), ("config-refresh", "application/json"),
            ("metrics", "text/plain; version=0.0.4"), ("trace", "application/json"),
            ("trace?id=xyz", "application/json"), ("on-new-subs", "application/json"),
            ("openapi.json", "application/json"),
        ):  # fmt: skip
            answer = await web.request("GET", f"https://{HOST}:888/{path}")
            assert (answer.status, answer.headers["Content-Type"]) == (200, kind), path
        for body in ({"hosts": [7, None, HOST]}, {"hosts": HOST}, {"hosts": None}, [], 7, None):
            answer = await web.request("POST", f"https://{HOST}:888/on-new-subs", json=body)
            assert answer.body == b"{}"
        monkeypatch.setitem(__import__("sys").modules, "prometheus_client", None)
        answer = await web.request("GET", f"https://{HOST}:888/metrics")
        assert (answer.status, answer.body) == (501, b"")


# --- endpoints


@pytest.mark.parametrize(
    ("queue", "reason", "position"),
    [("", "queue-empty", None), ("a b", "queue-whitespace", 1), ("éa*", "queue-wildcard", 3),
     ("ab>", "queue-wildcard", 2), ("a/b", "queue-character", 1), ("é", "queue-character", 0),
     ("a*b c", "queue-whitespace", 3)],
)  # fmt: skip
def test_a_queue_name_is_refused_with_its_place(make_memory, queue, reason, position):
    shop = make_memory(HOST)
    with pytest.raises(BusError) as refused:
        Endpoint(shop._runtime, "GET", "/", lambda: None, queue=queue)
    assert refused.value.reason == reason
    if position is not None:
        assert refused.value.position == position
    for fine in ("A.z-0_9", None, "x"):
        assert Endpoint(shop._runtime, "GET", "/", lambda: None, queue=fine).queue == fine
    assert Endpoint(shop._runtime, "GET", "/", lambda: None).queue == HOST


def test_an_endpoint_tells_what_it_serves(make_memory):
    shop = make_memory(HOST)
    endpoint = Endpoint(shop._runtime, "get", ":417/a/{b}/{c...}", lambda request: None)
    assert endpoint.served == ("GET", HOST, 417, "/a/{}/{...}", HOST)
    assert endpoint.path_arguments == [(2, "b", False), (3, "c", True)]
    assert (endpoint.kind, endpoint.active, endpoint.control) == ("inboundevent", False, False)
    assert endpoint.task_name == "GET shop.example:417/a/{b}/{c...}"
    assert Endpoint(shop._runtime, "GET", "/{}/x/{}", lambda request: None).path_arguments == [
        (1, "path1", False), (3, "path2", False),
    ]  # fmt: skip
    assert repr(endpoint) == "<Endpoint GET :417/a/{b}/{c...} of shop.example>"
    with pytest.raises(TypeError, match="callable"):
        Endpoint(shop._runtime, "GET", "/", 7)


async def test_a_log_of_the_start_counts_the_endpoints(make_memory, caplog):
    caplog.set_level(logging.INFO, "subtrie.connector")
    for count, text in ((0, "0 endpoints"), (1, "1 endpoint"), (2, "2 endpoints")):
        shop = make_memory(HOST)
        for number in range(count):
            shop.endpoint("GET", f"/{number}")(lambda: None)
        caplog.clear()
        async with shop:
            pass
        started = [r.getMessage() for r in caplog.records if " up as " in r.getMessage()]
        assert len(started) == 1
        assert started[0].split(", ")[-1] == text
        assert "no broker: only this process is reached" in started[0]


@pytest.mark.parametrize(("port", "kind"), [(416, "function"), (417, "inboundevent"),
                                            (418, "function"), (443, "function")])  # fmt: skip
def test_port_417_is_that_of_events(make_memory, port, kind):
    shop = make_memory(HOST)

    @shop.endpoint("POST", f":{port}/x")
    def add(x: int) -> int:
        return x

    assert shop.endpoints[-1].kind == kind


@pytest.mark.parametrize(("more", "value"), [(0, "x"), (1, "")])
def test_a_configuration_file_has_one_mebibyte(tmp_path, monkeypatch, more, value):
    monkeypatch.chdir(tmp_path)
    text = b"shop.example:\n  A: x\n".ljust((1 << 20) + more, b"#")
    (tmp_path / "config.yaml").write_bytes(text)
    assert read_config_files(tmp_path).get("shop.example", {}).get("A", "") == value
