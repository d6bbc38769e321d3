"""What a scan has found of one service so far."""

from __future__ import annotations

import dataclasses
from collections.abc import Sequence
from typing import Any

from ._declared import Declared
from ._service import Dynamic, Note, Service, Use


@dataclasses.dataclass
class Found:
    """What is known of one service so far."""

    endpoints: list[Use] = dataclasses.field(default_factory=list)
    calls: list[Use] = dataclasses.field(default_factory=list)
    events: list[Use] = dataclasses.field(default_factory=list)
    hooks: list[Use] = dataclasses.field(default_factory=list)
    dynamic: list[Dynamic] = dataclasses.field(default_factory=list)
    planes: list[Note] = dataclasses.field(default_factory=list)
    notes: list[Note] = dataclasses.field(default_factory=list)

    def service(self, host: str, ids: tuple[str, ...], declared: Sequence[Declared]) -> Service:
        """The service, with what is declared of it, which may account for what is dynamic."""
        told = [each for each in declared if each.service == host]
        lists = {
            kind: ordered(
                [*getattr(self, kind), *(use for each in told for use in each.uses(kind))]
            )
            for kind in ("endpoints", "calls", "events", "hooks")
        }
        dynamic = [each for each in self.dynamic if not any(one.accounts_for(each) for one in told)]
        return Service(
            host,
            **lists,
            dynamic=ordered(dynamic),
            raw=tuple(raw for each in told for raw in each.raw),
            planes=ordered(self.planes),
            notes=ordered(self.notes),
            ids=ids,
        )


def ordered(items: list[Any]) -> tuple[Any, ...]:
    """In the order of the source, each once."""
    return tuple(sorted(dict.fromkeys(items), key=lambda each: (each.file or "", each.line or 0)))
