"""Text for Arrow columns: what is not UTF-8 is written as escapes."""

from __future__ import annotations

from typing import Any


def escape_surrogates(text: str) -> str:
    r"""Return the text with escapes such as ``\xff`` for lone surrogates, as Arrow needs it.

    A lone surrogate is a byte that was not UTF-8 (``surrogateescape``), or one that a JSON text
    names; the latter has the three bytes that UTF-8 would need for it.
    """
    if text.isascii():
        return text
    try:
        data = text.encode("utf-8", "surrogateescape")
    except UnicodeEncodeError:  # from JSON
        data = b"".join(map(_bytes_of, text))
    return data.decode("utf-8", "backslashreplace")


def _bytes_of(character: str) -> bytes:
    """Return the bytes of a character, or of a lone surrogate."""
    is_byte = "\udc80" <= character <= "\udcff"
    return character.encode("utf-8", "surrogateescape" if is_byte else "surrogatepass")


def escape_value(value: Any) -> Any:
    """Escape the lone surrogates of every text in a value of rows or of JSON."""
    if isinstance(value, str):
        return escape_surrogates(value)
    if isinstance(value, list | tuple):
        return [escape_value(item) for item in value]
    if isinstance(value, dict):
        return {name: escape_value(item) for name, item in value.items()}
    return value
