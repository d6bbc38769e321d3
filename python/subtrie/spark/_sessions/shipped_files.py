"""Files that the driver sends to the workers of a session, and their paths there.

A classic driver serves a file from its path whenever an executor starts, so the files stay until
this process ends. The name of a file says what it holds: one that was sent to a session is not sent
again, and a second session gets the bytes that the first one got. Two images of one index differ in
their hash key, and Spark refuses two contents under one name.
"""

from __future__ import annotations

import atexit
import os
import shutil
import tempfile
from functools import cache
from typing import TYPE_CHECKING

from .classic_session import session_key

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

# The names of the files sent to each session.
_sent: dict[str, set[str]] = {}


def send_file(spark: SparkSession, name: str, data: bytes | memoryview) -> None:
    """Send a file to the workers of a session, classic or of Spark Connect."""
    sent = _sent.setdefault(session_key(spark), set())
    if name in sent:
        return
    path = os.path.join(_folder(), name)
    if not os.path.exists(path):
        with tempfile.TemporaryDirectory(dir=_folder()) as begun:
            part = os.path.join(begun, name)
            with open(part, "wb") as file:
                file.write(data)
            os.replace(part, path)
    spark.addArtifact(path, file=True)
    sent.add(name)


def worker_path(name: str) -> str:
    """Return the path of a file in a worker."""
    from pyspark import SparkFiles

    return os.path.join(SparkFiles.getRootDirectory(), name)


@cache
def _folder() -> str:
    """Return a folder that is removed when this process ends."""
    folder = tempfile.mkdtemp(prefix="subtrie-files-")
    atexit.register(shutil.rmtree, folder, ignore_errors=True)
    return folder
