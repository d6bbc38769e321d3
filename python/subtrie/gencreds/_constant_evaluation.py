"""The texts an expression may be, with holes where nobody can tell.

Understood: literals, names and class attributes assigned once (followed across files), f-strings,
``+``, ``format`` of these; a conditional gives all branches; a loop over a literal sequence gives
each element. Everything else is a hole: parameters, names assigned twice, ``os.environ``.
"""

from __future__ import annotations

import ast
import itertools
import string
from collections.abc import Iterable
from pathlib import Path

from ._abstract_values import Class, Foreign, Package
from ._loops import Given, Loops, reading, step_of
from ._partial_strings import Text, few, hole, product
from ._scopes import Binding, Scope
from ._source_tree import Tree

#: Deepest nesting of expressions and names that is followed.
DEEPEST = 100


#: A list that has a name can change, a tuple cannot.
_NO_ELEMENTS = "takes its values from no literal sequence (a list that has a name is none)"


class Values:
    """Evaluates expressions of a tree."""

    def __init__(self, tree: Tree) -> None:
        self.tree = tree
        self._given = Given()
        self._asked: set[tuple[int, int]] = set()
        self.loops = Loops(tree)
        self._depth = 0

    def of(self, expr: ast.expr | None, scope: Scope, given: Given | None = None) -> list[Text]:
        """The texts of an expression, at least one. ``given`` are elements chosen of loops."""
        if expr is None:
            return hole("nothing is given")
        key = (id(expr), id(scope))
        given = given or self._given
        if key in given.known:
            return given.known[key]
        if key in self._asked:
            return hole("a value that is defined by itself")
        if self._depth > DEEPEST:
            return hole("an expression that goes too deep")
        self._asked.add(key)
        self._depth += 1
        try:
            found = given.known[key] = few(self._look(expr, scope, given))
        finally:
            self._depth -= 1
            self._asked.discard(key)
        return found

    def _look(self, expr: ast.expr, scope: Scope, given: Given) -> Iterable[Text]:
        match expr:
            case ast.Constant(value=str(text)):
                return [(text,)]
            case ast.Constant(value=bool() | None):
                return hole("no text")
            case ast.Constant(value=int(number)) if abs(number) < 1 << 64:
                return [(str(number),)]
            case ast.JoinedStr():
                return self._joined(expr, scope, given)
            case ast.BinOp(op=ast.Add()):
                return self._sum(expr, scope, given)
            case ast.IfExp():
                return [
                    *self.of(expr.body, scope, given),
                    *self.of(expr.orelse, scope, given),
                ]
            case ast.NamedExpr():
                return self.of(expr.value, scope, given)
            case ast.Name():
                return self._name(expr.id, scope, given)
            case ast.Attribute():
                return self._attribute(expr, scope, given)
            case ast.Call(func=ast.Attribute(attr="format")):
                return self._format(expr, scope, given)
            case ast.Subscript() | ast.Call():
                return hole(_why_call(expr, self.tree, scope))
        return hole("an expression that is no constant")

    def _joined(self, expr: ast.JoinedStr, scope: Scope, given: Given) -> Iterable[Text]:
        parts: list[list[Text]] = []
        for each in expr.values:
            if isinstance(each, ast.FormattedValue):
                if each.format_spec is not None or each.conversion not in (-1, 115):
                    parts.append(hole("a value with a format of its own"))
                else:
                    parts.append(self.of(each.value, scope, given))
            else:
                parts.append(self.of(each, scope, given))
        return product(parts)

    def _sum(self, expr: ast.expr, scope: Scope, given: Given) -> Iterable[Text]:
        parts: list[list[Text]] = []
        while isinstance(expr, ast.BinOp) and isinstance(expr.op, ast.Add):
            parts.append(self.of(expr.right, scope, given))
            expr = expr.left
        parts.append(self.of(expr, scope, given))
        return product(reversed(parts))

    def _format(self, call: ast.Call, scope: Scope, given: Given) -> Iterable[Text]:
        assert isinstance(call.func, ast.Attribute)
        found: list[Text] = []
        for template in self.of(call.func.value, scope, given):
            if len(template) != 1 or not isinstance(template[0], str):
                found += hole("a template that nobody can tell")
                continue
            try:
                pieces = list(string.Formatter().parse(template[0]))
            except ValueError:
                found += hole("a template that is none")
                continue
            parts: list[list[Text]] = []
            count = itertools.count()
            for literal, field, spec, conversion in pieces:
                parts.append([(literal,)])
                if field is None:
                    continue
                if spec or conversion not in (None, "s"):
                    parts.append(hole("a value with a format of its own"))
                    continue
                argument = _argument(call, field or str(next(count)))
                parts.append(
                    hole("an argument of format") if argument is None
                    else self.of(argument, scope, given)
                )  # fmt: skip
            found += product(parts)
        return found

    # --- names

    def _name(self, name: str, scope: Scope, given: Given) -> Iterable[Text]:
        found = scope.find(name)
        if found is None:
            for star in scope.module.stars:
                way = self.tree.way(star, scope.file)
                if way is not None and (texts := self._of_module(way, name)) is not None:
                    return texts
            return hole(f"{name}, which is defined nowhere here")
        home, bindings = found
        chosen = given.get((id(home), name))
        if chosen is not None:
            return self.of(chosen[0], chosen[1], given)
        if len(bindings) != 1:
            return hole(f"{name}, which is assigned {len(bindings)} times")
        return self._bound(name, bindings[0], given)

    def _bound(self, name: str, binding: Binding, given: Given) -> Iterable[Text]:
        match binding.kind:
            case "value" | "loop":
                elements: list[tuple[ast.expr, Scope]] | None
                assert binding.value is not None
                if binding.kind == "loop":
                    elements = self.loops.elements(binding.value, binding.scope)
                else:
                    elements = [(binding.value, binding.scope)]
                for step in binding.path:
                    elements = step_of(elements, step)
                if not elements:
                    return hole(f"{name}, which {_NO_ELEMENTS}")
                return [text for each, at in elements for text in self.of(each, at, given)]
            case "import":
                if isinstance(binding.node, ast.ImportFrom):
                    way = self.tree.way(binding.node, binding.scope.file)
                    if way is not None:
                        texts = self._of_module(way, str(binding.path[0]))
                        if texts is not None:
                            return texts
                return hole(f"{name}, which is imported from where nobody looks")
            case "param":
                return hole(f"{name}, a parameter")
        return hole(f"{name}, which is no constant")

    def _of_module(
        self, way: Path, name: str, passed: tuple[Path, ...] = ()
    ) -> Iterable[Text] | None:
        """A name of a module, also by its star imports; None where it has none."""
        file = self.tree.sources.at(way)
        if file is None:
            return None
        scope = self.tree.module(file)
        if name in scope.bindings:
            if name in self.tree.stored and len(scope.bindings[name]) == 1:
                return hole(f"{name}, which is assigned from elsewhere too")
            return self.of(reading(name, scope), scope)
        for star in scope.stars:
            below = self.tree.way(star, file)
            if below is not None and below not in (way, *passed) and len(passed) < DEEPEST:
                texts = self._of_module(below, name, (*passed, way))
                if texts is not None:
                    return texts
        return None

    def _attribute(self, expr: ast.Attribute, scope: Scope, given: Given) -> Iterable[Text]:
        found: list[Text] = []
        for owner in self.tree.names.of(expr.value, scope):
            if isinstance(owner, Package):
                texts = self._of_module(owner.way, expr.attr)
                found += hole(f"{expr.attr} of a module") if texts is None else texts
            elif isinstance(owner, Class):
                bindings = self.tree.class_bindings(owner.scope, expr.attr)
                if len(bindings) != 1 or expr.attr in self.tree.stored:
                    found += hole(f"{expr.attr}, which is not assigned once")
                else:
                    found += self._bound(expr.attr, bindings[0], given)
            else:
                found += hole(f".{expr.attr} of something")
        return found or hole(f".{expr.attr} of something")


def _argument(call: ast.Call, field: str) -> ast.expr | None:
    if any(isinstance(each, ast.Starred) for each in call.args):
        return None
    if field.isdigit():
        place = int(field[:6])
        return call.args[place] if place < len(call.args) else None
    for keyword in call.keywords:
        if keyword.arg == field:
            return keyword.value
    return None


def _why_call(expr: ast.expr, tree: Tree, scope: Scope) -> str:
    inner = expr.func if isinstance(expr, ast.Call) else getattr(expr, "value", None)
    if isinstance(inner, ast.expr):
        for each in tree.names.of(inner, scope):
            if isinstance(each, Foreign) and each.name.startswith(("os.environ", "os.getenv")):
                return "the environment"
    return "the result of a call" if isinstance(expr, ast.Call) else "an element of something"
