"""The allow and deny lists of one user, checked: the input of every decision and comparison."""

from __future__ import annotations

from collections.abc import Iterable
from typing import ClassVar, Self

from .._core import engine as _engine
from .._core.rule_engine import RuleEngine
from .._findings.finding import Place
from .._nats.jwt import Validity
from ._response_limit import ResponseLimit
from ._rule_entry import checked_entries

#: Who decides about a user whose token has no lists.
ACCOUNT_DECIDES = "the account JWT or a signing key, which is not given"


class RuleSets:
    """The state of ``Permissions``; see there."""

    __slots__ = (
        "_certified",
        "allow_responses",
        "anonymous",
        "connection_types",
        "decided_by",
        "determined",
        "dialect",
        "from_token",
        "place",
        "publish_allow",
        "publish_deny",
        "sources",
        "subscribe_allow",
        "subscribe_deny",
        "unmatchable",
        "validity",
    )

    #: The engine that answers; another one in a class made by ``_using``.
    _engine: ClassVar[RuleEngine] = _engine

    @classmethod
    def _using(cls, engine: RuleEngine) -> type[Self]:
        """Return this class bound to another engine, for the conformance run."""
        if engine is cls._engine:
            return cls
        return type(cls.__name__, (cls,), {"__slots__": (), "_engine": engine})

    def __init__(
        self,
        *,
        publish_allow: Iterable[str] | None = None,
        publish_deny: Iterable[str] = (),
        subscribe_allow: Iterable[str] | None = None,
        subscribe_deny: Iterable[str] = (),
        allow_responses: ResponseLimit | None = None,
        dialect: str = "server",
    ) -> None:
        self._engine.check_pattern(">", dialect)  # refuses an unknown dialect
        if allow_responses is not None and not isinstance(allow_responses, ResponseLimit):
            given = type(allow_responses).__name__
            raise TypeError(f"allow_responses must be a ResponseLimit or None, not {given}")
        engine = self._engine
        self.publish_allow = checked_entries(publish_allow, "publish_allow", dialect, False, engine)
        self.publish_deny = (
            checked_entries(publish_deny, "publish_deny", dialect, False, engine) or ()
        )
        self.subscribe_allow = checked_entries(
            subscribe_allow, "subscribe_allow", dialect, True, engine
        )
        self.subscribe_deny = (
            checked_entries(subscribe_deny, "subscribe_deny", dialect, True, engine) or ()
        )
        self.allow_responses = allow_responses
        self.dialect = dialect
        #: False if the account, a signing key or an external authority decides, and is not given.
        self.determined = True
        #: Who decides if ``determined`` is False.
        self.decided_by = ACCOUNT_DECIDES
        #: Why a connection without credentials is this user: ``no-authorization`` of the broker, or
        #: ``no-auth-user``; empty if it is not.
        self.anonymous = ""
        #: True if every connection needs a certificate.
        self._certified = False
        #: Entries of a JWT that load and match nothing: (list, entry).
        self.unmatchable: tuple[tuple[str, str], ...] = ()
        #: Where each entry was read: (list, entry) to (file, line, column).
        self.sources: dict[tuple[str, str], Place] = {}
        #: Where the user stands: in a configuration, or where its JWT begins; None elsewhere.
        self.place: Place | None = None
        #: True if these were read from a JWT.
        self.from_token = False
        #: The connections that the user may make, as ``STANDARD``; empty for all.
        self.connection_types: tuple[str, ...] = ()
        #: The time in which the token is good that these were read from.
        self.validity = Validity()

    def lists(self, verb: str) -> tuple[list[str], list[str]]:
        """Return the allow and deny entries of a verb; ``>`` if everything is allowed."""
        allow, deny = (
            (self.publish_allow, self.publish_deny)
            if verb == "publish"
            else (self.subscribe_allow, self.subscribe_deny)
        )
        return [">"] if allow is None else list(allow), list(deny)

    @property
    def cap(self) -> int | None:
        """The most tokens of a subject in the dialect; None for no limit."""  # A37
        return 64 if self.dialect == "strict" else None

    @property
    def expires(self) -> int | None:
        """The last second since the epoch in which the token is good; None if it never expires."""
        return self.validity.expires

    @property
    def not_before(self) -> int | None:
        """The first second since the epoch in which the token is good; None for no bound."""
        return self.validity.not_before

    def __repr__(self) -> str:
        parts = [
            f"{name}={value!r}"
            for name in ("publish_allow", "publish_deny", "subscribe_allow", "subscribe_deny")
            if (value := getattr(self, name)) not in (None, ()) or (value == () and "allow" in name)
        ]
        if self.allow_responses is not None:
            parts.append(f"allow_responses={self.allow_responses!r}")
        if self.dialect != "server":
            parts.append(f"dialect={self.dialect!r}")
        if not self.determined:
            parts.append("undetermined")
        return f"Permissions({', '.join(parts)})"
