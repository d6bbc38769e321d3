"""A request on its way through client and server: each limit and choice at either side."""

from __future__ import annotations

import asyncio
import warnings

import pytest

from patience import until
from subtrie import AddressError, InvalidInput
from subtrie._core import control_headers
from subtrie.connector import (
    AckTimeout,
    BusError,
    CallDepthExceeded,
    Connector,
    FixedIds,
    HTTPError,
    Request,
    RequestTimeout,
    Response,
    _actor,
    _client,
    _codec,
    _config,
    _lifecycle,
    _runner,
    _runtime,
    _server,
    _system,
)
from subtrie.connector._endpoint import Endpoint
from subtrie.connector._envelope import RequestEnvelope, current_request
from subtrie.connector._headers import Headers
from subtrie.connector._limits import check_head, oversized, too_long
from subtrie.connector._runner import MAX_CONTROL, MAX_CONTROL_BYTES

HOST, URL = "shop.example", "https://shop.example"
WEB = "web.example"


def test_the_times_and_counts_of_a_connector():
    assert (_actor._REFETCH, _actor._FETCH_LIMIT) == (1.0, 5.0)
    assert (_actor._MOST_KEYS, _actor._REMEMBERED) == (256, 1024)
    assert (_client.MAX_DEPTH, _client._YIELD_EVERY) == (64, 64)
    assert (_config.REFRESH_PAUSE, _config._LONGEST_LINE) == (0.1, 4096)
    assert (_lifecycle._STARTUP_LIMIT, _lifecycle._SHUTDOWN_LIMIT) == (120.0, 24.0)
    assert (_lifecycle._FIRST_WAIT, _lifecycle._LONGEST_WAIT) == (0.25, 5.0)
    assert _lifecycle._OFFLOAD_LIMIT == 4.0
    assert (MAX_CONTROL, MAX_CONTROL_BYTES, _runner.MOST_BODIES) == (256, 16 << 20, 4)
    assert (_runtime._AT_ONCE, _server._AT_ONCE) == (64, 256)
    assert (_server._READ_LIMIT, _server._HAND_OVER_LIMIT) == (2.0, 1.0)
    assert (_server._LONGEST_HOLD, _server._LONGEST_ID) == (0.05, 128)


# --- a request is built


@pytest.fixture
def still(monkeypatch):
    """Return a function that stops the clock of the running loop, and returns its time."""

    def stop() -> float:
        loop = asyncio.get_running_loop()
        now = loop.time()
        monkeypatch.setattr(loop, "time", lambda: now)
        return now

    return stop


def within(left: float, depth: int, now: float, **headers: str) -> RequestEnvelope:
    """Be in the handler of a request that has so many seconds left."""
    given = Headers({name.replace("_", "-"): text for name, text in headers.items()}).lists
    request = RequestEnvelope("GET", URL, "/", "", b"", given, depth=depth)
    request.deadline = now + left
    current_request.set(request)
    return request


def built(client: Connector, url: str = f"{URL}/", **more) -> RequestEnvelope:
    names = ("params", "json", "body", "headers", "timeout")
    return client._client._build("get", url, *(more.get(name) for name in names))[0]


@pytest.mark.parametrize(
    ("left", "timeout", "budget"),
    [
        (0.5, None, None), (0.4, None, None), (0.625, None, 0.625), (0.625, 0.5, 0.5),
        (0.625, 0.625, 0.625), (0.625, 1, 0.625), (30, None, 30), (30, 25, 25), (950, None, 900),
        (900, None, 900), (899, 901, 899), (950, 901, 900), (0.5, 0.25, None), (-1, None, None),
    ],
)  # fmt: skip
async def test_a_call_of_a_handler_has_what_is_left_above_a_round_trip(
    make_memory, still, left, timeout, budget
):
    async with make_memory(WEB, round_trip=0.5) as web:
        within(left, 1, still())
        if budget is None:
            with pytest.raises(RequestTimeout):
                built(web, timeout=timeout)
        else:
            assert built(web, timeout=timeout).budget == pytest.approx(budget, abs=1e-6)


