"""Converters of dataclasses, typed dictionaries and pydantic models."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, NamedTuple

from .converter import Branch, Conversion, Converter, Misfit, Text, Zero, misfit
from .scalars import listed

_DICT = frozenset((dict,))
_NOTHING: Any = object()
_LONGEST_MESSAGE = 400  # characters of an error of a model


class Field(NamedTuple):
    """A member of an object.

    Attributes:
        name: Its name.
        converter: The converter of its type.
        has_default: Whether it may be left out of the object.
        required: Whether it is marked as required.
    """

    name: str
    converter: Converter
    has_default: bool
    required: bool


class ObjectOf(Converter):
    """A converter of dataclasses and typed dictionaries.

    Args:
        make: The type.
    """

    kinds = _DICT

    def __init__(self, make: Callable[..., Any]) -> None:
        self._make = make
        self.name = getattr(make, "__name__", "object")
        self.fields: list[Field] = []
        self.members = frozenset()

    def declare(self, fields: list[Field]) -> None:
        """Set the members, whose types may contain this one.

        Args:
            fields: The members.
        """
        self.fields = fields
        self.members = frozenset(each.name for each in fields)

    def read(self, value: Any, conversion: Conversion) -> Any:
        """Return the converted value."""
        if not isinstance(value, dict):
            raise misfit(self.name, value)
        conversion.spend(len(self.fields) + 1)
        given: dict[str, Any] = {}
        for name, converter, has_default, required in self.fields:
            member = value.get(name, _NOTHING)
            try:
                if type(member) is converter.exact:
                    given[name] = member
                elif member is not _NOTHING and not converter.lacks(member):
                    given[name] = converter.read(member, conversion)
                elif required:
                    raise Misfit("is missing")
                elif not has_default:
                    given[name] = converter.zero()
            except Misfit as error:
                raise error.within(f".{name}") from None
        return self._made(given)

    def _made(self, given: Mapping[str, Any]) -> Any:
        try:
            return self._make(**given)
        except (TypeError, ValueError) as error:
            raise Misfit(f"is not a valid {self.name}: {str(error)[:_LONGEST_MESSAGE]}") from None

    def schema(self, depth: int) -> dict[str, Any]:
        """Return the JSON schema."""
        if depth > 8:
            return {"type": "object"}
        properties = {each.name: each.converter.schema(depth + 1) for each in self.fields}
        needed = [each.name for each in self.fields if each.required]
        found: dict[str, Any] = {"type": "object", "properties": properties}
        return found | {"required": needed} if needed else found

    def zero_within(self, outer: frozenset[Converter]) -> Zero | None:
        """Return a function that makes an object of defaults and zeros; None if one has none."""
        within = outer | {self}
        zeros: dict[str, Zero] = {}
        for name, converter, has_default, required in self.fields:
            if has_default and not required:
                continue
            zero = None if required or converter in within else converter.zero_within(within)
            if zero is None:
                return None
            zeros[name] = zero
        return lambda: self._made({name: zero() for name, zero in zeros.items()})


class ModelOf(Converter):
    """A converter of a pydantic model, which says itself what is required and converted.

    Args:
        model: The class.
    """

    kinds = _DICT

    def __init__(self, model: Any) -> None:
        self._model, self.name = model, model.__name__
        declared = getattr(model, "model_fields", {})
        aliases = {getattr(each, "alias", None) for each in declared.values()}
        self.members = frozenset(declared) | {each for each in aliases if isinstance(each, str)}

    def read(self, value: Any, conversion: Conversion) -> Any:
        """Return the validated model."""
        conversion.spend(1)
        try:
            return self._model.model_validate(_without_texts(value))
        except ValueError as error:
            raise Misfit(f"is not valid: {str(error)[:_LONGEST_MESSAGE]}") from None

    def schema(self, depth: int) -> dict[str, Any]:
        """Return the JSON schema of the model."""
        found: dict[str, Any] = self._model.model_json_schema()
        return found

    def zero_within(self, outer: frozenset[Converter]) -> Zero | None:
        """Return a function that validates an empty object."""
        return lambda: self.read({}, Conversion())


def _without_texts(value: Any) -> Any:
    """Return a value with the objects and lists of a query as plain ones; texts stay texts."""
    if type(value) is Text:
        return str(value)
    if type(value) is Branch:
        items = listed(value)
        if items is not None:
            return [_without_texts(each) for each in items]
        return {name: _without_texts(each) for name, each in value.items()}
    return value
