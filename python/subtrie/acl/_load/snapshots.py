"""Accounts and connections as a running broker tells them: ``/accountz`` and ``/connz``."""

from __future__ import annotations

import dataclasses
import json
import urllib.request
from base64 import b64encode
from collections.abc import Iterator
from http.client import HTTPException
from itertools import groupby
from pathlib import Path
from typing import Any
from urllib.error import HTTPError
from urllib.parse import quote, unquote_to_bytes, urlencode, urlsplit, urlunsplit

from ..._core import engine
from ..._core.errors import SubtrieError
from ..._core.file_errors import file_error
from .._account import GLOBAL, Account, Activation, Export, Import, Mapping, Target
from .account_jwt import account_of_claims, text_claim

#: The largest answer of a broker that is read, in bytes.
MAX_ANSWER = 64 * 1024 * 1024
#: Most accounts and most connections that are asked for; the latter in whole pages.
MAX_ROWS = 100_000
_TIMEOUT_SECONDS = 10.0
_PAGE = 1_024

#: Keys of a connection in an answer to a question with ``auth=1`` alone.
_TOLD_WITH_AUTH = frozenset({"authorized_user", "jwt", "name_tag"})

#: Who decides about a user of whom only connections are known.
NOT_TOLD = "the broker, which does not tell permissions; give its configuration"


def documents_in(text: str) -> list[dict[str, Any]] | None:
    """Return the snapshots in a file, one after another; None if it holds something else."""
    decoder = json.JSONDecoder()
    found: list[dict[str, Any]] = []
    at, end = 0, len(text)
    try:
        while at < end:
            value, at = decoder.raw_decode(text, at)
            rows = value if isinstance(value, list) else [value]
            if not all(isinstance(each, dict) and _is_snapshot(each) for each in rows):
                return None
            found += rows
            while at < end and text[at].isspace():
                at += 1
    except (ValueError, RecursionError):
        return None
    return found or None


def _is_snapshot(value: dict[str, Any]) -> bool:
    return "server_id" in value and bool({"accounts", "account_detail", "connections"} & set(value))


def documents_at(url: str) -> Iterator[dict[str, Any]]:
    """Yield the snapshots of a running broker.

    Args:
        url: the address of its monitoring port: ``http://127.0.0.1:8222``.

    Raises:
        PermissionsError: an answer that is too large or of another kind, or too many accounts or
            connections.
        OSError: the broker does not answer.
    """
    base = url.rstrip("/")
    listed = _asked(f"{base}/accountz")
    yield listed
    named = listed.get("accounts") or []
    if len(named) > MAX_ROWS:
        raise file_error("answer-size", "the answer", Path(shown_address(base)))
    for name in named:
        yield _asked(f"{base}/accountz?{urlencode({'acc': name}, quote_via=quote)}")
    for offset in range(0, MAX_ROWS, _PAGE):
        page = _asked(f"{base}/connz?auth=1&subs=detail&limit={_PAGE}&offset={offset}")
        yield page
        if len(page.get("connections") or []) < _PAGE:
            return
    raise file_error("answer-size", "the answer", Path(shown_address(base)))


def _asked(url: str) -> dict[str, Any]:
    value = json_at(url)
    if not _is_snapshot(value):
        raise file_error("snapshot", "the answer", Path(shown_address(url)))
    return value


def json_at(url: str) -> dict[str, Any]:
    """Return the object with which a monitoring port answers.

    Args:
        url: the address of one of its pages.

    Raises:
        PermissionsError: an answer that is too large, or no object.
        OSError: the broker does not answer, or not in HTTP.
    """
    opener = urllib.request.OpenerDirector()
    for handler in (
        urllib.request.HTTPHandler(),
        urllib.request.HTTPSHandler(),
        urllib.request.HTTPErrorProcessor(),
        urllib.request.HTTPDefaultErrorHandler(),
    ):
        opener.add_handler(handler)
    try:
        with opener.open(_request(url), timeout=_TIMEOUT_SECONDS) as answer:
            data: bytes = answer.read(MAX_ANSWER + 1)
    except (OSError, HTTPException, ValueError) as error:  # the last: it is not a URL
        why = str(error) if isinstance(error, HTTPError) else getattr(error, "reason", error)
        raise OSError(f"{shown_address(url)} does not answer: {why}") from None
    if len(data) > MAX_ANSWER:
        raise file_error("answer-size", "the answer", Path(shown_address(url)))
    try:
        value = json.loads(data)
    except (ValueError, RecursionError):
        value = None
    if not isinstance(value, dict):
        raise file_error("snapshot", "the answer", Path(shown_address(url)))
    return value


