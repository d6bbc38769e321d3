"""Changed ways to connect: logins that are possible on one side only."""

# A81

from __future__ import annotations

from collections.abc import Iterator, Mapping

from .._core import engine
from ._comparison import VERBS
from ._consequence import Consequence
from ._deployment import Deployment
from ._link import Link
from ._load.admission import NAMES_THE_USER
from ._permissions import Permissions
from ._uncompared import Uncompared

#: Most users that are named for one change.
_SHOWN = 3

_LISTENERS = {
    "websocket listener": "WebSocket", "mqtt listener": "MQTT", "leaf listener": "a leaf node",
}  # fmt: skip


class LoginChanges:
    """Explains changes of listeners, passwords, certificates and callouts.

    Args:
        sides: the deployment before the change (False) and after it (True).
    """

    def __init__(self, sides: Mapping[bool, Deployment]) -> None:
        self._sides = sides

    def explain(self, part: Uncompared) -> Iterator[Consequence]:
        """Yield the logins that a part makes possible, or impossible."""
        match part.keys:
            case ("leafnodes" | "websocket" | "mqtt" | "gateway" as key, *rest) if rest[:1] in (
                [],
                ["port"],
                ["authorization"],
            ):
                yield from self._of_listeners(key)
                yield from self._of_leaf_users(key)
            case ("tls", *rest):
                yield from self._of_certificates(rest)
            case ("authorization", "auth_callout", *rest):
                yield from self._of_callout(part, rest)
            case (*_, "password" | "proxy_required" | "bearer_token" as key) if part.user:
                yield from self._of_credentials(part, key)

    def _of_listeners(self, block: str) -> Iterator[Consequence]:
        for side, each in self._sides.items():
            other = self._sides[not side]
            for link in _missing(each, other):
                if not block.startswith(link.kind.split()[0]):
                    continue
                if link.kind == "gateway listener":
                    yield Consequence(side, "gateways of other clusters bring x", "x")
                if link.kind not in _LISTENERS:
                    continue
                means = _LISTENERS[link.kind]
                for user, verb, subject in _grants(each):
                    message = f"{user} may connect by {means}, and {verb} {subject} so"
                    yield Consequence(side, message, subject, user)

    def _of_leaf_users(self, block: str) -> Iterator[Consequence]:
        for side, each in self._sides.items() if block == "leafnodes" else ():
            for link in _missing(each, self._sides[not side]):
                if link.kind == "leaf user":
                    message = f"a leaf node may log in as {link.name} of {link.account}, and bring"
                    yield Consequence(side, f"{message} x", "x")

    def _of_certificates(self, rest: list[str]) -> Iterator[Consequence]:
        old, new = (self._sides[side].admission for side in (False, True))
        authority = rest == ["ca_file"] and new.certificates != ""
        for side, mine, other in ((True, new, old), (False, old, new)):
            named = mine.certificates == NAMES_THE_USER and (
                mine.certificates != other.certificates or authority
            )
            which = f"a certificate of the {'new' if side else 'old'} ca_file" if authority else (
                "a certificate"
            )  # fmt: skip
            if named:
                for user, verb, subject in _grants(self._sides[side]):
                    name = user.rpartition("/")[2]
                    may = f"{which} that names {name} logs in as {user} without its password"
                    yield Consequence(side, f"{may}, and may {verb} {subject}", subject, user)
            elif authority:
                yield Consequence(side, f"{which} is taken", "CONNECT")
            elif other.certificates and not mine.certificates:
                yield Consequence(side, "a connection without a certificate is taken", "CONNECT")
            elif other.certificates == NAMES_THE_USER and mine.certificates:
                yield Consequence(side, "a password is enough to log in", "CONNECT")
            elif other.tls and not mine.tls:
                yield Consequence(side, "a connection without TLS is taken", "CONNECT")

    def _of_callout(self, part: Uncompared, rest: list[str]) -> Iterator[Consequence]:
        old, new = (self._sides[side].admission.callout for side in (False, True))
        match rest:
            case []:
                for side, account in ((True, new), (False, old)):
                    if account:  # the other side has no callout at all
                        message = (
                            f"the callout of {account} may admit any login, as a user of any "
                            "account with lists of its own choice"
                        )
                        yield Consequence(side, message, "CONNECT")
            case ["issuer"]:
                for side, key in ((True, part.new), (False, part.old)):
                    yield Consequence(side, f"a login that {key} signs is admitted", "CONNECT")
            case ["account"]:
                for side, account in ((True, new), (False, old)):
                    message = f"users of {account} answer the callout, and may admit any login"
                    yield Consequence(side, message, "$SYS.REQ.USER.AUTH")
            case ["auth_users", *_]:
                before, after = (set(filter(None, each.split(", "))) for each in
                                 (part.old, part.new))  # fmt: skip
                for side, names in ((True, after - before), (False, before - after)):
                    for name in sorted(names):
                        message = f"{name} logs in by the lists, without the callout"
                        yield Consequence(side, message, "CONNECT", name)
            case ["allowed_accounts", *_]:
                yield from self._of_delegation()

    def _of_delegation(self) -> Iterator[Consequence]:
        """Users about whom the callout decides on one side only."""
        for side, each in self._sides.items():
            other = self._sides[not side].users
            for name, permissions in each.users.items():
                if permissions.determined and name in other and not other[name].determined:
                    message = f"{name} logs in by the lists, without the callout"
                    yield Consequence(side, message, "CONNECT", name)

    def _of_credentials(self, part: Uncompared, key: str) -> Iterator[Consequence]:
        user = str(part.user)
        how, more = {
            "password": ("without a password", part.change == "removed"),
            "proxy_required": ("without a trusted proxy", part.change == "removed"),
            "bearer_token": ("with the token alone, without its key", part.change == "added"),
        }[key]
        if user in self._sides[more].users:
            yield Consequence(more, f"{user} may log in {how}", "CONNECT", user)


def _missing(here: Deployment, there: Deployment) -> list[Link]:
    """The links of a deployment that another has not."""
    known = {(each.kind, each.name, each.account) for each in there.links}
    return [each for each in here.links if (each.kind, each.name, each.account) not in known]


def _grants(deployment: Deployment) -> list[tuple[str, str, str]]:
    """A few users, each with a verb and a subject that it may use."""
    found: list[tuple[str, str, str]] = []
    for name, permissions in deployment.users.items():
        if len(found) < _SHOWN and (grant := a_grant(permissions)) is not None:
            found.append((name, *grant))
    return found


def a_grant(permissions: Permissions) -> tuple[str, str] | None:
    """Return a verb and a subject that permissions allow; None if they allow nothing.

    Args:
        permissions: the permissions.
    """
    if not permissions.determined:
        return None
    for verb in VERBS:
        found = engine.rules_witness(*permissions.lists(verb), [], [], permissions.cap)
        if found is not None:
            return verb, str(found[0])
    return None
