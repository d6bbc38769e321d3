"""Permissions of NATS connections: load, decide, compare, review and shorten them.

Importing this package imports nothing optional.
"""

from ._comparison import Comparison, Diff, Grant, Witness
from ._decision import Decision
from ._deployment import Delivery, Deployment, Flow
from ._lint import Finding, jwt_size
from ._lint_rules import LINT_RULES, LintRule
from ._microbus import about_microbus
from ._permissions import Permissions
from ._place import Place
from ._response_limit import ResponseLimit
from ._session import Session

__all__ = [
    "LINT_RULES",
    "Comparison",
    "Decision",
    "Delivery",
    "Deployment",
    "Diff",
    "Finding",
    "Flow",
    "Grant",
    "LintRule",
    "Permissions",
    "Place",
    "ResponseLimit",
    "Session",
    "Witness",
    "about_microbus",
    "jwt_size",
]
