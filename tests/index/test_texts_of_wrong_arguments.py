"""The whole text about a wrong argument: the same by both engines, with values that differ."""

from __future__ import annotations

import asyncio

import pytest

from subtrie import Dispatcher

#: A text, and the call of an engine's module that is refused with it.
TEXTS = {
    "values must have as many rows as patterns: 3, not 2": (
        lambda e: e.SubjectTrie().update(patterns=["a", "b", "c"], values=[1, 2])
    ),
    "queues must have as many rows as patterns: 2, not 1": (
        lambda e: e.SubjectTrie().update(patterns=["a", "b"], values=[1, 2], queues=["q"])
    ),
    "patterns must be a sequence, not a single str": (
        lambda e: e.SubjectTrie().update(patterns="a", values=[1])
    ),
    "values must be a sequence, not a single str": (
        lambda e: e.SubjectTrie().update(patterns=["a"], values="v")
    ),
    "a row must be (pattern, value) or (pattern, value, queue), not 4 parts": (
        lambda e: e.SubjectTrie().update([("a", 1), ("b", 2, None, 3)])
    ),
    "row 1 must be str or None, not int": lambda e: e.SubjectTrie().match_batch(["a", 7]),
    "subscription must be Subscription, not float": lambda e: e.SubjectTrie().remove(2.5),
    "a subscription is immutable: 'value' cannot be set": (
        lambda e: setattr(e.SubjectTrie().add("a", 7), "value", 3)
    ),
    "a subscription is immutable: 'queue' cannot be deleted": (
        lambda e: delattr(e.SubjectTrie().add("a", 7), "queue")
    ),
    "dialect must be 'strict' or 'server', not 'x'": lambda e: e.check_subject("a", "x"),
    "conn must be str, not int": lambda e: e.Parser(7),
    "conn must be 'client', 'server_to_client', 'route', 'leaf' or 'route_legacy', not 'x'": (
        lambda e: e.Parser("x")
    ),
    "data must be bytes, not str": lambda e: e.Parser("client").feed("PING"),
    "handler must be callable, not int": lambda e: Dispatcher().subscribe("a", 7),
    "format must be 'text', 'dot' or 'mermaid', not 'x'": (
        lambda e: e.SubjectTrie().draw(format="x")
    ),
}  # fmt: skip


@pytest.mark.parametrize("text", TEXTS)
def test_of_an_argument(text, engine_in_use):
    with pytest.raises((TypeError, ValueError, AttributeError)) as caught:
        TEXTS[text](engine_in_use)
    assert str(caught.value) == text


def test_of_handlers_that_fail(engine_in_use):
    dispatcher = Dispatcher()

    def fails(message):
        raise KeyError(message)

    made = dispatcher.subscribe("a.*", fails)
    dispatcher.subscribe("*.b", fails, queue="q")
    assert repr(dispatcher) == "<Dispatcher with 2 handlers>"
    assert repr(made) == "HandlerSubscription('a.*')"
    with pytest.raises(ExceptionGroup, match=r"\A2 handlers of 'a\.b' failed") as caught:
        dispatcher.dispatch("a.b", "x")
    assert len(caught.value.exceptions) == 2


def test_of_a_loop_that_is_closed(engine_in_use):
    dispatcher = Dispatcher()

    async def handler(message): ...

    loop = asyncio.new_event_loop()
    dispatcher.subscribe("a.*", handler, loop=loop)
    loop.close()
    with pytest.raises(ExceptionGroup) as caught:
        dispatcher.dispatch("a.b", "x")
    assert [str(each) for each in caught.value.exceptions] == [
        "the event loop of the handler on 'a.*' is closed"
    ]
    other: Dispatcher[str] = Dispatcher()
    other.subscribe("c.*", handler)
    with pytest.raises(ExceptionGroup) as caught:
        other.dispatch("c.d", "x")
    assert [str(each) for each in caught.value.exceptions] == [
        "the handler on 'c.*' returned a coroutine: subscribe it with loop=, or await "
        "dispatch_async"
    ]
