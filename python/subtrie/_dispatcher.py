"""The in-process short circuit: handlers subscribed to patterns, called by subject.

Nothing is serialised, nothing is copied, and no lock is held while a handler runs (S0-127, S0-128,
S0-134). Which handlers a message reaches is the index's ``select``: all plain ones, one of each
queue group in turn (A18, A19).
"""

from __future__ import annotations

import os
from collections.abc import Callable
from functools import partial
from inspect import isawaitable, iscoroutine, iscoroutinefunction
from typing import TYPE_CHECKING, Any

from . import _engine
from ._subscription import Subscription

if TYPE_CHECKING:  # asyncio is imported where it is used: most of what imports this needs none
    import asyncio
    from concurrent.futures import Future

Handler = Callable[[Any], Any]


class HandlerSubscription:
    """A handler's place in a dispatcher: ``.pattern``, ``.queue``, ``.handler``, ``.loop``."""

    __slots__ = ("_dispatcher", "_subscription", "handler", "loop")

    def __init__(
        self,
        dispatcher: Dispatcher,
        handler: Handler,
        loop: asyncio.AbstractEventLoop | None,
    ) -> None:
        self.handler = handler
        self.loop = loop
        self._dispatcher = dispatcher
        self._subscription: Subscription

    @property
    def pattern(self) -> str:
        """What was subscribed to."""
        return self._subscription.pattern

    @property
    def queue(self) -> str | None:
        """The queue group, or None for a handler that gets every message."""
        return self._subscription.queue

    @property
    def id(self) -> int:
        """The number the index gave it: 0, 1, 2, … in order of subscribing."""
        return self._subscription.id

    @property
    def value(self) -> Handler:
        """The handler, under the name that every subscription has for what stands behind it."""
        return self.handler

    def unsubscribe(self) -> bool:
        """Takes the handler out; False when it already was. Safe from inside a handler."""
        return bool(self._dispatcher._trie.remove(self._subscription))

    def __repr__(self) -> str:
        queue = f", queue={self.queue!r}" if self.queue else ""
        return f"HandlerSubscription({str(self.pattern)!r}{queue})"


