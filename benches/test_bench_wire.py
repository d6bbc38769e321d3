"""Cost of parsing an operation, compared with the parser of the official Python client.

``pytest benches/test_bench_wire.py --benchmark-only``. One round reads 1,000 deliveries in pieces
of 64 KiB, so the µs of a round are ns an operation. In ``parts`` subject, reply and payload of each
are asked for too, which nats-py's parser always makes; what it calls with them does nothing here.
"""

from __future__ import annotations

import asyncio

import pytest

import subtrie._subtrie
import subtrie.reference

pytest.importorskip("nats", reason="the rival is not installed")
from nats.protocol.parser import Parser as NatsPyParser

ENGINES = {"native": subtrie._subtrie, "reference": subtrie.reference}
COUNT = 1000
PIECE = 65_536
STREAM = b"".join(
    b"MSG orders.eu.%d.new 42 _INBOX.abc.%d 128\r\n%b\r\n" % (n, n, b"x" * 128)
    for n in range(COUNT)
)
PIECES = [STREAM[at : at + PIECE] for at in range(0, len(STREAM), PIECE)]


def engine_read(engine, parts):
    def run() -> int:
        parser = engine.Parser("server_to_client")
        count = 0
        for piece in PIECES:
            for op in parser.feed(piece):
                count += 1
                if parts:
                    assert op.subject
                    assert op.reply
                    assert op.payload
        return count

    return run


class Counted:
    """Do nothing; the client's parser calls it."""

    def __init__(self) -> None:
        self.count = 0

    async def _process_msg(self, sid, subject, reply, payload, headers) -> None:
        self.count += 1


def nats_py():
    loop = asyncio.new_event_loop()  # made once: what it costs is not the parser's

    def run() -> int:
        client = Counted()
        parser = NatsPyParser(client)

        async def fed() -> None:
            for piece in PIECES:
                await parser.parse(piece)

        loop.run_until_complete(fed())
        return client.count

    return run


ROWS = {
    "native": engine_read(subtrie._subtrie, False),
    "native-parts": engine_read(subtrie._subtrie, True),
    "reference": engine_read(subtrie.reference, False),
    "nats-py": nats_py(),
}


@pytest.mark.parametrize("row", ROWS)
def test_read(benchmark, row):
    run = ROWS[row]
    assert run() == COUNT
    benchmark.group = "read 1,000 deliveries of 128 bytes"
    benchmark.pedantic(run, rounds=20, warmup_rounds=2)
