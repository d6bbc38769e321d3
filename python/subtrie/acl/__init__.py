"""Permissions of NATS connections: load, decide, compare, review and shorten them.

Importing this package imports nothing optional.
"""

from ._comparison import Comparison, Diff, Grant, Witness
from ._decision import Decision
from ._lint import Finding, jwt_size
from ._permissions import Permissions
from ._response_limit import ResponseLimit
from ._session import Session

__all__ = [
    "Comparison",
    "Decision",
    "Diff",
    "Finding",
    "Grant",
    "Permissions",
    "ResponseLimit",
    "Session",
    "Witness",
    "jwt_size",
]
