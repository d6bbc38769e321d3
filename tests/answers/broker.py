"""A real nats-server for a test."""

from __future__ import annotations

import json
import shutil
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from patience import PATIENCE, wait_until


@contextmanager
def running(config: Path) -> Iterator[str]:
    """Run a server with a configuration, and yield its host and port."""
    folder = config.parent
    server = shutil.which("nats-server") or Path(sys.executable).parent / "nats-server"
    listen = ["-a", "127.0.0.1", "-p", "-1", "--ports_file_dir", str(folder)]
    broker = subprocess.Popen([server, "-c", config, *listen])
    try:
        wait_until(lambda: list(folder.glob("*.ports")))
        (ports,) = folder.glob("*.ports")
        wait_until(lambda: ports.read_text().rstrip().endswith("}"))
        (url,) = json.loads(ports.read_text())["nats"]
        yield url.removeprefix("nats://")
    finally:
        broker.terminate()
        broker.wait(PATIENCE)
