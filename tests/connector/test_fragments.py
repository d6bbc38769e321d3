"""Bodies larger than a message, in both directions, and transfers that fail."""

from __future__ import annotations

import asyncio

import nats
import pytest

from patience import settled, until
from subtrie import microbus
from subtrie._core import control_headers
from subtrie.connector import (
    AckTimeout,
    BusError,
    HTTPError,
    Request,
    RequestTimeout,
    Response,
    _request_fragments,
)
from subtrie.connector._ack_timer import ack_limit
from subtrie.connector._codec import read_request, read_response, write_request, write_response
from subtrie.connector._envelope import RequestEnvelope, ResponseEnvelope
from subtrie.connector._fragments import Reassembler, cut, fragment_of
from subtrie.connector._headers import Headers

HOST = "shop.example"
BIG = f"https://{HOST}/big"
KEY = ("web.example", "id-1", "AAAAAAAA")


def _body(size: int, seed: int = 0) -> bytes:
    return bytes((place * 7 + seed) % 251 for place in range(size))


@pytest.mark.requirement("S0-043")
@pytest.mark.parametrize("size", [0, 131_071, 131_072, 131_073, 262_144, 300_000, 1_500_000])
async def test_bodies_of_any_size_arrive_whole_both_ways(make, size):
    shop, web = make(HOST), make("web.example")
    shop.endpoint("POST", "/big")(lambda request: request.body)
    async with shop, web:
        body = _body(size)
        answer = await web.request("POST", BIG, body=body)
        assert answer.body == body
        assert control_headers.FRAGMENT not in answer.headers
        assert len(shop._server.transfers) == len(web._client.responses.transfers) == 0


async def test_a_stream_is_pinned_to_the_replica_that_acknowledged_it(make_nats):
    replicas = [make_nats(HOST), make_nats(HOST), make_nats(HOST)]
    web = make_nats("web.example")
    for replica in replicas:
        replica.endpoint("POST", "/big")(lambda request: request.body)
    async with replicas[0], replicas[1], replicas[2], web:
        bodies = [_body(300_000 + n, n) for n in range(12)]
        answers = await asyncio.gather(*(web.request("POST", BIG, body=b) for b in bodies))
        assert [answer.body for answer in answers] == bodies
        assert len({answer.id for answer in answers}) > 1


async def test_a_large_multicast_reaches_everyone_whole(make_nats):
    listeners = [make_nats("a.example"), make_nats("b.example")]
    web = make_nats("web.example")
    for listener in listeners:
        listener.endpoint("POST", "//event.example:417/big")(lambda request: request.body)
    async with listeners[0], listeners[1], web:
        body = _body(400_000)
        answers = [a async for a in web.publish("POST", "https://event.example:417/big", body=body)]
        assert [a.body == body for a in answers] == [True, True]


async def test_bodies_over_the_limits_are_413(make):
    shop, web = make(HOST, max_body=200_000), make("web.example")
    shop.endpoint("POST", "/big")(lambda request: b"ok")
    shop.endpoint("GET", "/big")(lambda: b"x" * 200_001)
    async with shop, web:
        for size in (200_001, 900_000):
            with pytest.raises(HTTPError) as refused:
                await web.request("POST", BIG, body=bytes(size))
            assert refused.value.status == 413
        with pytest.raises(HTTPError) as refused:
            await web.request("GET", BIG)
        assert refused.value.status == 413
        assert (await web.request("POST", BIG, body=bytes(200_000))).body == b"ok"


async def test_a_caller_does_not_send_what_exceeds_its_own_limits(make_nats):
    web = make_nats("web.example", max_body=400_000, max_fragments=2)
    async with web:
        for size in (400_001, 300_000):
            with pytest.raises(BusError, match=r"413|fragments") as refused:
                await web.request("POST", BIG, body=bytes(size))
            assert refused.value.status == 413


