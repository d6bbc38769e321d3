"""Differences between code, rules and traffic: one row for each call of a service.

What every service needs (its replies, the control port) is left out. Pure rules without Spark.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from typing import Any

from ..._core import engine
from ..._core.errors import SubtrieError
from ...gencreds import Service, rule
from .rule_table import Rule

#: The control port, which every service may use.
CONTROL = 888
_PLACEHOLDER = "p"
_HEAD = 7


@dataclass(frozen=True)
class CodeCall:
    """A call in the code, as a pattern.

    Attributes:
        service: The service that calls.
        pattern: What it publishes, with ``*`` for the plane.
        origin: File and line.
    """

    service: str
    pattern: str
    origin: str | None


@dataclass(frozen=True)
class Call:
    """Messages of a service to one pattern.

    Attributes:
        service: The sender.
        pattern: The subject with the subscribed route, else folded.
        route: The subscribed route, or None.
        code: The number of the call in the code, or None.
        rule: The rule that decides, or None.
        denied: Whether that rule denies it.
        published: The accepted messages.
        refused: The refused messages.
        ruled: The service of that rule; None if it is the sender.
    """

    service: str
    pattern: str
    route: str | None
    code: int | None
    rule: str | None
    denied: bool
    published: int
    refused: int
    ruled: str | None = None


def calls_in(services: Iterable[Service]) -> list[CodeCall]:
    """Return the calls and events of services that could be determined, in a stable order."""
    found = []
    for service in services:
        for use in (*service.calls, *service.events):
            if use.port == CONTROL:
                continue
            try:
                pattern = rule(
                    "publish", plane=_PLACEHOLDER, host=use.host, source=service.host,
                    port=use.port, method=use.method, path=use.path,
                )  # fmt: skip
            except SubtrieError:
                continue  # gencreds reports it
            origin = None if use.file is None else f"{use.file}:{use.line}"
            found.append(CodeCall(service.host, f"*{pattern.removeprefix(_PLACEHOLDER)}", origin))
    return sorted(
        found, key=lambda call: (call.service, _wildness(call.pattern), call.origin or "")
    )


def _wildness(pattern: str) -> list[tuple[int, str]]:
    """Return a key that sorts specific patterns first: a name, then ``*``, then ``>``."""
    return [("*>".find(token), token) for token in pattern.split(".")]


@dataclass
class _Row:
    code: str | None = None
    allowed_by: str | None = None
    denied_by: str | None = None
    traffic: int = 0
    refused: int = 0
    origins: set[str] = field(default_factory=set)


def gap_rows(
    calls: Iterable[Call],
    code: Sequence[CodeCall] | None,
    scanned: Iterable[str],
    rules: Sequence[Rule] | None,
) -> list[dict[str, Any]]:
    """Return the rows of ``gap``.

    Args:
        calls: The traffic.
        code: The calls in the code, by number; None if no code was given.
        scanned: The services whose code was read.
        rules: The publish rules of all services; None if none were given.
    """
    found: dict[tuple[Any, ...], _Row] = {}
    traffic = list(calls)
    of_service = _of_services(rules or (), traffic)
    used: set[tuple[str, str]] = set()
    for call in code or ():
        row = found.setdefault(_key(call.service, call.pattern), _Row())
        row.origins.add(call.origin or "")
        if call.service not in of_service:
            continue
        allowed_by, denied_by = of_service[call.service].decide(call.pattern)
        row.denied_by = row.denied_by or denied_by
        if allowed_by is not None:
            row.allowed_by = allowed_by
            used.add((call.service, allowed_by))
    for each in traffic:
        pattern = each.pattern if each.code is None or code is None else code[each.code].pattern
        without_path = each.route is None and each.code is None
        row = found.setdefault(_key(each.service, pattern, without_path), _Row())
        row.traffic += each.published
        row.refused += each.refused
        if each.denied:
            row.denied_by = row.denied_by or each.rule
        elif each.rule is not None:
            used.add((each.ruled or each.service, each.rule))
            row.allowed_by = row.allowed_by or each.rule
    for service, entries in of_service.items():
        for entry in entries.allow:
            if (service, entry.text) not in used and not _is_framework(entry.pattern):
                row = found.setdefault(_key(service, entry.pattern), _Row())
                row.allowed_by = row.allowed_by or entry.text
    known = set(scanned)
    rows = []
    for key, row in found.items():
        service, destination, port, method, path = key
        row.code = min(row.origins) if row.origins else None
        finding = _finding(row, code is not None and service in known, service in of_service)
        rows.append(
            {"service": service, "destination": destination, "port": port, "method": method,
             "path": path, "code": row.code, "rule": row.denied_by or row.allowed_by,
             "traffic": row.traffic, "refused": row.refused, "finding": finding}
        )  # fmt: skip
    return rows


def _finding(row: _Row, has_code: bool, has_rules: bool) -> str:
    """Return what is wrong with a call, if anything."""
    seen = row.traffic > 0
    if row.refused and not seen:
        return "refused"
    if row.denied_by is not None:
        return "denied"
    if seen and has_code and row.code is None:
        return "not in code"
    if has_rules and row.allowed_by is None:
        return "no rule"
    if row.code is not None and not seen:
        return "never called"
    if row.code is None and not seen:
        return "rule only"
    return "ok"


@dataclass
class _Entries:
    """The publish rules of a service, and the planes on which it publishes."""

    deny: list[Rule] = field(default_factory=list)
    allow: list[Rule] = field(default_factory=list)
    planes: set[str] = field(default_factory=set)

    def decide(self, pattern: str) -> tuple[str | None, str | None]:
        """Return the allow rule that covers a call of the code, and the deny rule, or None.

        The code does not name its plane. The call is denied if a deny rule covers it on a plane
        on which the service publishes and an allow rule covers it; where no allow rule covers it,
        if deny rules do on all its planes.
        """
        tokens = pattern.split(".")
        tokens[5] = "_"  # code that names no instance
        asked = ".".join(tokens[1:])
        on_planes = [f"{plane}.{asked}" for plane in sorted(self.planes)]
        allowed = [each for each in on_planes if _first_covering(self.allow, each)]
        denies = [_first_covering(self.deny, each) for each in allowed or on_planes]
        denied_by = next(filter(None, denies), None) if allowed or all(denies) else None
        return self._allowed_on_any(asked), denied_by

    def _allowed_on_any(self, asked: str) -> str | None:
        """Return the first allow rule that covers a call on some plane."""
        for each in self.allow:
            head, _, rest = each.pattern.partition(".")
            if head == ">" or (rest and engine.covers(rest, asked)):
                return each.text
        return None


def _of_services(rules: Iterable[Rule], traffic: Iterable[Call]) -> dict[str, _Entries]:
    """Return the rules of each service that has some, with the planes of its traffic.

    Without traffic, the planes are those that its rules name, the allow rules first.
    """
    found: dict[str, _Entries] = {}
    for each in rules:
        entries = found.setdefault(each.service, _Entries())
        (entries.deny if each.effect == "deny" else entries.allow).append(each)
    for call in traffic:
        if call.service in found:
            found[call.service].planes.add(call.pattern.partition(".")[0])
    for entries in found.values():
        for some in (entries.allow, entries.deny):
            named = {each.pattern.partition(".")[0] for each in some} - {"*", ">"}
            entries.planes = entries.planes or named
        entries.planes = entries.planes or {_PLACEHOLDER}
    return found


def _first_covering(rules: Iterable[Rule], pattern: str) -> str | None:
    return next((each.text for each in rules if engine.covers(each.pattern, pattern)), None)


def _key(service: str, pattern: str, without_path: bool = False) -> tuple[Any, ...]:
    """Return destination, port, method and path of a pattern after its service."""
    tokens = pattern.split(".")
    if len(tokens) <= _HEAD and ">" not in tokens:
        return service, pattern, None, "*", None
    tokens += ["*"] * (_HEAD + 1 - len(tokens))
    port, destination, method = tokens[2], tokens[4], tokens[6]
    path = None if without_path else ".".join(tokens[_HEAD:])
    number = int(port) if port.isdecimal() else None
    return service, _host(destination), number, "*" if method == ">" else method, path


def _host(token: str) -> str:
    if token in ("*", ">"):
        return "*"
    try:
        return str(engine.unflatten_host(token))
    except SubtrieError:
        return token


def _is_framework(pattern: str) -> bool:
    """Whether a rule is one that every service has, or about something other than requests."""
    tokens = pattern.split(".")
    if len(tokens) < 4 or tokens[1] not in ("safe", "danger", "*"):
        return True
    return tokens[2] == str(CONTROL)
