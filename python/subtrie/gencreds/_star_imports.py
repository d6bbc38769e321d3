"""Star imports: which module gives a name, or that it cannot be told."""

from __future__ import annotations

import ast
from pathlib import Path
from typing import Literal

from ._scopes import Scope
from ._source_tree import SourceTree

#: Packages whose star imports bind what the package documents, and no constants.
_KNOWN = ("subtrie",)


def may_rebind(tree: SourceTree, scope: Scope, name: str, line: int) -> bool:
    """Return True if a star import on this line or below may give the name another value."""
    return any(
        star.lineno >= line and exports(tree, star, scope, name, ()) is not False
        for star in scope.stars
    )


def star_of(tree: SourceTree, scope: Scope, name: str) -> ast.ImportFrom | bool | None:
    """Return the only star import of a module that gives the name.

    None if no star import does; False if it cannot be told which one does.
    """
    giving = []
    for star in scope.stars:
        given = exports(tree, star, scope, name, ())
        if given is None:
            return False
        if given:
            giving.append(star)
    if len(giving) > 1:
        return False
    return giving[0] if giving else None


def exports(
    tree: SourceTree, star: ast.ImportFrom, scope: Scope, name: str, passed: tuple[Path, ...]
) -> bool | None:
    """Return whether a star import gives a name; None if that cannot be told."""
    path = tree.module_path(star, scope.file)
    if path is None:
        module = star.module or ""
        return False if module.partition(".")[0] in _KNOWN and not star.level else None
    file = tree.sources.at(path)
    if file is None or path in passed:
        return False
    inner = tree.module(file)
    listed = _listed(inner)
    if listed is None:
        return None
    if listed is not False and name not in listed:
        return False
    if listed is False and name.startswith("_"):
        return False
    if name in inner.bindings:
        return True
    below = [exports(tree, each, inner, name, (*passed, path)) for each in inner.stars]
    return None if None in below else any(below)


def _listed(scope: Scope) -> frozenset[str] | Literal[False] | None:
    """The names in ``__all__``; False without one, None if it is not a literal."""
    bindings = scope.bindings.get("__all__", [])
    if not bindings:
        return False
    value = bindings[0].value if len(bindings) == 1 else None
    if not isinstance(value, ast.List | ast.Tuple):
        return None
    names = [each.value for each in value.elts if isinstance(each, ast.Constant)]
    if len(names) != len(value.elts):
        return None
    return frozenset(str(each) for each in names)