@pytest.mark.parametrize(
    ("timeout", "budget"),
    [(None, 20), (0.001, 0.001), (21, 21), (900, 900), (900.5, 900), (0, None), (-0.1, None)],
)
async def test_a_call_of_no_handler_has_its_own_time(make_memory, timeout, budget):
    async with make_memory(WEB, round_trip=0.5) as web:
        if budget is None:
            with pytest.raises(RequestTimeout):
                built(web, timeout=timeout)
        else:
            request = built(web, timeout=timeout)
            assert (request.budget, request.depth, request.method) == (budget, 1, "GET")
        for wrong in (True, "1", object()):
            with pytest.raises(InvalidInput):
                built(web, timeout=wrong)


@pytest.mark.parametrize(("depth", "made"), [(0, 1), (1, 2), (63, 64), (64, None), (65, None)])
async def test_a_call_is_one_deeper_than_its_handler_and_at_most_the_64th(make_memory, depth, made):
    async with make_memory(WEB) as web:
        within(60, depth, asyncio.get_running_loop().time())
        if made is None:
            with pytest.raises(CallDepthExceeded):
                built(web)
        else:
            assert built(web).depth == made


async def test_the_body_decides_the_type_and_the_headers_of_the_handler_go_along(make_memory):
    forwarded = {"Microbus-Baggage-A": ["1"], "Accept-Language": ["de"]}
    async with make_memory(WEB) as web:
        for inside in (False, True):
            kept = forwarded if inside else {}
            if inside:
                now = asyncio.get_running_loop().time()
                within(60, 1, now, Microbus_Baggage_A="1", Accept_Language="de", X_Own="no")
            for more, kind, body in (
                ({}, None, b""),
                ({"body": b"x"}, None, b"x"),
                ({"body": bytearray(b"x")}, None, b"x"),
                ({"body": "é"}, "text/plain; charset=utf-8", "é".encode()),
                ({"json": {"a": 1}}, "application/json", b'{"a":1}'),
                ({"json": 0}, "application/json", b"0"),
                ({"json": ""}, "application/json", b'""'),
            ):
                request = built(web, **more)
                types = {} if kind is None else {"Content-Type": [kind]}
                assert (request.given, request.body) == (kept | types, body)
                own = built(web, headers={"Content-Type": "a/b", "X-A": "1"}, **more)
                assert own.given == kept | {"Content-Type": ["a/b"], "X-A": ["1"]}
        with pytest.raises(InvalidInput, match="body"):
            built(web, json=1, body=b"")
    assert (_client._CONTENT_JSON, _client._NO_HEADERS) == (
        {"Content-Type": ["application/json"]}, {},
    )  # fmt: skip


async def test_what_the_connector_writes_is_not_taken_from_the_caller(make_memory):
    names = [*sorted(control_headers.CONTROL), "Host", "Content-Length"]
    async with make_memory(WEB) as web:
        given = built(web, headers={**dict.fromkeys(names, "x"), "X-Host": "kept"}).given
        assert given == {"X-Host": ["kept"]}
        headers = Headers([("X", "1"), ("X", "2"), ("Host", "y")])
        assert built(web, headers=headers).given == {"X": ["1", "2"]}
        assert headers.all("Host") == ["y"]


@pytest.mark.parametrize(("inside", "more"), [(False, {"headers": {"X": "1"}}), (True, {})])
async def test_a_url_that_is_too_long_with_what_goes_along_is_431(make_memory, inside, more):
    free = 65_536 - 2048 - len("https://shop.example:443/?q=")
    async with make_memory(WEB) as web:
        if inside:
            within(60, 1, asyncio.get_running_loop().time(), Microbus_Baggage_A="1" * 1000)
            free -= len("Microbus-Baggage-A: \r\n") + 1000
        else:
            free -= len("X: 1\r\n")
        built(web, f"{URL}/?q={'y' * free}", **more)
        with pytest.raises(HTTPError) as refused:
            built(web, f"{URL}/?q={'y' * (free + 1)}", **more)
        assert refused.value.status == 431


