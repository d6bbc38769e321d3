"""token: the trust root. Subjects of port 666 have the trust zone ``danger``."""

from __future__ import annotations

from typing import Any

from subtrie.connector import Connector, HTTPError, Request


def token(**where: Any) -> Connector:
    """Make the service, which relies on ``request.source``, read from the subject."""
    connector = Connector("token.shop", **where)

    @connector.endpoint("POST", ":666/mint", result="token")
    async def mint(request: Request, order: str) -> str:
        if request.source != "payments.shop":
            raise HTTPError(f"{request.source} may not mint", status=403)
        return f"token-{order}"

    return connector
