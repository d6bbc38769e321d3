"""Permissions of NATS connections: load, decide, compare, review and shorten them.

Importing this package imports nothing optional.
"""

from .._core.public_names import publish
from .._findings.finding import Finding
from ._both_models import decided
from ._comparison import Comparison, Diff, Grant, Witness
from ._decision import Decision
from ._delivery import Delivery
from ._deployment import Deployment
from ._lint_rules import LINT_RULES
from ._narrowing import narrowed
from ._permissions import Permissions
from ._response_limit import ResponseLimit
from ._session import Session
from ._traffic import Traffic

__all__ = [
    "LINT_RULES",
    "Comparison",
    "Decision",
    "Delivery",
    "Deployment",
    "Diff",
    "Finding",
    "Grant",
    "Permissions",
    "ResponseLimit",
    "Session",
    "Traffic",
    "Witness",
    "decided",
    "narrowed",
]

publish(globals())
