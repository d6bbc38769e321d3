"""What a file says of one user: the lists, before they become ``Permissions``."""

from __future__ import annotations

import dataclasses

from .._response_limit import ResponseLimit


@dataclasses.dataclass(slots=True)
class Found:
    """The arguments of ``Permissions``, and what only a file can tell."""

    publish_allow: tuple[str, ...] | None = None
    publish_deny: tuple[str, ...] = ()
    subscribe_allow: tuple[str, ...] | None = None
    subscribe_deny: tuple[str, ...] = ()
    allow_responses: ResponseLimit | None = None
    dialect: str = "server"
    #: False where somebody else decides, who is not at hand.
    known: bool = True
    #: Entries that load and match nothing: (list, entry).
    dead: tuple[tuple[str, str], ...] = ()
    #: Where each entry was read: (list, entry) to (file, line).
    sources: dict[tuple[str, str], tuple[str, int]] = dataclasses.field(default_factory=dict)

    @classmethod
    def unknown(cls) -> Found:
        """Of a user about whom the file does not decide."""
        return cls(known=False)
