"""The codec of Microbus addresses: a part of ``_subtrie.pyi``."""

from collections.abc import Mapping, Sequence
from typing import final

from ._core.address import ReplyAddress, RequestAddress, SubscriptionAddress, Target
from ._core.subject import Pattern, Subject

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
    """Return the subject of a request; see ``subtrie.microbus.encode_request``."""

def encode_subscription(
    *,
    plane: str,
    port: int | str,
    host: str,
    method: str,
    path: str,
    slot: str = "",
) -> Pattern:
    """Return the pattern that receives requests to one endpoint of ``host``, from any sender.

    Args:
        plane: ASCII letters and digits.
        port: 0 to 65535; 0 stands for every port but 666.
        host: The host of the endpoint; any text that is not empty.
        method: One of the nine HTTP methods, in any case, or ``ANY``.
        path: Plain text. ``{name}``, ``{}`` and ``*`` stand for one path segment;
            ``{name...}`` and ``{...}``, which must be last, for one or more.
        slot: ``id-…``, ``loc-…`` or empty.

    Raises:
        AddressError: An argument is not valid.
    """

def encode_reply(*, plane: str, source: str, host: str, id: str) -> Subject:
    """Return the subject of a reply.

    Args:
        plane: ASCII letters and digits.
        source: The identity of the service that replies.
        host: The host of the service that sent the request.
        id: The id of its instance, ``id-…``.

    Raises:
        AddressError: An argument is not valid.
    """

def encode_reply_subscription(*, plane: str, host: str, id: str) -> Pattern:
    """Return the pattern that receives all replies to one instance of a service.

    Args:
        plane: ASCII letters and digits.
        host: The host of the service.
        id: The id of its instance, ``id-…``.

    Raises:
        AddressError: An argument is not valid.
    """

def request_from_url(*, plane: str, source: str, method: str, url: str) -> Subject:
    """Return the subject of a request to a URL; see ``subtrie.microbus.request_from_url``."""

def absolute_url(url: str) -> tuple[str, str, str, str, str, str]:
    """Return a URL with its port (80 for http, else 443), scheme, host, port, path and query.

    User and fragment are dropped; path and query stay percent-encoded, as they were written where
    that is valid in the line of a request.

    Args:
        url: A URL with a host, with or without a scheme.

    Raises:
        AddressError: It is not a URL with a host (``url-host``).
    """

def request_target(
    *, plane: str, source: str, method: str, url: str
) -> tuple[str, str, str, str, str, str, str, Subject]:
    """Return the parts of a URL as ``absolute_url`` does, its decoded path, and the subject.

    Args:
        plane: ASCII letters and digits.
        source: The identity of the sender, folded to lower case.
        method: One of the nine HTTP methods, in any case; not ``ANY``.
        url: A URL with a host.

    Raises:
        AddressError: An argument is not valid; for the URL with its port, as in
            ``request_from_url``.
    """

@final
class RequestTargets:
    """The targets of the requests of one sender, behind a small cache.

    Args:
        plane: ASCII letters and digits.
        source: The identity of the sender, folded to lower case.

    Raises:
        AddressError: An argument is not valid.
    """

    def __new__(cls, *, plane: str, source: str) -> RequestTargets: ...
    def __call__(
        self,
        method: str,
        url: str,
        params: Mapping[str, object] | Sequence[tuple[str, object]] | None = None,
        /,
    ) -> tuple[str, str, str, str, str, str, str, str]:
        """Return what ``request_target`` does; the subject may be plain text.

        Args:
            method: One of the nine HTTP methods, in any case; not ``ANY``.
            url: A URL with a host; path arguments in braces take the values of their names.
            params: Path arguments by name; the rest become the query. A list repeats its name, None
                is left out.

        Raises:
            AddressError: As for ``request_target``.
        """

def subscription_from_route(
    *, plane: str, host: str, method: str, route: str, slot: str = ""
) -> Pattern:
    """Return the pattern of an endpoint that a service registers under a route.

    Args:
        plane: ASCII letters and digits.
        host: The host of the service.
        method: One of the nine HTTP methods, in any case, or ``ANY``.
        route: ``/path`` for port 443 of the service, ``:N/path`` for its port N,
            ``//host:N/path`` or ``https://host/path`` for another host. The path is
            percent-decoded; a query is dropped.
        slot: ``id-…``, ``loc-…`` or empty.

    Raises:
        AddressError: An argument is not valid, or the host is reserved; ``all`` is allowed.
    """

