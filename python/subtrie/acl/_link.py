"""Connections of a broker to other brokers, and what crosses them."""

from __future__ import annotations

import dataclasses

from ._permissions import Permissions


@dataclasses.dataclass(frozen=True, slots=True)
class Link:
    """A leaf node, a gateway or the routes of a cluster.

    Attributes:
        kind: ``leaf`` (this broker connects to another), ``leaf user`` (another connects to
            this one), ``route`` or ``gateway``; ``leaf listener``, ``gateway listener``,
            ``websocket listener`` and ``mqtt listener`` are ports on which others connect.
        name: the address without a user, the user, the name of the cluster, or the block.
        account: the account that it carries; None for all.
        permissions: what this broker sends over it (publish) and takes from it (subscribe).
        line: its line in the configuration.
        file: the file with this line.
    """

    kind: str
    name: str
    account: str | None
    permissions: Permissions
    line: int | None = None
    file: str | None = None
