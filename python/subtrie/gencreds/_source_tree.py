"""A source tree with its names: files, scopes, classes and their bases."""

from __future__ import annotations

import ast
from pathlib import Path

from ._abstract_values import Class, Foreign, Thing
from ._name_resolution import Names
from ._scopes import Binding, Scope, Walked, walk
from ._source_files import File, Sources


class Tree:
    """What a scan looks at. Files that are imported on the way join in."""

    def __init__(self, path: str | Path) -> None:
        self.sources = Sources(path)
        self._walked: dict[Path, Walked] = {}
        self.names = Names(self)
        self._bases: dict[Scope, tuple[Thing, ...]] = {}
        self._lineages: dict[Scope, list[Scope]] = {}
        self._asked = 0  # bases that are being looked up: until then no lineage is known
        self._below: dict[Scope, list[Scope]] | None = None
        self._load_imported()
        #: Names of attributes that are stored to from elsewhere: no constants of a class.
        self.stored = {
            target.attr for walked in self._walked.values() for target, _ in walked.stored
        }

    def _load_imported(self) -> None:
        """Reads what is imported, and what that imports: all before anything is answered."""
        done: set[Path] = set()
        while todo := [file for path, file in self.sources.files.items() if path not in done]:
            for file in todo:
                done.add(file.path)
                for bindings in self.walked(file).scopes.values():
                    for each in (b for several in bindings.bindings.values() for b in several):
                        if each.kind == "import":
                            self._load(each.node, file)
                    for star in bindings.stars:
                        self._load(star, file)
        if not self.sources.whole:
            self.sources.own = set(self.sources.files)

    def _load(self, node: ast.AST, file: File) -> None:
        if isinstance(node, ast.alias):
            dotted = node.name.split(".")
            for length in range(1, len(dotted) + 1):
                way = self.sources.module(".".join(dotted[:length]), file)
                if way is not None:
                    self.sources.at(way)
        elif isinstance(node, ast.ImportFrom):
            way = self.way(node, file)
            if way is not None:
                self.sources.at(way)
                for alias in node.names:
                    if alias.name != "*":
                        self.sources.at(way / alias.name)

    def way(self, node: ast.ImportFrom, file: File) -> Path | None:
        """Where ``from … import`` leads: the path without ``.py``; None if abroad."""
        if not node.level:
            return self.sources.module(node.module or "", file)
        folder = file.path.parent
        for _ in range(node.level - 1):
            folder = folder.parent
        return folder.joinpath(*(node.module or "").split(".")) if node.module else folder

    def walked(self, file: File) -> Walked:
        """A file's scopes and sites."""
        if file.path not in self._walked:
            self._walked[file.path] = walk(file)
        return self._walked[file.path]

    def everything(self) -> list[Walked]:
        """All files, in a fixed order."""
        return [self._walked[path] for path in sorted(self._walked)]

    def module(self, file: File) -> Scope:
        """The scope of a file."""
        return self.walked(file).module

    def scope_of(self, node: ast.AST, near: Scope) -> Scope:
        """The scope that a function or a class opens."""
        return self.walked(near.file).scopes[node]

    # --- classes

    def bases(self, of: Scope) -> tuple[Thing, ...]:
        """What the bases of a class are."""
        if of not in self._bases:
            self._bases[of] = ()  # a circle has no bases
            self._asked += 1
            assert isinstance(of.node, ast.ClassDef)
            outer = of.parent or of
            found = (self.names.of(each, outer) for each in of.node.bases)
            self._bases[of] = tuple(thing for things in found for thing in things)
            self._asked -= 1
        return self._bases[of]

    def lineage(self, of: Scope) -> list[Scope]:
        """A class and the classes of the tree above it."""
        if of in self._lineages:
            return self._lineages[of]
        found, todo = [], [of]
        while todo:
            each = todo.pop(0)
            if each not in found:
                found.append(each)
                todo += [base.scope for base in self.bases(each) if isinstance(base, Class)]
        if not self._asked:
            self._lineages[of] = found
        return found

    def below(self, of: Scope) -> list[Scope]:
        """The classes of the tree that have this one above them."""
        if self._below is None:
            self._below = {}
            for walked in self.everything():
                for scope in walked.scopes.values():
                    if scope.kind == "class":
                        for above in self.lineage(scope)[1:]:
                            self._below.setdefault(above, []).append(scope)
        return self._below.get(of, [])

    def class_bindings(self, of: Scope, name: str) -> list[Binding]:
        """All ways in which an attribute of a class gets a value: here, above and below."""
        found: list[Binding] = []
        for each in (*self.lineage(of), *self.below(of)):
            found += each.bindings.get(name, [])
            found += each.attributes.get(name, [])
        return found

    def is_protocol(self, of: Scope) -> bool:
        """May something that is none of its subclasses stand for it?"""
        bases = self.bases(of)
        return any(isinstance(each, Foreign) and each.name.endswith("Protocol") for each in bases)
