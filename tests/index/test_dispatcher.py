"""The short circuit: whom a message reaches, on which thread or loop, and what failures do."""

from __future__ import annotations

import asyncio
import functools
import os
import threading

import pytest

import subtrie
from patience import PATIENCE
from subtrie import Dispatcher


@pytest.fixture
def dispatcher(engine_in_use):
    """A dispatcher on each engine."""
    return Dispatcher()


@pytest.mark.requirement("M-06", "S0-127")
def test_calls_the_handlers_of_matching_patterns(dispatcher):
    heard = []
    dispatcher.subscribe("a.*", lambda message: heard.append(("star", message)))
    dispatcher.subscribe("a.>", lambda message: heard.append(("tail", message)))
    dispatcher.subscribe("b.*", lambda message: heard.append(("other", message)))
    message = {"live": "object"}
    assert dispatcher.dispatch("a.x", message) == 2
    assert [who for who, _ in heard] == ["star", "tail"]
    assert all(what is message for _, what in heard)  # the live object, nothing serialised


@pytest.mark.requirement("A18", "A19")
def test_queue_groups_take_turns_across_patterns(dispatcher):
    heard = []
    dispatcher.subscribe("a.*", lambda _: heard.append(1), queue="q")
    dispatcher.subscribe("a.>", lambda _: heard.append(2), queue="q")
    for _ in range(4):
        assert dispatcher.dispatch("a.x", None) == 1
    assert heard == [1, 2, 1, 2]


def test_dispatch_without_a_matching_handler_returns_0(dispatcher):
    assert dispatcher.dispatch("a.x", None) == 0
    assert dispatcher.handlers("a.x") == ()


@pytest.mark.requirement("S0-054")
def test_a_bad_subject_reaches_no_handler(dispatcher):
    dispatcher.subscribe(">", lambda _: pytest.fail("a wildcard was published"))
    for bad in ("a.*", ">", "a..b", ""):
        with pytest.raises(subtrie.SubjectError):
            dispatcher.dispatch(bad, None)


def test_unsubscribe_is_idempotent(dispatcher):
    heard = []
    place = dispatcher.subscribe("a", heard.append)
    assert (place.pattern, place.queue, len(dispatcher)) == ("a", None, 1)
    assert (place.id, place.value, place.handler) == (0, heard.append, heard.append)
    assert place.unsubscribe() is True
    assert place.unsubscribe() is False
    assert dispatcher.dispatch("a", 1) == 0
    assert (heard, len(dispatcher)) == ([], 0)


@pytest.mark.requirement("T21")
def test_one_failure_does_not_stop_the_others(dispatcher):
    heard = []

    def fail(message):
        raise LookupError(message)

    dispatcher.subscribe("a", fail)
    dispatcher.subscribe("a", heard.append)
    dispatcher.subscribe("a", fail)
    with pytest.raises(ExceptionGroup) as caught:
        dispatcher.dispatch("a", "m")
    assert heard == ["m"]
    assert [type(error) for error in caught.value.exceptions] == [LookupError, LookupError]


@pytest.mark.requirement("T21")
def test_handlers_may_subscribe_unsubscribe_and_dispatch(dispatcher):
    heard = []

    def once(message):
        heard.append(("once", message))
        place.unsubscribe()
        dispatcher.subscribe("later", lambda m: heard.append(("later", m)))
        dispatcher.dispatch("later", "nested")

    place = dispatcher.subscribe("a", once)
    assert dispatcher.dispatch("a", 1) == 1
    assert dispatcher.dispatch("a", 2) == 0
    assert heard == [("once", 1), ("later", "nested")]


async def _coroutine(message):
    raise AssertionError("never awaited")


class _AsyncCallable:
    def __init__(self):
        self.heard = []

    async def __call__(self, message):
        self.heard.append((message, asyncio.get_running_loop()))


