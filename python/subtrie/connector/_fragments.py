"""Fragmentation: bodies larger than a message are split by the sender, reassembled by the receiver.

Fragment ``i/n`` repeats the headers. The first fragment of a request opens the transfer and fixes
the count (a fragment without one is answered 408); a wrong index, another count or a repeated
fragment ends the transfer with 400, a body over the limit with 413. A transfer whose fragments are
missing is given up, and its sender told so (408): after twelve round trips without a fragment from
its instance, after sixty without one of its own, or at the end of its time budget. Before a silence
counts, everything that the broker has sent must have been read; how long that takes counts as a
round trip, if it is longer than the measured one. The key contains the verified source, so that no
other host can add to a transfer.
"""

from __future__ import annotations

import asyncio
import math
from collections import Counter, OrderedDict
from collections.abc import Awaitable, Callable
from typing import Generic, TypeVar

from .._core.control_headers import FRAGMENT
from ._envelope import RequestEnvelope, ResponseEnvelope
from ._errors import HTTPError, RequestTimeout
from ._message import Request, Response

MAX_SILENCE = 12  # round trips without a fragment of an instance
MAX_ACK_WAIT = 10  # round trips: a sender gives up before the receiver does
_MOST_SILENCES = 5  # without one of a transfer: while its instance sends others, they may queue
_LOOKS = 16  # at the open transfers, in the longest silence
_REMEMBERED = 4096  # ended transfers whose late fragments are dropped
_MOST_BODIES = 8  # bodies of the largest size that all open transfers may hold together
_MAX_OPEN = 1024  # transfers

TransferKey = tuple[str, str, str]  # verified source, instance, message id
GivenUp = Callable[[HTTPError], None]
Part = TypeVar("Part", Request, Response, RequestEnvelope, ResponseEnvelope)
Whole = TypeVar("Whole", RequestEnvelope, ResponseEnvelope)


def cut(body: bytes, size: int) -> list[bytes]:
    """Split a body into parts of at most ``size`` bytes; at least one part, perhaps empty."""
    if len(body) <= size:
        return [body]
    return [body[number : number + size] for number in range(0, len(body), size)]


def fragment_of(whole: Whole, parts: list[bytes], number: int) -> Whole:
    """Return fragment ``number`` (from 1) of a message: the same headers, one part of the body."""
    fragment = whole.received()
    fragment.body = parts[number - 1]
    fragment.headers.lists[FRAGMENT] = [f"{number}/{len(parts)}"]
    return fragment


class _Transfer(Generic[Part]):
    __slots__ = ("count", "ends", "given_up", "last_arrival", "parts", "size")

    def __init__(self, count: int, now: float, ends: float, given_up: GivenUp | None) -> None:
        self.count, self.last_arrival, self.ends = count, now, ends
        self.given_up = given_up
        self.parts: dict[int, Part] = {}
        self.size = 0


