"""The allow and deny lists, checked: what every question about permissions is asked of."""

from __future__ import annotations

from collections.abc import Iterable
from typing import ClassVar, Self

from .. import _engine
from .._rule_engine import RuleEngine
from ._response_limit import ResponseLimit
from ._rule_entry import checked


class Lists:
    """What ``Permissions`` holds; see there."""

    __slots__ = (
        "allow_responses",
        "dead",
        "dialect",
        "known",
        "publish_allow",
        "publish_deny",
        "sources",
        "subscribe_allow",
        "subscribe_deny",
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
        self.publish_allow = checked(publish_allow, "publish_allow", dialect, False, engine)
        self.publish_deny = checked(publish_deny, "publish_deny", dialect, False, engine) or ()
        self.subscribe_allow = checked(subscribe_allow, "subscribe_allow", dialect, True, engine)
        self.subscribe_deny = checked(subscribe_deny, "subscribe_deny", dialect, True, engine) or ()
        self.allow_responses = allow_responses
        self.dialect = dialect
        #: False where the account or a signing key decides and is not at hand.
        self.known = True
        #: Entries of a JWT that load and match nothing: (list, entry).
        self.dead: tuple[tuple[str, str], ...] = ()
        #: Where each entry was read: (list, entry) to (file, line).
        self.sources: dict[tuple[str, str], tuple[str, int]] = {}

    def lists(self, verb: str) -> tuple[list[str], list[str]]:
        """The allow and deny entries of a verb; ``>`` where everything is allowed."""
        allow, deny = (
            (self.publish_allow, self.publish_deny)
            if verb == "publish"
            else (self.subscribe_allow, self.subscribe_deny)
        )
        return [">"] if allow is None else list(allow), list(deny)

    @property
    def cap(self) -> int | None:
        """Most tokens of a subject in the dialect (A37)."""
        return 64 if self.dialect == "strict" else None

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
        if not self.known:
            parts.append("unknown")
        return f"Permissions({', '.join(parts)})"
