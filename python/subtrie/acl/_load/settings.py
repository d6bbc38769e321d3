"""Settings that decide who may do what besides the lists of users, as a tree to compare."""

from __future__ import annotations

import dataclasses
import hashlib
import os
import re
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from ..._core.file_errors import file_error
from ..._findings.finding import Place
from ..._nats.creds_file import is_creds, jwt_in_creds
from ..._nats.jwt import claims_of, kind_of_token, utc_text
from ..._nats.nkey import USER_KEY, is_public_key
from .config_accounts import ENABLED, jetstream_enabled
from .config_keys import top_level
from .config_links import address_of
from .config_parser import MAX_DEPTH, Node, UnknownText, parse_file
from .deployments import JWT, is_address, tokens_below
from .files import STANDARD_INPUT, read_text
from .setting_keys import (
    ALIASES,
    DEFAULT_LIMITS,
    FILES,
    IRRELEVANT,
    LIMIT_NAMES,
    LIMITS,
    LISTENERS,
    MOMENTS,
    OF_NAMES,
    OFF_BY_DEFAULT,
    SET_OR_NOT,
)
from .snapshots import documents_in
from .subtrie_json import is_subtrie_json

#: Values that are not shown: they may be secrets, or are long.
_HIDDEN = re.compile(
    "pass|token|nkey|seed|secret|sentinel|cred|url|jwt|cookie|operator|resolver|preload|key|exp|nbf"
)
_LOGIN = re.compile(r"//[^/@]*@")
_PASSWORD = re.compile(r"(//[^/@:]*):[^/@]*@")


#: The block ``authorization`` whose users are compared by their lists.
_WITH_USERS = "authorization of users"


@dataclasses.dataclass(slots=True)
class Setting:
    """A value, or a block of settings by name.

    Attributes:
        value: the settings of a block by name, or a value that can be compared.
        place: where it was read.
        text: the value as it may be shown; empty if it may not.
    """

    value: Any
    place: Place | None = None
    text: str = ""


@dataclasses.dataclass(slots=True)
class Settings:
    """The settings of one input.

    Attributes:
        kind: what the input is; only inputs of one kind name the same settings.
        root: the block of all settings.
        files: the files that were read, with links resolved.
        told: False for what a running broker tells, which is only of present connections.
    """

    kind: str
    root: Setting
    files: list[Path]
    told: bool = True


def load_settings(
    path: str | Path, *, env: Mapping[str, str] | None = None, root: str | Path | None = None
) -> Settings:
    """Read the settings of an input; arguments and errors are those of ``Permissions.load_all``."""
    if is_address(path):
        return Settings("snapshot", Setting({}), [], told=False)
    path = Path(path)
    if path != STANDARD_INPUT and path.is_dir():
        tokens = list(tokens_below(path))
        files = [each.resolve() for _, each in tokens]
        return Settings("store", _root(_claims_of_store(tokens), "claims", path), files)
    text = read_text(path)
    files = [path.resolve()]
    token = jwt_in_creds(text) if is_creds(text) else text.strip()
    if token is not None and JWT.fullmatch(token):
        claims = _claims(token, path)[2]
        return Settings("token", _root({"user claims": {"": claims}}, "claims", path), files)
    if is_subtrie_json(text):
        return Settings("lists", Setting({}), files)
    if documents_in(text) is not None:
        return Settings("snapshot", Setting({}), files, told=False)
    folder = Path(root) if root is not None else path.parent
    files = []
    document = parse_file(path, os.environ if env is None else env, folder, files)
    values = Node(top_level(document), document.file, document.line)
    tree = _Tree(path.parent, files)
    return Settings("configuration", tree.block(values, ""), files)


def _root(values: dict[str, Any], block: str, path: Path) -> Setting:
    return _Tree(path.parent, []).block(_node(values, path), block)


