"""Name resolution: the possible values of an expression, by abstract interpretation.

Names, annotated parameters and attributes of ``self`` are followed through assignments, imports,
aliases, returns and unpacking, across files. An expression may have several values; ``UNKNOWN``
among them means that it may have others too.
"""

from __future__ import annotations

import ast
from collections.abc import Iterable
from pathlib import Path
from typing import Protocol

from ._abstract_values import (
    NO_VALUES,
    UNKNOWN,
    AbstractValue,
    ClassValue,
    ExternalObject,
    FunctionValue,
    Instance,
    ModuleValue,
    ParameterValue,
    PossibleValues,
    SequenceValue,
    Unknown,
    of_kind,
    refined_by_annotation,
)
from ._annotations import Annotations
from ._known_types import ENTER, KINDS, OPEN_TYPES, is_known
from ._scopes import Binding, FunctionNode, Scope, class_of_self
from ._source_files import SourceFile, SourceFiles

#: Deepest chain of names that is followed; more is unknown.
MAX_DEPTH = 60
#: The bindings of a name that are followed; with more of them it may be something else, too.
MAX_BINDINGS = 64


class TreeContext(Protocol):
    """The part of a source tree that name resolution needs; the tree itself needs the resolver."""

    @property
    def sources(self) -> SourceFiles: ...

    def scope_of(self, node: ast.AST, near: Scope) -> Scope: ...

    def module(self, file: SourceFile) -> Scope: ...

    def module_path(self, node: ast.ImportFrom, file: SourceFile) -> Path | None: ...

    def class_bindings(self, of: Scope, name: str) -> list[Binding]: ...

    def lineage(self, of: Scope) -> list[Scope]: ...

    def bases(self, of: Scope) -> tuple[AbstractValue, ...]: ...

    def is_protocol(self, of: Scope) -> bool: ...


