"""The elements of literal sequences, and what the names of loops are in each round.

A loop over a literal sequence gives each of its elements, those of one round together; a name may
stand for a tuple, for a list it may not, since a list can change.
"""

from __future__ import annotations

import ast

from ._abstract_values import Class, Package
from ._partial_strings import Text
from ._scopes import Binding, Loop, Scope
from ._source_tree import Tree

#: Most rounds of the loops around one place; beyond that their names are holes.
ROUNDS = 256
#: Longest chain of names that leads to a sequence.
DEEPEST = 100

Element = tuple[ast.expr, Scope]


class Given(dict[tuple[int, str], tuple[ast.expr, Scope]]):
    """The elements chosen of the loops around a place, and what was found under that choice."""

    def __init__(self, *choices: Given) -> None:
        super().__init__()
        for each in choices:
            self.update(each)
        self.known: dict[tuple[int, int], list[Text]] = {}


class Loops:
    """Loops of a tree."""

    def __init__(self, tree: Tree) -> None:
        self.tree = tree
        self._pairs: dict[tuple[ast.expr, ast.expr], ast.expr] = {}

    def elements(self, expr: ast.expr, scope: Scope) -> list[tuple[ast.expr, Scope]] | None:
        """The elements of a literal sequence, or of a name that is one tuple; None for others."""
        if isinstance(expr, ast.Tuple | ast.List | ast.Set):
            if any(isinstance(each, ast.Starred) for each in expr.elts):
                return None
            return [(each, scope) for each in expr.elts]
        if isinstance(expr, ast.Dict) and None not in expr.keys:
            return [(key, scope) for key in expr.keys if key is not None]
        if isinstance(expr, ast.Call) and isinstance(expr.func, ast.Attribute):
            table = expr.func.value
            if isinstance(table, ast.Dict) and None not in table.keys and not expr.args:
                keys = [key for key in table.keys if key is not None]
                if expr.func.attr == "items":
                    pairs = zip(keys, table.values, strict=True)
                    return [(self._pair(*pair), scope) for pair in pairs]
                if expr.func.attr == "values":
                    return [(value, scope) for value in table.values]
                if expr.func.attr == "keys":
                    return [(key, scope) for key in keys]
        if isinstance(expr, ast.Name | ast.Attribute):
            return self._named_tuple(expr, scope)
        return None

    def _pair(self, key: ast.expr, value: ast.expr) -> ast.expr:
        if (key, value) not in self._pairs:
            self._pairs[key, value] = ast.Tuple([key, value], ast.Load())
        return self._pairs[key, value]

    def _named_tuple(self, expr: ast.expr, scope: Scope) -> list[tuple[ast.expr, Scope]] | None:
        """A name assigned once to a tuple. A list can change, so it does not count."""
        for _ in range(DEEPEST):
            if isinstance(expr, ast.Tuple):
                return self.elements(expr, scope)
            binding = self._only_binding(expr, scope)
            if binding is None:
                return None
            if binding.kind == "import" and isinstance(binding.node, ast.ImportFrom):
                way = self.tree.way(binding.node, binding.scope.file)
                file = None if way is None else self.tree.sources.at(way)
                if file is None:
                    return None
                scope = self.tree.module(file)
                expr = reading(str(binding.path[0]), scope)
            elif binding.kind == "value" and not binding.path and binding.value is not None:
                expr, scope = binding.value, binding.scope
            else:
                return None
        return None

    def _only_binding(self, expr: ast.expr, scope: Scope) -> Binding | None:
        if isinstance(expr, ast.Name):
            found = scope.find(expr.id)
            bindings = [] if found is None else found[1]
        elif isinstance(expr, ast.Attribute) and expr.attr not in self.tree.stored:
            bindings = []
            for owner in self.tree.names.of(expr.value, scope):
                if isinstance(owner, Class):
                    bindings += self.tree.class_bindings(owner.scope, expr.attr)
                elif isinstance(owner, Package):
                    file = self.tree.sources.at(owner.way)
                    if file is not None:
                        bindings += self.tree.module(file).bindings.get(expr.attr, [])
        else:
            bindings = []
        return bindings[0] if len(bindings) == 1 else None

    def rounds(self, loops: tuple[tuple[Loop, Scope], ...], where: Scope) -> list[Given]:
        """What the names of the loops around a place may be, all of one round together."""
        found = [Given()]
        for loop, scope in loops:
            elements = self.elements(loop.iter, scope)
            if not elements:
                continue  # its names are holes
            chosen: list[Given] = []
            for element, at in elements:
                names = _taken(loop, loop.target, element, at, scope, where)
                if names is None:
                    break
                chosen += [Given(each, names) for each in found]
            else:
                if len(chosen) <= ROUNDS:
                    found = chosen
        return found


def reading(name: str, scope: Scope) -> ast.Name:
    """A name as if it were read in that scope; one for each, since answers are kept by it."""
    kept: dict[str, ast.Name] = scope.__dict__.setdefault("readings", {})
    if name not in kept:
        kept[name] = ast.Name(name, ast.Load())
    return kept[name]


def _taken(
    loop: Loop, target: ast.expr, element: ast.expr, at: Scope, home: Scope, where: Scope
) -> Given | None:
    """What the names of a loop are in the round of one element; None where it does not fit."""
    names = Given()
    if isinstance(target, ast.Name):
        found = home.find(target.id)
        if found is not None and _is_its_own(loop, found[1], home, where):
            names[id(found[0]), target.id] = (element, at)
        return names
    if not isinstance(target, ast.Tuple | ast.List):
        return None
    if not isinstance(element, ast.Tuple | ast.List) or len(target.elts) != len(element.elts):
        return None
    for one, other in zip(target.elts, element.elts, strict=True):
        inner = _taken(loop, one, other, at, home, where)
        if inner is None:
            return None
        names.update(inner)
    return names


def _is_its_own(loop: Loop, bindings: list[Binding], home: Scope, where: Scope) -> bool:
    """Is the name nothing but this loop's element there? Loops one after another may share it."""
    if len(bindings) == 1:
        return True
    while where.kind == "comprehension" and where is not home and where.parent is not None:
        where = where.parent
    if where is not home or isinstance(loop, ast.comprehension):
        return False  # a function may be called after another loop has begun
    first, end = loop.body[0], (loop.end_lineno or 0, loop.end_col_offset or 0)
    return all(
        each.kind == "loop" and not (first.lineno, first.col_offset) <= _place(each.node) <= end
        for each in bindings
    )


def _place(node: ast.AST) -> tuple[int, int]:
    return getattr(node, "lineno", 0), getattr(node, "col_offset", 0)


def step_of(
    elements: list[tuple[ast.expr, Scope]] | None, step: int | str
) -> list[tuple[ast.expr, Scope]] | None:
    found: list[tuple[ast.expr, Scope]] = []
    for each, at in elements or ():
        if not isinstance(each, ast.Tuple | ast.List) or not isinstance(step, int):
            return None
        if any(isinstance(e, ast.Starred) for e in each.elts):
            return None
        if not -len(each.elts) <= step < len(each.elts):
            return None
        found.append((each.elts[step], at))
    return found