async def test_as_many_fragments_as_may_be_sent_are_sent(make_nats):
    shop, web = make_nats(HOST), make_nats("web.example", max_fragments=2)
    shop.endpoint("POST", "/big")(lambda request: str(len(request.body)))
    async with shop, web:
        most = 2 * web._transport.fragment_size
        assert (await web.request("POST", BIG, body=bytes(most))).text == str(most)
        with pytest.raises(BusError) as refused:
            await web.request("POST", BIG, body=bytes(most + 1))
        assert refused.value.reason == "too-many-fragments"


async def test_a_body_that_fits_into_a_message_is_sent_whole(make_nats, broker, plane):
    web, client, seen = make_nats("web.example"), await nats.connect(broker.url), []

    async def heard(message):
        seen.append(read_request(message.data).headers.get(control_headers.FRAGMENT))

    await client.subscribe(f"{plane}.safe.443.>", cb=heard)
    await settled(client)
    async with web:
        for more in (0, 1):
            body = bytes(web._transport.fragment_size + more)
            with pytest.raises(AckTimeout):
                await web.request("POST", BIG, body=body)
    await until(lambda: len(seen) == 2)
    await client.close()
    assert seen == [None, "1/2"]


async def test_no_more_is_sent_to_an_instance_whose_id_is_none(make_nats, broker, plane, caplog):
    web, client, subjects = make_nats("web.example"), await nats.connect(broker.url), []

    async def heard(message):
        subjects.append(message.subject)
        asked = read_request(message.data)
        ack = Response(100)
        for name, value in (
            (control_headers.OP_CODE, control_headers.ACK), (control_headers.FROM_ID, "a.b"),
            (control_headers.MSG_ID, asked.headers[control_headers.MSG_ID]),
        ):  # fmt: skip
            ack.headers[name] = value
        reply = f"{plane}.reply._.shop_example.web_example.{asked.headers[control_headers.FROM_ID]}"
        await client.publish(reply, write_response(ack))

    await client.subscribe(f"{plane}.safe.443.>", cb=heard)
    await settled(client)
    async with web:
        with pytest.raises(RequestTimeout):
            await web.request("POST", BIG, body=bytes(300_000), timeout=1.0)
    await client.close()
    assert len(subjects) == 1
    assert "was acknowledged by 'a.b', which is not a valid instance id" in caplog.text


class Sender:
    """A caller that sends what fragments it likes."""

    def __init__(self, url, plane, shop, host="web_example"):
        self.url, self.plane, self.shop, self.host = url, plane, shop, host
        self.answers: list[Response] = []

    async def __aenter__(self):
        self.client = await nats.connect(self.url)

        async def heard(message):
            self.answers.append(read_response(message.data))

        await self.client.subscribe(f"{self.plane}.reply._.*.{self.host}.id-1", cb=heard)
        await settled(self.client)
        return self

    async def __aexit__(self, *_):
        await self.client.close()

    async def send(self, index, count, body, *, message_id="AAAAAAAA", source="web_example"):
        request = Request("POST", BIG.replace("/big", ":443/big"), body=body)
        for name, value in (
            (control_headers.OP_CODE, "Req"),
            (control_headers.MSG_ID, message_id),
            (control_headers.FROM_ID, "id-1"),
            (control_headers.FRAGMENT, f"{index}/{count}"),
        ):
            request.headers[name] = value
        slot = "_" if index == 1 else self.shop.id
        await self.client.publish(
            f"{self.plane}.safe.443.{source}.shop_example.{slot}.POST.big", write_request(request)
        )
        await settled(self.client)

    async def answer(self):
        """Return the one response that is not an acknowledgement."""
        for _ in range(2000):
            got = [
                a for a in self.answers if a.headers[control_headers.OP_CODE] != control_headers.ACK
            ]
            if got:
                return got[0]
            await asyncio.sleep(0.01)
        return None


async def _with_sender(make_nats, broker, plane, story, **options):
    shop = make_nats(HOST, **options)
    shop.endpoint("POST", "/big")(lambda request: request.body)
    async with shop, Sender(broker.url, plane, shop) as sender:
        return await story(sender)


async def test_later_fragments_may_come_in_any_order(make_nats, broker, plane):
    async def story(sender):
        for index in (1, 3, 4, 2):
            await sender.send(index, 4, b"%d" % index)
        return await sender.answer()

    answer = await _with_sender(make_nats, broker, plane, story)
    assert answer.body == b"1234"


