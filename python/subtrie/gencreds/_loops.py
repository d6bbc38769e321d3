"""Loop expansion: the elements of literal sequences, and the loop variables in each iteration.

A loop over a literal sequence yields each of its elements. A name may stand for a tuple, but not
for a list, since a list can change.
"""

from __future__ import annotations

import ast

from ._abstract_values import ClassValue, ModuleValue
from ._partial_strings import PartialString
from ._scopes import Binding, Loop, Scope, scope_of_iterable
from ._source_tree import SourceTree

#: Most iterations of the loops around one place; beyond that their names are unknown.
MAX_ITERATIONS = 256
#: Longest chain of names that leads to a sequence.
MAX_DEPTH = 100

Element = tuple[ast.expr, Scope]


class LoopBindings(dict[tuple[int, str], tuple[ast.expr, Scope]]):
    """The elements chosen for the loop variables around a place, and the values cached for them."""

    def __init__(self, *choices: LoopBindings) -> None:
        super().__init__()
        for each in choices:
            self.update(each)
        self.known: dict[tuple[int, int], list[PartialString]] = {}


class LoopExpander:
    """Expands the loops of a source tree."""

    def __init__(self, tree: SourceTree) -> None:
        self.tree = tree
        self._pairs: dict[tuple[ast.expr, ast.expr], ast.expr] = {}

    def elements(self, expr: ast.expr, scope: Scope) -> list[tuple[ast.expr, Scope]] | None:
        """Return the elements of a literal sequence or of a name for a tuple; None for others."""
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
        """A tuple of a key and a value; cached, since values are cached by node."""
        if (key, value) not in self._pairs:
            self._pairs[key, value] = ast.Tuple([key, value], ast.Load())
        return self._pairs[key, value]

    def _named_tuple(self, expr: ast.expr, scope: Scope) -> list[tuple[ast.expr, Scope]] | None:
        """The elements of a name assigned once to a tuple; a list can change and has none."""
        for _ in range(MAX_DEPTH):
            if isinstance(expr, ast.Tuple):
                return self.elements(expr, scope)
            binding = self._only_binding(expr, scope)
            if binding is None:
                return None
            if binding.kind == "import" and isinstance(binding.node, ast.ImportFrom):
                module_path = self.tree.module_path(binding.node, binding.scope.file)
                file = None if module_path is None else self.tree.sources.at(module_path)
                if file is None:
                    return None
                scope = self.tree.module(file)
                expr = name_node(str(binding.path[0]), scope)
            elif binding.kind == "value" and not binding.path and binding.value is not None:
                expr, scope = binding.value, binding.scope
            else:
                return None
        return None

    def _only_binding(self, expr: ast.expr, scope: Scope) -> Binding | None:
        """The binding of a name or attribute that has exactly one."""
        if isinstance(expr, ast.Name):
            found = scope.find(expr.id)
            bindings = [] if found is None else found[1]
        elif isinstance(expr, ast.Attribute) and expr.attr not in self.tree.stored:
            bindings = []
            for owner in self.tree.resolver.of(expr.value, scope):
                if isinstance(owner, ClassValue):
                    bindings += self.tree.class_bindings(owner.scope, expr.attr)
                elif isinstance(owner, ModuleValue):
                    file = self.tree.sources.at(owner.module_path)
                    if file is not None:
                        bindings += self.tree.module(file).bindings.get(expr.attr, [])
        else:
            bindings = []
        return bindings[0] if len(bindings) == 1 else None

    def iterations(self, loops: tuple[tuple[Loop, Scope], ...], where: Scope) -> list[LoopBindings]:
        """Return the bindings of the loop variables around a place, one for each iteration.

        Args:
            loops: the loops around the place, the outermost first, and their scopes.
            where: the scope of the place.
        """
        found = [LoopBindings()]
        for loop, scope in loops:
            elements = self.elements(loop.iter, scope_of_iterable(loop, scope))
            if not elements:
                continue  # its variables are unknown
            chosen: list[LoopBindings] = []
            for element, at in elements:
                names = _bindings_of_iteration(loop, loop.target, element, at, scope, where)
                if names is None:
                    break
                chosen += [LoopBindings(each, names) for each in found]
            else:
                if len(chosen) <= MAX_ITERATIONS:
                    found = chosen
        return found


def name_node(name: str, scope: Scope) -> ast.Name:
    """Return the node that reads a name in a scope; the same each time, as values are cached."""
    kept: dict[str, ast.Name] = scope.__dict__.setdefault("name_nodes", {})
    if name not in kept:
        kept[name] = ast.Name(name, ast.Load())
    return kept[name]


def _bindings_of_iteration(
    loop: Loop, target: ast.expr, element: ast.expr, at: Scope, home: Scope, where: Scope
) -> LoopBindings | None:
    """The loop variables for one element; None if the element does not fit the target."""
    names = LoopBindings()
    if isinstance(target, ast.Name):
        found = home.find(target.id)
        if found is not None and _is_only_loop_variable(loop, found[1], home, where):
            names[id(found[0]), target.id] = (element, at)
        return names
    if not isinstance(target, ast.Tuple | ast.List):
        return None
    if not isinstance(element, ast.Tuple | ast.List) or len(target.elts) != len(element.elts):
        return None
    for one, other in zip(target.elts, element.elts, strict=True):
        inner = _bindings_of_iteration(loop, one, other, at, home, where)
        if inner is None:
            return None
        names.update(inner)
    return names


def _is_only_loop_variable(loop: Loop, bindings: list[Binding], home: Scope, where: Scope) -> bool:
    """True if the name is bound by this loop alone; consecutive loops may share it."""
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


def unpacked_elements(
    elements: list[tuple[ast.expr, Scope]] | None, step: int | str
) -> list[tuple[ast.expr, Scope]] | None:
    """Return the item at an index of each element; None if one of them is not a literal sequence.

    Args:
        elements: the elements.
        step: the index; a text stands for an item that cannot be determined.
    """
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
