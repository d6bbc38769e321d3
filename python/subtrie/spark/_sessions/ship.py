"""Send this package to workers that do not have it.

Spark puts a ``.zip`` on the path of Python workers, but a native module cannot be imported from a
zip file. The zip sent here therefore contains a small ``subtrie/__init__.py`` that unpacks the
package beside the zip on first import, once on each executor, and then becomes it. The same file
works in classic sessions and with Spark Connect.
"""

from __future__ import annotations

import atexit
import hashlib
import io
import os
import shutil
import tempfile
import zipfile
from collections.abc import Iterator
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING

from .classic_session import session_key

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

_PACKAGE = Path(__file__).resolve().parents[2]
_SUFFIXES = {".py", ".so", ".pyd", ".typed", ".js", ".css", ".html", ".json", ".proto"}

# The file that was sent last in each session.
_shipped: dict[str, bytes] = {}

#: ``subtrie/__init__.py`` of the zip file. It must not import anything of the package.
_UNPACKING = '''\
"""Unpack the package that is in this zip file, and become it."""

import os
import shutil
import sys
import tempfile
import zipfile

_archive = __loader__.archive
_target = _archive + ".unpacked"
if not os.path.isdir(_target):
    _made = tempfile.mkdtemp(prefix=".subtrie-", dir=os.path.dirname(_archive))
    with zipfile.ZipFile(_archive) as _zip:
        _zip.extractall(_made, [n for n in _zip.namelist() if n.startswith("package/")])
    try:
        os.rename(_made, _target)
    except OSError:  # another worker was faster
        shutil.rmtree(_made, ignore_errors=True)
        if not os.path.isdir(_target):
            raise
__path__ = [os.path.join(_target, "package", "subtrie")]
__spec__.submodule_search_locations = __path__
__file__ = os.path.join(__path__[0], "__init__.py")
with open(__file__, encoding="utf-8") as _file:
    _code = compile(_file.read(), __file__, "exec")
exec(_code)
'''


def ship(spark: SparkSession, *, wheel: str | os.PathLike[str] | None = None) -> str:
    """Send this package, its native module included, to the workers of a session.

    Workers that have the package use the one that was sent. The workers need Python, pyarrow and
    the platform of this machine; for another platform give a wheel of it. Call it before the first
    job that uses the package. Calling it again does nothing. Cost: about 2 MB to each executor,
    which unpacks them once.

    Args:
        spark: A classic session, or one of Spark Connect.
        wheel: A wheel of this package, whose content is sent in place of the installed package.

    Returns:
        The name of the file that was sent.

    Raises:
        ValueError: The wheel does not contain this package.
    """
    data = _installed_zip() if wheel is None else _zip(_of_wheel(wheel))
    path = _saved(data)
    spark.addArtifact(path, pyfile=True)
    _shipped[session_key(spark)] = data
    return os.path.basename(path)


def shipped_data(spark: SparkSession) -> bytes | None:
    """Return the file that was sent last in a session, or None."""
    return _shipped.get(session_key(spark))


@cache
def _saved(data: bytes) -> str:
    """Write the zip file, and return its path.

    A classic driver serves the file from its path as long as executors may start, and refuses a
    second path for the same name; so the file is written once, and removed when the process ends.
    """
    folder = tempfile.mkdtemp(prefix="subtrie-ship-")
    atexit.register(shutil.rmtree, folder, ignore_errors=True)
    path = Path(folder, f"subtrie-{hashlib.sha256(data).hexdigest()[:12]}.zip")
    path.write_bytes(data)
    return str(path)


@cache
def _installed_zip() -> bytes:
    """Return the zip file of the package that is running."""
    return _zip(_installed())


def _installed() -> Iterator[tuple[str, bytes]]:
    """Yield the files of the package that is running."""
    for file in sorted(_PACKAGE.rglob("*")):
        if file.suffix in _SUFFIXES and "__pycache__" not in file.parts:
            yield file.relative_to(_PACKAGE.parent).as_posix(), file.read_bytes()


def _of_wheel(wheel: str | os.PathLike[str]) -> Iterator[tuple[str, bytes]]:
    """Yield the files of the package in a wheel."""
    with zipfile.ZipFile(wheel) as archive:
        names = sorted(name for name in archive.namelist() if name.startswith("subtrie/"))
        if "subtrie/__init__.py" not in names:
            raise ValueError(f"{os.fspath(wheel)} does not contain the package subtrie")
        for name in names:
            if Path(name).suffix in _SUFFIXES:
                yield name, archive.read(name)


def _zip(files: Iterator[tuple[str, bytes]]) -> bytes:
    """Return the zip file: equal bytes for equal files."""
    out = io.BytesIO()
    with zipfile.ZipFile(out, "w", zipfile.ZIP_DEFLATED) as archive:
        archive.writestr(zipfile.ZipInfo("subtrie/__init__.py"), _UNPACKING)
        for name, data in files:
            entry = zipfile.ZipInfo(f"package/{name}")
            entry.compress_type = zipfile.ZIP_DEFLATED
            archive.writestr(entry, data)
    return out.getvalue()