async def test_interleaved_transfers_do_not_mix(make_nats, broker, plane):
    async def story(sender):
        await sender.send(1, 2, b"a", message_id="AAAAAAAA")
        await sender.send(1, 2, b"x", message_id="BBBBBBBB")
        await sender.send(2, 2, b"b", message_id="AAAAAAAA")
        await sender.send(2, 2, b"!", source="rogue_example")  # another source, the same ids
        await sender.send(2, 2, b"y", message_id="BBBBBBBB")
        await asyncio.sleep(0.2)
        return {
            answer.headers[control_headers.MSG_ID]: answer.body
            for answer in sender.answers
            if answer.headers[control_headers.OP_CODE] == "Res"
        }

    answers = await _with_sender(make_nats, broker, plane, story)
    assert answers == {"AAAAAAAA": b"ab", "BBBBBBBB": b"xy"}


@pytest.mark.parametrize(
    ("sent", "status"),
    [
        ([(2, 2)], 408),  # of no transfer
        ([(1, 3), (2, 4)], 400),  # another count
        ([(1, 3), (2, 3), (2, 3)], 400),  # twice
        ([(1, 3), (7, 3)], 400),  # out of range
        ([(1, 3), (0, 3)], 400),
        ([(1, 1025)], 413),
    ],
)
async def test_fragments_that_do_not_fit_end_the_transfer(make_nats, broker, plane, sent, status):
    async def story(sender):
        for index, count in sent:
            await sender.send(index, count, b"x")
        return await sender.answer()

    answer = await _with_sender(make_nats, broker, plane, story)
    assert (answer.headers[control_headers.OP_CODE], answer.status) == ("Err", status)


async def test_a_transfer_that_is_open_when_its_service_ends_is_given_up(make_nats, broker, plane):
    shop = make_nats(HOST)
    shop.endpoint("POST", "/big")(lambda request: request.body)
    async with Sender(broker.url, plane, shop) as sender:
        async with shop:
            await sender.send(1, 2, b"a")
            await until(lambda: len(shop._server.transfers))
        assert len(shop._server.transfers) == 0
        answer = await sender.answer()
    assert (answer.status, b"the service is shutting down" in answer.body) == (503, True)


async def test_a_second_first_fragment_is_ignored(make_nats, broker, plane):
    async def story(sender):
        await sender.send(1, 2, b"a")
        await sender.send(1, 2, b"A")
        await sender.send(2, 2, b"b")
        return await sender.answer()

    assert (await _with_sender(make_nats, broker, plane, story)).body == b"ab"


async def test_a_transfer_that_falls_silent_is_answered_with_408(make_nats, broker, plane):
    async def story(sender):
        await sender.send(1, 3, b"a")
        answer = await sender.answer()
        await sender.send(2, 3, b"b")  # it comes too late
        await sender.send(3, 3, b"c")
        await settled(sender.client)
        await asyncio.sleep(0.3)
        return answer, [a.status for a in sender.answers]

    answer, statuses = await _with_sender(make_nats, broker, plane, story, round_trip=0.02)
    assert (answer.headers[control_headers.OP_CODE], answer.status) == ("Err", 408)
    assert "1 of 3 fragments arrived from web.example (id-1)" in answer.text
    assert sorted(statuses) == [100, 100, 100, 408], "one answer"


def test_a_transfer_is_not_silent_while_its_instance_sends_others():
    assembly: Reassembler[Request] = Reassembler(max_body=10, max_fragments=4, silence=1.0)
    assembly.begin(KEY, 2, now=0, ends=9)
    assembly.begin(("web.example", "id-2", "BBBBBBBB"), 2, now=0, ends=9)  # another instance
    other = ("web.example", "id-1", "CCCCCCCC")
    assembly.begin(other, 2, now=0.9, ends=9)
    assert assembly.overdue(1.5) == [("web.example", "id-2", "BBBBBBBB")]
    assert assembly.overdue(2.0) == [KEY, other]


