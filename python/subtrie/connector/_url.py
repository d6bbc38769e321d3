"""URLs as the bus writes them: with the port, and path arguments filled in from the query.

A request line contains the whole URL, in the caller's spelling where that is valid, as in Go.
``subtrie.microbus`` decides which subject a URL means.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from urllib.parse import parse_qsl, quote_plus, unquote

from .._nats.absolute_url import escaped
from .._nats.path_template import path_argument

_SEGMENT_KEPT = "-_.~$&+:=@"


Params = Mapping[str, object] | Sequence[tuple[str, object]]


def with_params(url: str, params: Params | None) -> str:
    """Return the URL with arguments added to its query, in the given order.

    A list becomes repeated arguments, ``True`` is written ``true``, None is left out.

    Args:
        url: The URL.
        params: A mapping or pairs of name and value.
    """
    if not params:
        return url
    pairs = params.items() if isinstance(params, Mapping) else params
    texts = []
    for name, value in pairs:
        for each in value if isinstance(value, list | tuple) else (value,):
            if each is not None:
                texts.append(f"{quote_plus(name, safe='~')}={quote_plus(argument(each), safe='~')}")
    if not texts:
        return url
    url, hash_, fragment = url.partition("#")
    return url + ("&" if "?" in url else "?") + "&".join(texts) + hash_ + fragment


def argument(value: object) -> str:
    """Return a value as it is written in a query or a path."""
    if isinstance(value, bool):
        return "true" if value else "false"
    return str(value)


def fill_path(url: str) -> str:
    """Move query arguments into the path parts that name them: ``/{id}?id=7`` becomes ``/7``.

    Unnamed parts take ``path1``, ``path2``, …; ``{name...}`` keeps its slashes; a missing argument
    leaves its part empty. The rest of the query is sorted by name.
    """
    if "{" not in url:
        return url
    text, _, query = url.partition("?")
    given: dict[str, list[str]] = {}
    for name, value in parse_qsl(query, keep_blank_values=True):
        given.setdefault(name, []).append(value)
    parts, count = text.split("/"), 0
    for place, part in enumerate(parts):
        template = path_argument(part)
        if template is None:
            continue
        count += 1
        values = given.pop(template.name or f"path{count}", [""])
        segment = _segment(values[-1])
        parts[place] = segment.replace("%2F", "/") if template.greedy else segment
    rest = "&".join(
        f"{quote_plus(name, safe='~')}={quote_plus(value, safe='~')}"
        for name in sorted(given)
        for value in given[name]
    )
    return "/".join(parts) + ("?" + rest if rest else "")


def _segment(text: str) -> str:
    return "".join(
        c if c.isascii() and (c.isalnum() or c in _SEGMENT_KEPT) else escaped(c) for c in text
    )


def parse_query(text: str) -> dict[str, list[str]]:
    """Return the arguments of a query: each name with its values in order."""
    found: dict[str, list[str]] = {}
    if text:
        for name, value in parse_qsl(text, keep_blank_values=True):
            found.setdefault(name, []).append(value)
    return found


def decode_path(text: str) -> str:
    """Return a path with its escapes decoded."""
    return unquote(text, errors="surrogateescape") if "%" in text else text
