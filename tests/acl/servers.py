"""A real nats-server with a configuration of ours, on loopback and a free port; or its verdict."""

from __future__ import annotations

import json
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from examples.shop.broker import _listening, find_binary


@contextmanager
def serving(folder: Path, config: str) -> Iterator[str]:
    """The URL of a server with this configuration."""
    folder.mkdir(parents=True, exist_ok=True)
    settings = {"host": "127.0.0.1", "port": -1, "ports_file_dir": str(folder.resolve())}
    settings["logfile"] = str(folder.resolve() / "server.log")
    lines = [f"{key}: {json.dumps(value)}" for key, value in settings.items()]
    path = folder / "server.conf"
    path.write_text("\n".join([*lines, config]))
    process = subprocess.Popen(
        [find_binary(), "-c", path], stdout=subprocess.DEVNULL, stderr=subprocess.PIPE
    )
    try:
        yield _listening(process, folder.resolve())
    finally:
        process.terminate()
        try:
            process.communicate(timeout=10)
        except subprocess.TimeoutExpired:
            process.kill()
            process.communicate()


def loads(path: Path, env: dict[str, str]) -> bool:
    """Does the broker take this configuration?"""
    command = [find_binary(), "-t", "-c", path]
    done = subprocess.run(command, env=env, capture_output=True, check=False, timeout=30)
    return done.returncode == 0
