"""Stubs of typed clients: the functions that ``@client.call(…)`` decorates, and their hosts."""

from __future__ import annotations

import ast
from typing import NamedTuple

from ._abstract_values import Instance, ParameterValue, of_kind
from ._connector_instances import ConnectorInstances, argument
from ._constant_evaluation import ConstantEvaluator
from ._partial_strings import PartialString
from ._scopes import Scope
from ._source_tree import SourceTree

#: What a client has that is not a declared function.
CLIENT_METHODS = {"at", "call", "declared_calls", "host"}


class ClientStubs:
    """The stubs of a source tree: which client declares them, and at which host it calls them.

    Attributes:
        stubs: Each stub with the call that decorates it, and its scope.
        changed: The calls of ``within``, ``at`` and ``multicast`` of a stub.
        named: What these name, by ``id``.
    """

    def __init__(
        self, tree: SourceTree, evaluator: ConstantEvaluator, connectors: ConnectorInstances
    ) -> None:
        self._tree, self._evaluator, self._connectors = tree, evaluator, connectors
        self.stubs = find_stubs(tree)
        self.changed = changed_calls(tree)
        self.named = {id(each.stub) for each in self.changed.values()}

    def of(self, client: Instance | ParameterValue, name: str = "") -> list[ast.AST]:
        """Return the stubs of a client, of one name or all."""
        declared = {client, *self._origins(client)}
        return [
            node
            for node, (made_by, scope) in self.stubs.items()
            if name in ("", getattr(node, "name", ""))
            and not declared.isdisjoint(self._connectors.passed(self.made_by(made_by, scope)))
        ]

    def _origins(self, client: Instance | ParameterValue) -> list[Instance | ParameterValue]:
        """The clients of which ``client.at(…)`` made this one, which declare its functions."""
        if not isinstance(client, Instance) or not _is_at(client.node):
            return []
        assert isinstance(client.node.func, ast.Attribute)
        found = of_kind(self._tree.resolver.of(client.node.func.value, client.scope), "Client")
        origins = self._connectors.passed(found)
        return [*origins, *(one for each in origins for one in self._origins(each))]

    def hosts(self, client: Instance | ParameterValue, scope: Scope) -> list[PartialString]:
        """Return the hosts of a client, by its declaration or by ``at(host)``."""
        if not isinstance(client, Instance):
            return self._evaluator.of(None, scope)
        if not _is_at(client.node):
            return self._evaluator.of(argument(client.node, 0, "host"), client.scope)
        host = new_host(client.node)
        if host is not None:
            return self._evaluator.of(host, client.scope)
        assert isinstance(client.node.func, ast.Attribute)
        found = of_kind(self._tree.resolver.of(client.node.func.value, client.scope), "Client")
        return [
            text
            for each in self._connectors.passed(found)
            for text in self.hosts(each, client.scope)
        ]

    def made_by(self, call: ast.Call, scope: Scope) -> list[Instance | ParameterValue]:
        """Return the clients of ``@client.call(…)``."""
        assert isinstance(call.func, ast.Attribute)
        return of_kind(self._tree.resolver.of(call.func.value, scope), "Client")


def _is_at(call: ast.Call) -> bool:
    """True for ``client.at(…)``."""
    return isinstance(call.func, ast.Attribute) and call.func.attr == "at"


def find_stubs(tree: SourceTree) -> dict[ast.AST, tuple[ast.Call, Scope]]:
    """Return each stub of a source tree with the call that decorates it, and its scope."""
    stubs: dict[ast.AST, tuple[ast.Call, Scope]] = {}
    for file_scopes in tree.all_files():
        for node, inner in file_scopes.scopes.items():
            for each in getattr(node, "decorator_list", []):
                if not isinstance(each, ast.Call) or not isinstance(each.func, ast.Attribute):
                    continue
                outer = inner.parent or inner
                if each.func.attr == "call" and of_kind(
                    tree.resolver.of(each.func.value, outer), "Client"
                ):
                    stubs[node] = (each, outer)
    return stubs


class StubCall(NamedTuple):
    """A call of a stub: what names the stub, and the call of ``at`` that changes its host, if any.

    ``stub.within(seconds)``, ``stub.at(host)`` and ``stub.multicast`` are calls of the same stub.
    """

    stub: ast.expr
    at: ast.Call | None


def changed_calls(tree: SourceTree) -> dict[ast.AST, StubCall]:
    """Return the calls of ``within``, ``at`` and ``multicast`` of a stub."""
    found: dict[ast.AST, StubCall] = {}
    for file_scopes in tree.all_files():
        for site in file_scopes.sites:
            if isinstance(site.node, ast.Call):
                stub = unwrapped(site.node.func)
                if stub.stub is not site.node.func:
                    found[site.node] = stub
    return found


def unwrapped(called: ast.expr) -> StubCall:
    """Return the stub that an expression calls, without what only changes how it is called."""
    at: ast.Call | None = None
    if isinstance(called, ast.Attribute) and called.attr == "multicast":
        called = called.value
    while isinstance(called, ast.Call) and isinstance(called.func, ast.Attribute):
        if called.func.attr == "at" and at is None and new_host(called) is not None:
            at = called  # the last host counts
        elif called.func.attr not in ("within", "at"):
            break
        called = called.func.value
    return StubCall(called, at)


def new_host(at: ast.Call) -> ast.expr | None:
    """Return the host that ``at(…)`` gives, the call itself if it is hidden, None if none is."""
    if any(isinstance(each, ast.Starred) for each in at.args) or any(
        each.arg is None for each in at.keywords
    ):
        return at
    given = argument(at, 0, "host")
    return None if isinstance(given, ast.Constant) and given.value == "" else given
