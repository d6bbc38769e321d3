"""The messages of connectors on a broker, as a client of that broker sees them."""

from __future__ import annotations

import asyncio
import contextlib
import json
import urllib.request
from collections.abc import Callable

import nats
import pytest

from patience import settled
from servers import free_port
from subtrie import Dispatcher, microbus
from subtrie._core import control_headers
from subtrie.connector._codec import write_request
from subtrie.wire import Parser

from .nats_server import NatsServer

HOST = "shop.example"
URL = f"https://{HOST}"


class Observer:
    """Records every message of a plane, in the broker's order."""

    def __init__(self, broker: str, plane: str) -> None:
        self.broker, self.plane = broker, plane
        self.messages: list[tuple[str, bytes]] = []

    async def __aenter__(self) -> Observer:
        async def heard(message) -> None:
            self.messages.append((message.subject, message.data))

        self.client = await nats.connect(self.broker)
        await self.client.subscribe(f"{self.plane}.>", cb=heard)
        await self.flush()
        return self

    async def flush(self) -> None:
        """Return once the server has processed what was sent."""
        await settled(self.client)

    async def __aexit__(self, *_: object) -> None:
        await self.client.close()

    async def requests(self, count: int) -> list[tuple[microbus.RequestAddress, bytes]]:
        """Wait for so many requests to the shop; return their addresses and bytes."""
        return await self._of(self._requests, count)

    async def replies(self, count: int) -> list[tuple[microbus.ReplyAddress, bytes]]:
        """Wait for so many replies to these requests; return their addresses and bytes."""
        return await self._of(self._replies, count)

    def _requests(self) -> list:
        return self._decoded(microbus.RequestAddress, "host")

    def _replies(self) -> list:
        # Connectors announce themselves when they like; the shop replies to those messages, too.
        asked = {header(data, control_headers.MSG_ID) for _, data in self._requests()}
        replies = self._decoded(microbus.ReplyAddress, "source")
        return [each for each in replies if header(each[1], control_headers.MSG_ID) in asked]

    def _decoded(self, kind: type, field: str) -> list:
        decoded = [(microbus.decode(subject), data) for subject, data in self.messages]
        return [
            each
            for each in decoded
            if isinstance(each[0], kind) and getattr(each[0], field) == HOST
        ]

    async def _of(self, seen: Callable[[], list], count: int) -> list:
        for _ in range(2000):
            found = seen()
            if len(found) >= count:
                return found
            await asyncio.sleep(0.01)
        raise AssertionError(f"{len(found)} of {count}: {[s for s, _ in self.messages]}")


def header(data: bytes, name: str) -> str:
    """Return the first header of this name of a message that was received."""
    head = data.partition(b"\r\n\r\n")[0].decode("latin-1")
    fields = dict(line.split(": ", 1) for line in reversed(head.split("\r\n")[1:]))
    return fields[name]


async def test_a_reply_to_an_announcement_is_not_counted_as_one_to_a_request(plane):
    """The observer of these tests once counted both."""
    bus = Observer("nats://127.0.0.1:0", plane)
    reply = str(microbus.encode_reply(plane=plane, source=HOST, host="web.example", id="id-1"))
    for port, host, message in ((888, "all", "AAAAAAAA"), (443, "shop_example", "BBBBBBBB")):
        head = f"\r\n{control_headers.MSG_ID}: {message}\r\n\r\n".encode()
        bus.messages += [
            (f"{plane}.safe.{port}.web_example.{host}._.GET.x", b"GET /x HTTP/1.1" + head),
            (reply, b"HTTP/1.1 200 OK" + head),
        ]
    ((_, data),) = await bus.replies(1)
    assert header(data, control_headers.MSG_ID) == "BBBBBBBB"


LIES = {"another": ["victim.example"], "empty": [""], "two": ["victim.example", "web.example"]}


@pytest.mark.requirement("S0-040")
@pytest.mark.parametrize("lie", [*LIES, "absent"])
async def test_a_handler_reads_the_source_of_the_subject_in_the_header(make_nats, plane, lie):
    shop, seen = make_nats(HOST), []
    shop.endpoint("GET", "/whoami")(
        lambda request: seen.append(request.headers.all(control_headers.FROM_HOST))
    )
    async with shop, Observer(shop._transport.broker, plane) as bus:
        lines = [f"{control_headers.FROM_HOST}: {name}" for name in LIES.get(lie, [])]
        head = "\r\n".join(
            [
                "GET /whoami HTTP/1.1", f"Host: {HOST}", "Microbus-Op-Code: Req",
                "Microbus-Msg-Id: AAAAAAAA", "Microbus-From-Id: id-liar", *lines, "", "",
            ]
        )  # fmt: skip
        subject = f"{plane}.safe.443.web_example.shop_example._.GET.whoami"
        await bus.client.publish(subject, head.encode())
        replies = await bus.replies(2)
    assert seen == [["web.example"]]
    assert {address.host for address, _ in replies} == {"web.example"}


