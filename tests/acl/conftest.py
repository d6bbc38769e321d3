"""Search the tracebacks of all refusals for secrets."""  # T16

from __future__ import annotations

import ssl
import traceback
from collections.abc import Iterator
from pathlib import Path

import pytest
from raw_client import RawClient

from certificates import Authority
from secrets_watch import leaked
from subtrie import SubtrieError


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


@pytest.fixture
def certificates(tmp_path: Path) -> Certificates:
    return Certificates(tmp_path)


@pytest.fixture(autouse=True)
def _nothing_leaks(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """Every refusal with its traceback, once it has one; the last thousand of a test."""
    made: list[SubtrieError] = []
    before = SubtrieError.__init__

    def noted(self: SubtrieError, *arguments: object, **named: object) -> None:
        before(self, *arguments, **named)
        made.append(self)
        del made[:-1000]

    monkeypatch.setattr(SubtrieError, "__init__", noted)
    yield
    for error in made:
        shown = "".join(traceback.format_exception(error)) + repr(error) + repr(vars(error))
        assert not leaked(shown), type(error)
