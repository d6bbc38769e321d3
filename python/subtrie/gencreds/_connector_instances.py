"""Connector instances: from a parameter or ``self`` back to the places that create connectors.

An annotated parameter is every connector that a call in the tree passes. If none is known,
it is the one service of the tree, or of the file; if there are several, it is unresolved.
"""

from __future__ import annotations

import ast
import dataclasses
from collections.abc import Iterable
from pathlib import Path

from .._core.errors import AddressError
from .._core.file_errors import located
from ..microbus import check_identity_host
from ._abstract_values import (
    ClassValue,
    ExternalObject,
    FunctionValue,
    Instance,
    ParameterValue,
    PossibleValues,
    Unknown,
    of_kind,
)
from ._constant_evaluation import ConstantEvaluator
from ._escaping_functions import escaping_functions
from ._partial_strings import PartialString
from ._scopes import FunctionNode, Scope, parameters
from ._service import Note
from ._source_files import SourceFile
from ._source_tree import SourceTree
from ._targets import literal_text

Key = tuple[ast.AST, str]

#: What is followed through parameters.
_FOLLOWED = ("Connector", "Client")


@dataclasses.dataclass(frozen=True, slots=True)
class Owners:
    """The hosts of the services whose connector it may be, and whether there may be others."""

    hosts: frozenset[str]
    others: bool


