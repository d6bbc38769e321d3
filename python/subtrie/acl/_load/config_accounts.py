"""The exports, imports and mappings of the accounts of a server configuration."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from ..._core import engine
from ..._core.errors import SubtrieError
from ..._core.file_errors import Mistakes, file_error
from .._account import (
    GLOBAL,
    Account,
    Export,
    Import,
    Mapping,
    Target,
    add_implied,
    pattern_of,
    wildcard_numbers,
)
from .._subject_transform import SubjectTransform
from .config_keys import FLAG, NUMBER, SPAN_TEXT, TEXT, keys_of, of_kind, texts
from .config_parser import Node

_EXPORT = {
    "stream": "stream", "service": "service", "accounts": "accounts",
    "response": "response", "response_type": "response", "threshold": "threshold",
    "response_threshold": "threshold", "response_max_time": "threshold",
    "response_time": "threshold", "latency": "latency",
    "account_token_position": "position", "allow_trace": "trace",
}  # fmt: skip
_IMPORT = {
    "stream": "stream", "service": "service", "prefix": "prefix", "to": "to", "share": "share",
    "allow_trace": "trace",
}  # fmt: skip
_WHERE = {"account": "account", "subject": "subject"}
_LATENCY = {"sampling": "sampling", "subject": "subject"}
#: The keys of a block ``jetstream`` that switch it off.
ENABLED = ("enabled", "enable")
_RESPONSES = ("single", "singleton", "stream", "chunk", "chunked")
_TARGET = {
    "dest": "target", "destination": "target", "weight": "weight", "cluster": "cluster",
}  # fmt: skip


def accounts_of(values: dict[str, Node]) -> dict[str, Account]:
    """Return the accounts by name, with ``$G`` and the system account.

    Args:
        values: the values of the configuration by key.

    Raises:
        PermissionsError: what nats-server would refuse: an unknown key, a value of another type,
            an import that no export allows.
    """
    accounts = {GLOBAL: Account(GLOBAL)}
    for key in ("mappings", "maps"):
        if key in values:
            accounts[GLOBAL].mappings += _mappings(values[key])
    nodes: list[tuple[Import, Node]] = []
    blocks = values.get("accounts")
    mistakes = Mistakes()
    if blocks is not None and isinstance(blocks.value, dict):
        for name, node in blocks.value.items():
            try:
                if not node.used:
                    accounts[name] = _account(name, node, nodes)
            except SubtrieError as error:
                mistakes.add(error)
    elif blocks is not None:
        accounts |= {each.value: Account(each.value) for each in blocks.value}
    mistakes.check()
    for name, account in accounts.items():
        for taken in account.imports:
            node = next(node for each, node in nodes if each is taken)
            try:
                _authorised(name, taken, accounts, node)
            except SubtrieError as error:
                mistakes.add(error)
    system = system_of(values)
    for account in accounts.values():
        for offered in account.exports:
            if unknown := sorted({*(offered.accounts or ())} - (accounts.keys() - {GLOBAL})):
                mistakes.add(
                    file_error("account-name", unknown[0], Path(offered.file or ""), offered.line)
                )
    mistakes.check()
    if system is not None:
        accounts.setdefault(system, Account(system))
    stored = "jetstream" in values and jetstream_enabled(values["jetstream"])
    if not set(accounts) - {GLOBAL, system}:
        accounts[GLOBAL].jetstream = stored
    for account in accounts.values():
        account.jetstream = account.jetstream and stored
    add_implied(accounts, system, stored=stored)
    return accounts


def _account(name: str, node: Node, nodes: list[tuple[Import, Node]]) -> Account:
    """One account; each import is added to ``nodes`` with its node."""
    account = Account(name)
    fields = {key.lower(): each for key, each in node.value.items()}
    mistakes = Mistakes()
    for each in _items(fields.get("exports"), "exports"):
        try:
            account.exports.append(_export(each))
        except SubtrieError as error:
            mistakes.add(error)
    for each in _items(fields.get("imports"), "imports"):
        try:
            account.imports.append(_import(each))
        except SubtrieError as error:
            mistakes.add(error)
            continue
        nodes.append((account.imports[-1], each))
    for key in ("mappings", "maps"):
        try:
            account.mappings += _mappings(fields[key]) if key in fields else []
        except SubtrieError as error:
            mistakes.add(error)
    if "limits" in fields and not isinstance(fields["limits"].value, dict):
        mistakes.add(file_error("config-type", "limits", node.file, fields["limits"].line))
    mistakes.check()
    account.jetstream = "jetstream" in fields and _jetstream(fields["jetstream"])
    return account


def _jetstream(node: Node) -> bool:
    """Return True if an account has JetStream."""
    value: Any = node.value
    words = ("enabled", "enable", "disabled", "disable")
    right = isinstance(value, bool | dict) or str(value).lower() in words
    if not right:
        raise file_error("config-type", "jetstream", node.file, node.line)
    return jetstream_enabled(node)


def system_of(values: dict[str, Node]) -> str | None:
    """Return the name of the system account; None if the configuration has none."""
    for key in ("system_account", "system"):
        if key in values:
            return str(values[key].value)
    off = ("no_system_account", "no_system", "no_sys_acc")
    return None if any(key in values and values[key].value for key in off) else "$SYS"


def jetstream_enabled(node: Node) -> bool:
    """Return True if a block ``jetstream`` enables it."""
    value: Any = node.value
    if isinstance(value, str):
        return value.lower() in ("enabled", "enable")
    if isinstance(value, dict):
        return all(bool(each.value) for key, each in value.items() if key.lower() in ENABLED)
    return value is not False


def _items(node: Node | None, where: str) -> list[Node]:
    if node is None:
        return []
    if not isinstance(node.value, list):
        raise file_error("config-type", where, node.file, node.line)
    return list(node.value)


def _kind(found: dict[str, Node], node: Node) -> str:
    kinds = [kind for kind in ("stream", "service") if kind in found]
    if len(kinds) != 1:
        raise file_error("config-type", "stream or service", node.file, node.line)
    return kinds[0]


def _pattern(node: Node, key: str) -> str:
    text: str = of_kind(node, TEXT, key)
    _check(text, node)
    return text


def _check(text: str, node: Node) -> None:
    try:
        engine.check_pattern(pattern_of(text), "server")
    except SubtrieError as error:
        raise file_error(error.reason, text, node.file, node.line, error.position) from None


def _check_subject(text: str, node: Node) -> None:
    try:
        engine.check_subject(text, "server")
    except SubtrieError as error:
        raise file_error(error.reason, text, node.file, node.line, error.position) from None


def _export(node: Node) -> Export:
    found = keys_of(node, _EXPORT, "exports")
    kind = _kind(found, node)
    accounts = None
    if "accounts" in found:
        if isinstance(found["accounts"].value, str):  # the broker takes a list only
            raise file_error("config-type", "accounts", node.file, found["accounts"].line)
        accounts = tuple(each.value for each in texts(found["accounts"], "accounts"))
    for key, check in (("response", _check_response), ("threshold", _check_threshold),
                       ("latency", _check_latency)):  # fmt: skip
        if key in found:
            if kind == "stream":
                raise file_error("config-type", key, node.file, found[key].line)
            check(found[key])
    position = of_kind(found["position"], NUMBER, "position") if "position" in found else 0
    pattern = _pattern(found[kind], kind)
    return Export(kind, pattern, accounts, node.line, position=position, file=str(node.file))


def _check_response(node: Node) -> None:
    if of_kind(node, TEXT, "response").lower() not in _RESPONSES:
        raise file_error("config-type", "response", node.file, node.line)


def _check_threshold(node: Node) -> None:
    of_kind(node, SPAN_TEXT, "threshold")


def _check_latency(node: Node) -> None:
    """Refuse what is neither a subject nor a block with one, and a share of the requests."""
    if isinstance(node.value, str):
        _check_subject(node.value, node)
        return
    found = keys_of(node, _LATENCY, "latency")
    if "subject" not in found:
        raise file_error("config-type", "latency", node.file, node.line)
    _check_subject(of_kind(found["subject"], TEXT, "subject"), node)
    share: Any = found["sampling"].value if "sampling" in found else 100
    if isinstance(share, str):
        if share.lower() == "headers":
            return
        digits = share.removesuffix("%")
        share = int(digits) if digits.isdecimal() else None
    if type(share) is not int or not 1 <= share <= 100:
        raise file_error("config-type", "sampling", node.file, found["sampling"].line)


def _import(node: Node) -> Import:
    found = keys_of(node, _IMPORT, "imports")
    kind = _kind(found, node)
    where = keys_of(found[kind], _WHERE, kind)
    if set(where) != {"account", "subject"}:
        raise file_error("config-type", kind, node.file, node.line)
    account: str = of_kind(where["account"], TEXT, "account")
    subject = _pattern(where["subject"], "subject")
    for key in ("share", "trace"):
        if key in found:
            of_kind(found[key], FLAG, key)
    local = subject
    if "to" in found:
        if kind == "stream" and "prefix" in found:
            raise file_error("alias-twice", "prefix", node.file, node.line)
        local = _pattern(found["to"], "to")
        if not _is_renaming(subject, local):
            raise file_error("mapping", f"{subject} to {local}", node.file, node.line)
    elif "prefix" in found and kind == "stream":
        prefix = of_kind(found["prefix"], TEXT, "prefix").removesuffix(".")
        _check_subject(prefix, node)
        local = f"{prefix}.{subject}"
    return Import(kind, account, subject, local, node.line, file=str(node.file))


def _is_renaming(subject: str, local: str) -> bool:
    """Return whether the wildcards of a subject are those of its other name.

    Of a subject without wildcards the broker takes any other name, as text.
    """
    tokens, others = subject.split("."), local.split(".")
    stars = tokens.count("*")
    if not stars and tokens[-1] != ">":
        return True
    named = wildcard_numbers(others)
    ends = (tokens[-1] == ">") == (others[-1] == ">")
    return ends and len(named) >= stars and all(number <= stars for number in named)


def _authorised(name: str, taken: Import, accounts: dict[str, Account], node: Node) -> None:
    """Refuse an import that no export allows, as the broker does when it starts."""
    exporter = accounts.get(taken.account)
    for each in exporter.exports if exporter else ():
        if each.allows(taken, name):
            return
    raise file_error("import-refused", f"{taken.account} {taken.subject}", node.file, node.line)


def _mappings(node: Node) -> list[Mapping]:
    if not isinstance(node.value, dict):
        raise file_error("config-type", "mappings", node.file, node.line)
    found = []
    mistakes = Mistakes()
    for source, target in node.value.items():
        try:
            found.append(_mapping(source, target))
        except SubtrieError as error:
            mistakes.add(error)
    mistakes.check()
    return found


def _mapping(source: str, target: Node) -> Mapping:
    _check(source, target)
    if isinstance(target.value, str):
        targets = [(target, Target(target.value))]
    else:
        rows = target.value if isinstance(target.value, list) else [target]
        targets = [(row, _target(row)) for row in rows]
    for row, each in targets:
        _check_target(source, each, row)
    mapping = Mapping(source, tuple(each for _, each in targets))
    if fault := mapping.fault():
        raise file_error("mapping", fault, target.file, target.line)
    return mapping


def _target(row: Node) -> Target:
    fields = keys_of(row, _TARGET, "mappings")
    if not {"target", "weight"} <= set(fields):
        missing = "weight" if "target" in fields else "destination"
        raise file_error("config-type", missing, row.file, row.line)
    subject: str = of_kind(fields["target"], TEXT, "destination")
    cluster = of_kind(fields["cluster"], TEXT, "cluster") if "cluster" in fields else None
    return Target(subject, _weight(fields["weight"]), cluster or None)


def _check_target(source: str, target: Target, node: Node) -> None:
    try:
        SubjectTransform(source, target.subject)
    except ValueError as error:
        raise file_error("mapping", f"{target.subject}: {error}", node.file, node.line) from None


def _weight(node: Node) -> int:
    """The percent of a target: a number, or a text such as ``40%``."""
    value: Any = node.value
    if isinstance(value, str) and value.removesuffix("%").isdecimal():
        value = int(value.removesuffix("%"))
    if type(value) is not int or not 0 <= value <= 100:
        raise file_error("config-type", "weight", node.file, node.line)
    return value
