"""Types of parameters, of functions within others, decorated, and with arguments bound."""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any

from subtrie.connector._type_hints import type_hints


def logged(function: Callable[..., Any]) -> Callable[..., Any]:
    """A decorator, whose own function is not within the one that the annotations name."""

    @functools.wraps(function)
    def call(*positional: Any, **named: Any) -> Any:
        return function(*positional, **named)

    return call


def test_a_type_that_is_not_there_hides_no_other():
    class Local: ...

    def handle(one: Missing, two: Local, three: int) -> Local: ...  # noqa: F821

    assert type_hints(handle) == {"two": Local, "three": int, "return": Local}


def test_a_decorated_function_names_classes_of_the_function_around_it():
    class Local: ...

    @logged
    def handle(one: Local) -> None: ...

    assert type_hints(handle) == {"one": Local, "return": type(None)}


def test_arguments_may_be_bound_more_than_once():
    def handle(one: int, two: str, three: float) -> None: ...

    first = functools.partial(handle, 1)
    first.label = "kept apart from the next one"  # type: ignore[attr-defined]
    assert type_hints(functools.partial(first, "x"))["three"] is float
