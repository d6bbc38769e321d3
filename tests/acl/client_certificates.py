"""Certificates of a broker and of its clients, made for a test."""

from __future__ import annotations

import ssl
from pathlib import Path

from raw_client import RawClient

from certificates import Authority


class Certificates:
    """Certificates of a broker and of clients, by an authority of a test."""

    def __init__(self, folder: Path) -> None:
        self._folder, self._authority = folder, Authority()
        self._authority.write(folder / "ca.pem")
        self.vouch("server")

    def vouch(self, name: str) -> None:
        """Make the certificate and the key of a name."""
        self._authority.vouch(name, self._folder / f"{name}.pem", self._folder / f"{name}.key")

    def block(self, more: str = "") -> str:
        """A block ``tls`` of a configuration of a broker."""
        paths = {"ca_file": "ca.pem", "cert_file": "server.pem", "key_file": "server.key"}
        lines = [f'{key}: "{self._folder / name}"' for key, name in paths.items()]
        return f"tls {{ {', '.join([*lines, *([more] if more else [])])} }}\n"

    def context(self, name: str | None) -> ssl.SSLContext:
        """TLS of a client with the certificate of a name; None for a client without one."""
        context = ssl.create_default_context(cafile=str(self._folder / "ca.pem"))
        context.check_hostname = False
        if name is not None:
            if not (self._folder / f"{name}.pem").exists():
                self.vouch(name)
            context.load_cert_chain(self._folder / f"{name}.pem", self._folder / f"{name}.key")
        return context

    def admitted(self, url: str, name: str | None) -> bool:
        """Return whether a broker admits a client with the certificate of a name."""
        try:
            RawClient(url, tls=self.context(name)).close()
        except (OSError, ValueError):
            return False
        return True