async def test_a_long_url_alone_is_431_as_well(make_memory):
    free = 65_536 - 2048 - len("https://shop.example:443/?q=")
    async with make_memory(WEB) as web:
        built(web, f"{URL}/?q={'y' * free}")
        with pytest.raises(HTTPError, match="head of the request") as refused:
            built(web, f"{URL}/?q={'y' * (free + 1)}")
        assert refused.value.status == 431


@pytest.mark.parametrize(("port", "warned"), [("0", True), ("00", None), ("1", False), ("", False)])
async def test_port_0_alone_warns(make_memory, port, warned):
    async with make_memory(WEB) as web:
        with warnings.catch_warnings(record=True) as told:
            warnings.simplefilter("always")
            try:
                built(web, f"{URL}:{port}/" if port else f"{URL}/")
            except AddressError:
                assert warned is None
                return
        if warned is not None:
            assert bool(told) is warned


async def test_arguments_in_braces_need_values(make_memory):
    async with make_memory(WEB) as web:
        request = built(web, f"{URL}/a/{{id}}/{{}}", params={"id": 7, "path2": "x", "q": "1"})
        assert (request.path, request.url_query) == ("/a/7/x", "q=1")
        for params in ({"id": 7}, {"id": None, "path2": "x"}, [("id", [])], None):
            with pytest.raises(InvalidInput):
                built(web, f"{URL}/a/{{id}}/{{}}", params=params)
        assert built(web, f"{URL}/a/{{id}}", params=[("id", "1"), ("id", "2")]).path == "/a/2"


async def test_a_request_in_process_is_copied_only_if_it_may_be_sent_again(
    make_memory, monkeypatch
):
    copies, received = [], RequestEnvelope.received
    monkeypatch.setattr(
        RequestEnvelope, "received", lambda self: copies.append(self.url) or received(self)
    )
    shop, web = make_memory(HOST), make_memory(WEB)
    near, far = make_memory("near.example", locality="us-west"), make_memory(WEB, locality="us")
    for each in (shop, near):
        each.endpoint("GET", "/")(lambda: None)
    async with shop, web, near, far:
        await until(lambda: not any(each._runtime._background for each in (shop, web, near, far)))
        copies.clear()
        for _ in range(2):
            await web.request("GET", f"{URL}/")
        assert copies == []
        for _ in range(2):  # the second time to the locality that answered
            await far.request("GET", "https://near.example/?u=https://other.example/")
        wanted = "https://loc-us.near.example:443/?u=https://other.example/"
        assert copies == [wanted]


# --- its outcome


async def test_where_no_broker_is_the_error_says_how_others_are_reached(make_memory, make_nats):
    for made, told in ((make_memory, True), (make_nats, False)):
        async with made(WEB) as web:
            before = web.metrics.ack_timeouts, web.metrics.timeouts
            with pytest.raises(AckTimeout) as failed:
                await web.request("GET", "https://missing.example/a?secret=1")
            assert (web.metrics.ack_timeouts, web.metrics.timeouts) == (before[0] + 1, before[1])
            text = str(failed.value)
            assert text.startswith("404: ack timeout: https://missing.example:443/a")
            assert "secret" not in text
            assert ("there is no broker" in text) is told
            assert ("MICROBUS_NATS" in failed.value.hint) is told
            assert web.plane in failed.value.hint


async def test_a_late_handler_counts_as_a_timeout(make):
    shop, web = make(HOST), make(WEB)

    @shop.endpoint("GET", "/late")
    async def late() -> None:
        await asyncio.Event().wait()

    async with shop, web:
        before = web.metrics.ack_timeouts, web.metrics.timeouts
        with pytest.raises(RequestTimeout) as failed:
            await web.request("GET", f"{URL}/late?secret=1", timeout=1.5)
        assert str(failed.value).startswith("408: timeout")
        assert "secret" not in str(failed.value)
        assert web.metrics.ack_timeouts == before[0]


# --- heads