def _node(value: Any, path: Path, depth: int = 0) -> Node:
    """A value of JSON as one of a configuration."""
    if depth > MAX_DEPTH:
        raise file_error("jwt", "the token", path)
    if isinstance(value, dict):
        value = {key: _node(each, path, depth + 1) for key, each in value.items()}
    elif isinstance(value, list):
        value = [_node(each, path, depth + 1) for each in value]
    return Node(value, path, 1)


# --- claims


def _claims_of_store(tokens: list[tuple[str, Path]]) -> dict[str, Any]:
    """The claims of each account and user by name, and of the operator.

    Of several with one name, each is under its public key.
    """
    read = [_claims(*each) for each in tokens]
    keys: dict[tuple[str, Any, str], set[str]] = {}
    for kind, name, claims in read:
        keys.setdefault((kind, claims.get("account"), name), set()).add(claims["sub"])

    def named(kind: str, name: str, claims: dict[str, Any]) -> str:
        several = len(keys[kind, claims.get("account"), name]) > 1
        return str(claims["sub"]) if several else name

    names = {each[2]["sub"]: named(*each) for each in read if each[0] == "account"}
    found: dict[str, Any] = {}
    for kind, name, claims in read:
        shown = named(kind, name, claims)
        if kind == "user":
            shown = f"{names.get(claims['account'], claims['account'])}/{shown}"
        found.setdefault(f"{kind} claims", {})[shown] = claims
    for _, _, claims in read:
        claims.pop("sub")
    return found


def _claims(token: str, path: Path) -> tuple[str, str, dict[str, Any]]:
    """The kind, the name and the claims of a token, without those that every new token has."""
    kind = kind_of_token(token, path)
    if kind not in ("account", "operator"):
        kind = "user"
    claims = claims_of(token, path, kind)
    nats = dict(claims["nats"])
    if kind == "user":
        nats["account"] = nats.pop("issuer_account", None) or claims["iss"]
    nats |= {key: claims[key] for key in ("exp", "nbf") if key in claims}
    return kind, str(claims.get("name") or claims["sub"]), nats | {"sub": claims["sub"]}


# --- the tree