@pytest.mark.requirement("S0-040")
@pytest.mark.parametrize("lie", [*LIES, "absent"])
async def test_a_caller_reads_the_source_of_the_reply_in_the_header(make_nats, plane, lie):
    """A client without a connector answers with a lie."""
    web = make_nats("web.example", round_trip=5.0)
    async with web, Observer(web._transport.broker, plane) as bus:

        async def serve(message) -> None:
            message_id = header(message.data, control_headers.MSG_ID)
            to = microbus.encode_reply(plane=plane, source=HOST, host="web.example", id=web.id)
            for status, code in ((202, control_headers.ACK), (200, control_headers.RESPONSE)):
                lines = [f"HTTP/1.1 {status} OK", f"{control_headers.OP_CODE}: {code}"]
                lines += [f"{control_headers.MSG_ID}: {message_id}", "Microbus-From-Id: id-shop"]
                lines += [f"{control_headers.FROM_HOST}: {name}" for name in LIES.get(lie, [])]
                lines += ["Content-Length: 0", "", ""]
                await bus.client.publish(to, "\r\n".join(lines).encode())

        await bus.client.subscribe(f"{plane}.safe.443.*.shop_example._.GET.whoami", cb=serve)
        await bus.flush()
        response = await web.request("GET", f"{URL}/whoami")
    assert response.headers.all(control_headers.FROM_HOST) == [HOST]
    assert response.source == HOST


async def test_the_first_of_two_equal_control_headers_counts(make_nats, plane):
    """Of a request and of a response."""
    shop, web = make_nats(HOST), make_nats("web.example", round_trip=5.0)
    shop.endpoint("GET", "/depth")(lambda request: request.headers[control_headers.CALL_DEPTH])
    async with shop, web, Observer(web._transport.broker, plane) as bus:
        names = (control_headers.OP_CODE, control_headers.MSG_ID, control_headers.FROM_ID)

        def control(*values: str) -> list[str]:
            return [f"{name}: {value}" for name, value in zip(names, values, strict=True)]

        lines = [
            "GET /depth HTTP/1.1", f"Host: {HOST}",
            *control("Req", "AAAAAAAA", "id-1"),
            f"{control_headers.CALL_DEPTH}: 1",
            *control("Err", "BBBBBBBB", "id-2"),
            "", "",
        ]  # fmt: skip
        subject = f"{plane}.safe.443.other_example.shop_example._.GET.depth"
        await bus.client.publish(subject, "\r\n".join(lines).encode())
        replies = await bus.replies(2)
        assert {address.id for address, _ in replies} == {"id-1"}
        assert {header(data, control_headers.MSG_ID) for _, data in replies} == {"AAAAAAAA"}

        async def serve(message) -> None:
            message_id = header(message.data, control_headers.MSG_ID)
            to = microbus.encode_reply(plane=plane, source=HOST, host="web.example", id=web.id)
            for status, code, number in ((202, "Ack", 0), (203, "Res", 1), (203, "Res", 2)):
                fragment = [
                    f"{control_headers.FRAGMENT}: {each}" for each in (f"{number}/2", "1/1")
                ]
                lines = [
                    f"HTTP/1.1 {status} OK",
                    *control(code, message_id, "id-other"), *control("Bad", "C", "id-another"),
                    *(fragment if number else ()), "Content-Length: 1", "", f"{number}",
                ]  # fmt: skip
                await bus.client.publish(to, "\r\n".join(lines).encode())

        await bus.client.subscribe(f"{plane}.safe.443.*.shop_example._.GET.other", cb=serve)
        await bus.flush()
        answer = await web.request("GET", f"{URL}/other", timeout=5)
        assert (answer.status, answer.body) == (203, b"12")


