"""Static scan: what the services of a source tree do, from its syntax alone.

Calls make rules, stubs do not. A call that looks like one of a connector and cannot be resolved is
reported with file and line; it is neither dropped nor widened silently.
"""

from __future__ import annotations

import ast
import dataclasses
from collections.abc import Collection, Iterable
from pathlib import Path

from .. import microbus
from .._core.errors import AddressError, SubtrieError
from .._core.file_errors import Mistakes, file_error, located
from ._abstract_values import FunctionValue, Instance, ParameterValue, of_kind
from ._client_stubs import CLIENT_METHODS, ClientStubs, StubCall, new_host
from ._connector_instances import ConnectorInstances, Owners, argument
from ._connector_methods import CALLS, CONTROL_PORT, EVENT_PORT, EVENTS, SERVES, VERBS, kind_of
from ._constant_evaluation import ConstantEvaluator
from ._declared import declared
from ._front_calls import record_front
from ._hidden_calls import HiddenCall, HiddenCallDetector
from ._loops import LoopBindings
from ._partial_strings import PartialString
from ._rules import rule
from ._scopes import Site
from ._service import EndpointUse, Note, Service, UnresolvedCall
from ._service_facts import ServiceFacts
from ._source_tree import SourceTree
from ._stated_uses import state_uses
from ._targets import (
    RequestTarget,
    Unresolved,
    literal_text,
    same_host,
    target_of_event,
    target_of_route,
    target_of_url,
)
from ._unresolved_calls import UnresolvedCallDetector, may_be_anything

_WHAT = {"calls": "a call", "endpoints": "an endpoint", "events": "an event", "hooks": "a hook"}
#: Most uses of one scan: above any real project, so that a hostile one cannot exhaust memory.
MAX_USES = 20_000
#: A placeholder for the host of a service that cannot be determined.
UNRESOLVED_HOST = "unresolved-host"


def scan(path: str | Path, *, hosts: Collection[str] = ()) -> list[Service]:
    """Return the services of a folder, or of a file and what it imports, by host.

    The source is parsed, never imported or run.

    Args:
        path: the folder or the file.
        hosts: the services asked for; mistakes in files that no import connects are passed over.

    Raises:
        PermissionsError: a file cannot be read, or an event is of another host; with ``.file``.
        AddressError: a method, route or host is not valid; with ``.file`` and ``.line``.
        FileNotFoundError: ``path`` does not exist.
    """
    tree = SourceTree(path)
    tree.sources.passed_over = tree.unconnected(hosts)
    return _Scan(tree).services() if tree.sources.mentions else []


