"""Flows from one account to another; exports and imports without use."""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping
from typing import NamedTuple

from .._core import engine
from ._account import JETSTREAM_API, Account, Import, pattern_of, transformed
from ._entitlement import entitlement
from ._permissions import Permissions


@dataclasses.dataclass(frozen=True, slots=True)
class Flow:
    """One way by which messages cross from one account to another.

    Attributes:
        kind: ``stream`` or ``service``.
        source: the account in which a message is published.
        target: the account in which it arrives.
        published: a subject as it is published; an example.
        received: the same subject as it arrives; the first of several if a mapping of the target
            decides by chance, empty if a mapping loses it.
        senders: the users that may publish it.
        receivers: the users that may subscribe to it.
        taken: the import.
        pattern: the pattern of all that arrives.
        undetermined: users of both accounts about whom the input, or the broker's model, does not
            decide.
        by_broker: True if the broker itself receives it, as the API of JetStream.
    """

    kind: str
    source: str
    target: str
    published: str
    received: str
    senders: tuple[str, ...]
    receivers: tuple[str, ...]
    taken: Import
    pattern: str
    undetermined: tuple[str, ...] = ()
    by_broker: bool = False

    @property
    def start(self) -> str:
        """The pattern of all that is published."""
        return self.taken.subject if self.kind == "stream" else self.taken.local


class Unused(NamedTuple):
    """An export or import that deserves a look, with its account, file and line."""

    account: str
    line: int | None
    code: str
    message: str
    file: str | None = None


class Users:
    """The users of each account, and what they may do."""

    def __init__(self, users: Mapping[str, Permissions], account_of: Mapping[str, str]) -> None:
        self._of: dict[str, list[tuple[str, Permissions]]] = {}
        for name, each in users.items():
            self._of.setdefault(account_of[name], []).append((name, each))

    def able(
        self, account: str, verb: str, pattern: str
    ) -> tuple[tuple[str, ...], tuple[str, ...]]:
        """Return the users that may use some subject of a pattern, and those that perhaps may.

        Args:
            account: the account.
            verb: ``publish`` or ``receive``.
            pattern: the pattern.
        """
        found: dict[bool, list[str]] = {True: [], False: []}
        for name, each in self._of.get(account, ()):
            if (means := entitlement(each, pattern, verb)) is not None:
                found[means.determined].append(name)
        return tuple(found[True]), tuple(found[False])


def flows(accounts: Mapping[str, Account], users: Users, cluster: str | None) -> list[Flow]:
    """Return each import with the users at both ends and an example on each side."""
    found = []
    for account in accounts.values():
        taken = list(account.imports)
        if account.jetstream:
            taken += [each for each in account.implied if each.local == JETSTREAM_API]
        found += [_flow(account, each, accounts, users, cluster) for each in taken]
    return found


def _flow(
    account: Account,
    taken: Import,
    accounts: Mapping[str, Account],
    users: Users,
    cluster: str | None,
) -> Flow:
    there, here = pattern_of(taken.subject), pattern_of(taken.local)
    if taken.kind == "stream":
        published = _example(there)
        received = transformed(*taken.ends, published)
        ends = (taken.account, account.name, there, here)
    else:
        published = _example(here)
        received = transformed(*taken.ends[::-1], published)
        ends = (account.name, taken.account, here, there)
        if received is not None:
            outcomes = accounts[taken.account].mapped(received, cluster) or (received,)
            received = outcomes[0] or ""
    source, target, sent, arriving = ends
    senders, unsure = users.able(source, "publish", sent)
    receivers, also_unsure = users.able(target, "receive", arriving)
    stored = accounts[target].jetstream and engine.covers(JETSTREAM_API, arriving)
    by_broker = taken.implied or (taken.kind == "service" and stored)
    return Flow(
        taken.kind,
        source,
        target,
        published,
        arriving if received is None else received,
        senders,
        receivers,
        taken,
        arriving,
        unsure if by_broker else (*unsure, *also_unsure),
        by_broker,
    )


def unused(accounts: Mapping[str, Account], found: list[Flow]) -> list[Unused]:
    """Return public exports, exports that no account imports, imports that no user can use."""
    rows = []
    taken = [each for account in accounts.values() for each in account.imports]
    for name, account in accounts.items():
        for export in account.exports:
            if export.public:
                message = f"{export.kind} {export.subject} may be imported by any account"
                rows.append(Unused(name, export.line, "public-export", message, export.file))
            if not any(each.account == name and export.offers(each) for each in taken):
                message = f"no account imports the {export.kind} {export.subject}"
                rows.append(Unused(name, export.line, "unused-export", message, export.file))
    for flow in found:
        if flow.taken.implied or flow.undetermined:
            continue
        importer = flow.target if flow.kind == "stream" else flow.source
        for users, what, end in (
            (flow.senders, "publish to", flow.source),
            (flow.receivers, "receive from", flow.target),
        ):
            if not users and not (flow.by_broker and end == flow.target):
                message = f"no user of {end} may {what} the {flow.kind} {flow.taken.subject}"
                at = (flow.taken.line, "unused-import", message, flow.taken.file)
                rows.append(Unused(importer, *at))
    return rows


def _example(pattern: str) -> str:
    return ".".join("x" if token in ("*", ">") else token for token in pattern.split("."))
