"""The source of a message is read from its subject; a message without a valid one is dropped."""

from __future__ import annotations

import asyncio
import logging

import nats
import pytest

from patience import settled, until
from subtrie import Dispatcher, microbus
from subtrie._core import control_headers
from subtrie.connector import Request
from subtrie.connector._codec import read_request, write_request
from subtrie.connector._envelope import RequestEnvelope
from subtrie.connector._transport import InProcessTransport

from .recording import messages

HOST = "shop.example"


def _raw(url=f"https://{HOST}:443/whoami", **headers):
    headers = {
        control_headers.OP_CODE: "Req",
        control_headers.MSG_ID: "AAAAAAAA",
        control_headers.FROM_ID: "id-liar",
        control_headers.FROM_HOST: "victim.example",
        **headers,
    }
    request = Request("GET", url)
    for name, value in headers.items():
        request.headers[name] = value
    return request


class Listener:
    """A client that publishes raw messages and receives responses to ``id-liar``."""

    def __init__(self, make, plane):
        self.plane = plane
        self.shop = make(HOST)
        self.sources: list[str] = []
        self.answers: list[str] = []
        self.shop.endpoint("GET", "/whoami")(self.whoami)

    async def whoami(self, request: Request):
        self.sources.append(request.source)
        assert request.headers[control_headers.FROM_HOST] == request.source
        return request.source

    async def publish(self, subject: str, request: Request) -> None:
        if self.shop._transport.in_process is not None:
            InProcessTransport().deliver(subject, RequestEnvelope.of(request), kept=True)
            await asyncio.sleep(0.02)
        else:
            await self.client.publish(subject, write_request(request))
            await settled(self.client)

    async def __aenter__(self):
        await self.shop.startup()
        everything = f"{self.plane}.reply._.>"

        def note(subject, message=None) -> bool:
            if not subject.endswith(self.shop.id):  # not the responses to its own announcement
                self.answers.append(subject)
            return True

        async def heard(message):
            note(message.subject)

        if self.shop._transport.in_process is not None:
            self.taken = Dispatcher.shared().subscribe(everything, lambda pair: True)
            self.taken.handler.receiver = note
        else:
            self.client = await nats.connect(self.shop._transport.broker)
            await self.client.subscribe(everything, cb=heard)
            await settled(self.client)
        return self

    async def __aexit__(self, *_):
        if self.shop._transport.in_process is not None:
            self.taken.unsubscribe()
        else:
            await self.client.close()
        await self.shop.shutdown()

    async def flush(self, messages: int, answers: int = 0):
        """Wait until so many messages were processed and so many responses received."""
        for _ in range(1000):
            seen = len(self.sources) + sum(self.shop.metrics.rejects.values())
            if seen >= messages and len(self.answers) >= answers:
                break
            await asyncio.sleep(0.01)
        await asyncio.sleep(0.05)


@pytest.mark.requirement("S0-040", "S0-130")
async def test_the_source_of_the_subject_overwrites_the_header(make, plane):
    async with Listener(make, plane) as listener:
        subject = f"{plane}.safe.443.web_example.shop_example._.GET.whoami"
        await listener.publish(subject, _raw())
        await listener.flush(1, 2)
        assert listener.sources == ["web.example"]
        reply = microbus.encode_reply(plane=plane, source=HOST, host="web.example", id="id-liar")
        assert listener.answers == [reply] * 2, "acknowledged and answered to the verified source"


MALFORMED = {
    "upper-hex": "{p}.safe.443.web%2Eexample.shop_example._.GET.whoami",
    "second-spelling": "{p}.safe.443.web%2eexample.shop_example._.GET.whoami",
    "escaped-underscore": "{p}.safe.443.web%5fexample.shop_example._.GET.whoami",
    "upper-case": "{p}.safe.443.Web_example.shop_example._.GET.whoami",
    "placeholder": "{p}.safe.443._.shop_example._.GET.whoami",
    "reserved": "{p}.safe.443.all.shop_example._.GET.whoami",
    "empty-label": "{p}.safe.443.web__example.shop_example._.GET.whoami",
    "header-injection": "{p}.safe.443.web%0d%0aX%3a1.shop_example._.GET.whoami",
    "special": "{p}.safe.443.web%24_example.shop_example._.GET.whoami",
}


