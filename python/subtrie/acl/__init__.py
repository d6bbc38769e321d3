"""Who may: permissions, loaded from where they stand, asked, compared, reviewed.

Importing this package imports nothing optional.
"""

from .comparison import Comparison, Diff, Grant, Witness
from .decision import Decision
from .lint import Finding
from .permissions import Permissions
from .responses import ResponseLimit
from .session import Session

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
]