def test_a_transfer_of_an_instance_that_always_sends_others_ends():
    assembly: Reassembler[Request] = Reassembler(max_body=10, max_fragments=4, silence=1.0)
    assembly.begin(KEY, 2, now=0, ends=99)
    for second in range(1, 6):
        assert assembly.overdue(second) == []
        assembly.begin(("web.example", "id-1", f"{second}"), 2, now=second, ends=99)
    assert assembly.overdue(5.5) == [KEY]


async def test_a_transfer_that_others_displace_is_answered(make_nats, broker, plane):
    shop = make_nats(HOST, max_body=100_000, round_trip=5.0)  # eight such bodies are held
    shop.endpoint("POST", "/big")(lambda request: request.body)
    sender = Sender(broker.url, plane, shop)
    async with shop, sender, Sender(broker.url, plane, shop, host="b_example") as other:
        for number in range(8):
            body = bytes(90_000)
            await sender.send(1, 2, body, source="b_example", message_id=f"y{number:07}")
            # Bodies that wait for a late event loop are bounded, too: each is acknowledged first.
            await until(lambda count=number + 1: len(other.answers) >= count)
        await sender.send(1, 2, bytes(90_000))
        answer = await other.answer()
    assert (answer.headers[control_headers.OP_CODE], answer.status) == ("Err", 503)
    assert answer.headers[control_headers.MSG_ID] == "y0000000"


async def test_no_caller_waits_out_its_budget_for_a_transfer_that_was_given_up(
    make_nats, monkeypatch
):
    shop, web = make_nats(HOST, round_trip=0.02), make_nats("web.example")
    shop.endpoint("POST", "/big")(lambda request: request.body)
    async with shop, web:
        # A sender that falls silent.
        monkeypatch.setattr(_request_fragments, "_publish_rest", lambda *_: None)
        with pytest.raises(RequestTimeout, match="1 of 3 fragments arrived"):
            await web.request(
                "POST", BIG, body=bytes(300_000), timeout=900
            )  # over the test's limit


async def test_a_fragmented_request_waits_for_its_acknowledgement_less_than_the_receiver(make_nats):
    web = make_nats("web.example", round_trip=0.05)
    async with web:
        for _ in range(256):
            web._transport.note_ack(3.0)  # slow services
        (short, _, _), (long, _, _) = (
            web._client._build("POST", BIG, None, None, bytes(size), None, None)
            for size in (10, 300_000)
        )
        limits = [ack_limit(each, web._runtime, web._transport) for each in (short, long)]
        assert 0.05 < limits[1] < web._server.transfers.silence < limits[0] == 1.0


async def test_missing_fragments_of_an_answer_time_out(make_nats, broker, plane):
    web = make_nats("web.example", round_trip=0.05)
    client = await nats.connect(broker.url)

    async def answer(message):
        head = microbus.decode(message.subject)
        sent = message.data.decode()
        given = dict(line.split(": ") for line in sent.split("\r\n")[1:] if line)
        for op, status, fragment in (("Ack", 202, None), ("Res", 200, "2/3"), ("Res", 200, "1/3")):
            made = Response(status, "" if op == "Ack" else "part")
            made.headers[control_headers.OP_CODE] = op
            made.headers[control_headers.FROM_ID] = "id-9"
            made.headers[control_headers.MSG_ID] = given[control_headers.MSG_ID]
            if fragment:
                made.headers[control_headers.FRAGMENT] = fragment
            reply = microbus.encode_reply(
                plane=plane, source=HOST, host=head.source, id=given[control_headers.FROM_ID]
            )
            await client.publish(reply, write_response(made))

    await client.subscribe(f"{plane}.safe.443.*.shop_example._.GET.big", cb=answer)
    await settled(client)
    async with web:
        with pytest.raises(RequestTimeout):
            await web.request("GET", BIG, timeout=600)  # it ends before its time budget
        assert len(web._client.responses.transfers) == 0
    await client.close()


