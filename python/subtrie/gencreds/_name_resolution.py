"""What an expression is: a connector, a client, an event, something known to be else, or unknown.

Names, annotated parameters and attributes of ``self`` are followed through assignments, imports,
aliases, returns and unpacking, across files. What could be several things is all of them; what
nobody can tell is ``UNKNOWN`` among them.
"""

from __future__ import annotations

import ast
from collections.abc import Iterable

from ._abstract_values import (
    NOTHING,
    UNKNOWN,
    Class,
    Foreign,
    Free,
    Function,
    Made,
    Package,
    Several,
    Thing,
    Things,
    Unknown,
    with_annotation,
)
from ._annotations import Annotations
from ._known_types import ENTER, KINDS, OPEN_TYPES, is_known
from ._resolution_context import Surroundings
from ._scopes import Binding, Scope, class_of_self
from ._scopes import Function as FunctionNode
from ._source_files import File

#: Deepest chain of names that is followed.
DEEPEST = 60


class Names:
    """Follows names through the scopes of a tree."""

    def __init__(self, tree: Surroundings) -> None:
        self.tree = tree
        self._known: dict[tuple[int, int], Things] = {}
        self._asked: set[tuple[int, int]] = set()
        self._reading: set[tuple[str, int]] = set()
        self._depth = 0
        self._parts = Annotations()

    def of(self, expr: ast.AST | None, scope: Scope) -> Things:
        """What the expression may be. Each is looked at once."""
        if expr is None:
            return UNKNOWN
        key = (id(expr), id(scope))
        if key in self._known:
            return self._known[key]
        if key in self._asked:
            return NOTHING  # a circle adds nothing
        if self._depth > DEEPEST:
            return UNKNOWN
        self._asked.add(key)
        self._depth += 1
        try:
            found = self._look(expr, scope)
        finally:
            self._depth -= 1
            self._asked.discard(key)
        self._known[key] = found
        return found

    def _look(self, expr: ast.AST, scope: Scope) -> Things:
        match expr:
            case ast.Name():
                return self.name(expr.id, scope)
            case ast.Attribute():
                owners = self.of(expr.value, scope)
                return _union(self.attribute(each, expr.attr) for each in owners)
            case ast.Call():
                return self._call(expr, scope)
            case ast.Await() | ast.NamedExpr() | ast.Starred():
                return self.of(expr.value, scope)
            case ast.IfExp():
                return self.of(expr.body, scope) | self.of(expr.orelse, scope)
            case ast.BoolOp():
                return _union(self.of(each, scope) for each in expr.values)
            case ast.Tuple() | ast.List():
                return frozenset({Several(tuple(expr.elts), scope)})
            case ast.Constant(value=None):
                return NOTHING
            case ast.Subscript():
                return self._subscript(expr, scope)
            case (
                ast.Constant() | ast.JoinedStr() | ast.Dict() | ast.Set() | ast.DictComp()
                | ast.ListComp() | ast.SetComp() | ast.GeneratorExp() | ast.Compare()
            ):  # fmt: skip
                return frozenset({Foreign("a literal", made=True)})
            case ast.Lambda():
                return frozenset({Function(expr, scope)})
        return UNKNOWN

    def _subscript(self, expr: ast.Subscript, scope: Scope) -> Things:
        """An element of something; of a tuple that is written out, the very one."""
        found: set[Thing] = set()
        for each in self.of(expr.value, scope):
            if isinstance(each, Several):
                found |= UNKNOWN if each.changes else NOTHING
                index = expr.slice
                if isinstance(index, ast.Constant) and isinstance(index.value, int):
                    found |= self._element(each, index.value)
                else:
                    found |= _union(self.of(item, each.scope) for item in each.items)
            else:
                found |= UNKNOWN
        return frozenset(found)

    # --- names

    def name(self, name: str, scope: Scope) -> Things:
        """What a name is that is read in a scope."""
        key = (name, id(scope))
        if key in self._reading:
            return NOTHING
        if self._depth > DEEPEST:
            return UNKNOWN
        self._reading.add(key)
        self._depth += 1
        try:
            return self._name(name, scope)
        finally:
            self._depth -= 1
            self._reading.discard(key)

    def _name(self, name: str, scope: Scope) -> Things:
        found = scope.find(name)
        if found is None:
            for star in scope.module.stars:
                things = self._imported(star, name, scope.module)
                if things and not any(isinstance(each, Foreign | Unknown) for each in things):
                    return things
                module = star.module or ""
                if not star.level and f"{module}.{name}" in KINDS:
                    return frozenset({Foreign(f"{module}.{name}")})
            return frozenset({Foreign(f"builtins.{name}")})
        home, bindings = found
        of_class = class_of_self(home, bindings)
        if of_class is not None:
            return self._self(of_class, home)
        return _union(self.bound(each) for each in bindings)

    def _self(self, of: Scope, method: Scope) -> Things:
        node = method.node
        decorators = getattr(node, "decorator_list", [])
        if any(isinstance(each, ast.Name) and each.id == "classmethod" for each in decorators):
            return frozenset({Class(of)})
        if self.is_connector(of):
            return frozenset({Free("Connector", of.node, "self", of)})
        return frozenset({Class(of, made=True)})

    def bound(self, binding: Binding) -> Things:
        """What a name is by one of its bindings."""
        scope, node = binding.scope, binding.node
        match binding.kind:
            case "value":
                things = self._unpacked(self.of(binding.value, scope), binding.path)
                if isinstance(binding.value, ast.List) and not binding.path:
                    things = frozenset({Several(tuple(binding.value.elts), scope, changes=True)})
                if binding.annotation is not None:
                    things = with_annotation(
                        things, self.annotated(binding.annotation, scope, node)
                    )
                return things
            case "loop":
                return self._unpacked(self.of(binding.value, scope), ("each", *binding.path))
            case "with":
                entered = self._unpacked(self.of(binding.value, scope), binding.path)
                known = {e for e in entered if isinstance(e, Made | Free | Foreign)}
                return frozenset(known) | (UNKNOWN if known != entered else NOTHING)
            case "param":
                assert isinstance(node, ast.arg)
                outer = scope.parent or scope
                given = scope.node.args if isinstance(scope.node, FunctionNode) else None
                if given is not None and node in (given.vararg, given.kwarg):
                    return UNKNOWN
                return self.annotated(binding.annotation, outer, scope.node, node.arg)
            case "bare":
                return self.annotated(binding.annotation, scope, node)
            case "def":
                assert isinstance(node, FunctionNode)
                return frozenset({Function(node, self.tree.scope_of(node, scope))})
            case "class":
                return frozenset({Class(self.tree.scope_of(node, scope))})
            case "import":
                return self._import(binding)
        return UNKNOWN

    def _unpacked(self, things: Things, path: tuple[int | str, ...]) -> Things:
        for step in path:
            found: set[Thing] = set()
            for each in things:
                if not isinstance(each, Several):
                    found |= {each} if isinstance(each, Foreign) else UNKNOWN
                elif each.changes:
                    found |= UNKNOWN.union(*(self.of(item, each.scope) for item in each.items))
                elif isinstance(step, int):
                    found |= self._element(each, step)
                elif step == "each":
                    found |= _union(self.of(item, each.scope) for item in each.items)
                else:
                    found |= UNKNOWN
            things = frozenset(found)
        return things

    def _element(self, several: Several, place: int) -> Things:
        items = several.items
        if any(isinstance(each, ast.Starred) for each in items) or not (
            -len(items) <= place < len(items)
        ):
            return UNKNOWN
        return self.of(items[place], several.scope)

    # --- imports

    def _import(self, binding: Binding) -> Things:
        node, scope = binding.node, binding.scope
        if isinstance(node, ast.ImportFrom):
            return self._imported(node, str(binding.path[0]), scope)
        assert isinstance(node, ast.alias)
        dotted = node.name if node.asname else node.name.partition(".")[0]
        return self._package(dotted, scope.file)

    def _package(self, dotted: str, file: File) -> Things:
        way = self.tree.sources.module(dotted, file)
        return frozenset({Foreign(dotted) if way is None else Package(way, file)})

    def _imported(self, node: ast.ImportFrom, name: str, scope: Scope) -> Things:
        """What ``from … import name`` gives."""
        way = self.tree.way(node, scope.file)
        if way is None:
            things: Things = frozenset({Foreign(node.module or "")})
        else:
            things = frozenset({Package(way, scope.file)})
        return _union(self.attribute(each, name) for each in things)

    # --- attributes

    def attribute(self, owner: Thing, name: str) -> Things:
        """What an attribute of a thing is."""
        match owner:
            case Foreign():
                if owner.made:
                    return frozenset({owner})
                return frozenset({Foreign(f"{owner.name}.{name}")})
            case Package():
                return self.of_module(owner, name)
            case Class():
                return self.of_class(owner, name)
            case Free() if owner.scope is not None and owner.kind == "Connector":
                return self.of_class(Class(owner.scope, made=True), name)
            case Made() if owner.of is not None:
                return self.of_class(Class(owner.of, made=True), name)
        return UNKNOWN

    def of_module(self, package: Package, name: str) -> Things:
        """A name of a module, or a module of a package."""
        file = self.tree.sources.at(package.way)
        if file is not None:
            scope = self.tree.module(file)
            if name in scope.bindings or scope.stars:
                things = self.name(name, scope)
                if name in scope.bindings or not all(isinstance(each, Foreign) for each in things):
                    return things
        below = package.way / name
        if self.tree.sources.at(below) is not None or self.tree.sources.is_folder(below):
            return frozenset({Package(below, package.importer)})
        return UNKNOWN

    def of_class(self, owner: Class, name: str) -> Things:
        """An attribute of a class or of its instances, by all its bindings."""
        bindings = self.tree.class_bindings(owner.scope, name)
        if not bindings:
            return UNKNOWN
        found: set[Thing] = set()
        for each in bindings:
            if each.kind == "bare":
                owned = each.scope.node
                found |= self.annotated(each.annotation, each.scope, owned, name)
            elif each.kind == "def":
                found |= self._method(each, owner)
            else:
                found |= self.bound(each)
        return frozenset(found)

    def _method(self, binding: Binding, owner: Class) -> Things:
        node = binding.node
        assert isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef)
        inner = self.tree.scope_of(node, binding.scope)
        decorators = {ast.unparse(each).rpartition(".")[2] for each in node.decorator_list}
        if owner.made and decorators & {"property", "cached_property"}:
            return self.returned(Function(node, inner))
        given = owner.made or "classmethod" in decorators
        return frozenset({Function(node, inner, given and "staticmethod" not in decorators)})

    def is_connector(self, of: Scope) -> bool:
        """Is it a class below ``Connector``?"""
        return any(
            isinstance(base, Foreign) and KINDS.get(base.name) == "Connector"
            for each in self.tree.lineage(of)
            for base in self.tree.bases(each)
        )

    # --- calls

    def _call(self, call: ast.Call, scope: Scope) -> Things:
        found: set[Thing] = set()
        for each in self.of(call.func, scope):
            if isinstance(each, Foreign):
                kind = None if each.made else KINDS.get(each.name)
                if kind is not None:
                    found.add(Made(kind, call, scope))
                elif each.name == "builtins.super":
                    found |= self._super(scope)
                elif _name_of(call.func) in ENTER and call.args:
                    found |= self.of(call.args[0], scope)
                elif is_known(each):
                    found.add(Foreign(each.name, made=True))
                else:
                    found |= UNKNOWN
            elif isinstance(each, Function):
                found |= self.returned(each)
            elif isinstance(each, Class) and not each.made:
                if self.is_connector(each.scope):
                    found.add(Made("Connector", call, scope, each.scope))
                else:
                    found.add(Class(each.scope, made=True))
            else:
                enters = _name_of(call.func) in ENTER and call.args
                found |= self.of(call.args[0], scope) if enters else UNKNOWN
        return frozenset(found)

    def _super(self, scope: Scope) -> Things:
        here: Scope | None = scope
        while here is not None and here.kind != "class":
            here = here.parent
        if here is None:
            return UNKNOWN
        if self.is_connector(here):
            return frozenset({Free("Connector", here.node, "self", here)})
        return frozenset({Class(here, made=True)})

    def returned(self, function: Function) -> Things:
        """What a function returns or yields, else what its annotation says."""
        inner = function.scope
        things = _union(self.of(value, at) for value, at in inner.returns)
        annotation = getattr(function.node, "returns", None)
        if annotation is not None:
            told = self.annotated(annotation, inner.parent or inner, function.node, "return")
            things = with_annotation(things, told)
        return things or UNKNOWN

    # --- annotations

    def annotated(
        self, annotation: ast.AST | None, scope: Scope, node: ast.AST, name: str = ""
    ) -> Things:
        """What has this annotation: one of ours, something known, or unknown."""
        for part in self._parts.of(annotation):
            for each in self.of(part, scope):
                if isinstance(each, Foreign) and not each.made:
                    kind = KINDS.get(each.name)
                    if kind is not None:
                        return frozenset({Free(kind, node, name)})
                    if each.name not in OPEN_TYPES and "." in each.name:
                        return frozenset({Foreign(each.name, made=True)})
                elif isinstance(each, Class):
                    if self.is_connector(each.scope):
                        return frozenset({Free("Connector", node, name, each.scope)})
                    if not self.tree.is_protocol(each.scope):
                        return frozenset({Class(each.scope, made=True)})
        return UNKNOWN


def _name_of(node: ast.AST) -> str:
    return getattr(node, "attr", "") or getattr(node, "id", "")


def _union(parts: Iterable[Things]) -> Things:
    return frozenset().union(*parts)
