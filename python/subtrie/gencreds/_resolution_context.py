"""What following a name needs to know of the tree around it."""

from __future__ import annotations

import ast
from pathlib import Path
from typing import Protocol

from ._abstract_values import Thing
from ._scopes import Binding, Scope
from ._source_files import File, Sources


class Surroundings(Protocol):
    """A tree of files, scopes and classes."""

    @property
    def sources(self) -> Sources: ...

    def scope_of(self, node: ast.AST, near: Scope) -> Scope: ...

    def module(self, file: File) -> Scope: ...

    def way(self, node: ast.ImportFrom, file: File) -> Path | None: ...

    def class_bindings(self, of: Scope, name: str) -> list[Binding]: ...

    def lineage(self, of: Scope) -> list[Scope]: ...

    def bases(self, of: Scope) -> tuple[Thing, ...]: ...

    def is_protocol(self, of: Scope) -> bool: ...
