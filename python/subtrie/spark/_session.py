"""Start a local Spark session, after checking its requirements.

Library functions never start a session; the command line does, with this module.
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
_SHUFFLED = 64 * 1024 * 1024  # bytes of log per shuffle partition
# A log below this size is audited before the JVM's second compiler and parallel collector pay off.
_SMALL = 64 * 1024 * 1024
_QUICK_START = "-XX:TieredStopAtLevel=1 -XX:+UseSerialGC"


class SparkStartError(RuntimeError):
    """Spark cannot start; the message says what is missing and how to install it."""


def local_session(
    *, memory: str = "1g", cores: str = "*", log_bytes: int = 0, name: str = "subtrie"
) -> SparkSession:
    """Return the running session, else start a local one.

    The standard error of the starting JVM goes to a file, and is shown only if the start fails.
    Cost: 3 to 6 s for the first session of a process.

    Args:
        memory: The heap size of the driver.
        cores: The number of cores, ``*`` for all.
        log_bytes: The size of the logs that will be read; sets the number of shuffle partitions.
        name: The name of the application.

    Raises:
        SparkStartError: PySpark, pyarrow, pandas or Java is missing or too old.
    """
    check()
    from pyspark.sql import SparkSession

    running = SparkSession.getActiveSession()
    if running is not None:
        return running
    # By default workers run the python3 on PATH, which may lack pyarrow and subtrie.
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
    with tempfile.TemporaryFile("w+") as output:
        try:
            with _stderr_to(output):
                return builder.getOrCreate()
        except Exception as error:
            output.seek(0)
            raise SparkStartError(
                f"Spark did not start: {error}\n{output.read()[-4000:]}"
            ) from error


@contextlib.contextmanager
def _stderr_to(file: IO[str]) -> Iterator[None]:
    """Redirect standard error of this process and its children to ``file``."""
    sys.stderr.flush()
    saved = os.dup(2)
    os.dup2(file.fileno(), 2)
    try:
        yield
    finally:
        sys.stderr.flush()
        os.dup2(saved, 2)
        os.close(saved)


def check() -> None:
    """Check that pyspark, pandas, pyarrow and Java are installed, in sufficient versions.

    Raises:
        SparkStartError: One of them is missing or too old.
    """
    try:
        import pandas  # noqa: F401
        import pyarrow  # noqa: F401
        import pyspark
    except ImportError as error:
        raise SparkStartError(
            f"the audit needs {error.name}: pip install 'subtrie[spark,cli]'"
        ) from None
    version = tuple(int(part) for part in re.findall(r"\d+", pyspark.__version__)[:2])
    if version < _PYSPARK:
        raise SparkStartError(
            f"the audit needs PySpark {_PYSPARK[0]}.{_PYSPARK[1]} or newer, this is "
            f"{pyspark.__version__}: pip install -U 'subtrie[spark]'"
        )
    _check_java()


def _check_java() -> None:
    """Check that a Java of sufficient version is installed."""
    home = os.environ.get("JAVA_HOME")
    java = os.path.join(home, "bin", "java") if home else shutil.which("java")
    how = (
        f"install a JDK {_JAVA} or newer, as in: sudo apt-get install openjdk-17-jre-headless "
        "(Debian, Ubuntu), brew install openjdk (macOS)"
    )
    if java is None or not os.path.exists(java):
        where = f"JAVA_HOME={home} has no bin/java" if home else "java is not on PATH"
        raise SparkStartError(f"Spark needs Java {_JAVA} or newer, and {where}: {how}")
    done = subprocess.run([java, "-version"], capture_output=True, text=True, check=False)
    found = re.search(r'version "(?:1\.)?(\d+)', done.stderr)
    if found is None:
        raise SparkStartError(f"the version of {java} cannot be determined: {how}")
    if int(found[1]) < _JAVA:
        raise SparkStartError(
            f"Spark needs Java {_JAVA} or newer, and {java} is version {found[1]}: {how}"
        )
