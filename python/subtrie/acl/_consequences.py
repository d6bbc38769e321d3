"""Consequences of a change besides the lists of users: the messages that reach other users.

A changed import, export, mapping, ``no_auth_user``, system account, link, limit, time, or login is
explained by an example, decided on both deployments. What has none stays as it was named.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Iterable, Iterator

from .._core import engine
from ._access import Access, AccessReview
from ._account import GLOBAL, Account, Import, pattern_of
from ._comparison import VERBS
from ._consequence import Consequence
from ._deployment import Deployment
from ._entitlement import entitlement
from ._limit_changes import is_limit, of_limit
from ._login_changes import LoginChanges
from ._permissions import Permissions
from ._reach import literals
from ._uncompared import Uncompared

_NOTHING = Permissions(publish_allow=(), subscribe_allow=())

#: The types of connections, all of which a user without a list may use.
_TYPES = ("STANDARD", "WEBSOCKET", "LEAFNODE", "LEAFNODE_WS", "MQTT", "MQTT_WS")

#: Most examples of one changed part.
_SHOWN = 5


class Consequences:
    """Explains the parts in which two deployments differ.

    Args:
        old: the deployment before the change.
        new: the deployment after it.
    """

    def __init__(self, old: Deployment, new: Deployment) -> None:
        self._sides = {False: old, True: new}
        self._reviews = {False: AccessReview(old), True: AccessReview(new)}
        self._logins = LoginChanges(self._sides)
        self._who: dict[tuple[bool, str, str, str], list[Access]] = {}

    @staticmethod
    def of_token(parts: Iterable[Uncompared]) -> tuple[list[Consequence], list[Uncompared]]:
        """Return what parts of a token of one user lead to, and the parts without an example."""
        found: list[Consequence] = []
        rest = []
        for part in parts:
            given = list(of_limit(part)) if is_limit(part) else []
            found += [dataclasses.replace(each, place=part.place) for each in given]
            rest += [] if given else [part]
        return found, rest

    def explain(self, parts: Iterable[Uncompared]) -> tuple[list[Consequence], list[Uncompared]]:
        """Return what the parts lead to, and the parts for which there is no example."""
        found: dict[tuple[bool, str], Consequence] = {}
        rest, sure = [], set()
        for part in parts:
            given = list(self._of_part(part))
            for each in given[:_SHOWN]:
                key = each.gained, each.message
                # Parts beside it have the same examples; what is gone was not at what was added.
                fits = part.change != ("removed" if each.gained else "added")
                if key not in found or (fits and key not in sure):
                    found[key] = dataclasses.replace(each, place=part.place)
                if fits:
                    sure.add(key)
            if not (given if _told_by_losses(part) else any(each.gained for each in given)):
                rest.append(part)
        order = sorted(found.values(), key=lambda each: not each.gained)
        return order, rest

    def _of_part(self, part: Uncompared) -> Iterator[Consequence]:
        match part.keys:
            case (
                "accounts" | "account claims",
                account,
                "imports" | "exports" as kind,
                *label,
            ) if len(label) < 2 or label[-1] in ("to", "prefix", "accounts", "subject"):
                yield from self._of_imports(account, kind, label[0] if label else "")
            case ("accounts" | "account claims", account, "mappings", *label):
                yield from self._of_mappings(account, label)
            case ("mappings", *label):
                yield from self._of_mappings(GLOBAL, label)
            case ("no_auth_user",):
                yield from self._of_anonymous()
            case ("system_account",):
                yield from self._of_system()
            case ("leafnodes", "remotes", label, *rest) if rest in (
                [],
                ["deny_imports"],
                ["deny_exports"],
            ):
                yield from self._of_links("leaf", label)
            case ("websocket" | "mqtt", *rest) if rest in ([], ["no_auth_user"]):
                yield from self._logins.explain(part)
                yield from self._of_anonymous()
            case ("leafnodes",):
                yield from self._of_links("leaf", None)
                yield from self._logins.explain(part)
            case ("cluster",) | ("cluster", "permissions", *_):
                yield from self._of_links("route", "")
            case ("gateway", *rest) if rest[:1] in ([], ["gateways"]):
                yield from self._of_links("gateway", "")
                yield from self._logins.explain(part)
            case (*_, "allowed_connection_types") if part.user is not None:
                yield from self._of_types(part)
            case ("accounts" | "account claims", account, "jetstream", *_):
                yield from self._of_jetstream(account)
            case _ if is_limit(part):
                yield from of_limit(part)
            case _:
                yield from self._logins.explain(part)

    # --- what crosses

    def _of_imports(self, account: str, kind: str, label: str) -> Iterator[Consequence]:
        """Messages that an import of the account, or one from it, carries on one side only."""
        sides = {side: set(_edges(each, account, kind)) for side, each in self._sides.items()}
        changed = {
            edge
            for side, edges in sides.items()
            for edge in edges - sides[not side]
            if _named(self._sides[side], edge[1], label)
        }
        every = {_start(*edge) for edges in sides.values() for edge in edges}
        for name, pattern in sorted({_start(*edge) for edge in changed}):
            beside = sorted(each for sender, each in every if sender == name)
            yield from self._crossing(name, pattern, beside)

    def _of_mappings(self, account: str, label: list[str]) -> Iterator[Consequence]:
        sides = {
            side: {(each.source, each.targets) for each in of.accounts[account].mappings}
            for side, of in self._sides.items()
            if account in of.accounts
        }
        if len(sides) < 2:
            return
        for source in sorted({source for source, _ in sides[True] ^ sides[False]}):
            if not label or label[0] == source:
                yield from self._crossing(account, source, [])

    def _crossing(self, account: str, pattern: str, others: list[str]) -> Iterator[Consequence]:
        """Messages of a pattern of an account that reach a user on one side only."""
        examples = dict.fromkeys(literals(pattern, ()))
        other = [each for each in others if each != pattern]
        outside = engine.rules_witness([pattern], [], other, [], None) if other else None
        if outside is not None:
            examples = {outside[0]: None, **examples}
        seen = set()
        for subject in list(examples)[:3]:
            for side in (True, False):
                mine = self._received(side, account, subject)
                theirs = self._received(not side, account, subject)
                for user, known in mine.items():
                    if user in seen or theirs.get(user) == known:
                        continue
                    seen.add(user)
                    renamed = f" as {', '.join(sorted(known))}" if known != {subject} else ""
                    who = self._sender(side, account, subject, user, known)
                    message = f"{account}:{subject} reaches {user}{renamed}, {who}"
                    yield Consequence(side, message, subject, user)

    def _received(self, side: bool, account: str, subject: str) -> dict[str, set[str]]:
        found: dict[str, set[str]] = {}
        for each in self._asked(side, account, subject, "receive"):
            if each.determined:
                found.setdefault(each.user, set()).add(each.known_as or subject)
        return found

    def _asked(self, side: bool, account: str, subject: str, verb: str) -> list[Access]:
        key = (side, account, subject, verb)
        if key not in self._who:
            known = account in self._sides[side].accounts
            self._who[key] = self._reviews[side].who(account, subject, verb) if known else []
        return self._who[key]

    def _sender(
        self, side: bool, account: str, subject: str, receiver: str, known: set[str]
    ) -> str:
        """The user that may publish so that a message of a subject reaches a receiver."""
        deployment, review = self._sides[side], self._reviews[side]
        place = deployment.account_of(receiver).name
        for each in self._asked(side, account, subject, "publish"):
            if not each.determined:
                continue
            sent = each.known_as or subject
            here = deployment.account_of(each.user)
            if any(review.delivers(here, sent, place, text) for text in known):
                renamed = f" as {sent}" if sent != subject else ""
                return f"published by {each.user}{renamed}"
        return "which no user of the input may publish today"

    # --- who may connect, and to what

    def _of_anonymous(self) -> Iterator[Consequence]:
        sides = {side: _anonymous(each) for side, each in self._sides.items()}
        for side in (True, False):
            name, permissions, account = sides[side]
            _, before, other = sides[not side]
            if name is None:
                continue
            base = before if account == other else _NOTHING
            for verb, subject in _grants(base, permissions):
                what = f"{verb} {subject} in {account}, as {name}"
                message = f"a connection without credentials may {what}"
                yield Consequence(side, message, subject, name)

    def _of_system(self) -> Iterator[Consequence]:
        for side in (True, False):
            deployment = self._sides[side]
            system = deployment.system_account
            if system is None or system == self._sides[not side].system_account:
                continue
            for name, each in deployment.users.items():
                if deployment.account_of(name).name != system:
                    continue
                for verb, word in (("receive", "receives"), ("publish", "may publish")):
                    means = entitlement(each, "$SYS.>", verb)
                    if means is not None and means.determined:
                        message = f"{name} {word} {means.witness} of the system account"
                        yield Consequence(side, message, str(means.witness), name)

    def _of_links(self, kind: str, label: str | None) -> Iterator[Consequence]:
        sides = {
            side: {(each.name, each.account): each.permissions for each in of.links
                   if each.kind == kind}
            for side, of in self._sides.items()
        }  # fmt: skip
        verbs = {"publish": "gets", "subscribe": "brings"}
        what = {"leaf": "leaf node of", "route": "cluster", "gateway": "gateway to"}[kind]
        for side in (True, False):
            for key, permissions in sides[side].items():
                if kind == "leaf" and label is not None and not label.startswith(key[0]):
                    continue
                before = sides[not side].get(key, _NOTHING)
                for verb, subject in _grants(before, permissions):
                    of = f", account {key[1]}" if key[1] else ""
                    message = f"the {what} {key[0]}{of} {verbs[verb]} {subject}"
                    yield Consequence(side, message, subject)

    def _of_jetstream(self, account: str) -> Iterator[Consequence]:
        stored = {
            side: account in each.accounts and each.accounts[account].jetstream
            for side, each in self._sides.items()
        }
        for side in (True, False):
            if stored[side] and not stored[not side]:
                message = f"JetStream answers requests in {account}, such as $JS.API.INFO"
                yield Consequence(side, message, "$JS.API.INFO")

    def _of_types(self, part: Uncompared) -> Iterator[Consequence]:
        user = str(part.user)
        old, new = (set(each.upper().split(", ")) if each else set(_TYPES)
                    for each in (part.old, part.new))  # fmt: skip
        for side, types in ((True, new - old), (False, old - new)):
            permissions = self._sides[side].users.get(user)
            grants = [] if permissions is None else list(_grants(_NOTHING, permissions))
            if types and grants:
                verb, subject = grants[0]
                means = ", ".join(sorted(types))
                message = f"{user} may connect as {means}, and {verb} {subject} so"
                yield Consequence(side, message, subject, user)


def _told_by_losses(part: Uncompared) -> bool:
    """True if a part whose examples are all of what was possible before is told by these."""
    match part.keys:
        case (_, _, "imports" | "exports", *_):
            return part.change == "removed"
        case ("tls", *rest) if rest in ([], ["verify"], ["verify_and_map"]):
            return True
        case ("cluster", "permissions", *_):
            return True  # what is granted anew was looked for in the lists
        case ("cluster" | "gateway" | "leafnodes" | "websocket" | "mqtt", *rest):
            return part.change == "removed" and rest in ([], ["port"], ["authorization"])
        case (*_, "password" | "proxy_required" | "bearer_token" | "jetstream"):
            return True
    return is_limit(part) or part.keys[:2] == ("authorization", "auth_callout")


def _edges(deployment: Deployment, account: str, kind: str) -> Iterator[tuple[str, Import]]:
    """The imports of an account, or those of others from it, without their places."""
    for each in deployment.accounts.values():
        for taken in each.imports:
            if account == (each.name if kind == "imports" else taken.account):
                yield each.name, dataclasses.replace(taken, line=None, file=None, activation=None)


def _named(deployment: Deployment, taken: Import, label: str) -> bool:
    """True if an import, or an export that offers it, has the label of a part."""
    kind, _, rest = label.partition(" ")
    subject, of, account = rest.partition(" #")[0].partition(" of ")
    if kind not in ("stream", "service"):
        return True
    if of:
        key = deployment.accounts[taken.account].key
        return (kind, subject, account) == (taken.kind, taken.subject, key)
    return kind == taken.kind and bool(
        engine.overlaps(pattern_of(subject), pattern_of(taken.subject))
    )


def _start(importer: str, taken: Import) -> tuple[str, str]:
    """The account and the pattern in which a message of an import is published."""
    if taken.kind == "stream":
        return taken.account, pattern_of(taken.subject)
    return importer, pattern_of(taken.local)


def _anonymous(deployment: Deployment) -> tuple[str | None, Permissions, str]:
    """The user of connections without credentials, what it may do, and its account."""
    for name, each in deployment.users.items():
        if each.anonymous and deployment.no_auth_user in (None, name.rpartition("/")[2]):
            account: Account = deployment.account_of(name)
            return name, each, account.name
    return None, _NOTHING, ""


def _grants(before: Permissions, after: Permissions) -> Iterator[tuple[str, str]]:
    """A subject of each verb that only the later permissions allow."""
    if not after.determined or not before.determined:
        return
    for verb in VERBS:
        allow, deny = after.lists(verb)
        other = before.lists(verb)
        if (found := engine.rules_witness(allow, deny, *other, after.cap)) is not None:
            yield verb, found[0]
