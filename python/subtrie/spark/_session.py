"""A local Spark session for people who have none: checks first, then starts.

Library functions never make a session; the command line does, through here.
"""

from __future__ import annotations

import contextlib
import os
import re
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from typing import IO, TYPE_CHECKING

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

_JAVA = 17
_PYSPARK = (4, 0)
_SHUFFLED = 64 * 1024 * 1024  # bytes of log for each part of a shuffle
# A small log is over before the JVM's second compiler and parallel collector pay for themselves.
_SMALL = 64 * 1024 * 1024
_QUICK_START = "-XX:TieredStopAtLevel=1 -XX:+UseSerialGC"


class CannotStart(RuntimeError):
    """Something the audit stands on is missing: the text says what, and how to get it."""


def local_session(
    *, memory: str = "1g", cores: str = "*", log_bytes: int = 0, name: str = "subtrie"
) -> SparkSession:
    """The running session, else a new local one with a driver heap of ``memory``.

    ``log_bytes``, the size of what will be read, sets how finely shuffles are cut. What the JVM
    writes to standard error as it starts goes to a file, and is shown only when it does not start.
    Raises ``CannotStart``. Cost: 3 to 6 s for the first of a process.
    """
    check()
    from pyspark.sql import SparkSession

    running = SparkSession.getActiveSession()
    if running is not None:
        return running
    # Workers run whatever python3 is on PATH unless told: they would miss pyarrow and subtrie.
    os.environ.setdefault("PYSPARK_PYTHON", sys.executable)
    parts = min(200, max(os.cpu_count() or 2, -(-log_bytes // _SHUFFLED)))
    builder = (
        SparkSession.builder.master(f"local[{cores}]")
        .appName(name)
        .config("spark.driver.memory", memory)
        .config("spark.driver.host", "127.0.0.1")
        .config("spark.driver.bindAddress", "127.0.0.1")
        .config("spark.ui.enabled", "false")
        .config("spark.ui.showConsoleProgress", "false")
        .config("spark.log.level", "ERROR")
        .config("spark.sql.session.timeZone", "UTC")
        .config("spark.sql.shuffle.partitions", str(parts))
        .config("spark.sql.execution.arrow.maxRecordsPerBatch", "10000")
    )
    if log_bytes < _SMALL:
        builder = builder.config("spark.driver.extraJavaOptions", _QUICK_START)
    with tempfile.TemporaryFile("w+") as said:
        try:
            with _stderr_to(said):
                return builder.getOrCreate()
        except Exception as error:
            said.seek(0)
            raise CannotStart(f"Spark did not start: {error}\n{said.read()[-4000:]}") from error


@contextlib.contextmanager
def _stderr_to(file: IO[str]) -> Iterator[None]:
    """What this process and those it starts write to standard error goes to ``file``."""
    sys.stderr.flush()
    kept = os.dup(2)
    os.dup2(file.fileno(), 2)
    try:
        yield
    finally:
        sys.stderr.flush()
        os.dup2(kept, 2)
        os.close(kept)


def check() -> None:
    """Are pyspark, pyarrow and a fitting Java here? Raises ``CannotStart``, one line."""
    try:
        import pandas  # noqa: F401
        import pyarrow  # noqa: F401
        import pyspark
    except ImportError as error:
        raise CannotStart(
            f"the audit needs {error.name}: pip install 'subtrie[spark,cli]'"
        ) from None
    version = tuple(int(part) for part in re.findall(r"\d+", pyspark.__version__)[:2])
    if version < _PYSPARK:
        raise CannotStart(
            f"the audit needs PySpark {_PYSPARK[0]}.{_PYSPARK[1]} or newer, this is "
            f"{pyspark.__version__}: pip install -U 'subtrie[spark]'"
        )
    _check_java()


def _check_java() -> None:
    home = os.environ.get("JAVA_HOME")
    java = os.path.join(home, "bin", "java") if home else shutil.which("java")
    how = (
        f"install a JDK {_JAVA} or newer, as in: sudo apt-get install openjdk-17-jre-headless "
        "(Debian, Ubuntu), brew install openjdk (macOS)"
    )
    if java is None or not os.path.exists(java):
        where = f"JAVA_HOME={home} holds none" if home else "no java on PATH"
        raise CannotStart(f"Spark needs Java {_JAVA} or newer and there is {where}: {how}")
    told = subprocess.run([java, "-version"], capture_output=True, text=True, check=False)
    found = re.search(r'version "(?:1\.)?(\d+)', told.stderr)
    if found is None:
        raise CannotStart(f"{java} does not say its version: {how}")
    if int(found[1]) < _JAVA:
        raise CannotStart(f"Spark needs Java {_JAVA} or newer and {java} is {found[1]}: {how}")
