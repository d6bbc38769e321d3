"""Many timeouts on one timer of the event loop."""

from __future__ import annotations

import asyncio
import random
from types import SimpleNamespace

import pytest

from patience import PATIENCE, until
from subtrie.connector._timers import Deadline, Timers


async def test_timeouts_fire_in_order_and_cancelled_ones_do_not():
    loop = asyncio.get_running_loop()
    timers, rung = Timers(loop), []
    dice = random.Random(7)
    now = loop.time()
    limits = {}
    for number in range(3000):
        after = dice.random() * 0.05
        limits[number] = (after, timers.at(now + after, lambda n=number: rung.append(n)))
    kept = {number for number in limits if number % 3 == 0}
    for number in set(limits) - kept:
        timers.cancel(limits[number][1])
        timers.cancel(limits[number][1])
    assert len(timers) == len(kept)
    await asyncio.sleep(0.1)
    assert rung == sorted(kept, key=lambda n: limits[n][0])
    assert len(timers) == 0


async def test_an_earlier_timeout_fires_first_and_a_failing_one_stops_nothing():
    loop = asyncio.get_running_loop()
    timers, rung, said = Timers(loop), [], []
    loop.set_exception_handler(lambda _, context: said.append(context["exception"]))
    late = timers.at(loop.time() + 60, lambda: rung.append("late"))
    timers.at(loop.time() + 0.01, lambda: 1 / 0)
    timers.at(loop.time() + 0.02, lambda: timers.at(loop.time(), lambda: rung.append("made")))
    await until(lambda: rung)
    assert rung == ["made"]
    assert [type(error) for error in said] == [ZeroDivisionError]
    timers.close()
    assert len(timers) == 1
    timers.cancel(late)
    timers.close()
    assert len(timers) == 0


class ManualLoop:
    """The clock and the timers of an event loop, moved by hand."""

    def __init__(self) -> None:
        self.now, self.scheduled, self.told = 100.0, [], []

    def time(self) -> float:
        return self.now

    def call_at(self, when, call):
        handle = SimpleNamespace(when=when, call=call)
        handle.cancel = lambda: self.scheduled.remove(handle)
        self.scheduled.append(handle)
        return handle

    def call_exception_handler(self, context) -> None:
        self.told.append(context)

    def advance(self, seconds: float) -> None:
        end = self.now + seconds
        while due := [each for each in self.scheduled if each.when <= end]:
            first = min(due, key=lambda each: each.when)
            self.scheduled.remove(first)
            self.now = max(self.now, first.when)
            first.call()
        self.now = end


@pytest.mark.parametrize("seed", range(5))
def test_timeouts_are_those_of_a_model(seed):
    """Compare what fires, and in which order, with one timer of the loop and bounded memory."""
    draw, loop = random.Random(seed), ManualLoop()
    timers, fired, waiting, expected = Timers(loop), [], {}, []
    for number in range(6000):
        action = draw.random()
        if action < 0.55 or (action < 0.9 and not waiting):
            when = loop.now + draw.choice([0.0, 0.5, 0.5, 1.0, 60.0, 600.0])

            def fire(number=number):
                fired.append(number)
                if number % 50 == 0:
                    raise KeyError(number)

            waiting[number] = when, timers.at(when, fire)
        elif waiting and action < 0.97 - seed / 100:
            gone = draw.choice(list(waiting))
            timers.cancel(waiting.pop(gone)[1])
        elif action < 0.99:
            seconds = draw.choice([0.0, 0.25, 1.0])
            loop.advance(seconds)
            due = sorted((when, each) for each, (when, _) in waiting.items() if when <= loop.now)
            for _, each in due:
                expected.append(each)
                timers.cancel(waiting.pop(each)[1])
        elif action < 0.995:
            timers.close()
            assert len(timers._heap) == len(timers)
        assert len(timers) == len(waiting)
        assert len(timers._heap) <= max(2 * len(waiting), 512) + len(waiting) + 1
        assert len(loop.scheduled) <= 1
        if waiting:
            assert loop.scheduled[0].when <= min(when for when, _ in waiting.values())
    assert fired == expected
    assert [each["exception"].args[0] for each in loop.told] == [n for n in fired if n % 50 == 0]
    for _, timeout in waiting.values():
        timers.cancel(timeout)
    timers.close()
    assert (loop.scheduled, len(timers)) == ([], 0)


def test_timeouts_within_the_resolution_of_the_clock_fire_together():
    loop, fired = ManualLoop(), []
    timers = Timers(loop)
    for after in (0.0, 1e-6, 2e-6):
        timers.at(loop.now + after, lambda after=after: fired.append(after))
    loop.scheduled[0].call()
    assert fired == [0.0, 1e-6]


def test_a_timeout_may_cancel_most_of_those_that_are_due():
    loop, fired = ManualLoop(), []
    timers = Timers(loop)
    timers.at(loop.now, lambda: [timers.cancel(each) for each in others[:600]])
    others = [timers.at(loop.now, lambda n=n: fired.append(n)) for n in range(900)]
    loop.advance(0.0)
    assert fired == list(range(600, 900))
    assert (len(timers), timers._heap, loop.scheduled) == (0, [], [])


def test_a_timeout_after_all_were_cancelled_fires():
    loop, fired = ManualLoop(), []
    timers = Timers(loop)
    timers.cancel(timers.at(loop.now + 1, fired.clear))
    timers.close()
    timers.at(loop.now + 2, lambda: fired.append(loop.now))
    loop.advance(3)
    assert fired == [102.0]


@pytest.mark.parametrize("also", [False, True])
async def test_a_deadline_cancels_a_task_that_has_begun(also):
    loop, ended = asyncio.get_running_loop(), []
    timers = Timers(loop)

    async def handle() -> None:
        try:
            await asyncio.sleep(PATIENCE)
        except asyncio.CancelledError:
            ended.append(deadline.passed())
            raise

    task = loop.create_task(handle())
    deadline = Deadline(timers, loop.time() + 600, task)
    deadline._on_timeout()
    assert not task.cancelling(), "it has not begun"
    await asyncio.sleep(0)
    assert task.cancelling() == 1
    if also:
        task.cancel()
    await asyncio.wait([task])
    assert ended == [not also]
    deadline.stop()
    assert not Deadline(timers, loop.time() + PATIENCE, task).passed()


async def test_a_deadline_that_is_stopped_cancels_nothing():
    timers = Timers(asyncio.get_running_loop())
    deadline = Deadline(timers, 0.0, asyncio.current_task())
    assert len(timers) == 1
    deadline.stop()
    assert (len(timers), deadline.passed()) == (0, False)
    await asyncio.sleep(0)
