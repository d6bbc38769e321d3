"""Meaning of the errors of nats-py: a refused connection, a refused publish or subscription.

nats-py gives most errors of the server as text, in lower case once it is connected.
"""

from __future__ import annotations

import re
from ssl import SSLError
from typing import NamedTuple

_REFUSED = re.compile(
    r"authorization violation|user authentication|account authentication expired", re.IGNORECASE
)
_VIOLATION = re.compile(
    r"permissions violation for (publish|subscription) to "
    r"\"([^\"]*)\"(?: using queue \"([^\"]*)\")?",
    re.IGNORECASE,
)


class Violation(NamedTuple):
    """A refused publish or subscription, with its subject in lower case."""

    verb: str
    subject: str
    queue: str | None


def refuses_connection(error: BaseException | None) -> bool:
    """Return whether an error or its cause means that another attempt would fail too."""
    from nats.errors import AuthorizationError

    while error is not None:
        if isinstance(error, SSLError | AuthorizationError) or _REFUSED.search(str(error)):
            return True
        error = error.__cause__
    return False


def is_authorization(error: BaseException | None) -> bool:
    """Return whether the server refused the credentials."""
    return error is not None and bool(
        _REFUSED.search(str(error)) or is_authorization(error.__cause__)
    )


def violation(error: BaseException) -> Violation | None:
    """Return the refused operation of a permissions violation; None for any other error."""
    found = _VIOLATION.search(str(error))
    if found is None:
        return None
    verb = "publish" if found[1].lower() == "publish" else "subscribe"
    return Violation(verb, found[2].lower(), found[3])
