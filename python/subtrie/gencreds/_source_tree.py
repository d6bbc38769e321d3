"""A source tree: files, scopes, classes and their bases."""

from __future__ import annotations

import ast
from collections import deque
from collections.abc import Collection
from pathlib import Path

from .._core.file_errors import file_error
from ._abstract_values import AbstractValue, ClassValue, ExternalObject
from ._name_resolution import NameResolver
from ._scopes import Binding, FileScopes, Scope, walk
from ._source_files import SourceFile, SourceFiles

#: Most classes of a lineage; each attribute of an object may be looked for in all of them.
MAX_LINEAGE = 200


class SourceTree:
    """The input of a scan. Files imported by others are added while it is built."""

    def __init__(self, path: str | Path) -> None:
        self.sources = SourceFiles(path)
        self._file_scopes: dict[Path, FileScopes] = {}
        self.resolver = NameResolver(self)
        self._bases: dict[Scope, tuple[AbstractValue, ...]] = {}
        self._lineages: dict[Scope, list[Scope]] = {}
        self._asked = 0  # bases that are being resolved; a lineage is cached only when none are
        self._below: dict[Scope, list[Scope]] | None = None
        #: The files that each file imports, or that import it.
        self._neighbours: dict[Path, set[Path]] = {}
        self._load_imported()
        #: Attributes that are also assigned from outside their class: not constants.
        self.stored = {
            target.attr
            for file_scopes in self._file_scopes.values()
            for target, _ in file_scopes.stored
        }

    def _load_imported(self) -> None:
        """Read the imported modules, and those they import, before any name is resolved."""
        done: set[Path] = set()
        while todo := [file for path, file in self.sources.files.items() if path not in done]:
            for file in todo:
                done.add(file.path)
                for bindings in self.file_scopes(file).scopes.values():
                    for each in (b for several in bindings.bindings.values() for b in several):
                        if each.kind == "import":
                            self._load(each.node, file)
                    for star in bindings.stars:
                        self._load(star, file)
        if not self.sources.whole:
            self.sources.own = set(self.sources.files)

    def _load(self, node: ast.AST, file: SourceFile) -> None:
        if isinstance(node, ast.alias):
            dotted = node.name.split(".")
            for length in range(1, len(dotted) + 1):
                self._load_at(self.sources.module(".".join(dotted[:length]), file), file)
        elif isinstance(node, ast.ImportFrom):
            module_path = self.module_path(node, file)
            self._load_at(module_path, file)
            if module_path is not None:
                for alias in node.names:
                    if alias.name != "*":
                        self._load_at(module_path / alias.name, file)

    def _load_at(self, module_path: Path | None, importer: SourceFile) -> None:
        found = None if module_path is None else self.sources.at(module_path)
        if found is not None:
            self._neighbours.setdefault(importer.path, set()).add(found.path)
            self._neighbours.setdefault(found.path, set()).add(importer.path)

    def unconnected(self, hosts: Collection[str]) -> set[Path]:
        """Return the files that no import connects with one in which a host stands as a text.

        The text of a ``Client`` or an ``Event`` does not count: it names a service that is called.
        If no file has one, none is returned: the host is made at run time.
        """
        todo = [path for path, file in self.sources.files.items() if _names(file.tree, hosts)]
        connected = set(todo)
        while todo:
            new = self._neighbours.get(todo.pop(), set()) - connected
            connected |= new
            todo += new
        return set(self.sources.files) - connected if connected else set()

    def module_path(self, node: ast.ImportFrom, file: SourceFile) -> Path | None:
        """Return the path without ``.py`` that ``from … import`` names; None if it is external."""
        if not node.level:
            return self.sources.module(node.module or "", file)
        folder = file.path.parent
        for _ in range(node.level - 1):
            folder = folder.parent
        return folder.joinpath(*(node.module or "").split(".")) if node.module else folder

    def file_scopes(self, file: SourceFile) -> FileScopes:
        """Return a file's scopes and sites."""
        if file.path not in self._file_scopes:
            self._file_scopes[file.path] = walk(file)
        return self._file_scopes[file.path]

    def all_files(self) -> list[FileScopes]:
        """Return the scopes of all files, in a fixed order."""
        return [self._file_scopes[path] for path in sorted(self._file_scopes)]

    def module(self, file: SourceFile) -> Scope:
        """Return the scope of a file."""
        return self.file_scopes(file).module

    def scope_of(self, node: ast.AST, near: Scope) -> Scope:
        """Return the scope that a function or a class opens."""
        return self.file_scopes(near.file).scopes[node]

    # --- classes

    def bases(self, of: Scope) -> tuple[AbstractValue, ...]:
        """Return the possible values of the bases of a class."""
        if of not in self._bases:
            self._bases[of] = ()  # a cycle has no bases
            self._asked += 1
            assert isinstance(of.node, ast.ClassDef)
            outer = of.parent or of
            found = (self.resolver.of(each, outer) for each in of.node.bases)
            self._bases[of] = tuple(value for values in found for value in values)
            self._asked -= 1
        return self._bases[of]

    def lineage(self, of: Scope) -> list[Scope]:
        """Return a class and its base classes in the tree.

        Raises:
            PermissionsError: they are too many.
        """
        if of in self._lineages:
            return self._lineages[of]
        seen: dict[Scope, None] = {}
        todo = deque([of])
        while todo:
            each = todo.popleft()
            if each not in seen:
                if len(seen) == MAX_LINEAGE:
                    assert isinstance(of.node, ast.ClassDef)
                    name = f"the class {of.node.name} with more than {MAX_LINEAGE} base classes"
                    raise file_error("source-depth", name, Path(of.file.name), of.node.lineno)
                seen[each] = None
                todo += [base.scope for base in self.bases(each) if isinstance(base, ClassValue)]
        found = list(seen)
        if not self._asked:
            self._lineages[of] = found
        return found

    def below(self, of: Scope) -> list[Scope]:
        """Return the classes of the tree that are derived from a class."""
        if self._below is None:
            self._below = {}
            for file_scopes in self.all_files():
                for scope in file_scopes.scopes.values():
                    if scope.kind == "class":
                        for above in self.lineage(scope)[1:]:
                            self._below.setdefault(above, []).append(scope)
        return self._below.get(of, [])

    def class_bindings(self, of: Scope, name: str) -> list[Binding]:
        """Return all bindings of an attribute of a class, its bases and its subclasses."""
        found: list[Binding] = []
        for each in (*self.lineage(of), *self.below(of)):
            found += each.bindings.get(name, [])
            found += each.attributes.get(name, [])
        return found

    def is_protocol(self, of: Scope) -> bool:
        """Return True if an object of an unrelated class may stand for this class."""
        bases = self.bases(of)
        return any(
            isinstance(each, ExternalObject) and each.name.endswith("Protocol") for each in bases
        )


def _names(tree: ast.Module, hosts: Collection[str]) -> bool:
    """Return True if one of the hosts is a text, other than that of a client or an event."""
    texts = {
        node for node in ast.walk(tree) if isinstance(node, ast.Constant) and node.value in hosts
    }
    for node in ast.walk(tree) if texts else ():
        if isinstance(node, ast.Call):
            made = node.func.value if isinstance(node.func, ast.Subscript) else node.func
            if getattr(made, "attr", getattr(made, "id", "")) in ("Client", "Event"):
                texts -= {each for each in node.args if isinstance(each, ast.Constant)}
    return bool(texts)
