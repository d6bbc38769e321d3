"""Reception of all that the server sent before it violates the protocol, however TCP cut it."""

from __future__ import annotations

import asyncio
import contextlib
import itertools
import socket
from collections import defaultdict
from typing import Any

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from engines import ENGINES
from subtrie import WireError
from subtrie._core import engine as _engine
from subtrie.connector import Connector
from subtrie.connector._broker.session import Session

SUBJECT = "p.safe.443.web_example.shop_example._.POST.x"
HEAD = (
    "POST https://shop.example/x HTTP/1.1\r\nHost: shop.example\r\n"
    "Microbus-Op-Code: Req\r\nMicrobus-From-Id: id-raw\r\nMicrobus-Msg-Id: {}\r\n\r\n"
)


def message(sid: object, body: bytes, subject: str = SUBJECT) -> bytes:
    return f"MSG {subject} {sid} {len(body)}\r\n".encode() + body + b"\r\n"


REQUESTS = [message(sid, HEAD.format(f"m{n}").encode()) for n, sid in enumerate((7, 8, 7, 9))]
PLAIN = [
    message(9, b"hi", "orders.new"),
    b"HMSG a.b 8 r 12 14\r\nNATS/1.0\r\n\r\nhi\r\n",
    b"PING\r\n",
    b'INFO {"a":1}\r\n',
    b"-ERR 'No'\r\n",
]
BROKEN = [
    b"BOGUS\r\n",
    b"MSG a 7\r\n",
    b"MSG a x7 2\r\nhi\r\n",
    message(2**64, b"hi", "a"),
    message("9" * 5000, b"hi", "a"),
    b"MSG a 7 2\r\nhixx",
    b"MSG a 7 9999999999\r\n",
    b"INFO {\r\n",
    b"INFO []\r\n",
    b"\r\n",
]
PARTS = st.lists(st.sampled_from(REQUESTS + PLAIN), max_size=6).map(b"".join)
STREAMS = st.builds(b"".join, st.tuples(PARTS, st.sampled_from(BROKEN), PARTS)) | PARTS
CUTS = st.lists(st.integers(0, 2000), max_size=8)


def pieces(stream: bytes, cuts: list[int]) -> list[bytes]:
    places = [0, *sorted(cut % (len(stream) + 1) for cut in cuts), len(stream)]
    return [stream[a:b] for a, b in itertools.pairwise(places)]


def shown(item: Any) -> Any:
    return item if isinstance(item, tuple) else (item.op, item.raw, item.offset)


def read(engine: Any, parts: list[bytes]) -> tuple[Any, ...]:
    """Return all that a reader gives: in order, by receiver, for the server, and the error."""
    reader, written = engine.DeliveryReader(), (b"<", b">")
    for sid, receiver in ((7, "one"), (8, "two")):
        reader.acknowledge(sid, "p", "shop.example", written, written, receiver, f"tag {sid}")
    items: list[Any] = []
    by_receiver: dict[str, list[Any]] = {"one": [], "two": []}
    acknowledged, failure = b"", None
    for part in parts:
        try:
            found, groups, acknowledgements = reader.feed(part)
        except WireError as error:
            found, groups = error.operations, error.groups
            acknowledgements = error.acknowledgements
            told = (error.reason, error.cause, error.position, error.resume, error.state)
            assert failure in (None, told), "the error stays"
            assert failure is None or not (found or groups or acknowledgements)
            failure = told
        items += [shown(item) for item in found]
        acknowledged += acknowledgements
        for receiver, messages in groups:
            by_receiver[receiver] += messages
    return items, by_receiver, acknowledged, failure


@given(stream=STREAMS, cuts=CUTS)
@example(stream=REQUESTS[0] + b"BOGUS\r\n", cuts=[])
@example(stream=REQUESTS[0] + message(2**64, b"hi") + REQUESTS[1], cuts=[])
@pytest.mark.parametrize("name", ENGINES)
def test_any_division_of_a_stream_gives_the_same_messages_acknowledgements_and_error(
    name, stream, cuts
):
    whole = read(ENGINES[name], [stream])
    assert read(ENGINES[name], pieces(stream, cuts)) == whole


