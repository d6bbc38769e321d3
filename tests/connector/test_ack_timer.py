"""The timer of acknowledgements does not blame a subscriber for a loop that was blocked."""

from __future__ import annotations

import asyncio
import time
from types import SimpleNamespace

import pytest

from patience import until
from subtrie.connector import _ack_timer
from subtrie.connector._ack_timer import AckTimer, ack_limit
from subtrie.connector._fragments import MAX_ACK_WAIT, MAX_SILENCE
from subtrie.connector._transport import Transport

from .test_timers import ManualLoop

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


class _Steps(ManualLoop):
    """The loop and the transport of a timer: what they answer, one after the other, and when.

    Args:
        monkeypatch: Replaces the pause of the timer.
        acked: Whether the acknowledgement has arrived, each time; later it has not.
        lost: Whether the connection is lost, each time; later it is not.
        answers: Whether the broker answers, each time; later it does.
        pause: How much longer the pause takes.
    """

    def __init__(self, monkeypatch, *, acked=(), lost=(), answers=(), pause=0.0):
        super().__init__()
        self._acked, self._lost, self._answers = iter(acked), iter(lost), iter(answers)
        self.pings, self.pauses, self.expired, self.tasks = [], [], [], []
        self._late = pause
        monkeypatch.setattr(_ack_timer.asyncio, "sleep", self._pause)

    def timer(self, **more) -> AckTimer:
        expired = self.expired
        return AckTimer(self, 10.0, self.acked, lambda: expired.append(self.now), self, **more)

    def call_at(self, when, call):
        handle = super().call_at(when, call)
        remove = handle.cancel
        handle.cancel = lambda: handle in self.scheduled and remove()
        return handle

    def acked(self) -> bool:
        return next(self._acked, False)

    def disconnected(self) -> bool:
        return next(self._lost, False)

    async def responds(self, timeout) -> bool:
        self.pings.append(timeout)
        return next(self._answers, True)

    async def _pause(self, seconds) -> None:
        self.pauses.append(seconds)
        self.now += seconds + self._late

    def create_task(self, work) -> asyncio.Task[None]:
        self.tasks.append(asyncio.get_running_loop().create_task(work))
        return self.tasks[-1]


@pytest.mark.parametrize(
    ("steps", "pings", "then"),
    [
        ({}, 2, "expired"),
        ({"acked": [True]}, 0, "ended"), ({"acked": [False, True, True]}, 1, "ended"),
        ({"acked": [False, False, True]}, 2, "ended"),
        ({"lost": [True]}, 0, "again"), ({"lost": [False, True]}, 2, "again"),
        ({"answers": [False]}, 1, "again"), ({"answers": [True, False]}, 2, "again"),
        ({"answers": [False], "acked": [False, True]}, 1, "ended"),
        ({"pause": 2.5}, 2, "expired"), ({"pause": 2.75}, 2, "again"),
    ],
    ids=str,
)  # fmt: skip
async def test_the_timer_blames_the_subscriber_last(monkeypatch, steps, pings, then):
    loop = _Steps(monkeypatch, **steps)
    loop.timer()
    loop.advance(9.75)
    assert (loop.pings, loop.tasks) == ([], [])
    loop.advance(0.25)
    await asyncio.gather(*loop.tasks)
    assert loop.pings == [10.0] * pings, "each may take as long as the acknowledgement"
    assert loop.pauses == ([1.0] if pings else [])
    assert loop.expired == ([loop.now] if then == "expired" else [])
    assert [each.when for each in loop.scheduled] == ([loop.now + 10.0] if then == "again" else [])


@pytest.mark.parametrize(("late", "blocked"), [(0.0, False), (2.5, False), (2.75, True)])
async def test_a_loop_is_blocked_if_it_is_later_than_a_quarter_of_the_timeout(
    monkeypatch, late, blocked
):
    for due in (False, True):
        loop = _Steps(monkeypatch)
        if due:
            timer = loop.timer(due=loop.now - late)
        else:
            timer = loop.timer()
            loop.now += 10.0 + late
            loop.scheduled.pop().call()
        assert (len(loop.tasks), len(loop.scheduled)) == ((0, 1) if blocked else (1, 0))
        timer.stop()
        await asyncio.gather(*loop.tasks, return_exceptions=True)


async def test_a_timer_that_is_stopped_does_nothing_more(monkeypatch):
    loop = _Steps(monkeypatch)
    timer = loop.timer()
    timer.stop()
    assert loop.scheduled == []
    timer = loop.timer()
    loop.advance(10.0)
    timer.stop()
    await asyncio.gather(*loop.tasks, return_exceptions=True)
    assert [each.cancelled() for each in loop.tasks] == [True]
    assert (loop.pings, loop.expired) == ([], [])


@pytest.mark.parametrize(("of_the_broker", "size", "limit"),
                         [(60.0, 100, 60.0), (60.0, 101, 5.0), (4.9, 101, 4.9)])  # fmt: skip
def test_the_sender_of_fragments_waits_at_most_ten_round_trips(of_the_broker, size, limit):
    """It gives up before the receiver does."""
    runtime = SimpleNamespace(round_trip=0.5)
    transport = SimpleNamespace(fragment_size=100, ack_limit=lambda round_trip: of_the_broker)
    request = SimpleNamespace(body=b"x" * size)
    assert ack_limit(request, runtime, transport) == limit
    assert MAX_ACK_WAIT < MAX_SILENCE
