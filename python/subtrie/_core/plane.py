"""The default plane: from the environment, from the running test, or ``microbus``."""

from __future__ import annotations

import os

from . import engine


def default_plane() -> str:
    """Return the plane of a connector that was given none.

    It is ``MICROBUS_PLANE`` if that is set and not empty; else, under pytest, 16 hexadecimal
    characters derived from the id of the running test, so that tests are isolated from each other;
    else ``microbus``.

    Raises:
        AddressError: The variable is not a valid plane.
    """
    # A26, A77
    plane = os.environ.get("MICROBUS_PLANE", "")
    if plane:
        return engine.check_plane(plane)
    test = os.environ.get("PYTEST_CURRENT_TEST", "")
    if test:
        import hashlib  # which most programs need not load

        node = test.rsplit(" (", 1)[0]  # without the phase: setup, call, teardown
        return hashlib.sha256(node.encode("utf-8", "surrogateescape")).hexdigest()[:16]
    return "microbus"
