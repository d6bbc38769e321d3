"""Errors of the broker: a refused connection, a refused publish or subscription.

The message for a refused publish names the nearest rule of the creds, and the command that explains
the decision.
"""

from __future__ import annotations

import re
import shlex
from pathlib import Path
from ssl import SSLError
from typing import NamedTuple

from ..._core.engine import SubjectTrie
from ..._core.errors import SubtrieError
from ..._nats.creds_file import jwt_in_creds
from ..._nats.jwt import claims_of

_REFUSED = re.compile(
    r"authorization violation|user authentication|account authentication expired", re.IGNORECASE
)
_VIOLATION = re.compile(
    r"permissions violation for (publish|subscription) to "
    r"\"([^\"]*)\"(?: using queue \"([^\"]*)\")?",
    re.IGNORECASE,
)


class RefusedOperation(NamedTuple):
    """A refused publish or subscription."""

    verb: str
    subject: str
    queue: str | None


def refuses_connection(error: BaseException | None) -> bool:
    """Return whether an error or its cause means that another attempt would fail too."""
    return isinstance(error, SSLError) or refuses_credentials(error)


def refuses_credentials(error: BaseException | None) -> bool:
    """Return whether the server refused the credentials, by an error or its cause."""
    return error is not None and bool(
        _REFUSED.search(str(error)) or refuses_credentials(error.__cause__)
    )


def violation(text: str) -> RefusedOperation | None:
    """Return the refused operation of a permissions violation; None for any other error."""
    found = _VIOLATION.search(text)
    if found is None:
        return None
    verb = "publish" if found[1].lower() == "publish" else "subscribe"
    return RefusedOperation(verb, found[2], found[3])


def user_and_rules(creds: str) -> tuple[str, tuple[str, ...] | None]:
    """Return the user and the publish rules in the text of a creds file.

    The user is empty and the rules are None if they are not told.
    """
    token = jwt_in_creds(creds)
    if token is None:
        return "", None
    try:
        claims = claims_of(token, Path(), "user")
    except SubtrieError:
        return "", None
    name = claims.get("name")
    user = name if isinstance(name, str) else ""
    allowed = ((claims.get("nats") or {}).get("pub") or {}).get("allow")
    if not isinstance(allowed, list):
        return user, None
    return user, tuple(each for each in allowed if isinstance(each, str))


def explained(subject: str, rules: tuple[str, ...] | None, file: Path | None) -> str:
    """Return why a publish is refused.

    Args:
        subject: The subject that was sent.
        rules: The publish rules of the creds, or None if they are not known.
        file: The creds file, or None.
    """
    text = f"the broker refuses to publish to {subject}"
    if rules is None:
        return text
    trie: SubjectTrie[str] = SubjectTrie(dialect="server")
    for rule in rules:
        try:
            trie.add(rule, rule)
        except SubtrieError:
            continue
    nearest = next((miss.pattern for miss in trie.explain(subject).nearest), None)
    near = f", the nearest is {nearest}" if nearest is not None else ""
    text += f"; the creds hold {len(rules)} publish rules{near}"
    if file is None:
        return text
    shown = file.relative_to(Path.cwd()) if file.is_relative_to(Path.cwd()) else file
    command = shlex.join(["subtrie", "why", "-p", str(shown), subject])
    return f"{text}; to see why: {command}"
