"""Start a Spark session on this machine, after checking its requirements.

Library functions never start a session; the command line does, with this module.
"""

from __future__ import annotations

import contextlib
import importlib
import os
import re
import shutil
import signal
import subprocess
import sys
import tempfile
import threading
from collections.abc import Iterator, Mapping
from types import FrameType
from typing import IO, TYPE_CHECKING

from ..._core.extras import install_command

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
    running = running_session()
    if running is not None:
        return running
    parts = min(200, max(os.cpu_count() or 2, -(-log_bytes // _SHUFFLED)))
    conf = {
        "spark.driver.memory": memory,
        "spark.driver.host": "127.0.0.1",
        "spark.driver.bindAddress": "127.0.0.1",
        "spark.sql.shuffle.partitions": str(parts),
    }
    if log_bytes < _SMALL:
        conf["spark.driver.extraJavaOptions"] = _QUICK_START
    return start(f"local[{cores}]", name, conf)


def running_session() -> SparkSession | None:
    """Return the session that is active in this process, or None."""
    from pyspark.sql import SparkSession

    return SparkSession.getActiveSession()


def start(master: str, name: str, conf: Mapping[str, str]) -> SparkSession:
    """Start a classic session.

    Args:
        master: The master, as Spark names it.
        name: The name of the application.
        conf: The configuration beside what every session needs.

    Raises:
        SparkStartError: Spark does not start; the message has the end of its output.
    """
    from pyspark.sql import SparkSession

    if master.startswith("local"):
        # By default workers run the python3 on PATH, which may lack pyarrow and subtrie.
        os.environ.setdefault("PYSPARK_PYTHON", sys.executable)
    common = {
        "spark.ui.enabled": "false",
        "spark.ui.showConsoleProgress": "false",
        "spark.log.level": "ERROR",
        "spark.sql.session.timeZone": "UTC",
        "spark.sql.execution.arrow.maxRecordsPerBatch": "10000",
    }
    builder = SparkSession.builder.master(master).appName(name)
    for key, value in {**common, **conf}.items():
        builder = builder.config(key, value)
    with tempfile.TemporaryFile("w+") as output:
        try:
            with _stderr_to(output), _interrupts_deferred():
                return builder.getOrCreate()
        except Exception as error:
            output.seek(0)
            raise SparkStartError(
                f"Spark did not start: {error}\n{output.read()[-4000:]}"
            ) from error


@contextlib.contextmanager
def _interrupts_deferred() -> Iterator[None]:
    """Raise the first ``KeyboardInterrupt`` of this block at its end.

    Without this, a JVM that is interrupted at its start stays: its Python process has removed the
    file in which the JVM was to write its address. Only the main thread gets interrupts.
    """
    if threading.current_thread() is not threading.main_thread():
        yield
        return
    found: list[int] = []

    def note(number: int, frame: FrameType | None) -> None:
        found.append(number)
        if len(found) > 1:
            raise KeyboardInterrupt

    before = signal.signal(signal.SIGINT, note)
    try:
        yield
    finally:
        # A session has a handler of its own, which cancels its jobs.
        if signal.getsignal(signal.SIGINT) is note:
            signal.signal(signal.SIGINT, before)
        if found:
            raise KeyboardInterrupt


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
    check_packages()
    import pyspark

    version = tuple(int(part) for part in re.findall(r"\d+", pyspark.__version__)[:2])
    if version < _PYSPARK:
        raise SparkStartError(
            f"the audit needs PySpark {_PYSPARK[0]}.{_PYSPARK[1]} or newer, this is "
            f"{pyspark.__version__}: {install_command('spark')}"
        )
    _check_java()


def check_packages(*more: str) -> None:
    """Check that the packages of the pipeline are installed.

    Args:
        more: Modules that are needed beside them.

    Raises:
        SparkStartError: One is missing.
    """
    for module in ("pyspark", "pandas", "pyarrow", *more):
        try:
            importlib.import_module(module)
        except ImportError as error:
            also = " 'pyspark[connect]'" if module in more else ""
            raise SparkStartError(
                f"the audit needs {error.name or module}: {install_command('spark', 'cli')}{also}"
            ) from None


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
