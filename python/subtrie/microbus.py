"""Microbus addresses to subjects and back, over the engine in use.

A subject says who sends what to whom: plane, trust, port, source, host, slot, method, path. All
errors are ``AddressError`` (with ``.field``, the argument, and ``.position``, a byte offset in it)
but for arguments of a wrong type, which are ``TypeError``. Every function takes time in proportion
to its text.
"""

from __future__ import annotations

import warnings
from typing import TYPE_CHECKING

from . import _engine
from ._address import ReplyAddress, RequestAddress, SubscriptionAddress, Target
from ._errors import UnheardPort
from ._plane import default_plane
from ._subject import Pattern, Subject

if TYPE_CHECKING:
    from ._subtrie import Batch

__all__ = [
    "ReplyAddress",
    "RequestAddress",
    "SubscriptionAddress",
    "Target",
    "check_identity_host",
    "check_locality",
    "check_method",
    "check_plane",
    "check_route_host",
    "check_route_path",
    "classify",
    "common_locality",
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
    "locality_slot",
    "locality_slots",
    "request_from_url",
    "resolve_route",
    "source_of",
    "subscription_from_route",
    "unescape_segment",
    "unflatten_host",
]


def _warned(subject: Subject) -> Subject:
    """Publishing to port 0 is legal, but by convention nobody hears it (S0-083, A10)."""
    if subject.split(".", 3)[2] == "0":
        warnings.warn(
            "a request to port 0: routes on port 0 hear every port, none listens there itself",
            UnheardPort,
            stacklevel=3,
        )
    return subject


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
    """The subject of a request from ``source`` to an endpoint of ``host``.

    ``port`` is 0 to 65535, as ``int`` or canonical digits (A10); 666 makes the subject
    ``danger`` (S0-024), 0 warns with ``UnheardPort``. ``source`` is an identity, folded to lower
    case; ``host`` any text that is not empty (A74). ``method`` is one of the nine, in any case;
    not ANY (A11). ``path`` is plain text: ``%`` is data, ``/`` separates, one leading slash is
    dropped (A13, A14). ``slot`` is ``id-…``, ``loc-…`` or empty (A8, A9).

    Raises ``AddressError``, with status 405 for methods, 414 beyond 1,024 bytes or 64 tokens
    (A37). Rules: S0-004 to S0-015, S0-023 to S0-030, S0-056 to S0-071.
    """
    subject: Subject = _engine.active.encode_request(
        plane=plane, port=port, source=source, host=host, method=method, path=path, slot=slot
    )
    return _warned(subject)


def encode_subscription(
    *,
    plane: str,
    port: int | str,
    host: str,
    method: str,
    path: str,
    slot: str = "",
) -> Pattern:
    """The pattern that receives requests to one endpoint of ``host``, from anyone.

    Port 0 is any port but 666 (S0-083, A16), ``ANY`` any method (S0-057). In ``path``, ``{name}``,
    ``{}`` and a bare ``*`` are one part, ``{name...}`` and ``{...}``, last, the rest (S0-062,
    S0-063, S0-072, A15); other braces are refused. All else is as in ``encode_request``.

    Raises ``AddressError``. Rules: S0-007 to S0-013, S0-037, S0-057, S0-082 to S0-086.
    """
    pattern: Pattern = _engine.active.encode_subscription(
        plane=plane, port=port, host=host, method=method, path=path, slot=slot
    )
    return pattern


def encode_reply(*, plane: str, source: str, host: str, id: str) -> Subject:
    """The subject of a reply from ``source`` to the instance ``id`` of ``host``, who asked.

    Raises ``AddressError``. Rules: S0-075, S0-076, A1, A8.
    """
    subject: Subject = _engine.active.encode_reply(plane=plane, source=source, host=host, id=id)
    return subject


