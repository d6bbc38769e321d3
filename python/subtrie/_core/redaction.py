"""Redaction of secrets: passwords, tokens, JWTs, nkeys, signatures and headers that carry them.

Redaction is the default when operations are shown and logs are read; ``reveal`` turns it off.
"""

from __future__ import annotations

import re
from typing import Any

#: What replaces a secret, as in the log of nats-server.
REDACTED = "[REDACTED]"

#: Options of CONNECT and INFO whose values are secrets.
SECRET = frozenset({"pass", "password", "auth_token", "jwt", "nkey", "sig", "proxy_sig", "nonce"})

_VALUE = re.compile(
    r'("(?:' + "|".join(sorted(SECRET)) + r')"\s*:\s*)"(?:[^"\\]|\\.?)*("|$)',
    re.IGNORECASE | re.ASCII | re.DOTALL,
)
# The value of a header that carries credentials, in a message or in the quoted text of a log. The
# cost is linear: between a name and its value there are blanks only.
_HEADER = re.compile(
    r"((?:(?<![a-z0-9-])|(?<=\\[rnt]))"
    r"(?:proxy-authorization|authorization|set-cookie|cookie)[ \t]*:[ \t]*)"
    r'([^ \t\r\n\\"][^\r\n\\"]*)',
    re.IGNORECASE | re.ASCII,
)
# Text that may hold a JWT: parts of its characters, joined by dots. A run of them is matched as a
# whole, so that the cost is linear in the text, whatever it holds.
_DOTTED = re.compile(r"(?<![A-Za-z0-9_-])[A-Za-z0-9_-]++(?:\.[A-Za-z0-9_-]++)++")
# In such a run, a JWT: a part that begins with its first characters has eight more, and one or two
# further parts have at least four.
_JWT_PARTS = (8, 4, 4)
_SEED = re.compile(r"(?<![A-Z2-7])S[UAONCX][A-Z2-7]{56}(?![A-Z2-7])")
_DOTTED_BYTES, _SEED_BYTES, _HEADER_BYTES = (
    re.compile(each.pattern.encode(), each.flags & ~re.UNICODE)
    for each in (_DOTTED, _SEED, _HEADER)
)


def redacted(value: Any) -> Any:
    """Return a value of JSON options with every secret replaced."""
    if isinstance(value, dict):
        return {
            key: REDACTED if key.lower() in SECRET and value_ else redacted(value_)
            for key, value_ in value.items()
        }
    if isinstance(value, list):
        return [redacted(item) for item in value]
    return redact_text(value) if isinstance(value, str) else value


def redact_bytes(data: bytes) -> bytes:
    """Return a payload with its secrets overwritten by asterisks, so that its size is kept.

    Secrets are JWTs, seeds, and the values of headers that carry credentials.
    """
    if b":" in data:  # most payloads of other protocols have no header
        data = _HEADER_BYTES.sub(lambda found: found[1] + b"*" * len(found[2]), data)
    data = _DOTTED_BYTES.sub(
        lambda found: _without_jwts(found[0].decode("ascii"), "*").encode("ascii"), data
    )
    return _SEED_BYTES.sub(lambda found: b"*" * len(found[0]), data)


def redact_text(text: str) -> str:
    """Return a line of a log with every secret replaced."""
    text = _VALUE.sub(lambda found: f'{found[1]}"{REDACTED}{found[2]}', text)
    text = _HEADER.sub(lambda found: found[1] + REDACTED, text)
    text = _DOTTED.sub(lambda found: _without_jwts(found[0], None), text)
    return _SEED.sub(REDACTED, text)


def _without_jwts(dotted: str, filler: str | None) -> str:
    """Return parts joined by dots with every JWT replaced: by a filler of its length, or a word."""
    if "eyJ" not in dotted:
        return dotted
    parts = dotted.split(".")
    kept: list[str] = []
    at = 0
    while at < len(parts):
        part = parts[at]
        start = part.find("eyJ")
        rest = [
            len(each) >= size
            for each, size in zip(parts[at + 1 : at + 3], _JWT_PARTS[1:], strict=False)
        ]
        if start < 0 or len(part) - start - 3 < _JWT_PARTS[0] or not (rest and rest[0]):
            kept.append(part)
            at += 1
            continue
        end = at + 1 + (2 if len(rest) > 1 and rest[1] else 1)
        secret = ".".join([part[start:], *parts[at + 1 : end]])
        kept.append(part[:start] + (REDACTED if filler is None else filler * len(secret)))
        at = end
    return ".".join(kept)
