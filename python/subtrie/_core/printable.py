"""Text from a log or a file, made safe for a terminal and for Markdown."""

from __future__ import annotations

import re

#: Characters that Markdown or HTML may read as markup, links or mentions, also within ``<code>``.
_MARKUP = re.compile(r"[&<>|`*_\[\]()!@#~:\\]")
_NAMED = {"&": "&amp;", "<": "&lt;", ">": "&gt;"}


def printable(text: str) -> str:
    """Return the text with control and direction characters escaped, safe for a terminal."""
    text = str.__str__(text)  # a subclass may have a repr of its own
    return text if text.isprintable() else ascii(text)[1:-1]


def shortened(text: str, most: int = 48) -> str:
    """Return text whose middle is left out if it has more than ``most`` characters."""
    half = (most - 1) // 2
    return text if len(text) <= most else f"{text[:half]}…{text[-half:]}"


def code(text: str) -> str:
    """Return a subject as inline code, with Markdown and HTML characters escaped."""
    return f"<code>{escaped(text)}</code>"


def escaped(text: str) -> str:
    """Return text for Markdown, with the characters of Markdown and HTML escaped."""
    return _MARKUP.sub(_entity, printable(text))


def _entity(found: re.Match[str]) -> str:
    return _NAMED.get(found[0], f"&#{ord(found[0])};")