@pytest.mark.parametrize("broken", BROKEN)
def test_acknowledged_requests_before_a_protocol_error_are_not_lost(broken):
    items, by_receiver, acknowledged, failure = read(
        ENGINES["native"], [b"".join(REQUESTS) + broken + b"".join(REQUESTS)]
    )
    assert [tag for tag, _, _ in by_receiver["one"]] == ["tag 7", "tag 7"]
    assert [tag for tag, _, _ in by_receiver["two"]] == ["tag 8"]
    assert acknowledged.count(b"PUB ") == 3
    assert [item[0] for item in items] == [9]
    assert failure is not None


@pytest.mark.parametrize("broken", BROKEN)
def test_engines_agree_on_an_error_in_what_a_server_sends(broken):
    stream = b"".join(PLAIN) + broken + b"".join(PLAIN)
    native, reference = (read(engine, [stream]) for engine in ENGINES.values())
    assert native == reference


def test_the_largest_subscription_id_and_one_with_thousands_of_zeros(engine):
    zeros = message("0" * 5000 + "7", b"hi", "a")
    reader = engine.DeliveryReader()
    assert reader.feed(message(2**64 - 1, b"hi", "a") + zeros) == (
        [(2**64 - 1, "a", b"hi"), (7, "a", b"hi")], [], b""
    )  # fmt: skip


@given(stream=STREAMS, cuts=CUTS)
def test_a_session_delivers_and_acknowledges_the_same_however_the_stream_is_cut(stream, cuts):
    async def session_of(parts: list[bytes]) -> tuple[Any, ...]:
        received: dict[str, list[Any]] = defaultdict(list)
        loop = asyncio.get_running_loop()
        here, there = socket.socketpair()
        made = Session(
            loop,
            {sid: lambda *got, to=str(sid): received[to].append(got) for sid in (7, 8, 9)},
            on_info=lambda info: None,
            on_error=received["error"].append,
            on_writable=lambda: None,
        )
        if _engine.report.name == "native":
            for sid in (7, 8):
                take, written = received[f"acknowledged {sid}"].extend, (b"<", b">")
                made.reader.acknowledge(sid, "p", "shop.example", written, written, take, sid)
        await loop.create_connection(lambda: made, sock=here)
        for part in parts:
            made.get_buffer(-1)[: len(part)] = part
            made.buffer_updated(len(part))
        ended = made.lost.done() or made._error
        made.close()
        await made.lost
        with there:
            there.settimeout(None)
            sent = b"".join(iter(lambda: there.recv(1 << 16), b""))
        # The acknowledgements of a read are written before its PONGs.
        return received, sent.count(b"PONG\r\n"), sent.replace(b"PONG\r\n", b""), str(ended)

    async def both() -> None:
        assert await session_of(pieces(stream, cuts)) == await session_of([stream])

    asyncio.run(both())


async def test_a_request_in_one_piece_with_a_protocol_error_is_answered(broker, plane):
    """A relay before a real server adds an unknown operation to the piece with the request."""
    spoiled = []

    async def relay(reader, writer):
        server_reader, server = await asyncio.open_connection("127.0.0.1", broker.port)

        async def to_client():
            while piece := await server_reader.read(1 << 16):
                if b".POST.order " in piece and not spoiled:
                    assert piece.endswith(b"\r\n"), "the piece is whole"
                    spoiled.append(piece)
                    piece += b"BOGUS\r\n"
                writer.write(piece)
            writer.close()

        async def to_server():
            with contextlib.suppress(ConnectionError):
                while piece := await reader.read(1 << 16):
                    server.write(piece)
            server.close()

        await asyncio.gather(to_client(), to_server())

    listening = await asyncio.start_server(relay, "127.0.0.1", 0)
    port = listening.sockets[0].getsockname()[1]
    options = {"plane": plane, "short_circuit": False, "transport": "native"}
    shop = Connector("shop.example", nats=f"nats://127.0.0.1:{port}", **options)
    web = Connector("web.example", nats=broker.url, **options)
    taken = []

    @shop.endpoint("POST", "/order")
    async def order() -> dict[str, int]:
        taken.append(1)
        return {"order": 17}

    async with shop, web:
        response = await web.request("POST", "https://shop.example/order")
        assert (response.json(), taken, len(spoiled)) == ({"order": 17}, [1], 1)
    listening.close()
