"""The table ``runs``: which input, version and options a result was made from, and its counters.

A row has no time and nothing that depends on how the work was divided, so the same input gives the
same row.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping, Sequence
from typing import Any

from ._log_files import capture_files, log_size, open_log
from ._schema import TABLES_VERSION

#: The bytes at each end of a file that its digest covers: a log grows at its end.
_ENDS = 64 * 1024


def input_digest(paths: Sequence[str]) -> str:
    """Return a digest of the inputs: of the size, the first and the last 64 KiB of each file.

    Neither the names nor the order of the files have an effect. Cost: two reads a file.

    Raises:
        OSError: A file cannot be read.
    """
    digests = sorted(_digest(file) for path in paths for file in capture_files(path))
    return hashlib.sha256("".join(digests).encode()).hexdigest()


def run_record(
    digest: str | None, options: Mapping[str, Any], counters: Mapping[str, int]
) -> dict[str, Any]:
    """Return the row of a run.

    Args:
        digest: The digest of the inputs; None for a table of events.
        options: The options that have an effect on the result.
        counters: The counts of lines and windows.
    """
    from .. import __version__

    row = {
        "schema": TABLES_VERSION,
        "input_digest": digest,
        "version": __version__,
        "options": json.dumps(options, sort_keys=True),
        "counters": json.dumps(counters, sort_keys=True),
    }
    run = hashlib.sha256(json.dumps(row, sort_keys=True).encode()).hexdigest()[:16]
    return {"run": run, **row}


def _digest(path: str) -> str:
    size = log_size(path)
    with open_log(path) as stream:
        first = stream.read(_ENDS)
        stream.seek(max(0, size - _ENDS))
        last = stream.read(_ENDS)
    return hashlib.sha256(b"%d\n%b%b" % (size, first, last)).hexdigest()
