"""Arguments of a query and escapes of a path, decoded."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from urllib.parse import parse_qsl, unquote

from .._core.errors import refusal
from .._nats.path_template import path_argument

_INSTANCE = re.compile(r"id-[A-Za-z0-9-]+")

#: Path arguments and arguments of the query, by name.
Params = Mapping[str, object] | Sequence[tuple[str, object]]


def parse_query(text: str) -> dict[str, list[str]]:
    """Return the arguments of a query: each name with its values in order."""
    found: dict[str, list[str]] = {}
    if text:
        for name, value in parse_qsl(text, keep_blank_values=True):
            found.setdefault(name, []).append(value)
    return found


def argument_without_value(url: str, params: Params | None) -> str:
    """Return the first path argument of a URL, as ``{id}``, for which there is no value.

    Args:
        url: The URL, with an argument in braces at least.
        params: Values by name; None does not count as one.
    """
    whole, _, query = url.partition("#")[0].partition("?")
    pairs = params.items() if isinstance(params, Mapping) else params or ()
    given = {name for name, value in pairs if value is not None and value != []}
    given |= parse_query(query).keys()
    count = 0
    for part in whole.split("/"):
        template = path_argument(part)
        if template is not None:
            count += 1
            if (template.name or f"path{count}") not in given:
                return part
    return ""


def has_slot(host: str) -> bool:
    """Return whether a host begins with an instance or a locality label, in any case."""
    return host[:4].lower().startswith(("id-", "loc-"))


def at_instance(url: str, instance: str) -> str:
    """Return a URL that addresses one instance of its host: ``https://id-a1b2.shop.example/``.

    Args:
        url: The URL, with the host of the service.
        instance: The id of the instance, as in ``Response.id``.

    Raises:
        AddressError: The id is not valid, or the URL names an instance or a locality already.
    """
    if not _INSTANCE.fullmatch(instance):
        raise refusal("AddressError", "slot", instance, field="instance")
    scheme, slashes, rest = url.partition("://")
    if has_slot(rest):
        raise refusal("AddressError", "stacked", url, field="instance")
    return f"{scheme}{slashes}{instance}.{rest}"


def decode_path(text: str) -> str:
    """Return a path with its escapes decoded."""
    return unquote(text, errors="surrogateescape") if "%" in text else text
