"""Arguments of a query and escapes of a path, decoded."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from urllib.parse import parse_qsl, unquote

#: Path arguments and arguments of the query, by name.
Params = Mapping[str, object] | Sequence[tuple[str, object]]


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