def resolve_route(*, host: str, route: str) -> Target:
    """Return the host, the port and the decoded path of a route.

    Args:
        host: The host of the service that registers the route.
        route: As in ``subscription_from_route``.

    Raises:
        AddressError: An argument is not valid.
    """

def decode(subject: str) -> RequestAddress | ReplyAddress:
    """Return the address of a canonical subject.

    Only canonical subjects decode: encoding the address again gives the same bytes, so two
    spellings never stand for one sender.

    Raises:
        AddressError: The subject is not canonical; ``.position`` is an offset in it.
    """

def decode_subscription(pattern: str) -> SubscriptionAddress:
    """Return the address of a canonical pattern for requests.

    Port ``*`` is decoded as None, method ``*`` as None, the path tokens ``*`` and ``>`` as ``{}``
    and ``{...}``.

    Raises:
        AddressError: The pattern is not canonical, or is the pattern of a reply.
    """

def source_of(subject: str) -> str | None:
    """Return the verified source of a request or reply, or None if it must be rejected."""

def classify(subject: str) -> str:
    """Return the family of a subject; it never raises for text.

    ``microbus-request`` and ``microbus-reply`` are canonical addresses of any plane. The others
    are recognised by prefix: ``inbox``, ``jetstream``, ``kv``, ``object``, ``service``,
    ``system``, ``legacy-system``, ``gateway``, ``streaming``, ``mqtt``; else ``other``.
    """

def flatten_host(host: str) -> str:
    """Return the token of a host: lower case, dots as ``_``, other characters as ``%xx``."""

def unflatten_host(token: str) -> str:
    """Return the host of a canonical token; ``_`` always stands for a dot.

    Raises:
        AddressError: The token is not canonical, or is ``_`` alone.
    """

def escape_segment(segment: str) -> str:
    """Return the token of one path segment; an empty segment stays empty."""

def unescape_segment(token: str) -> str:
    """Return the path segment of a canonical token; ``_`` is the empty segment.

    Raises:
        AddressError: The token is not canonical.
    """

def cut_slot(host: str) -> tuple[str, str]:
    """Return the host without a leading ``id-…`` or ``loc-…`` label, and that label as a slot.

    Raises:
        AddressError: The label is not a valid slot, or a second one follows.
    """

def locality_slots(locality: str) -> tuple[str, ...]:
    """Return the slots of a locality, broadest first: ``us-west`` has ``loc-us``, ``loc-us-west``.

    Raises:
        AddressError: The locality is not valid.
    """

def locality_slot(locality: str) -> str:
    """Return the slot of a complete locality, in lower case; empty for empty text.

    Raises:
        AddressError: The locality is not valid.
    """

def check_locality(locality: str) -> str:
    """Return the locality, broadest part first: ``1.b.west.us`` becomes ``us-west-b-1``.

    Raises:
        AddressError: The locality is not valid.
    """

def common_locality(one: str, other: str) -> str:
    """Return the longest common prefix of two localities in complete parts, perhaps empty."""

def check_identity_host(host: str) -> str:
    """Return the host if a service may have it; upper case is refused.

    Raises:
        AddressError: The host is not a valid identity.
    """

def check_route_host(host: str) -> str:
    """Return the host in lower case if a route may name it.

    Raises:
        AddressError: The host is not valid in a route.
    """

def check_route_path(path: str) -> str:
    """Return the path with one leading slash if its arguments are well formed.

    Raises:
        AddressError: A path argument is not well formed.
    """

def check_plane(plane: str) -> str:
    """Return the plane if it consists of ASCII letters and digits and is not empty.

    Raises:
        AddressError: The plane is not valid.
    """

def check_method(method: str) -> str:
    """Return the method in upper case if it is one of the nine HTTP methods, or ``ANY``.

    Raises:
        AddressError: The method is unknown; ``.status`` is 405.
    """
