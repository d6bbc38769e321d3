"""Permissions of one user as loaded from a file, before they become ``Permissions``."""

from __future__ import annotations

import dataclasses

from ..._core import engine
from ..._findings.finding import Place
from ..._nats.jwt import Validity
from .._account import Account
from .._response_limit import ResponseLimit
from .admission import Admission

#: The subject that asks an authorization callout.
CALLOUT_SUBJECT = "$SYS.REQ.USER.AUTH"


@dataclasses.dataclass(slots=True)
class LoadedPermissions:
    """The arguments of ``Permissions``, and what is known of a file only."""

    publish_allow: tuple[str, ...] | None = None
    publish_deny: tuple[str, ...] = ()
    subscribe_allow: tuple[str, ...] | None = None
    subscribe_deny: tuple[str, ...] = ()
    allow_responses: ResponseLimit | None = None
    dialect: str = "server"
    #: False if the account or an external authority decides, and is not given.
    determined: bool = True
    #: Who decides then; empty for the account.
    decided_by: str = ""
    #: Why a connection without credentials is this user; empty if it is not.
    anonymous: str = ""
    #: True if the broker admits only connections with a certificate.
    certified: bool = False
    #: Entries that load and match nothing: (list, entry).
    unmatchable: tuple[tuple[str, str], ...] = ()
    #: Where each entry was read, by (list, entry).
    sources: dict[tuple[str, str], Place] = dataclasses.field(default_factory=dict)
    #: Where the user or its JWT stands; None in subtrie permissions JSON and in saved answers.
    place: Place | None = None
    #: True if they are from a JWT.
    from_token: bool = False
    #: The connections that the user may make; empty for all.
    connection_types: tuple[str, ...] = ()
    #: The time in which the token is good.
    validity: Validity = dataclasses.field(default_factory=Validity)

    def deny_callout(self) -> None:
        """Deny what asks an authorization callout, as a broker does to users of its account."""
        allow = self.publish_allow
        if allow is None or any(engine.matches(each, CALLOUT_SUBJECT) for each in allow):
            self.publish_deny = (*self.publish_deny, CALLOUT_SUBJECT)

    @classmethod
    def undetermined(cls, decided_by: str = "") -> LoadedPermissions:
        """Permissions of a user about whom the file does not decide."""
        return cls(determined=False, decided_by=decided_by)


@dataclasses.dataclass(slots=True)
class LoadedLink:
    """The arguments of ``Link``, with permissions as loaded."""

    kind: str
    name: str
    account: str | None
    permissions: LoadedPermissions
    line: int | None = None
    file: str | None = None


@dataclasses.dataclass(slots=True)
class LoadedDeployment:
    """The accounts and users of one or several inputs."""

    accounts: dict[str, Account] = dataclasses.field(default_factory=dict)
    users: dict[str, LoadedPermissions] = dataclasses.field(default_factory=dict)
    #: The account of each user.
    account_of: dict[str, str] = dataclasses.field(default_factory=dict)
    #: The subscriptions of each user that a running broker told: pattern, and queue or None.
    subscriptions: dict[str, set[tuple[str, str | None]]] = dataclasses.field(default_factory=dict)
    cluster: str | None = None
    system: str | None = None
    no_auth_user: str | None = None
    links: list[LoadedLink] = dataclasses.field(default_factory=list)
    admission: Admission = dataclasses.field(default_factory=Admission)
    #: What the inputs hold and the broker ignores, a line each.
    ignored: list[str] = dataclasses.field(default_factory=list)
    #: Signatures that were not verified, because the package for it is missing, a line each.
    unverified: list[str] = dataclasses.field(default_factory=list)
    #: Accounts that the inputs do not hold, a line each.
    unseen: list[str] = dataclasses.field(default_factory=list)
