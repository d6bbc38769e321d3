"""A real nats-server with a given configuration, on loopback and a free port; or its verdict."""

from __future__ import annotations

import json
import os
import socket
import subprocess
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path

from examples.shop.broker import _listening, find_binary


def free_ports(count: int) -> list[int]:
    """Return ports of loopback that are free now; another program may take one at any time."""
    with ExitStack() as stack:
        probes = [stack.enter_context(socket.socket()) for _ in range(count)]
        for each in probes:
            each.bind(("127.0.0.1", 0))
        return [each.getsockname()[1] for each in probes]


def free_port() -> int:
    """Return a port of loopback that is free now."""
    return free_ports(1)[0]


def binaries() -> dict[str, Path]:
    """The broker of the tests, and others: ``NATS_SERVERS`` names files, parted as in PATH."""
    others = [Path(each) for each in os.environ.get("NATS_SERVERS", "").split(os.pathsep) if each]
    found = {_version(each): each for each in (find_binary(), *others)}
    for version, binary in found.items():
        if [int(part) for part in version.lstrip("v").split("-")[0].split(".")] < [2, 14, 9]:
            raise ValueError(f"{binary}: nats-server {version} is older than 2.14.9")
    return found


def _version(binary: Path) -> str:
    command = [binary, "--version"]
    return subprocess.run(command, capture_output=True, check=True, text=True).stdout.split()[-1]


@contextmanager
def serving(folder: Path, config: str, binary: Path | None = None) -> Iterator[str]:
    """The URL of a server with this configuration."""
    folder.mkdir(parents=True, exist_ok=True)
    settings = {"host": "127.0.0.1", "port": -1, "ports_file_dir": str(folder.resolve())}
    settings["logfile"] = str(folder.resolve() / "server.log")
    lines = [f"{key}: {json.dumps(value)}" for key, value in settings.items()]
    path = folder / "server.conf"
    path.write_text("\n".join([*lines, config]))
    process = subprocess.Popen(
        [binary or find_binary(), "-c", path], stdout=subprocess.DEVNULL, stderr=subprocess.PIPE
    )
    try:
        yield _listening(process, folder.resolve())
    finally:
        process.terminate()
        try:
            process.communicate(timeout=60)
        except subprocess.TimeoutExpired:
            process.kill()
            process.communicate()


def monitor(folder: Path) -> str:
    """The address of the monitoring port of the server of a folder, if it has one."""
    [ports] = folder.glob("*.ports")
    return str(json.loads(ports.read_text())["monitoring"][0])


def loads(path: Path, env: dict[str, str]) -> bool:
    """Return whether the broker accepts this configuration."""
    command = [find_binary(), "-t", "-c", path]
    # What it prints stays unread: it repeats passwords that it takes for variables.
    quiet = {"stdout": subprocess.DEVNULL, "stderr": subprocess.DEVNULL}
    return subprocess.run(command, env=env, **quiet, check=False, timeout=30).returncode == 0
