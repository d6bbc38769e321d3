"""token: the trust root. Port 666 puts its subjects in the ``danger`` tier, apart from the rest."""

from __future__ import annotations

from .message import Refused, Request
from .service import Service, endpoint


class Token(Service):
    host = "token.shop"

    @endpoint("POST", ":666/mint")
    async def mint(self, request: Request) -> str:
        if request.source != "payments.shop":
            raise Refused(403, f"{request.source} may not mint")
        return f"token-{request.body['for']}"