@pytest.mark.parametrize("wrap", [lambda each: each.__call__, lambda each: each, functools.partial])
def test_a_coroutine_function_subscribed_at_import_runs_where_it_is_awaited(dispatcher, wrap):
    """L16: it needed loop=, so that no decorator could stand at the level of a module."""
    handler = _AsyncCallable()
    dispatcher.subscribe("a", wrap(handler))
    loops = []

    async def main(message):
        loops.append(asyncio.get_running_loop())
        assert await dispatcher.dispatch_async("a", message) == 1

    asyncio.run(main(1))
    asyncio.run(main(2))  # another loop
    assert handler.heard == [(1, loops[0]), (2, loops[1])]
    with pytest.raises(ExceptionGroup) as caught:
        dispatcher.dispatch("a", 3)
    assert str(caught.value.exceptions[0]) == (
        "the handler on 'a' returned a coroutine: subscribe it with loop=, or await dispatch_async"
    )
    assert len(handler.heard) == 2


def test_a_loop_that_does_not_run_is_an_error_where_it_would_be_awaited(dispatcher):
    """L16: ``dispatch_async`` waited for ever."""
    loop = asyncio.new_event_loop()
    dispatcher.subscribe("a", _coroutine, loop=loop)
    try:
        with pytest.raises(ExceptionGroup) as caught:
            asyncio.run(asyncio.wait_for(dispatcher.dispatch_async("a", 1), PATIENCE))
    finally:
        loop.close()
    assert str(caught.value.exceptions[0]) == (
        "the event loop of the handler on 'a' is not running"
    )


def test_not_callable_is_refused(dispatcher):
    with pytest.raises(TypeError, match="callable"):
        dispatcher.subscribe("a", 3)


def test_dispatch_schedules_coroutines_on_their_loop(dispatcher):
    async def main():
        loop, done = asyncio.get_running_loop(), asyncio.Event()
        threads = []

        async def handler(message):
            threads.append((threading.get_ident(), message))
            done.set()

        dispatcher.subscribe("a", handler, loop=loop)
        counted = await asyncio.to_thread(dispatcher.dispatch, "a", 7)
        await asyncio.wait_for(done.wait(), PATIENCE)
        assert counted == 1
        assert threads == [(threading.get_ident(), 7)]

    asyncio.run(main())


def test_a_scheduled_failure_reaches_the_loop(dispatcher):
    async def main():
        loop, told = asyncio.get_running_loop(), asyncio.Event()
        contexts = []

        def note(_, context):
            contexts.append(context)
            told.set()

        loop.set_exception_handler(note)

        async def fail(message):
            raise LookupError(message)

        dispatcher.subscribe("a", fail, loop=loop)
        assert dispatcher.dispatch("a", "m") == 1
        await asyncio.wait_for(told.wait(), PATIENCE)
        assert isinstance(contexts[0]["exception"], LookupError)

    asyncio.run(main())


def test_a_closed_loop_is_an_error(dispatcher):
    loop = asyncio.new_event_loop()
    loop.close()
    dispatcher.subscribe("a", _coroutine, loop=loop)
    with pytest.raises(ExceptionGroup) as caught:
        dispatcher.dispatch("a", None)
    assert "closed" in str(caught.value.exceptions[0])


def test_dispatch_async_awaits_them_all_at_once(dispatcher):
    async def main():
        loop = asyncio.get_running_loop()
        first, order = asyncio.Event(), []

        async def waits(message):
            await first.wait()
            order.append("waits")

        async def releases(message):
            order.append("releases")
            first.set()

        dispatcher.subscribe("a", waits, loop=loop)
        dispatcher.subscribe("a", releases, loop=loop)
        dispatcher.subscribe("a", lambda m: order.append("plain"))
        assert await asyncio.wait_for(dispatcher.dispatch_async("a", 1), PATIENCE) == 3
        assert sorted(order) == ["plain", "releases", "waits"]

    asyncio.run(main())


