"""Text of a trace log on its way into tables, and what messages between brokers are about."""

from __future__ import annotations


def hop_keys(words: list[str]) -> list[tuple[str, str]]:
    """Subject and reply of a message between brokers.

    ``+ reply queue…`` and ``| queue…`` say themselves what is the subject. Without them the account
    may be printed or not, so both readings stand; the wrong one meets no publish.
    """
    for i, word in enumerate(words):
        if i and word == "|":
            return [(words[i - 1], "")]
        if i and word == "+" and i + 1 < len(words):
            return [(words[i - 1], words[i + 1])]
    keys = [(words[-1], "")]
    if len(words) > 1:
        keys.append((words[-2], words[-1]))
    return keys


def as_text(line: str) -> str:
    """The bytes of the line as UTF-8."""
    return line if line.isascii() else line.encode("latin-1").decode("utf-8", "surrogateescape")


def spelled(raw: str) -> str:
    """Bytes as UTF-8, those that are none spelled out (``\\xff``), as tables need them."""
    return raw if raw.isascii() else raw.encode("latin-1").decode("utf-8", "backslashreplace")


def clean(text: str | None) -> str | None:
    """The same with bytes that are no UTF-8 spelled out, as tables and Arrow need it."""
    if text is None or text.isascii():
        return text
    return text.encode("utf-8", "surrogateescape").decode("utf-8", "backslashreplace")
