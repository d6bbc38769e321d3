"""A configurator: the service ``configurator.core``, from which others get configuration values.

It reads ``config.yaml`` as Go's configurator does, answers ``:888/values`` by the verified source
of the request, tells every service to refresh after it has started and every 20 minutes, and shares
its values with its replicas: the latest are in force.
"""

from __future__ import annotations

from collections.abc import Mapping
from datetime import UTC, datetime
from typing import Any

from .._core.ports import CONTROL, INTERNAL
from . import _system
from ._config import Values, read_config_files, value_of
from ._connector import Connector
from ._errors import HTTPError
from ._message import Request

_HOST = "configurator.core"
_VERSION = 254  # of Go's configurator on the bus
_REFRESH_EVERY = 1200.0  # seconds


def configurator(
    values: Mapping[str, Mapping[str, str]] | None = None, **options: Any
) -> Connector:
    """Return a connector that serves configuration values.

    Args:
        values: By domain (a host, a parent domain or ``all``) and name; added to those of
            ``config.yaml``.
        options: Further arguments of ``Connector``.
    """
    core = Connector(_HOST, **{"version": _VERSION, **options})
    repository = _Repository(core, values or {})
    core.on_startup(repository.load)
    core.endpoint("ANY", f":{CONTROL}/values")(repository.values)
    core.endpoint("ANY", f":{CONTROL}/sync-repo", queue=None)(repository.sync_repo)
    core.endpoint("ANY", f":{INTERNAL}/refresh")(repository.refresh)
    core.every(_REFRESH_EVERY, at_once=True)(repository.announce)
    return core


class _Repository:
    """The values of one configurator, and when they were read."""

    def __init__(self, core: Connector, given: Mapping[str, Mapping[str, str]]) -> None:
        self._core, self._given = core, given
        self._values: Values = {}
        self._read_at = datetime.fromtimestamp(0, UTC)

    def load(self) -> None:
        """Read the files."""
        self._values, self._read_at = (
            read_config_files(),
            datetime.fromtimestamp(_system.now(), UTC),
        )
        for domain, names in self._given.items():
            self._values.setdefault(domain.lower(), {}).update(names)

    async def values(self, request: Request, names: list[str]) -> dict[str, dict[str, str]]:
        """Return the values of the service that asks."""
        found = {name: value_of(self._values, request.source, name) for name in names}
        return {"values": {name: text for name, text in found.items() if text is not None}}

    async def sync_repo(self, request: Request) -> None:
        """Take over the values of a replica if they are later."""
        own = request.headers.get("Microbus-From-Id") == self._core.id
        if request.source != self._core.host or own:
            return
        values, read_at = _synced(request.json())
        if read_at > self._read_at:
            self._values, self._read_at = values, read_at

    async def refresh(self) -> dict[str, Any]:
        """Tell every service to refresh."""
        url = f"https://all:{CONTROL}/config-refresh"
        async for _ in self._core.publish("POST", url):
            pass
        return {}

    async def announce(self) -> None:
        """Share the values with the replicas, and tell every service to refresh."""
        body = {"timestamp": self._read_at.isoformat(), "values": self._values}
        url = f"https://{_HOST}:{CONTROL}/sync-repo"
        async for _ in self._core.publish("POST", url, json=body):
            pass
        await self.refresh()


def _synced(fields: Any) -> tuple[Values, datetime]:
    """Return the values of a replica, and when it read them."""
    try:
        read_at = datetime.fromisoformat(fields["timestamp"])
        values = {
            domain: {name: str(text) for name, text in names.items()}
            for domain, names in fields["values"].items()
        }
        return values, read_at if read_at.tzinfo else read_at.replace(tzinfo=UTC)
    except (TypeError, KeyError, ValueError, AttributeError):
        raise HTTPError("expected a timestamp (RFC 3339) and values", status=400) from None
