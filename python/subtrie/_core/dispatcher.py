"""In-process dispatch of messages to the handlers that are subscribed to their subject.

A message is neither serialised nor copied, and no lock is held while a handler runs. A message is
delivered to all handlers without a queue and to one of each queue group in turn, as ``select`` of
the index returns them.
"""

# S0-127, S0-128, S0-134, A18, A19

from __future__ import annotations

import os
from collections.abc import Callable
from functools import partial
from inspect import isawaitable, iscoroutine
from typing import TYPE_CHECKING, Any, Generic

from . import engine
from .subject import Dialect

if TYPE_CHECKING:  # asyncio is imported in functions: most programs that import this do not use it
    import asyncio
    from concurrent.futures import Future

    from typing_extensions import TypeVar

    from .engine import SubjectTrie, Subscription

    M = TypeVar("M", default=Any)
else:
    from typing import TypeVar

    M = TypeVar("M")

Handler = Callable[[M], Any]


class HandlerSubscription(Generic[M]):
    """The subscription of a handler.

    Attributes:
        handler: The handler.
        loop: The event loop on which it runs, or None.
    """

    __slots__ = ("_dispatcher", "_subscription", "handler", "loop")

    def __init__(
        self,
        dispatcher: Dispatcher[M],
        handler: Handler[M],
        loop: asyncio.AbstractEventLoop | None,
    ) -> None:
        self.handler = handler
        self.loop = loop
        self._dispatcher = dispatcher
        self._subscription: Subscription

    @property
    def pattern(self) -> str:
        """The pattern to which the handler is subscribed."""
        return self._subscription.pattern

    @property
    def queue(self) -> str | None:
        """The queue group, or None for a handler that receives every message."""
        return self._subscription.queue

    @property
    def id(self) -> int:
        """The number that the dispatcher assigned: 0, 1, 2, … in order of subscribing."""
        return self._subscription.id

    @property
    def value(self) -> Handler[M]:
        """The handler, under the name that the value of every subscription has."""
        return self.handler

    def unsubscribe(self) -> bool:
        """Remove the handler; return False if it was removed before. A handler may call this."""
        return self._dispatcher._trie.remove(self._subscription)

    def __repr__(self) -> str:
        queue = f", queue={self.queue!r}" if self.queue else ""
        return f"HandlerSubscription({str(self.pattern)!r}{queue})"


