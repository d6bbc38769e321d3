"""A subscription to the broker and to this process, with the interface of nats-py's."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable
from typing import TYPE_CHECKING, Any, Protocol

if TYPE_CHECKING:
    from nats.aio.msg import Msg


class Owner(Protocol):
    """The interface that a subscription needs of the client through which it was made."""

    _nc: Any

    def _forget(self, subscription: LocalSubscription) -> None: ...

    async def _report(self, error: Exception) -> None: ...


class LocalSubscription:
    """Messages in order, for a callback, an iterator, ``next_msg`` or a future."""

    def __init__(
        self,
        owner: Owner,
        subject: str,
        queue: str,
        cb: Callable[[Msg], Awaitable[None]] | None,
        future: asyncio.Future[Msg] | None,
        max_msgs: int,
        pending_msgs_limit: int,
        pending_bytes_limit: int,
    ) -> None:
        self._owner, self._subject, self._queue = owner, subject, queue
        self._cb, self._future, self._max_msgs = cb, future, max_msgs
        self._bytes_limit = pending_bytes_limit
        self._pending: asyncio.Queue[Msg] = asyncio.Queue(maxsize=pending_msgs_limit)
        self._pending_size = 0
        self._received = 0
        self._closed = False
        self._finished = asyncio.Event()  # no further messages
        self._task: asyncio.Task[None] | None = None
        self._remote: Any = None
        self._registration: Any = None

    @property
    def _id(self) -> int:
        return int(self._remote._id) if self._remote is not None else 0

    @property
    def subject(self) -> str:
        """The subscribed pattern."""
        return self._subject

    @property
    def queue(self) -> str:
        """The queue group, or an empty text."""
        return self._queue

    @property
    def pending_msgs(self) -> int:
        """The number of waiting messages."""
        return self._pending.qsize()

    @property
    def pending_bytes(self) -> int:
        """The size of the waiting messages in bytes."""
        return self._pending_size

    @property
    def delivered(self) -> int:
        """The number of messages that have arrived."""
        return self._received

    @property
    def messages(self) -> AsyncIterator[Msg]:
        """An iterator over the messages, if there is no callback."""
        from nats.errors import Error

        if self._cb is not None or self._future is not None:
            raise Error("cannot iterate over messages with a non iteration subscription type")
        return self._iterate()

    async def _iterate(self) -> AsyncIterator[Msg]:
        while True:
            if self._pending.empty():
                if self._finished.is_set():
                    return
                getting = asyncio.ensure_future(self._pending.get())
                ending = asyncio.ensure_future(self._finished.wait())
                try:
                    await asyncio.wait((getting, ending), return_when=asyncio.FIRST_COMPLETED)
                finally:
                    ending.cancel()
                    if not getting.done():
                        getting.cancel()
                if getting.cancelled() or not getting.done():
                    continue
                message = getting.result()
            else:
                message = self._pending.get_nowait()
            self._pending.task_done()
            self._pending_size -= len(message.data)
            yield message

    async def next_msg(self, timeout: float | None = 1.0) -> Msg:
        """Return the next message.

        Raises:
            nats.errors.TimeoutError: None arrived within ``timeout`` seconds.
            nats.errors.ConnectionClosedError: The connection is closed.
        """
        from nats import errors

        if self._owner._nc.is_closed:
            raise errors.ConnectionClosedError
        if self._cb is not None:
            raise errors.Error("nats: next_msg cannot be used in async subscriptions")
        try:
            async with asyncio.timeout(timeout):
                message = await self._pending.get()
        except TimeoutError:
            if self._owner._nc.is_closed:
                raise errors.ConnectionClosedError from None
            raise errors.TimeoutError from None
        self._pending.task_done()
        self._pending_size -= len(message.data)
        return message

    async def unsubscribe(self, limit: int = 0) -> None:
        """Unsubscribe now, or once ``limit`` messages have arrived."""
        self._check_open()
        self._max_msgs = limit
        if limit == 0 or (self._received >= limit and self._pending.empty()):
            self._stop()
            await self._remote.unsubscribe()
        elif self._received >= limit:
            self._full()

    async def drain(self) -> None:
        """Unsubscribe, and return when the messages that have arrived are processed."""
        self._check_open()
        await self._drain()

    async def _drain(self) -> None:
        if self._closed:
            return
        self._owner._forget(self)
        await self._remote.drain()
        if self._cb is not None or not self._pending.empty():
            await self._pending.join()
        self._stop()

    def _check_open(self) -> None:
        from nats import errors

        if self._owner._nc.is_closed:
            raise errors.ConnectionClosedError
        if self._owner._nc.is_draining:
            raise errors.ConnectionDrainingError
        if self._closed:
            raise errors.BadSubscriptionError

    def _start(self) -> None:
        if self._cb is not None:
            self._task = asyncio.get_running_loop().create_task(self._run(self._cb))

    def _stop(self) -> None:
        self._closed = True
        self._owner._forget(self)
        self._finished.set()
        if self._task is not None and self._task is not asyncio.current_task():
            self._task.cancel()

    async def _from_broker(self, message: Msg) -> None:
        message._client = self._owner  # type: ignore[assignment]  # so that responses take the short circuit
        self._receive(message)

    def _receive(self, message: Msg) -> None:
        """Take a message from the broker or from this process."""
        if self._closed or (self._max_msgs and self._received >= self._max_msgs):
            return
        self._received += 1
        if self._future is not None:
            if not self._future.done():
                self._future.set_result(message)
            return
        size = len(message.data)
        if self._bytes_limit and self._pending_size + size >= self._bytes_limit:
            self._too_slow(message)
            return
        try:
            self._pending.put_nowait(message)
            self._pending_size += size
        except asyncio.QueueFull:
            self._too_slow(message)
        if self._max_msgs and self._received >= self._max_msgs:
            self._full()

    def _full(self) -> None:
        """End the subscription: the requested number of messages has arrived."""
        self._owner._forget(self)
        self._finished.set()
        asyncio.get_running_loop().create_task(self._leave())

    async def _leave(self) -> None:
        from nats.errors import Error

        try:
            await self._remote.unsubscribe()
        except Error:  # closed in the meantime
            return

    def _too_slow(self, message: Msg) -> None:
        from nats.errors import SlowConsumerError

        error = SlowConsumerError(
            subject=message.subject,
            reply=message.reply,
            sid=self._id,
            sub=self,  # type: ignore[arg-type]
        )
        asyncio.get_running_loop().create_task(self._owner._report(error))

    async def _run(self, cb: Callable[[Msg], Awaitable[None]]) -> None:
        while True:
            message = await self._pending.get()
            self._pending_size -= len(message.data)
            try:
                await cb(message)
            except asyncio.CancelledError:
                raise
            except Exception as error:
                await self._owner._report(error)
            finally:
                self._pending.task_done()
            if self._finished.is_set() and self._pending.empty():
                self._closed = True
                return
