"""The timer of acknowledgements does not blame a subscriber for a loop that was blocked."""

from __future__ import annotations

import asyncio
import time
from types import SimpleNamespace

import pytest

from patience import until
from subtrie.connector._ack_timer import AckTimer, ack_limit
from subtrie.connector._fragments import MAX_ACK_WAIT, MAX_SILENCE
from subtrie.connector._transport import Transport

TIMEOUT = 0.2


@pytest.mark.parametrize(
    ("when", "timeouts"),
    [("before the timer", 2), ("while it waits for what was read", 2),
     ("while it waits for what was read", 0.6)],
)  # fmt: skip
async def test_the_timer_starts_again_if_the_loop_was_blocked(when, timeouts):
    loop, expired = asyncio.get_running_loop(), asyncio.Event()
    asked, freed = [], []

    def block():
        time.sleep(timeouts * TIMEOUT)
        freed.append(loop.time())

    def acked():
        asked.append(1)
        if when != "before the timer" and len(asked) == 1:
            # The timer is due: in the next turn it begins to wait, in the turn after it waits.
            loop.call_soon(loop.call_soon, block)
        return False

    transport = Transport(
        "web.example", broker="", short_circuit=True, creds=None, allow_readable_creds=False,

    )  # fmt: skip
    timer = AckTimer(loop, TIMEOUT, acked, expired.set, transport)
    if when == "before the timer":
        block()
    await expired.wait()
    assert loop.time() - freed[0] >= TIMEOUT
    timer.stop()


class _Stopped(Transport):
    """The thread of the connection stops after a PONG, and reads the acknowledgement later."""

    pings = 0

    async def responds(self, timeout):
        self.pings += 1
        return True


async def test_an_acknowledgement_that_is_read_late_by_the_connection_counts():
    transport = _Stopped(
        "web.example", broker="", short_circuit=True, creds=None, allow_readable_creds=False,
    )  # fmt: skip
    expired = []
    timer = AckTimer(
        asyncio.get_running_loop(),
        0.01,
        lambda: transport.pings == 2,
        lambda: expired.append(1),
        transport,
    )
    await until(lambda: transport.pings == 2 and timer._check_task is None)
    assert not expired


@pytest.mark.parametrize(("of_the_broker", "size", "limit"),
                         [(60.0, 100, 60.0), (60.0, 101, 5.0), (4.9, 101, 4.9)])  # fmt: skip
def test_the_sender_of_fragments_waits_at_most_ten_round_trips(of_the_broker, size, limit):
    """It gives up before the receiver does."""
    runtime = SimpleNamespace(round_trip=0.5)
    transport = SimpleNamespace(fragment_size=100, ack_limit=lambda round_trip: of_the_broker)
    request = SimpleNamespace(body=b"x" * size)
    assert ack_limit(request, runtime, transport) == limit
    assert MAX_ACK_WAIT < MAX_SILENCE
