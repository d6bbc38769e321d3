"""Bodies larger than a message: cut here, put together there, with limits on both sides.

Fragment ``i/n`` repeats the headers. Of a request, the first opens the transfer and pins the count
(a fragment without one is answered 408); a wrong index, another count or a second copy drops it
with 400, over the caps with 413; silence of eight round trips or the end of the budget ends it.
The key holds the verified source: nobody adds to another's transfer.
"""

from __future__ import annotations

from collections import OrderedDict
from typing import Generic, TypeVar

from ..._control_headers import FRAGMENT
from .._errors import HTTPError, RequestTimeout
from .message import Request, Response

SILENCE = 8  # round trips
_REMEMBERED = 4096  # transfers that have ended
_OPEN_AT_ONCE = 1024  # transfers

Key = tuple[str, str, str]  # verified source, instance, message id
Part = TypeVar("Part", Request, Response)


def cut(body: bytes, size: int) -> list[bytes]:
    """The body in parts of at most ``size`` bytes; one part, perhaps empty, where it fits."""
    if len(body) <= size:
        return [body]
    return [body[place : place + size] for place in range(0, len(body), size)]


class _Transfer(Generic[Part]):
    __slots__ = ("count", "ends", "heard", "parts", "size")

    def __init__(self, count: int, now: float, ends: float) -> None:
        self.count, self.heard, self.ends = count, now, ends
        self.parts: dict[int, Part] = {}
        self.size = 0


class Reassembler(Generic[Part]):
    """The transfers that are under way to one connector, requests or responses."""

    def __init__(self, *, max_body: int, max_fragments: int, silence: float) -> None:
        self.max_body, self.max_fragments, self.silence = max_body, max_fragments, silence
        self._open: dict[Key, _Transfer[Part]] = {}
        self._ended: OrderedDict[Key, None] = OrderedDict()

    def __len__(self) -> int:
        return len(self._open)

    def ended(self, key: Key) -> bool:
        """Whether the transfer is over: what still comes of it is dropped in silence."""
        return key in self._ended

    def __contains__(self, key: Key) -> bool:
        return key in self._open

    def begin(self, key: Key, count: int, *, now: float, ends: float) -> None:
        """Opens a transfer. Raises ``HTTPError`` 413, or 503 where too many are open."""
        if count > self.max_fragments:
            self._end(key)
            raise HTTPError(f"{count} fragments, {self.max_fragments} at most", status=413)
        if len(self._open) >= _OPEN_AT_ONCE:
            self._end(key)
            raise HTTPError("too many transfers at once", status=503)
        self._open[key] = _Transfer(count, now, ends)

    def add(self, key: Key, index: int, count: int, part: Part, *, now: float) -> Part | None:
        """Takes one fragment; the whole message when it was the last one missing.

        Raises ``HTTPError``: 408 without a transfer, 400 for what does not fit, 413 over the cap.
        """
        transfer = self._open.get(key)
        if transfer is None:
            raise RequestTimeout("a fragment of no transfer")
        if count != transfer.count or not 1 <= index <= count or index in transfer.parts:
            self._end(key)
            raise HTTPError(f"fragment {index}/{count} does not fit", status=400)
        transfer.size += len(part.body)
        if transfer.size > self.max_body:
            self._end(key)
            raise HTTPError(f"more than {self.max_body} bytes", status=413)
        transfer.parts[index], transfer.heard = part, now
        if len(transfer.parts) < count:
            return None
        self._end(key)
        whole = transfer.parts[1]
        whole.body = b"".join(transfer.parts[place].body for place in range(1, count + 1))
        del whole.headers[FRAGMENT]
        return whole

    def overdue(self, now: float) -> list[Key]:
        """Ends the transfers that fell silent or ran out of budget, and tells which."""
        late = [
            key
            for key, transfer in self._open.items()
            if now - transfer.heard > self.silence or now > transfer.ends
        ]
        for key in late:
            self._end(key)
        return late

    def _end(self, key: Key) -> None:
        self._open.pop(key, None)
        self._ended[key] = None
        if len(self._ended) > _REMEMBERED:
            self._ended.popitem(last=False)


def fragment_of_request(request: Request, parts: list[bytes], place: int) -> Request:
    """Fragment ``place`` of so many, the first being 1: the same headers, one part of the body."""
    made = request.received()
    made.body = parts[place - 1]
    made.headers._values[FRAGMENT] = [f"{place}/{len(parts)}"]
    return made
