"""A real nats-server of a test: loopback, its own port, and it can be killed and come back."""

from __future__ import annotations

import contextlib
import json
import socket
import subprocess
from pathlib import Path

from examples.shop.broker import find_binary
from patience import wait_until
from servers import free_port


class NatsServer:
    """Runs between ``start`` and ``stop``, always on the same port."""

    def __init__(self, folder: Path, **options: object) -> None:
        self.folder = folder
        folder.mkdir(parents=True, exist_ok=True)
        self.port = free_port()
        self.url = f"nats://127.0.0.1:{self.port}"
        config = {"host": "127.0.0.1", "port": self.port, **options}
        (folder / "nats.conf").write_text(json.dumps(config))
        self._process: subprocess.Popen[bytes] | None = None

    def start(self) -> NatsServer:
        """Returns when it accepts connections."""
        command = [find_binary(), "-c", str(self.folder / "nats.conf")]
        self._process = subprocess.Popen(
            command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, start_new_session=True
        )
        wait_until(self._is_up, "nats-server did not come up")
        return self

    def _is_up(self) -> bool:
        assert self._process is not None
        assert self._process.poll() is None, "nats-server ended at once"
        with contextlib.suppress(OSError), socket.create_connection(("127.0.0.1", self.port), 1):
            return True
        return False

    def kill(self) -> None:
        """Ends it without notice."""
        if self._process is not None:
            self._process.kill()
            self._process.wait()
            self._process = None

    stop = kill
