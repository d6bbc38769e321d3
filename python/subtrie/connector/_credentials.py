"""The credentials of a service: creds file, certificate and key, and the connection they select.

Each file is looked up in the working directory as ``<host>_<name>``, then as ``<name>``:
``nats.creds``, ``cert.pem``, ``key.pem``, ``ca.pem``. Services with equal credentials share a
connection, others never do. A secret file that others may read is refused, and a symbolic link that
leaves the directory.
"""

# S0-122, S0-123, S0-124, A30, A31

from __future__ import annotations

import hashlib
import os
import ssl
from dataclasses import dataclass
from pathlib import Path

from .._core.errors import refusal
from .._nats.creds_file import format_creds, jwt_in_creds
from .._nats.jwt import utc_text, validity_of_token
from .._nats.secret_file import secret_file_fault
from ._settings import shown_url, variable

_VARIABLES = (
    "MICROBUS_NATS_USER",
    "MICROBUS_NATS_PASSWORD",
    "MICROBUS_NATS_TOKEN",
    "MICROBUS_NATS_USER_JWT",
    "MICROBUS_NATS_NKEY_SEED",
)


@dataclass(frozen=True)
class Credentials:
    """The credentials of one service; ``repr`` shows no secret, and of the URL host and port."""

    url: str
    creds: str = ""
    cert: Path | None = None
    key: Path | None = None
    ca: Path | None = None
    user: str = ""
    password: str = ""
    token: str = ""
    digest: str = ""
    from_variables: bool = False
    creds_file: Path | None = None

    def __repr__(self) -> str:
        servers = ", ".join(shown_url(url) for url in self.url.split(","))
        return f"Credentials({servers!r}, cert={self.cert!r}, key={self.key!r}, ca={self.ca!r})"

    def tls_context(self) -> ssl.SSLContext | None:
        """Return the certificates for TLS; None if there are none."""
        if not (self.ca or (self.cert and self.key)):
            return None
        context = ssl.create_default_context(cafile=self.ca)
        if self.cert and self.key:
            context.load_cert_chain(self.cert, self.key)
        return context


def load_credentials(
    url: str,
    host: str,
    *,
    creds: str | os.PathLike[str] | None = None,
    allow_readable: bool = False,
    folder: Path | None = None,
) -> Credentials:
    """Read the files and variables of a service.

    Args:
        url: The URL of the broker.
        host: The host of the service.
        creds: The creds file; looked up in the directory if not given.
        allow_readable: Accept secret files that others may read.
        folder: The directory; the working directory by default.

    Raises:
        BusError: A file is refused (``readable-creds``, ``creds-link``), or its token has expired
            or is not valid yet (``creds-expired``, ``creds-not-yet-valid``).
        FileNotFoundError: The file ``creds`` does not exist.
    """
    folder = Path.cwd() if folder is None else folder
    user, password, token, jwt, seed = (variable(name) for name in _VARIABLES)
    ca, cert, key = (_artifact(folder, host, name) for name in ("ca.pem", "cert.pem", "key.pem"))
    if cert is None or key is None:
        cert = key = None
    named = Path(creds) if creds is not None else _artifact(folder, host, "nats.creds")
    for secret in (named, key):
        if secret is not None:
            _check_file(secret, allow_readable)
    text = named.read_text(encoding="utf-8") if named else _creds_of(jwt, seed)
    _check_validity(text, str(named) if named else "MICROBUS_NATS_USER_JWT")
    digest = hashlib.sha256()
    for part in (url, user + "\0" + password if user and password else "", token):
        digest.update(part.encode() + b"|")
    for file in (ca, cert, key):
        digest.update((file.read_bytes() if file else b"") + b"|")
    digest.update(text.encode() + b"|")
    from_variables = bool((user and password) or token or (jwt and seed and not named))
    return Credentials(
        url, text, cert, key, ca, user, password, token, digest.hexdigest(), from_variables, named
    )


def _creds_of(jwt: str, seed: str) -> str:
    if not (jwt and seed):
        return ""
    return format_creds(jwt, seed)


def _artifact(folder: Path, host: str, name: str) -> Path | None:
    for file in (folder / f"{host}_{name}", folder / name):
        if file.is_file():
            if secret_file_fault(file, allow_readable=True) == "link":
                raise refusal("BusError", "creds-link", str(file), field="creds")
            return file
    return None


def _check_file(file: Path, allow_readable: bool) -> None:
    fault = secret_file_fault(file, allow_readable=allow_readable)
    if fault is not None:
        reason = "creds-link" if fault == "link" else "readable-creds"
        raise refusal("BusError", reason, str(file), field="creds")


def _check_validity(text: str, name: str) -> None:
    """Refuse a token that the broker would refuse; one that is not a JWT is left to the broker."""
    token = jwt_in_creds(text)
    validity = None if token is None else validity_of_token(token)
    fault = None if validity is None else validity.fault()
    if validity is None or fault is None:
        return
    if fault == "expired" and validity.expires is not None:
        reason, more = "creds-expired", f"{name} expired at {utc_text(validity.expires)}"
    else:
        reason = "creds-not-yet-valid"
        more = f"{name} is valid from {utc_text(validity.not_before or 0)}"
    error = refusal("BusError", reason, name, field="creds")
    error.args = (f"{error.args[0]}; {more}",)
    raise error
