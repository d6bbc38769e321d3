"""Encoding of addresses as subjects and patterns."""

# S0-004 to S0-015, S0-023 to S0-025, S0-037, S0-056 to S0-073, S0-075, S0-076

from __future__ import annotations

from collections.abc import Callable

from ..._core.errors import SubtrieError
from ..._core.subject import Pattern, Subject
from .._grammar import check_pattern, check_subject
from ._arguments import RuleViolation, argument, port_text, text
from ._escape import flatten_host
from ._fields import id_of, method_of, plane_of, port_of, published_method_of, slot_of, trust_of
from ._hosts import addressed_host_of, any_host_of, source_of_encoder
from ._paths import path_tokens, route_tokens


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
    """Return the subject of a request from ``source`` to an endpoint of ``host``."""
    text(plane, "plane")
    port_text(port)
    for value, name in (
        (source, "source"),
        (host, "host"),
        (method, "method"),
        (path, "path"),
        (slot, "slot"),
    ):
        text(value, name)
    with argument("plane", plane):
        plane_of(plane)
    with argument("port", port):
        number = port_of(port)
    with argument("source", source):
        source_token = flatten_host(source_of_encoder(source))
    with argument("host", host):
        host_token = flatten_host(any_host_of(host))
    with argument("method", method):
        method_token = published_method_of(method)
    with argument("slot", slot):
        slot_token = slot_of(slot) or "_"
    with argument("host", host):
        addressed_host_of(host, slot)
    return subject_of(
        [
            plane,
            trust_of(number),
            str(number),
            source_token,
            host_token,
            slot_token,
            method_token,
            *path_tokens(path),
        ],
        (plane, port, source, host, method, path, slot),
    )


def encode_subscription(
    *,
    plane: str,
    port: int | str,
    host: str,
    method: str,
    path: str,
    slot: str = "",
) -> Pattern:
    """Return the pattern that receives requests to one endpoint of ``host``, from any sender."""
    text(plane, "plane")
    port_text(port)
    for value, name in ((host, "host"), (method, "method"), (path, "path"), (slot, "slot")):
        text(value, name)
    with argument("plane", plane):
        plane_of(plane)
    with argument("port", port):
        number = port_of(port)
    with argument("host", host):
        host_token = flatten_host(any_host_of(host))
    with argument("method", method):
        method_token = method_of(method)
    with argument("path", path):
        tokens = route_tokens(path)
    with argument("slot", slot):
        slot_token = slot_of(slot) or "_"
    with argument("host", host):
        addressed_host_of(host, slot)
    return pattern_of(
        [
            plane,
            trust_of(number),  # S0-007: never a wildcard; port 0 is 'safe' (A16)
            "*" if number == 0 else str(number),  # S0-083
            "*",  # S0-037
            host_token,
            slot_token,
            "*" if method_token == "ANY" else method_token,  # S0-057
            *tokens,
        ],
        (plane, port, host, method, path, slot),
    )


def encode_reply(*, plane: str, source: str, host: str, id: str) -> Subject:
    """Return the subject of a reply from ``source`` to the instance ``id`` of ``host``."""  # A1
    for value, name in ((plane, "plane"), (source, "source"), (host, "host"), (id, "id")):
        text(value, name)
    with argument("plane", plane):
        plane_of(plane)
    with argument("source", source):
        source_token = flatten_host(source_of_encoder(source))
    with argument("host", host):
        host_token = flatten_host(any_host_of(host))
    with argument("id", id):
        id_token = id_of(id)
    return subject_of(
        [plane, "reply", "_", source_token, host_token, id_token],
        (plane, source, host, id),
    )


def encode_reply_subscription(*, plane: str, host: str, id: str) -> Pattern:
    """Return the pattern that receives all replies to the instance ``id`` of ``host``."""
    for value, name in ((plane, "plane"), (host, "host"), (id, "id")):
        text(value, name)
    with argument("plane", plane):
        plane_of(plane)
    with argument("host", host):
        host_token = flatten_host(any_host_of(host))
    with argument("id", id):
        id_token = id_of(id)
    return pattern_of([plane, "reply", "_", "*", host_token, id_token], (plane, host, id))


def subject_of(tokens: list[str], arguments: tuple[object, ...]) -> Subject:
    """Join the tokens and check the limits of the grammar."""  # A37
    return Subject._of(_joined(check_subject, tokens, arguments), "strict")


def pattern_of(tokens: list[str], arguments: tuple[object, ...]) -> Pattern:
    """Join the tokens and check the limits of the grammar."""  # A37
    return Pattern._of(_joined(check_pattern, tokens, arguments), "strict")


def _joined(check: Callable[[str], None], tokens: list[str], arguments: tuple[object, ...]) -> str:
    joined = ".".join(tokens)
    try:
        check(joined)
    except SubtrieError as error:
        # The longest text, the first of several, makes the address too long.
        longest = max((each for each in arguments if isinstance(each, str)), key=len)
        with argument(None, longest):
            raise RuleViolation(error.reason, error.position) from None
    return joined