@pytest.mark.parametrize(("more", "refused"), [(0, False), (1, True)])
def test_a_head_has_its_bytes_counted(more, refused):
    values = {
        "Ab": ["é", "cd"],
        "X": ["y" * (63_488 - 4 - 1 - (2 + 2 + 4) - (2 + 2 + 4) - 3 + more)],
    }
    line = "€"
    if refused:
        with pytest.raises(HTTPError, match="the head of the reply exceeds 63488 bytes") as error:
            check_head(line, values, "reply", 499)
        assert error.value.status == 499
    else:
        check_head(line, values, "reply", 499)


@pytest.mark.parametrize(
    ("name", "longest"),
    [("Msg-Id", 128), ("From-Id", 128), ("Queue", 255), ("Locality", 255), ("Time-Budget", 64),
     ("Call-Depth", 64), ("Fragment", 64), ("From-Version", 64)],
)  # fmt: skip
def test_each_control_header_has_its_longest_value(name, longest):
    name = f"Microbus-{name}"
    assert too_long({name: ["y" * longest, "y" * 999]}) == ""
    assert too_long({name: ["y" * (longest + 1)]}) == name


def message(head: int = 0, msg: str = "m1", instance: str = "id-1") -> bytes:
    start = f"GET / HTTP/1.1\r\nMicrobus-From-Id: {instance}\r\nMicrobus-Msg-Id: {msg}\r\n"
    fill = f"X: {'y' * max(head - len(start) - 5, 0)}\r\n" if head else ""
    return (start + fill + "\r\n").encode()


@pytest.mark.parametrize(("size", "status"), [(65_534, None), (65_535, 431)])
def test_a_head_that_is_too_large_is_answered(size, status):
    subject = "p.safe.443.web_example.shop_example._.GET.a"
    assert len(message(size)) == size + 2
    found = oversized(subject, message(size))
    assert (found and found[2].status) == status
    if found:
        told, request, error = found
        assert (told, request.method, request.path) == (subject, "GET", "/a")
        assert request.headers.lists["Microbus-From-Id"] == ["id-1"]
        assert request.headers.lists["Microbus-Msg-Id"] == ["m1"]
        assert "65536 bytes" in str(error)


@pytest.mark.parametrize(
    ("path", "status"),
    [("x" * 981, None), ("x" * 982, 414), (".".join("x" * 57), None), (".".join("x" * 58), 414)],
)
def test_a_subject_that_is_too_long_is_answered(path, status):
    subject = f"p.safe.443.web_example.shop_example._.GET.{path}"
    assert len(subject) in (1023, 1024) or len(subject.split(".")) in (64, 65)
    subject = subject.replace("p.", "pp.", 1) if len(path) > 900 else subject
    found = oversized(subject, message())
    assert (found and found[2].status) == status
    if found:
        assert found[0] == ".".join(subject.split(".")[:7]) + "._"


@pytest.mark.parametrize("name", ["msg", "instance"])
@pytest.mark.parametrize("size", [128, 129, 130])
def test_an_id_of_a_large_request_is_cut_above_its_limit(name, size):
    subject = "p.safe.443.web_example.shop_example._.GET." + "x" * 1100
    found = oversized(subject, message(**{name: "y" * size}))
    header = "Microbus-Msg-Id" if name == "msg" else "Microbus-From-Id"
    assert found is not None
    assert len(found[1].headers.lists[header][0]) == min(size, 129)


@pytest.mark.parametrize(
    "payload", [b"", b"GET / HTTP/1.1\r\n\r\n", message(msg="é"), message(instance="é")]
)
def test_a_large_request_without_ids_is_not_answered(payload):
    subject = "p.safe.443.web_example.shop_example._.GET." + "x" * 1100
    assert oversized(subject, payload) is None
    assert oversized("p.safe.443.WEB.shop_example._.GET." + "x" * 1100, message()) is None


# --- arrival


@pytest.mark.parametrize(("size", "reply"), [(0, False), (1, True), (128, True), (129, False)])
async def test_a_message_id_has_1_to_128_characters(make_memory, plane, size, reply):
    async with make_memory(HOST) as shop:
        request = RequestEnvelope("GET", URL, "/", "", b"")
        request.headers = Headers({"Microbus-From-Id": "id-1", "Microbus-Msg-Id": "y" * size})
        subject = f"{plane}.safe.443.web_example.shop_example._.GET._"
        before = shop.metrics.rejects.get("return-address", 0)
        told = shop._server._admitted(subject, request)
        assert (told is not None) is reply
        assert shop.metrics.rejects.get("return-address", 0) == before + (not reply)
        if reply:
            assert (request.budget, request.depth, request.source) == (0.0, 0, WEB)


