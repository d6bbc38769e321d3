"""What is known of code outside the tree: our own classes, and what makes no connectors."""

from __future__ import annotations

import sys

from ._abstract_values import Foreign

KINDS = {f"subtrie.connector.{kind}": kind for kind in ("Connector", "Client", "Event")}
#: Hand back what they are given.
ENTER = {"enter_async_context", "enter_context"}
#: Packages that make no connectors: what they return is none of ours.
_WELL_KNOWN = {
    "builtins", "subtrie", "nats", "requests", "httpx", "aiohttp", "urllib3", "redis", "paho",
    "pika", "fastapi", "starlette", "flask", "django", "pytest", "click",
}  # fmt: skip
OPEN_TYPES = {"typing.Any", "builtins.object", "typing.TypeVar", "typing_extensions.Any"}


def is_known(foreign: Foreign) -> bool:
    """Is the result of calling it known to be none of ours? Of a class, and of well-known code."""
    root, name = foreign.name.partition(".")[0], foreign.name.rpartition(".")[2]
    if foreign.made or root in _WELL_KNOWN or root in sys.stdlib_module_names:
        return True
    return name[:1].isupper() and not name.endswith("Connector")