def test_dispatch_async_gathers_failures(dispatcher):
    async def main():
        async def fail(message):
            raise LookupError("async")

        def fail_plainly(message):
            raise LookupError("plain")

        dispatcher.subscribe("a", fail, loop=asyncio.get_running_loop())
        dispatcher.subscribe("a", fail_plainly)
        with pytest.raises(ExceptionGroup) as caught:
            await dispatcher.dispatch_async("a", 1)
        assert sorted(str(error) for error in caught.value.exceptions) == ["async", "plain"]

    asyncio.run(main())


def test_the_cancellation_of_a_handler_is_not_a_failure_of_it(dispatcher):
    async def main():
        async def cancelled(message):
            raise asyncio.CancelledError

        dispatcher.subscribe("a", cancelled)
        with pytest.raises(asyncio.CancelledError):
            await dispatcher.dispatch_async("a", 1)

    asyncio.run(main())


@pytest.mark.requirement("T20")
def test_shared_is_one_for_all_threads():
    found = []
    threads = [threading.Thread(target=lambda: found.append(Dispatcher.shared())) for _ in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert {id(each) for each in found} == {id(Dispatcher.shared())}


@pytest.mark.requirement("S0-134", "T20")
@pytest.mark.skipif(not hasattr(os, "fork"), reason="this system has no fork")
@pytest.mark.filterwarnings("ignore:.*multi-threaded.*:DeprecationWarning")
def test_the_shared_dispatcher_is_empty_in_a_forked_child():
    shared, stop = Dispatcher.shared(), threading.Event()
    place = shared.subscribe("fork.test", lambda _: None)

    def busy():
        while not stop.is_set():
            shared.subscribe("fork.churn", print).unsubscribe()
            shared.handlers("fork.test")

    thread = threading.Thread(target=busy)
    thread.start()
    try:
        for _ in range(10):
            child = os.fork()
            if child == 0:
                empty = len(shared) == 0 and shared.dispatch("fork.test", 1) == 0
                usable = bool(shared.subscribe("x", print)) and len(shared) == 1
                os._exit(0 if empty and usable else 1)
            _, status = os.waitpid(child, 0)
            assert status == 0
    finally:
        stop.set()
        thread.join()
        assert place.unsubscribe()


def test_many_threads_at_once(dispatcher):
    counts, lock = [0], threading.Lock()

    def count(_):
        with lock:
            counts[0] += 1

    dispatcher.subscribe("a.*", count)

    def work():
        for turn in range(200):
            extra = dispatcher.subscribe("a.>", lambda _: None)
            assert dispatcher.dispatch("a.x", turn) >= 2
            extra.unsubscribe()

    threads = [threading.Thread(target=work) for _ in range(6)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert (counts[0], len(dispatcher)) == (1200, 1)


def test_a_handler_that_returns_a_coroutine_without_a_loop_is_an_error(dispatcher):
    """Bug: a handler that returned a coroutine was counted, and its message was lost."""
    heard = []

    async def later(message):
        heard.append(message)

    dispatcher.subscribe("a", lambda message: later(message))
    dispatcher.subscribe("a", heard.append)
    with pytest.raises(ExceptionGroup) as caught:
        dispatcher.dispatch("a", 1)
    assert [type(error) for error in caught.value.exceptions] == [TypeError]
    assert heard == [1]
    assert asyncio.run(dispatcher.dispatch_async("a", 2)) == 2
    assert sorted(heard) == [1, 2, 2]


def test_an_invalid_loop_is_refused_when_subscribing(dispatcher):
    """Bug: it failed at the first message."""
    with pytest.raises(TypeError, match="loop must be an event loop, not str"):
        dispatcher.subscribe("a", print, loop="loop")


def test_a_handler_subscription_has_the_attributes_of_a_subscription(dispatcher):
    places = [dispatcher.subscribe("a.*", handler, queue="q") for handler in (print, repr)]
    assert [(p.pattern, p.queue, p.value, p.id) for p in places] == [
        ("a.*", "q", print, 0), ("a.*", "q", repr, 1)]  # fmt: skip
