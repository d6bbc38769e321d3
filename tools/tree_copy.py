"""A copy of the files of git, for tools and tests that change or build the tree elsewhere."""

from __future__ import annotations

import os
import shutil
import subprocess
from collections.abc import Iterable
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent


def copy_files(folder: Path, more: Iterable[str] = (), *, time: int | None = None) -> None:
    """Copy the files of git, as they are in the tree, into a folder.

    Args:
        folder: Where the copy goes.
        more: Further files, as paths from the root of the tree.
        time: The time of the copies, in seconds; by default that of the originals.
    """
    listed = subprocess.run(
        ["git", "ls-files", "-z"], cwd=ROOT, capture_output=True, text=True, check=True
    )
    for name in [*filter(None, listed.stdout.split("\0")), *more]:
        if (ROOT / name).is_file():
            (folder / name).parent.mkdir(parents=True, exist_ok=True)
            shutil.copy2(ROOT / name, folder / name)
            if time is not None:
                os.utime(folder / name, (time, time))
