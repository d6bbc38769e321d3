"""Creds files: a user's JWT and the seed of its key, each between dashed lines."""

from __future__ import annotations

import re

# Nothing is matched in two ways: the cost is linear in the text, whatever it holds.
_JWT_BLOCK = re.compile(
    r"(?<!-)-{3,}+\s*+BEGIN NATS USER JWT\s*+-{3,}+\s*+([A-Za-z0-9_.=-]++)\s++"
    r"-{3,}+\s*+END NATS USER JWT\s*+-{3,}"
)
_CREDS = """-----BEGIN NATS USER JWT-----
{jwt}
------END NATS USER JWT------

************************* IMPORTANT *************************
The seed below is a secret: a client that has it is this user.

-----BEGIN USER NKEY SEED-----
{seed}
------END USER NKEY SEED------

*************************************************************
"""


def is_creds(text: str) -> bool:
    """Return True if the text is meant to be a creds file, complete or not."""
    return "BEGIN NATS USER JWT" in text


def jwt_in_creds(text: str) -> str | None:
    """Return the JWT of a creds file; None unless it holds one JWT and at most one seed."""
    tokens: list[str] = _JWT_BLOCK.findall(text)
    if len(tokens) != 1 or text.count("BEGIN USER NKEY SEED") > 1:
        return None
    return tokens[0]


def line_of(token: str, text: str) -> int:
    """Return the line, from 1, in which a token begins in the text of a file."""
    return text.count("\n", 0, text.find(token)) + 1


def format_creds(jwt: str, seed: str) -> str:
    """Return the text of a creds file."""
    return _CREDS.format(jwt=jwt, seed=seed)