def test_the_bytes_of_a_transfer_are_limited():
    assembly: Reassembler[Request] = Reassembler(max_body=10, max_fragments=4, silence=1.0)
    assembly.begin(KEY, 3, now=0, ends=9)
    assert assembly.add(KEY, 1, 3, Request("GET", "x", body=b"12345"), now=0) is None
    with pytest.raises(HTTPError) as refused:
        assembly.add(KEY, 2, 3, Request("GET", "x", body=b"123456"), now=0)
    assert refused.value.status == 413
    assert assembly.ended(KEY)


def test_the_number_of_open_transfers_is_limited():
    assembly: Reassembler[Request] = Reassembler(max_body=10, max_fragments=4, silence=1.0)
    for number in range(1024):
        assembly.begin(("a.b", "id-1", f"{number:08}"), 2, now=0, ends=9)
    with pytest.raises(HTTPError) as refused:
        assembly.begin(("a.b", "id-1", "more"), 2, now=0, ends=9)
    assert refused.value.status == 503
    assert len(assembly.overdue(2.0)) == 1024
    assert len(assembly) == 0


def test_a_place_of_a_source_with_as_many_transfers_is_not_taken():
    assembly: Reassembler[Request] = Reassembler(max_body=10, max_fragments=4, silence=1.0)
    for number in range(1024):
        assembly.begin(("ab"[number % 2], "id-1", f"{number:08}"), 2, now=0, ends=9)
    for source in "ba":
        with pytest.raises(HTTPError) as refused:
            assembly.begin((source, "id-1", "more"), 2, now=0, ends=9)
        assert refused.value.status == 503
    assembly.begin(("c", "id-1", "more"), 2, now=0, ends=9)
    assert len(assembly) == 1024
    assert assembly.ended(("a", "id-1", "00000000")), "the oldest of those with the most"


def test_bytes_of_a_source_that_holds_as_many_are_not_taken():
    assembly: Reassembler[Request] = Reassembler(max_body=10, max_fragments=10, silence=1.0)
    assert assembly.max_size == 80
    held = {"a": [9, 9, 9, 9, 5], "b": [9, 9, 9, 9, 3]}
    for source, sizes in held.items():
        for number, size in enumerate(sizes):
            key = (source, "id-1", f"{number}")
            assembly.begin(key, 3, now=0, ends=9)
            assembly.add(key, 1, 3, Request("GET", "x", body=bytes(size)), now=0)
    with pytest.raises(HTTPError) as refused:  # then both would hold 41
        assembly.add(("b", "id-1", "4"), 2, 3, Request("GET", "x", body=b"12"), now=0)
    assert refused.value.status == 503
    assert not any(assembly.ended(("a", "id-1", f"{number}")) for number in range(5))
    assert assembly.ended(("b", "id-1", "4"))


def test_a_body_is_split_into_as_few_parts_as_possible():
    assert cut(b"", 4) == [b""]
    assert cut(b"1234", 4) == [b"1234"]
    assert cut(b"123456789", 4) == [b"1234", b"5678", b"9"]


@pytest.mark.parametrize("kind", ["request", "response"])
def test_a_fragment_is_a_message_of_its_own(kind):
    """A request may be sent once more, whole: its fragments leave it as it was."""
    if kind == "request":
        whole = RequestEnvelope("POST", BIG, "/big", "", b"123456789")
    else:
        whole = ResponseEnvelope(200, b"123456789")
    whole.headers = Headers({"X-Mark": "1"})
    fragments = [fragment_of(whole, cut(whole.body, 4), number) for number in (1, 2, 3)]
    assert [each.body for each in fragments] == [b"1234", b"5678", b"9"]
    assert [dict(each.headers) for each in fragments] == [
        {"X-Mark": "1", control_headers.FRAGMENT: f"{number}/3"} for number in (1, 2, 3)
    ]
    assert (whole.body, dict(whole.headers)) == (b"123456789", {"X-Mark": "1"})


# --- a server alone


def fragment(
    index, count, body=b"x", *, budget=0.0, source="web.example", **more
) -> RequestEnvelope:
    """Return a fragment of a request as a server has read it."""
    given = {"instance": "id-1", "message_id": "AAAAAAAA"} | more
    request = RequestEnvelope("POST", BIG, "/big", "", body, budget=budget)
    request.source, request.message_id = source, given["message_id"]
    request.headers = Headers(
        {control_headers.FROM_ID: given["instance"], control_headers.FRAGMENT: f"{index}/{count}"}
    )
    return request


