"""Connections without credentials: which user they are, and why."""

from __future__ import annotations

import dataclasses

from ..acl import Decision, Permissions
from .stream import in_words_of_the_command

_REASONS = {
    "no-authorization": "no authorization: every connection is this user",
    "no-auth-user": "no_auth_user: a connection without credentials is this user",
}


def anonymity(permissions: Permissions) -> str | None:
    """Return why a connection without credentials is this user; None if it is not."""
    reason = _REASONS.get(permissions.anonymous)
    if reason is not None and permissions._certified:
        return reason.replace("connection", "connection with a certificate")
    return reason


def with_reason(decision: Decision, permissions: Permissions) -> Decision:
    """Return a decision in the words of a command.

    It says so if connections without credentials are the user.
    """
    told = in_words_of_the_command(decision.explanation)
    reason = anonymity(permissions)
    return dataclasses.replace(decision, explanation=f"{told} ({reason})" if reason else told)
