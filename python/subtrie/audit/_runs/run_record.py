"""The table ``runs``: which input, version and options a result was made from, and its counters.

A row has no time and nothing that depends on how the work was divided, so the same input gives the
same row.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from .._readers.log_files import capture_files, log_size, open_log, shown_path
from .._schema import TABLES_VERSION

_BLOCK = 1024 * 1024


def input_files(paths: Sequence[str]) -> list[tuple[str, int]]:
    """Return the files of inputs and their current sizes.

    Raises:
        OSError: A file cannot be read.
    """
    return [(file, log_size(file)) for path in paths for file in capture_files(path)]


def input_digest(files: Sequence[tuple[str, int]]) -> str:
    """Return a digest of the bytes of all inputs.

    Neither the names nor the order of the files have an effect. Cost: one read of all bytes, with
    the lock of the interpreter released; a second core does it while the logs are divided.

    Args:
        files: The files, and the number of bytes of each that are read.

    Raises:
        OSError: A file cannot be read, or became shorter.
    """
    digests = sorted(_digest(file, size) for file, size in files)
    return hashlib.sha256("".join(digests).encode()).hexdigest()


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


def _digest(path: str, size: int) -> str:
    found = hashlib.sha256()
    left = size
    with open_log(path) as stream:
        while left:
            block = stream.read(min(left, _BLOCK))
            if not block:
                raise OSError(f"{shown_path(path)} became shorter while it was read")
            found.update(block)
            left -= len(block)
    return found.hexdigest()
