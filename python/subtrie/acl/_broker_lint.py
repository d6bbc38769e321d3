"""Findings about a broker besides the entries of its lists: listeners, logins, administrators."""

from __future__ import annotations

import dataclasses
import ipaddress
import os
import time
from collections.abc import Iterator, Mapping
from functools import lru_cache
from pathlib import Path
from typing import Any

from .._core import engine
from .._core.subject import Subject
from .._findings.finding import Finding, Place
from .._nats.jetstream_subjects import ADMIN, DELETE, JETSTREAM_SUBJECTS
from .._nats.jwt import utc_text
from .._nats.reserved_subjects import INBOX
from ._deployment import Deployment
from ._entitlement import entitlement
from ._load.config_keys import top_level
from ._load.config_parser import Node, UnknownText, parse_file
from ._permissions import Permissions
from ._reach import literals

#: A token that expires within so many seconds is reported: 30 days.
SOON = 30 * 86_400

#: Beside what changes a stream, what reads or writes all of it.
_WHOLE = frozenset(("stream-snapshot", "stream-restore"))

_PASSWORDS = frozenset(("pass", "password", "token"))
#: How a password that was hashed with bcrypt begins.
_HASHED = ("$2a$", "$2b$", "$2x$", "$2y$")
_LISTENERS = {
    "cluster": "routes of other servers", "gateway": "gateways of other clusters",
    "leaf": "leaf nodes", "leafnodes": "leaf nodes",
}  # fmt: skip


def user_findings(
    users: Mapping[str, Permissions], deployment: Deployment | None
) -> Iterator[Finding]:
    """Yield findings about what users may do to the broker, and about tokens that expire soon.

    Args:
        users: the permissions by user.
        deployment: the deployment with the same users; None if their accounts are not known.
    """
    for name, permissions in users.items():
        for each in _of_user(name, permissions, deployment):
            place = permissions.place
            if each.file is None and place is not None:
                each = dataclasses.replace(each, **place._asdict())
            yield dataclasses.replace(each, user=name)


def _of_user(
    name: str, permissions: Permissions, deployment: Deployment | None
) -> Iterator[Finding]:
    if permissions.expires is not None and 0 < permissions.expires - time.time() < SOON:
        when = utc_text(permissions.expires)
        yield Finding("expires-soon", "warning", f"the token expires at {when}")
    if not permissions.determined or permissions.anonymous == "no-authorization":
        return
    account = None
    if deployment is not None and name in deployment.users:
        account = deployment.account_of(name)
        if account.name == deployment.system_account:
            sent = entitlement(permissions, "$SYS.REQ.>", "publish")
            if sent is not None:
                message = f"a user of the system account, which manages the broker: {sent.rule}"
                yield Finding("system-account", "note", message, witness=_shown("$SYS.REQ.x"))
            return
    allow, deny = permissions.lists("publish")
    if ">" in allow and not deny:
        stored = account is not None and account.jetstream
        more = ", and to manage every stream" if stored else ""
        message = f"may publish everything, also to answer in place of others{more}"
        yield Finding("publish-everything", "warning", message, witness=_shown("x"))
        return
    yield from _reaches(
        permissions, "jetstream-admin", _administration, "may change any stream or its consumers"
    )
    yield from _reaches(
        permissions, "inbox-publish", _inboxes, "may answer requests in place of others"
    )
    yield from _reaches(
        permissions, "system-account", _system, "names the subjects that manage the broker"
    )


def _reaches(permissions: Permissions, rule: str, subjects: Any, what: str) -> Iterator[Finding]:
    """Yield a finding for the first entry that allows to publish one of some subjects."""
    allow, deny = permissions.lists("publish")
    named = {token for entry in (*allow, *deny) for token in entry.split(".")}
    other = next(text for n in range(len(named) + 1) if (text := f"x{n or ''}") not in named)
    for entry in allow:
        found = engine.rules_overlap([entry], deny, subjects(other), [], permissions.cap)
        if found is not None:
            place = permissions.sources.get(("publish_allow", entry)) or permissions.place
            at = {} if place is None else place._asdict()
            message = f"publish {entry} {what}"
            yield Finding(
                rule, "warning", message, witness=_shown(found[0]), list="publish_allow",
                entry=entry, **at,
            )  # fmt: skip
            return


@lru_cache(16)
def _administration(name: str) -> list[str]:
    """The subjects that change, empty or read all of a stream of a name, or its consumers."""
    rows = [
        row.filled({"stream": name})
        for row in JETSTREAM_SUBJECTS
        if row.operation in (ADMIN, DELETE) or row.name in _WHOLE
        if not row.system and "{stream}" in row.template
    ]
    return [*rows, *(each.replace("$JS.", "$JS.*.", 1) for each in rows)]  # of any domain


