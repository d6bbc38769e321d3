"""A short circuit in front of a connected ``nats-py`` client, for programs without Microbus.

The signatures are those of ``nats.NATS``, the messages ``nats-py``'s own. A request whose subject
a subscription made through here matches is answered in process; a publish goes to the broker,
unless its subject lies in one of the patterns ``local``, by which the caller asserts that nobody
outside needs it. Everything else is the client's. What differs: a request answered in process
overtakes what was published before it.
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Iterable
from inspect import iscoroutinefunction
from typing import TYPE_CHECKING, Any

from . import _engine
from ._errors import SubtrieError
from ._local_subscription import LocalSubscription
from ._subject import Pattern

if TYPE_CHECKING:
    from nats.aio.client import Client
    from nats.aio.msg import Msg

Callback = Callable[["Msg"], Awaitable[None]]

_PENDING_MSGS = 512 * 1024
_PENDING_BYTES = 128 * 1024 * 1024


class ShortCircuit:
    """``nc = ShortCircuit(await nats.connect())``: use it as the client it stands in front of.

    Raises ``PatternError`` for what is no pattern among ``local``.
    """

    def __init__(self, nc: Client, *, local: Iterable[str] = ()) -> None:
        self._nc = nc
        # A client that does not hear itself does not answer itself either.
        self._hears_itself = not nc.options.get("no_echo")
        self._trie = _engine.SubjectTrie(dialect="server")
        self._local = _engine.SubjectTrie(dialect="server")
        for pattern in local:
            self._local.add(Pattern(pattern, dialect="server"), True)
        self._subscriptions: list[LocalSubscription] = []
        self._inbox = nc.new_inbox() + "."
        self._inbox_open: asyncio.Future[None] | None = None
        self._waiting: dict[str, asyncio.Future[Msg]] = {}
        self._asked = 0

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
        """As ``nats.NATS.subscribe``: at the broker, and in process."""
        from nats.errors import Error

        inner = getattr(cb, "func", cb)
        if cb is not None and not iscoroutinefunction(inner):
            raise Error("nats: must use coroutine for subscriptions")
        made = LocalSubscription(
            self, subject, queue, cb, future, max_msgs, pending_msgs_limit, pending_bytes_limit
        )
        made._remote = await self._nc.subscribe(
            subject,
            queue=queue,
            cb=made._from_broker,
            pending_msgs_limit=pending_msgs_limit,
            pending_bytes_limit=pending_bytes_limit,
        )
        try:
            made._registration = self._trie.add(subject, made, queue=queue or None)
        except SubtrieError:  # the broker takes it, so it stays, without the short circuit
            made._registration = None
        made._start()
        self._subscriptions.append(made)
        return made

    def _forget(self, made: LocalSubscription) -> None:
        if made._registration is not None:
            self._trie.remove(made._registration)
            made._registration = None
        if made in self._subscriptions:
            self._subscriptions.remove(made)

    async def publish(
        self,
        subject: str,
        payload: bytes = b"",
        reply: str = "",
        headers: dict[str, str] | None = None,
    ) -> None:
        """As ``nats.NATS.publish``: to the broker, but for answers and for what is ``local``."""
        if subject.startswith(self._inbox) and subject in self._waiting:
            self._check(payload)
            self._answer(subject, payload, reply, headers)
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
        """As ``nats.NATS.request``: in process where anyone here hears the subject."""
        try:
            heard = self._trie.select(subject) if self._hears_itself else ()
        except (SubtrieError, TypeError):
            heard = ()
        if not heard or old_style:
            return await self._nc.request(
                subject, payload, timeout=timeout, old_style=old_style, headers=headers
            )
        from nats.errors import TimeoutError as NatsTimeoutError

        self._check(payload)
        await self._open_inbox()
        self._asked += 1
        reply = f"{self._inbox}{self._asked}"
        answer: asyncio.Future[Msg] = asyncio.get_running_loop().create_future()
        self._waiting[reply] = answer
        try:
            for each in heard:
                each._receive(self._message(subject, reply, payload, headers, each))
            async with asyncio.timeout(timeout):
                return await answer
        except TimeoutError:
            raise NatsTimeoutError from None
        finally:
            del self._waiting[reply]

    def _check(self, payload: bytes) -> None:
        """What the client would refuse is refused here too."""
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
        made = Msg(
            _client=self,  # type: ignore[arg-type]  # what it is used for, we can
            subject=str(subject),
            reply=str(reply),
            data=bytes(payload),
            headers=own,
        )
        if to is not None:
            made._sid = to._id
        return made

    def _answer(
        self, subject: str, payload: bytes, reply: str, headers: dict[str, str] | None
    ) -> None:
        future = self._waiting.get(subject)
        if future is not None and not future.done():
            future.set_result(self._message(subject, reply, payload, headers, None))

    async def _open_inbox(self) -> None:
        """Answers may also come by way of the broker, from whoever holds the bare client."""
        if self._inbox_open is None:
            self._inbox_open = asyncio.get_running_loop().create_future()

            async def heard(message: Msg) -> None:
                future = self._waiting.get(message.subject)
                if future is not None and not future.done():
                    future.set_result(message)

            await self._nc.subscribe(self._inbox + "*", cb=heard)
            self._inbox_open.set_result(None)
        elif not self._inbox_open.done():
            await asyncio.shield(self._inbox_open)

    async def drain(self) -> None:
        """As ``nats.NATS.drain``: what has arrived is handled, then the connection closes."""
        if not (self._nc.is_closed or self._nc.is_draining):
            await asyncio.gather(*(each._drain() for each in list(self._subscriptions)))
        await self._nc.drain()

    async def close(self) -> None:
        """As ``nats.NATS.close``."""
        for each in list(self._subscriptions):
            each._stop()
        await self._nc.close()

    async def _report(self, error: Exception) -> None:
        """Tells the client's own ``error_cb``."""
        report = getattr(self._nc, "_error_cb", None)
        if report is not None:
            await report(error)

    def __repr__(self) -> str:
        return f"<ShortCircuit with {len(self._subscriptions)} subscriptions>"
