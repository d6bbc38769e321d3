"""What the services of a source tree do, read from its syntax alone (S0-099 to S0-102, A29).

Calls make rules, stubs do not. What looks like a call of theirs and does not resolve is reported
with file and line, never dropped and never widened in silence.
"""

from __future__ import annotations

import ast
import dataclasses
from pathlib import Path

from .. import microbus
from .._errors import AddressError
from .._file_errors import failure, placed
from ._abstract_values import Foreign, Free, Function, Made, kinds
from ._connector_instances import Connectors, Owners, argument
from ._connector_methods import CALLS, CONTROL_PORT, EVENT_PORT, EVENTS, SERVES, VERBS, kind_of
from ._constant_evaluation import Values
from ._declared import declared
from ._loops import Given
from ._partial_strings import Text
from ._rules import rule
from ._scopes import Scope, Site
from ._service import Dynamic, Note, Service, Use
from ._service_facts import Found
from ._source_tree import Tree
from ._targets import Target, Untold, literal, target_of_route, target_of_url
from ._unresolved_calls import Lookalikes, is_open

_WHAT = {"calls": "a call", "endpoints": "an endpoint", "events": "an event", "hooks": "a hook"}
#: Most uses of one scan.
MOST_USES = 20_000
#: Stands for the host of a service that nobody can tell.
NOBODY = "nobody"


def scan(path: str | Path) -> list[Service]:
    """The services of a folder, or of a file and what it imports, by host.

    Nothing is imported or run. Raises ``PermissionsError`` and ``AddressError`` (``.file``,
    ``.line``) for sources that cannot be read and for what can never work: an unknown method, a
    route that is none, an event that its own host does not trigger; ``FileNotFoundError``.
    """
    tree = Tree(path)
    return _Scan(tree).services() if tree.sources.mentions else []


