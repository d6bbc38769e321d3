"""Encode Microbus addresses as NATS subjects and decode them again, with the engine in use.

A subject names the plane, the trust zone, the port, the sender, the receiver, a slot, the method
and the path of a request. All errors are ``AddressError``, with ``.field`` (the argument) and
``.position`` (a byte offset in it); arguments of a wrong type are a ``TypeError``. The time of
every function is linear in the length of its text.

Example:
    >>> from subtrie import microbus
    >>> subject = microbus.request_from_url(
    ...     plane="p", source="web.app", method="GET", url="https://payments.core/charge/7")
    >>> str(subject)
    'p.safe.443.web_app.payments_core._.GET.charge.7'
    >>> microbus.decode(subject).path
    '/charge/7'
"""

from __future__ import annotations

import warnings

from ._core import engine
from ._core.address import ReplyAddress, RequestAddress, SubscriptionAddress
from ._core.engine import (
    check_identity_host,
    check_method,
    check_plane,
    check_route_host,
    check_route_path,
    cut_slot,
    decode,
    decode_batch,
    decode_subscription,
    encode_reply,
    encode_reply_subscription,
    encode_subscription,
    escape_segment,
    flatten_host,
    locality_slots,
    resolve_route,
    source_of,
    subscription_from_route,
    unescape_segment,
    unflatten_host,
)
from ._core.errors import UnheardPort
from ._core.plane import default_plane
from ._core.public_names import publish
from ._core.subject import Subject

__all__ = [
    "ReplyAddress",
    "RequestAddress",
    "SubscriptionAddress",
    "check_identity_host",
    "check_method",
    "check_plane",
    "check_route_host",
    "check_route_path",
    "cut_slot",
    "decode",
    "decode_batch",
    "decode_subscription",
    "default_plane",
    "encode_reply",
    "encode_reply_subscription",
    "encode_request",
    "encode_subscription",
    "escape_segment",
    "flatten_host",
    "locality_slots",
    "request_from_url",
    "resolve_route",
    "source_of",
    "subscription_from_route",
    "unescape_segment",
    "unflatten_host",
]


def encode_request(
    *,
    plane: str,
    port: int | str,
    source: str,
    host: str,
    method: str,
    path: str,
    slot: str = "",
) -> Subject:
    """Return the subject of a request from ``source`` to an endpoint of ``host``.

    Args:
        plane: ASCII letters and digits.
        port: 0 to 65535, as ``int`` or canonical digits. Port 666 is the trust zone ``danger``.
        source: The identity of the sender, folded to lower case.
        host: The host of the endpoint; any text that is not empty.
        method: One of the nine HTTP methods, in any case; not ``ANY``.
        path: Plain text: ``%`` is data, ``/`` separates, one leading slash is dropped.
        slot: ``id-…``, ``loc-…`` or empty.

    Raises:
        AddressError: An argument is not valid. ``.status`` is 405 for a method and 414 when the
            subject would be longer than 1,024 bytes or 64 tokens.

    Warns:
        UnheardPort: ``port`` is 0, on which no endpoint listens.
    """
    subject = engine.encode_request(
        plane=plane, port=port, source=source, host=host, method=method, path=path, slot=slot
    )
    return _warn_of_port_0(subject) if port in (0, "0") else subject


def request_from_url(*, plane: str, source: str, method: str, url: str) -> Subject:
    """Return the subject of a request to a URL.

    Without a port, ``http`` means 80 and any other scheme 443. A leading ``id-…`` or ``loc-…``
    label of the host becomes the slot. The path is percent-decoded, so ``%2F`` separates. User,
    query and fragment are dropped.

    Args:
        plane: ASCII letters and digits.
        source: The identity of the sender, folded to lower case.
        method: One of the nine HTTP methods, in any case; not ``ANY``.
        url: An absolute URL, such as ``https://loc-us.payments.core:443/charge``.

    Raises:
        AddressError: An argument is not valid; ``.field`` is ``url`` for a URL that Go's parser
            refuses, a port that is empty or not canonical, and a path that is not UTF-8.

    Warns:
        UnheardPort: The port is 0, on which no endpoint listens.
    """
    subject = engine.request_from_url(plane=plane, source=source, method=method, url=url)
    return _warn_of_port_0(subject) if ".safe.0." in subject else subject


# S0-083, A10
def _warn_of_port_0(subject: Subject) -> Subject:
    """Warn the caller of the public function when the port is 0, and return the subject."""
    if subject.split(".", 3)[2] == "0":
        warnings.warn(
            "a request to port 0 reaches no endpoint: an endpoint on port 0 receives requests to "
            "every other port",
            UnheardPort,
            stacklevel=3,
        )
    return subject


publish(globals())
