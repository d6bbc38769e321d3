"""Record the calls of ``ingress(connector)``, and the endpoints of ``connector.static``.

An ingress takes the host and the path from its clients, so its rule has a wildcard for each; the
ports are those of the source.
"""

from __future__ import annotations

import ast
from typing import Protocol

from .._core.ports import HTTPS
from ._abstract_values import ExternalObject, Instance, ParameterValue, of_kind
from ._connector_instances import Owners, argument
from ._constant_evaluation import ConstantEvaluator
from ._partial_strings import PartialString
from ._scopes import Site
from ._service import EndpointUse, Note
from ._service_facts import ServiceFacts
from ._source_tree import SourceTree
from ._targets import RequestTarget, Unresolved


class FrontScan(Protocol):
    """The parts of the scan of a source tree that are needed here."""

    tree: SourceTree
    evaluator: ConstantEvaluator

    def _owners(self, values: list[Instance | ParameterValue], site: Site) -> Owners: ...
    def _whose(self, owners: Owners) -> list[tuple[ServiceFacts, str]]: ...
    def _target(self, site: Site, kind: str, host: str, text: PartialString) -> RequestTarget: ...
    def _use(self, site: Site, target: RequestTarget, method: str | None) -> EndpointUse: ...
    def _add(
        self, site: Site, facts: ServiceFacts, kind: str, host: str, use: EndpointUse
    ) -> None: ...
    def _report(
        self, facts: ServiceFacts, kind: str, site: Site, message: str, use: EndpointUse | None
    ) -> None: ...


_INGRESS = {ExternalObject("subtrie.connector.ingress")}
_FILES = ("GET", "HEAD")  # with which files are requested


def record_front(scan: FrontScan, site: Site, call: ast.Call) -> None:
    """Record the calls of an ingress, or the endpoints of static files.

    Args:
        scan: The scan.
        site: The place of the call.
        call: The call.
    """
    names, called = scan.tree.resolver, call.func
    if isinstance(called, ast.Attribute) and called.attr == "static":
        connectors = of_kind(names.of(called.value, site.scope), "Connector")
        if connectors:
            for facts, host in scan._whose(scan._owners(connectors, site)):
                for text in scan.evaluator.of(argument(call, 0, "route"), site.scope):
                    try:
                        target = scan._target(site, "endpoints", host, text)
                    except Unresolved as error:
                        message = f"static: the route depends on {error}"
                        scan._report(facts, "endpoints", site, message, None)
                        continue
                    for method in _FILES:
                        use = scan._use(site, target, method)
                        scan._add(site, facts, "endpoints", host, use)
    elif _INGRESS & names.of(called, site.scope):
        connectors = of_kind(names.of(argument(call, 0, "connector"), site.scope), "Connector")
        for facts, host in scan._whose(scan._owners(connectors, site)):
            for port in _ports(call):
                file = site.scope.file.name
                use = EndpointUse(None, port, "ANY", None, file, call.lineno)
                scan._add(site, facts, "calls", host, use)
                if port is None:
                    message = "ingress: the ports are not known; the rule allows any but 666"
                    facts.notes.append(Note(message, file, call.lineno))


def _ports(call: ast.Call) -> list[int | None]:
    """Return the ports of an ingress; None for any."""
    given = argument(call, -1, "ports")
    if given is None:
        starred = any(each.arg is None for each in call.keywords)
        return [None] if starred else [HTTPS]
    if isinstance(given, ast.List | ast.Tuple | ast.Set):
        ports = [each.value for each in given.elts
                 if isinstance(each, ast.Constant) and type(each.value) is int]  # fmt: skip
        if len(ports) == len(given.elts):
            return list(ports)
    return [None]
