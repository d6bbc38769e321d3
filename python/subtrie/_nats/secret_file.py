"""The one rule for files that hold a secret: who may read them, and where a link may lead."""

from __future__ import annotations

import os
import stat
from pathlib import Path
from typing import Literal


def secret_file_fault(
    path: Path, *, allow_readable: bool = False
) -> Literal["link", "readable"] | None:
    """Return what is wrong with a file that holds a secret; None if it may be used.

    A link is judged by where it ends, so that a chain of links as Kubernetes mounts secrets is
    fine: ``link`` means that the end is outside the folder of ``path``. ``readable`` means that
    the group or others may read the file (POSIX only). A pipe, as a shell passes one, and standard
    input (``-``) are fine.

    Args:
        path: the file, or a link to it.
        allow_readable: accept a file that the group or others may read.

    Raises:
        OSError: the file cannot be inspected.
    """
    if path == Path("-"):
        return None  # standard input
    mode = path.stat().st_mode  # A30
    if stat.S_ISFIFO(mode):
        return None
    if path.is_symlink() and path.parent.resolve() not in path.resolve().parents:
        return "link"
    if os.name == "posix" and not allow_readable and mode & (stat.S_IRWXG | stat.S_IRWXO):
        return "readable"
    return None
