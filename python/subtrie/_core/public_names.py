"""The public module of a class: tracebacks, ``repr`` and pickles name it, not the file it is in."""

from __future__ import annotations

from typing import Any


def publish(namespace: dict[str, Any]) -> None:
    """Let the classes that a module lists belong to it, unless they belong to a public module.

    Args:
        namespace: The ``globals()`` of a public module; names that it imports later are left out.
    """
    for name in namespace["__all__"]:
        each = namespace.get(name)
        if isinstance(each, type) and "._" in each.__module__:
            each.__module__ = namespace["__name__"]
