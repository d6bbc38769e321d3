"""The work of the behaviour rules is linear: twice the capture, about twice the instructions."""

from __future__ import annotations

import gc
import tracemalloc

import pytest
from conversation_steps import (
    acked,
    connected,
    delivered,
    op,
    subscribed,
    subscription,
    talk,
    unsubscription,
)

import counted_work
from subtrie.wire import conversation

#: Steps of the smaller capture of a kind.
_COUNT = 80


def _rows(steps, kind="client"):
    return list(talk(*steps, kind=kind))


def _pings(count):
    """PINGs that get no PONG, over some minutes: each looked for what followed it."""
    ping = op("PING")
    return [("c2s", ping, place * 1_000_000_000, 1) for place in range(count)]


def _answered_late(count):
    """All PINGs, then all PONGs."""
    ping, pong = op("PING"), op("PONG", "server_to_client")
    return [("c2s", ping, 0, 1)] * count + [("s2c", pong, 1, 1)] * count


def _verbose(count):
    """Operations whose +OK come at the end."""
    first = ("c2s", op('CONNECT {"verbose":true}'), 0, 1)
    sub, good = op("SUB a 1"), op("+OK", "server_to_client")
    return [first, *[("c2s", sub, 0, 1)] * count, *[("s2c", good, 1, 1)] * (count + 1)]


def _deliveries(count):
    """Deliveries of one subscription without acknowledgements."""
    return _rows([*connected(), *subscribed(), *(delivered(2, n) for n in range(count))])


def _acknowledged(count):
    """Deliveries that are acknowledged at the end."""
    sent = (delivered(2, n) for n in range(count))
    answers = (acked(3, n) for n in range(count))
    return _rows([*connected(), *subscription(1), *sent, *answers])


def _durables(count):
    """Durable subscriptions that are requested again and again after acknowledgements."""
    steps = [*connected(), *subscription(1, "a", durableName="d")]
    for number in range(count):
        steps += [delivered(2, number, "a"), acked(2, number, "a")]
        steps += subscription(3, f"b{number}", durableName="d")
    return _rows(steps)


def _unsubscribed(count):
    """Durable subscriptions of many names, each unsubscribed."""
    steps = [*connected()]
    for number in range(count):
        steps += subscription(1, f"a{number}", durableName=f"d{number}")
        steps += [delivered(2, 1, f"a{number}"), acked(2, 1, f"a{number}")]
    for number in range(count):
        steps.append(unsubscription(4, durableName=f"e{number}"))
    return _rows(steps)


def _owed(count):
    """A durable subscription that is requested again and again, and never acknowledges."""
    steps = [*connected(), *subscription(1, "a", durableName="d")]
    steps += [delivered(2, number, "a") for number in range(count)]
    for number in range(count):
        steps += subscription(3, f"b{number}", durableName="d")
        steps.append(delivered(4, number, f"b{number}"))
    return _rows(steps)


def _limits(count):
    """Subscriptions that end after one message, which the server delivers late."""
    sub = [("c2s", op(f"SUB a {number}"), 0, 1) for number in range(count)]
    unsub = [("c2s", op(f"UNSUB {number} 1"), 1, 1) for number in range(count)]
    got = [
        ("s2c", op(f"MSG a {number} 0\r\n".encode() + b"\r\n", "server_to_client"), 2, 1)
        for number in range(count)
    ]
    return [*sub, *unsub, *got, *got]


def _refusals(count):
    """Subscriptions that are not valid, each answered by a PONG in place of an error."""
    bad, ping, pong = op("SUB a..b 1"), op("PING"), op("PONG", "server_to_client")
    return [("c2s", bad, 0, 1), ("c2s", ping, 0, 1)] * count + [("s2c", pong, 0, 1)] * count


def _starts(count):
    """Subscriptions to a channel of which ever more messages are known."""
    steps = [*connected()]
    for number in range(count):
        steps += subscription(1, f"a{number}", startPosition=4)
        steps.append(delivered(2, number + 1, f"a{number}"))
    return _rows(steps)


def _forwards(count):
    """Forwarded INFOs behind as many PINGs."""
    ping = op("PING", "route")
    info = op('INFO {"server_id":"C","ip":"nats-route://127.0.0.1:5/"}', "route")
    own = op('INFO {"server_id":"A"}', "route")
    return [
        *[("s2c", ping, 0, 1)] * count,
        ("s2c", own, 1, 1),
        *[("s2c", info, 2, 1)] * count,
    ]


def _newcomers(count):
    """Routes of one server, each with a newcomer that it forwards on no earlier route."""
    steps = []
    for number in range(count):
        for direction, name in (("s2c", "A"), ("c2s", f"B{number}")):
            info = op(f'INFO {{"server_id":"{name}"}}', "route")
            steps.append((direction, info, None, number))
    return steps


def _work(rows, every_route):
    """Return the instructions that a check executes, and the memory that it holds at most."""
    work = counted_work.steps(lambda: conversation.check(rows, every_route=every_route))
    gc.disable()  # it would run at other times
    tracemalloc.start()
    conversation.check(rows, every_route=every_route)
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    gc.enable()
    return work, peak


@pytest.mark.parametrize(
    "capture",
    [
        _pings, _answered_late, _verbose, _deliveries, _acknowledged, _durables, _unsubscribed,
        _owed, _limits, _refusals, _starts, _forwards, _newcomers,
    ],
)  # fmt: skip
@pytest.mark.parametrize("every_route", [False, True])
def test_conversation_check_is_linear_in_the_capture(capture, every_route):
    _work(capture(2), every_route)  # what is imported once
    once = _work(capture(_COUNT), every_route)
    twice = _work(capture(2 * _COUNT), every_route)
    for small, large in zip(once, twice, strict=True):
        assert large <= 2.2 * small, "the work grows faster than the capture"
