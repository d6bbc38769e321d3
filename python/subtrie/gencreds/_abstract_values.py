"""Abstract values: what an expression can be, as far as a static scan distinguishes."""

from __future__ import annotations

import ast
import dataclasses
from pathlib import Path

from ._scopes import FunctionNode, Scope
from ._source_files import SourceFile


@dataclasses.dataclass(frozen=True, slots=True)
class Unknown:
    """A value that cannot be determined statically."""


@dataclasses.dataclass(frozen=True, slots=True)
class ExternalObject:
    """An object that the tree does not define: of another package, a builtin, a literal.

    ``is_instance`` is True for an instance of the named class, False for the named object itself.
    """

    name: str
    is_instance: bool = False


@dataclasses.dataclass(frozen=True, slots=True)
class ModuleValue:
    """A module of the tree; ``module_path`` is its path without ``.py``."""

    module_path: Path
    importer: SourceFile = dataclasses.field(compare=False)


@dataclasses.dataclass(frozen=True, slots=True)
class FunctionValue:
    """A function of the tree; ``bound`` is True if ``self`` is already given."""

    node: FunctionNode
    scope: Scope
    bound: bool = False


@dataclasses.dataclass(frozen=True, slots=True)
class ClassValue:
    """A class of the tree, or an instance of it."""

    scope: Scope
    is_instance: bool = False


@dataclasses.dataclass(frozen=True, slots=True)
class Instance:
    """``Connector(…)``, ``Client(…)`` or ``Event(…)``, identified by the call that creates it."""

    kind: str
    node: ast.Call
    scope: Scope
    of: Scope | None = None  # its class, if that is derived from Connector


@dataclasses.dataclass(frozen=True, slots=True)
class ParameterValue:
    """A parameter, attribute or result of which only the annotation is known: one of ``kind``."""

    kind: str
    node: ast.AST
    name: str = ""
    scope: Scope | None = dataclasses.field(default=None, compare=False)


@dataclasses.dataclass(frozen=True, slots=True)
class SequenceValue:
    """A tuple or list display; ``is_mutable`` is True for a list with a name."""

    items: tuple[ast.expr, ...]
    scope: Scope
    is_mutable: bool = False


AbstractValue = (
    Unknown
    | ExternalObject
    | ModuleValue
    | FunctionValue
    | ClassValue
    | Instance
    | ParameterValue
    | SequenceValue
)
PossibleValues = frozenset[AbstractValue]

UNKNOWN: PossibleValues = frozenset({Unknown()})
NO_VALUES: PossibleValues = frozenset()


def of_kind(values: PossibleValues, kind: str) -> list[Instance | ParameterValue]:
    """Return the connectors, clients or events among the values."""
    return [
        each for each in values if isinstance(each, Instance | ParameterValue) and each.kind == kind
    ]


def may_be_unknown(values: PossibleValues) -> bool:
    """Return True if one of the values cannot be determined."""
    return Unknown() in values


def refined_by_annotation(values: PossibleValues, annotated: PossibleValues) -> PossibleValues:
    """Return the values refined by an annotation; a known kind replaces ``Unknown``."""
    has_kind = any(isinstance(each, Instance | ParameterValue) for each in values)
    if annotated == UNKNOWN or (has_kind and not may_be_unknown(values)):
        return values
    if not has_kind and any(isinstance(each, ParameterValue) for each in annotated):
        return annotated
    if may_be_unknown(values) or not values:
        return (values - UNKNOWN) | annotated
    return values