async def test_depth_and_budget_are_read_and_another_plane_is_not(make_memory, plane):
    async with make_memory(HOST) as shop:
        for where in (plane, f"{plane}x"):
            request = RequestEnvelope("POST", f"{URL}:443/b", "/b", "q=1", b"")
            request.headers = Headers(
                {"Microbus-From-Id": "id-1", "Microbus-Msg-Id": "m", "Microbus-Call-Depth": "7",
                 "Microbus-Time-Budget": "1m30s", "Microbus-From-Host": "evil.example"}
            )  # fmt: skip
            subject = f"{where}.safe.443.web_example.shop_example._.GET.a"
            told = shop._server._admitted(subject, request)
            if where == plane:
                assert told == f"{plane}.reply._.shop_example.web_example.id-1"
                assert (request.depth, request.budget) == (7, 90.0)
                assert (request.method, request.path) == ("GET", "/a")
                assert request.url == f"{URL}:443/a?q=1"
                assert request.headers["Microbus-From-Host"] == WEB
            else:
                assert told is None


@pytest.mark.parametrize(
    ("fragment", "status"),
    [(None, 202), ("1/1", 202), ("1/2", 100), ("2/2", 100), ("0/0", 202), ("x", 202)],
)
async def test_a_fragment_of_several_is_acknowledged_with_100(make_nats, fragment, status):
    async with make_nats(HOST) as shop:
        sent = []
        endpoint = Endpoint(shop._runtime, "GET", "/", lambda: None)
        await until(lambda: not shop._runtime._background)  # it has announced itself
        request = RequestEnvelope("GET", URL, "/", "", b"", message_id="m1")
        if fragment:
            request.headers["Microbus-Fragment"] = fragment
        shop._transport.publish_bytes = lambda *told: sent.append(told)
        shop._server._acknowledge(endpoint, request, "to")
        del shop._transport.publish_bytes
        assert [told[0] for told in sent] == ["to"]
        assert sent[0][1].startswith(b"HTTP/1.1 %d " % status)
        assert b"\r\nMicrobus-Msg-Id: m1\r\n" in sent[0][1]
        assert b"\r\nConnection: close\r\n" in sent[0][1]


@pytest.mark.parametrize(("size", "status"), [(1000, 200), (1001, 413)])
async def test_a_message_of_a_program_has_the_limit_of_a_body(make_memory, plane, size, status):
    shop, web = make_memory(HOST, max_body=1000), make_memory(WEB)
    async with shop, web:
        request = Request("GET", f"{URL}:443/", body=b"x" * size)
        for name, value in (("From-Id", web.id), ("Msg-Id", "AAAAAAAA"), ("Op-Code", "Req")):
            request.headers = request.headers or Headers()
            request.headers[f"Microbus-{name}"] = value
        seen, sent = [], []
        await until(lambda: not (shop._runtime._background or web._runtime._background))
        endpoint = Endpoint(shop._runtime, "GET", "/", lambda request: seen.append(request))
        shop._server.runner._respond = lambda to, response: sent.append(response.status)
        subject = f"{plane}.safe.443.web_example.shop_example._.GET._"
        before = shop.metrics.deliveries["memory"]
        assert shop._server.receive_local(endpoint, subject, request) is True
        await until(lambda: sent)
        del shop._server.runner._respond
        assert sent == [status]
        assert [each.attested for each in seen] == [True] * (status == 200)
        assert shop.metrics.deliveries["memory"] == before + 1
        assert shop._server.receive_local(endpoint, subject, Response()) is False
    assert shop._server.receive_local(endpoint, subject, request) is False