class _Tree:
    """Makes settings of the nodes of one input."""

    def __init__(self, folder: Path, files: list[Path]) -> None:
        self._folder, self._files = folder, files

    def block(self, node: Node, block: str) -> Setting:
        """A map of options; keys that cannot change who may do what are left out."""
        irrelevant = IRRELEVANT.get(block, frozenset())
        found: dict[str, Setting] = {}
        for key, each in node.value.items():
            name = _key(key)
            if block == "limits":
                name = LIMIT_NAMES.get(key.lower(), key.lower())
            if name in irrelevant:
                continue
            while name in found:  # two spellings of one key
                name += " #2"
            setting = self._of(name, each, block)
            if setting is not None:
                found[name] = setting
        return Setting(found, _place(node))

    def _of(self, key: str, node: Node, block: str) -> Setting | None:
        """The setting of one key; None if it is as good as absent."""
        value = node.value
        if key == "jetstream":
            given = value.items() if isinstance(value, dict) else ()
            fields = {name: each for name, each in given if name.lower() not in ENABLED}
            place = (node.file, node.line, node.column)
            fields["enabled"] = Node(jetstream_enabled(node), *place)
            return self.block(Node(fields, *place), "jetstream")
        if key in LIMITS | MOMENTS and type(value) is int:
            limits = value >= 0 if key in LIMITS else bool(value)
            if block == "" and value == DEFAULT_LIMITS.get(key):
                return None
            text = str(value) if key in LIMITS else utc_text(value)
            return Setting(value, _place(node), text) if limits else None
        if key in SET_OR_NOT:
            return Setting(True, _place(node)) if value else None
        if isinstance(value, dict):
            inner = _WITH_USERS if (block, key) == ("", "authorization") else key
            setting = self._names(key, node) if key in OF_NAMES else self.block(node, inner)
            counts = key in LISTENERS or (block, key) == ("", "tls")
            return setting if setting.value or counts else None
        if isinstance(value, list):
            return self._list(key, node, block)
        if value is None or (value is False and key in OFF_BY_DEFAULT):
            return None
        if value == "" and key == "no_auth_user":
            return None
        return self._value(key, node, [node])

    def _names(self, key: str, node: Node) -> Setting:
        """A map whose keys are names."""
        found = {}
        for name, each in node.value.items():
            if key == "accounts" and each.used:
                continue  # a variable, not an account
            inner = OF_NAMES[key] or key
            of_block = isinstance(each.value, dict)
            setting = self.block(each, inner) if of_block else self._of(key, each, inner)
            if setting is not None and setting.value:
                found[name] = setting
        return Setting(found, _place(node))

    def _list(self, key: str, node: Node, block: str) -> Setting | None:
        if not any(isinstance(each.value, dict) for each in node.value):
            return self._value(key, node, node.value) if node.value else None
        inner = "user" if key == "users" and block in (_WITH_USERS, "account") else key
        found: dict[str, Setting] = {}
        for each in node.value:
            label = _label(each)
            name, number = label, 1
            while name in found or not name:
                number += 1
                name = f"{label} #{number}".strip()
            if isinstance(each.value, dict):
                found[name] = self.block(each, inner)
            else:
                found[name] = self._value(key, each, [each])
        return Setting(found, _place(node))

    def _value(self, key: str, node: Node, items: list[Node]) -> Setting:
        """A value, or a list of values in any order; passwords in addresses count as set."""
        texts = [_PASSWORD.sub(r"\1:*@", _text(each)) for each in items]
        value: Any = tuple(sorted(set(texts)))
        if key in FILES:
            value = value, tuple(map(self._content, texts))
        shown = (_LOGIN.sub("//", each) for each in texts)
        text = "" if _HIDDEN.search(key) else ", ".join(shown)
        return Setting(value, _place(node), text)

    def _content(self, name: str) -> str:
        """The digest of a file beside the configuration; empty if it is not there."""
        path = self._folder / name
        if Path(name).is_absolute() or not path.is_file():
            return ""
        self._files.append(path.resolve())
        with path.open("rb") as file:
            return hashlib.file_digest(file, "sha256").hexdigest()


def _place(node: Node) -> Place:
    return Place(str(node.file), node.line, node.column)


def _text(node: Node) -> str:
    return (
        f"[{', '.join(map(_text, node.value))}]"
        if isinstance(node.value, list)
        else str(node.value)
    )


def _key(key: str) -> str:
    """The canonical form of a key."""
    return ALIASES.get(key.lower(), key.lower())


def _label(node: Node) -> str:
    """The text that tells an element of a list from the others."""
    if not isinstance(node.value, dict):
        return _text(node)
    fields = {_key(key): each for key, each in node.value.items()}
    return " ".join(_words(fields))


def _is_seed(nkey: Any) -> bool:
    """Return False for the nkey of a user, which is public; that of a remote is a seed."""
    return not (isinstance(nkey, UnknownText) or is_public_key(str(nkey), USER_KEY))


def _words(fields: dict[str, Node]) -> Iterator[str]:
    for kind in ("stream", "service"):
        if kind in fields:
            inner = fields[kind].value
            yield kind
            if not isinstance(inner, dict):
                yield str(inner)
                return
            fields = {key.lower(): each for key, each in inner.items()}
    if "subject" in fields:
        if "type" in fields:
            yield str(fields["type"].value)
        yield str(fields["subject"].value)
        if "account" in fields:
            yield f"of {fields['account'].value}"
        return
    for key in ("user", "nkey", "name", "destination", "key", "public_key"):
        if key in fields and not (key == "nkey" and _is_seed(fields[key].value)):
            yield str(fields[key].value)
            return
    if address := address_of(fields):
        yield address
        if "account" in fields:
            yield f"for {fields['account'].value}"
