"""token: the trust root. Port 666 puts its subjects in the ``danger`` tier, apart from the rest."""

from __future__ import annotations

from typing import Any

from subtrie.connector import Connector, HTTPError, Request


def token(**where: Any) -> Connector:
    """Believes the subject, not the message: ``request.source`` is read from the subject."""
    connector = Connector("token.shop", **where)

    @connector.endpoint("POST", ":666/mint")
    async def mint(request: Request, order: str) -> str:
        if request.source != "payments.shop":
            raise HTTPError(f"{request.source} may not mint", status=403)
        return f"token-{order}"

    return connector
