"""The distributed cache of a service, for its handlers: values that its replicas share.

As in Go: a value is stored by the replica that computes it, the others forget theirs; a value that
another replica has is fetched from there, and one that two replicas hold differently is forgotten.
Values stay for an hour after they were used last, at most 32 MiB of them in each replica.
"""

from __future__ import annotations

import hashlib

from .._core.errors import refusal
from .._core.ports import CONTROL
from ._client import RequestClient
from ._message import Response
from ._peer_cache import KEEPS_FOR, PeerCache
from ._runtime import Runtime


class DistributedCache:
    """The cache of a service: ``connector.cache``.

    Args:
        runtime: The connector.
        client: Sends the requests to the replicas.
        own: The part of this instance.
    """

    def __init__(self, runtime: Runtime, client: RequestClient, own: PeerCache) -> None:
        self._runtime, self._client, self._own = runtime, client, own

    async def load(self, key: str) -> bytes | None:
        """Return the value of a key, from this or another replica; None if none has it.

        Args:
            key: The key.

        Raises:
            BusError: The key is empty.
            HTTPError: A replica answers with an error.
        """
        _check(key)
        value, hit = self._own.value(key), "local"
        if value is not None:
            digest = hashlib.sha256(value).digest()
            told = await self._all("GET", {"do": "checksum", "checksum": digest.hex(), "key": key})
            if any(each.status == 200 and each.body != digest for each in told):
                self._own.drop(key)
                value = None
        else:
            hit = "remote"
            age = f"{KEEPS_FOR:.0f}s"
            told = await self._all("GET", {"do": "load", "bump": "true", "key": key, "ttl": age})
            values = {each.body for each in told if each.status == 200}
            value = values.pop() if len(values) == 1 else None
        hit = "miss" if value is None else hit
        self._runtime.metrics.cache_operations.add(op="load", hit=hit)
        return value

    async def store(self, key: str, value: bytes | str, *, replicate: bool = False) -> None:
        """Store a value: in this replica, or in each.

        Args:
            key: The key.
            value: The value; a text is stored as UTF-8.
            replicate: Whether each replica holds it; otherwise the others forget theirs.

        Raises:
            BusError: The key is empty.
            HTTPError: A replica answers with an error.
        """
        _check(key)
        content = value.encode() if isinstance(value, str) else bytes(value)
        self._own.drop(key)
        if replicate:
            await self._all("PUT", {"do": "store", "key": key}, content)
        else:
            await self._all("DELETE", {"do": "delete", "key": key})
        self._own.hold(key, content)
        self._runtime.metrics.cache_operations.add(op="store")

    async def delete(self, key: str = "", *, prefix: str = "", contains: str = "") -> None:
        """Delete a key, or all whose names begin with or contain a text, in each replica.

        Args:
            key: The key.
            prefix: The text with which the keys begin.
            contains: The text that is in the keys.

        Raises:
            BusError: Not exactly one of the three is given.
            HTTPError: A replica answers with an error.
        """
        given = {"key": key, "prefix": prefix, "contains": contains}
        given = {name: each for name, each in given.items() if each}
        if len(given) != 1:
            raise refusal("BusError", "cache-key", ", ".join(given.values()), field="key")
        self._own.delete(given)
        await self._all("DELETE", {"do": "delete", **given})
        self._runtime.metrics.cache_operations.add(op="delete")

    async def clear(self) -> None:
        """Delete all values, in each replica.

        Raises:
            HTTPError: A replica answers with an error.
        """
        await self._all("DELETE", {"do": "clear"})

    async def _all(
        self, method: str, params: dict[str, str], body: bytes | None = None
    ) -> list[Response]:
        """Return the responses of all replicas.

        Raises:
            HTTPError: One of them is an error.
        """
        url = f"https://{self._runtime.host}:{CONTROL}/dcache/all"
        responses = []
        async for response in self._client.publish(method, url, params=params, body=body):
            if response.error is not None:
                raise response.error
            responses.append(response)
        return responses


def _check(key: str) -> None:
    if not key:
        raise refusal("BusError", "cache-key", key, field="key")
