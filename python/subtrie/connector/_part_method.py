"""Methods that an object offers and one of its parts has: said once, with their documentation."""

from __future__ import annotations

from collections.abc import Callable
from types import MethodType
from typing import Any, Concatenate, Generic, ParamSpec, TypeVar, overload

Part = TypeVar("Part")
Given = ParamSpec("Given")
Result = TypeVar("Result")


class PartMethod(Generic[Part, Given, Result]):
    """A public method of an object that is a method of one of its parts.

    Args:
        part: The attribute that holds the part.
        method: The method.
    """

    def __init__(self, part: str, method: Callable[Concatenate[Part, Given], Result]) -> None:
        self._part, self._method = part, method
        self._name = ""

    def __set_name__(self, owner: type, name: str) -> None:
        self._name = name

    @overload
    def __get__(self, whole: None, owner: type) -> Callable[Concatenate[Part, Given], Result]: ...
    @overload
    def __get__(self, whole: object, owner: type) -> Callable[Given, Result]: ...
    def __get__(self, whole: object | None, owner: type) -> Any:
        if whole is None:
            return self._method
        bound = MethodType(self._method, getattr(whole, self._part))
        whole.__dict__[self._name] = bound  # found before this descriptor the next time
        return bound
