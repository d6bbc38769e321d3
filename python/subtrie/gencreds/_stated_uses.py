"""``Connector(host, uses=[…])``: what a service states that it calls and triggers.

Where every connector of a host has such a list, its rules are made from the list alone. A call that
the list does not name is reported; nothing is granted for it, also with ``--allow-dynamic``.
"""  # A29

from __future__ import annotations

import ast
import dataclasses
from collections.abc import Iterator
from typing import Protocol

from .. import microbus
from .._core import engine
from .._core.errors import AddressError
from ._abstract_values import FunctionValue, Instance, ParameterValue, of_kind
from ._client_stubs import ClientStubs, unwrapped
from ._connector_instances import ConnectorInstances
from ._connector_methods import CONTROL_PORT
from ._constant_evaluation import ConstantEvaluator
from ._loops import LoopBindings
from ._rules import rule
from ._scopes import Scope, Site
from ._service import EndpointUse, UnresolvedCall
from ._service_facts import ServiceFacts
from ._source_tree import SourceTree
from ._targets import Unresolved, literal_text, target_of_route

#: The kinds of uses that a list states.
_OUTGOING = ("calls", "events")


class SourceScan(Protocol):
    """The parts of the scan of a source tree that are needed here."""

    tree: SourceTree
    evaluator: ConstantEvaluator
    connectors: ConnectorInstances
    clients: ClientStubs
    facts: dict[str, ServiceFacts]

    def stub_call(
        self,
        site: Site,
        node: ast.AST,
        whose: list[tuple[ServiceFacts, str]],
        client: Instance | ParameterValue | None = None,
        *,
        at: ast.Call | None = None,
    ) -> None:
        """Record a call of a stub by some services."""

    def uses_of_event(
        self,
        site: Site,
        event: Instance,
        verb: str,
        facts: ServiceFacts,
        kind: str,
        host: str,
        given: LoopBindings,
    ) -> list[EndpointUse]:
        """Return the uses of an event."""


def state_uses(scan: SourceScan) -> None:
    """Replace what services with a list of uses call and trigger by what the list names."""
    for host, facts in scan.facts.items():
        lists = scan.connectors.uses(host)
        if lists:
            stated = ServiceFacts()
            for expr, scope in lists:
                _List(scan, host, stated, scope).add(expr)
            _restrict(host, facts, stated)


@dataclasses.dataclass
class _List:
    """One list of uses, and the facts that it states."""

    scan: SourceScan
    host: str
    stated: ServiceFacts
    scope: Scope

    def add(self, expr: ast.expr) -> None:
        """Add the elements of a list display."""
        if not isinstance(expr, ast.List | ast.Tuple):
            self._unresolved(expr, "it is not a literal list")
            return
        for each in expr.elts:
            try:
                known = self._pair(each) if isinstance(each, ast.Tuple) else self._object(each)
            except (AddressError, Unresolved) as error:
                self._unresolved(each, str(error))
                continue
            if not known:
                self._unresolved(each, f"{ast.unparse(each)[:80]} cannot be determined")

    def _pair(self, each: ast.Tuple) -> bool:
        """Add a method and a URL."""
        if len(each.elts) != 2:
            return False
        pairs = [
            (literal_text(method), literal_text(url), url)
            for method in self.scan.evaluator.of(each.elts[0], self.scope)
            for url in self.scan.evaluator.of(each.elts[1], self.scope)
        ]
        for method, text, url in pairs:
            if method is None or text is None or "//" not in text:
                return False
            target = target_of_route(self.host, url)
            method = microbus.check_method(method)
            self.stated.calls.append(
                EndpointUse(target.host, target.port, method, target.path,
                            self.scope.file.name, each.lineno)
            )  # fmt: skip
        return bool(pairs)

    def _object(self, each: ast.expr) -> bool:
        """Add a ``Client``, a ``Call`` or an ``Event``."""
        site, names = Site(each, self.scope, ()), self.scan.tree.resolver
        values, at = names.of(each, self.scope), None
        if not of_kind(values, "Client"):  # ``stub.at(host)``
            each, at = unwrapped(each)
            values = names.of(each, self.scope)
        stubs: list[ast.AST] = [v.node for v in values if isinstance(v, FunctionValue)]
        clients, name = of_kind(values, "Client"), ""
        if isinstance(each, ast.Attribute) and not clients:
            clients, name = of_kind(names.of(each.value, self.scope), "Client"), each.attr
        whose: list[tuple[ast.AST, Instance | ParameterValue | None]]
        whose = [(node, None) for node in stubs]
        for client in self.scan.connectors.passed(clients):
            whose += [(node, client) for node in self.scan.clients.of(client, name)]
        known = bool(whose) and all(node in self.scan.clients.stubs for node, _ in whose)
        for node, of in whose if known else ():
            self.scan.stub_call(site, node, [(self.stated, self.host)], of, at=at)
        events = [e for e in of_kind(values, "Event") if isinstance(e, Instance)]
        for event in events:
            self.stated.events += self.scan.uses_of_event(
                site, event, "uses", self.stated, "events", self.host, LoopBindings()
            )
        return known or bool(events)

    def _unresolved(self, node: ast.expr, why: str) -> None:
        self.stated.dynamic.append(
            UnresolvedCall("calls", f"uses: {why}", None, self.scope.file.name, node.lineno)
        )


def _restrict(host: str, facts: ServiceFacts, stated: ServiceFacts) -> None:
    """Keep what is stated, and report the rest."""
    allowed = list(_patterns(host, stated))
    found: list[UnresolvedCall] = []
    for kind in _OUTGOING:
        for use in getattr(facts, kind):
            if use.port == CONTROL_PORT or any(
                engine.covers(each, _pattern(host, use)) for each in allowed
            ):
                continue
            port = "*" if use.port is None else use.port
            message = f"{use.method} {use.host}:{port}{use.path} is not among the uses of {host}"
            found.append(UnresolvedCall(kind, message, None, use.file or "", use.line or 1))
        setattr(facts, kind, getattr(stated, kind))
    facts.dynamic = [
        dataclasses.replace(each, use=None) if each.kind in _OUTGOING else each
        for each in (*facts.dynamic, *stated.dynamic)
    ] + found
    facts.notes += stated.notes


def _patterns(host: str, facts: ServiceFacts) -> Iterator[str]:
    for kind in _OUTGOING:
        for use in getattr(facts, kind):
            yield _pattern(host, use)


def _pattern(host: str, use: EndpointUse) -> str:
    return rule(
        "publish", plane="p", host=use.host, source=host, port=use.port, method=use.method,
        path=use.path,
    )  # fmt: skip
