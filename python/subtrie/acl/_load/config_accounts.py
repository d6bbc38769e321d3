"""The exports, imports and mappings of the accounts of a server configuration."""

from __future__ import annotations

from typing import Any

from ... import _engine
from ..._errors import SubtrieError
from ..._file_errors import file_error
from .._account import Account, Export, Import, Mapping, pattern_of
from .config_keys import FLAG, TEXT, keys_of, of_kind, texts, top_level
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
_TARGET = {
    "dest": "target", "destination": "target", "weight": "weight", "cluster": "cluster",
}  # fmt: skip
#: The account of users without an account.
GLOBAL = "$G"


def accounts_of(document: Node) -> dict[str, Account]:
    """Return the accounts by name, with ``$G``.

    Raises:
        PermissionsError: what nats-server would refuse: an unknown key, a value of another type,
            an import that no export allows.
    """
    values = top_level(document)
    accounts = {GLOBAL: Account(GLOBAL)}
    for key in ("mappings", "maps"):
        if key in values:
            accounts[GLOBAL].mappings += _mappings(values[key])
    blocks = values.get("accounts")
    if blocks is None or not isinstance(blocks.value, dict):
        return accounts
    nodes: list[tuple[Import, Node]] = []
    for name, node in blocks.value.items():
        if node.used:
            continue
        account = accounts[name] = Account(name)
        fields = {key.lower(): each for key, each in node.value.items()}
        for each in _items(fields.get("exports"), "exports"):
            account.exports.append(_export(each))
        for each in _items(fields.get("imports"), "imports"):
            account.imports.append(_import(each))
            nodes.append((account.imports[-1], each))
        for key in ("mappings", "maps"):
            if key in fields:
                account.mappings += _mappings(fields[key])
    for name, account in accounts.items():
        for taken in account.imports:
            node = next(node for each, node in nodes if each is taken)
            _authorised(name, taken, accounts, node)
    return accounts


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
        _engine.check_pattern(pattern_of(text), "server")
    except SubtrieError as error:
        raise file_error(error.reason, text, node.file, node.line, error.position) from None


def _export(node: Node) -> Export:
    found = keys_of(node, _EXPORT, "exports")
    kind = _kind(found, node)
    accounts = None
    if "accounts" in found:
        accounts = tuple(each.value for each in texts(found["accounts"], "accounts"))
    return Export(kind, _pattern(found[kind], kind), accounts, node.line)


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
    elif "prefix" in found and kind == "stream":
        local = f"{of_kind(found['prefix'], TEXT, 'prefix')}.{subject}"
    return Import(kind, account, subject, local, node.line)


def _authorised(name: str, taken: Import, accounts: dict[str, Account], node: Node) -> None:
    """Refuse an import that no export allows, as the broker does when it starts."""
    exporter = accounts.get(taken.account)
    for each in exporter.exports if exporter else ():
        if (
            each.kind == taken.kind
            and (each.accounts is None or name in each.accounts)
            and _engine.covers(each.subject, pattern_of(taken.subject))
        ):
            return
    raise file_error("import-refused", f"{taken.account} {taken.subject}", node.file, node.line)


def _mappings(node: Node) -> list[Mapping]:
    if not isinstance(node.value, dict):
        raise file_error("config-type", "mappings", node.file, node.line)
    found = []
    for source, target in node.value.items():
        _check(source, target)
        rows = target.value if isinstance(target.value, list) else [target]
        targets, clusters = [], False
        for row in rows:
            if isinstance(row.value, str):
                targets.append((row.value, 100))
                continue
            fields = keys_of(row, _TARGET, "mappings")
            clusters = clusters or "cluster" in fields
            if "target" not in fields:
                raise file_error("config-type", "destination", row.file, row.line)
            text: str = of_kind(fields["target"], TEXT, "destination")
            targets.append((text, _weight(fields.get("weight"))))
        found.append(Mapping(source, tuple(targets), clusters))
    return found


def _weight(node: Node | None) -> int:
    """The percent of a target: a number, or a text such as ``40%``."""
    if node is None:
        return 100
    value: Any = node.value
    if isinstance(value, str) and value.removesuffix("%").isdecimal():
        value = int(value.removesuffix("%"))
    if type(value) is not int or not 0 <= value <= 100:
        raise file_error("config-type", "weight", node.file, node.line)
    return value