def _inboxes(name: str) -> list[str]:
    return [f"{INBOX}.{name}", f"{INBOX}.{name}.>"]


def _system(name: str) -> list[str]:
    return ["$SYS.REQ.SERVER.>", "$SYS.REQ.CLAIMS.>"]


def _shown(text: str) -> Subject:
    return Subject._of(text, "server")


# --- the deployment


def deployment_findings(deployment: Deployment) -> Iterator[Finding]:
    """Yield a finding for each mapping whose results no user of its account may publish.

    The lists of a user apply to what a mapping makes of a subject.
    """
    users: dict[str, list[Permissions]] = {}
    for name, each in deployment.users.items():
        users.setdefault(deployment.account_of(name).name, []).append(each)
    for name, account in deployment.accounts.items():
        for mapping in account.mappings:
            subject = next(literals(mapping.source, ()), mapping.source)
            results = [each for each in account.mapped(subject, deployment.cluster) or () if each]
            if not results or not users.get(name):
                continue
            reach = [
                each
                for each in users[name]
                if not each.determined or any(each.can_publish(one, model="broker")
                                              for one in results)
            ]  # fmt: skip
            if not reach:
                targets = ", ".join(each.subject for each in mapping.targets)
                message = (
                    f"{name}: no user of the account may publish what the mapping "
                    f"{mapping.source} → {targets} makes of a subject"
                )
                witness = Subject._of(subject, "server")
                yield Finding("mapping-unreachable", "warning", message, witness=witness)


# --- the configuration


def configuration_findings(path: Path) -> Iterator[Finding]:
    """Yield findings about listeners and passwords of a server configuration.

    Args:
        path: the configuration.

    Raises:
        PermissionsError: a syntax error, or an include that is not possible.
    """
    values = top_level(parse_file(path, os.environ, path.parent))
    yield from _open(values)
    secrets = frozenset(os.environ.values())
    found = [place for node in values.items() for place in _plain(*node, secrets)]
    if found:
        more = f", and {len(found) - 1} more" if len(found) > 1 else ""
        message = f"a password is in the file as plain text{more}: hash it, or take a variable"
        yield Finding.at(found[0], "plaintext-password", "warning", message)


def _open(values: Mapping[str, Node]) -> Iterator[Finding]:
    """Listeners that admit everyone who reaches them."""
    for key, whom in _LISTENERS.items():
        fields = _fields(values.get(key))
        if not {"port", "listen"} & set(fields):
            continue
        tls = _fields(fields.get("tls"))
        checked = [tls[name].value for name in ("verify", "verify_and_map") if name in tls]
        if "authorization" in fields or True in checked:
            continue
        if key.startswith("leaf") and {"authorization", "accounts", "operator"} & set(values):
            continue  # leaf nodes log in as users
        message = f"{key}: {whom} connect without a password or a certificate"
        yield Finding.at(_place(values[key]), "open-listener", "warning", message)
    for key in ("http", "http_port", "monitor_port"):
        if key in values and not _is_loopback(key, values):
            message = f"{key}: the monitoring port shows accounts and connections to everyone"
            yield Finding.at(_place(values[key]), "open-listener", "warning", message)


def _is_loopback(key: str, values: Mapping[str, Node]) -> bool:
    text = str(values[key].value)
    if key != "http" or ":" not in text:
        hosts = [values[name] for name in ("http_host", "host", "net", "addr") if name in values]
        text = f"{hosts[0].value}:" if hosts else ""
    host = text.rpartition(":")[0].strip("[]")
    if host == "localhost":
        return True
    try:
        return ipaddress.ip_address(host).is_loopback
    except ValueError:
        return False


def _plain(key: str, node: Node, secrets: frozenset[str]) -> Iterator[Place]:
    """The places of passwords that are in the file as they are typed."""
    value = node.value
    if isinstance(value, dict):
        for name, each in value.items():
            yield from _plain(name, each, secrets)
    elif isinstance(value, list):
        for each in value:
            yield from _plain("", each, secrets)
    elif (
        key.lower() in _PASSWORDS
        and isinstance(value, str)
        and value
        and not isinstance(value, UnknownText)
        and not value.startswith(_HASHED)
        and value not in secrets
    ):
        yield _place(node)


def _fields(node: Node | None) -> dict[str, Node]:
    value: Any = None if node is None else node.value
    return {key.lower(): each for key, each in value.items()} if isinstance(value, dict) else {}


def _place(node: Node) -> Place:
    return Place(str(node.file), node.line, node.column)