@pytest.mark.requirement("S0-041", "A7", "A25")
@pytest.mark.parametrize("spelling", MALFORMED)
async def test_an_unverifiable_message_is_counted_and_not_answered(make, plane, spelling, caplog):
    caplog.set_level(logging.WARNING, "subtrie.connector")
    async with Listener(make, plane) as listener:
        for _ in range(3):
            await listener.publish(MALFORMED[spelling].format(p=plane), _raw())
        await listener.flush(3)
        assert listener.sources == listener.answers == []
        assert listener.shop.metrics.rejects == {"source": 3}
        said = [record for record in caplog.records if record.plane == plane]
        assert len(said) == 1, "once a minute for a plane and reason"


@pytest.mark.parametrize("path", ["tree.%ff", "tree.%2D", "tree.%zz"])
async def test_a_subject_whose_source_is_valid_is_not_called_a_wrong_source(
    make, plane, path, caplog
):
    """The log sent its reader to permissions, while the path was not canonical."""
    caplog.set_level(logging.WARNING, "subtrie.connector")
    async with Listener(make, plane) as listener:
        await listener.shop.subscribe("GET", "/tree/{rest...}", lambda rest: rest)
        subject = f"{plane}.safe.443.web_example.shop_example._.GET.{path}"
        await listener.publish(subject, _raw())
        await listener.flush(1)
        assert listener.answers == []
        assert listener.shop.metrics.rejects == {"subject": 1}


@pytest.mark.requirement("T11")
@pytest.mark.parametrize(
    "headers",
    [
        {control_headers.FROM_ID: "nobody"},
        {control_headers.FROM_ID: "id-*"},
        {control_headers.FROM_ID: "id-a.b"},
    ],
    ids=["no-id", "wildcard", "two-tokens"],
)
async def test_a_response_goes_only_to_an_instance_of_the_verified_source(make, plane, headers):
    async with Listener(make, plane) as listener:
        subject = f"{plane}.safe.443.web_example.shop_example._.GET.whoami"
        await listener.publish(subject, _raw(**headers))
        await listener.flush(1)
        assert listener.sources == listener.answers == []
        assert listener.shop.metrics.rejects == {"return-address": 1}


@pytest.mark.parametrize("absent", [control_headers.FROM_ID, control_headers.MSG_ID])
async def test_a_request_that_cannot_be_answered_is_counted_and_dropped(make, plane, absent):
    async with Listener(make, plane) as listener:
        subject = f"{plane}.safe.443.web_example.shop_example._.GET.whoami"
        request = _raw()
        del request.headers.lists[absent]
        await listener.publish(subject, request)
        await listener.publish(subject, _raw())
        await listener.flush(2, 2)
        assert listener.sources == ["web.example"]
        assert len(listener.answers) == 2
        assert listener.shop.metrics.rejects == {"return-address": 1}


async def test_a_request_shows_its_verified_source(make):
    shop, web, shown = make(HOST), make("web.example"), []
    shop.endpoint("GET", "/")(lambda request: shown.append(repr(request)))
    async with shop, web:
        await web.request("GET", f"https://{HOST}/")
    assert shown == [f"<Request GET https://{HOST}:443/ source=web.example>"]
    assert repr(_raw()) == f"<Request GET https://{HOST}:443/whoami source=unverified>"


async def test_method_and_path_are_read_from_the_subject(make, plane):
    async with Listener(make, plane) as listener:
        seen = []
        await listener.shop.subscribe(
            "ANY", "/x/{id}", lambda request, id: seen.append((request.method, request.path, id))
        )
        request = _raw(f"https://{HOST}:443/x/other?q=1")
        await listener.publish(f"{plane}.safe.443.web_example.shop_example._.PUT.x.mine", request)
        for _ in range(1000):
            await asyncio.sleep(0.01)
            if seen:
                break
        assert seen == [("PUT", "/x/mine", "mine")]


