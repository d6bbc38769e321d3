"""Audit traffic in one process: logs, captures and snapshots in, tables out.

``audit(logs)`` makes the tables of ``subtrie audit``. It needs the extra ``audit``, and neither
Spark nor Java; ``subtrie.spark`` makes the same tables on any number of machines.
"""

from .._core.public_names import publish
from ._answers.adoption import proposed_permissions
from ._answers.questions import Questions, load_code, load_rules
from ._here import audit
from ._partial.partial import Partial
from ._partial.selection import Selection
from ._results.run_difference import run_difference
from ._results.verdict import verdict
from ._run import Run, open_run
from ._runs.run_folder import OutputFolderError
from ._schema import ANSWERS, EVENTS, TABLES
from ._table_of import partials_of, table_of

__all__ = [
    "ANSWERS",
    "EVENTS",
    "TABLES",
    "OutputFolderError",
    "Partial",
    "Questions",
    "Run",
    "Selection",
    "audit",
    "load_code",
    "load_rules",
    "open_run",
    "partials_of",
    "proposed_permissions",
    "run_difference",
    "table_of",
    "verdict",
]

publish(globals())
