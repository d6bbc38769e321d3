"""What looks like a call of theirs on something that nobody can tell (A29).

By the shape of the call: a verb of a connector, a method and a URL, an event of ours, a stub's
name. What is known to be something else never comes here.
"""

from __future__ import annotations

import ast
from collections.abc import Iterable
from pathlib import Path

from ._abstract_values import Things, Unknown, kinds
from ._connector_instances import argument
from ._connector_methods import CALLS, EVENT_PORT, EVENTS, METHODS, SERVES, kind_of
from ._constant_evaluation import Values
from ._scopes import Site
from ._service import Use
from ._source_tree import Tree
from ._targets import literal


class Lookalikes:
    """Looks at calls of a tree in which these stubs have these names."""

    def __init__(self, tree: Tree, values: Values, stubs: Iterable[str]) -> None:
        self.tree, self.values, self.stubs = tree, values, frozenset(stubs)
        self._bus_files: dict[Path, bool] = {}

    def verdict(self, site: Site, call: ast.Call, verb: str) -> tuple[str, str, Use] | None:
        """What a call on something unknown may be: the list, a message, what is known; or None."""
        names, kind = self.tree.names, kind_of(verb)
        first = argument(call, 0, "event")
        things: Things = names.of(first, site.scope) if first is not None else frozenset()
        if verb in CALLS or verb in SERVES:
            name = CALLS.get(verb) or SERVES[verb]
            method, where = argument(call, 0, "method"), argument(call, 1, name)
            hidden = any(isinstance(each, ast.Starred) for each in call.args[:2])
            if not hidden and (method is None or where is None):
                return None
            if not self._fits(site, method, where, verb):
                return None
            methods = {literal(each) for each in self.values.of(method, site.scope)}
            told = methods.pop() if len(methods) == 1 else None
            use = Use(None, None, told.upper() if told else None, None)
        elif verb in EVENTS:
            told_so = kinds(things, "Event")
            if not told_so and not (is_open(things) and first is not None and self._near(site)):
                return None
            use = Use(None, EVENT_PORT, "POST", None)
        elif verb in self.stubs:
            if not kinds(things, "Connector") and not (is_open(things) and self._near(site)):
                return None
            kind, use = "calls", Use(None, None, None, None)
        else:
            return None
        message = f"{verb} of something that nobody can tell"
        assert isinstance(call.func, ast.Attribute)
        receiver = _text_of(call.func.value)
        if receiver:
            message = f"{receiver}.{verb}: nobody can tell what {receiver} is"
        return kind, message, use

    def _fits(self, site: Site, method: ast.expr | None, where: ast.expr | None, verb: str) -> bool:
        """Could these be a method, and a URL or a route?"""
        methods = [literal(each) for each in self.values.of(method, site.scope)]
        if any(each is not None and each.upper() in METHODS for each in methods):
            known = True
        elif None in methods and self._near(site):
            known = False
        else:
            return False
        if isinstance(where, ast.Constant) and not isinstance(where.value, str):
            return False
        if verb in CALLS:
            return any(
                not isinstance(text[0], str) or "//" in text[0].partition("?")[0]
                for text in self.values.of(where, site.scope)
            )
        return known or verb == "endpoint"

    def _near(self, site: Site) -> bool:
        """Does the file speak of connectors at all?"""
        path = site.scope.file.path
        if path not in self._bus_files:
            walked = self.tree.walked(site.scope.file)
            self._bus_files[path] = any(
                isinstance(each.node, ast.ImportFrom | ast.alias)
                and (getattr(each.node, "module", "") or getattr(each.node, "name", "") or "")
                .startswith("subtrie")
                for scope in walked.scopes.values()
                for several in scope.bindings.values()
                for each in several
            )  # fmt: skip
        return self._bus_files[path]


def is_open(things: Things) -> bool:
    """May it be anything? What was only ever None is set from somewhere else."""
    return not things or any(isinstance(each, Unknown) for each in things)


def _text_of(node: ast.expr) -> str:
    """A short name of an expression; empty for others."""
    parts = []
    while isinstance(node, ast.Attribute):
        parts.append(node.attr)
        node = node.value
    if not isinstance(node, ast.Name):
        return ""
    return ".".join([node.id, *reversed(parts)])[:60]
