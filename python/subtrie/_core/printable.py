"""Text from a log or a file, made safe for a terminal and for Markdown."""

from __future__ import annotations

import re

#: Characters that Markdown or HTML may read as markup, links or mentions, also within ``<code>``.
#: Parentheses are plain, because no bracket before them is; so are a colon and an exclamation mark
#: after a word that end it, and the colons of a time: no address, emoji or image begins there.
_MARKUP = re.compile(
    r"[&<>|`*_\[\]@#~\\]|(?<![A-Za-z0-9)'\"])[:!]|:(?!\d\d(?!\w)|\s|$)|!(?!\s|$)", re.ASCII
)
#: An underscore within a word is never emphasis; escaping it makes prose unreadable.
_WITHIN_WORD = re.compile(r"(?<=[A-Za-z0-9])_(?=[A-Za-z0-9])")
#: Text without a character that could end a code span or a cell, begin a link or be a mention: the
#: wildcards and the underscores of subjects are none. It does not begin as what names a language
#: (``#!``, ``:::``).
_SPAN = re.compile(r"[^&<|`\[\]()!@#~:\\ ](?:[^&<|`\[\]@\\]*[^&<|`\[\]@\\ ])?")
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
    """Return a subject as inline code, in which nothing is markup, a link or a mention.

    A code span, so that a terminal and a diff show the subject as it is; text that could leave it
    is an HTML element, in which the characters of Markdown are escaped.
    """
    shown = printable(text)
    return f"`{shown}`" if _SPAN.fullmatch(shown) else f"<code>{escaped(text)}</code>"


def escaped(text: str) -> str:
    """Return text for Markdown, with the characters of Markdown and HTML escaped."""
    words = _WITHIN_WORD.split(printable(text))
    return "_".join(_MARKUP.sub(_entity, each) for each in words)


def _entity(found: re.Match[str]) -> str:
    return _NAMED.get(found[0], f"&#{ord(found[0])};")
