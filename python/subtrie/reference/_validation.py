"""Validation of the arguments of an index: subjects, queue names and rows."""

from __future__ import annotations

import re
from collections.abc import Iterable
from typing import Any

from .._core.errors import refusal
from ._grammar import check_subject, encoded

# The whitespace that ends a queue name in the protocol; in `strict` all ASCII whitespace.
_WHITESPACE = {"server": re.compile(r"[ \t\r\n]"), "strict": re.compile(r"[ \t\r\n\x0b\x0c]")}


def subject_tokens(
    subject: str, dialect: str, max_tokens: int | None, max_length: int
) -> list[str]:
    """Return the tokens of a subject, or raise ``SubjectError``."""  # A17, A37
    # Short, printable ASCII without a wildcard and without an empty token is a valid subject in
    # every dialect. Everything else is validated byte by byte.
    if not isinstance(subject, str) or not (
        len(subject) <= max_length
        and subject.isascii()
        and subject.isprintable()
        and not (" " in subject or "*" in subject or ">" in subject)
    ):
        encoded(subject, "SubjectError", "subject")
        check_subject(subject, dialect, max_tokens, max_length)
    tokens = subject.split(".")
    if "" in tokens or (max_tokens is not None and len(tokens) > max_tokens):
        check_subject(subject, dialect, max_tokens, max_length)
    return tokens


def row_parts(row: Iterable[Any]) -> tuple[Any, Any, Any]:
    """Return the pattern, the value and the queue of a row of ``update``."""
    if isinstance(row, str):
        raise TypeError("a row must be (pattern, value) or (pattern, value, queue), not str")
    parts = tuple(row)
    if len(parts) not in (2, 3):
        raise ValueError(
            f"a row must be (pattern, value) or (pattern, value, queue), not {len(parts)} parts"
        )
    return parts[0], parts[1], parts[2] if len(parts) == 3 else None


def check_queue(name: str, dialect: str) -> None:
    """Raise ``InvalidName`` if the queue name is empty or contains whitespace.

    In ``strict`` it also must not contain a wildcard token.
    """
    # A39
    encoded(name, "InvalidName", "queue", "queue")
    if not name:
        raise refusal("InvalidName", "queue-empty", name, 0, "queue")
    start = 0
    for token in name.split("."):
        if blank := _WHITESPACE[dialect].search(token):
            place = start + len(token[: blank.start()].encode())
            raise refusal("InvalidName", "queue-whitespace", name, place, "queue")
        if dialect == "strict" and token in ("*", ">"):
            raise refusal("InvalidName", "queue-wildcard", name, start, "queue")
        start += len(token.encode()) + 1


def check_room(following: int, count: int) -> None:
    """Raise if there are not enough ids, which have 64 bits in both engines."""
    if following + count >= 1 << 64:
        raise refusal("PatternError", "index-full", "")
