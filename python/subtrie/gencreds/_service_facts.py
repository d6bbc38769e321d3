"""The facts that a scan collects about one service."""

from __future__ import annotations

import dataclasses
from collections.abc import Sequence
from typing import Any

from ._declared import DeclaredCall
from ._service import EndpointUse, Note, Service, UnresolvedCall


@dataclasses.dataclass
class ServiceFacts:
    """Traffic of one service, collected during a scan."""

    endpoints: list[EndpointUse] = dataclasses.field(default_factory=list)
    calls: list[EndpointUse] = dataclasses.field(default_factory=list)
    events: list[EndpointUse] = dataclasses.field(default_factory=list)
    hooks: list[EndpointUse] = dataclasses.field(default_factory=list)
    dynamic: list[UnresolvedCall] = dataclasses.field(default_factory=list)
    planes: list[Note] = dataclasses.field(default_factory=list)
    notes: list[Note] = dataclasses.field(default_factory=list)

    def service(self, host: str, ids: tuple[str, ...], declared: Sequence[DeclaredCall]) -> Service:
        """Return the service with its declared traffic, which may replace unresolved calls.

        Args:
            host: the host of the service.
            ids: the ids of its replicas.
            declared: the declared entries of all services.
        """
        own = [each for each in declared if each.service == host]
        lists = {
            kind: ordered([*getattr(self, kind), *(use for each in own for use in each.uses(kind))])
            for kind in ("endpoints", "calls", "events", "hooks")
        }
        dynamic = [each for each in self.dynamic if not any(one.accounts_for(each) for one in own)]
        return Service(
            host,
            **lists,
            dynamic=ordered(dynamic),
            raw=tuple(raw for each in own for raw in each.raw),
            planes=ordered(self.planes),
            notes=ordered(self.notes),
            ids=ids,
        )


def ordered(items: list[Any]) -> tuple[Any, ...]:
    """Return the distinct items in the order of the source."""
    return tuple(sorted(dict.fromkeys(items), key=lambda each: (each.file or "", each.line or 0)))
