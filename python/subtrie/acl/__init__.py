"""Permissions of NATS connections: load, decide, compare, review and shorten them.

Importing this package imports nothing optional.
"""

from ._comparison import Comparison, Diff, Grant, Witness
from ._decision import Decision
from ._delivery import Delivery
from ._deployment import Deployment
from ._flows import Flow
from ._link import Link
from ._lint import Finding, jwt_size
from ._lint_rules import LINT_RULES, LintRule
from ._load.deployments import is_address
from ._load.files import STANDARD_INPUT, read_text
from ._microbus import about_microbus
from ._permissions import Permissions
from ._place import Place
from ._response_limit import ResponseLimit
from ._session import Session

__all__ = [
    "LINT_RULES",
    "STANDARD_INPUT",
    "Comparison",
    "Decision",
    "Delivery",
    "Deployment",
    "Diff",
    "Finding",
    "Flow",
    "Grant",
    "Link",
    "LintRule",
    "Permissions",
    "Place",
    "ResponseLimit",
    "Session",
    "Witness",
    "about_microbus",
    "is_address",
    "jwt_size",
    "read_text",
]
