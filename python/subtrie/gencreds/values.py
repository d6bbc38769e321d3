"""The texts an expression may be, with holes where nobody can tell.

Understood: literals, names and class attributes assigned once (followed across files), f-strings,
``+``, ``format`` of these; a conditional gives all branches; a loop over a literal sequence gives
each element. Everything else is a hole: parameters, names assigned twice, ``os.environ``.
"""

from __future__ import annotations

import ast
import dataclasses
import itertools
import string
from collections.abc import Iterable

from .objects import Class, Foreign, Package
from .scopes import Binding, Loop, Scope
from .tree import Tree

#: Most texts that one expression may be; beyond that it is a hole.
MOST = 64
#: Most rounds of the loops around one place; beyond that their names are holes.
ROUNDS = 256
#: Longest text, in characters: no subject holds more.
LONGEST = 8192
#: Deepest nesting of expressions and names that is followed.
DEEPEST = 100


@dataclasses.dataclass(frozen=True, slots=True)
class Hole:
    """A part that nobody can tell, and why."""

    why: str


Text = tuple[str | Hole, ...]


#: A list that has a name can change, a tuple cannot.
_NO_ELEMENTS = "takes its values from no literal sequence (a list that has a name is none)"


class Given(dict[tuple[int, str], tuple[ast.expr, Scope]]):
    """The elements chosen of the loops around a place, and what was found under that choice."""

    def __init__(self, *choices: Given) -> None:
        super().__init__()
        for each in choices:
            self.update(each)
        self.known: dict[tuple[int, int], list[Text]] = {}


