"""The log of a service: its messages carry the service, the instance and the trace."""

from __future__ import annotations

import logging
from collections.abc import MutableMapping
from typing import Any

from ._message import current_request
from ._runtime import Runtime
from ._tracing import current_trace, trace_of


class ServiceLog(logging.LoggerAdapter[logging.Logger]):
    """A logger whose messages begin with the host of the service.

    ``service``, ``id``, ``plane`` and ``trace`` are fields of each record.

    Args:
        runtime: The service.
    """

    def __init__(self, runtime: Runtime) -> None:
        super().__init__(logging.getLogger("subtrie.service"), {})
        self._runtime = runtime

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
