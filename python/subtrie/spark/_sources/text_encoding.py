"""Text for Arrow columns: bytes that are not UTF-8 are written as escapes."""

from __future__ import annotations


def escape_surrogates(text: str | None) -> str | None:
    r"""Return the text with escapes such as ``\xff`` for lone surrogates, as Arrow needs it."""
    if text is None or text.isascii():
        return text
    return text.encode("utf-8", "surrogateescape").decode("utf-8", "backslashreplace")
