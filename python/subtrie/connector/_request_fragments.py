"""Requests over the bus, in fragments if the body is larger than a message."""

from __future__ import annotations

import logging

from .._core.errors import SubtrieError, refusal
from . import _system
from ._envelope import PendingRequest, RequestEnvelope, ResponseEnvelope
from ._fragments import cut, fragment_of
from ._identity import request_address
from ._responses import ResponseStream
from ._runtime import Runtime
from ._transport import Transport

logger = logging.getLogger("subtrie.connector")


def publish_request(
    request: RequestEnvelope,
    call: PendingRequest | ResponseStream,
    runtime: Runtime,
    transport: Transport,
) -> None:
    """Publish a request over the bus, in fragments if needed.

    An instance that acknowledged the first fragment received it over the bus, so the other
    fragments take the same way.
    """
    first = request
    if len(request.body) > transport.fragment_size:
        parts = cut(request.body, transport.fragment_size)
        if len(parts) > runtime.max_fragments:
            size = f"of {len(request.body)} bytes"
            call.fail(refusal("BusError", "too-many-fragments", size, field="body"))
            return
        first = fragment_of(request, parts, 1)
        sent: set[str] = set()

        def send_rest(ack: ResponseEnvelope) -> None:
            if ack.id not in sent:
                sent.add(ack.id)
                _publish_rest(request, parts, call, ack.id, transport)

        call.on_ack = send_rest
    call.sent = _system.monotonic()
    transport.publish(call.subject, first, call.fail_threadsafe)


def _publish_rest(
    request: RequestEnvelope,
    parts: list[bytes],
    call: PendingRequest | ResponseStream,
    instance: str,
    transport: Transport,
) -> None:
    """Send the remaining fragments to the instance that acknowledged the first."""
    address = request_address(call.subject)  # S0-043
    assert address is not None
    try:
        subject = str(address.replace(slot=instance))
    except SubtrieError:
        text = "%s: %s was acknowledged by %a, which is not a valid instance id"
        logger.warning(text, address.source, call.subject, instance)
        return
    for number in range(2, len(parts) + 1):
        fragment = fragment_of(request, parts, number)
        transport.publish(subject, fragment, call.fail_threadsafe)
