"""Whose connector it is: from a parameter or ``self`` back to where connectors are made.

An annotated parameter is every connector that a call in the tree gives it. Where a call does not
tell, it is the one service of the tree, or of the file; where there are several, nobody can tell.
"""

from __future__ import annotations

import ast
import dataclasses
from pathlib import Path

from .._errors import AddressError
from .._file_errors import placed
from ..microbus import check_identity_host
from ._abstract_values import Class, Foreign, Free, Function, Made, Things, Unknown, kinds
from ._constant_evaluation import Values
from ._partial_strings import Text
from ._scopes import Function as FunctionNode
from ._scopes import Scope, parameters
from ._service import Note
from ._source_files import File
from ._source_tree import Tree
from ._targets import literal

Key = tuple[ast.AST, str]


@dataclasses.dataclass(frozen=True, slots=True)
class Owners:
    """The hosts whose connector it may be, and whether it may be another one too."""

    hosts: frozenset[str]
    others: bool


class Connectors:
    """Every ``Connector(…)`` of a tree, and who holds it."""

    def __init__(self, tree: Tree, values: Values) -> None:
        self.tree, self.values = tree, values
        self._given: dict[Key, set[Made | Free | Unknown]] = {}
        self.made: list[Made] = []
        for walked in tree.everything():
            for site in walked.sites:
                if isinstance(site.node, ast.Call):
                    self._call(site.node, site.scope)
        own = [each for each in self.made if each.scope.file.path in tree.sources.own]
        self._outside = set(self.made) - set(own)  # services whose source is read along
        self.hosts: dict[str, list[Made]] = {}
        self.untold: list[tuple[Made, str]] = []
        for each in own:
            for text in self._host(each):
                host = literal(text)
                if host is None:
                    why = ", ".join(h.why for h in text if not isinstance(h, str))
                    self.untold.append((each, why))
                else:
                    self.hosts.setdefault(self._checked(host, each), []).append(each)

    def _checked(self, host: str, made: Made) -> str:
        try:
            return check_identity_host(host)
        except AddressError as error:
            raise placed(error, Path(made.scope.file.name), made.node.lineno) from None

    # --- hosts

    def _host(self, made: Made) -> list[Text]:
        """The texts of the host of a connector."""
        given = argument(made.node, 0, "host")
        if made.of is not None:
            given_by_class = self._host_of_class(made)
            if given_by_class is not None:
                return given_by_class
        return self.values.of(given, made.scope)

    def _host_of_class(self, made: Made) -> list[Text] | None:
        """What ``super().__init__(…)`` of a class below Connector says."""
        assert made.of is not None
        for above in self.tree.lineage(made.of):
            for binding in above.bindings.get("__init__", []):
                inner = self.tree.scope_of(binding.node, above)
                call = _init_call(binding.node)
                if call is None:
                    return self.values.of(None, inner)
                host = argument(call, _offset(call), "host")
                place = _parameter_place(binding.node, host)
                if place is None:
                    return self.values.of(host, inner)
                assert isinstance(host, ast.Name)
                return self.values.of(argument(made.node, place, host.id), made.scope)
        return None

    def ids(self, host: str) -> tuple[str, ...]:
        """The ids of all replicas of a service; none where one of them is not told."""
        ids: set[str] = set()
        for made in self.hosts.get(host, []):
            for text in self.values.of(argument(made.node, -1, "id"), made.scope):
                told = literal(text)
                if not told:
                    return ()
                ids.add(told)
        return tuple(sorted(ids))

    def planes(self, host: str) -> list[Note]:
        """The planes that the source names for a service, each with its place."""
        notes = []
        for made in self.hosts.get(host, []):
            given = argument(made.node, -1, "plane")
            for text in [] if given is None else self.values.of(given, made.scope):
                plane = literal(text)
                if plane:
                    notes.append(Note(plane, made.scope.file.name, made.node.lineno))
        return notes

    # --- who is given what

    def _call(self, call: ast.Call, scope: Scope) -> None:
        for each in self.tree.names.of(call, scope):
            if isinstance(each, Made) and each.node is call and each.kind == "Connector":
                self.made.append(each)
                if each.of is not None:
                    for of in self.tree.lineage(each.of):
                        self._given.setdefault((of.node, "self"), set()).add(each)
        for each in self.tree.names.of(call.func, scope):
            if isinstance(each, Function):
                self._give(each, call.args, call.keywords, scope)
            elif isinstance(each, Class) and not each.made:
                self._construct(each.scope, call, scope)
            elif isinstance(each, Foreign | Unknown):
                self._pass_on(call, scope)

    def _construct(self, of: Scope, call: ast.Call, scope: Scope) -> None:
        for above in self.tree.lineage(of):
            for binding in above.bindings.get("__init__", []):
                if isinstance(binding.node, FunctionNode):
                    inner = self.tree.scope_of(binding.node, above)
                    function = Function(binding.node, inner, bound=True)
                    self._give(function, call.args, call.keywords, scope)
                    return
        fields = [
            name
            for above in reversed(self.tree.lineage(of))
            for name, bindings in above.bindings.items()
            if any(each.annotation is not None for each in bindings)
        ]
        for place, name in enumerate(fields):
            value = argument(call, place, name)
            if value is not None:
                for above in self.tree.lineage(of):
                    self._add((above.node, name), self.tree.names.of(value, scope))

    def _pass_on(self, call: ast.Call, scope: Scope) -> None:
        """``partial(f, connector)``, ``run(f, connector)``: what follows a function is for it."""
        for place, each in enumerate(call.args):
            if isinstance(each, ast.Name | ast.Attribute):
                for thing in self.tree.names.of(each, scope):
                    if isinstance(thing, Function):
                        self._give(thing, call.args[place + 1 :], call.keywords, scope)

    def _give(
        self,
        function: Function,
        arguments: list[ast.expr],
        keywords: list[ast.keyword],
        scope: Scope,
    ) -> None:
        node, names = function.node, self.tree.names
        positional = [*node.args.posonlyargs, *node.args.args][1 if function.bound else 0 :]
        for each in parameters(node):
            things = names.annotated(each.annotation, function.scope, node, each.arg)
            if each.annotation is None or not kinds(things, "Connector"):
                continue
            value = None
            if each in positional and positional.index(each) < len(arguments):
                value = arguments[positional.index(each)]
                before = arguments[: positional.index(each) + 1]
                if any(isinstance(a, ast.Starred) for a in before):
                    self._add((node, each.arg), frozenset({Unknown()}))
                    continue
            for keyword in keywords:
                if keyword.arg == each.arg:
                    value = keyword.value
            if value is None:
                value = _default(node, each)
            if value is not None:
                self._add((node, each.arg), names.of(value, scope))

    def _add(self, key: Key, things: Things) -> None:
        known = self._given.setdefault(key, set())
        known.update(kinds(things, "Connector"))
        if any(not isinstance(each, Made | Free) for each in things):
            known.add(Unknown())

    # --- the answer

    def owners(self, things: list[Made | Free], file: File) -> Owners:
        """Whose connectors these are, where they are used in this file."""
        hosts: set[str] = set()
        others = not things
        done: set[Made | Free] = set()
        todo = list(things)
        while todo:
            each = todo.pop()
            if each in done:
                continue
            done.add(each)
            if each in self._outside:
                continue
            if isinstance(each, Made):
                found = {host for host, made in self.hosts.items() if each in made}
                others = others or not found or any(each is made for made, _ in self.untold)
                hosts |= found
                continue
            given = self._given.get((each.node, each.name), set())
            others = others or not given
            for one in given:
                if isinstance(one, Unknown):
                    others = True
                else:
                    todo.append(one)
        if not others:
            return Owners(frozenset(hosts), False)
        alone = not self._outside or file.path in self.tree.sources.own
        if alone and len(self.hosts) == 1 and not self.untold:
            return Owners(frozenset(self.hosts), False)
        here = {
            host
            for host, several in self.hosts.items()
            if any(made.scope.file is file for made in several)
        }
        if len(here) == 1 and not any(made.scope.file is file for made, _ in self.untold):
            return Owners(frozenset(hosts | here), False)
        return Owners(frozenset(hosts), True)


