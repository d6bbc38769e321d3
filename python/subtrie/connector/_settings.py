"""What the surroundings say: variables, and the flat files that stand in for them.

A variable of the process wins; else ``env.local.yaml`` before ``env.yaml``, in the working folder
before the folders above it. Only ``NAME: value`` lines are read from them.
"""

from __future__ import annotations

import os
import re
from pathlib import Path

from .._plane import default_plane
from ..microbus import check_locality, check_plane
from ._cloud_locality import cloud_of

DEFAULT_URL = "nats://127.0.0.1:4222"
_LINE = re.compile(
    r"""([A-Z][A-Z0-9_]*)[ \t]*:[ \t]*(?:"([^"]*)"|'([^']*)'|([^#"'\s][^#]*?))?\s*"""
)
_LOCAL = ("/127.0.0.1:", "/0.0.0.0:", "/localhost:")
DEPLOYMENTS = ("PROD", "LAB", "LOCAL", "TESTING")


def variable(name: str) -> str:
    """The value of a variable, empty where nobody sets it."""
    if name in os.environ:
        return os.environ[name]
    folder = Path.cwd()
    for each in (folder, *folder.parents):
        for file in ("env.local.yaml", "env.yaml"):
            value = _lines(each / file).get(name)
            if value is not None:
                return value
    return ""


def _lines(file: Path) -> dict[str, str]:
    try:
        text = file.read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError):
        return {}
    found = (_LINE.fullmatch(line.split(" #")[0]) for line in text.splitlines())
    return {match[1]: match[2] or match[3] or match[4] or "" for match in found if match}


def under_test() -> bool:
    """Whether pytest runs a test right now."""
    return bool(os.environ.get("PYTEST_CURRENT_TEST"))


def plane(given: str | None) -> str:
    """The plane of a connector: what is given, the variable, the running test, ``microbus`` (A77).

    Raises ``AddressError`` for what is no plane.
    """
    return check_plane(given or variable("MICROBUS_PLANE") or default_plane())


def locality(given: str | None) -> str:
    """Where a connector stands; empty where nobody says, ``AWS`` or ``GCP`` where a cloud knows.

    Raises ``AddressError``.
    """
    text = variable("MICROBUS_LOCALITY") if given is None else given
    return cloud_of(text) or (check_locality(text) if text else "")


def deployment(given: str | None, url: str | None = None) -> str:
    """PROD, LAB, LOCAL or TESTING. Raises ``ValueError`` for any other.

    Unset, it is TESTING under a test, PROD where a broker elsewhere is named (``url``, else the
    variable), LOCAL else.
    """
    text = (given or variable("MICROBUS_DEPLOYMENT")).upper()
    if text:
        if text not in DEPLOYMENTS:
            raise ValueError(f"a deployment is one of {', '.join(DEPLOYMENTS)}, not {text!r}")
        return text
    if under_test():
        return "TESTING"
    url = variable("MICROBUS_NATS") if url is None else url
    return "PROD" if url and not any(part in url for part in _LOCAL) else "LOCAL"


def short_circuit(given: bool | None) -> bool:
    """Whether calls within the process bypass the broker: unless ``0`` or ``false`` is said."""
    if given is not None:
        return given
    return variable("MICROBUS_SHORT_CIRCUIT").lower() not in ("0", "false")


def broker(given: str | None, short: bool) -> str:
    """The URL of the broker; empty for none: the short circuit needs no other transport."""
    url = variable("MICROBUS_NATS") if given is None else given
    return url or ("" if short else DEFAULT_URL)


def debugging() -> bool:
    """Whether the log is to hold everything: ``MICROBUS_LOG_DEBUG``."""
    return variable("MICROBUS_LOG_DEBUG").lower() not in ("", "0", "false")


def budget(name: str, otherwise: float) -> float:
    """A time budget in seconds, written as Go writes durations."""
    from .._control_headers import seconds_of

    return seconds_of(variable(name)) or otherwise
