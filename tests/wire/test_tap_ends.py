"""Each end of a connection through the tap, and of the tap, leaves nothing open."""

from __future__ import annotations

import asyncio
import gc
import os
import signal
import socket
import struct
import threading
import warnings
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner

from patience import PATIENCE, until
from subtrie._cli.app import app
from subtrie.wire import Tap, capture

_RESET = struct.pack("ii", 1, 0)  # closing sends RST and not FIN

End = tuple[asyncio.StreamReader, asyncio.StreamWriter]


def finish(end: End) -> None:
    end[1].write_eof()


def close(end: End) -> None:
    end[1].close()


def reset(end: End) -> None:
    end[1].get_extra_info("socket").setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, _RESET)
    end[1].transport.abort()


@contextmanager
def nothing_unclosed() -> Iterator[None]:
    """Check that nothing of asyncio is closed only because it is forgotten."""
    gc.collect()
    with warnings.catch_warnings(record=True) as told:
        warnings.simplefilter("always", ResourceWarning)
        yield
        gc.collect()
    assert [str(each.message) for each in told] == []


def open_sockets() -> int:
    links = (each for each in Path("/proc/self/fd").iterdir() if each.is_symlink())
    return sum(os.readlink(each).startswith("socket:") for each in links)


def ended_tasks() -> int:
    return sum(isinstance(each, asyncio.Task) and each.done() for each in gc.get_objects())


@pytest.mark.skipif(not Path("/proc/self/fd").is_dir(), reason="needs /proc")
@pytest.mark.parametrize("side", [0, 1], ids=["client", "server"])
@pytest.mark.parametrize("how", [finish, close, reset])
def test_a_connection_that_ends_leaves_nothing(
    tmp_path: Path, how: Callable[[End], None], side: int
) -> None:
    async def main() -> None:
        gc.collect()
        earlier = ended_tasks()  # of other tests
        served: asyncio.Queue[End] = asyncio.Queue()
        server = await asyncio.start_server(lambda r, w: served.put_nowait((r, w)), "127.0.0.1", 0)
        to = server.sockets[0].getsockname()[:2]
        async with Tap(to=to, out=tmp_path) as tap:
            before = open_sockets()
            for _ in range(4):
                client: End = await asyncio.open_connection("127.0.0.1", tap.port)
                client[1].write(b"PING\r\n")
                ends = client, await served.get()
                assert await ends[1][0].readexactly(6) == b"PING\r\n"
                how(ends[side])
                other = ends[1 - side]
                assert await other[0].read() == b""
                close(other)
                assert how is reset or await ends[side][0].read() == b""
                close(ends[side])
                del client, ends, other
            await until(lambda: open_sockets() == before)
            gc.collect()
            assert ended_tasks() <= earlier + 1
        server.close()

    with nothing_unclosed():
        asyncio.run(main())
    assert [each.about for each in capture.read(tmp_path) if each.kind == "closed"] == [
        {"reason": "closed"}
    ] * 4


@pytest.mark.parametrize("turns", range(12))
def test_a_connection_is_closed_however_far_it_is_when_the_tap_ends(
    tmp_path: Path, turns: int
) -> None:
    async def main() -> None:
        accepted: list[asyncio.StreamReader] = []
        server = await asyncio.start_server(lambda r, w: accepted.append(r), "127.0.0.1", 0)
        to = server.sockets[0].getsockname()[:2]
        with socket.socket() as client:
            async with Tap(to=to, out=tmp_path) as tap:
                client.connect(("127.0.0.1", tap.port))
                for _ in range(turns):
                    await asyncio.sleep(0)
            gc.collect()  # asyncio forgets one that it has only begun to accept
            client.settimeout(PATIENCE)
            try:
                assert await asyncio.to_thread(client.recv, 1) == b""
            except ConnectionResetError:
                assert turns < 2
        for reader in accepted:
            async with asyncio.timeout(PATIENCE):
                assert await reader.read() == b""
        server.close()
        assert asyncio.all_tasks() == {asyncio.current_task()}

    problems: list[Any] = []

    async def checked() -> None:
        asyncio.get_running_loop().set_exception_handler(lambda _, told: problems.append(told))
        await main()

    asyncio.run(checked())
    assert problems == []
    kinds = [each.kind for each in capture.read(tmp_path)] if capture.files(tmp_path) else []
    assert kinds in ([], ["opened", "closed"])


def test_a_tap_that_is_left_by_an_error_ends_in_the_same_way(tmp_path: Path) -> None:
    async def main() -> None:
        server = await asyncio.start_server(lambda r, w: None, "127.0.0.1", 0)
        async with asyncio.timeout(PATIENCE):
            tap = Tap(to=server.sockets[0].getsockname()[:2], out=tmp_path)
            with suppress(ZeroDivisionError):
                async with tap:
                    reader, writer = await asyncio.open_connection("127.0.0.1", tap.port)
                    await until(lambda: tap.connections)
                    raise ZeroDivisionError
            assert await reader.read() == b""
        writer.close()
        server.close()

    asyncio.run(main())
    assert [each.kind for each in capture.read(tmp_path)] == ["opened", "closed"]


@pytest.mark.parametrize("address", [("127.0.0.1", 70_000), ("256.0.0.1", 0), ("a" * 99, 0)])
def test_a_tap_that_cannot_begin_has_closed_its_capture(
    tmp_path: Path, address: tuple[str, int]
) -> None:
    before = set(threading.enumerate())
    tap = Tap(to=("127.0.0.1", 1), out=tmp_path, listen=address)
    for _ in range(2):
        with pytest.raises((OSError, OverflowError, UnicodeError)):
            asyncio.run(tap.__aenter__())
        assert set(threading.enumerate()) == before


def test_signals_do_after_the_command_what_they_did_before(tmp_path: Path) -> None:
    noted: list[int] = []
    before = {
        each: signal.signal(each, lambda number, _: noted.append(number))
        for each in (signal.SIGINT, signal.SIGTERM)
    }
    try:
        with socket.create_server(("127.0.0.1", 0)) as taken:
            at = f"127.0.0.1:{taken.getsockname()[1]}"
            words = ["tap", "--listen", at, "--to", at, "--out", str(tmp_path)]
            assert CliRunner().invoke(app, words).exit_code == 2
        for each in before:
            signal.raise_signal(each)
    finally:
        for each, handler in before.items():
            signal.signal(each, handler)
    assert noted == list(before)
