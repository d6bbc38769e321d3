"""The users that may publish, subscribe to or receive subjects of an account, in all accounts."""

from __future__ import annotations

import dataclasses
from collections.abc import Collection, Iterable, Iterator

from ._account import Account
from ._deployment import Deployment
from ._entitlement import Entitlement, by_subscription, entitlement
from ._permissions import Permissions
from ._reach import Reach, Region, TooManyPlaces, literals
from ._renaming import intersection

_UNORDERED = (
    "not determined: how an import or a mapping on the way renames it is not told; "
    "the configuration with the name of its cluster may tell"
)
_UNSURE = (
    "not determined: whether a mapping or an import on the way leads there; ask about one subject"
)


_STRANGERS = "not determined: clients of other brokers are not in the input"

#: How the names of clients begin that the input does not hold.
OTHERS = "others"


@dataclasses.dataclass(frozen=True, slots=True)
class Access:
    """One user that may do what was asked, and how.

    Attributes:
        account: the account whose subject was asked about.
        user: ``user`` or ``account/user``.
        rule: the entry that decides, or why it is not known.
        witness: an example, as in the question; None if that is one subject.
        known_as: the subject, or the pattern, by which the user knows it; None if that is the one
            of the question.
        way: the imports and mappings between the two, in the direction of the message.
        determined: False if it is not known whether the user may.
    """

    account: str
    user: str
    rule: str
    witness: str | None = None
    known_as: str | None = None
    way: tuple[str, ...] = ()
    determined: bool = True


class AccessReview:
    """Answers who may do something on a deployment.

    Args:
        deployment: the deployment.
        model: ``strict`` or ``broker``; None for both.
    """

    def __init__(self, deployment: Deployment, model: str | None = None) -> None:
        self._accounts, self._model = deployment.accounts, model
        self._reach = Reach(deployment.accounts, deployment.cluster)
        self._users: dict[str, list[tuple[str, Permissions]]] = {}
        for name, each in deployment.users.items():
            self._users.setdefault(deployment.account_of(name).name, []).append((name, each))
        self._others = list(_others(deployment))
        for account, name, permissions in self._others:
            self._users.setdefault(account, []).append((name, permissions))
        self._listeners = [each for each in deployment.links if each.kind == "leaf listener"]
        self._account_of = deployment.account_of
        self._held = deployment.subscriptions
        self._known: dict[tuple[str, str, str, tuple[str, ...]], Entitlement | None] = {}

    def who(self, account: str, pattern: str, verb: str) -> list[Access]:
        """Return the users that may use some subject of a pattern of an account.

        A subscription must cover the whole pattern.

        Args:
            account: the name of the account.
            pattern: a subject or a pattern, as clients of that account publish it.
            verb: ``publish``, ``subscribe`` or ``receive``.
        """
        try:
            found = list(_distinct(self._found(self._accounts[account], pattern, verb)))
            return [*found, *self._by_leaf_nodes(found)]
        except TooManyPlaces:
            rule = "imports and mappings lead to more places than are followed"
            names = (name for rows in self._users.values() for name, _ in rows)
            return [Access(account, name, rule, determined=False) for name in names]

    def _by_leaf_nodes(self, found: list[Access]) -> Iterator[Access]:
        """Yield one answer for each account as whose users leaf nodes may bring in others."""
        named: set[str] = set()
        for each in found if self._listeners else ():
            if not each.determined or each.user.startswith(OTHERS):
                continue
            account = self._account_of(each.user).name
            if account not in named:
                named.add(account)
                line = self._listeners[0].line
                user = f"{OTHERS} by leaf nodes as {each.user} (line {line})"
                yield dataclasses.replace(each, user=user, rule=_STRANGERS, determined=False)

    def delivers(self, account: Account, subject: str, place: str, received: str) -> bool:
        """Return True if a published message is delivered in an account as another subject."""
        return bool(self._reach.passes(account, subject, place, received, delivered=True))

    def _found(self, account: Account, pattern: str, verb: str) -> Iterator[Access]:
        regions = {
            "publish": self._reach.senders,
            "subscribe": self._reach.subscribers,
            "receive": self._reach.receivers,
        }[verb]
        for region in regions(account, pattern):
            for name, permissions in self._users.get(region.account.name, ()):
                means = self._entitlement(name, permissions, region, verb)
                if means is not None:
                    yield self._access(account, pattern, region, name, means, verb)

    def _entitlement(
        self, name: str, permissions: Permissions, region: Region, verb: str
    ) -> Entitlement | None:
        key = (name, verb, region.pattern, region.outside)
        if key not in self._known:
            means = entitlement(
                permissions, region.pattern, verb, self._model, outside=region.outside
            )
            if means is not None and not means.determined:
                held = self._held.get(name, ())
                means = by_subscription(held, region.pattern, verb, region.outside) or means
            self._known[key] = means
        return self._known[key]

    def _access(
        self,
        account: Account,
        pattern: str,
        region: Region,
        user: str,
        means: Entitlement,
        verb: str,
    ) -> Access:
        way = tuple(each.text for each in region.steps)
        found = Access(account.name, user, means.rule, means.witness, way=way)
        if user.startswith(OTHERS):
            known = region.pattern if region.steps else None
            return dataclasses.replace(found, rule=_STRANGERS, known_as=known, determined=False)
        if not region.steps:
            return dataclasses.replace(found, determined=means.determined)
        found = dataclasses.replace(found, known_as=region.pattern, witness=None)
        if not means.determined:
            return dataclasses.replace(found, determined=False)
        if not region.ordered:
            return dataclasses.replace(found, rule=_UNORDERED, determined=False)
        if verb == "subscribe":
            return found
        end = means.witness or region.pattern
        if verb == "publish":
            sent = self._sent(region.account, end, account, pattern)
            if sent is None:
                return dataclasses.replace(found, rule=_UNSURE, determined=False)
            return dataclasses.replace(found, known_as=sent)
        sent = self._source(region, end, account, pattern)
        if sent is None:
            return dataclasses.replace(found, rule=_UNSURE, determined=False)
        return dataclasses.replace(found, witness=None if sent == pattern else sent)

    def _sent(self, here: Account, subject: str, asked: Account, pattern: str) -> str | None:
        """A subject whose messages appear in an account as told and reach what was asked about."""
        for region in self._reach.unmapped(Region(here, subject)):
            narrower = intersection(region.pattern, pattern) if here is asked else None
            for each in filter(None, (narrower, region.pattern)):
                for text in literals(each, region.outside):
                    if subject in self._outcomes(here, text) and self._reach.passes(
                        here, text, asked.name, pattern
                    ):
                        return text
        return None

    def _outcomes(self, account: Account, subject: str) -> tuple[str | None, ...]:
        return account.mapped(subject, self._reach.cluster) or ()

    def _source(self, region: Region, subject: str, asked: Account, pattern: str) -> str | None:
        """A subject of the question whose messages arrive in a region as told."""
        back: str | None = subject
        for step in reversed(region.steps):
            back = None if back is None else step.renaming.preimage(back)
        back = None if back is None else intersection(back, pattern)
        for text in () if back is None else literals(back, ()):
            if self._reach.passes(asked, text, region.account.name, subject, delivered=True):
                return text
        return None


