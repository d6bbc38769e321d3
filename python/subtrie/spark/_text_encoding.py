"""Convert the text of a trace log for tables: bytes that are not UTF-8 are written as escapes."""

from __future__ import annotations


def decode_line(line: str) -> str:
    """Return a Latin-1 line decoded as UTF-8, with lone surrogates for other bytes."""
    return line if line.isascii() else line.encode("latin-1").decode("utf-8", "surrogateescape")


def escape_line(line: str) -> str:
    r"""Return a Latin-1 line decoded as UTF-8, with escapes such as ``\xff`` for other bytes."""
    return line if line.isascii() else line.encode("latin-1").decode("utf-8", "backslashreplace")


def escape_surrogates(text: str | None) -> str | None:
    r"""Return the text with escapes such as ``\xff`` for lone surrogates, as Arrow needs it."""
    if text is None or text.isascii():
        return text
    return text.encode("utf-8", "surrogateescape").decode("utf-8", "backslashreplace")
