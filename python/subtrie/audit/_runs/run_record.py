"""The table ``runs``: which input, version and options a result was made from, and its counters.

A row has no time and nothing that depends on how the work was divided, so the same input gives the
same row.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Callable, Mapping
from typing import Any

from .._schema import TABLES_VERSION


def run_record(
    digest: Callable[[], str] | None, options: Mapping[str, Any], counters: Mapping[str, int]
) -> dict[str, Any]:
    """Return the row of a run.

    Args:
        digest: Returns the digest of the inputs; None for a table of events.
        options: The options that have an effect on the result.
        counters: The counts of lines and windows.
    """
    from ... import __version__

    row = {
        "schema": TABLES_VERSION,
        "input_digest": None if digest is None else digest(),
        "version": __version__,
        "options": json.dumps(options, sort_keys=True),
        "counters": json.dumps(counters, sort_keys=True),
    }
    run = hashlib.sha256(json.dumps(row, sort_keys=True).encode()).hexdigest()[:16]
    return {"run": run, **row}


def json_object(text: str) -> dict[str, Any]:
    """Return the JSON object in a column of a run.

    Raises:
        ValueError: The text is something else.
    """
    try:
        found = json.loads(text)
    except RecursionError:
        found = None
    if not isinstance(found, dict):
        raise ValueError("the row of the run has a text that is not a JSON object")
    return found