class Dispatcher:
    """Subjects to handlers, within one process.

    Safe with threads: a dispatch calls the handlers that were subscribed when it began, outside any
    lock, so a handler may subscribe, unsubscribe and dispatch. ``dialect`` as ``SubjectTrie``.
    """

    def __init__(self, *, dialect: str = "strict") -> None:
        self._dialect = dialect
        self._trie = _engine.SubjectTrie(dialect=dialect)

    @staticmethod
    def shared() -> Dispatcher:
        """The dispatcher of this process. After a fork the child's is empty: what the parent
        subscribed belongs to the parent (S0-134)."""
        return _shared

    def subscribe(
        self,
        pattern: str,
        handler: Handler,
        *,
        queue: str | None = None,
        loop: asyncio.AbstractEventLoop | None = None,
    ) -> HandlerSubscription:
        """Has ``handler(message)`` called for every subject that the pattern matches.

        A coroutine function needs ``loop``, the loop it is to run on. Raises ``PatternError``,
        ``TypeError`` for what cannot be called, or a coroutine function without its loop.
        """
        if not callable(handler):
            raise TypeError(f"handler must be callable, not {type(handler).__name__}")
        if loop is not None and not hasattr(loop, "call_soon_threadsafe"):
            raise TypeError(f"loop must be an event loop, not {type(loop).__name__}")
        if loop is None and _is_coroutine_function(handler):
            raise TypeError(
                "a coroutine function needs loop=, the event loop it is to run on; "
                "inside a coroutine that is asyncio.get_running_loop()"
            )
        place = HandlerSubscription(self, handler, loop)
        place._subscription = self._trie.add(pattern, place, queue=queue)
        return place

    def handlers(self, subject: str) -> tuple[Handler, ...]:
        """The handlers a dispatch would call now; the turn of queue groups moves on as in one.

        Raises ``SubjectError``. Cost: one ``select`` of the index.
        """
        return tuple([place.handler for place in self._trie.select(subject)])

    def dispatch(self, subject: str, message: Any) -> int:
        """Calls the selected handlers in this thread; the number of them is the answer.

        Handlers with a loop are scheduled there and not waited for. One that raises does not stop
        the others: their errors come together in an ``ExceptionGroup``. Raises ``SubjectError``.
        """
        selected = self._trie.select(subject)
        errors: list[Exception] = []
        for place in selected:
            try:
                if place.loop is not None:
                    _schedule(place, message).add_done_callback(partial(_report, place))
                elif (result := place.handler(message)) is not None:
                    _finished(place, result)
            except Exception as error:
                errors.append(error)
        if errors:
            _raise_together(subject, errors)
        return len(selected)

    async def dispatch_async(self, subject: str, message: Any) -> int:
        """As ``dispatch``, awaiting the handlers that are coroutine functions, all at once."""
        import asyncio

        selected = self._trie.select(subject)
        errors: list[Exception] = []
        awaited: list[asyncio.Future[Any]] = []
        for place in selected:
            try:
                if place.loop in (None, asyncio.get_running_loop()):
                    result = place.handler(message)
                    if isawaitable(result):
                        awaited.append(asyncio.ensure_future(result))
                else:
                    awaited.append(asyncio.wrap_future(_schedule(place, message)))
            except Exception as error:
                errors.append(error)
        for result in await asyncio.gather(*awaited, return_exceptions=True):
            if isinstance(result, Exception):
                errors.append(result)
            elif isinstance(result, BaseException):
                raise result
        _raise_together(subject, errors)
        return len(selected)

    def clear(self) -> None:
        """Takes every handler out."""
        self._trie.clear()

    def __len__(self) -> int:
        return len(self._trie)

    def __repr__(self) -> str:
        return f"<Dispatcher with {len(self)} handlers>"


def _finished(place: HandlerSubscription, result: object) -> None:
    """Refuses a coroutine that nobody would run: the message would be lost in silence."""
    if iscoroutine(result):
        result.close()
        raise TypeError(
            f"the handler on {str(place.pattern)!r} returned a coroutine: "
            "subscribe it with loop=, or use dispatch_async"
        )


def _is_coroutine_function(handler: Handler) -> bool:
    while isinstance(handler, partial):
        handler = handler.func
    # A callable object tells by its __call__, not by itself.
    return iscoroutinefunction(handler) or iscoroutinefunction(
        getattr(type(handler), "__call__", None)  # noqa: B004 - it is looked at, not asked for
    )


def _schedule(place: HandlerSubscription, message: Any) -> Future[Any]:
    """Runs a handler on its own loop, from whatever thread."""
    import asyncio

    async def call() -> None:
        result = place.handler(message)
        if isawaitable(result):
            await result

    loop = place.loop
    if loop is None or loop.is_closed():
        raise RuntimeError(f"the event loop of the handler on {str(place.pattern)!r} is closed")
    return asyncio.run_coroutine_threadsafe(call(), loop)


def _report(place: HandlerSubscription, future: Future[Any]) -> None:
    """Tells the loop of a failure nobody waits for, as asyncio does for its own tasks."""
    error = None if future.cancelled() else future.exception()
    if error is not None and place.loop is not None and not place.loop.is_closed():
        context = {"message": f"the handler on {str(place.pattern)!r} failed", "exception": error}
        place.loop.call_soon_threadsafe(place.loop.call_exception_handler, context)


def _raise_together(subject: str, errors: list[Exception]) -> None:
    if errors:
        raise ExceptionGroup(f"{len(errors)} handlers of {str(subject)!r} failed", errors)


_shared = Dispatcher()


def _after_fork() -> None:
    """Begins anew in a child: the old index may be locked by a thread that is no more."""
    _shared._trie = _engine.SubjectTrie(dialect=_shared._dialect)


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_after_fork)
