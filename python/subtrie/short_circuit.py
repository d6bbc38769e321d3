"""A short circuit in front of a connected nats-py client, for programs without Microbus.

The signatures are those of ``nats.NATS`` and the messages are nats-py's own. A request whose
subject matches a subscription made through the wrapper is answered in process. A publish goes to
the broker, unless its subject matches one of the patterns ``local``, by which the caller asserts
that no subscriber outside this process needs it. Everything else is passed to the client. A request
answered in process overtakes messages that were published before it.
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Iterable
from inspect import iscoroutinefunction
from typing import TYPE_CHECKING, Any

from ._core import engine
from ._core.errors import SubtrieError
from ._core.local_subscription import LocalSubscription
from ._core.subject import Pattern

__all__ = ["ShortCircuit"]

if TYPE_CHECKING:
    from nats.aio.client import Client
    from nats.aio.msg import Msg

Callback = Callable[["Msg"], Awaitable[None]]

_PENDING_MSGS = 512 * 1024
_PENDING_BYTES = 128 * 1024 * 1024


class ShortCircuit:
    """A wrapper with the methods of the nats-py client it stands in front of.

    Args:
        nc: The connected client.
        local: Patterns of subjects that no subscriber outside this process needs.

    Raises:
        PatternError: One of ``local`` is not a valid pattern.

    Example:
        ``nc = ShortCircuit(await nats.connect(), local=["metrics.>"])``
    """

    def __init__(self, nc: Client, *, local: Iterable[str] = ()) -> None:
        self._nc = nc
        # With no_echo a client does not receive its own messages, so it cannot answer them.
        self._echo = not nc.options.get("no_echo")
        self._trie = engine.SubjectTrie(dialect="server")
        self._local = engine.SubjectTrie(dialect="server")
        for pattern in local:
            self._local.add(Pattern(pattern, dialect="server"), True)
        self._subscriptions: list[LocalSubscription] = []
        self._inbox = nc.new_inbox() + "."
        self._inbox_open: asyncio.Future[None] | None = None
        self._waiting: dict[str, asyncio.Future[Msg]] = {}
        self._request_count = 0

    def __getattr__(self, name: str) -> Any:
        return getattr(self._nc, name)

    async def __aenter__(self) -> ShortCircuit:
        await self._nc.__aenter__()
        return self

    async def __aexit__(self, *given: Any) -> None:
        await self.close()

    async def subscribe(
        self,
        subject: str,
        queue: str = "",
        cb: Callback | None = None,
        future: asyncio.Future[Msg] | None = None,
        max_msgs: int = 0,
        pending_msgs_limit: int = _PENDING_MSGS,
        pending_bytes_limit: int = _PENDING_BYTES,
    ) -> LocalSubscription:
        """Subscribe at the broker and in process, as ``nats.NATS.subscribe``.

        Args:
            subject: The pattern.
            queue: The queue group.
            cb: A coroutine function that takes the messages.
            future: A future that takes the first message.
            max_msgs: Unsubscribe after this many messages; 0 for no limit.
            pending_msgs_limit: The largest number of waiting messages.
            pending_bytes_limit: The largest size of waiting messages.
        """
        from nats.errors import Error

        inner = getattr(cb, "func", cb)
        if cb is not None and not iscoroutinefunction(inner):
            raise Error("nats: must use coroutine for subscriptions")
        subscription = LocalSubscription(
            self, subject, queue, cb, future, max_msgs, pending_msgs_limit, pending_bytes_limit
        )
        subscription._remote = await self._nc.subscribe(
            subject,
            queue=queue,
            cb=subscription._from_broker,
            pending_msgs_limit=pending_msgs_limit,
            pending_bytes_limit=pending_bytes_limit,
        )
        try:
            subscription._registration = self._trie.add(subject, subscription, queue=queue or None)
        except SubtrieError:  # valid for the broker: subscribed there only
            subscription._registration = None
        subscription._start()
        self._subscriptions.append(subscription)
        return subscription

    def _forget(self, subscription: LocalSubscription) -> None:
        if subscription._registration is not None:
            self._trie.remove(subscription._registration)
            subscription._registration = None
        if subscription in self._subscriptions:
            self._subscriptions.remove(subscription)

    async def publish(
        self,
        subject: str,
        payload: bytes = b"",
        reply: str = "",
        headers: dict[str, str] | None = None,
    ) -> None:
        """Publish as ``nats.NATS.publish``: in process for responses and ``local`` subjects.

        Args:
            subject: The subject.
            payload: The message.
            reply: The reply subject.
            headers: The headers.
        """
        if subject.startswith(self._inbox) and subject in self._waiting:
            self._check(payload)
            self._complete_request(subject, payload, reply, headers)
        elif self._is_local(subject):
            self._check(payload)
            for each in self._trie.select(subject):
                each._receive(self._message(subject, reply, payload, headers, each))
        else:
            await self._nc.publish(subject, payload, reply=reply, headers=headers)

    def _is_local(self, subject: str) -> bool:
        if not len(self._local):
            return False
        try:
            return bool(self._local.has_interest(subject))
        except SubtrieError:
            return False

    async def request(
        self,
        subject: str,
        payload: bytes = b"",
        timeout: float = 0.5,
        old_style: bool = False,
        headers: dict[str, Any] | None = None,
    ) -> Msg:
        """Request as ``nats.NATS.request``: in process if a subscription here matches the subject.

        Args:
            subject: The subject.
            payload: The message.
            timeout: Seconds to wait for the response.
            old_style: Use the broker, with a subscription for this request alone.
            headers: The headers.
        """
        try:
            selected = self._trie.select(subject) if self._echo else ()
        except (SubtrieError, TypeError):
            selected = ()
        if not selected or old_style:
            return await self._nc.request(
                subject, payload, timeout=timeout, old_style=old_style, headers=headers
            )
        from nats.errors import TimeoutError as NatsTimeoutError

        self._check(payload)
        await self._open_inbox()
        self._request_count += 1
        reply = f"{self._inbox}{self._request_count}"
        response: asyncio.Future[Msg] = asyncio.get_running_loop().create_future()
        self._waiting[reply] = response
        try:
            for each in selected:
                each._receive(self._message(subject, reply, payload, headers, each))
            async with asyncio.timeout(timeout):
                return await response
        except TimeoutError:
            raise NatsTimeoutError from None
        finally:
            del self._waiting[reply]

    def _check(self, payload: bytes) -> None:
        """Raise the errors that the client would raise."""
        from nats import errors

        if self._nc.is_closed:
            raise errors.ConnectionClosedError
        if self._nc.is_draining_pubs:
            raise errors.ConnectionDrainingError
        if len(payload) > self._nc.max_payload:
            raise errors.MaxPayloadError

    def _message(
        self,
        subject: str,
        reply: str,
        payload: bytes,
        headers: dict[str, Any] | None,
        to: LocalSubscription | None,
    ) -> Msg:
        from nats.aio.msg import Msg

        own = {k.strip(): str(v).strip() for k, v in headers.items()} if headers else None
        subscription = Msg(
            _client=self,  # type: ignore[arg-type]  # has the methods that Msg uses
            subject=str(subject),
            reply=str(reply),
            data=bytes(payload),
            headers=own,
        )
        if to is not None:
            subscription._sid = to._id
        return subscription

    def _complete_request(
        self, subject: str, payload: bytes, reply: str, headers: dict[str, str] | None
    ) -> None:
        future = self._waiting.get(subject)
        if future is not None and not future.done():
            future.set_result(self._message(subject, reply, payload, headers, None))

    async def _open_inbox(self) -> None:
        """Subscribe the inbox: responses may also come over the broker, from other clients."""
        if self._inbox_open is None:
            self._inbox_open = asyncio.get_running_loop().create_future()

            async def on_message(message: Msg) -> None:
                future = self._waiting.get(message.subject)
                if future is not None and not future.done():
                    future.set_result(message)

            await self._nc.subscribe(self._inbox + "*", cb=on_message)
            self._inbox_open.set_result(None)
        elif not self._inbox_open.done():
            await asyncio.shield(self._inbox_open)

    async def drain(self) -> None:
        """Process what has arrived, then close the connection, as ``nats.NATS.drain``."""
        if not (self._nc.is_closed or self._nc.is_draining):
            await asyncio.gather(*(each._drain() for each in list(self._subscriptions)))
        await self._nc.drain()

    async def close(self) -> None:
        """Close the connection, as ``nats.NATS.close``."""
        for each in list(self._subscriptions):
            each._stop()
        await self._nc.close()

    async def _report(self, error: Exception) -> None:
        """Call the client's own ``error_cb``."""
        report = getattr(self._nc, "_error_cb", None)
        if report is not None:
            await report(error)

    def __repr__(self) -> str:
        return f"<ShortCircuit with {len(self._subscriptions)} subscriptions>"
