"""Permissions of NATS connections: load, decide, compare, review and shorten them.

Importing this package imports nothing optional.
"""

from ._both_models import decided
from ._comparison import Comparison, Diff, Grant, Witness
from ._decision import Decision
from ._delivery import Delivery
from ._deployment import Deployment
from ._entitlement import Entitlement, entitlement
from ._extent import extent
from ._flows import Flow
from ._link import Link
from ._lint import Finding, jwt_size
from ._lint_rules import LINT_RULES, LintRule
from ._load.deployments import is_address
from ._load.files import STANDARD_INPUT, read_text
from ._microbus import about_microbus
from ._narrowing import Narrowing, narrowed
from ._permissions import Permissions
from ._place import Place
from ._response_limit import ResponseLimit
from ._rule_usage import Attempt, EntryUsage, entry_usage, refusals, uncovered
from ._session import Session
from ._traffic import Counted, Published, Refused, Subscribed, Traffic
from ._uncompared import Uncompared, uncompared

__all__ = [
    "LINT_RULES",
    "STANDARD_INPUT",
    "Attempt",
    "Comparison",
    "Counted",
    "Decision",
    "Delivery",
    "Deployment",
    "Diff",
    "Entitlement",
    "EntryUsage",
    "Finding",
    "Flow",
    "Grant",
    "Link",
    "LintRule",
    "Narrowing",
    "Permissions",
    "Place",
    "Published",
    "Refused",
    "ResponseLimit",
    "Session",
    "Subscribed",
    "Traffic",
    "Uncompared",
    "Witness",
    "about_microbus",
    "decided",
    "entitlement",
    "entry_usage",
    "extent",
    "is_address",
    "jwt_size",
    "narrowed",
    "read_text",
    "refusals",
    "uncompared",
    "uncovered",
]
