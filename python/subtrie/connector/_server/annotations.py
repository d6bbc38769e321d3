"""What the annotations of a function mean, wherever it was written.

Annotations may be text (``from __future__ import annotations``) and name classes that only the
function around knows: they are looked up there, while it still runs. One that nobody can resolve,
a type checker's own, is left out and takes no other with it.
"""

from __future__ import annotations

import inspect
import sys
import typing
from collections.abc import Callable
from functools import partial
from types import CodeType
from typing import Any


def type_hints(function: Callable[..., Any]) -> dict[str, Any]:
    """Name and type of each annotated parameter, and of ``return``."""
    while isinstance(function, partial):
        function = function.func
    if not inspect.isroutine(function):
        function = type(function).__call__
    try:
        return typing.get_type_hints(function)
    except (NameError, TypeError, AttributeError):
        pass
    plain = inspect.unwrap(function)
    around = _names_around(plain)
    found: dict[str, Any] = {}
    for name, wanted in getattr(plain, "__annotations__", {}).items():
        holder: Any = type("holder", (), {"__annotations__": {name: wanted}})
        try:
            found |= typing.get_type_hints(holder, getattr(plain, "__globals__", {}), around)
        except (NameError, TypeError, AttributeError, SyntaxError):
            continue
    return found


def _names_around(function: Any) -> dict[str, Any]:
    """The local names where a function was written, if that place is still being run."""
    code = getattr(function, "__code__", None)
    frame = sys._getframe(1)
    while frame is not None:
        if code is not None and _holds(frame.f_code, code):
            return dict(frame.f_locals)
        frame = frame.f_back  # type: ignore[assignment]
    return {}


def _holds(outer: CodeType, code: CodeType) -> bool:
    """Whether code was written within other code, a class in between or not."""
    return any(
        each is code or _holds(each, code) for each in outer.co_consts if isinstance(each, CodeType)
    )
