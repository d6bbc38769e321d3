"""Trees of git revisions, written out so that each configuration includes the files of its own."""

from __future__ import annotations

import os
import subprocess
import tempfile
from collections.abc import Iterator
from contextlib import chdir, contextmanager
from pathlib import Path
from typing import NamedTuple

from .permission_files import BadFile

#: Longest run of one git command, in seconds.
_TIMEOUT = 300
#: The environment of a hook names its repository; here it is that of the files.
_OF_REPOSITORY = ("GIT_DIR", "GIT_WORK_TREE", "GIT_COMMON_DIR", "GIT_INDEX_FILE", "GIT_PREFIX")


class Pair(NamedTuple):
    """One file before and after a change.

    Attributes:
        old: the file in the tree of the old revision.
        new: the file after the change, as a path to show.
        prefix: the beginning of old paths, which is not to be shown.
        revision: what stands for it.
    """

    old: Path
    new: Path
    prefix: str
    revision: str

    def shown(self, file: str) -> str:
        """Return a path as a reader knows it: that of an old file as git writes it."""
        if file.startswith(self.prefix):
            return f"{self.revision}:{file.removeprefix(self.prefix)}"
        return file


@contextmanager
def pairs(revisions: str, files: tuple[Path, ...]) -> Iterator[list[Pair]]:
    """Write out the trees of ``OLD`` or ``OLD..NEW``, and give each file in both.

    Without ``NEW``, the files after the change are those of the working tree.

    Args:
        revisions: ``OLD`` or ``OLD..NEW``.
        files: the files, in one repository.

    Raises:
        BadFile: git is missing or refuses, or a revision does not hold a file.
    """
    old, dots, new = revisions.partition("..")
    if not old or new.startswith("."):
        raise BadFile(f"--git {revisions}: write OLD or OLD..NEW")
    top = Path(_git(files[0].resolve().parent, "rev-parse", "--show-toplevel"))
    try:
        names = [each.resolve().relative_to(top.resolve()) for each in files]
    except ValueError:
        raise BadFile(f"the files are not all in the repository {top}") from None
    with tempfile.TemporaryDirectory(prefix="subtrie-") as folder:
        before = _tree(top, old, Path(folder, "old"))
        after = _tree(top, new or "HEAD", Path(folder, "new")) if dots else None
        for tree, revision in ((before, old), (after, new or "HEAD")):
            for name in names:
                if tree is not None and not (tree / name).exists():
                    raise BadFile(f"{revision}:{name}: no such file in that revision")
        shown = list(files) if after is None else names
        found = [
            Pair(before / name, path, f"{before}/", old)
            for name, path in zip(names, shown, strict=True)
        ]
        if after is None:
            yield found
            return
        with chdir(after):
            yield found


def _tree(top: Path, revision: str, folder: Path) -> Path:
    """Write out the whole tree of a revision; ``export-ignore`` leaves out nothing."""
    tree = _git(top, "rev-parse", "--verify", "--quiet", "--end-of-options", f"{revision}^{{tree}}")
    folder.mkdir()
    index = str(folder.parent / f"{folder.name}.index")
    _git(top, "read-tree", tree, index=index)
    _git(top, "checkout-index", "--all", f"--prefix={folder}/", index=index)
    return folder


def _git(folder: Path, *arguments: str, index: str | None = None) -> str:
    environment = {key: text for key, text in os.environ.items() if key not in _OF_REPOSITORY}
    if index is not None:
        environment["GIT_INDEX_FILE"] = index
    try:
        done = subprocess.run(
            ["git", *arguments], cwd=folder, env=environment, capture_output=True, text=True,
            check=False, timeout=_TIMEOUT,
        )  # fmt: skip
    except (OSError, subprocess.TimeoutExpired) as error:
        raise BadFile(f"git {arguments[0]}: {error}") from None
    if done.returncode:
        reason = done.stderr.strip().splitlines() or ["there is no such revision"]
        raise BadFile(f"git {arguments[0]} {arguments[-1]}: {reason[-1]}")
    return done.stdout.strip()