@pytest.mark.requirement("S0-043")
async def test_the_second_fragment_and_all_after_it_go_to_the_replica_that_took_the_first(
    make_nats, plane
):
    replicas, web = [make_nats(HOST) for _ in range(3)], make_nats("web.example", round_trip=5.0)
    for replica in replicas:
        replica.endpoint("POST", "/big")(lambda request: len(request.body))
    async with contextlib.AsyncExitStack() as stack:
        for each in (*replicas, web):
            await stack.enter_async_context(each)
        bus = await stack.enter_async_context(Observer(web._transport.broker, plane))
        for n in range(1, 7):
            response = await web.request("POST", f"{URL}/big", body=bytes(500_000))
            assert response.json() == 500_000
            await bus.requests(3 * n)
        replies = await bus.replies(4 * 6)
        transfers: dict[str, list[str]] = {}
        for address, data in await bus.requests(3 * 6):
            transfers.setdefault(header(data, control_headers.MSG_ID), []).append(address.slot)
        assert len(transfers) == 6
        for message_id, slots in transfers.items():
            (first,) = {
                header(data, control_headers.FROM_ID)
                for _, data in replies
                if header(data, control_headers.MSG_ID) == message_id
            }
            assert slots == ["", *[first] * (len(slots) - 1)]


@pytest.mark.requirement("S0-045")
async def test_a_reply_goes_to_the_instance_that_asked_and_to_no_other_of_its_host(
    make_nats, plane
):
    shop = make_nats(HOST)
    callers = [make_nats("web.example", round_trip=5.0) for _ in range(3)]
    shop.endpoint("GET", "/echo")(lambda request: request.query["n"][0])
    async with contextlib.AsyncExitStack() as stack:
        for each in (shop, *callers):
            await stack.enter_async_context(each)
        bus = await stack.enter_async_context(Observer(shop._transport.broker, plane))
        asked = [(caller, str(n)) for n in range(8) for caller in callers]
        answers = await asyncio.gather(
            *(caller.request("GET", f"{URL}/echo?n={n}{caller.id}") for caller, n in asked)
        )
        assert [a.body.decode() for a in answers] == [f"{n}{caller.id}" for caller, n in asked]
        replies = await bus.replies(2 * len(asked))
        answered = [
            (address.id, data.partition(b"\r\n\r\n")[2].decode()) for address, data in replies
        ]
        answered = [(instance, body) for instance, body in answered if "id-" in body]
        assert sorted(body for _, body in answered) == sorted(n + each.id for each, n in asked)
        assert all(body.endswith(instance) for instance, body in answered)
        assert {address.id for address, _ in replies} == {caller.id for caller in callers}
        rejected = [caller.metrics.rejects for caller in callers]
        assert not any(sum(each.values()) for each in rejected), "the reply of another instance"


@pytest.mark.requirement("S0-127")
async def test_a_request_within_a_process_never_reaches_the_broker(make, broker, plane):
    """Both connectors are on a broker and may bypass it."""
    options = {"nats": broker.url, "short_circuit": True}
    shop, web = make(HOST, **options), make("web.example", **options)
    shop.endpoint("POST", "/echo")(lambda request: request.body)
    async with shop, web, Observer(broker.url, plane) as bus:
        await asyncio.sleep(0.1)  # announcements of the start
        bus.messages.clear()
        for n in range(20):
            body = f"value {n}".encode()
            assert (await web.request("POST", f"{URL}/echo", body=body)).body == body
        await bus.flush()
        await asyncio.sleep(0.1)
        assert bus.messages == []
        subject = f"{plane}.safe.443.web_example.shop_example._.POST.echo"
        assert Dispatcher.shared().handlers(subject), "it went through the shared trie"


#: Values of a path argument as a URL has them, and the token of each.
ESCAPES = {
    "a%20b": "a%20b", "a.b": "a%2eb", "a%2Eb": "a%2eb", "%2525": "%2525",
    "a*": "a%2a", "%3e": "%3e", "a_b": "a%5fb", "%C3%A9": "%c3%a9", "A~1": "A%7e1",
}  # fmt: skip


