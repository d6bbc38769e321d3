"""A real nats-server for a test."""

from __future__ import annotations

import json
import shutil
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

PATIENCE = 60  # seconds


def wait_for(there: Callable[[], object]) -> None:
    """Wait until something is there."""
    end = time.monotonic() + PATIENCE
    while not there():
        assert time.monotonic() < end
        time.sleep(0.02)


@contextmanager
def running(config: Path) -> Iterator[str]:
    """Run a server with a configuration, and yield its host and port."""
    folder = config.parent
    server = shutil.which("nats-server") or Path(sys.executable).parent / "nats-server"
    listen = ["-a", "127.0.0.1", "-p", "-1", "--ports_file_dir", str(folder)]
    broker = subprocess.Popen([server, "-c", config, *listen])
    try:
        wait_for(lambda: list(folder.glob("*.ports")))
        (ports,) = folder.glob("*.ports")
        wait_for(lambda: ports.read_text().rstrip().endswith("}"))
        (url,) = json.loads(ports.read_text())["nats"]
        yield url.removeprefix("nats://")
    finally:
        broker.terminate()
        broker.wait(PATIENCE)
