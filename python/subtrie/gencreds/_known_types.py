"""Known types of code outside the tree: subtrie's own, and packages that create no connectors."""

from __future__ import annotations

import sys

from ._abstract_values import ExternalObject

KINDS = {f"subtrie.connector.{kind}": kind for kind in ("Connector", "Client", "Event")}
#: Methods that return their argument.
ENTER = {"enter_async_context", "enter_context"}
#: Packages that create no connectors.
_WELL_KNOWN = {
    "builtins", "subtrie", "nats", "requests", "httpx", "aiohttp", "urllib3", "redis", "paho",
    "pika", "fastapi", "starlette", "flask", "django", "pytest", "click",
}  # fmt: skip
OPEN_TYPES = {"typing.Any", "builtins.object", "typing.TypeVar", "typing_extensions.Any"}


def is_known(called: ExternalObject) -> bool:
    """Return True if the result of calling it is certainly not a connector, client or event."""
    root, name = called.name.partition(".")[0], called.name.rpartition(".")[2]
    if called.is_instance or root in _WELL_KNOWN or root in sys.stdlib_module_names:
        return True
    return name[:1].isupper() and not name.endswith("Connector")