class _Scan:
    def __init__(self, tree: Tree) -> None:
        self.tree = tree
        self.values = Values(self.tree)
        self.connectors = Connectors(self.tree, self.values)
        self.declared = declared(self.tree.sources, set(self.connectors.hosts))
        self.found = {host: Found() for host in self.connectors.hosts}
        self.nobody = Found()
        self.uses = 0
        self.stubs = self._stubs()
        names = (getattr(node, "name", "") for node in self.stubs)
        self.lookalikes = Lookalikes(self.tree, self.values, names)

    def services(self) -> list[Service]:
        for host, found in self.found.items():
            found.planes += self.connectors.planes(host)
        for made, why in self.connectors.untold:
            site = Site(made.node, made.scope, ())
            self._report(self.nobody, "calls", site, f"a connector whose host is {why}", None)
        for walked in self.tree.everything():
            for site in walked.sites:
                if isinstance(site.node, ast.Call):
                    self._call(site, site.node)
                elif not site.called and isinstance(site.node.ctx, ast.Load):  # type: ignore[attr-defined]
                    self._passed_on(site)
        return self._made()

    def _made(self) -> list[Service]:
        everyone = list(self.found.values())
        for found in everyone:
            for kind in ("dynamic", "notes"):
                getattr(found, kind).extend(getattr(self.nobody, kind))
        if not everyone and self.nobody.dynamic:
            self.found[""] = self.nobody
        return [
            found.service(host, self.connectors.ids(host), self.declared)
            for host, found in sorted(self.found.items())
        ]

    # --- what is made

    def _stubs(self) -> dict[ast.AST, tuple[ast.Call, Scope]]:
        """Functions below ``@client.call(…)``: the call of ``call``, and where it stands."""
        stubs = {}
        for walked in self.tree.everything():
            for node, inner in walked.scopes.items():
                for each in getattr(node, "decorator_list", []):
                    if not isinstance(each, ast.Call) or not isinstance(each.func, ast.Attribute):
                        continue
                    outer = inner.parent or inner
                    if each.func.attr == "call" and kinds(
                        self.tree.names.of(each.func.value, outer), "Client"
                    ):
                        stubs[node] = (each, outer)
        return stubs

    # --- calls

    def _call(self, site: Site, call: ast.Call) -> None:
        names = self.tree.names
        if isinstance(call.func, ast.Attribute):
            receiver = names.of(call.func.value, site.scope)
            verb = call.func.attr
            connectors = kinds(receiver, "Connector")
            clients = kinds(receiver, "Client")
            if connectors and verb in VERBS:
                self._on_bus(site, call, verb, self._owners(connectors, site))
            if clients and verb not in ("call", "host"):
                self._asked(site, call, clients, verb)
            told = self.lookalikes.verdict(site, call, verb) if is_open(receiver) else None
            if told is not None:
                kind, message, use = told
                self._report(self.nobody, kind, site, message, use)
        things = names.of(call.func, site.scope)
        for each in things:
            if isinstance(each, Function) and each.node in self.stubs:
                self._stub(site, call, each.node)
            elif isinstance(each, Foreign) and each.name == "builtins.getattr":
                self._getattr(site, call)

    def _on_bus(self, site: Site, call: ast.Call, verb: str, owners: Owners) -> None:
        for found, host in self._whose(owners):
            for given in self.values.loops.rounds(site.loops, site.scope):
                if verb in EVENTS:
                    self._event(site, call, verb, found, host, given)
                else:
                    self._routed(site, call, verb, found, host, given)

    def _whose(self, owners: Owners) -> list[tuple[Found, str]]:
        """The services that do it, and nobody where another may do it too."""
        found = [(self.found[host], host) for host in sorted(owners.hosts)]
        return [*found, (self.nobody, NOBODY)] if owners.others else found

    def _owners(self, things: list[Made | Free], site: Site) -> Owners:
        return self.connectors.owners(things, site.scope.file)

    def _routed(
        self, site: Site, call: ast.Call, verb: str, found: Found, host: str, given: Given
    ) -> None:
        """A request, or an endpoint: a method, and a URL or a route."""
        name = CALLS.get(verb) or SERVES[verb]
        methods = self.values.of(argument(call, 0, "method"), site.scope, given)
        texts = self.values.of(argument(call, 1, name), site.scope, given)
        kind = kind_of(verb)
        for method_text in methods:
            method = self._method(site, method_text, kind)
            for text in texts:
                try:
                    target = self._target(site, kind, host, text)
                except Untold as untold:
                    message = f"{verb}: the {name} depends on {untold}"
                    self._report(found, kind, site, message, Use(None, None, method, None))
                    continue
                use = self._use(site, target, method)
                if method is None:
                    why = ", ".join(h.why for h in method_text if not isinstance(h, str))
                    self._report(found, kind, site, f"{verb}: the method depends on {why}", use)
                    continue
                self._check(site, kind, host, use)
                self._add(site, found, kind, host, use)
                if target.holes:
                    message = f"{verb}: a value in the path that holds a slash will be refused"
                    found.notes.append(Note(message, site.scope.file.name, call.lineno))

    def _target(self, site: Site, kind: str, host: str, text: Text) -> Target:
        try:
            return target_of_url(text) if kind == "calls" else target_of_route(host, text)
        except AddressError as error:
            raise self._placed(error, site) from None

    def _method(self, site: Site, text: Text, kind: str) -> str | None:
        method = literal(text)
        if method is None:
            return None
        try:
            method = microbus.check_method(method)
            if kind == "calls":  # nobody can request ANY (A11)
                microbus.encode_request(
                    plane="p", port=443, source="s", host="h", method=method, path="/"
                )
        except AddressError as error:
            raise self._placed(error, site) from None
        return method

    def _check(self, site: Site, kind: str, host: str, use: Use) -> None:
        """Refuses what no rule can be made of where it stands."""
        verb, source = ("publish", host) if kind in ("calls", "events") else ("subscribe", None)
        try:
            rule(
                verb, plane="p", host=use.host, source=source, port=use.port, method=use.method,
                path=use.path,
            )  # fmt: skip
        except AddressError as error:
            raise self._placed(error, site) from None

    # --- events

    def _event(
        self, site: Site, call: ast.Call, verb: str, found: Found, host: str, given: Given
    ) -> None:
        kind = kind_of(verb)
        things = self.tree.names.of(argument(call, 0, "event"), site.scope)
        made = [each for each in kinds(things, "Event") if isinstance(each, Made)]
        if len(made) != len(things) or not things:
            use = Use(host if kind == "events" else None, EVENT_PORT, "POST", None)
            self._report(found, kind, site, f"{verb}: an event that nobody can tell", use)
        for each in made:
            for use in self._uses_of_event(site, each, verb, found, kind, host, given):
                if kind == "events" and host == NOBODY and use.host in self.found:
                    found, host = self.found[use.host], use.host  # nobody else may trigger it
                own = use.host is not None and _same_host(use.host, host)
                if kind == "events" and not own and host != NOBODY:
                    shown = f"the event of {use.host}, triggered by {host}"
                    raise failure("event-host", shown, self._path(site), _line(site))
                self._check(site, kind, host, use)
                self._add(site, found, "endpoints" if kind == "hooks" and own else kind, host, use)

    def _uses_of_event(
        self, site: Site, event: Made, verb: str, found: Found, kind: str, host: str, given: Given
    ) -> list[Use]:
        uses = []
        for of in self.values.of(argument(event.node, 0, "host"), event.scope, given):
            for route in self.values.of(argument(event.node, 1, "route"), event.scope, given):
                whose = literal(of)
                if whose is None:
                    use = Use(host if kind == "events" else None, EVENT_PORT, "POST", None)
                    message = f"{verb}: the host of the event depends on {of[0]}"
                    self._report(found, kind, site, message, use)
                    continue
                try:
                    whose = microbus.check_identity_host(whose)
                    target = target_of_route(whose, (f"//{whose}:{EVENT_PORT}/", *_bare(route)))
                except AddressError as error:
                    raise placed(error, Path(event.scope.file.name), event.node.lineno) from None
                uses.append(self._use(site, target, "POST"))
        return uses

    # --- clients

    def _asked(self, site: Site, call: ast.Call, clients: list[Made | Free], name: str) -> None:
        """``client.name(connector, …)``."""
        owners = self._caller(site, call)
        for client in clients:
            stubs = [
                node
                for node, (made_by, scope) in self.stubs.items()
                if getattr(node, "name", "") == name
                and client in self.tree.names.of(made_by.func.value, scope)  # type: ignore[attr-defined]
            ]
            for node in stubs:
                self._stub(site, call, node)
            if not stubs:
                for found, _ in self._whose(owners):
                    message = f"{name}: a call of a client that nobody can tell"
                    self._report(found, "calls", site, message, Use(None, None, None, None))

    def _caller(self, site: Site, call: ast.Call) -> Owners:
        first = call.args[0] if call.args else None
        connectors = kinds(self.tree.names.of(first, site.scope), "Connector")
        return self._owners(connectors, site)

    def _stub(self, site: Site, call: ast.Call, node: ast.AST) -> None:
        made_by, scope = self.stubs[node]
        assert isinstance(made_by.func, ast.Attribute)
        name = getattr(node, "name", "")
        clients = kinds(self.tree.names.of(made_by.func.value, scope), "Client")
        methods = self.values.of(argument(made_by, 0, "method"), scope)
        routes = self.values.of(argument(made_by, 1, "route"), scope)
        for found, host in self._whose(self._caller(site, call)):
            for client in clients:
                given = argument(client.node, 0, "host") if isinstance(client, Made) else None
                at = client.scope if isinstance(client, Made) else scope
                for of in self.values.of(given, at or scope):
                    for method_text in methods:
                        for route in routes:
                            self._stubbed(site, found, host, name, of, method_text, route)

    def _stubbed(
        self, site: Site, found: Found, host: str, name: str, of: Text, method: Text, route: Text
    ) -> None:
        whose, told = literal(of), self._method(site, method, "calls")
        try:
            if whose is None:
                raise Untold("a client whose host nobody can tell")
            target = target_of_route(whose, route)
        except Untold as untold:
            use = Use(None, None, told, None)
            self._report(found, "calls", site, f"{name} depends on {untold}", use)
            return
        except AddressError as error:
            raise self._placed(error, site) from None
        use = self._use(site, target, told)
        if told is None:
            self._report(found, "calls", site, f"{name}: a method that nobody can tell", use)
            return
        self._check(site, "calls", host, use)
        self._add(site, found, "calls", host, use)

    # --- what is hidden

    def _getattr(self, site: Site, call: ast.Call) -> None:
        things = self.tree.names.of(argument(call, 0, "object"), site.scope)
        connectors, clients = kinds(things, "Connector"), kinds(things, "Client")
        if not connectors and not clients:
            return
        told = [literal(each) for each in self.values.of(argument(call, 1, "name"), site.scope)]
        if connectors and None not in told and VERBS.isdisjoint(told):
            return
        for found, _ in self._whose(self._owners(connectors, site)):
            self._report(found, "calls", site, "getattr hides a call", Use(None, None, None, None))

    def _passed_on(self, site: Site) -> None:
        """``connector.request`` or a stub that is not called where it stands."""
        node, names = site.node, self.tree.names
        if isinstance(node, ast.Attribute):
            if node.attr not in VERBS and node.attr not in self.lookalikes.stubs:
                return
            receiver = names.of(node.value, site.scope)
            connectors = kinds(receiver, "Connector")
            if connectors and node.attr in VERBS:
                for found, _ in self._whose(self._owners(connectors, site)):
                    message = f"{node.attr} is passed on, and nobody can tell what it is given"
                    use = Use(None, None, None, None)
                    self._report(found, kind_of(node.attr), site, message, use)
                return
            clients = kinds(receiver, "Client")
            if not clients or node.attr in ("host", "call"):
                return
        elif not isinstance(node, ast.Name) or not any(
            isinstance(each, Function) and each.node in self.stubs
            for each in names.of(node, site.scope)
        ):
            return
        message = f"{ast.unparse(node)} is passed on, and nobody can tell who calls it"
        self._report(self.nobody, "calls", site, message, Use(None, None, None, None))

    # --- writing down

    def _use(self, site: Site, target: Target, method: str | None) -> Use:
        file, line = site.scope.file.name, _line(site)
        return Use(target.host, target.port, method, target.path, file, line)

    def _add(self, site: Site, found: Found, kind: str, host: str, use: Use) -> None:
        self.uses += 1
        if self.uses > MOST_USES:
            raise failure("source-uses", use.path, Path(str(use.file)), use.line)
        if host != NOBODY:
            getattr(found, kind).append(use)
        elif self._is_own(site) and (
            kind != "calls" or use.port != CONTROL_PORT
        ):  # which every service may call
            file, line, inside = str(use.file), use.line or 1, site.scope.qualified
            message = f"{_WHAT[kind]} of a connector that nobody can tell"
            granted = None if use.host == NOBODY or kind == "events" else use
            found.dynamic.append(Dynamic(kind, message, granted, file, line, inside))

    def _report(self, found: Found, kind: str, site: Site, message: str, use: Use | None) -> None:
        file, line = site.scope.file.name, _line(site)
        if found is self.nobody and not self._is_own(site):
            return  # what another service's source does is not asked for
        if use is not None:
            use = dataclasses.replace(use, file=file, line=line)
        found.dynamic.append(Dynamic(kind, message, use, file, line, site.scope.qualified))

    def _is_own(self, site: Site) -> bool:
        return site.scope.file.path in self.tree.sources.own

    def _path(self, site: Site) -> Path:
        return Path(site.scope.file.name)

    def _placed(self, error: AddressError, site: Site) -> Exception:
        return placed(error, self._path(site), _line(site))


def _line(site: Site) -> int:
    return getattr(site.node, "lineno", 1)


def _same_host(one: str, other: str) -> bool:
    return microbus.flatten_host(one) == microbus.flatten_host(other)


def _bare(route: Text) -> Text:
    """A route without the slash it may begin with."""
    if route and isinstance(route[0], str):
        return (route[0].removeprefix("/"), *route[1:])
    return route
