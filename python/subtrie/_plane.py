"""Which plane, when nobody says? The variable, the running test, ``microbus`` (A26, A77)."""

from __future__ import annotations

import hashlib
import os

from . import _engine


def default_plane() -> str:
    """The plane of a connector that was given none.

    ``MICROBUS_PLANE`` where it is set and not empty; else, under pytest, 16 hexadecimal characters
    derived from the id of the running test, so that tests do not hear each other; else
    ``microbus``. Raises ``AddressError`` where the variable holds no plane.
    """
    plane = os.environ.get("MICROBUS_PLANE", "")
    if plane:
        checked: str = _engine.check_plane(plane)
        return checked
    test = os.environ.get("PYTEST_CURRENT_TEST", "")
    if test:
        node = test.rsplit(" (", 1)[0]  # without the phase: setup, call, teardown
        return hashlib.sha256(node.encode("utf-8", "surrogateescape")).hexdigest()[:16]
    return "microbus"