class ConnectorInstances:
    """Every ``Connector(…)`` of a source tree, and where it is passed."""

    def __init__(self, tree: SourceTree, evaluator: ConstantEvaluator) -> None:
        self.tree, self.evaluator = tree, evaluator
        self._given: dict[Key, set[Instance | ParameterValue | Unknown]] = {}
        self.instances: list[Instance] = []
        for file_scopes in tree.all_files():
            for site in file_scopes.sites:
                if isinstance(site.node, ast.Call):
                    self._call(site.node, site.scope)
        own = [each for each in self.instances if each.scope.file.path in tree.sources.own]
        self._outside = set(self.instances) - set(own)  # services of imported files
        #: What lists of uses name, which is not passed on by that.
        self.listed = {
            node
            for each in self.instances
            if (uses := self._uses_of(each)) is not None
            for node in ast.walk(uses[0])
        }
        #: Names of functions that are stored or passed on, so that a call of them is not seen.
        self._escaped = escaping_functions(tree)
        self.hosts: dict[str, list[Instance]] = {}
        self.without_host: list[tuple[Instance, str]] = []
        #: The hosts that a connector may have; None for one that is not known.
        self._hosts_of: dict[Instance, set[str | None]] = {}
        for each in own:
            for text in self._host(each):
                host = literal_text(text)
                if host is None:
                    why = ", ".join(h.why for h in text if not isinstance(h, str))
                    self.without_host.append((each, why))
                else:
                    host = self._checked(host, each)
                    if host is None:
                        self._outside.add(each)
                        continue
                    self.hosts.setdefault(host, []).append(each)
                self._hosts_of.setdefault(each, set()).add(host)

    def _checked(self, host: str, instance: Instance) -> str | None:
        """Return the host; None if it is a mistake that is passed over."""
        try:
            return check_identity_host(host)
        except AddressError as error:
            if instance.scope.file.path in self.tree.sources.passed_over:
                return None
            raise located(error, Path(instance.scope.file.name), instance.node.lineno) from None

    # --- hosts

    def _host(self, instance: Instance) -> list[PartialString]:
        """The texts of the host of a connector."""
        given = argument(instance.node, 0, "host")
        if instance.of is not None:
            given_by_class = self._host_of_class(instance)
            if given_by_class is not None:
                return given_by_class
        return self.evaluator.of(given, instance.scope)

    def _host_of_class(self, instance: Instance) -> list[PartialString] | None:
        """The host that ``super().__init__(…)`` of a derived class passes."""
        assert instance.of is not None
        for above in self.tree.lineage(instance.of):
            for binding in above.bindings.get("__init__", []):
                inner = self.tree.scope_of(binding.node, above)
                call = _init_call(binding.node)
                if call is None:
                    return self.evaluator.of(None, inner)
                host = argument(call, _offset(call), "host")
                place = _parameter_place(binding.node, host)
                if place is None:
                    return self.evaluator.of(host, inner)
                assert isinstance(host, ast.Name)
                return self.evaluator.of(argument(instance.node, place, host.id), instance.scope)
        return None

    def ids(self, host: str) -> tuple[str, ...]:
        """Return the ids of all replicas of a service; empty if one of them is not known."""
        ids: set[str] = set()
        for instance in self.hosts.get(host, []):
            for text in self.evaluator.of(argument(instance.node, -1, "id"), instance.scope):
                text_of_id = literal_text(text)
                if not text_of_id:
                    return ()
                ids.add(text_of_id)
        return tuple(sorted(ids))

    def uses(self, host: str) -> list[tuple[ast.expr, Scope]]:
        """Return the lists of uses of a service; none unless each of its connectors has one."""
        lists = [self._uses_of(each) for each in self.hosts.get(host, [])]
        found = [each for each in lists if each is not None]
        return found if len(found) == len(lists) else []

    def _uses_of(self, instance: Instance) -> tuple[ast.expr, Scope] | None:
        """The list of a connector, which a derived class may pass to ``super().__init__``."""
        given = argument(instance.node, -1, "uses")
        if given is not None:
            return given, instance.scope
        for above in [] if instance.of is None else self.tree.lineage(instance.of):
            for binding in above.bindings.get("__init__", []):
                call = _init_call(binding.node)
                given = None if call is None else argument(call, -1, "uses")
                if given is not None:
                    return given, self.tree.scope_of(binding.node, above)
        return None

    def planes(self, host: str) -> list[Note]:
        """Return the planes that the source names for a service, each with its place."""
        notes = []
        for instance in self.hosts.get(host, []):
            given = argument(instance.node, -1, "plane")
            for text in [] if given is None else self.evaluator.of(given, instance.scope):
                plane = literal_text(text)
                if plane:
                    notes.append(Note(plane, instance.scope.file.name, instance.node.lineno))
        return notes

    # --- which connector is passed where

    def _call(self, call: ast.Call, scope: Scope) -> None:
        """Record the connectors that a call creates or passes on."""
        for each in self.tree.resolver.of(call, scope):
            if isinstance(each, Instance) and each.node is call and each.kind == "Connector":
                self.instances.append(each)
                if each.of is not None:
                    for of in self.tree.lineage(each.of):
                        self._given.setdefault((of.node, "self"), set()).add(each)
        for each in self.tree.resolver.of(call.func, scope):
            if isinstance(each, FunctionValue):
                self._give(each, call.args, call.keywords, scope)
            elif isinstance(each, ClassValue) and not each.is_instance:
                self._construct(each.scope, call, scope)
            elif isinstance(each, ExternalObject | Unknown):
                self._pass_on(call, scope)

    def _construct(self, of: Scope, call: ast.Call, scope: Scope) -> None:
        """Record the connectors passed to a constructor, or to the fields of a dataclass."""
        for above in self.tree.lineage(of):
            for binding in above.bindings.get("__init__", []):
                if isinstance(binding.node, FunctionNode):
                    inner = self.tree.scope_of(binding.node, above)
                    function = FunctionValue(binding.node, inner, bound=True)
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
                    self._add((above.node, name), self.tree.resolver.of(value, scope))

    def _pass_on(self, call: ast.Call, scope: Scope) -> None:
        """Record ``partial(f, connector)``: the arguments after a function are passed to it."""
        for place, each in enumerate(call.args):
            if isinstance(each, ast.Name | ast.Attribute):
                for value in self.tree.resolver.of(each, scope):
                    if isinstance(value, FunctionValue):
                        self._give(value, call.args[place + 1 :], call.keywords, scope)

    def _give(
        self,
        function: FunctionValue,
        arguments: list[ast.expr],
        keywords: list[ast.keyword],
        scope: Scope,
    ) -> None:
        """Record the connectors that the arguments of a call pass to a function."""
        node, names = function.node, self.tree.resolver
        positional = [*node.args.posonlyargs, *node.args.args][1 if function.bound else 0 :]
        for each in parameters(node):
            values = names.annotated(each.annotation, function.scope, node, each.arg)
            if each.annotation is None or not any(of_kind(values, kind) for kind in _FOLLOWED):
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

    def _add(self, key: Key, values: PossibleValues) -> None:
        known = self._given.setdefault(key, set())
        for kind in _FOLLOWED:
            known.update(of_kind(values, kind))
        if any(not isinstance(each, Instance | ParameterValue) for each in values):
            known.add(Unknown())

    # --- result

    def passed(
        self, values: Iterable[Instance | ParameterValue]
    ) -> list[Instance | ParameterValue]:
        """Return the instances that values may be; a parameter that may be others stays."""
        found: dict[Instance | ParameterValue, None] = {}
        todo, done = list(values), set()
        while todo:
            each = todo.pop(0)
            if each in done:
                continue
            done.add(each)
            given = (
                set()
                if isinstance(each, Instance)
                else self._given.get((each.node, each.name), set())
            )
            if not given or any(isinstance(one, Unknown) for one in given):
                found[each] = None
            todo += sorted(
                (one for one in given if not isinstance(one, Unknown)),
                key=lambda one: (
                    getattr(one.node, "lineno", 0),
                    getattr(one.node, "col_offset", 0),
                ),
            )
        return list(found)

    def owners(self, values: list[Instance | ParameterValue], file: SourceFile) -> Owners:
        """Return the services whose connectors these are, if they are used in this file."""
        hosts: set[str] = set()
        others = not values
        escaped = False
        done: set[Instance | ParameterValue] = set()
        todo = list(values)
        while todo:
            each = todo.pop()
            if each in done:
                continue
            done.add(each)
            if each in self._outside:
                continue
            if isinstance(each, Instance):
                found = self._hosts_of.get(each, set())
                others = others or not found or None in found
                hosts |= {host for host in found if host is not None}
                continue
            given = self._given.get((each.node, each.name), set())
            others = others or not given
            escaped = escaped or getattr(each.node, "name", None) in self._escaped
            for one in given:
                if isinstance(one, Unknown):
                    others = True
                else:
                    todo.append(one)
        if escaped and len(self.hosts) > 1:
            return Owners(frozenset(hosts), True)  # any service may call it
        if not others:
            return Owners(frozenset(hosts), False)
        alone = not self._outside or file.path in self.tree.sources.own
        if alone and len(self.hosts) == 1 and not self.without_host:
            return Owners(frozenset(self.hosts), False)
        here = {
            host
            for host, several in self.hosts.items()
            if any(instance.scope.file is file for instance in several)
        }
        if len(here) == 1 and not any(
            instance.scope.file is file for instance, _ in self.without_host
        ):
            return Owners(frozenset(hosts | here), False)
        return Owners(frozenset(hosts), True)


def argument(call: ast.Call, place: int, name: str) -> ast.expr | None:
    """Return an argument by position or name; None if it is missing or after a star."""
    for keyword in call.keywords:
        if keyword.arg == name:
            return keyword.value
    if place < 0 or any(isinstance(each, ast.Starred) for each in call.args[: place + 1]):
        return None
    return call.args[place] if place < len(call.args) else None


def _default(node: FunctionNode, wanted: ast.arg) -> ast.expr | None:
    """The default value of a parameter."""
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
    """The position of the host: after ``self`` if that is passed explicitly."""
    assert isinstance(call.func, ast.Attribute)
    return 0 if isinstance(call.func.value, ast.Call) else 1


def _parameter_place(init: ast.AST, host: ast.expr | None) -> int | None:
    """The position of the parameter that is the host, not counting ``self``."""
    if not isinstance(host, ast.Name) or not isinstance(init, FunctionNode):
        return None
    names = [each.arg for each in (*init.args.posonlyargs, *init.args.args)][1:]
    if host.id in names:
        return names.index(host.id)
    return -1 if host.id in [each.arg for each in init.args.kwonlyargs] else None
