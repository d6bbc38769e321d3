"""A proposal as permissions, compared with today's."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

from ...acl import Permissions


def proposed_permissions(proposal: Iterable[Mapping[str, Any]]) -> dict[str, Permissions]:
    """Return the permissions of each service in a proposal.

    Args:
        proposal: Rows of the table ``proposal``.

    Raises:
        PermissionsError: A rule that nats-server would not load.

    Example:
        >>> rule = "prod.safe.443.a_shop.b_shop._.GET.x"
        >>> row = {"service": "a.shop", "verb": "publish", "rule": rule}
        >>> proposed_permissions([row])["a.shop"].publish_allow == (rule,)
        True
    """
    lists: dict[str, dict[str, set[str]]] = {}  # programs of a service are rows of their own
    for row in proposal:
        verbs = lists.setdefault(row["service"], {"publish": set(), "subscribe": set()})
        verbs[row["verb"]].add(row["rule"])
    return {
        service: Permissions(
            publish_allow=sorted(verbs["publish"]), subscribe_allow=sorted(verbs["subscribe"])
        )
        for service, verbs in sorted(lists.items())
    }
