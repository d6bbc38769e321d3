"""Many timeouts on one timer of the event loop."""

from __future__ import annotations

import asyncio
import random

from patience import until
from subtrie.connector._timers import Timers


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