def begin_with(shop):
    """Return a function that gives a fragment to the server, and what is handed to handlers."""
    started = []
    shop._server.runner.start = lambda *given: started.append(given[1:2] + given[3:])
    endpoint = shop._server.own_endpoints[0]
    return lambda each: shop._server._begin(endpoint, each, "to", None), started


@pytest.mark.parametrize(
    ("budget", "left"), [(0, 20), (0.5, 0.5), (20.5, 20.5), (900, 900), (900.5, 900)]
)
async def test_a_transfer_ends_with_the_time_budget_of_its_request(make_memory, budget, left):
    async with make_memory(HOST) as shop:
        begin, _ = begin_with(shop)
        begin(fragment(1, 2, budget=budget))
        (transfer,) = shop._server.transfers._open.values()
        assert transfer.ends - transfer.last_arrival == pytest.approx(left)


async def test_a_transfer_is_of_one_source_one_instance_and_one_message(make_memory):
    senders = [{}, {"source": "b.example"}, {"instance": "id-2"}, {"message_id": "BBBBBBBB"}]
    async with make_memory(HOST) as shop:
        begin, started = begin_with(shop)
        for index in (1, 2):
            for number, sender in enumerate(senders):
                begin(fragment(index, 2, b"%d%d" % (index, number), **sender))
        assert [(whole.body, *error) for whole, *error in started] == [
            (b"1%d2%d" % (number, number),) for number in range(len(senders))
        ]


@pytest.mark.parametrize("end", [(2, 2), (2, 3), (3, 2)])
async def test_fragments_after_the_end_of_a_transfer_are_not_answered(make_memory, end):
    async with make_memory(HOST) as shop:
        begin, started = begin_with(shop)
        begin(fragment(1, 2))
        begin(fragment(*end))
        told = [[each.status for each in error] for _, *error in started]
        assert told == ([[]] if end == (2, 2) else [[400]])
        for index in (1, 2, 3):
            begin(fragment(index, 2))
        assert (len(started), len(shop._server.transfers)) == (1, 0)


async def test_a_response_to_a_multicast_whose_fragments_do_not_fit_is_only_an_error(
    make_nats, plane
):
    web, loop = make_nats("web.example"), asyncio.get_running_loop()

    @web.watch
    def answer(direction, subject, payload):
        if direction == "out" and b"//old.example" in payload:
            message_id = payload.partition(b"Microbus-Msg-Id: ")[2].partition(b"\r")[0]
            head = b"HTTP/1.1 200 OK\r\nContent-Length: 1\r\nMicrobus-Op-Code: Res\r\n"
            named = b"Microbus-From-Id: id-1\r\nMicrobus-Msg-Id: %b\r\n" % message_id
            receive = web._client.responses.receive_payload
            for _ in range(2):  # the first one twice
                fragment = head + named + b"Microbus-Fragment: 1/3\r\n\r\nx"
                reply = f"{plane}.reply._.old_example.web_example.{web.id}"
                loop.call_soon(receive, reply, fragment)

    async with web:
        (found,) = [each async for each in web.publish("GET", "https://old.example/x")]
    assert (found.status, found.body, found.error.status) == (400, b"", 400)


async def test_nothing_is_kept_of_the_senders_of_transfers_that_have_ended():
    async def read_all() -> bool:
        return True

    held = Reassembler(max_body=10, max_fragments=4, silence=0.1, read_all=read_all)
    now = asyncio.get_running_loop().time()
    for number in range(9):
        key = (f"web{number}.example", f"id-{number}", "A")
        held.begin(key, 1, now=now, ends=now + 99)
        part = Request("GET", BIG, headers=Headers({control_headers.FRAGMENT: "1/1"}), body=b"x")
        assert held.add(key, 1, 1, part, now=now) is part
    assert len(held) == 0
    await until(lambda: held._sweep is None)
    assert (held._heard, held._places, held._bytes, held._size) == ({}, {}, {}, 0)
    held.close()
