"""Real Spark servers on loopback: a standalone cluster, and a Spark Connect server.

Only the pyspark package and Java are needed. Every server runs under ``guarded.py``, so that none
outlives the process that started it.
"""

from __future__ import annotations

import os
import socket
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, field
from pathlib import Path

import pyspark

HOME = Path(pyspark.__file__).parent
GUARD = Path(__file__).with_name("guarded.py")
# The fast compiler and the serial collector: short-lived JVMs on a machine with two cores.
QUICK = "-XX:TieredStopAtLevel=1 -XX:+UseSerialGC"
_PATIENCE = 120  # seconds until a server must be ready


def environment(**more: str) -> dict[str, str]:
    """Return the environment of a Spark process: this interpreter, loopback only."""
    return {
        **os.environ,
        "SPARK_HOME": str(HOME),
        "SPARK_LOCAL_IP": "127.0.0.1",
        "PYSPARK_PYTHON": sys.executable,
        "SPARK_DAEMON_MEMORY": "256m",
        "SPARK_DAEMON_JAVA_OPTS": QUICK,
        **more,
    }


def python_without_subtrie(folder: Path) -> Path:
    """Write an interpreter that has the packages of this one, except subtrie."""
    site = HOME.parent
    assert not (site / "subtrie").exists(), "subtrie is expected to be installed for development"
    script = folder / "python-without-subtrie"
    script.write_text(
        f'#!/bin/sh\nPYTHONPATH="{site}" PYTHONSAFEPATH=1 exec "{sys.executable}" -S "$@"\n'
    )
    script.chmod(0o755)
    return script


def free_port() -> int:
    """Return a port of loopback that is free now."""
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])


@dataclass
class Server:
    """A running server: its process id, and the file with its output."""

    pid: int
    log: Path

    def wait_until(self, text: str, *, alive: subprocess.Popen[str]) -> None:
        """Wait until the server has logged a text."""
        for _ in range(_PATIENCE * 10):
            if text in self.log.read_text(errors="replace"):
                return
            assert alive.poll() is None, self.log.read_text(errors="replace")[-3000:]
            time.sleep(0.1)
        raise TimeoutError(f"no {text!r} in {self.log.read_text(errors='replace')[-3000:]}")


@contextmanager
def guarded(log: Path, *command: str, env: dict[str, str]) -> Iterator[tuple[Server, object]]:
    """Run a command under the guard; end it afterwards."""
    with log.open("wb") as output:
        process = subprocess.Popen(
            [sys.executable, str(GUARD), *command],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=output,
            env=env,
            cwd=log.parent,
            text=True,
        )
    assert process.stdin is not None
    assert process.stdout is not None
    try:
        yield Server(int(process.stdout.readline()), log), process
    finally:
        process.stdin.close()
        process.wait(30)
        process.stdout.close()


@dataclass
class Cluster:
    """A standalone cluster.

    Attributes:
        url: The master, as Spark names it.
        folder: A folder that all its processes can read and write.
        workers: The servers of the workers.
    """

    url: str
    folder: Path
    workers: list[Server] = field(default_factory=list)


@contextmanager
def cluster(
    folder: Path, *, workers: int = 2, env: dict[str, str] | None = None
) -> Iterator[Cluster]:
    """Run a master and workers with one core and 1 GB each."""
    env = environment(**(env or {}))
    launcher = str(HOME / "bin" / "spark-class")
    deploy = "org.apache.spark.deploy"
    port = free_port()
    made = Cluster(f"spark://127.0.0.1:{port}", folder)
    with ExitStack() as stack:
        started = [
            stack.enter_context(
                guarded(
                    folder / "master.log",
                    *(launcher, f"{deploy}.master.Master", "--host", "127.0.0.1"),
                    *("--port", str(port), "--webui-port", "0"),
                    env=env,
                )
            )
        ]
        for number in range(workers):
            started.append(
                stack.enter_context(
                    guarded(
                        folder / f"worker{number}.log",
                        *(launcher, f"{deploy}.worker.Worker", "--host", "127.0.0.1"),
                        *("--cores", "1", "--memory", "1g", "--webui-port", "0"),
                        *("--work-dir", str(folder / f"work{number}"), made.url),
                        env=env,
                    )
                )
            )
        for number, (server, process) in enumerate(started):
            text = "Successfully registered with master" if number else "elected leader"
            server.wait_until(text, alive=process)
        made.workers = [server for server, _ in started[1:]]
        yield made


@contextmanager
def connect_server(
    folder: Path, master: str = "local[2]", env: dict[str, str] | None = None
) -> Iterator[str]:
    """Run a Spark Connect server; the value is its URL."""
    port = free_port()
    conf = {
        "spark.connect.grpc.binding.address": "127.0.0.1",
        "spark.connect.grpc.binding.port": str(port),
        "spark.driver.host": "127.0.0.1",
        "spark.driver.bindAddress": "127.0.0.1",
        "spark.executor.memory": "512m",
        "spark.executor.extraJavaOptions": QUICK,
        "spark.ui.enabled": "false",
        "spark.sql.shuffle.partitions": "4",
        "spark.sql.session.timeZone": "UTC",
        "spark.sql.warehouse.dir": str(folder / "warehouse"),
    }
    options = [word for name, value in conf.items() for word in ("--conf", f"{name}={value}")]
    with guarded(
        folder / "connect.log",
        str(HOME / "bin" / "spark-submit"),
        *("--master", master),
        *("--class", "org.apache.spark.sql.connect.service.SparkConnectServer"),
        *options,
        "spark-internal",
        # The launcher gives this class the memory of a daemon, whatever spark.driver.memory says.
        env=environment(SPARK_DAEMON_MEMORY="768m", **(env or {})),
    ) as (server, process):
        server.wait_until("Spark Connect server started at", alive=process)
        yield f"sc://127.0.0.1:{port}"


def gone(pid: int) -> bool:
    """Whether a process no longer runs."""
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return True
    state = Path(f"/proc/{pid}/stat")
    return state.exists() and state.read_text().rsplit(")", 1)[1].split()[0] == "Z"