@pytest.mark.parametrize(("size", "looked_at"), [(900, False), (1024, False), (1025, True)])
async def test_the_control_headers_of_a_short_message_are_not_measured(
    make_memory, plane, size, looked_at
):
    long = f"Microbus-Locality: {'y' * 256}\r\nMicrobus-Msg-Id: AAAAAAAA\r\n"

    def padded(head: str) -> bytes:
        text = f"{head}{long}X: \r\n\r\n"
        return text.replace("X: ", f"X: {'z' * (size - len(text))}").encode()

    async with make_memory(HOST) as shop:
        request = padded(f"GET {URL}:443/a HTTP/1.1\r\nHost: {HOST}\r\nMicrobus-From-Id: id-1\r\n")
        subject = f"{plane}.safe.443.web_example.shop_example._.GET.a"
        assert len(request) == size
        _, _, failed = shop._server._read(subject, request)
        assert (failed and failed.status) == (431 if looked_at else None)
        response = padded("HTTP/1.1 202 Accepted\r\nMicrobus-Op-Code: Ack\r\n")
        subject = f"{plane}.reply._.web_example.shop_example.{shop.id}"
        assert len(response) == size
        before = shop.metrics.rejects.get("malformed", 0)
        shop._client.responses.receive_payload(subject, response)
        assert shop.metrics.rejects.get("malformed", 0) == before + looked_at


@pytest.mark.parametrize(("size", "read"), [(1 << 16, True), ((1 << 16) + 1, False)])
@pytest.mark.parametrize("start", [b"GET / HTTP/1.1\r\nHost: a\r\n", b"HTTP/1.1 200 OK\r\n"])
@pytest.mark.parametrize(
    ("length", "body"),
    [(b"Content-Length: 1", b"1"), (b"Transfer-Encoding: chunked", b"1\r\n1\r\n0\r\n\r\n")],
    ids=["one parser", "the other parser"],
)
@pytest.mark.parametrize("filler", [b"y", b"\xff"])
def test_a_head_has_64_kib(start, size, read, length, body, filler):
    head = start + length + b"\r\nX: "
    message = head.ljust(size - 4, filler) + b"\r\n\r\n" + body
    parse = _codec.read_request if start[0:1] == b"G" else _codec.read_response
    if read:
        found = parse(message)
        assert found.body == b"1"
        assert found.headers.lists["X"] == [filler.decode("latin-1") * (size - 4 - len(head))]
    else:
        with pytest.raises(BusError, match="not an HTTP"):
            parse(message)


@pytest.mark.parametrize("deployment", ["LOCAL", "TESTING"])
async def test_what_is_refused_before_the_loop_is_told_as_any_error(make_memory, deployment):
    async with make_memory(HOST) as shop:
        runtime, sent = shop._runtime, []
        runtime.deployment = deployment
        runner = shop._server.runner
        runner._respond = lambda to, response: sent.append((to, response))
        endpoint = shop._server.own_endpoints[0]
        now, trace = asyncio.get_running_loop().time(), "7f" * 16
        request = within(1.0, 1, now, Traceparent=f"00-{trace}-{'1' * 16}-01")
        runner.refuse(endpoint, "subject", request, "reply")
        ((to, response),) = sent
        assert (to, response.status) == ("reply", 503)
        assert (b"\n " in response.body) is (deployment == "LOCAL")
        assert trace.encode() in response.body
        assert runtime.metrics.rejects["overload"] == 1
        runtime.deployment = "TESTING"


async def test_requests_are_handed_over_when_no_more_arrive(make_memory, monkeypatch):
    async with make_memory(HOST) as shop:
        server, steps, begun = shop._server, [], []
        kinds = type(server), type(server._transport), type(server._runtime)
        monkeypatch.setattr(kinds[0], "_read", lambda *_: (object(), "reply", None))
        monkeypatch.setattr(kinds[0], "_acknowledge", lambda *_: None)
        monkeypatch.setattr(kinds[1], "after_writes", lambda _, step: steps.append(step))
        monkeypatch.setattr(kinds[2], "hand_over", lambda *_: begun.append(1))
        for more in (1, 1, 0):
            for _ in range(more):
                server.receive_payload(server.own_endpoints[0], "subject", b"x")
            if more and len(server._arrived) == 1:
                continue
            assert len(steps) == 1
            steps.pop()()
            assert bool(begun) is not bool(more), "one came after the last look, or none did"
        assert not server._arrived
        monkeypatch.undo()


