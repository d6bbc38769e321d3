"""The seeds and passwords of these tests, to be looked for in what they print, log or raise."""

from __future__ import annotations

import nkeys

#: Passwords that stand in configurations of these tests; seeds are added as they are made.
SECRETS = {"hidden-word", "hidden"}

_make_seed = nkeys.encode_seed


def _recorded(src: bytes, prefix: int) -> bytes:
    seed: bytes = _make_seed(src, prefix)
    SECRETS.add(seed.decode())
    return seed


nkeys.encode_seed = _recorded


def leaked(text: str) -> list[str]:
    """The secrets in a text."""
    return [secret for secret in SECRETS if secret in text]
