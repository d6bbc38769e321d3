"""Types of the parameters of a handler, also of names that are local to a running function."""

from __future__ import annotations

import inspect
import sys
import typing
from collections.abc import Callable
from functools import partial
from types import CodeType
from typing import Any


def type_hints(function: Callable[..., Any]) -> dict[str, Any]:
    """Return name and type of each annotated parameter, and of ``return``."""
    while isinstance(function, partial):
        function = function.func
    if not inspect.isroutine(function):
        function = type(function).__call__
    try:
        return typing.get_type_hints(function, include_extras=True)
    except (NameError, TypeError, AttributeError):
        pass
    unwrapped = inspect.unwrap(function)
    enclosing = enclosing_names(unwrapped)
    found: dict[str, Any] = {}
    for name, annotation in getattr(unwrapped, "__annotations__", {}).items():
        holder: Any = type("holder", (), {"__annotations__": {name: annotation}})
        try:
            found |= typing.get_type_hints(
                holder, getattr(unwrapped, "__globals__", {}), enclosing, include_extras=True
            )
        except (NameError, TypeError, AttributeError, SyntaxError):
            continue
    return found


def enclosing_names(function: Any) -> dict[str, Any]:
    """Return the local variables of the function that encloses another, if it is still running."""
    code = getattr(function, "__code__", None)
    frame = sys._getframe(1)
    while frame is not None:
        if code is not None and _holds(frame.f_code, code):
            return dict(frame.f_locals)
        frame = frame.f_back  # type: ignore[assignment]
    return {}


def _holds(outer: CodeType, code: CodeType) -> bool:
    """Return whether code was defined inside other code, directly or in a class."""
    return any(
        each is code or _holds(each, code) for each in outer.co_consts if isinstance(each, CodeType)
    )
