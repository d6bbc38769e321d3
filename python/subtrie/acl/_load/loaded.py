"""Permissions of one user as loaded from a file, before they become ``Permissions``."""

from __future__ import annotations

import dataclasses

from ..._nats.jwt import Validity
from .._place import Place
from .._response_limit import ResponseLimit


@dataclasses.dataclass(slots=True)
class LoadedPermissions:
    """The arguments of ``Permissions``, and what is known of a file only."""

    publish_allow: tuple[str, ...] | None = None
    publish_deny: tuple[str, ...] = ()
    subscribe_allow: tuple[str, ...] | None = None
    subscribe_deny: tuple[str, ...] = ()
    allow_responses: ResponseLimit | None = None
    dialect: str = "server"
    #: False if the account or an external authority decides, and is not given.
    determined: bool = True
    #: Entries that load and match nothing: (list, entry).
    unmatchable: tuple[tuple[str, str], ...] = ()
    #: Where each entry was read, by (list, entry).
    sources: dict[tuple[str, str], Place] = dataclasses.field(default_factory=dict)
    #: Where the user stands; None if the file is of one user.
    place: Place | None = None
    #: The time in which the token is good.
    validity: Validity = dataclasses.field(default_factory=Validity)

    @classmethod
    def undetermined(cls) -> LoadedPermissions:
        """Permissions of a user about whom the file does not decide."""
        return cls(determined=False)
