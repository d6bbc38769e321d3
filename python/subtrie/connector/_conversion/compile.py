"""Compiling an annotation to its converter, once, when a function is decorated."""

from __future__ import annotations

import collections.abc
import dataclasses
import enum
import inspect
import types
import typing
from typing import Any, TypeVar, Union

from .containers import ListOf, MapOf, TupleOf
from .converter import Converter, Required, Unconvertible
from .objects import Field, ModelOf, ObjectOf
from .scalars import SCALARS, Anything, Choice, Nothing, enumeration
from .unions import Optional, UnionOf

_UNANNOTATED = inspect.Parameter.empty
_LISTS = {
    list: list,
    set: set,
    frozenset: frozenset,
    collections.abc.Sequence: list,
    collections.abc.MutableSequence: list,
    collections.abc.Collection: list,
    collections.abc.Iterable: list,
    collections.abc.Set: set,
    collections.abc.MutableSet: set,
}
_MAPPINGS = (dict, collections.abc.Mapping, collections.abc.MutableMapping)


def converter_of(annotation: Any, names: dict[str, Any] | None = None) -> Converter:
    """Return the converter of an annotation.

    Args:
        annotation: The annotation; ``inspect.Parameter.empty`` for a parameter without one.
        names: Local names that annotations of fields may mention.

    Raises:
        Unconvertible: Values of the type cannot be read from JSON.
    """
    return _Compiler(names or {}).converter(annotation, {})


def is_required(annotation: Any) -> bool:
    """Return whether an annotation has the mark ``REQUIRED``.

    Args:
        annotation: The annotation, with its metadata.
    """
    return any(isinstance(each, Required) for each in getattr(annotation, "__metadata__", ()))


class _Compiler:
    """The converters of one annotation; types that contain themselves are compiled once."""

    def __init__(self, names: dict[str, Any]) -> None:
        self._names = names
        self._objects: dict[Any, ObjectOf] = {}

    def converter(self, annotation: Any, variables: dict[Any, Any]) -> Converter:
        """Return the converter of an annotation, with the types of its type variables."""
        if annotation is _UNANNOTATED:
            return Anything(texts=True)
        if annotation in (Any, object):
            return Anything()
        if annotation is None or annotation is type(None):
            return Nothing()
        if isinstance(annotation, TypeVar):
            bound = annotation.__bound__ if annotation.__bound__ is not None else Any
            return self.converter(variables.get(annotation, bound), {})
        if hasattr(annotation, "__supertype__"):  # a NewType
            return self.converter(annotation.__supertype__, variables)
        if type(annotation).__name__ == "TypeAliasType":
            return self.converter(annotation.__value__, variables)
        origin = typing.get_origin(annotation) or annotation
        arguments = typing.get_args(annotation)
        if origin in (typing.Annotated, typing.Required, typing.NotRequired, typing.Final):
            return self.converter(arguments[0], variables)
        if origin in (Union, types.UnionType):
            return self._union(arguments, variables)
        if origin is typing.Literal:
            return Choice(str(annotation).replace("typing.", ""), [(a, a) for a in arguments])
        if origin in SCALARS:
            return SCALARS[origin]
        if origin is tuple:
            return self._tuple(arguments, variables)
        if origin in _LISTS:
            item = self.converter(arguments[0] if arguments else Any, variables)
            return ListOf(_LISTS[origin], item)
        if origin in _MAPPINGS:
            types_of = arguments if len(arguments) == 2 else (str, Any)
            return MapOf(*(self.converter(each, variables) for each in types_of))
        if isinstance(origin, type):
            return self._class(annotation, origin, arguments, variables)
        raise Unconvertible(_told(annotation))

    def _union(self, arguments: tuple[Any, ...], variables: dict[Any, Any]) -> Converter:
        others = [each for each in arguments if each is not type(None)]
        made = [self.converter(each, variables) for each in others]
        one = made[0] if len(made) == 1 else UnionOf(made)
        # None may be within an alternative, too: an alias, or an annotated type.
        nullable = len(others) < len(arguments) or any(each.nullable for each in made)
        return Optional(one) if nullable else one

    def _tuple(self, arguments: tuple[Any, ...], variables: dict[Any, Any]) -> Converter:
        if not arguments or arguments[1:] == (...,):
            return ListOf(tuple, self.converter(arguments[0] if arguments else Any, variables))
        return TupleOf([self.converter(each, variables) for each in arguments])

    def _class(
        self, annotation: Any, kind: type, arguments: tuple[Any, ...], variables: dict[Any, Any]
    ) -> Converter:
        if issubclass(kind, enum.Enum):
            return enumeration(kind)
        if hasattr(kind, "model_validate"):
            return ModelOf(annotation if hasattr(annotation, "model_validate") else kind)
        is_dictionary = typing.is_typeddict(kind)
        if not is_dictionary and not dataclasses.is_dataclass(kind):
            raise Unconvertible(_told(annotation))
        given = tuple(
            variables.get(each, Any) if isinstance(each, TypeVar) else each for each in arguments
        )
        if (kind, given) in self._objects:
            return self._objects[kind, given]
        made = self._objects[kind, given] = ObjectOf(kind)
        own = dict(zip(getattr(kind, "__parameters__", ()), given, strict=False))
        hints = self._hints(kind)
        if is_dictionary:
            made.declare(
                [
                    Field(
                        name,
                        self.converter(hint, own),
                        _may_be_left_out(kind, name, hint),
                        is_required(hint),
                    )
                    for name, hint in hints.items()
                ]
            )
            return made
        fields = []
        for field in dataclasses.fields(typing.cast(Any, kind)):
            if field.init:
                hint = hints.get(field.name, Any)
                given_default = not (field.default is field.default_factory is dataclasses.MISSING)
                converter = self._member(kind, field.name, hint, own)
                fields.append(Field(field.name, converter, given_default, is_required(hint)))
        made.declare(fields)
        return made

    def _member(self, kind: type, name: str, hint: Any, variables: dict[Any, Any]) -> Converter:
        try:
            return self.converter(hint, variables)
        except Unconvertible as error:
            raise Unconvertible(f"{kind.__name__}.{name}: {error}") from None

    def _hints(self, kind: type) -> dict[str, Any]:
        """Return the types of the fields of a class, also of one that is local to a function."""
        failed: Exception | None = None
        for names in (None, self._names):
            try:
                return typing.get_type_hints(kind, localns=names, include_extras=True)
            except (NameError, TypeError, AttributeError, SyntaxError) as error:
                failed = error
        raise Unconvertible(f"a field of {kind.__name__}: {failed}")


def _may_be_left_out(kind: Any, name: str, hint: Any) -> bool:
    """Return whether a key of a typed dictionary is not required."""
    origin = typing.get_origin(hint)  # annotations that are texts are not known to the class
    if origin in (typing.Required, typing.NotRequired):
        return origin is typing.NotRequired
    return name not in kind.__required_keys__


def _told(annotation: Any) -> str:
    name = annotation.__name__ if isinstance(annotation, type) else str(annotation)
    return f"{name} cannot be converted to and from JSON"
