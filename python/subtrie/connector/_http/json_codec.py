"""JSON bodies, there and back: what the standard library does, without what it does anew each time.

Written compact, as UTF-8; dataclasses and pydantic models are objects, members of enumerations
their values. The common case takes the interpreter's own encoder and scanner directly; whatever
they stumble over is done again the usual way, which knows the exact error.
"""

from __future__ import annotations

import dataclasses
import enum
import json
from json import encoder
from typing import Any


def _plain(value: Any) -> Any:
    if dataclasses.is_dataclass(value) and not isinstance(value, type):
        return {field.name: getattr(value, field.name) for field in dataclasses.fields(value)}
    if hasattr(value, "model_dump"):
        return value.model_dump(mode="json")
    if isinstance(value, enum.Enum):
        return value.value
    if isinstance(value, set | frozenset | tuple):
        return list(value)
    raise TypeError(f"{type(value).__name__} is no JSON; return a dict, a dataclass or a Response")


_usual = json.JSONEncoder(ensure_ascii=False, separators=(",", ":"), default=_plain)
_scan = getattr(json.JSONDecoder(), "scan_once")  # noqa: B009 - the types do not know it


def _direct() -> Any:
    """The interpreter's encoder, made once; None where it has none, or another."""
    make = getattr(encoder, "c_make_encoder", None)
    try:
        text = encoder.encode_basestring
        made = make(None, _plain, text, None, ":", ",", False, False, True)  # type: ignore[misc]
        return made if "".join(made({"a": [1, "é"]}, 0)) == '{"a":[1,"é"]}' else None
    except Exception:
        return None


_encode = _direct()


def json_bytes(value: Any) -> bytes:
    """Compact JSON. Raises ``TypeError`` for what is none, ``ValueError`` for a circle."""
    if _encode is not None:
        try:
            return "".join(_encode(value, 0)).encode()
        except RecursionError:  # a circle, or very deep
            pass
    return _usual.encode(value).encode()


def json_value(body: bytes) -> Any:
    """What a body says, in UTF-8, UTF-16 or UTF-32. Raises ``ValueError``, ``RecursionError``."""
    try:
        text = body.decode()
        value, end = _scan(text, 0)
        if end == len(text):
            return value
    except (ValueError, StopIteration):
        pass
    return json.loads(body)
