"""Lines that a container runtime wrapped: JSON of docker's driver ``json-file``, and CRI.

docker writes a JSON object with ``log`` first, CRI ``TIME stderr F …``. Both write a long line in
parts, of which the last one is marked: by its line feed, or by ``F`` in place of ``P``.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Iterator
from typing import NamedTuple

#: The bytes of a line that are read.
LONGEST = 65_536
#: How a line of docker begins.
DOCKER = '{"log":'
_CRI = re.compile(r"\d[!-~]{3}-[!-~]{2}-[!-~]{2}T[!-~]{9,52} std(?:err|out) ([FP]) (.*)", re.DOTALL)
_STRING = re.compile(r'\s*"')
#: An escape; of surrogates only a pair is one.
_ESCAPE = re.compile(
    r"\\(?:u[dD][89abAB][0-9a-fA-F]{2}\\u[dD][c-fC-F][0-9a-fA-F]{2}|"
    r"u[dD][89a-fA-F][0-9a-fA-F]{2}|.)",
    re.DOTALL,
)
_SINGLE = 6
_DECODER = json.JSONDecoder(strict=False)


def is_document(head: bytes) -> bool:
    """Return whether a file begins as one JSON document, not as lines that docker wrapped."""
    return head.lstrip()[:1] == b"{" and not head.startswith(DOCKER.encode())


class Wrapped(NamedTuple):
    """A wrapped text: the text without the end of the line, and whether it ends one."""

    text: str
    ends: bool


def unwrapped(text: str) -> Wrapped | None:
    """Return what a line wraps; None if it is not of a container runtime."""
    if text.startswith(DOCKER):
        return _of_docker(text)
    found = _CRI.match(text) if text[:1].isdigit() else None
    return None if found is None else Wrapped(found[2], found[1] == "F")


def _of_docker(text: str) -> Wrapped | None:
    begin = _STRING.match(text, len(DOCKER))
    if begin is None:
        return None
    body = _ESCAPE.sub(_paired, text[begin.end() - 1 :])
    try:
        found, complete = _string(body), True
    except ValueError:
        if len(text.encode("utf-8", "surrogateescape")) <= LONGEST:
            return None
        found, complete = _cut(body), False
    return Wrapped(found.removesuffix("\n"), found.endswith("\n") or not complete)


def _string(text: str) -> str:
    """Return the JSON string with which a text begins.

    Raises:
        ValueError: It has no end, or an escape that is not one.
    """
    found, _ = _DECODER.raw_decode(text)
    return str(found)


def _paired(escape: re.Match[str]) -> str:
    """Return an escape as it is; one of a lone surrogate as that of U+FFFD."""
    lone = len(escape[0]) == _SINGLE and escape[0][1:3].lower() == "ud"
    return r"\ufffd" if lone else escape[0]


def _cut(body: str) -> str:
    """Return the text of a string without an end."""
    for left in range(12):
        try:
            return _string(f'{body[: len(body) - left]}"')
        except ValueError:
            continue
    return ""


def whole_lines(lines: Iterable[tuple[int, str]]) -> Iterator[tuple[int, str]]:
    """Yield positions and lines, those of a container's log as what they wrap.

    Of a line in parts the position is that of the first part; at most ``LONGEST`` bytes and one are
    kept.

    Args:
        lines: Positions and lines, without their ends.
    """
    first, kept = 0, b""
    for position, text in lines:
        found = unwrapped(text)
        if found is None or (found.ends and not kept):
            if kept:
                yield first, kept.decode("utf-8", "surrogateescape")
                kept = b""
            yield position, text if found is None else found.text
            continue
        if not kept:
            first = position
        part = found.text.encode("utf-8", "surrogateescape")
        kept += part[: LONGEST + 1 - len(kept)]
        if found.ends and kept:
            yield first, kept.decode("utf-8", "surrogateescape")
            kept = b""
    if kept:
        yield first, kept.decode("utf-8", "surrogateescape")
