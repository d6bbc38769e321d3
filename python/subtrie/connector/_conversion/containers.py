"""Converters of lists, sets, tuples and mappings."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any

from .converter import Branch, Conversion, Converter, Misfit, Text, Zero, misfit
from .scalars import Anything, listed

_LIST, _DICT = frozenset((list,)), frozenset((dict,))


def _items(name: str, value: Any) -> list[Any]:
    """Return the items of a JSON list, of a repeated name or of a list in a query."""
    kind = type(value)
    if kind is list:
        return value  # type: ignore[no-any-return]
    if kind is Text:
        return [_text(each) for each in getattr(value, "repeated", None) or [value]]
    items = listed(value) if kind is Branch else None
    if items is None:
        raise misfit(name, value)
    return items


def _text(text: str) -> Text:
    return text if type(text) is Text else Text(text)


class ListOf(Converter):
    """A converter of lists, and of the sets and tuples that travel as lists.

    Args:
        make: The type.
        item: The converter of the items.
    """

    kinds = _LIST

    def __init__(self, make: Callable[[Iterable[Any]], Any], item: Converter) -> None:
        self._make, self._item = make, item
        self.name = getattr(make, "__name__", "list")
        if make is list and isinstance(item, Anything):
            self.exact = list

    def read(self, value: Any, conversion: Conversion) -> Any:
        """Return the converted value."""
        if type(value) is self.exact:
            return value
        items = _items(self.name, value)
        conversion.spend(len(items) + 1)
        item, made = self._item, []
        exact, read, lacks = item.exact, item.read, item.lacks
        try:
            for each in items:
                if type(each) is exact:
                    made.append(each)
                else:
                    made.append(item.zero() if lacks(each) else read(each, conversion))
        except Misfit as error:
            raise error.within(f"[{len(made)}]") from None
        try:
            return made if self._make is list else self._make(made)
        except TypeError:  # a set of what cannot be hashed
            raise misfit(self.name, value) from None

    def schema(self, depth: int) -> dict[str, Any]:
        """Return the JSON schema."""
        return {"type": "array", "items": self._item.schema(depth + 1) if depth < 8 else {}}

    def zero_within(self, outer: frozenset[Converter]) -> Zero | None:
        """Return a function that makes an empty one."""
        make = self._make
        return lambda: make(())


class TupleOf(Converter):
    """A converter of tuples of a fixed length.

    Args:
        items: The converters of the items.
    """

    name = "tuple"
    kinds = _LIST

    def __init__(self, items: list[Converter]) -> None:
        self.items = items

    def read(self, value: Any, conversion: Conversion) -> Any:
        """Return the converted value."""
        given = _items(self.name, value)
        if len(given) != len(self.items):
            raise misfit(f"tuple of {len(self.items)}", value)
        conversion.spend(len(given) + 1)
        made: list[Any] = []
        try:
            for item, each in zip(self.items, given, strict=True):
                made.append(item.zero() if item.lacks(each) else item.read(each, conversion))
        except Misfit as error:
            raise error.within(f"[{len(made)}]") from None
        return tuple(made)

    def schema(self, depth: int) -> dict[str, Any]:
        """Return the JSON schema."""
        items = [item.schema(depth + 1) if depth < 8 else {} for item in self.items]
        return {"type": "array", "prefixItems": items, "items": False}

    def zero_within(self, outer: frozenset[Converter]) -> Zero | None:
        """Return a function that makes a tuple of zeros."""
        within = outer | {self}
        zeros = [None if item in within else item.zero_within(within) for item in self.items]
        if None in zeros:
            return None
        return lambda: tuple(zero() for zero in zeros if zero is not None)


class MapOf(Converter):
    """A converter of mappings.

    Args:
        key: The converter of the keys, which are texts in JSON.
        item: The converter of the values.
    """

    name = "dict"
    kinds = _DICT
    is_open = True

    def __init__(self, key: Converter, item: Converter) -> None:
        self._key, self._item = key, item
        self._text_keys = key.name == "str" or isinstance(key, Anything)
        if self._text_keys and isinstance(item, Anything):
            self.exact = dict

    def read(self, value: Any, conversion: Conversion) -> Any:
        """Return the converted value."""
        if not isinstance(value, dict):
            raise misfit(self.name, value)
        if type(value) is self.exact:
            return value
        conversion.spend(len(value) + 1)
        item, made = self._item, {}
        for name, each in value.items():
            try:
                key = name if self._text_keys else self._key.read(Text(name), conversion)
                if type(each) is item.exact:
                    made[key] = each
                    continue
                made[key] = item.zero() if item.lacks(each) else item.read(each, conversion)
            except Misfit as error:
                raise error.within(f".{name}") from None
        return made

    def schema(self, depth: int) -> dict[str, Any]:
        """Return the JSON schema."""
        more = self._item.schema(depth + 1) if depth < 8 else {}
        return {"type": "object", "additionalProperties": more}

    def zero_within(self, outer: frozenset[Converter]) -> Zero | None:
        """Return a function that makes an empty one."""
        return dict
