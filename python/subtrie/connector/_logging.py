"""The log of a service: its messages carry the service, the instance and the trace."""

from __future__ import annotations

import json
import logging
import time
from collections.abc import MutableMapping
from typing import Any

from ._envelope import current_request
from ._runtime import Runtime
from ._tracing import current_trace, trace_of

#: What every record has: the other attributes were given as ``extra``.
_OF_EVERY_RECORD = frozenset(vars(logging.makeLogRecord({}))) | {"asctime", "message"}
_LONGEST_LABEL = 100  # characters of a message in the metrics


class ServiceLog(logging.LoggerAdapter[logging.Logger]):
    """A logger whose messages begin with the host of the service.

    ``service``, ``id``, ``plane`` and ``trace`` are fields of each record.

    Args:
        runtime: The service.
    """

    def __init__(self, runtime: Runtime) -> None:
        super().__init__(logging.getLogger("subtrie.service"), {})
        self._runtime = runtime

    def log(self, level: int, msg: object, *args: object, **kwargs: Any) -> None:
        """Log a message, and count it by its text before the values are filled in."""
        if self.isEnabledFor(level):
            text, severity = str(msg)[:_LONGEST_LABEL], logging.getLevelName(level)
            self._runtime.metrics.log_messages.add(message=text, severity=severity)
        super().log(level, msg, *args, **{**kwargs, "stacklevel": kwargs.get("stacklevel", 1) + 1})

    def process(
        self, msg: Any, kwargs: MutableMapping[str, Any]
    ) -> tuple[Any, MutableMapping[str, Any]]:
        """Return the message with the host, and the fields."""
        runtime = self._runtime
        fields = {"service": runtime.host, "id": runtime.id, "plane": runtime.plane}
        if trace := current_trace() or trace_of(current_request.get()):
            fields["trace"] = trace
        kwargs["extra"] = {**fields, **(kwargs.get("extra") or {})}
        return f"{runtime.host}: {msg}", kwargs


class JSONFormatter(logging.Formatter):
    """A formatter that writes each record as one line of JSON.

    ``time`` (UTC), ``level``, ``logger`` and ``message`` come first, then the fields of the record,
    such as ``service`` and ``trace``; an exception is the text ``exception``. A field that JSON
    cannot represent is written as its ``repr``.

    Example:
        ``handler.setFormatter(JSONFormatter())``
    """

    def format(self, record: logging.LogRecord) -> str:
        """Return the line of a record."""
        moment = time.strftime("%Y-%m-%dT%H:%M:%S", time.gmtime(record.created))
        line: dict[str, Any] = {
            "time": f"{moment}.{int(record.msecs):03d}Z",
            "level": record.levelname,
            "logger": record.name,
            "message": record.getMessage(),
        }
        for name, value in vars(record).items():
            if name not in _OF_EVERY_RECORD:
                line.setdefault(name, value)
        if record.exc_info:
            line["exception"] = self.formatException(record.exc_info)
        if record.stack_info:
            line["stack_info"] = self.formatStack(record.stack_info)
        return json.dumps(line, ensure_ascii=False, default=repr)
