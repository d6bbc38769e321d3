"""A nats-server without trace and log, on a free port of the loopback interface."""

from __future__ import annotations

import json
import subprocess
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from examples.shop.broker import find_binary


@contextmanager
def running(folder: Path) -> Iterator[str]:
    """Start it, yield its URL, and stop it."""
    config = {"host": "127.0.0.1", "port": -1, "ports_file_dir": str(folder)}
    (folder / "nats.conf").write_text(json.dumps(config))
    process = subprocess.Popen(
        [find_binary(), "-c", str(folder / "nats.conf")],
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
        start_new_session=True,
    )
    try:
        limit = time.monotonic() + 20
        while time.monotonic() < limit and process.poll() is None:
            for ports in folder.glob("*.ports"):
                if text := ports.read_text():
                    yield str(json.loads(text)["nats"][0])
                    return
            time.sleep(0.02)
        raise RuntimeError("nats-server did not start within 20 s")
    finally:
        process.terminate()
        process.wait(10)
