"""Sessions on a cluster or of a Spark Connect server, refused in seconds if it does not answer."""

from __future__ import annotations

import re
import socket
import threading
import time
from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any

from .classic_session import executor_count
from .local_session import SparkStartError, check, check_packages, running_session, start

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

#: Seconds until a server must accept a connection, and until a cluster must have a worker.
_CONNECT = 5.0
_READY = 60.0
_PORTS = {"spark": 7077, "sc": 15002}
_ADDRESS = re.compile(r"(?:[^@/]*@)?(?P<host>\[[^\]]+\]|[^:/;]+)(?::(?P<port>\d{1,5}))?")


def cluster_session(
    master: str,
    *,
    memory: str = "1g",
    name: str = "subtrie",
    settings: Mapping[str, str] | None = None,
) -> SparkSession:
    """Return the running session if it is of this master, else start one.

    The interpreter of the workers is that of ``PYSPARK_PYTHON``. Cost: 5 to 30 s.

    Args:
        master: The master, as Spark names it: ``spark://host:port``, ``yarn``, ``k8s://…``,
            ``local[2]``.
        memory: The heap size of the driver.
        name: The name of the application.
        settings: Further settings of Spark, as ``spark.executor.memory``.

    Raises:
        SparkStartError: A package or Java is missing, the master does not answer within 5 s or has
            no worker after a minute, or another session is running.
    """
    check()
    running = running_session()
    if running is not None:
        at = running.conf.get("spark.master")
        if at != master:
            raise SparkStartError(f"a session on {at} is running: stop it first, or use it")
        return running
    conf = {"spark.driver.memory": memory}
    if master.startswith("spark://"):
        host = _reach(master, "spark")
        if host in ("127.0.0.1", "localhost"):
            conf |= {"spark.driver.host": "127.0.0.1", "spark.driver.bindAddress": "127.0.0.1"}
    session = start(master, name, {**conf, **(settings or {})})
    if master.startswith("spark://") and not _dynamic(session):
        _await_worker(session, master)
    return session


def connect_session(remote: str) -> SparkSession:
    """Return a session of a Spark Connect server.

    Args:
        remote: The server: ``sc://host:port``, with the parameters of Spark.

    Raises:
        SparkStartError: A package is missing, or the server does not answer within a minute.
    """
    check_packages("grpc", "grpc_status", "google.rpc", "zstandard")
    if not remote.startswith("sc://"):
        raise SparkStartError(f"a Spark Connect server is sc://host:port, not {remote!r}")
    _reach(remote, "sc")
    from pyspark.sql import SparkSession

    def connected() -> SparkSession:
        session = SparkSession.builder.remote(remote).getOrCreate()
        session.conf.set("spark.sql.session.timeZone", "UTC")
        return session

    session: SparkSession = _bounded(connected, f"{remote} does not answer as Spark Connect")
    return session


def _reach(url: str, scheme: str) -> str:
    """Return the first host of a URL that accepts a connection.

    Raises:
        SparkStartError: None does.
    """
    told = f"{url} has no host"
    for text in url.removeprefix(f"{scheme}://").split("/")[0].split(","):
        found = _ADDRESS.match(text)
        if found is None:
            continue
        host, port = found["host"].strip("[]"), int(found["port"] or _PORTS[scheme])
        try:
            socket.create_connection((host, port), _CONNECT).close()
        except (OSError, OverflowError) as error:
            told = f"{host}:{port} does not answer: {error.strerror or error}"  # type: ignore[union-attr]
        else:
            return host
    kind = "Spark master" if scheme == "spark" else "Spark Connect server"
    raise SparkStartError(f"the {kind} cannot be reached: {told}")


def _bounded(call: Callable[[], Any], told: str) -> Any:
    """Run a call with a time limit; Spark's client may retry for minutes.

    Raises:
        SparkStartError: It failed, or did not end within a minute.
    """
    results: list[Any] = []
    failures: list[BaseException] = []

    def run() -> None:
        try:
            results.append(call())
        except BaseException as error:
            failures.append(error)

    thread = threading.Thread(target=run, daemon=True)
    thread.start()
    thread.join(_READY)
    if results:
        return results[0]
    reason = f": {failures[0]}".splitlines()[0] if failures else f" within {_READY:.0f} s"
    raise SparkStartError(told + reason)


def _await_worker(session: SparkSession, master: str) -> None:
    """Wait until an executor has registered.

    Raises:
        SparkStartError: None has after a minute.
    """
    deadline = time.monotonic() + _READY
    while executor_count(session) == 0:
        if time.monotonic() > deadline:
            session.stop()
            raise SparkStartError(
                f"{master} has given no executor to the audit: it has no free worker with "
                "enough cores and memory"
            )
        time.sleep(0.2)


def _dynamic(session: SparkSession) -> bool:
    """Whether executors are started on demand."""
    return session.conf.get("spark.dynamicAllocation.enabled", "false") == "true"