@pytest.mark.parametrize(
    ("line", "url"),
    [
        ("https://vault.core:666/secret?x=1", f"https://{HOST}:443/who/am%20i?x=1"),
        (f"https://{HOST}:666/who/am%20i", f"https://{HOST}:443/who/am%20i"),
        ("https://vault.core:443/who/am%20i", f"https://{HOST}:443/who/am%20i"),
        (f"https://{HOST}:443/who/am%20i?q=%zz", f"https://{HOST}:443/who/am%20i?q=%zz"),
        ("https://SHOP.example:443/who/am%20i", "https://SHOP.example:443/who/am%20i"),
        (f"https://loc-eu.{HOST}:443/who/am%20i", f"https://loc-eu.{HOST}:443/who/am%20i"),
    ],
)
async def test_the_url_of_a_request_is_that_of_its_subject(make, plane, line, url):
    async with Listener(make, plane) as listener:
        seen = []
        await listener.shop.subscribe(
            "GET", "/who/{name}", lambda request: seen.append((request.url, request.query))
        )
        subject = f"{plane}.safe.443.web_example.shop_example._.GET.who.am%20i"
        request = _raw(line)
        request.path, request.url_query = "/secret", line.partition("?")[2]
        if "am%20i" in line:
            request.path = "/who/am i"
        await listener.publish(subject, request)
        for _ in range(1000):
            await asyncio.sleep(0.01)
            if seen:
                break
        assert [each for each, _ in seen] == [url]


@pytest.mark.parametrize("payload", [b"", b"no http", b"GET / HTTP/1.1\r\n\r\n", b"\x00" * 100])
async def test_invalid_payloads_are_counted_and_dropped(make_nats, plane, payload):
    async with Listener(make_nats, plane) as listener:
        subject = f"{plane}.safe.443.web_example.shop_example._.GET.whoami"
        await listener.client.publish(subject, payload)
        reply = microbus.encode_reply(plane=plane, source="a.b", host=HOST, id=listener.shop.id)
        await listener.client.publish(reply, payload)
        await settled(listener.client)
        for _ in range(1000):
            await asyncio.sleep(0.01)
            if listener.shop.metrics.rejects["malformed"] == 2:
                break
        assert listener.shop.metrics.rejects == {"malformed": 2}
        assert listener.sources == []


@pytest.mark.requirement("S0-133")
async def test_a_request_in_process_is_marked_as_attested(make):
    shop, web = make(HOST), make("web.example")
    shop.endpoint("GET", "/")(lambda request: request.attested)
    async with shop, web:
        in_process = shop._transport.in_process is not None
        assert (await web.request("GET", f"https://{HOST}")).json() is in_process


@pytest.mark.requirement("S0-019")
async def test_planes_do_not_receive_each_others_messages(make):
    shop, web = make(HOST), make("web.example", plane="other")
    shop.endpoint("GET", "/", queue=None)(lambda: "heard")
    async with shop, web:
        assert [a async for a in web.publish("GET", f"https://{HOST}/")] == []
        assert [a.source async for a in web.publish("GET", "https://all:888/ping")] == [
            "web.example"
        ]


@pytest.mark.requirement("S0-138")
async def test_a_receiver_admits_no_request_of_another_plane(make_nats):
    """Whatever subscription it came by: here none, the receiver itself is handed the request."""
    shop, handled = make_nats(HOST), []
    shop.endpoint("GET", "/whoami")(lambda request: handled.append(request.source))
    async with shop:
        server, (endpoint,) = shop._server, shop.endpoints
        rejected = shop._runtime.metrics.rejects
        for plane, source in (("other", "evil"), (f"{shop.plane}0", "evil"), (shop.plane, "web")):
            subject = f"{plane}.safe.443.{source}_example.shop_example._.GET.whoami"
            payload = write_request(_raw())
            shop._transport.nats.loop.call_soon_threadsafe(
                server.receive_payload, endpoint, subject, payload
            )
            assert server.receive_local(endpoint, subject, _raw())
        await until(lambda: len(handled) >= 2)
    assert handled == ["web.example"] * 2
    assert rejected["source"] == 4


async def test_recorded_requests_with_another_source_token_or_a_forged_header(make_nats, plane):
    """The recorded bytes, first with the header altered, then under another source token."""
    _, data = messages()["request"]
    request = read_request(data)
    async with Listener(make_nats, plane) as listener:
        await listener.shop.subscribe("GET", "/order/{id}/line/{n}", listener.whoami)
        for token, claimed in (("web_client_example", "victim.example"), ("rogue_example", None)):
            forged = request.received()
            forged.headers[control_headers.FROM_HOST] = (
                claimed or forged.headers[control_headers.FROM_HOST]
            )
            await listener.publish(
                f"{plane}.safe.443.{token}.shop_example._.GET.order.A-17.line.3", forged
            )
        for _ in range(1000):
            await asyncio.sleep(0.01)
            if len(listener.sources) == 2:
                break
        assert sorted(listener.sources) == ["rogue.example", "web.client.example"]