class Reassembler(Generic[Part]):
    """The open transfers to one connector, of requests or of responses.

    Args:
        max_body: The largest body in bytes.
        max_fragments: The largest number of fragments.
        silence: The longest time in seconds between two fragments of an instance.
        read_all: Returns once everything that the broker has sent was read; False if that is not
            known. Without it, overdue transfers are not looked for.
    """

    def __init__(
        self,
        *,
        max_body: int,
        max_fragments: int,
        silence: float,
        read_all: Callable[[], Awaitable[bool]] | None = None,
    ) -> None:
        self.max_body, self.max_fragments, self.silence = max_body, max_fragments, silence
        self._open: dict[TransferKey, _Transfer[Part]] = {}
        self._ended: OrderedDict[TransferKey, None] = OrderedDict()
        self.max_size = _MOST_BODIES * max_body
        self._size = 0  # bytes held
        self._places: Counter[str] = Counter()  # open transfers by source
        self._bytes: Counter[str] = Counter()  # bytes held by source
        self._heard: dict[tuple[str, str], float] = {}  # the last fragment by instance
        self._read_all = read_all
        self._sweep: asyncio.TimerHandle | asyncio.Task[None] | None = None

    def __len__(self) -> int:
        return len(self._open)

    def ended(self, key: TransferKey) -> bool:
        """Return whether a transfer is over: further fragments of it are dropped."""
        return key in self._ended

    def __contains__(self, key: TransferKey) -> bool:
        return key in self._open

    def begin(
        self,
        key: TransferKey,
        count: int,
        *,
        now: float,
        ends: float,
        given_up: GivenUp | None = None,
    ) -> None:
        """Open a transfer.

        Args:
            key: The source, the instance and the message id.
            count: The number of fragments.
            now: The time on the loop's clock.
            ends: When the transfer expires, on the same clock.
            given_up: Called with the error if it is given up: fragments are missing, or others
                need its place.

        Raises:
            HTTPError: Too many fragments (413), or too many open transfers (503).
        """
        if count > self.max_fragments:
            self._end(key)
            raise HTTPError(
                f"{count} fragments exceed the limit of {self.max_fragments}", status=413
            )
        if len(self._open) >= _MAX_OPEN and not self._make_room(key[0]):
            self._end(key)
            raise HTTPError("too many fragmented messages at once", status=503)
        self._open[key] = _Transfer(count, now, ends, given_up)
        self._places[key[0]] += 1
        self._heard[key[:2]] = now
        if self._read_all is not None and self._sweep is None:
            self._sweep_later()

    def add(
        self, key: TransferKey, index: int, count: int, part: Part, *, now: float
    ) -> Part | None:
        """Add a fragment; return the whole message if it was the last one missing.

        Args:
            key: The source, the instance and the message id.
            index: The number of the fragment, from 1.
            count: The number of fragments it claims.
            part: The fragment.
            now: The time on the loop's clock.

        Raises:
            RequestTimeout: The transfer is not open (408).
            HTTPError: The fragment does not fit (400), or the body is too large (413).
        """
        transfer = self._open.get(key)
        if transfer is None:
            raise RequestTimeout("a fragment without an open transfer")
        if count != transfer.count or not 1 <= index <= count or index in transfer.parts:
            self._end(key)
            raise HTTPError(f"fragment {index}/{count} does not fit", status=400)
        transfer.size += len(part.body)
        self._bytes[key[0]] += len(part.body)
        self._size += len(part.body)
        if not self._give_back(key):
            self._end(key)
            raise HTTPError("too many bytes of fragmented messages at once", status=503)
        if transfer.size > self.max_body:
            self._end(key)
            raise HTTPError(f"the body exceeds {self.max_body} bytes (max_body)", status=413)
        transfer.parts[index], transfer.last_arrival = part, now
        self._heard[key[:2]] = now
        if len(transfer.parts) < count:
            return None
        self._end(key)
        whole = transfer.parts[1]
        whole.body = b"".join(transfer.parts[number].body for number in range(1, count + 1))
        del whole.headers[FRAGMENT]
        return whole

    def _make_room(self, source: str) -> bool:
        """End the oldest transfer of the source that has the most, if ``source`` has fewer."""
        most, places = self._places.most_common(1)[0]
        if places <= self._places[source] + 1:  # its own, too
            return False
        self._displace(most)
        return True

    def _give_back(self, key: TransferKey) -> bool:
        """End transfers of sources that hold more bytes than that of ``key``, until all fit."""
        while self._size > self.max_size:
            most, size = self._bytes.most_common(1)[0]
            if size <= self._bytes[key[0]]:  # its own source, too
                return False
            self._displace(most)
        return True

    def _displace(self, source: str) -> None:
        oldest = next(key for key in self._open if key[0] == source)
        self._give_up(oldest, HTTPError("too many fragmented messages at once", status=503))

    def _give_up(self, key: TransferKey, error: HTTPError) -> None:
        given_up = self._open[key].given_up
        self._end(key)
        if given_up is not None:
            given_up(error)

    def overdue(self, now: float) -> list[TransferKey]:
        """Give up the transfers that are silent or past their budget, and return their keys."""
        return self._give_up_late(now, self.silence)

    def _give_up_late(self, now: float, silence: float) -> list[TransferKey]:
        late = self._late(now, silence)
        for key in late:
            arrived, count = len(self._open[key].parts), self._open[key].count
            text = f"timeout: {arrived} of {count} fragments arrived from {key[0]} ({key[1]})"
            self._give_up(key, RequestTimeout(text))
        return late

    def _late(self, now: float, silence: float) -> list[TransferKey]:
        return [
            key
            for key, transfer in self._open.items()
            if now - self._heard[key[:2]] > silence
            or now - transfer.last_arrival > _MOST_SILENCES * silence
            or now > transfer.ends
        ]

    def close(self) -> None:
        """Give up all transfers: the connector shuts down."""
        for key in list(self._open):
            self._give_up(key, HTTPError("the service is shutting down", status=503))
        if self._sweep is not None:
            self._sweep.cancel()
            self._sweep = None

    def _sweep_later(self) -> None:
        loop = asyncio.get_running_loop()
        self._sweep = loop.call_later(self.silence / _LOOKS, self._sweep_now)

    def _sweep_now(self) -> None:
        loop = asyncio.get_running_loop()
        if self._late(loop.time(), self.silence):
            self._sweep = loop.create_task(self._sweep_after_reading())
        else:
            self._sweep_on()

    async def _sweep_after_reading(self) -> None:
        assert self._read_all is not None
        loop = asyncio.get_running_loop()
        begun = loop.time()
        read = await self._read_all()
        now = loop.time()
        silence = max(self.silence, MAX_SILENCE * (now - begun)) if read else math.inf
        self._give_up_late(now, silence)
        self._sweep_on()

    def _sweep_on(self) -> None:
        self._sweep = None
        instances = {key[:2] for key in self._open}
        self._heard = {key: when for key, when in self._heard.items() if key in instances}
        if self._open:
            self._sweep_later()

    def _end(self, key: TransferKey) -> None:
        transfer = self._open.pop(key, None)
        if transfer is not None:
            source = key[0]
            self._size -= transfer.size
            self._places[source] -= 1
            self._bytes[source] -= transfer.size
            if not self._places[source]:
                del self._places[source], self._bytes[source]
        self._ended[key] = None
        if len(self._ended) > _REMEMBERED:
            self._ended.popitem(last=False)
