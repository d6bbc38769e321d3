"""Unresolved calls: calls on unknown objects that look like those of a connector.

Recognised by the shape of the call: a method of a connector, an HTTP method with a URL, a known
event, the name of a stub. A call on an object that is known to be something else is ignored.
"""

from __future__ import annotations

import ast
from collections.abc import Iterable
from pathlib import Path

from ._abstract_values import PossibleValues, Unknown, of_kind
from ._connector_instances import argument
from ._connector_methods import CALLS, EVENT_PORT, EVENTS, METHODS, SERVES, kind_of
from ._constant_evaluation import ConstantEvaluator
from ._scopes import Site
from ._service import EndpointUse
from ._source_tree import SourceTree
from ._targets import literal_text


class UnresolvedCallDetector:
    """Classifies calls on unknown objects in a source tree with these stubs."""

    def __init__(
        self, tree: SourceTree, evaluator: ConstantEvaluator, stubs: Iterable[str]
    ) -> None:
        self.tree, self.evaluator, self.stubs = tree, evaluator, frozenset(stubs)
        self._bus_files: dict[Path, bool] = {}

    def classify(
        self, site: Site, call: ast.Call, verb: str
    ) -> tuple[str, str, EndpointUse] | None:
        """Return the list of a service, a message, and what is known; None for other calls.

        Args:
            site: the place of the call.
            call: the call.
            verb: the name of the method that is called.
        """
        names, kind = self.tree.resolver, kind_of(verb)
        first = argument(call, 0, "event")
        values: PossibleValues = names.of(first, site.scope) if first is not None else frozenset()
        if verb in CALLS or verb in SERVES:
            name = CALLS.get(verb) or SERVES[verb]
            method, where = argument(call, 0, "method"), argument(call, 1, name)
            hidden = any(isinstance(each, ast.Starred) for each in call.args[:2])
            if not hidden and (method is None or where is None):
                return None
            if not self._fits(site, method, where, verb):
                return None
            methods = {literal_text(each) for each in self.evaluator.of(method, site.scope)}
            method_name = methods.pop() if len(methods) == 1 else None
            use = EndpointUse(None, None, method_name.upper() if method_name else None, None)
        elif verb in EVENTS:
            events = of_kind(values, "Event")
            if not events and not (
                may_be_anything(values) and first is not None and self._imports_subtrie(site)
            ):
                return None
            use = EndpointUse(None, EVENT_PORT, "POST", None)
        elif verb in self.stubs:
            if not of_kind(values, "Connector") and not (
                may_be_anything(values) and self._imports_subtrie(site)
            ):
                return None
            kind, use = "calls", EndpointUse(None, None, None, None)
        else:
            return None
        message = f"{verb} of an object that cannot be determined"
        assert isinstance(call.func, ast.Attribute)
        receiver = _text_of(call.func.value)
        if receiver:
            message = f"{receiver}.{verb}: cannot determine what {receiver} is"
        return kind, message, use

    def _fits(self, site: Site, method: ast.expr | None, where: ast.expr | None, verb: str) -> bool:
        """True if the arguments may be an HTTP method, and a URL or a route."""
        methods = [literal_text(each) for each in self.evaluator.of(method, site.scope)]
        if any(each is not None and each.upper() in METHODS for each in methods):
            known = True
        elif None in methods and self._imports_subtrie(site):
            known = False
        else:
            return False
        if isinstance(where, ast.Constant) and not isinstance(where.value, str):
            return False
        if verb in CALLS:
            return any(
                not isinstance(text[0], str) or "//" in text[0].partition("?")[0]
                for text in self.evaluator.of(where, site.scope)
            )
        return known or verb == "endpoint"

    def _imports_subtrie(self, site: Site) -> bool:
        """True if the file imports subtrie."""
        path = site.scope.file.path
        if path not in self._bus_files:
            file_scopes = self.tree.file_scopes(site.scope.file)
            self._bus_files[path] = any(
                isinstance(each.node, ast.ImportFrom | ast.alias)
                and (getattr(each.node, "module", "") or getattr(each.node, "name", "") or "")
                .startswith("subtrie")
                for scope in file_scopes.scopes.values()
                for several in scope.bindings.values()
                for each in several
            )  # fmt: skip
        return self._bus_files[path]


def may_be_anything(values: PossibleValues) -> bool:
    """Return True if an object may be of any kind; one that is only None is set elsewhere."""
    return not values or any(isinstance(each, Unknown) for each in values)


def _text_of(node: ast.expr) -> str:
    """The dotted name of an expression; empty if it has none."""
    parts = []
    while isinstance(node, ast.Attribute):
        parts.append(node.attr)
        node = node.value
    if not isinstance(node, ast.Name):
        return ""
    return ".".join([node.id, *reversed(parts)])[:60]