@pytest.mark.requirement("S0-129")
@pytest.mark.parametrize("value", ESCAPES)
async def test_a_request_has_the_same_subject_and_bytes_on_either_way(
    make_nats, make_memory, plane, value
):
    def text(data: bytes, *own: str) -> bytes:
        for n, name in enumerate(own):
            data = data.replace(name.encode(), b"<%d>" % n)
        return data

    seen = {}
    for way, maker in (("nats", make_nats), ("memory", make_memory)):
        shop, web = maker(HOST), maker("web.example")
        shop.endpoint("POST", "/x/{id}")(lambda request, id: request.body)
        taken: list[tuple[str, bytes]] = []
        async with contextlib.AsyncExitStack() as stack:
            await stack.enter_async_context(shop)
            await stack.enter_async_context(web)
            if way == "nats":
                bus = await stack.enter_async_context(Observer(web._transport.broker, plane))
            else:

                def keep(subject, message, taken=taken) -> bool:
                    taken.append((subject, write_request(message)))
                    return False

                tap = Dispatcher.shared().subscribe(f"{plane}.safe.>", lambda pair: True)
                tap.handler.receiver = keep
                stack.callback(tap.unsubscribe)
            await web.request(
                "POST", f"{URL}/x/{value}?q=1", body=b"body", headers={"X-Own": "é"}, timeout=20
            )
            if way == "nats":
                taken = [(str(a), data) for a, data in await bus.requests(1)]
        (subject, data), *_ = [each for each in taken if ".POST." in each[0]]
        message_id = header(data, control_headers.MSG_ID)
        seen[way] = subject, text(data, web.id, message_id)
    assert seen["nats"] == seen["memory"]
    assert seen["memory"][0].endswith(f".POST.x.{ESCAPES[value]}")


def _subscribed(sent: bytearray) -> list[str]:
    return [op.subject for op in Parser("client").feed(bytes(sent)) if op.op == "SUB"]


@pytest.mark.requirement("S0-078")
async def test_the_reply_subscription_is_the_first_one_on_the_connection(
    tmp_path, plane, make_nats
):
    """Read off the connection itself, and before the startup hook."""
    server = NatsServer(tmp_path / "server").start()
    sent = bytearray()
    at_hook: list[int] = []

    async def forward(reader, writer) -> None:
        up, down = await asyncio.open_connection("127.0.0.1", server.port)

        async def copy(source, sink, keep) -> None:
            with contextlib.suppress(ConnectionError):
                while data := await source.read(65536):
                    if keep:
                        sent.extend(data)
                    sink.write(data)
                    await sink.drain()
            sink.close()

        await asyncio.gather(copy(reader, down, True), copy(up, writer, False))

    proxy = await asyncio.start_server(forward, "127.0.0.1", 0)
    try:
        port = proxy.sockets[0].getsockname()[1]
        shop = make_nats(HOST, nats=f"nats://127.0.0.1:{port}")
        shop.endpoint("GET", "/x")(lambda: None)

        @shop.on_startup
        async def hook() -> None:
            await shop._transport.flush()
            at_hook.append(len(sent))

        async with shop:
            await shop._transport.flush()
    finally:
        proxy.close()
        server.stop()
    reply = f"{plane}.reply._.*.shop_example.{shop.id}"
    subscribed = _subscribed(sent)
    before = _subscribed(sent[: at_hook[0]])
    assert subscribed[0] == reply
    assert len(subscribed) > 1
    assert before[0] == reply, "it stands before the startup hook is called"
    assert not [pattern for pattern in before if ".443." in pattern], "no endpoint does"


@pytest.mark.requirement("S0-124", "A31")
async def test_services_of_a_process_with_their_own_credentials_have_their_own_connections(
    tmp_path, plane, make_nats
):
    names = ["a.example", "b.example", "c.example"]
    users = [{"user": name.replace(".", "-"), "password": "secret"} for name in names]
    port = free_port()
    server = NatsServer(
        tmp_path / "server", authorization={"users": users}, http=f"127.0.0.1:{port}"
    ).start()
    try:
        made = []
        for name in names:
            address = f"nats://{name.replace('.', '-')}:secret@127.0.0.1:{server.port}"
            made.append(make_nats(name, nats=address))
        async with contextlib.AsyncExitStack() as stack:
            for each in made:
                await stack.enter_async_context(each)
            url = f"http://127.0.0.1:{port}/connz?auth=1&subs=1"
            told = await asyncio.to_thread(lambda: json.load(urllib.request.urlopen(url)))
    finally:
        server.stop()
    hosts = {c["authorized_user"]: c["subscriptions_list"] for c in told["connections"]}
    assert sorted(hosts) == ["a-example", "b-example", "c-example"]
    for user, patterns in hosts.items():
        own = user.replace("-", "_")
        mine = [p for p in patterns if f".{own}." in p]
        others = [p for p in patterns if any(f".{o}." in p for o in hosts if o != own and "_" in o)]
        assert mine, "each subscribes on its own connection"
        assert not others