def encode_reply_subscription(*, plane: str, host: str, id: str) -> Pattern:
    """The pattern that receives all replies to the instance ``id`` of ``host``.

    Raises ``AddressError``. Rules: S0-087, S0-098.
    """
    pattern: Pattern = _engine.active.encode_reply_subscription(plane=plane, host=host, id=id)
    return pattern


def request_from_url(*, plane: str, source: str, method: str, url: str) -> Subject:
    """The subject of a request to a URL such as ``https://loc-us.payments.core:443/charge``.

    Without a port, ``http`` is 80 and anything else 443. A leading ``id-…`` or ``loc-…`` label of
    the host becomes the slot (S0-055, A9). The path is percent-decoded, so that ``%2F`` separates
    (A14). User, query and fragment are dropped. Port 0 warns with ``UnheardPort``.

    Raises ``AddressError`` (field ``url``) for what Go's parser refuses (A74), for a port that is
    not canonical (A10) or begun and not given, and for paths that are no UTF-8 (A73).
    """
    subject: Subject = _engine.active.request_from_url(
        plane=plane, source=source, method=method, url=url
    )
    return _warned(subject)


def subscription_from_route(
    *, plane: str, host: str, method: str, route: str, slot: str = ""
) -> Pattern:
    """The pattern of an endpoint that the service ``host`` registers under ``route``.

    ``/p`` and ``p`` are port 443 of the service, ``:N/p`` its port N, ``//host:N/p`` and
    ``https://host/p`` another host. The path is percent-decoded, then as in
    ``encode_subscription``; a query is dropped.

    Raises ``AddressError``; reserved hosts are refused (S0-054), ``all`` itself is not.
    """
    pattern: Pattern = _engine.active.subscription_from_route(
        plane=plane, host=host, method=method, route=route, slot=slot
    )
    return pattern


def resolve_route(*, host: str, route: str) -> Target:
    """Where a route of the service ``host`` leads: ``(host, port, path)``, the path decoded.

    Raises ``AddressError``. As ``subscription_from_route``, but for the path's arguments.
    """
    return Target(*_engine.active.resolve_route(host=host, route=route))


def decode(subject: str) -> RequestAddress | ReplyAddress:
    """The address of a canonical subject.

    Encoding the address gives the same bytes again, and the source is an identity: two spellings
    never stand for one sender (A7). ``str(decode(s)) == s`` for all that decodes.

    Raises ``AddressError``, positions counted in the subject. Rules: S0-003, S0-005, S0-074, A5,
    A13, A14, A73.
    """
    address: RequestAddress | ReplyAddress = _engine.active.decode(subject)
    return address


def decode_batch(subjects: object) -> Batch:
    """Decodes a column: an Arrow string array, a stream of them, or an iterable of ``str``.

    The answer is an Arrow struct through the C interface (``pyarrow.array(batch)``) and a sequence
    of dictionaries: ``kind`` (1 request, 2 reply, 0 neither), ``plane``, ``trust``, ``port``,
    ``source``, ``host``, ``slot`` (of a reply, its id), ``method``, ``path``, ``reason`` (why a row
    is neither; then all else is null). Null rows give nulls. Text is a dictionary but for the path.

    Raises ``TypeError`` or ``ValueError`` where it is no column of text; at most 2 GiB of it. Cost:
    one decode a row, without the GIL.
    """
    batch: Batch = _engine.active.decode_batch(subjects)
    return batch


def decode_subscription(pattern: str) -> SubscriptionAddress:
    """The address of a canonical pattern for requests.

    Port ``*`` gives None, method ``*`` gives None, path tokens ``*`` and ``>`` give ``{}`` and
    ``{...}``. The pattern of a reply has no such address and is refused (``reply-subscription``).

    Raises ``AddressError``, positions counted in the pattern.
    """
    address: SubscriptionAddress = _engine.active.decode_subscription(pattern)
    return address


def source_of(subject: str) -> str | None:
    """The verified source of a request or reply; None where the message must be rejected.

    Never raises for text. Rules: S0-003, S0-041, A7.
    """
    source: str | None = _engine.active.source_of(subject)
    return source


