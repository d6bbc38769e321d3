"""Log records of connectors: no raw control characters in them, and a rate for what peers cause."""

from __future__ import annotations

import logging
from collections.abc import Callable

from .._core.printable import printable
from . import _system

MAX_REFUSALS, REFUSAL_PERIOD = 10, 10.0  # records of refused requests, in so many seconds
MAX_BROKER_ERRORS, BROKER_ERROR_PERIOD = 20, 10.0  # records of errors of the broker
_MAX_CHAIN = 16  # causes of an exception that are shown


class PrintableFilter(logging.Filter):
    """Escapes control characters of messages and exceptions: peers may have chosen the text."""

    def filter(self, record: logging.LogRecord) -> bool:
        """Escape the control characters of a record; return True."""
        message = record.getMessage()
        if not message.isprintable():
            record.msg, record.args = printable(message), ()
        if isinstance(record.exc_info, tuple) and record.exc_info[1] is not None:
            shown = _escaped(record.exc_info[1])
            record.exc_info = type(shown), shown, record.exc_info[2]
        return True


def _escaped(error: BaseException, depth: int = 0) -> BaseException:
    """Return an exception, or a copy whose text and causes have no control characters."""
    followed = error.__cause__
    if followed is None and not error.__suppress_context__:
        followed = error.__context__
    text = str(error)
    cause = None if followed is None or depth >= _MAX_CHAIN else _escaped(followed, depth + 1)
    if text.isprintable() and cause is followed:
        return error
    kind = type(error)
    names = {"__module__": kind.__module__, "__qualname__": kind.__qualname__}
    copy: BaseException = type(kind.__name__, (Exception,), names)(printable(text))
    copy.__traceback__, copy.__cause__ = error.__traceback__, cause
    return copy


class RecordRate:
    """Admits a number of records in each period, and counts those that it leaves out.

    Args:
        most: The number of records.
        seconds: The period.
        clock: Seconds, monotonic.
    """

    def __init__(
        self,
        most: int,
        seconds: float,
        clock: Callable[[], float] = lambda: _system.monotonic(),
    ) -> None:
        self._most, self._seconds, self._clock = most, seconds, clock
        self._begun, self._admitted, self._left_out = -seconds, 0, 0

    def admits(self) -> bool:
        """Return whether a record may be written now."""
        now = self._clock()
        if now - self._begun >= self._seconds:
            self._begun, self._admitted = now, 0
        self._admitted += 1
        if self._admitted > self._most:
            self._left_out += 1
            return False
        return True

    def left_out(self) -> str:
        """Return how many records were left out since the last call, in words; empty if none."""
        count, self._left_out = self._left_out, 0
        return f" ({count:,} more were not logged)" if count else ""


logging.getLogger("subtrie.connector").addFilter(PrintableFilter())
