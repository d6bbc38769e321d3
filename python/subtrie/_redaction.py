"""Redaction of secrets: passwords, tokens, JWTs, nkeys and signatures.

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
    r'("(?:' + "|".join(sorted(SECRET)) + r')"\s*:\s*)"(?:[^"\\]|\\.)*("|$)', re.IGNORECASE
)
# A JWT, a seed and a key of any kind, anywhere in a text.
_JWT = re.compile(r"eyJ[A-Za-z0-9_-]{8,}(?:\.[A-Za-z0-9_-]{4,}){1,2}")
_SEED = re.compile(r"(?<![A-Z2-7])S[UAONCX][A-Z2-7]{56}(?![A-Z2-7])")
_JWT_BYTES, _SEED_BYTES = (re.compile(each.pattern.encode()) for each in (_JWT, _SEED))


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
    """Return a payload with JWTs and seeds overwritten by asterisks, so that its size is kept."""
    for secret in (_JWT_BYTES, _SEED_BYTES):
        data = secret.sub(lambda found: b"*" * len(found[0]), data)
    return data


def redact_text(text: str) -> str:
    """Return a line of a log with every secret replaced."""
    text = _VALUE.sub(lambda found: f'{found[1]}"{REDACTED}{found[2]}', text)
    return _SEED.sub(REDACTED, _JWT.sub(REDACTED, text))
