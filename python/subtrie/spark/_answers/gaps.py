"""Differences between code, rules and traffic: one row for each call of a service.

What every service needs (its replies, the control port) is left out. Pure rules without Spark.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from typing import Any

from ... import _engine
from ..._errors import SubtrieError
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
        rule: The rule that allows it, or None.
        published: The accepted messages.
        refused: The refused messages.
    """

    service: str
    pattern: str
    route: str | None
    code: int | None
    rule: str | None
    published: int
    refused: int


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
    """Return a key that sorts specific patterns first."""
    return [({"*": 1, ">": 2}.get(token, 0), token) for token in pattern.split(".")]


@dataclass
class _Row:
    code: str | None = None
    rule: str | None = None
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
    allow: dict[str, list[Rule]] = {}
    for one in rules or ():
        if one.effect == "allow":
            allow.setdefault(one.service, []).append(one)
    ruled = {each.service for each in rules or ()}
    used: set[tuple[str, str]] = set()
    for call in code or ():
        row = found.setdefault(_key(call.service, call.pattern), _Row())
        row.origins.add(call.origin or "")
        covering = _covering(allow.get(call.service, ()), call.pattern)
        if covering is not None:
            row.rule = covering
            used.add((call.service, covering))
    for each in calls:
        pattern = each.pattern if each.code is None or code is None else code[each.code].pattern
        without_path = each.route is None and each.code is None
        row = found.setdefault(_key(each.service, pattern, without_path), _Row())
        row.traffic += each.published
        row.refused += each.refused
        if each.rule is not None:
            used.add((each.service, each.rule))
            row.rule = row.rule or each.rule
    for service, entries in allow.items():
        for entry in entries:
            if (service, entry.text) not in used and not _is_framework(entry.pattern):
                row = found.setdefault(_key(service, entry.pattern), _Row())
                row.rule = row.rule or entry.text
    known = set(scanned)
    rows = []
    for key, row in found.items():
        service, destination, port, method, path = key
        row.code = min(row.origins) if row.origins else None
        finding = _finding(row, code is not None and service in known, service in ruled)
        rows.append(
            {"service": service, "destination": destination, "port": port, "method": method,
             "path": path, "code": row.code, "rule": row.rule, "traffic": row.traffic,
             "refused": row.refused, "finding": finding}
        )  # fmt: skip
    return rows


def _finding(row: _Row, has_code: bool, has_rules: bool) -> str:
    """Return what is wrong with a call, if anything."""
    seen = row.traffic > 0
    if row.refused and not seen:
        return "refused"
    if seen and has_code and row.code is None:
        return "not in code"
    if has_rules and row.rule is None:
        return "no rule"
    if row.code is not None and not seen:
        return "never called"
    if row.code is None and not seen:
        return "rule only"
    return "ok"


def _covering(rules: Iterable[Rule], pattern: str) -> str | None:
    """Return the first rule that covers a call, whatever its plane."""
    tokens = pattern.split(".")
    tokens[5] = "_"  # code that names no instance
    asked = ".".join(tokens[1:])
    for each in rules:
        head, _, rest = each.pattern.partition(".")
        if head == ">" or (rest and _engine.covers(rest, asked)):
            return each.text
    return None


def _key(service: str, pattern: str, without_path: bool = False) -> tuple[Any, ...]:
    """Return destination, port, method and path of a pattern after its service."""
    tokens = pattern.split(".")
    if len(tokens) <= _HEAD and ">" not in tokens:
        return service, pattern, None, "*", None
    tokens += ["*"] * (_HEAD + 1 - len(tokens))
    port, destination, method = tokens[2], tokens[4], tokens[6]
    path = None if without_path else ".".join(tokens[_HEAD:])
    number = int(port) if port.isdigit() else None
    return service, _host(destination), number, "*" if method == ">" else method, path


def _host(token: str) -> str:
    if token in ("*", ">"):
        return "*"
    try:
        return str(_engine.unflatten_host(token))
    except SubtrieError:
        return token


def _is_framework(pattern: str) -> bool:
    """Whether a rule is one that every service has, or about something other than requests."""
    tokens = pattern.split(".")
    if len(tokens) < 4 or tokens[1] not in ("safe", "danger", "*"):
        return True
    return tokens[2] == str(CONTROL)