@pytest.mark.parametrize(("held", "waits"), [(0.0, True), (0.049, True), (0.05, False), (9, False)])
async def test_requests_are_held_for_50_ms_while_more_arrive(make_memory, monkeypatch, held, waits):
    async with make_memory(HOST) as shop:
        server, steps, begun = shop._server, [], []
        kinds = type(server._transport), type(server._runtime)
        monkeypatch.setattr(kinds[0], "after_writes", lambda _, step: steps.append(step))
        monkeypatch.setattr(kinds[1], "hand_over", lambda *_: begun.append(1))
        monkeypatch.setattr(_system, "monotonic", lambda: held)
        server._arrived.extend([(1, None, None, "reply", None)] * 2)
        server._seen, server._held_since = 1, 0.0
        server._hand_over()
        assert (len(steps), len(begun)) == ((1, 0) if waits else (0, 2))
        server._arrived.clear()
        monkeypatch.undo()


async def test_two_bodies_of_the_largest_size_wait_for_the_caller_of_a_multicast(make_memory):
    async with make_memory(WEB, max_body=1000) as web:
        call = web.publish("GET", f"{URL}/", timeout=0.1)
        assert call._held.most_bytes == 2000
        assert [answer async for answer in call] == []


async def test_one_connector_of_a_plane_tells_of_the_process(make_memory, plane):
    async with make_memory(HOST, plane=plane + "a"), make_memory(HOST, plane=plane + "b") as other:
        assert other._runtime.is_first()
        async with make_memory(WEB, plane=plane + "b") as second:
            assert other._runtime.is_first()
            assert not second._runtime.is_first()
        async with make_memory(WEB, plane=plane + "0") as lesser:
            assert lesser._runtime.is_first()


async def test_a_test_waits_for_no_broker(make_memory):
    async with make_memory(HOST) as shop:
        assert shop._lifecycle._wait(120.0) == 0.0
        shop._runtime.deployment = "LOCAL"
        assert shop._lifecycle._wait(120.0) == 120.0
        shop._runtime.deployment = "TESTING"


@pytest.mark.parametrize(("left", "again"), [(0.0, False), (2**-10, True)])
async def test_a_call_is_repeated_without_a_locality_while_time_is_left(
    make_memory, monkeypatch, still, left, again
):
    async with make_memory(WEB, locality="us-west") as web:
        client, now = web._client, still()
        monkeypatch.setattr(client.nearest, "nearest", lambda key: "us")
        asked = []

        async def once(request, subject, **_more):
            asked.append(request.url)
            if len(asked) == 1:
                loop = asyncio.get_running_loop()
                monkeypatch.setattr(loop, "time", lambda: now + request.budget - left)
                raise AckTimeout
            return Response(200)

        monkeypatch.setattr(type(client), "_once", lambda _, *given, **more: once(*given, **more))
        if again:
            assert (await web.request("GET", f"{URL}/x")).status == 200
        else:
            with pytest.raises(RequestTimeout):
                await web.request("GET", f"{URL}/x")
        assert ["loc-us." in each for each in asked] == [True, False][: 1 + again]
        monkeypatch.undo()


async def test_the_calls_of_another_loop_have_timers_of_their_own(make_nats, monkeypatch):
    async with make_nats(WEB) as web:
        watched = []
        monkeypatch.setattr(type(web._client._overdue), "watch", lambda *_: watched.append(1))

        async def ask(timeout: float) -> None:
            with pytest.raises(HTTPError):
                await web.request("GET", f"{URL}/x", timeout=timeout)

        await asyncio.to_thread(asyncio.run, ask(20))
        assert not watched
        await ask(0.5)
        assert watched


async def test_the_id_of_a_pending_request_is_not_given_to_another(make_memory):
    ids = FixedIds(messages=["one", "one", "one", "two"])
    async with make_memory(WEB, ids=ids) as web:
        for _ in range(2):
            web.publish("GET", URL)
        assert set(web._client.responses.waiting) == {"one", "two"}