class Dispatcher(Generic[M]):
    """Delivers messages to the handlers subscribed to their subject, within one process.

    Safe with threads. A dispatch calls the handlers that were subscribed when it began, without a
    lock, so a handler may subscribe, unsubscribe and dispatch.

    Args:
        dialect: ``strict`` or ``server``.

    Example:
        >>> dispatcher = Dispatcher()
        >>> subscription = dispatcher.subscribe("orders.*", print)
        >>> dispatcher.dispatch("orders.new", "hello")
        hello
        1
    """

    __module__ = "subtrie"  # which imports it when it is first used

    def __init__(self, *, dialect: Dialect = "strict") -> None:
        self._dialect: Dialect = dialect
        self._trie: SubjectTrie[HandlerSubscription[M]] = engine.SubjectTrie(dialect=dialect)

    @staticmethod
    def shared() -> Dispatcher[Any]:
        """Return the dispatcher of this process.

        It is empty in a child process after a fork: its subscriptions belong to the parent.
        """
        return _shared

    def subscribe(
        self,
        pattern: str,
        handler: Handler[M],
        *,
        queue: str | None = None,
        loop: asyncio.AbstractEventLoop | None = None,
    ) -> HandlerSubscription[M]:
        """Subscribe a handler to a pattern.

        Args:
            pattern: The pattern.
            handler: Called with the message.
            queue: The queue group of the handler, which receives each message once.
            loop: The event loop on which a coroutine function runs. Without it, one runs where
                ``dispatch_async`` is awaited, and ``dispatch`` cannot call it.

        Raises:
            PatternError: The pattern is not valid.
            InvalidName: The queue name is not valid.
            TypeError: The handler is not callable, or the loop is not an event loop.
        """
        if not callable(handler):
            raise TypeError(f"handler must be callable, not {type(handler).__name__}")
        if loop is not None and not hasattr(loop, "call_soon_threadsafe"):
            raise TypeError(f"loop must be an event loop, not {type(loop).__name__}")
        subscription = HandlerSubscription(self, handler, loop)
        subscription._subscription = self._trie.add(pattern, subscription, queue=queue)
        return subscription

    def handlers(self, subject: str) -> tuple[Handler[M], ...]:
        """Return the handlers that a dispatch would call; queue groups advance as in a dispatch.

        Raises:
            SubjectError: The subject is not valid.
        """
        selected = self._trie.select(subject)
        if len(selected) == 1:
            return (selected[0].handler,)
        return tuple([subscription.handler for subscription in selected])

    def dispatch(self, subject: str, message: M) -> int:
        """Call the selected handlers in this thread.

        A handler with a loop is scheduled on it and not awaited; a coroutine function without one
        is an error. A handler that raises does not stop the others.

        Args:
            subject: The subject of the message.
            message: What each handler is called with.

        Returns:
            How many handlers were selected.

        Raises:
            SubjectError: The subject is not valid.
            ExceptionGroup: Handlers raised exceptions.
        """
        selected = self._trie.select(subject)
        errors: list[Exception] = []
        for subscription in selected:
            try:
                if subscription.loop is not None:
                    _schedule(subscription, message).add_done_callback(
                        partial(_report, subscription)
                    )
                elif (result := subscription.handler(message)) is not None:
                    _refuse_coroutine(subscription, result)
            except Exception as error:
                errors.append(error)
        if errors:
            _raise_together(subject, errors)
        return len(selected)

    async def dispatch_async(self, subject: str, message: M) -> int:
        """Call the selected handlers and await those that are coroutine functions, concurrently.

        One without a loop runs on the loop of the caller, one with a loop on that one, which must
        be running. Otherwise as ``dispatch``.
        """
        import asyncio

        selected, running = self._trie.select(subject), asyncio.get_running_loop()
        errors: list[Exception] = []
        awaited: list[asyncio.Future[Any]] = []
        for subscription in selected:
            try:
                if subscription.loop is None or subscription.loop is running:
                    result = subscription.handler(message)
                    if isawaitable(result):
                        awaited.append(asyncio.ensure_future(result))
                elif subscription.loop.is_running() or subscription.loop.is_closed():
                    awaited.append(asyncio.wrap_future(_schedule(subscription, message)))
                else:  # it would be awaited for ever
                    raise RuntimeError(f"the event loop of {_named(subscription)} is not running")
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
        """Remove all handlers."""
        self._trie.clear()

    def __len__(self) -> int:
        return len(self._trie)

    def __repr__(self) -> str:
        return f"<Dispatcher with {len(self)} handlers>"


def _refuse_coroutine(subscription: HandlerSubscription[Any], result: object) -> None:
    """Raise if a handler without a loop returned a coroutine, which would never run."""
    if iscoroutine(result):
        result.close()
        raise TypeError(
            f"{_named(subscription)} returned a coroutine: "
            "subscribe it with loop=, or await dispatch_async"
        )


def _named(subscription: HandlerSubscription[Any]) -> str:
    return f"the handler on {str(subscription.pattern)!r}"


def _schedule(subscription: HandlerSubscription[Any], message: Any) -> Future[Any]:
    """Run a handler on its own loop, from any thread."""
    import asyncio

    async def call() -> None:
        result = subscription.handler(message)
        if isawaitable(result):
            await result

    loop = subscription.loop
    if loop is None or loop.is_closed():
        raise RuntimeError(f"the event loop of {_named(subscription)} is closed")
    return asyncio.run_coroutine_threadsafe(call(), loop)


def _report(subscription: HandlerSubscription[Any], future: Future[Any]) -> None:
    """Report the failure of a handler that is not awaited to its loop, as asyncio does."""
    error = None if future.cancelled() else future.exception()
    if error is not None and subscription.loop is not None and not subscription.loop.is_closed():
        context = {
            "message": f"{_named(subscription)} failed",
            "exception": error,
        }
        subscription.loop.call_soon_threadsafe(subscription.loop.call_exception_handler, context)


def _raise_together(subject: str, errors: list[Exception]) -> None:
    if errors:
        raise ExceptionGroup(f"{len(errors)} handlers of {str(subject)!r} failed", errors)


_shared: Dispatcher[Any] = Dispatcher()


def _after_fork() -> None:
    """Replace the index in a child process: a thread of the parent may hold its lock."""
    _shared._trie = engine.SubjectTrie(dialect=_shared._dialect)


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_after_fork)
