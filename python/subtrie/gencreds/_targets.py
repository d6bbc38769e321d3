"""From a URL or a route with holes to what it leads to.

A hole in a part of the path is ``*``, in the port it is any port but 666; in the host, in the
method or in the scheme nobody can tell where it goes.
"""

from __future__ import annotations

import dataclasses
import re
import warnings

from .. import microbus
from .._errors import UnheardPort
from ._partial_strings import Hole, Text

_URL = re.compile(r"(?:([A-Za-z][A-Za-z0-9+.\-]*):)?//([^/?#]*)(.*)", re.S)
_SLOT = re.compile(r"(?:id|loc)-[A-Za-z0-9-]*")


@dataclasses.dataclass(frozen=True, slots=True)
class Target:
    """Where it leads. ``port`` None is any but 666; ``holes`` counts parts that became ``*``."""

    host: str
    port: int | None
    path: str
    holes: int = 0


class Untold(Exception):
    """Nobody can tell where it goes; the message says why."""


def target_of_url(text: Text) -> Target:
    """Where a request to this URL goes. Raises ``Untold``, and ``AddressError`` for no URL."""
    whole, mark = _marked(text)
    found = _URL.fullmatch(whole)
    if found is None:
        _told(mark not in whole, text)
        microbus.request_from_url(plane="p", source="s", method="GET", url=whole)
    assert found is not None
    scheme, authority, rest = found[1] or "https", found[2], found[3]
    user, at, authority = authority.rpartition("@")
    _told(mark not in user, text)
    host, colon, port = authority.rpartition(":")
    if not colon:
        host, port = authority, ""
    label, dot, above = host.partition(".")
    if dot and mark in label and _SLOT.fullmatch(label.replace(mark, "")):
        host = above  # whichever instance or locality it is: rules leave the slot open (A22)
    _told(mark not in host, text)
    any_port = mark in port
    shown = "1" if any_port else port
    url = f"{scheme}://{user}{at}{host}{colon}{shown}{_query_cut(rest)}"
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", UnheardPort)
        subject = microbus.request_from_url(plane="p", source="s", method="GET", url=url)
    address = microbus.decode(subject)
    assert isinstance(address, microbus.RequestAddress)
    path, holes = _with_wildcards(address.path, mark)
    return Target(address.host, None if any_port else int(address.port), path, holes)


def target_of_route(host: str, text: Text) -> Target:
    """Where a route of the service ``host`` leads. Raises as ``target_of_url``."""
    whole, mark = _marked(text)
    _told(not whole.startswith(mark), text)
    found = _URL.fullmatch(whole)
    head, rest = "", whole
    if found is not None:
        scheme, authority, rest = found[1], found[2], found[3]
        head = f"{scheme}:" if scheme else ""
        name, colon, port = authority.rpartition(":")
        if not colon:
            name, port = authority, ""
        _told(mark not in name, text)
        any_port = mark in port
        head += f"//{name}{colon}{'1' if any_port else port}"
    elif whole.startswith(":"):
        port, slash, rest = whole[1:].partition("/")
        any_port = mark in port
        head, rest = f":{'1' if any_port else port}", slash + rest
    else:
        any_port = False
    target = microbus.resolve_route(host=host, route=head + _query_cut(rest))
    path, holes = _with_wildcards(target.path, mark)
    return Target(target.host, None if any_port else int(target.port), path, holes)


def holes_of(text: Text) -> list[str]:
    """Why each hole of a text is one."""
    return [each.why for each in text if isinstance(each, Hole)]


def literal(text: Text) -> str | None:
    """The text where all of it is told."""
    return "".join(each for each in text if isinstance(each, str)) if not holes_of(text) else None


def _told(told: bool, text: Text) -> None:
    if not told:
        raise Untold(", ".join(dict.fromkeys(holes_of(text))) or "nobody can tell")


def _marked(text: Text) -> tuple[str, str]:
    """The text with a mark in each hole that stands nowhere else in it."""
    literals = "".join(each for each in text if isinstance(each, str)).lower()
    number = 0
    while (mark := f"0hole{number}") in literals:
        number += 1
    return "".join(each if isinstance(each, str) else mark for each in text), mark


def _query_cut(rest: str) -> str:
    return re.split(r"[?#]", rest, maxsplit=1)[0]


def _with_wildcards(path: str, mark: str) -> tuple[str, int]:
    """The path with ``{}`` for each part that has a hole."""
    parts = path.split("/")
    for place, part in enumerate(parts):
        if mark in part:
            greedy = part.startswith("{") and part.endswith("...}") and place == len(parts) - 1
            parts[place] = "{...}" if greedy else "{}"
    return "/".join(parts), sum(mark in part for part in path.split("/"))
