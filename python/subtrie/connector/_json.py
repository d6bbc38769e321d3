"""JSON encoding and decoding of bodies: the standard library's results at a lower cost a call.

Compact, in UTF-8; other values are written by their own type.
The common case uses the C encoder and scanner directly; if they fail, the public functions of
``json`` run and raise their exact error.

``SUBTRIE_JSON`` names a package, ``msgspec`` or ``orjson``, that decodes bodies faster. What it
refuses, and integers that ``orjson`` would round, are decoded by the standard library, so that
values and errors are the same. Encoding stays with the standard library: both packages write some
numbers in other words.
"""

from __future__ import annotations

import importlib
import json
import os
import re
from collections.abc import Callable
from json import encoder
from typing import Any

from ._conversion.writing import plain, written


def _refuse_constant(name: str) -> Any:
    raise ValueError(f"{name} is not a number in JSON")


_encoder = json.JSONEncoder(ensure_ascii=False, separators=(",", ":"))
_decoder_of_all = json.JSONDecoder(parse_constant=_refuse_constant)
_scan = getattr(_decoder_of_all, "scan_once")  # noqa: B009 - missing in typeshed


def _direct() -> Any:
    """Return the interpreter's C encoder, made once; None if it is missing or differs."""
    make = getattr(encoder, "c_make_encoder", None)
    try:
        text = encoder.encode_basestring
        encode = make(None, written, text, None, ":", ",", False, False, False)  # type: ignore[misc]
        return encode if "".join(encode({"a": [1, "é"]}, 0)) == '{"a":[1,"é"]}' else None
    except Exception:
        return None


_encode = _direct()


_LONG_INTEGER = re.compile(rb"[0-9]{19}")  # such an integer may exceed 64 bits


def _decoder(name: str) -> Callable[[bytes], Any] | None:
    """Return the function of a package that decodes; None for the standard library.

    Args:
        name: ``msgspec``, ``orjson``, or empty.

    Raises:
        ValueError: The name is another one.
        ImportError: The package is not installed.
    """
    if name in ("", "json"):
        return None
    if name not in ("msgspec", "orjson"):
        raise ValueError(f"SUBTRIE_JSON must be msgspec, orjson or json, not {name!r}")
    package: Any = importlib.import_module(name)
    if name == "msgspec":
        decode: Callable[[bytes], Any] = importlib.import_module("msgspec.json").decode
        return decode
    loads: Callable[[bytes], Any] = package.loads

    def without_rounding(body: bytes) -> Any:
        return _loads(body) if _LONG_INTEGER.search(body) else loads(body)

    return without_rounding


_decode = _decoder(os.environ.get("SUBTRIE_JSON", ""))


def json_bytes(value: Any) -> bytes:
    """Encode a value as compact JSON.

    Raises:
        TypeError: The value, or a part of it, cannot be represented in JSON.
        ValueError: A number is not finite, or a time has no zone.
        RecursionError: The value refers to itself, or is nested too deeply.
    """
    if _encode is not None:
        try:
            return "".join(_encode(value, 0)).encode()
        except (RecursionError, TypeError, ValueError):  # circular, or keys that are not text
            pass
    return _encoder.encode(plain(value)).encode()


def _loads(body: bytes) -> Any:
    return json.loads(body, parse_constant=_refuse_constant)


def json_value(body: bytes) -> Any:
    """Decode a body in UTF-8, UTF-16 or UTF-32. Raises ``ValueError``, ``RecursionError``."""
    if _decode is not None:
        try:
            return _decode(body)
        except Exception:  # the standard library judges what the package refuses
            return _loads(body)
    try:
        text = body.decode()
        value, end = _scan(text, 0)
        if end == len(text):
            return value
    except (ValueError, StopIteration):
        pass
    return _loads(body)
