"""The distributed cache's peer: values that the replicas of a service keep for each other.

Only the service's own host may use it. Peers ask all replicas at once (``dcache/all``) to load,
store, check or delete; at shutdown a replica hands its values to another (``dcache/rescue``).
"""

from __future__ import annotations

import asyncio
import hashlib
import logging
from collections import OrderedDict
from functools import cached_property

from .._core import control_headers
from .._core.errors import SubtrieError
from .._core.ports import CONTROL
from . import _system
from ._client import RequestClient
from ._endpoint import Endpoint
from ._errors import HTTPError
from ._message import Request, Response
from ._runtime import Runtime

logger = logging.getLogger("subtrie.connector")

_CAPACITY = 32 << 20  # bytes
KEEPS_FOR = 3600.0  # seconds for which a value stays after it was used last


class PeerCache:
    """This instance's part of the cache; the least recently used values are evicted first."""

    def __init__(self, runtime: Runtime) -> None:
        self._runtime = runtime
        #: Values, and when each was used last, on the monotonic clock; the latest at the end.
        self._held: OrderedDict[str, tuple[bytes, float]] = OrderedDict()
        self._size = 0

    @cached_property
    def endpoints(self) -> list[Endpoint]:
        """The two endpoints of the cache."""
        runtime = self._runtime
        return [
            Endpoint(runtime, "ANY", f":{CONTROL}/dcache/all", self.all, queue=None, control=True),
            Endpoint(runtime, "ANY", f":{CONTROL}/dcache/rescue", self.rescue, control=True),
        ]

    @property
    def size(self) -> int:
        """The bytes of all values."""
        return self._size

    def __len__(self) -> int:
        return len(self._held)

    def all(self, request: Request) -> Response:
        """Answer a peer that asks every replica."""
        if request.source != self._runtime.host:
            raise HTTPError(f"foreign host '{request.source}'")
        query = {name: values[0] for name, values in request.query.items()}
        action, key = query.get("do", ""), query.get("key", "")
        own = request.headers.get(control_headers.FROM_ID) == self._runtime.id
        count = self._runtime.metrics.cache_operations.add
        if action in ("weight", "len"):
            return Response(200, str(self._size if action == "weight" else len(self._held)))
        if action == "clear":
            self._clear()
            return Response()
        if action == "delete":
            if not own:
                self.delete(query)
                count(op="delete")
            return Response()
        if action not in ("load", "store", "checksum"):
            raise HTTPError(f"invalid action '{action}'")
        if own:
            return Response(404)
        if not key:
            raise HTTPError("missing key")
        if action == "store":
            self.hold(key, request.body)
            count(op="store")
            return Response()
        held = self.value(key, used=action == "load" and query.get("bump") != "false")
        if action == "load":
            count(op="load", hit="miss" if held is None else "local")
        if held is None:
            return Response(404)
        if action == "load":
            return Response(200, held)
        digest = hashlib.sha256(held).digest()
        if digest.hex() != query.get("checksum", "").lower():
            self.drop(key)
        return Response(200, digest)

    def rescue(self, request: Request) -> Response:
        """Take over a value of a replica that shuts down."""
        if request.source != self._runtime.host:
            raise HTTPError(f"foreign host '{request.source}'")
        key = request.query.get("key", [""])[0]
        if not key:
            raise HTTPError("missing key")
        self.hold(key, request.body)
        return Response()

    def hold(self, key: str, value: bytes) -> None:
        """Keep a value, and evict others if the cache is full."""
        self.drop(key)
        self._held[key] = value, _system.monotonic()
        self._size += len(value)
        while self._size > _CAPACITY:
            self.drop(next(iter(self._held)))

    def value(self, key: str, *, used: bool = True) -> bytes | None:
        """Return the value of a key that this instance holds; None if it is absent or too old.

        Args:
            key: The key.
            used: Whether this counts as a use, so that it stays longer.
        """
        held, now = self._held.get(key), _system.monotonic()
        if held is None or now - held[1] >= KEEPS_FOR:
            self.drop(key)
            return None
        if used:
            self._held.move_to_end(key)
            self._held[key] = held[0], now
        return held[0]

    async def offload(self, client: RequestClient, timeout: float) -> int:
        """Hand all values to other replicas, latest first; return how many were taken over.

        The cache's own endpoints must be unsubscribed before.

        Args:
            client: Sends the requests.
            timeout: Seconds for all of them.
        """
        taken = 0
        url = f"https://{self._runtime.host}:{CONTROL}/dcache/rescue"
        try:
            async with asyncio.timeout(timeout):
                while self._held:
                    key, (value, _) = next(reversed(self._held.items()))
                    self.drop(key)
                    await client.request("PUT", url, params={"key": key}, body=value)
                    taken += 1
        except (SubtrieError, TimeoutError) as error:
            logger.info(
                "%s could not hand over %d cached values: %s",
                self._runtime.host,
                len(self._held) + 1,
                error,
            )
        self._clear()
        return taken

    def _clear(self) -> None:
        self._held.clear()
        self._size = 0

    def drop(self, key: str) -> None:
        """Forget the value of a key, if this instance holds it."""
        if held := self._held.pop(key, None):
            self._size -= len(held[0])

    def delete(self, query: dict[str, str]) -> None:
        """Forget the values of a key, or of all keys with a ``prefix`` or that contain a text.

        Args:
            query: ``key``, ``prefix`` or ``contains``.

        Raises:
            HTTPError: It has none of the three.
        """
        if key := query.get("key"):
            self.drop(key)
        elif prefix := query.get("prefix"):
            for each in [each for each in self._held if each.startswith(prefix)]:
                self.drop(each)
        elif part := query.get("contains"):
            for each in [each for each in self._held if part in each]:
                self.drop(each)
        else:
            raise HTTPError("missing key")
