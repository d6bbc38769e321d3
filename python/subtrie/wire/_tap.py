"""A plain TCP proxy that writes down what passes, both ways, without having a say in it.

Bytes are handed on before they are queued for the writer, which works in a thread of its own: a
slow disk never slows the traffic. When more than ``max_queue`` bytes wait to be written, further
ones go by unrecorded, and a ``lost`` record says how many.
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

from .capture import Writer

#: Whose protocol passes: what the reader of a capture makes of its two directions.
KINDS = ("client", "route", "leaf", "route_legacy")
_CHUNK = 65_536

_Row = tuple[str, int, bytes, int]


class _Recorder:
    """The writer, in a thread; ``put`` never waits."""

    def __init__(self, writer: Writer, max_queue: int) -> None:
        self._writer, self._max = writer, max_queue
        self._rows: queue.SimpleQueue[_Row | None] = queue.SimpleQueue()
        self._waiting = 0
        self._lock = threading.Lock()
        self._lost: dict[tuple[int, str], int] = {}
        self.error: Exception | None = None
        self._thread = threading.Thread(target=self._run, name="subtrie-tap", daemon=True)
        self._thread.start()

    def put(self, kind: str, conn: int, data: bytes) -> None:
        with self._lock:
            full = self._waiting + len(data) > self._max and bool(data)
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
        self.put("closed", 0, b"")  # flushes what is to be said of lost bytes
        self._rows.put(None)
        self._thread.join()

    def _run(self) -> None:
        while (row := self._rows.get()) is not None:
            kind, conn, data, now = row
            with self._lock:
                self._waiting -= len(data)
            if self.error is not None or (kind == "closed" and conn == 0):
                continue
            try:
                self._writer.write(kind, conn, data, at=now)
            except OSError as error:  # a full disk ends the capture, never the traffic
                self.error = error
        self._writer.close()


class Tap:
    """``async with Tap(to=("127.0.0.1", 4222), out="capture") as tap: … tap.port``.

    ``listen``: host and port, 0 for a free one; ``to``: where connections go on to; ``out``: the
    folder of the capture; ``kind``: whose protocol it is; ``rotate``: bytes of a file;
    ``max_queue``: bytes that may wait for the disk. Raises ``OSError`` when it cannot listen. After
    the end ``error`` is what stopped the writing, if anything did.
    """

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
        if kind not in KINDS:
            raise ValueError(f"kind must be one of {', '.join(KINDS)}, not {kind!r}")
        self.to, self.listen, self.kind = to, listen, kind
        self._writer = Writer(out, rotate=rotate)
        self._max_queue = max_queue
        self._recorder: _Recorder | None = None
        self._server: asyncio.Server | None = None
        self._passing: set[asyncio.Task[Any]] = set()
        self._count = 0

    @property
    def port(self) -> int:
        """The port it listens on."""
        if self._server is None:
            raise RuntimeError("the tap is not open")
        return int(self._server.sockets[0].getsockname()[1])

    @property
    def error(self) -> Exception | None:
        """What stopped the writing, or None."""
        return None if self._recorder is None else self._recorder.error

    async def __aenter__(self) -> Self:
        self._recorder = _Recorder(self._writer, self._max_queue)
        try:
            self._server = await asyncio.start_server(
                self._passed, self.listen[0], self.listen[1], limit=_CHUNK
            )
        except OSError:
            self._recorder.close()
            raise
        return self

    async def __aexit__(self, *_: object) -> None:
        assert self._server is not None
        assert self._recorder is not None
        self._server.close()
        for task in list(self._passing):
            task.cancel()
        await asyncio.gather(*self._passing, return_exceptions=True)
        await asyncio.get_running_loop().run_in_executor(None, self._recorder.close)

    async def _passed(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        """One connection, from its beginning to its end."""
        task = asyncio.current_task()
        assert task is not None
        assert self._recorder is not None
        self._passing.add(task)
        self._count += 1
        conn, recorder = self._count, self._recorder
        about = {"kind": self.kind, "from": _address(writer), "to": ":".join(map(str, self.to))}
        recorder.put("opened", conn, json.dumps(about).encode())
        reason = "closed"
        try:
            onward, back = await asyncio.open_connection(*self.to, limit=_CHUNK)
        except OSError as error:
            reason = str(error)
            writer.close()
        else:
            try:
                await asyncio.gather(
                    _pump(reader, back, recorder, conn, "c2s"),
                    _pump(onward, writer, recorder, conn, "s2c"),
                )
            except asyncio.CancelledError:
                reason = "the tap was closed"
            finally:
                for end in (back, writer):
                    end.close()
        finally:
            recorder.put("closed", conn, json.dumps({"reason": reason}).encode())
            self._passing.discard(task)


async def _pump(
    reader: asyncio.StreamReader,
    writer: asyncio.StreamWriter,
    recorder: _Recorder,
    conn: int,
    direction: str,
) -> None:
    """Hands on what comes, until there is no more; a closed half is closed on."""
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
    name = writer.get_extra_info("peername") or ("?", 0)
    return f"{name[0]}:{name[1]}"
