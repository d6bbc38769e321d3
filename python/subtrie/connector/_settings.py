"""Settings of a connector: its arguments, the variables of the process, then ``env.yaml``."""

from __future__ import annotations

import os

from .._core.engine import check_locality, check_plane
from .._core.errors import refusal
from .._core.plane import default_plane
from ._cloud_locality import cloud_of
from ._env_files import env_files

_SCHEMES = ("nats", "tls")
DEFAULT_URL = "nats://127.0.0.1:4222"
_LOCAL = ("/127.0.0.1:", "/0.0.0.0:", "/localhost:")
#: Why a connector has no broker.
WITHOUT_BROKER = 'MICROBUS_NATS is not set, or the program gives nats=""'
DEPLOYMENTS = ("PROD", "LAB", "LOCAL", "TESTING")


def variable(name: str) -> str:
    """Return the value of a variable, or an empty text if it is not set."""
    return os.environ[name] if name in os.environ else env_files().get(name)


def under_test() -> bool:
    """Return whether pytest is running a test."""
    return bool(os.environ.get("PYTEST_CURRENT_TEST"))


def plane(given: str | None) -> str:
    """Return the plane of a connector: the argument, the variable, the running test, ``microbus``.

    Raises:
        AddressError: The plane is not valid.
    """
    # A77
    return check_plane(given or variable("MICROBUS_PLANE") or default_plane())


def locality(given: str | None) -> str:
    """Return the locality, empty if none is set; ``AWS`` or ``GCP`` if the cloud determines it.

    Raises:
        AddressError: The locality is not valid.
    """
    text = variable("MICROBUS_LOCALITY") if given is None else given
    return cloud_of(text) or (check_locality(text) if text else "")


def deployment(given: str | None, url: str | None = None) -> str:
    """Return ``PROD``, ``LAB``, ``LOCAL`` or ``TESTING``.

    If unset, it is ``TESTING`` under a test, ``PROD`` if the broker is on another machine, else
    ``LOCAL``.

    Args:
        given: The connector's argument.
        url: The URL of the broker; by default the variable's.

    Raises:
        ValueError: The text is not one of the four.
    """
    text = (given or variable("MICROBUS_DEPLOYMENT")).upper()
    if text:
        if text not in DEPLOYMENTS:
            raise ValueError(f"deployment must be one of {', '.join(DEPLOYMENTS)}, not {text!r}")
        return text
    if under_test():
        return "TESTING"
    url = variable("MICROBUS_NATS") if url is None else url
    return "PROD" if url and not any(part in url for part in _LOCAL) else "LOCAL"


def short_circuit(given: bool | None) -> bool:
    """Return whether messages within the process bypass the broker: unless ``0`` or ``false``."""
    if given is not None:
        return given
    return variable("MICROBUS_SHORT_CIRCUIT").lower() not in ("0", "false")


def broker(given: str | None, short: bool) -> str:
    """Return the URL of the broker; empty for none, which needs the short circuit.

    Raises:
        InvalidInput: A server has a scheme other than ``nats`` and ``tls``.
    """
    url = variable("MICROBUS_NATS") if given is None else given
    for server in url.split(","):
        scheme, found, _ = server.strip().partition("://")
        if found and scheme.lower() not in _SCHEMES:
            raise refusal("InvalidInput", "broker-scheme", shown_url(server), field="nats")
    return url or ("" if short else DEFAULT_URL)


def check_transport(given: str | None) -> None:
    """Check what ``transport=`` or ``SUBTRIE_TRANSPORT`` asks for; there is one client of NATS.

    Args:
        given: The connector's argument, or None.

    Raises:
        ValueError: It is not ``native``.
    """
    # One release refuses the other name that was possible; then the argument goes.
    name = given or variable("SUBTRIE_TRANSPORT")
    if name not in ("", "native"):
        raise ValueError(f"transport must be 'native', not {name!r}: connectors have one client")


def debugging() -> bool:
    """Return whether ``MICROBUS_LOG_DEBUG`` asks for debug messages in the log."""
    return variable("MICROBUS_LOG_DEBUG").lower() not in ("", "0", "false")


def budget(name: str, otherwise: float) -> float:
    """Return a time budget in seconds, from a variable written as a Go duration."""
    from .._core.control_headers import seconds_of

    return seconds_of(variable(name)) or otherwise


def shown_url(url: str) -> str:
    """Return the URL of a broker without user, password or token."""
    scheme, found, rest = url.strip().rpartition("://")
    return f"{scheme}{found}{rest.rpartition('@')[2]}"
