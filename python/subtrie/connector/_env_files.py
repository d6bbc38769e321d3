"""The files ``env.local.yaml`` and ``env.yaml``: variables for connectors, by folder.

The files of the working directory and of its parents are read when a connector is made, and kept
until the next one is made there. A file counts only if this user or root owns it and no other user
may write it or put it there, because it can choose the broker. Only lines ``NAME: value`` are read.
"""

from __future__ import annotations

import logging
import os
import re
import stat
from dataclasses import dataclass, field
from pathlib import Path

from ._config_folders import config_folders

logger = logging.getLogger("subtrie.connector")

_NAMES = ("env.local.yaml", "env.yaml")  # the first one wins
_MAX_SIZE = 1 << 20  # bytes of one file
#: A comment begins with a number sign after a blank; any other is part of the value, as in YAML.
#: Possessive, so that a line takes time and memory in proportion to its length.
_LINE = re.compile(
    r"""([A-Z][A-Z0-9_]*)[ \t]*:[ \t]*
    (?:"([^"]*)"|'([^']*)'|([^#"'\s]\S*+(?:\s++[^#\s]\S*+)*+))?(?:\s++\#.*)?\s*""",
    re.VERBOSE,
)


@dataclass
class EnvFiles:
    """The variables in the files of a folder and its parents.

    Attributes:
        values: The value of each variable, and the file that sets it.
        used: The files whose values were asked for, in the order of first use.
    """

    values: dict[str, tuple[str, Path]]
    used: list[Path] = field(default_factory=list)

    def get(self, name: str) -> str:
        """Return the value of a variable, or an empty text if no file sets it."""
        value, file = self.values.get(name, ("", None))
        if file is not None and file not in self.used:
            self.used.append(file)
        return value


_read: dict[Path, EnvFiles] = {}
_skipped: set[Path] = set()  # files that the log has named


def read_env_files() -> EnvFiles:
    """Read the files of the working directory and its parents, nearer ones first."""
    folder = Path.cwd()
    values: dict[str, tuple[str, Path]] = {}
    for each in config_folders(folder, _NAMES):
        for file in (each / name for name in _NAMES):
            for name, value in _lines(file).items():
                values.setdefault(name, (value, file))
    kept = _read.get(folder)
    _read.clear()  # a process that goes from folder to folder keeps one
    found = _read[folder] = EnvFiles(values, kept.used if kept else [])
    return found


def env_files() -> EnvFiles:
    """Return what was read for the working directory; read it if nothing was."""
    return _read.get(Path.cwd()) or read_env_files()


def _lines(file: Path) -> dict[str, str]:
    try:
        # Without O_NONBLOCK a pipe of this name would never open.
        descriptor = os.open(file, os.O_RDONLY | getattr(os, "O_NONBLOCK", 0))
    except OSError:
        return {}
    if fault := _fault(os.fstat(descriptor)):
        os.close(descriptor)  # ``open`` refuses that of a folder, and keeps it open
        if file not in _skipped:
            _skipped.add(file)
            logger.warning("%s is not read: %s", file, fault)
        return {}
    with open(descriptor, "rb") as opened:
        data = opened.read(_MAX_SIZE)
    lines = data.decode(errors="replace").splitlines()
    found = (_LINE.fullmatch(line) for line in lines)
    return {match[1]: match[2] or match[3] or match[4] or "" for match in found if match}


def _fault(status: os.stat_result) -> str:
    """Return why a file does not count, or an empty text."""
    if not stat.S_ISREG(status.st_mode):
        return "it is not a regular file"
    if status.st_size > _MAX_SIZE:
        return f"it is larger than {_MAX_SIZE} bytes"
    if os.name == "posix":
        if status.st_uid not in (os.geteuid(), 0):
            return f"another user owns it (uid {status.st_uid}); only this user's and root's count"
        if status.st_mode & (stat.S_IWGRP | stat.S_IWOTH):
            mode = stat.S_IMODE(status.st_mode)
            return f"others may write it (mode {mode:04o}); use chmod go-w"
    return ""
