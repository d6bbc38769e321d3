"""Messages in the spelling that every Microbus service writes, read at once.

Parsing each message with ``h11`` costs more than everything else together, so what is spelt plainly
is read here: one ``Host``, lines of printable ASCII, one space after each colon, a length that is
true. Anything else gives None and is left to ``h11``, which says whether it is a message at all;
where both read one, they read the same (a law of the tests).
"""

from __future__ import annotations

import re

from .headers import canonical

Values = dict[str, list[str]]

_LINES = rb"((?:[A-Za-z0-9-]+: [!-~](?:[ -~]*[!-~])?\r\n)*)\r\n"
_REQUEST = re.compile(
    rb"(GET|HEAD|POST|PUT|DELETE|OPTIONS|TRACE|PATCH) ([!-~]+) HTTP/1\.1\r\n" + _LINES
)
_RESPONSE = re.compile(rb"HTTP/1\.1 ([1-5][0-9][0-9]) [ -~]*\r\n" + _LINES)
_LENGTH = re.compile(r"[0-9]{1,15}", re.ASCII)
_NO_BODY = (204, 304)
#: What changes how a message is to be read, or how long it is.
_DECIDING = frozenset(("Transfer-Encoding", "Upgrade", "Trailer", "Te", "Expect"))


def plain_request(data: bytes) -> tuple[str, str, Values, bytes] | None:
    """Method, target, headers and body; None where the request is not spelt plainly."""
    found = _REQUEST.match(data)
    if found is None:
        return None
    values = _values(found[3])
    body = data[found.end() :]
    hosts = values.get("Host")
    if hosts is None or len(hosts) > 1 or "Connection" in values or _DECIDING & values.keys():
        return None
    if not _is_length(values.get("Content-Length", ["0"]), body):
        return None
    return found[1].decode(), found[2].decode(), values, body


def plain_response(data: bytes) -> tuple[int, Values, bytes] | None:
    """Status, headers and body; None where the response is not spelt plainly."""
    found = _RESPONSE.match(data)
    if found is None:
        return None
    status, values = int(found[1]), _values(found[2])
    body = data[found.end() :]
    if _DECIDING & values.keys() or status in _NO_BODY:
        return None
    if status < 200:
        if status != 100 or body or "Content-Length" in values:
            return None
    elif not _is_length(values.get("Content-Length", []), body):
        return None
    return status, values, body


def _is_length(texts: list[str], body: bytes) -> bool:
    return len(texts) == 1 and bool(_LENGTH.fullmatch(texts[0])) and int(texts[0]) == len(body)


def _values(lines: bytes) -> Values:
    values: Values = {}
    for line in lines.decode().split("\r\n"):
        name, colon, value = line.partition(": ")
        if colon:
            values.setdefault(canonical(name), []).append(value)
    return values
