"""Parameters of a URL: in the parts of the path that name them, the others in the query."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any
from urllib.parse import parse_qsl, quote_plus

from ..._nats.absolute_url import escaped
from ..._nats.path_template import path_argument
from ._arguments import text

_SEGMENT_KEPT = "-_.~$&+:=@"


def url_with_params(
    url: str, params: Mapping[str, object] | Sequence[tuple[str, object]] | None
) -> str:
    """Return a URL with its parameters: added to the query, then moved into the path.

    A list becomes repeated arguments, ``True`` is written ``true``, None is left out. If the URL
    has arguments in braces, each takes the last value of its name from the query, ``{}`` that of
    ``path1``, ``path2`` and so on, and the rest of the query is sorted by name. ``{name...}`` keeps
    slashes. An argument without a value is empty.
    """
    texts = _written(params) if params is not None else []
    if texts:
        url, hash_, fragment = url.partition("#")
        url += ("&" if "?" in url else "?") + "&".join(texts) + hash_ + fragment
    if "{" not in url:
        return url
    whole, _, query = url.partition("?")
    given: dict[str, list[str]] = {}
    for name, value in parse_qsl(query, keep_blank_values=True, max_num_fields=None):
        given.setdefault(name, []).append(value)
    parts, count = whole.split("/"), 0
    for place, part in enumerate(parts):
        template = path_argument(part)
        if template is None:
            continue
        count += 1
        values = given.pop(template.name or f"path{count}", [""])
        segment = _segment(values[-1])
        parts[place] = segment.replace("%2F", "/") if template.greedy else segment
    rest = "&".join(_argument(name, value) for name in sorted(given) for value in given[name])
    return "/".join(parts) + ("?" + rest if rest else "")


def _written(params: Mapping[str, object] | Sequence[tuple[str, object]]) -> list[str]:
    pairs: Iterable[Any] = params.items() if hasattr(params, "items") else params
    texts = []
    for name, value in pairs:
        text(name, "params")
        for each in value if isinstance(value, list | tuple) else (value,):
            if each is not None:
                written = ("true" if each else "false") if isinstance(each, bool) else str(each)
                text(written, "params")
                texts.append(_argument(name, written))
    return texts


def _argument(name: str, value: str) -> str:
    return f"{quote_plus(name, safe='~')}={quote_plus(value, safe='~')}"


def _segment(segment: str) -> str:
    return "".join(
        c if c.isascii() and (c.isalnum() or c in _SEGMENT_KEPT) else escaped(c) for c in segment
    )
