"""The endpoint that a URL or a route with unknown parts addresses.

An unknown part in the path is ``*``, in the port it is any port but 666; in the host, the method or
the scheme it makes the endpoint unresolved.
"""

from __future__ import annotations

import dataclasses
import re
import warnings

from .. import microbus
from .._core.errors import UnheardPort
from .._nats.path_template import path_argument
from ._connector_methods import EVENT_PORT
from ._partial_strings import PartialString, UnknownPart

_URL = re.compile(r"(?:([A-Za-z][A-Za-z0-9+.\-]*):)?//([^/?#]*)(.*)", re.S)
_SLOT = re.compile(r"(?:id|loc)-[A-Za-z0-9-]*")


@dataclasses.dataclass(frozen=True, slots=True)
class RequestTarget:
    """The endpoint that is addressed.

    ``port`` is None for any but 666; ``unknown_parts`` counts those of the path that became ``*``.
    """

    host: str
    port: int | None
    path: str
    unknown_parts: int = 0


class Unresolved(Exception):
    """The endpoint cannot be determined; the message says why."""


def target_of_url(text: PartialString) -> RequestTarget:
    """Return the endpoint that a URL addresses. Raises ``Unresolved``, ``AddressError``."""
    whole, mark = _marked(text)
    found = _URL.fullmatch(whole)
    if found is None:
        _require_known(mark not in whole, text)
        microbus.request_from_url(plane="p", source="s", method="GET", url=whole)
    assert found is not None
    scheme, authority, rest = found[1] or "https", found[2], found[3]
    user, at, authority = authority.rpartition("@")
    _require_known(mark not in user, text)
    host, colon, port = authority.rpartition(":")
    if not colon:
        host, port = authority, ""
    label, dot, above = host.partition(".")
    if dot and mark in label and _SLOT.fullmatch(label.replace(mark, "")):
        host = above  # the instance or locality: rules leave the slot open  # A22
    _require_known(mark not in host, text)
    any_port = mark in port
    shown = "1" if any_port else port
    url = f"{scheme}://{user}{at}{host}{colon}{shown}{_query_cut(rest)}"
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", UnheardPort)
        subject = microbus.request_from_url(plane="p", source="s", method="GET", url=url)
    address = microbus.decode(subject)
    assert isinstance(address, microbus.RequestAddress)
    if "*" in address.path.split("/"):
        raise Unresolved("a literal '*' in the path, which a rule would take for a wildcard")
    path, unknown_parts = _with_wildcards(address.path, mark)
    return RequestTarget(address.host, None if any_port else int(address.port), path, unknown_parts)


def target_of_route(host: str, text: PartialString) -> RequestTarget:
    """Return the endpoint of a route of ``host``. Raises ``Unresolved``, ``AddressError``."""
    whole, mark = _marked(text)
    _require_known(not whole.startswith(mark), text)
    found = _URL.fullmatch(whole)
    head, rest = "", whole
    if found is not None:
        scheme, authority, rest = found[1], found[2], found[3]
        head = f"{scheme}:" if scheme else ""
        name, colon, port = authority.rpartition(":")
        if not colon:
            name, port = authority, ""
        _require_known(mark not in name, text)
        any_port = mark in port
        head += f"//{name}{colon}{'1' if any_port else port}"
    elif whole.startswith(":"):
        port, slash, rest = whole[1:].partition("/")
        any_port = mark in port
        head, rest = f":{'1' if any_port else port}", slash + rest
    else:
        any_port = False
    target = microbus.resolve_route(host=host, route=head + _query_cut(rest))
    path, unknown_parts = _with_wildcards(target.path, mark)
    return RequestTarget(target.host, None if any_port else int(target.port), path, unknown_parts)


def same_host(one: str, other: str) -> bool:
    """Return True if two hosts have the same subject token."""
    return microbus.flatten_host(one) == microbus.flatten_host(other)


def target_of_event(host: str, route: PartialString) -> RequestTarget:
    """Return the endpoint of an event of ``host``. Raises ``Unresolved``, ``AddressError``."""
    if route and isinstance(route[0], str):
        route = (route[0].removeprefix("/"), *route[1:])
    return target_of_route(host, (f"//{host}:{EVENT_PORT}/", *route))


def unknown_reasons(text: PartialString) -> list[str]:
    """Return the reason of each unknown part of a text."""
    return [each.why for each in text if isinstance(each, UnknownPart)]


def literal_text(text: PartialString) -> str | None:
    """Return the text if all of it is known, else None."""
    return (
        "".join(each for each in text if isinstance(each, str))
        if not unknown_reasons(text)
        else None
    )


def _require_known(known: bool, text: PartialString) -> None:
    if not known:
        raise Unresolved(", ".join(dict.fromkeys(unknown_reasons(text))) or "an unknown value")


def _marked(text: PartialString) -> tuple[str, str]:
    """The text with a mark for each unknown part, and the mark, which occurs nowhere else in it."""
    literals = "".join(each for each in text if isinstance(each, str)).lower()
    number = 0
    while (mark := f"0unknown{number}") in literals:
        number += 1
    return "".join(each if isinstance(each, str) else mark for each in text), mark


def _query_cut(rest: str) -> str:
    return re.split(r"[?#]", rest, maxsplit=1)[0]


def _with_wildcards(path: str, mark: str) -> tuple[str, int]:
    """The path with ``{}`` for each part with an unknown part, and the number of these."""
    parts = path.split("/")
    for place, part in enumerate(parts):
        if mark in part:
            argument = path_argument(part)
            greedy = argument is not None and argument.greedy and place == len(parts) - 1
            parts[place] = "{...}" if greedy else "{}"
    return "/".join(parts), sum(mark in part for part in path.split("/"))