def argument(call: ast.Call, place: int, name: str) -> ast.expr | None:
    """An argument by place or name; None where it is not given, or hidden behind a star."""
    for keyword in call.keywords:
        if keyword.arg == name:
            return keyword.value
    if place < 0 or any(isinstance(each, ast.Starred) for each in call.args[: place + 1]):
        return None
    return call.args[place] if place < len(call.args) else None


def _default(node: FunctionNode, wanted: ast.arg) -> ast.expr | None:
    given = node.args
    positional = [*given.posonlyargs, *given.args]
    if wanted in positional:
        place = positional.index(wanted) - len(positional) + len(given.defaults)
        return given.defaults[place] if place >= 0 else None
    if wanted in given.kwonlyargs:
        return given.kw_defaults[given.kwonlyargs.index(wanted)]
    return None


def _init_call(node: ast.AST) -> ast.Call | None:
    """The call of ``super().__init__`` or ``Connector.__init__`` in a method."""
    for each in ast.walk(node):
        if (
            isinstance(each, ast.Call)
            and isinstance(each.func, ast.Attribute)
            and each.func.attr == "__init__"
        ):
            return each
    return None


def _offset(call: ast.Call) -> int:
    """Where the host stands: behind ``self`` if that is given by hand."""
    assert isinstance(call.func, ast.Attribute)
    return 0 if isinstance(call.func.value, ast.Call) else 1


def _parameter_place(init: ast.AST, host: ast.expr | None) -> int | None:
    """The place of the parameter that the host is, behind ``self``."""
    if not isinstance(host, ast.Name) or not isinstance(init, FunctionNode):
        return None
    names = [each.arg for each in (*init.args.posonlyargs, *init.args.args)][1:]
    if host.id in names:
        return names.index(host.id)
    return -1 if host.id in [each.arg for each in init.args.kwonlyargs] else None
