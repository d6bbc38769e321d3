"""Constant evaluation: the texts an expression may have, with parts that are unknown.

Evaluated: literals, names and class attributes assigned once (followed across files), f-strings,
``+``, ``format`` of these; a conditional gives both branches; a loop over a literal sequence gives
each element. Everything else is an unknown part: parameters, names assigned twice, ``os.environ``.
"""

from __future__ import annotations

import ast
import itertools
import string
from collections.abc import Iterable
from pathlib import Path

from ._abstract_values import ClassValue, ExternalObject, ModuleValue
from ._loops import LoopBindings, LoopExpander, name_node, unpacked_elements
from ._partial_strings import PartialString, bounded, concatenations, unknown
from ._scopes import Binding, Scope
from ._source_tree import SourceTree
from ._star_imports import may_rebind, star_of

#: Deepest nesting of expressions and names that is followed; more is an unknown part.
MAX_DEPTH = 100


#: A named list can change, a tuple cannot.
_NO_ELEMENTS = "does not iterate over a literal sequence (a named list may change)"


class ConstantEvaluator:
    """Evaluates the expressions of a source tree. Results are cached by node."""

    def __init__(self, tree: SourceTree) -> None:
        self.tree = tree
        self._given = LoopBindings()
        self._asked: set[tuple[int, int]] = set()
        self.loops = LoopExpander(tree)
        self._depth = 0

    def of(
        self, expr: ast.expr | None, scope: Scope, given: LoopBindings | None = None
    ) -> list[PartialString]:
        """Return the texts of an expression, at least one.

        Args:
            expr: the expression; None if there is none.
            scope: the scope it is in.
            given: the values of loop variables.
        """
        if expr is None:
            return unknown("a missing argument")
        key = (id(expr), id(scope))
        given = given or self._given
        if key in given.known:
            return given.known[key]
        if key in self._asked:
            return unknown("a value defined by itself")
        if self._depth > MAX_DEPTH:
            return unknown("an expression nested too deep")
        self._asked.add(key)
        self._depth += 1
        try:
            found = given.known[key] = bounded(self._look(expr, scope, given))
        finally:
            self._depth -= 1
            self._asked.discard(key)
        return found

    def _look(self, expr: ast.expr, scope: Scope, given: LoopBindings) -> Iterable[PartialString]:
        match expr:
            case ast.Constant(value=str(text)):
                return [(text,)]
            case ast.Constant(value=bool() | None):
                return unknown("a value that is not a text")
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
                return unknown(_why_call(expr, self.tree, scope))
        return unknown("an expression that is not constant")

    def _joined(
        self, expr: ast.JoinedStr, scope: Scope, given: LoopBindings
    ) -> Iterable[PartialString]:
        parts: list[list[PartialString]] = []
        for each in expr.values:
            if isinstance(each, ast.FormattedValue):
                if each.format_spec is not None or each.conversion not in (-1, 115):
                    parts.append(unknown("a value with a format specification"))
                else:
                    parts.append(self.of(each.value, scope, given))
            else:
                parts.append(self.of(each, scope, given))
        return concatenations(parts)

    def _sum(self, expr: ast.expr, scope: Scope, given: LoopBindings) -> Iterable[PartialString]:
        parts: list[list[PartialString]] = []
        while isinstance(expr, ast.BinOp) and isinstance(expr.op, ast.Add):
            parts.append(self.of(expr.right, scope, given))
            expr = expr.left
        parts.append(self.of(expr, scope, given))
        return concatenations(reversed(parts))

    def _format(self, call: ast.Call, scope: Scope, given: LoopBindings) -> Iterable[PartialString]:
        assert isinstance(call.func, ast.Attribute)
        found: list[PartialString] = []
        for template in self.of(call.func.value, scope, given):
            if len(template) != 1 or not isinstance(template[0], str):
                found += unknown("an unknown template")
                continue
            try:
                pieces = list(string.Formatter().parse(template[0]))
            except ValueError:
                found += unknown("an invalid template")
                continue
            parts: list[list[PartialString]] = []
            count = itertools.count()
            for text, field, spec, conversion in pieces:
                parts.append([(text,)])
                if field is None:
                    continue
                if spec or conversion not in (None, "s"):
                    parts.append(unknown("a value with a format specification"))
                    continue
                argument = _argument(call, field or str(next(count)))
                parts.append(
                    unknown("an argument of format") if argument is None
                    else self.of(argument, scope, given)
                )  # fmt: skip
            found += concatenations(parts)
        return found

    # --- names

    def _name(self, name: str, scope: Scope, given: LoopBindings) -> Iterable[PartialString]:
        found = scope.find(name)
        if found is None:
            star = star_of(self.tree, scope.module, name)
            if star is False:
                return unknown(f"{name}, which a star import may give")
            if isinstance(star, ast.ImportFrom):
                module_path = self.tree.module_path(star, scope.file)
                if (
                    module_path is not None
                    and (texts := self._of_module(module_path, name)) is not None
                ):
                    return texts
            return unknown(f"{name}, which is not defined here")
        home, bindings = found
        chosen = given.get((id(home), name))
        if chosen is not None:
            return self.of(chosen[0], chosen[1], given)
        if len(bindings) != 1:
            return unknown(f"{name}, which is assigned {len(bindings)} times")
        if home.stars and may_rebind(self.tree, home, name, _line(bindings[0])):
            return unknown(f"{name}, which a star import below it may give")
        return self._bound(name, bindings[0], given)

    def _bound(self, name: str, binding: Binding, given: LoopBindings) -> Iterable[PartialString]:
        match binding.kind:
            case "value" | "loop":
                elements: list[tuple[ast.expr, Scope]] | None
                assert binding.value is not None
                if binding.kind == "loop":
                    elements = self.loops.elements(binding.value, binding.scope)
                else:
                    elements = [(binding.value, binding.scope)]
                for step in binding.path:
                    elements = unpacked_elements(elements, step)
                if not elements:
                    return unknown(f"{name}, which {_NO_ELEMENTS}")
                return [text for each, at in elements for text in self.of(each, at, given)]
            case "import":
                if isinstance(binding.node, ast.ImportFrom):
                    module_path = self.tree.module_path(binding.node, binding.scope.file)
                    if module_path is not None:
                        texts = self._of_module(module_path, str(binding.path[0]))
                        if texts is not None:
                            return texts
                return unknown(f"{name}, which is imported from outside the tree")
            case "param":
                return unknown(f"{name}, a parameter")
        return unknown(f"{name}, which is not a constant")

    def _of_module(
        self, module_path: Path, name: str, passed: tuple[Path, ...] = ()
    ) -> Iterable[PartialString] | None:
        """The texts of a name of a module, also through star imports; None without such a name."""
        file = self.tree.sources.at(module_path)
        if file is None:
            return None
        scope = self.tree.module(file)
        if name in scope.bindings:
            if name in self.tree.stored and len(scope.bindings[name]) == 1:
                return unknown(f"{name}, which is also assigned from outside its module")
            return self.of(name_node(name, scope), scope)
        only = star_of(self.tree, scope, name)
        if only is False:
            return unknown(f"{name}, which a star import may give")
        for star in [only] if isinstance(only, ast.ImportFrom) else []:
            below = self.tree.module_path(star, file)
            if (
                below is not None
                and below not in (module_path, *passed)
                and len(passed) < MAX_DEPTH
            ):
                texts = self._of_module(below, name, (*passed, module_path))
                if texts is not None:
                    return texts
        return None

    def _attribute(
        self, expr: ast.Attribute, scope: Scope, given: LoopBindings
    ) -> Iterable[PartialString]:
        found: list[PartialString] = []
        for owner in self.tree.resolver.of(expr.value, scope):
            if isinstance(owner, ModuleValue):
                texts = self._of_module(owner.module_path, expr.attr)
                found += unknown(f"{expr.attr} of a module") if texts is None else texts
            elif isinstance(owner, ClassValue):
                bindings = self.tree.class_bindings(owner.scope, expr.attr)
                if len(bindings) != 1 or expr.attr in self.tree.stored:
                    found += unknown(f"{expr.attr}, which is not assigned exactly once")
                else:
                    found += self._bound(expr.attr, bindings[0], given)
            else:
                found += unknown(f".{expr.attr} of an unknown object")
        return found or unknown(f".{expr.attr} of an unknown object")


def _line(binding: Binding) -> int:
    """The line of a binding; 0 if its node has none."""
    return getattr(binding.node, "lineno", 0)


def _argument(call: ast.Call, field: str) -> ast.expr | None:
    if any(isinstance(each, ast.Starred) for each in call.args):
        return None
    if field.isdecimal():  # what int takes, as format does
        place = int(field[:6])
        return call.args[place] if place < len(call.args) else None
    for keyword in call.keywords:
        if keyword.arg == field:
            return keyword.value
    return None


def _why_call(expr: ast.expr, tree: SourceTree, scope: Scope) -> str:
    inner = expr.func if isinstance(expr, ast.Call) else getattr(expr, "value", None)
    if isinstance(inner, ast.expr):
        for each in tree.resolver.of(inner, scope):
            if isinstance(each, ExternalObject) and each.name.startswith(
                ("os.environ", "os.getenv")
            ):
                return "the environment"
    return "the result of a call" if isinstance(expr, ast.Call) else "an element of an object"