def _others(deployment: Deployment) -> Iterator[tuple[str, str, Permissions]]:
    """Yield the account, a name and the permissions of clients behind each link to a broker."""
    for link in deployment.links:
        if link.kind.endswith("listener") and link.kind != "gateway listener":
            continue
        sent, taken = (link.permissions.lists(verb) for verb in ("publish", "subscribe"))
        # What the broker sends over a link, others receive; what it takes, they publish.
        permissions = Permissions(
            publish_allow=taken[0], publish_deny=taken[1],
            subscribe_allow=sent[0], subscribe_deny=sent[1],
        )  # fmt: skip
        name = f"{OTHERS} by {_KINDS[link.kind]} {link.name}"
        accounts = [link.account] if link.account is not None else list(deployment.accounts)
        for account in accounts:
            yield account, name, permissions


_KINDS = {
    "leaf": "leaf node", "leaf user": "leaf node user", "route": "cluster", "gateway": "gateway",
    "gateway listener": "block",
}  # fmt: skip


def _distinct(found: Iterable[Access]) -> Iterator[Access]:
    """Yield each user once for each subject by which it knows the message, the certain ones."""
    kept: dict[tuple[str, str | None], Access] = {}
    for each in found:
        key = each.user, each.known_as
        if key not in kept or (each.determined and not kept[key].determined):
            kept[key] = each
    certain = {each.user for each in kept.values() if each.determined}
    for each in kept.values():
        if each.determined or each.user not in certain:
            yield each


def split_question(text: str, accounts: Collection[str]) -> tuple[str | None, str]:
    """Return the account and the pattern of ``ACCOUNT:SUBJECT``; None without an account.

    What stands before a colon is an account only if it is one of the deployment.
    """
    for index in (i for i, sign in enumerate(text) if sign == ":"):
        if text[:index] in accounts:
            return text[:index], text[index + 1 :]
    return None, text