def classify(subject: str) -> str:
    """Whose subject is it?

    ``microbus-request`` and ``microbus-reply`` for canonical addresses of any plane, ``inbox``,
    ``jetstream``, ``kv``, ``object``, ``service``, ``system``, ``legacy-system``, ``gateway``,
    ``streaming``, ``mqtt`` by prefix, else ``other``. Never raises for text.
    """
    family: str = _engine.active.classify(subject)
    return family


def flatten_host(host: str) -> str:
    """The token of a host, in lower case: dots to ``_``, specials to ``%xx`` (S0-028, S0-029)."""
    token: str = _engine.active.flatten_host(host)
    return token


def unflatten_host(token: str) -> str:
    """The host of a canonical token; ``_`` is always a dot (A5).

    Raises ``AddressError`` for any other spelling, and for ``_`` alone (A7).
    """
    host: str = _engine.active.unflatten_host(token)
    return host


def escape_segment(segment: str) -> str:
    """The token of one path part (S0-064 to S0-067). Empty stays empty; encoders write ``_``."""
    token: str = _engine.active.escape_segment(segment)
    return token


def unescape_segment(token: str) -> str:
    """The path part of a canonical token; ``_`` is the empty part (A13).

    Raises ``AddressError`` for any other spelling.
    """
    segment: str = _engine.active.unescape_segment(token)
    return segment


def cut_slot(host: str) -> tuple[str, str]:
    """Lifts a leading ``id-…`` or ``loc-…`` label: ``(host, slot)``, the host's case untouched.

    Raises ``AddressError`` where that label is no slot (A8) or a second follows (A9). S0-055.
    """
    cut: tuple[str, str] = _engine.active.cut_slot(host)
    return cut


def locality_slots(locality: str) -> tuple[str, ...]:
    """The slots of a locality, broadest first: ``us-west`` gives ``loc-us``, ``loc-us-west``.

    Raises ``AddressError``. Rules: S0-046, A8, A74.
    """
    slots: tuple[str, ...] = _engine.active.locality_slots(locality)
    return slots


def locality_slot(locality: str) -> str:
    """The slot of one whole locality, folded to lower case; empty text has none.

    Raises ``AddressError``.
    """
    slot: str = _engine.active.locality_slot(locality)
    return slot


def check_locality(locality: str) -> str:
    """The locality, broadest first and joined by hyphens: ``1.b.west.us`` gives ``us-west-b-1``.

    Raises ``AddressError``.
    """
    broad: str = _engine.active.check_locality(locality)
    return broad


def common_locality(one: str, other: str) -> str:
    """The longest common prefix of two localities, by whole parts; empty where there is none."""
    common: str = _engine.active.common_locality(one, other)
    return common


def check_identity_host(host: str) -> str:
    """The host, if a service may have it; upper case is refused.

    Raises ``AddressError``. Rules: S0-034, S0-053, A21, A74.
    """
    checked: str = _engine.active.check_identity_host(host)
    return checked


def check_route_host(host: str) -> str:
    """The host in lower case, if a route may name it.

    Raises ``AddressError``. Rules: S0-036, S0-054, A74.
    """
    checked: str = _engine.active.check_route_host(host)
    return checked


def check_route_path(path: str) -> str:
    """The path with its leading slash, if its arguments are well formed.

    Raises ``AddressError``. Rules: S0-063, S0-086, A15.
    """
    checked: str = _engine.active.check_route_path(path)
    return checked


def check_plane(plane: str) -> str:
    """The plane, if it is one: ASCII letters and digits, not empty (S0-016, A6).

    Raises ``AddressError``.
    """
    checked: str = _engine.active.check_plane(plane)
    return checked


def check_method(method: str) -> str:
    """The method in upper case, if it is one of the nine or ANY (S0-058, A3, A12).

    Raises ``AddressError`` with status 405.
    """
    checked: str = _engine.active.check_method(method)
    return checked
