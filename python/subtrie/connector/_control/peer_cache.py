"""The distributed cache's peer: what the replicas of a service keep for each other.

Only its own host may ask. Peers ask all replicas at once (``dcache/all``) to load, store, check or
delete; a replica that leaves hands what it holds to one of the others (``dcache/rescue``).
"""

from __future__ import annotations

import asyncio
import hashlib
import logging
from collections import OrderedDict
from functools import cached_property

from ... import _control_headers
from ..._errors import SubtrieError
from .._client.requester import Requester
from .._errors import HTTPError
from .._http.message import Request, Response
from .._runtime import Runtime
from .._server.endpoint import OWN, Endpoint

logger = logging.getLogger("subtrie.connector")

_ROOM = 32 << 20  # bytes


class PeerCache:
    """The part of the cache that this instance holds, least recently used thrown out first."""

    def __init__(self, connector: Runtime) -> None:
        self.connector = connector
        self._held: OrderedDict[str, bytes] = OrderedDict()
        self._size = 0

    @cached_property
    def endpoints(self) -> list[Endpoint]:
        """Its two routes."""
        mine = self.connector
        return [
            Endpoint(mine, "ANY", ":888/dcache/all", self.all, queue=None, control=True),
            Endpoint(mine, "ANY", ":888/dcache/rescue", self.rescue, queue=OWN, control=True),
        ]

    def __len__(self) -> int:
        return len(self._held)

    def all(self, request: Request) -> Response:
        """What a peer asks of every replica."""
        if request.source != self.connector.host:
            raise HTTPError(f"foreign host '{request.source}'")
        query = {name: values[0] for name, values in request.query.items()}
        action, key = query.get("do", ""), query.get("key", "")
        own = request.headers.get(_control_headers.FROM_ID) == self.connector.id
        if action in ("weight", "len"):
            return Response(200, str(self._size if action == "weight" else len(self._held)))
        if action == "clear":
            self._held.clear()
            self._size = 0
            return Response()
        if action == "delete":
            if not own:
                self._delete(query)
            return Response()
        if action not in ("load", "store", "checksum"):
            raise HTTPError(f"invalid action '{action}'")
        if own:
            return Response(404)
        if not key:
            raise HTTPError("missing key")
        if action == "store":
            self.hold(key, request.body)
            return Response()
        held = self._held.get(key)
        if held is None:
            return Response(404)
        if action == "load":
            self._held.move_to_end(key)
            return Response(200, held)
        digest = hashlib.sha256(held).digest()
        if digest.hex() != query.get("checksum", "").lower():
            self._drop(key)
        return Response(200, digest)

    def rescue(self, request: Request) -> Response:
        """Takes over what a leaving replica held."""
        if request.source != self.connector.host:
            raise HTTPError(f"foreign host '{request.source}'")
        key = request.query.get("key", [""])[0]
        if not key:
            raise HTTPError("missing key")
        self.hold(key, request.body)
        return Response()

    def hold(self, key: str, value: bytes) -> None:
        """Keeps a value, as long as there is room."""
        self._drop(key)
        self._held[key] = value
        self._size += len(value)
        while self._size > _ROOM:
            self._drop(next(iter(self._held)))

    async def offload(self, asking: Requester, timeout: float) -> int:
        """Hands what it holds to another replica, latest first; how many were taken over.

        Its own routes must be down already. Ends at ``timeout`` seconds, or where nobody is left.
        """
        taken = 0
        url = f"https://{self.connector.host}:888/dcache/rescue"
        try:
            async with asyncio.timeout(timeout):
                while self._held:
                    key, value = self._held.popitem()
                    self._size -= len(value)
                    await asking.request("PUT", url, params={"key": key}, body=value)
                    taken += 1
        except (SubtrieError, TimeoutError) as error:
            logger.info("%s kept %d values: %s", self.connector.host, len(self._held) + 1, error)
        self._held.clear()
        self._size = 0
        return taken

    def _drop(self, key: str) -> None:
        self._size -= len(self._held.pop(key, b""))

    def _delete(self, query: dict[str, str]) -> None:
        if key := query.get("key"):
            self._drop(key)
        elif prefix := query.get("prefix"):
            for each in [each for each in self._held if each.startswith(prefix)]:
                self._drop(each)
        elif part := query.get("contains"):
            for each in [each for each in self._held if part in each]:
                self._drop(each)
        else:
            raise HTTPError("missing key")