class _Scan:
    """One scan of a source tree."""

    def __init__(self, tree: SourceTree) -> None:
        self.tree = tree
        self.evaluator = ConstantEvaluator(self.tree)
        self.connectors = ConnectorInstances(self.tree, self.evaluator)
        self.declared = declared(self.tree.sources, set(self.connectors.hosts))
        self.facts = {host: ServiceFacts() for host in self.connectors.hosts}
        self.unattributed = ServiceFacts()
        self.uses = 0
        self.clients = ClientStubs(self.tree, self.evaluator, self.connectors)
        names = (getattr(node, "name", "") for node in self.clients.stubs)
        self.detector = UnresolvedCallDetector(self.tree, self.evaluator, names)
        self.hidden = HiddenCallDetector(self.tree, self.evaluator, self.detector.stubs)

    def services(self) -> list[Service]:
        """Scan all files, and return the services."""
        for host, facts in self.facts.items():
            facts.planes += self.connectors.planes(host)
        for instance, why in self.connectors.without_host:
            site = Site(instance.node, instance.scope, ())
            message = f"a connector whose host depends on {why}"
            self._report(self.unattributed, "calls", site, message, None)
        tree, mistakes = self.tree, Mistakes()
        for site in (site for scopes in tree.all_files() for site in scopes.sites):
            try:
                self._site(site)
            except SubtrieError as error:
                if site.scope.file.path not in tree.sources.passed_over:
                    mistakes.add(error)
        mistakes.check()
        return self._result()

    def _site(self, site: Site) -> None:
        if isinstance(site.node, ast.Call):
            self._call(site, site.node)
            return
        if isinstance(site.node, ast.Attribute):
            self._hidden(site, self.hidden.of_attribute(site, site.node))
        if not site.called and isinstance(site.node.ctx, ast.Load):  # type: ignore[attr-defined]
            self._passed_on(site)

    def _result(self) -> list[Service]:
        """The services, each with the unresolved calls that belong to none."""
        all_facts = list(self.facts.values())
        for facts in all_facts:
            for kind in ("dynamic", "notes"):
                getattr(facts, kind).extend(getattr(self.unattributed, kind))
        state_uses(self)
        if not all_facts and self.unattributed.dynamic:
            self.facts[""] = self.unattributed
        return [
            facts.service(host, self.connectors.ids(host), self.declared)
            for host, facts in sorted(self.facts.items())
        ]

    # --- calls

    def _call(self, site: Site, call: ast.Call) -> None:
        names = self.tree.resolver
        called, at = self.clients.changed.get(call, StubCall(call.func, None))
        if isinstance(called, ast.Attribute):
            receiver = names.of(called.value, site.scope)
            verb = called.attr
            connectors = of_kind(receiver, "Connector")
            clients = of_kind(receiver, "Client")
            if connectors and verb in VERBS:
                self._on_bus(site, call, verb, self._owners(connectors, site))
            if clients and verb not in CLIENT_METHODS:
                self._client_call(site, call, clients, verb, at)
            unresolved = (
                self.detector.classify(site, call, verb) if may_be_anything(receiver) else None
            )
            if unresolved is not None:
                kind, message, use = unresolved
                self._report(self.unattributed, kind, site, message, use)
        values = names.of(called, site.scope)
        for each in values:
            if isinstance(each, FunctionValue) and each.node in self.clients.stubs:
                self.stub_call(site, each.node, self._whose(self._caller(site, call)), at=at)
        record_front(self, site, call)
        self._hidden(site, self.hidden.of_call(site, call, values))

    def _on_bus(self, site: Site, call: ast.Call, verb: str, owners: Owners) -> None:
        for facts, host in self._whose(owners):
            for given in self.evaluator.loops.iterations(site.loops, site.scope):
                if verb in EVENTS:
                    self._event(site, call, verb, facts, host, given)
                else:
                    self._routed(site, call, verb, facts, host, given)

    def _whose(self, owners: Owners) -> list[tuple[ServiceFacts, str]]:
        """The services that act, and the unattributed facts if another one may act too."""
        services = [(self.facts[host], host) for host in sorted(owners.hosts)]
        return [*services, (self.unattributed, UNRESOLVED_HOST)] if owners.others else services

    def _owners(self, values: list[Instance | ParameterValue], site: Site) -> Owners:
        return self.connectors.owners(values, site.scope.file)

    def _routed(
        self,
        site: Site,
        call: ast.Call,
        verb: str,
        facts: ServiceFacts,
        host: str,
        given: LoopBindings,
    ) -> None:
        """Record a request or an endpoint: a method, and a URL or a route."""
        name = CALLS.get(verb) or SERVES[verb]
        methods = self.evaluator.of(argument(call, 0, "method"), site.scope, given)
        texts = self.evaluator.of(argument(call, 1, name), site.scope, given)
        kind = kind_of(verb)
        for method_text in methods:
            method = self._method(site, method_text, kind)
            for text in texts:
                try:
                    target = self._target(site, kind, host, text)
                except Unresolved as error:
                    message = f"{verb}: the {name} depends on {error}"
                    self._report(facts, kind, site, message, EndpointUse(None, None, method, None))
                    continue
                use = self._use(site, target, method)
                if method is None:
                    why = ", ".join(h.why for h in method_text if not isinstance(h, str))
                    self._report(facts, kind, site, f"{verb}: the method depends on {why}", use)
                    continue
                self._check(site, kind, host, use)
                self._add(site, facts, kind, host, use)
                if target.port is None:
                    message = f"{verb}: the port is not known; the rule allows any but 666"
                    facts.notes.append(Note(message, site.scope.file.name, call.lineno))
                if target.unknown_parts:
                    message = f"{verb}: a path value with a slash will be refused"
                    facts.notes.append(Note(message, site.scope.file.name, call.lineno))

    def _target(self, site: Site, kind: str, host: str, text: PartialString) -> RequestTarget:
        try:
            return target_of_url(text) if kind == "calls" else target_of_route(host, text)
        except AddressError as error:
            raise self._located(error, site) from None

    def _method(self, site: Site, text: PartialString, kind: str) -> str | None:
        method = literal_text(text)
        if method is None:
            return None
        try:
            method = microbus.check_method(method)
            if kind == "calls":  # ANY cannot be requested: A11
                microbus.encode_request(
                    plane="p", port=443, source="s", host="h", method=method, path="/"
                )
        except AddressError as error:
            raise self._located(error, site) from None
        return method

    def _check(self, site: Site, kind: str, host: str, use: EndpointUse) -> None:
        """Refuse an endpoint for which no rule can be made, naming its place."""
        verb, source = ("publish", host) if kind in ("calls", "events") else ("subscribe", None)
        try:
            rule(
                verb, plane="p", host=use.host, source=source, port=use.port, method=use.method,
                path=use.path,
            )  # fmt: skip
        except AddressError as error:
            raise self._located(error, site) from None

    # --- events

    def _event(
        self,
        site: Site,
        call: ast.Call,
        verb: str,
        facts: ServiceFacts,
        host: str,
        given: LoopBindings,
    ) -> None:
        kind = kind_of(verb)
        values = self.tree.resolver.of(argument(call, 0, "event"), site.scope)
        instances = [each for each in of_kind(values, "Event") if isinstance(each, Instance)]
        if len(instances) != len(values) or not values:
            use = EndpointUse(host if kind == "events" else None, EVENT_PORT, "POST", None)
            self._report(facts, kind, site, f"{verb}: an event that cannot be determined", use)
        for each in instances:
            for use in self.uses_of_event(site, each, verb, facts, kind, host, given):
                if kind == "events" and host == UNRESOLVED_HOST and use.host in self.facts:
                    facts, host = self.facts[use.host], use.host  # only its own host may trigger it
                own = use.host is not None and same_host(use.host, host)
                if kind == "events" and not own and host != UNRESOLVED_HOST:
                    shown = f"the event of {use.host}, triggered by {host}"
                    raise file_error("event-host", shown, Path(site.scope.file.name), _line(site))
                self._check(site, kind, host, use)
                self._add(site, facts, "endpoints" if kind == "hooks" and own else kind, host, use)

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
        """Return the uses of an event, one for each host and route that it may have."""
        uses = []
        for of in self.evaluator.of(argument(event.node, 0, "host"), event.scope, given):
            for route in self.evaluator.of(argument(event.node, 1, "route"), event.scope, given):
                if (whose := literal_text(of)) is None:
                    use = EndpointUse(host if kind == "events" else None, EVENT_PORT, "POST", None)
                    why = ", ".join(h.why for h in of if not isinstance(h, str))
                    message = f"{verb}: the host of the event depends on {why}"
                    self._report(facts, kind, site, message, use)
                    continue
                try:
                    whose = microbus.check_identity_host(whose)
                    target = target_of_event(whose, route)
                except AddressError as error:
                    raise located(error, Path(event.scope.file.name), event.node.lineno) from None
                uses.append(self._use(site, target, "POST"))
        return uses

    # --- clients

    def _client_call(
        self,
        site: Site,
        call: ast.Call,
        clients: list[Instance | ParameterValue],
        name: str,
        at: ast.Call | None = None,
    ) -> None:
        """Record ``client.name(connector, …)``."""
        owners = self._caller(site, call)
        for client in self.connectors.passed(clients):
            stubs = self.clients.of(client, name)
            for node in stubs:
                self.stub_call(site, node, self._whose(owners), client, at=at)
            if not stubs:
                for facts, _ in self._whose(owners):
                    message = f"{name}: a call of an unknown stub"
                    self._report(facts, "calls", site, message, EndpointUse(None, None, None, None))

    def _caller(self, site: Site, call: ast.Call) -> Owners:
        first = call.args[0] if call.args else None
        return self._owners(of_kind(self.tree.resolver.of(first, site.scope), "Connector"), site)

    def stub_call(
        self,
        site: Site,
        node: ast.AST,
        whose: list[tuple[ServiceFacts, str]],
        client: Instance | ParameterValue | None = None,
        *,
        at: ast.Call | None = None,
    ) -> None:
        """Record a call of a stub by some services, of the clients that declare it or of one."""
        made_by, scope = self.clients.stubs[node]
        name = getattr(node, "name", "")
        clients = (
            [client] if client else self.connectors.passed(self.clients.made_by(made_by, scope))
        )
        methods = self.evaluator.of(argument(made_by, 0, "method"), scope)
        routes = self.evaluator.of(argument(made_by, 1, "route"), scope)
        hosts = [text for each in clients for text in self.clients.hosts(each, scope)]
        if at is not None:
            hosts = self.evaluator.of(new_host(at), site.scope)
        for facts, host in whose:
            for of in hosts:
                for method_text in methods:
                    for route in routes:
                        self._resolved_stub_call(site, facts, host, name, of, method_text, route)

    def _resolved_stub_call(
        self,
        site: Site,
        facts: ServiceFacts,
        host: str,
        name: str,
        of: PartialString,
        method: PartialString,
        route: PartialString,
    ) -> None:
        method = ("POST",) if literal_text(method) == "ANY" else method  # as the client sends it
        whose, method_name = literal_text(of), self._method(site, method, "calls")
        try:
            target = target_of_route(UNRESOLVED_HOST if whose is None else whose, route)
        except Unresolved as error:
            use = EndpointUse(None, None, method_name, None)
            self._report(facts, "calls", site, f"{name} depends on {error}", use)
            return
        except AddressError as error:
            raise self._located(error, site) from None
        use = self._use(site, target, method_name)
        unknown = whose is None and target.host == UNRESOLVED_HOST
        if unknown:  # method, port and path stay
            use = dataclasses.replace(use, host=None)
        if unknown or method_name is None:
            what = "a client whose host" if unknown else "a method that"
            self._report(facts, "calls", site, f"{name}: {what} cannot be determined", use)
            return
        self._check(site, "calls", host, use)
        self._add(site, facts, "calls", host, use)

    # --- calls that are hidden

    def _hidden(self, site: Site, found: Iterable[HiddenCall]) -> None:
        for each in found:
            owners = self._owners(each.connectors or [], site)
            for facts, _ in self._whose(owners) or [(self.unattributed, "")]:
                use = EndpointUse(None, None, None, None)
                self._report(facts, "calls", site, each.message, use)

    def _passed_on(self, site: Site) -> None:
        """Report ``connector.request`` or a stub that is passed on instead of called."""
        node, names = site.node, self.tree.resolver
        if id(node) in self.clients.named or node in self.connectors.listed:
            return
        if isinstance(node, ast.Attribute):
            if node.attr not in VERBS and node.attr not in self.detector.stubs:
                return
            receiver = names.of(node.value, site.scope)
            connectors = of_kind(receiver, "Connector")
            if connectors and node.attr in VERBS:
                for facts, _ in self._whose(self._owners(connectors, site)):
                    message = f"{node.attr} is passed on, and its arguments cannot be determined"
                    use = EndpointUse(None, None, None, None)
                    self._report(facts, kind_of(node.attr), site, message, use)
                return
            clients = of_kind(receiver, "Client")
            if not clients or node.attr in CLIENT_METHODS:
                return
        elif not isinstance(node, ast.Name) or not any(
            isinstance(each, FunctionValue) and each.node in self.clients.stubs
            for each in names.of(node, site.scope)
        ):
            return
        message = f"{ast.unparse(node)} is passed on, and its callers cannot be determined"
        self._report(self.unattributed, "calls", site, message, EndpointUse(None, None, None, None))

    # --- recording

    def _use(self, site: Site, target: RequestTarget, method: str | None) -> EndpointUse:
        file, line = site.scope.file.name, _line(site)
        return EndpointUse(target.host, target.port, method, target.path, file, line)

    def _add(self, site: Site, facts: ServiceFacts, kind: str, host: str, use: EndpointUse) -> None:
        self.uses += 1
        if self.uses > MAX_USES:
            raise file_error("source-uses", use.path, Path(str(use.file)), use.line)
        if host != UNRESOLVED_HOST:
            getattr(facts, kind).append(use)
        elif self._is_own(site) and (
            kind != "calls" or use.port != CONTROL_PORT
        ):  # every service may call the control port
            file, line, inside = str(use.file), use.line or 1, site.scope.qualified
            message = f"{_WHAT[kind]} of a connector that cannot be determined"
            granted = None if use.host == UNRESOLVED_HOST or kind == "events" else use
            facts.dynamic.append(UnresolvedCall(kind, message, granted, file, line, inside))

    def _report(
        self, facts: ServiceFacts, kind: str, site: Site, message: str, use: EndpointUse | None
    ) -> None:
        file, line = site.scope.file.name, _line(site)
        if facts is self.unattributed and not self._is_own(site):
            return  # the services of imported files are not scanned
        if use is not None:
            use = dataclasses.replace(use, file=file, line=line)
        facts.dynamic.append(UnresolvedCall(kind, message, use, file, line, site.scope.qualified))

    def _is_own(self, site: Site) -> bool:
        return site.scope.file.path in self.tree.sources.own

    def _located(self, error: AddressError, site: Site) -> Exception:
        return located(error, Path(site.scope.file.name), _line(site))


def _line(site: Site) -> int:
    return getattr(site.node, "lineno", 1)
