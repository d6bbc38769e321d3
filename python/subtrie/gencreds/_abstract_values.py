"""What an expression can be, as far as a scan tells them apart."""

from __future__ import annotations

import ast
import dataclasses
from pathlib import Path

from ._scopes import Function as FunctionNode
from ._scopes import Scope
from ._source_files import File


@dataclasses.dataclass(frozen=True, slots=True)
class Unknown:
    """Nobody can tell."""


@dataclasses.dataclass(frozen=True, slots=True)
class Foreign:
    """Something of a package that is not read, a builtin, a literal; ``made`` if an instance."""

    name: str
    made: bool = False


@dataclasses.dataclass(frozen=True, slots=True)
class Package:
    """A module of the tree: the path without ``.py``."""

    way: Path
    importer: File = dataclasses.field(compare=False)


@dataclasses.dataclass(frozen=True, slots=True)
class Function:
    """A function of the tree, and ``bound``: whether its ``self`` is given already."""

    node: FunctionNode
    scope: Scope
    bound: bool = False


@dataclasses.dataclass(frozen=True, slots=True)
class Class:
    """A class of the tree; ``made`` if an instance of it."""

    scope: Scope
    made: bool = False


@dataclasses.dataclass(frozen=True, slots=True)
class Made:
    """``Connector(…)``, ``Client(…)`` or ``Event(…)``, where it is made."""

    kind: str
    node: ast.Call
    scope: Scope
    of: Scope | None = None  # the class, where it is one below Connector


@dataclasses.dataclass(frozen=True, slots=True)
class Free:
    """A parameter, an attribute, a result known by its annotation alone: one of ``kind``."""

    kind: str
    node: ast.AST
    name: str = ""
    scope: Scope | None = dataclasses.field(default=None, compare=False)


@dataclasses.dataclass(frozen=True, slots=True)
class Several:
    """A tuple or a list that is written out; ``changes`` if it is a list with a name."""

    items: tuple[ast.expr, ...]
    scope: Scope
    changes: bool = False


Thing = Unknown | Foreign | Package | Function | Class | Made | Free | Several
Things = frozenset[Thing]

UNKNOWN: Things = frozenset({Unknown()})
NOTHING: Things = frozenset()


def kinds(things: Things, kind: str) -> list[Made | Free]:
    """Those that are of the kind."""
    return [each for each in things if isinstance(each, Made | Free) and each.kind == kind]


def is_open(things: Things) -> bool:
    """May it be something that nobody can tell?"""
    return Unknown() in things


def with_annotation(things: Things, annotated: Things) -> Things:
    """What a value and its annotation say together: ours, if the annotation says so."""
    ours = any(isinstance(each, Made | Free) for each in things)
    if annotated == UNKNOWN or (ours and not is_open(things)):
        return things
    if not ours and any(isinstance(each, Free) for each in annotated):
        return annotated
    return (things - UNKNOWN) | annotated if is_open(things) or not things else things
