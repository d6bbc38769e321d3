"""The work of the behaviour rules is linear: twice the capture, about twice the instructions."""

from __future__ import annotations

import tracemalloc

import pytest
from test_conversation import (
    FIRST,
    acked,
    connected,
    delivered,
    op,
    pub,
    subscribed,
    subscription,
    talk,
)

import counted_work
from subtrie.wire import conversation, streaming

pytest.importorskip("google.protobuf", reason="the extra 'wire' is not installed")

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
        request = streaming.UnsubscribeRequest(
            clientID="c", subject="foo", durableName=f"e{number}"
        )
        steps.append(("c2s", pub("un", request, "r7"), 4))
    return _rows(steps)


def _starts(count):
    """Subscriptions to a channel of which ever more messages are known."""
    steps = [*connected()]
    for number in range(count):
        steps += subscription(1, f"a{number}", startPosition=FIRST)
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
    tracemalloc.start()
    conversation.check(rows, every_route=every_route)
    _, peak = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    return work, peak


@pytest.mark.parametrize(
    "capture",
    [
        _pings, _answered_late, _verbose, _deliveries, _acknowledged, _durables, _unsubscribed,
        _starts, _forwards, _newcomers,
    ],
)  # fmt: skip
@pytest.mark.parametrize("every_route", [False, True])
def test_conversation_check_is_linear_in_the_capture(capture, every_route):
    _work(capture(2), every_route)  # what is imported once
    once = _work(capture(_COUNT), every_route)
    twice = _work(capture(2 * _COUNT), every_route)
    for small, large in zip(once, twice, strict=True):
        assert large <= 2.2 * small, "the work grows faster than the capture"