class Values:
    """Evaluates expressions of a tree."""

    def __init__(self, tree: Tree) -> None:
        self.tree = tree
        self._given = Given()
        self._asked: set[tuple[int, int]] = set()
        self._pairs: dict[tuple[ast.expr, ast.expr], ast.expr] = {}
        self._depth = 0

    def of(self, expr: ast.expr | None, scope: Scope, given: Given | None = None) -> list[Text]:
        """The texts of an expression, at least one. ``given`` are elements chosen of loops."""
        if expr is None:
            return _hole("nothing is given")
        key = (id(expr), id(scope))
        given = given or self._given
        if key in given.known:
            return given.known[key]
        if key in self._asked:
            return _hole("a value that is defined by itself")
        if self._depth > DEEPEST:
            return _hole("an expression that goes too deep")
        self._asked.add(key)
        self._depth += 1
        try:
            found = given.known[key] = _few(self._look(expr, scope, given))
        finally:
            self._depth -= 1
            self._asked.discard(key)
        return found

    def _look(self, expr: ast.expr, scope: Scope, given: Given) -> Iterable[Text]:
        match expr:
            case ast.Constant(value=str(text)):
                return [(text,)]
            case ast.Constant(value=bool() | None):
                return _hole("no text")
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
                return _hole(_why_call(expr, self.tree, scope))
        return _hole("an expression that is no constant")

    def _joined(self, expr: ast.JoinedStr, scope: Scope, given: Given) -> Iterable[Text]:
        parts: list[list[Text]] = []
        for each in expr.values:
            if isinstance(each, ast.FormattedValue):
                if each.format_spec is not None or each.conversion not in (-1, 115):
                    parts.append(_hole("a value with a format of its own"))
                else:
                    parts.append(self.of(each.value, scope, given))
            else:
                parts.append(self.of(each, scope, given))
        return _product(parts)

    def _sum(self, expr: ast.expr, scope: Scope, given: Given) -> Iterable[Text]:
        parts: list[list[Text]] = []
        while isinstance(expr, ast.BinOp) and isinstance(expr.op, ast.Add):
            parts.append(self.of(expr.right, scope, given))
            expr = expr.left
        parts.append(self.of(expr, scope, given))
        return _product(reversed(parts))

    def _format(self, call: ast.Call, scope: Scope, given: Given) -> Iterable[Text]:
        assert isinstance(call.func, ast.Attribute)
        found: list[Text] = []
        for template in self.of(call.func.value, scope, given):
            if len(template) != 1 or not isinstance(template[0], str):
                found += _hole("a template that nobody can tell")
                continue
            try:
                pieces = list(string.Formatter().parse(template[0]))
            except ValueError:
                found += _hole("a template that is none")
                continue
            parts: list[list[Text]] = []
            count = itertools.count()
            for literal, field, spec, conversion in pieces:
                parts.append([(literal,)])
                if field is None:
                    continue
                if spec or conversion not in (None, "s"):
                    parts.append(_hole("a value with a format of its own"))
                    continue
                argument = _argument(call, field or str(next(count)))
                parts.append(
                    _hole("an argument of format") if argument is None
                    else self.of(argument, scope, given)
                )  # fmt: skip
            found += _product(parts)
        return found

    # --- names

    def _name(self, name: str, scope: Scope, given: Given) -> Iterable[Text]:
        found = scope.find(name)
        if found is None:
            for star in scope.module.stars:
                way = self.tree.way(star, scope.file)
                if way is not None and (texts := self._of_module(way, name)) is not None:
                    return texts
            return _hole(f"{name}, which is defined nowhere here")
        home, bindings = found
        chosen = given.get((id(home), name))
        if chosen is not None:
            return self.of(chosen[0], chosen[1], given)
        if len(bindings) != 1:
            return _hole(f"{name}, which is assigned {len(bindings)} times")
        return self._bound(name, bindings[0], given)

    def _bound(self, name: str, binding: Binding, given: Given) -> Iterable[Text]:
        match binding.kind:
            case "value" | "loop":
                elements: list[tuple[ast.expr, Scope]] | None
                assert binding.value is not None
                if binding.kind == "loop":
                    elements = self.elements(binding.value, binding.scope)
                else:
                    elements = [(binding.value, binding.scope)]
                for step in binding.path:
                    elements = _step(elements, step)
                if not elements:
                    return _hole(f"{name}, which {_NO_ELEMENTS}")
                return [text for each, at in elements for text in self.of(each, at, given)]
            case "import":
                if isinstance(binding.node, ast.ImportFrom):
                    way = self.tree.way(binding.node, binding.scope.file)
                    if way is not None:
                        texts = self._of_module(way, str(binding.path[0]))
                        if texts is not None:
                            return texts
                return _hole(f"{name}, which is imported from where nobody looks")
            case "param":
                return _hole(f"{name}, a parameter")
        return _hole(f"{name}, which is no constant")

    def _of_module(self, way: object, name: str) -> Iterable[Text] | None:
        from pathlib import Path

        assert isinstance(way, Path)
        file = self.tree.sources.at(way)
        if file is None:
            return None
        scope = self.tree.module(file)
        if name in scope.bindings:
            if name in self.tree.stored and len(scope.bindings[name]) == 1:
                return _hole(f"{name}, which is assigned from elsewhere too")
            return self.of(_reading(name, scope), scope)
        for star in scope.stars:
            below = self.tree.way(star, file)
            if below is not None and below != way:
                texts = self._of_module(below, name)
                if texts is not None:
                    return texts
        return None

    def _attribute(self, expr: ast.Attribute, scope: Scope, given: Given) -> Iterable[Text]:
        found: list[Text] = []
        for owner in self.tree.names.of(expr.value, scope):
            if isinstance(owner, Package):
                texts = self._of_module(owner.way, expr.attr)
                found += _hole(f"{expr.attr} of a module") if texts is None else texts
            elif isinstance(owner, Class):
                bindings = self.tree.class_bindings(owner.scope, expr.attr)
                if len(bindings) != 1 or expr.attr in self.tree.stored:
                    found += _hole(f"{expr.attr}, which is not assigned once")
                else:
                    found += self._bound(expr.attr, bindings[0], given)
            else:
                found += _hole(f".{expr.attr} of something")
        return found or _hole(f".{expr.attr} of something")

    # --- loops

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
                expr = _reading(str(binding.path[0]), scope)
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


def _reading(name: str, scope: Scope) -> ast.Name:
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


def _step(
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


def _hole(why: str) -> list[Text]:
    return [(Hole(why),)]


def _few(texts: Iterable[Text]) -> list[Text]:
    found = list(dict.fromkeys(_merged(each) for each in itertools.islice(texts, MOST * MOST)))
    if any(sum(len(p) for p in text if isinstance(p, str)) > LONGEST for text in found):
        return _hole(f"a text of more than {LONGEST} characters")
    return found if len(found) <= MOST else _hole(f"more than {MOST} values")


def _merged(text: Text) -> Text:
    parts: list[str | Hole] = []
    for each in text:
        if isinstance(each, str) and parts and isinstance(parts[-1], str):
            parts[-1] += each
        elif each != "":
            parts.append(each)
    return tuple(parts) if parts else ("",)


def _product(parts: Iterable[list[Text]]) -> list[Text]:
    found: list[Text] = [()]
    for part in parts:
        found = [(*left, *right) for left in found for right in part]
        if len(found) > MOST:
            return _hole(f"more than {MOST} values")
        found = [_merged(each) for each in found]
    return [_merged(each) for each in found]
