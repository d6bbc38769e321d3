"""A pending request: completes once, with a response, an error or a timeout."""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import Callable

from .. import _control_headers
from ._ack_timer import AckTimer
from ._errors import AckTimeout, HTTPError, RequestTimeout
from ._message import Response
from ._metrics import Metrics
from ._runtime import Runtime
from ._timers import Timers


class PendingRequest:
    """A request that waits for one response."""

    __slots__ = (
        "_ack_timer",
        "_metrics",
        "_timeout",
        "_timers",
        "acked",
        "expires",
        "future",
        "loop",
        "on_ack",
        "subject",
    )

    def __init__(
        self,
        loop: asyncio.AbstractEventLoop,
        timers: Timers,
        metrics: Metrics,
        subject: str,
        timeout: float,
    ) -> None:
        self.loop, self._timers, self._metrics, self.subject = loop, timers, metrics, subject
        self.future: asyncio.Future[Response] = loop.create_future()
        self.acked = False
        self.expires = loop.time() + timeout
        self.on_ack: Callable[[Response], None] | None = None
        self._ack_timer: AckTimer | None = None
        self._timeout = timers.at(self.expires, self._on_timeout)

    def await_ack(self, timeout: float, runtime: Runtime) -> None:
        """Start the acknowledgement timer."""
        if not self.acked and not self.future.done():
            self._ack_timer = AckTimer(self.loop, timeout, self._on_ack_timeout, runtime)

    def receive(self, response: Response) -> None:
        """Take an acknowledgement or a response; runs on the caller's loop."""
        if not self.acked:
            self.acked = True
            if self._ack_timer is not None:
                self._ack_timer.stop()
        if response.headers._values[_control_headers.OP_CODE][0] == _control_headers.ACK:
            if self.on_ack is not None:
                self.on_ack(response)
        elif not self.future.done():
            self.future.set_result(response)

    def take(self, response: Response) -> None:
        """Take the response of a handler in this process, in the handler's thread."""
        self._metrics.deliveries["memory"] += 1
        try:
            running: object = asyncio.get_running_loop()
        except RuntimeError:
            running = None
        if running is self.loop:
            self.receive(response)
        else:
            with contextlib.suppress(RuntimeError):  # the caller's loop is closed
                self.loop.call_soon_threadsafe(self.receive, response)

    def fail(self, error: HTTPError) -> None:
        """Complete the request with an error."""
        if not self.future.done():
            self.future.set_exception(error)

    def _on_ack_timeout(self) -> None:
        self.fail(AckTimeout("ack timeout"))

    def _on_timeout(self) -> None:
        self.fail(RequestTimeout("timeout"))

    def close(self) -> None:
        """Cancel the timers."""
        self._timers.cancel(self._timeout)
        if self._ack_timer is not None:
            self._ack_timer.stop()
