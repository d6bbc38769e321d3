"""The folders whose files configure a connector: the working directory and those above it.

A folder that others may write ends the search, because its files may be those of another user:
neither it nor a folder above it counts.
"""

from __future__ import annotations

import logging
import os
import stat
from collections.abc import Sequence
from pathlib import Path

logger = logging.getLogger("subtrie.connector")

_skipped: set[Path] = set()  # files that the log has named


def config_folders(folder: Path, names: Sequence[str]) -> list[Path]:
    """Return the folders that count, nearer ones first; log each file that does not, once.

    Args:
        folder: The working directory.
        names: The names of the files that are looked for.
    """
    found: list[Path] = []
    fault = ""
    for each in (folder, *folder.parents):
        fault = fault or _fault(each)
        if not fault:
            found.append(each)
            continue
        for file in (each / name for name in names):
            if file not in _skipped and os.path.lexists(file):
                _skipped.add(file)
                logger.warning("%s is not read: %s", file, fault)
    return found


def _fault(folder: Path) -> str:
    """Return why a folder ends the search, or an empty text."""
    if os.name != "posix":
        return ""
    try:
        status = folder.stat()
    except OSError as error:
        return f"{folder}: {error.strerror}"
    if status.st_uid not in (os.geteuid(), 0):
        return f"another user owns {folder} (uid {status.st_uid})"
    mode = stat.S_IMODE(status.st_mode)
    others = mode & stat.S_IWOTH or (mode & stat.S_IWGRP and not _is_own_group(status.st_gid))
    # On a file system that is mounted to be read only, such as a ConfigMap, no user may write.
    if others and os.access(folder, os.W_OK):
        return f"others may write {folder} (mode {mode:04o})"
    return ""


def _is_own_group(group: int) -> bool:
    """Return whether a group is root's, or one of this user alone, which has the user's name."""
    import grp
    import pwd

    if group == 0:
        return True
    try:
        user, found = pwd.getpwuid(os.geteuid()), grp.getgrgid(group)
    except KeyError:
        return False
    return found.gr_name == user.pw_name and set(found.gr_mem) <= {user.pw_name}
