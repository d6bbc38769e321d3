"""A TCP proxy that records both directions of each connection without changing them.

Bytes are forwarded before they are queued for the writer, which runs in its own thread: a slow disk
does not slow the traffic. When more than ``max_queue`` bytes wait to be written, further bytes are
not recorded, and a ``lost`` record says how many.
"""

from __future__ import annotations

import asyncio
import contextlib
import json
import os
import queue
import threading
import time
from typing import Any, Self

from .capture import CONNECTION_KINDS, Writer

_CHUNK = 65_536  # bytes of a read

_QueuedRecord = tuple[str, int, bytes, int]


class _Recorder:
    """The writer thread and its queue; ``put`` never blocks."""

    def __init__(self, writer: Writer, max_queue: int) -> None:
        self._writer, self._max = writer, max_queue
        self._rows: queue.SimpleQueue[_QueuedRecord | None] = queue.SimpleQueue()
        self._waiting = 0
        self._lock = threading.Lock()
        self._lost: dict[tuple[int, str], int] = {}
        self.error: Exception | None = None
        self._thread = threading.Thread(target=self._run, name="subtrie-tap", daemon=True)
        self._thread.start()

    def put(self, kind: str, conn: int, data: bytes) -> None:
        """Queue a record, or count its bytes as lost if the queue is full."""
        with self._lock:
            full = self._waiting + len(data) > self._max
            if full:
                self._lost[conn, kind] = self._lost.get((conn, kind), 0) + len(data)
                return
            lost, self._lost = self._lost, {}
            self._waiting += len(data)
        now = time.time_ns()
        for (other, direction), count in lost.items():
            about = json.dumps({"direction": direction, "bytes": count}).encode()
            self._rows.put(("lost", other, about, now))
        self._rows.put((kind, conn, data, now))

    def close(self) -> None:
        """Write everything that is queued, and end the thread."""
        self.put("closed", 0, b"")  # queues the records of lost bytes
        self._rows.put(None)
        self._thread.join()

    def _run(self) -> None:
        """Write the queued records until the end."""
        while (row := self._rows.get()) is not None:
            kind, conn, data, now = row
            with self._lock:
                self._waiting -= len(data)
            if self.error is not None or conn == 0:
                continue
            try:
                self._writer.write(kind, conn, data, at=now)
            except OSError as error:  # a full disk ends the capture, never the traffic
                self.error = error
        self._writer.close()


class Tap:
    """A recording proxy, as an asynchronous context manager.

    Example:
        ``async with Tap(to=("127.0.0.1", 4222), out="capture") as tap: print(tap.port)``

    Args:
        to: Host and port of the server that connections are forwarded to.
        out: The directory of the capture.
        listen: Host and port to listen on; port 0 selects a free one.
        kind: The protocol of the connections, one of ``CONNECTION_KINDS``.
        rotate: The size in bytes after which a new file begins.
        max_queue: The most bytes that may wait to be written.

    Raises:
        ValueError: ``kind`` is unknown.
        OSError: The address cannot be bound (on entering the context).
    """

    __module__ = "subtrie.wire"  # which imports it when it is first used

    def __init__(
        self,
        *,
        to: tuple[str, int],
        out: str | os.PathLike[str],
        listen: tuple[str, int] = ("127.0.0.1", 0),
        kind: str = "client",
        rotate: int = 64 << 20,
        max_queue: int = 256 << 20,
    ) -> None:
        if kind not in CONNECTION_KINDS:
            raise ValueError(f"kind must be one of {', '.join(CONNECTION_KINDS)}, not {kind!r}")
        self.to, self.listen, self.kind = to, listen, kind
        self._writer = Writer(out, rotate=rotate)
        self._max_queue = max_queue
        self._recorder: _Recorder | None = None
        self._server: asyncio.Server | None = None
        self._passing: set[asyncio.Task[Any]] = set()
        self._count = 0
        self._leaving = False

    @property
    def port(self) -> int:
        """The port that the proxy listens on."""
        if self._server is None:
            raise RuntimeError("the tap is not open")
        return int(self._server.sockets[0].getsockname()[1])

    @property
    def connections(self) -> int:
        """The number of connections that were accepted."""
        return self._count

    @property
    def error(self) -> Exception | None:
        """The error that stopped the recording, or None."""
        return None if self._recorder is None else self._recorder.error

    async def __aenter__(self) -> Self:
        self._recorder = _Recorder(self._writer, self._max_queue)
        try:
            self._server = await asyncio.start_server(
                self._forward, self.listen[0], self.listen[1], limit=_CHUNK
            )
        except BaseException:
            self._recorder.close()
            raise
        return self

    async def __aexit__(self, *_: object) -> None:
        assert self._server is not None
        assert self._recorder is not None
        self._leaving = True
        self._server.close()
        for task in list(self._passing):
            task.cancel()
        await asyncio.gather(*self._passing, return_exceptions=True)
        await asyncio.get_running_loop().run_in_executor(None, self._recorder.close)

    async def _forward(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        """Forward one connection until it ends."""
        task = asyncio.current_task()
        assert task is not None
        assert self._recorder is not None
        if self._leaving:  # it was accepted just before
            writer.close()
            return
        self._passing.add(task)
        self._count += 1
        conn, recorder = self._count, self._recorder
        about = {"kind": self.kind, "from": _address(writer), "to": ":".join(map(str, self.to))}
        recorder.put("opened", conn, json.dumps(about).encode())
        reason, ends = "closed", [writer]
        try:
            onward, back = await asyncio.open_connection(*self.to, limit=_CHUNK)
            ends.append(back)
            await asyncio.gather(
                _pump(reader, back, recorder, conn, "c2s"),
                _pump(onward, writer, recorder, conn, "s2c"),
            )
        except OSError as error:
            reason = str(error)
        except asyncio.CancelledError:
            reason = "the tap was closed"
        finally:
            for end in ends:
                end.close()
            recorder.put("closed", conn, json.dumps({"reason": reason}).encode())
            self._passing.discard(task)


async def _pump(
    reader: asyncio.StreamReader,
    writer: asyncio.StreamWriter,
    recorder: _Recorder,
    conn: int,
    direction: str,
) -> None:
    """Forward and record one direction until it ends; pass on a half-close."""
    try:
        while data := await reader.read(_CHUNK):
            writer.write(data)
            recorder.put(direction, conn, data)
            await writer.drain()
    except ConnectionError:
        writer.close()
        return
    with contextlib.suppress(OSError, RuntimeError):
        if writer.can_write_eof():
            writer.write_eof()


def _address(writer: asyncio.StreamWriter) -> str:
    """Return the peer of a connection as ``host:port``."""
    name = writer.get_extra_info("peername") or ("?", 0)
    return f"{name[0]}:{name[1]}"
