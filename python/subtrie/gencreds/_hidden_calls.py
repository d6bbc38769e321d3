"""Hidden calls: reads of a connector's methods by which a call is made that names none of them."""

from __future__ import annotations

import ast
from collections.abc import Iterable, Iterator
from typing import NamedTuple

from ._abstract_values import (
    ClassValue,
    ExternalObject,
    Instance,
    ParameterValue,
    PossibleValues,
    of_kind,
)
from ._connector_instances import argument
from ._connector_methods import VERBS
from ._constant_evaluation import ConstantEvaluator
from ._known_types import KINDS
from ._scopes import Site
from ._source_tree import SourceTree
from ._targets import literal_text

#: Functions whose result calls a method by its name, and the place of that name.
_BY_NAME = {"operator.methodcaller": (0, "name"), "operator.attrgetter": (0, "attr")}
_IMPORTS = {"importlib.import_module", "importlib.__import__", "builtins.__import__"}


class HiddenCall(NamedTuple):
    """A hidden call: why it cannot be determined, and the connectors that may make it, if known."""

    message: str
    connectors: list[Instance | ParameterValue] | None


class HiddenCallDetector:
    """Finds hidden calls in a source tree with these stubs."""

    def __init__(
        self, tree: SourceTree, evaluator: ConstantEvaluator, stubs: Iterable[str]
    ) -> None:
        self._tree, self._evaluator = tree, evaluator
        self._methods = {*VERBS, *stubs}

    def of_call(self, site: Site, call: ast.Call, values: PossibleValues) -> Iterator[HiddenCall]:
        """Yield what a call hides.

        Args:
            site: the place of the call.
            call: the call.
            values: what is called.
        """
        for each in values:
            if not isinstance(each, ExternalObject) or each.is_instance:
                continue
            if each.name == "builtins.getattr":
                yield from self._attribute(site, argument(call, 0, "object"),
                                           argument(call, 1, "name"), "getattr")  # fmt: skip
            elif each.name in _BY_NAME:
                yield from self._by_name(site, call, each.name)
            elif each.name in _IMPORTS:
                yield from self._imported(site, call, each.name)
            elif each.name == "builtins.vars":
                yield from self._all_attributes(site, argument(call, 0, "object"), "vars")
        if isinstance(call.func, ast.Attribute) and call.func.attr in (
            "__getattribute__",
            "__getattr__",
        ):
            owner, name = call.func.value, argument(call, 0, "name")
            if len(call.args) > 1:  # of a class: the object is its first argument
                owner, name = call.args[:2]
            yield from self._attribute(site, owner, name, call.func.attr)

    def of_attribute(self, site: Site, node: ast.Attribute) -> Iterator[HiddenCall]:
        """Yield what the read of an attribute hides, whether it is called or not."""
        if node.attr == "__dict__":
            yield from self._all_attributes(site, node.value, "__dict__")
        elif node.attr in self._methods and self._is_class(site, node.value):
            yield HiddenCall(f"{node.attr} is read from a class", None)

    def _is_class(self, site: Site, node: ast.expr) -> bool:
        """True for the class of connectors or clients, a class derived from it, or ``type(…)``."""
        if isinstance(node, ast.Call) and len(node.args) == 1:
            called = self._tree.resolver.of(node.func, site.scope)
            if ExternalObject("builtins.type") in called:
                values = self._tree.resolver.of(node.args[0], site.scope)
                return bool(of_kind(values, "Connector") or of_kind(values, "Client"))
        if isinstance(node, ast.Attribute) and node.attr == "__class__":
            values = self._tree.resolver.of(node.value, site.scope)
            return bool(of_kind(values, "Connector") or of_kind(values, "Client"))
        for each in self._tree.resolver.of(node, site.scope):
            if isinstance(each, ExternalObject) and not each.is_instance and each.name in KINDS:
                return True
            if isinstance(each, ClassValue) and not each.is_instance and self._derived(each):
                return True
        return False

    def _derived(self, value: ClassValue) -> bool:
        """True for a class of the tree that is derived from Connector or Client."""
        for scope in self._tree.lineage(value.scope):
            node = scope.node
            for base in node.bases if isinstance(node, ast.ClassDef) else ():
                found = self._tree.resolver.of(base, scope.parent or scope)
                if any(isinstance(each, ExternalObject) and each.name in KINDS for each in found):
                    return True
        return False

    def _attribute(
        self, site: Site, owner: ast.expr | None, name: ast.expr | None, what: str
    ) -> Iterator[HiddenCall]:
        values = self._tree.resolver.of(owner, site.scope)
        connectors, clients = of_kind(values, "Connector"), of_kind(values, "Client")
        names = self._names(site, name)
        if not connectors and not clients:
            known = self._methods.isdisjoint(each or "" for each in names) and None not in names
            if owner is not None and not known and self._is_class(site, owner):
                yield HiddenCall(f"{what} of a class: the method cannot be determined", None)
            return
        if not connectors or None in names or not VERBS.isdisjoint(names):
            yield HiddenCall(f"{what}: the method cannot be determined", connectors)

    def _by_name(self, site: Site, call: ast.Call, function: str) -> Iterator[HiddenCall]:
        place, keyword = _BY_NAME[function]
        first = argument(call, place, keyword)
        given = [first] if function == "operator.methodcaller" else [first, *call.args[1:]]
        short = function.rpartition(".")[2]
        for name in given:
            for text in self._names(site, name):
                if text is not None and text.rpartition(".")[2] in self._methods:
                    yield HiddenCall(f"{short}: {text} of an object that is not known", None)

    def _imported(self, site: Site, call: ast.Call, function: str) -> Iterator[HiddenCall]:
        short = function.rpartition(".")[2]
        for text in self._names(site, argument(call, 0, "name")):
            if text is not None and text.partition(".")[0] == "subtrie":
                yield HiddenCall(f"{short}: what is made of {text} cannot be determined", None)

    def _all_attributes(
        self, site: Site, owner: ast.expr | None, what: str
    ) -> Iterator[HiddenCall]:
        values = self._tree.resolver.of(owner, site.scope)
        if connectors := of_kind(values, "Connector"):
            yield HiddenCall(f"{what}: the method cannot be determined", connectors)
        elif of_kind(values, "Client"):
            yield HiddenCall(f"{what}: the stub cannot be determined", None)
        elif owner is not None and self._is_class(site, owner):
            yield HiddenCall(f"{what} of a class: the method cannot be determined", None)

    def _names(self, site: Site, node: ast.expr | None) -> list[str | None]:
        return [literal_text(each) for each in self._evaluator.of(node, site.scope)]
