"""The part of an engine that permissions and the rules of services need.

Both engines are such an object, and so is any module that a conformance run is given.
"""

from __future__ import annotations

from typing import Protocol

from .address import Target
from .subject import Pattern


class RuleEngine(Protocol):
    """The functions as the stub of the native engine declares them."""

    def check_subject(self, text: str, dialect: str = ...) -> None:
        """Raise ``SubjectError`` unless the text is a subject of the dialect."""

    def check_pattern(self, text: str, dialect: str = ...) -> None:
        """Raise ``PatternError`` unless the text is a pattern of the dialect."""

    def matches(self, pattern: str, subject: str) -> bool:
        """Return whether the pattern matches the subject."""

    def covers(self, pattern: str, other: str) -> bool:
        """Return whether the pattern matches all that the other one matches."""

    def rules_admit(
        self,
        allow: list[str],
        deny: list[str],
        pattern: str,
        queue: str | None = ...,
        max_tokens: int | None = ...,
    ) -> tuple[str, str | None] | None:
        """Return a subject of the pattern that the rules do not allow, or None."""

    def rules_witness(
        self,
        allow: list[str],
        deny: list[str],
        other_allow: list[str],
        other_deny: list[str],
        max_tokens: int | None = ...,
    ) -> tuple[str, str | None] | None:
        """Return a subject that only the first set of rules allows, or None."""

    def rules_overlap(
        self,
        allow: list[str],
        deny: list[str],
        other_allow: list[str],
        other_deny: list[str],
        max_tokens: int | None = ...,
    ) -> tuple[str, str | None] | None:
        """Return a subject that both sets of rules allow, or None."""

    def rules_minimised(
        self, allow: list[str], deny: list[str], max_tokens: int | None = ...
    ) -> tuple[list[str], list[str]]:
        """Return the smallest lists that allow the same."""

    def encode_subscription(
        self,
        *,
        plane: str,
        port: int | str,
        host: str,
        method: str,
        path: str,
        slot: str = ...,
    ) -> Pattern:
        """Return the pattern that receives requests to an endpoint."""

    def encode_reply_subscription(self, *, plane: str, host: str, id: str) -> Pattern:
        """Return the pattern that receives the replies to an instance."""

    def resolve_route(self, *, host: str, route: str) -> Target:
        """Return the host, the port and the path of a route."""

    def flatten_host(self, host: str) -> str:
        """Return the token of a host."""

    def check_identity_host(self, host: str) -> str:
        """Return the host if a service may have it."""

    def check_plane(self, plane: str) -> str:
        """Return the plane if it is valid."""