def _request(url: str) -> urllib.request.Request:
    """The request for a page, with the login of its address as that of a proxy in front.

    The port of a broker itself asks for none.
    """
    parts = urlsplit(url)
    login, _, host = parts.netloc.rpartition("@")
    request = urllib.request.Request(urlunsplit(parts._replace(netloc=host)))
    if login:
        request.add_header("Authorization", f"Basic {b64encode(unquote_to_bytes(login)).decode()}")
    return request


def shown_address(url: str) -> str:
    """Return an address without user and password, as files are shown."""
    scheme, _, rest = url.partition("://")
    host, slash, path = rest.partition("/")
    return f"{scheme}:{host.rpartition('@')[2]}{slash}{path}"


def account_in_snapshot(detail: dict[str, Any], path: Path) -> tuple[Account, list[str]]:
    """Return an account as a broker tells it, and what it ignores, a line each.

    Args:
        detail: the value ``account_detail`` of an answer to ``/accountz?acc=NAME``.
        path: the file or address, for messages.
    """
    name = text_claim(detail, "account_name", path)
    claims = {key: detail.get(key) for key in ("exports", "imports")}
    valid = [each for each in claims["imports"] or [] if not each.get("invalid")]
    ignored = [
        f"{name}: the broker ignores the {each.get('type')} import {each.get('subject')}"
        for each in claims["imports"] or []
        if each.get("invalid")
    ]
    account = account_of_claims({**claims, "imports": valid}, name, path)
    rows = claims["exports"] or []
    account.exports = [
        _approved(each, row) for each, row in zip(account.exports, rows, strict=True)
    ]
    account.imports = [_as_told(each) for each in account.imports]
    for source, rows in (detail.get("mappings") or {}).items():
        account.mappings.append(Mapping(source, tuple(_targets(rows))))
    account.jetstream = detail.get("jetstream_enabled") is True
    return account, ignored


def _approved(export: Export, row: dict[str, Any]) -> Export:
    approved = row.get("approved_accounts")
    return dataclasses.replace(export, accounts=tuple(approved)) if approved else export


def _as_told(taken: Import) -> Import:
    """An import whose wildcards may have another order than the broker tells."""
    several = taken.subject.split(".").count("*") > 1
    changed = taken.local != taken.subject and "$" not in taken.local
    return dataclasses.replace(
        taken, ordered=not (several and changed), activation=Activation("", 0, True)
    )


def _targets(rows: list[dict[str, Any]]) -> Iterator[Target]:
    """The targets of a mapping; the broker adds up the weights of a cluster."""
    by_cluster = sorted(rows, key=lambda row: (row.get("cluster") or "", row.get("weight") or 0))
    for cluster, group in groupby(by_cluster, key=lambda row: row.get("cluster") or ""):
        before = 0
        for row in group:
            weight = row.get("weight") or 0
            yield Target(str(row.get("subject")), weight - before, cluster or None)
            before = weight


def connections_in(document: dict[str, Any], path: Path) -> Iterator[dict[str, Any]]:
    """Yield the connections of an answer to ``/connz?auth=1&subs=detail``: a row for each.

    A row has ``account``, ``user``, ``jwt`` (or None) and ``subscriptions``, pairs of a pattern
    and a queue or None.
    """
    for each in document.get("connections") or []:
        # nats-server leaves out the name of the global account, in an answer with auth=1 too.
        if "account" not in each and not _TOLD_WITH_AUTH.intersection(each):
            raise file_error("snapshot-auth", "the connections", path)
        user = each.get("authorized_user") or f"client {each.get('cid')}"
        yield {
            "account": text_claim({"account": GLOBAL, **each}, "account", path),
            "user": str(user),
            "jwt": each.get("jwt"),
            "subscriptions": set(_subscriptions(each, path)),
        }


def _subscriptions(row: dict[str, Any], path: Path) -> Iterator[tuple[str, str | None]]:
    for each in row.get("subscriptions_list_detail") or []:
        subject = text_claim(each, "subject", path)
        try:
            engine.check_pattern(subject, "server")
        except SubtrieError as error:
            raise file_error(error.reason, subject, path, None, error.position) from None
        yield subject, each.get("qgroup") or None