class NameResolver:
    """Resolves names through the scopes of a source tree. Results are cached by node."""

    def __init__(self, tree: TreeContext) -> None:
        self.tree = tree
        self._known: dict[tuple[int, int], PossibleValues] = {}
        self._asked: set[tuple[int, int]] = set()
        self._reading: set[tuple[str, int]] = set()
        self._depth = 0
        self._parts = Annotations()

    def of(self, expr: ast.AST | None, scope: Scope) -> PossibleValues:
        """Return the possible values of an expression."""
        if expr is None:
            return UNKNOWN
        key = (id(expr), id(scope))
        if key in self._known:
            return self._known[key]
        if key in self._asked:
            return NO_VALUES  # a cycle adds nothing
        if self._depth > MAX_DEPTH:
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

    def _look(self, expr: ast.AST, scope: Scope) -> PossibleValues:
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
                return frozenset({SequenceValue(tuple(expr.elts), scope)})
            case ast.Constant(value=None):
                return NO_VALUES
            case ast.Subscript():
                return self._subscript(expr, scope)
            case (
                ast.Constant() | ast.JoinedStr() | ast.Dict() | ast.Set() | ast.DictComp()
                | ast.ListComp() | ast.SetComp() | ast.GeneratorExp() | ast.Compare()
            ):  # fmt: skip
                return frozenset({ExternalObject("a literal", is_instance=True)})
            case ast.Lambda():
                return frozenset({FunctionValue(expr, scope)})
        return UNKNOWN

    def _subscript(self, expr: ast.Subscript, scope: Scope) -> PossibleValues:
        """The values of an element; of a tuple display with a constant index, of that element."""
        found: set[AbstractValue] = set()
        for each in self.of(expr.value, scope):
            if isinstance(each, SequenceValue):
                found |= UNKNOWN if each.is_mutable else NO_VALUES
                index = expr.slice
                if isinstance(index, ast.Constant) and isinstance(index.value, int):
                    found |= self._element(each, index.value)
                else:
                    found |= _union(self.of(item, each.scope) for item in each.items)
            elif isinstance(each, ExternalObject) and each.name in KINDS:
                found.add(each)  # ``Event[Order]``
            else:
                found |= UNKNOWN
        return frozenset(found)

    # --- names

    def name(self, name: str, scope: Scope) -> PossibleValues:
        """Return the possible values of a name that is read in a scope."""
        key = (name, id(scope))
        if key in self._reading:
            return NO_VALUES
        if self._depth > MAX_DEPTH:
            return UNKNOWN
        self._reading.add(key)
        self._depth += 1
        try:
            return self._name(name, scope)
        finally:
            self._depth -= 1
            self._reading.discard(key)

    def _name(self, name: str, scope: Scope) -> PossibleValues:
        found = scope.find(name)
        if found is None:
            for star in scope.module.stars:
                values = self._imported(star, name, scope.module)
                if values and not any(
                    isinstance(each, ExternalObject | Unknown) for each in values
                ):
                    return values
                module = star.module or ""
                if not star.level and f"{module}.{name}" in KINDS:
                    return frozenset({ExternalObject(f"{module}.{name}")})
            return frozenset({ExternalObject(f"builtins.{name}")})
        home, bindings = found
        of_class = class_of_self(home, bindings)
        if of_class is not None:
            return self._self(of_class, home)
        found_values = _union(self.bound(each) for each in bindings[:MAX_BINDINGS])
        return found_values if len(bindings) <= MAX_BINDINGS else found_values | UNKNOWN

    def _self(self, of: Scope, method: Scope) -> PossibleValues:
        node = method.node
        decorators = getattr(node, "decorator_list", [])
        if any(isinstance(each, ast.Name) and each.id == "classmethod" for each in decorators):
            return frozenset({ClassValue(of)})
        if self.is_connector(of):
            return frozenset({ParameterValue("Connector", of.node, "self", of)})
        return frozenset({ClassValue(of, is_instance=True)})

    def bound(self, binding: Binding) -> PossibleValues:
        """Return the possible values that one binding gives."""
        scope, node = binding.scope, binding.node
        match binding.kind:
            case "value":
                values = self._unpacked(self.of(binding.value, scope), binding.path)
                if isinstance(binding.value, ast.List) and not binding.path:
                    values = frozenset(
                        {SequenceValue(tuple(binding.value.elts), scope, is_mutable=True)}
                    )
                if binding.annotation is not None:
                    values = refined_by_annotation(
                        values, self.annotated(binding.annotation, scope, node)
                    )
                return values
            case "loop":
                return self._unpacked(self.of(binding.value, scope), ("each", *binding.path))
            case "with":
                entered = self._unpacked(self.of(binding.value, scope), binding.path)
                known = {
                    e for e in entered if isinstance(e, Instance | ParameterValue | ExternalObject)
                }
                return frozenset(known) | (UNKNOWN if known != entered else NO_VALUES)
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
                return frozenset({FunctionValue(node, self.tree.scope_of(node, scope))})
            case "class":
                return frozenset({ClassValue(self.tree.scope_of(node, scope))})
            case "import":
                return self._import(binding)
        return UNKNOWN

    def _unpacked(self, values: PossibleValues, path: tuple[int | str, ...]) -> PossibleValues:
        for step in path:
            found: set[AbstractValue] = set()
            for each in values:
                if not isinstance(each, SequenceValue):
                    found |= {each} if isinstance(each, ExternalObject) else UNKNOWN
                elif each.is_mutable:
                    found |= UNKNOWN.union(*(self.of(item, each.scope) for item in each.items))
                elif isinstance(step, int):
                    found |= self._element(each, step)
                elif step == "each":
                    found |= _union(self.of(item, each.scope) for item in each.items)
                else:
                    found |= UNKNOWN
            values = frozenset(found)
        return values

    def _element(self, several: SequenceValue, place: int) -> PossibleValues:
        items = several.items
        if any(isinstance(each, ast.Starred) for each in items) or not (
            -len(items) <= place < len(items)
        ):
            return UNKNOWN
        return self.of(items[place], several.scope)

    # --- imports

    def _import(self, binding: Binding) -> PossibleValues:
        node, scope = binding.node, binding.scope
        if isinstance(node, ast.ImportFrom):
            return self._imported(node, str(binding.path[0]), scope)
        assert isinstance(node, ast.alias)
        dotted = node.name if node.asname else node.name.partition(".")[0]
        return self._package(dotted, scope.file)

    def _package(self, dotted: str, file: SourceFile) -> PossibleValues:
        module_path = self.tree.sources.module(dotted, file)
        return frozenset(
            {ExternalObject(dotted) if module_path is None else ModuleValue(module_path, file)}
        )

    def _imported(self, node: ast.ImportFrom, name: str, scope: Scope) -> PossibleValues:
        """The values of the name in ``from … import name``."""
        module_path = self.tree.module_path(node, scope.file)
        if module_path is None:
            values: PossibleValues = frozenset({ExternalObject(node.module or "")})
        else:
            values = frozenset({ModuleValue(module_path, scope.file)})
        return _union(self.attribute(each, name) for each in values)

    # --- attributes

    def attribute(self, owner: AbstractValue, name: str) -> PossibleValues:
        """Return the possible values of an attribute of a value."""
        match owner:
            case ExternalObject():
                if owner.is_instance:
                    return frozenset({owner})
                return frozenset({ExternalObject(f"{owner.name}.{name}")})
            case ModuleValue():
                return self.of_module(owner, name)
            case ClassValue():
                return self.of_class(owner, name)
            case ParameterValue() if owner.scope is not None and owner.kind == "Connector":
                return self.of_class(ClassValue(owner.scope, is_instance=True), name)
            case Instance() if owner.of is not None:
                return self.of_class(ClassValue(owner.of, is_instance=True), name)
        return UNKNOWN

    def of_module(self, package: ModuleValue, name: str) -> PossibleValues:
        """Return the possible values of a name of a module, or a module of a package."""
        file = self.tree.sources.at(package.module_path)
        if file is not None:
            scope = self.tree.module(file)
            if name in scope.bindings or scope.stars:
                values = self.name(name, scope)
                if name in scope.bindings or not all(
                    isinstance(each, ExternalObject) for each in values
                ):
                    return values
        below = package.module_path / name
        if self.tree.sources.at(below) is not None or self.tree.sources.is_folder(below):
            return frozenset({ModuleValue(below, package.importer)})
        return UNKNOWN

    def of_class(self, owner: ClassValue, name: str) -> PossibleValues:
        """Return the possible values of an attribute of a class or of its instances."""
        bindings = self.tree.class_bindings(owner.scope, name)
        if not bindings:
            return UNKNOWN
        found: set[AbstractValue] = set()
        for each in bindings:
            if each.kind == "bare":
                owned = each.scope.node
                found |= self.annotated(each.annotation, each.scope, owned, name)
            elif each.kind == "def":
                found |= self._method(each, owner)
            else:
                found |= self.bound(each)
        return frozenset(found)

    def _method(self, binding: Binding, owner: ClassValue) -> PossibleValues:
        node = binding.node
        assert isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef)
        inner = self.tree.scope_of(node, binding.scope)
        decorators = {ast.unparse(each).rpartition(".")[2] for each in node.decorator_list}
        if owner.is_instance and decorators & {"property", "cached_property"}:
            return self.returned(FunctionValue(node, inner))
        given = owner.is_instance or "classmethod" in decorators
        return frozenset({FunctionValue(node, inner, given and "staticmethod" not in decorators)})

    def is_connector(self, of: Scope) -> bool:
        """Return True for a class derived from ``Connector``."""
        return any(
            isinstance(base, ExternalObject) and KINDS.get(base.name) == "Connector"
            for each in self.tree.lineage(of)
            for base in self.tree.bases(each)
        )

    # --- calls

    def _call(self, call: ast.Call, scope: Scope) -> PossibleValues:
        found: set[AbstractValue] = set()
        for each in self.of(call.func, scope):
            if isinstance(each, ExternalObject):
                kind = None if each.is_instance else KINDS.get(each.name)
                if kind is not None:
                    found.add(Instance(kind, call, scope))
                elif each.name == "builtins.super":
                    found |= self._super(scope)
                elif _name_of(call.func) in ENTER and call.args:
                    found |= self.of(call.args[0], scope)
                elif is_known(each):
                    found.add(ExternalObject(each.name, is_instance=True))
                else:
                    found |= UNKNOWN
            elif isinstance(each, FunctionValue):
                found |= self.returned(each)
            elif isinstance(each, ClassValue) and not each.is_instance:
                if self.is_connector(each.scope):
                    found.add(Instance("Connector", call, scope, each.scope))
                else:
                    found.add(ClassValue(each.scope, is_instance=True))
            else:
                enters = _name_of(call.func) in ENTER and call.args
                found |= self.of(call.args[0], scope) if enters else UNKNOWN
        if isinstance(call.func, ast.Attribute) and call.func.attr == "at":
            clients = of_kind(self.of(call.func.value, scope), "Client")
            if clients:  # ``client.at(host)`` is a client
                return frozenset({Instance("Client", call, scope)})
        return frozenset(found)

    def _super(self, scope: Scope) -> PossibleValues:
        here: Scope | None = scope
        while here is not None and here.kind != "class":
            here = here.parent
        if here is None:
            return UNKNOWN
        if self.is_connector(here):
            return frozenset({ParameterValue("Connector", here.node, "self", here)})
        return frozenset({ClassValue(here, is_instance=True)})

    def returned(self, function: FunctionValue) -> PossibleValues:
        """Return what a function returns or yields, refined by its annotation."""
        inner = function.scope
        values = _union(self.of(value, at) for value, at in inner.returns)
        annotation = getattr(function.node, "returns", None)
        if annotation is not None:
            annotated = self.annotated(annotation, inner.parent or inner, function.node, "return")
            values = refined_by_annotation(values, annotated)
        return values or UNKNOWN

    # --- annotations

    def annotated(
        self, annotation: ast.AST | None, scope: Scope, node: ast.AST, name: str = ""
    ) -> PossibleValues:
        """Return the possible values of what has an annotation.

        Args:
            annotation: the annotation; None without one.
            scope: the scope it is in.
            node: the node that is annotated, which identifies the value.
            name: the name of the parameter or attribute.
        """
        for part in self._parts.of(annotation):
            for each in self.of(part, scope):
                if isinstance(each, ExternalObject) and not each.is_instance:
                    kind = KINDS.get(each.name)
                    if kind is not None:
                        return frozenset({ParameterValue(kind, node, name)})
                    if each.name not in OPEN_TYPES and "." in each.name:
                        return frozenset({ExternalObject(each.name, is_instance=True)})
                elif isinstance(each, ClassValue):
                    if self.is_connector(each.scope):
                        return frozenset({ParameterValue("Connector", node, name, each.scope)})
                    if not self.tree.is_protocol(each.scope):
                        return frozenset({ClassValue(each.scope, is_instance=True)})
        return UNKNOWN


def _name_of(node: ast.AST) -> str:
    return getattr(node, "attr", "") or getattr(node, "id", "")


def _union(parts: Iterable[PossibleValues]) -> PossibleValues:
    return frozenset().union(*parts)
