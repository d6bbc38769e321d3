"""Logs that grow and are rotated while they are read: how far they can be read now.

A file is known by its first line, so it may be renamed or compressed. A log is read up to the first
message whose deliveries are not decided by the lines that are there: so the parts of a log have the
rows of the whole. The place up to which a log was read is a dictionary for JSON, which contains the
state of the reader: the lines before it are not needed again.
"""

from __future__ import annotations

import base64
import glob
import hashlib
import os
import time
import zlib
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any, BinaryIO

from .log_files import log_files
from .log_reader import (
    LogRange,
    blocks_of,
    check_one_server,
    match_first_line,
    native,
    open_plain,
    packed_state,
)

#: The version of the form of an offset.
VERSION = 1
#: How often a listing is repeated while files are renamed, and the pause before in seconds.
_LISTINGS, _PAUSE = 10, 0.1
_NEVER = 2**64 - 1
_FIRST_BLOCK = 65_536
#: The number of files that were read to their end and are still known.
_REMEMBERED = 1000


#: The digest of the first line of a file, None while it is not complete, and its inode.
Noted = tuple[str | None, str | None]


class RotatedAwayError(OSError):
    """A file was removed before all of it was read."""


@dataclass(frozen=True)
class _File:
    """A file with a complete first line."""

    path: str
    digest: str
    stamp: str
    pid: str
    given: bool


def empty_offset() -> dict[str, Any]:
    """Return the offset before the first line of every log."""
    return {"version": VERSION, "logs": {}}


def files_there(paths: Sequence[str]) -> list[Noted]:
    """Return what identifies the files that paths name now, for ``advance``.

    A file that is rotated before it is first read is then known under its new name.

    Args:
        paths: Files, directories and shell patterns.
    """
    noted: list[Noted] = []
    for path, given in _names(paths).items():
        if not given:
            continue
        try:
            line = _first_line(path, complete=False)
            noted.append((None if line is None else _digest(line), _inode(path)))
        except OSError:
            continue  # renamed since, or not there yet
    return noted


def advance(
    paths: Sequence[str],
    start: dict[str, Any],
    *,
    complete: bool = False,
    strict: bool = True,
    noted: Sequence[Noted] = (),
) -> dict[str, Any]:
    """Return the offset up to which logs can be read now; it is ``start`` if nothing is new.

    A log is in it from its first line on, also before any of its lines is decided.

    Cost: one or two passes over the new lines.

    Args:
        paths: Files, directories and shell patterns. Files into which a given file is rotated are
            found beside it.
        start: An earlier offset.
        complete: Whether the logs have ended: their last messages are then decided by what there
            is, as in a read of the whole.
        strict: Whether a file that was removed before all of it was read is an error.
        noted: The files that the paths named when the reading was asked for (``files_there``).

    Raises:
        OSError: A file cannot be read.
        RotatedAwayError: A file was removed before all of it was read.
        ValueError: A file holds lines from before those that were read, or the offset has another
            version; or the lines of several servers alternate.
    """
    if start["version"] != VERSION:
        raise ValueError(f"the checkpoint has offsets of version {start['version']}, not {VERSION}")
    found = _stable_listing(paths, start, complete, noted)
    logs = {server: _pruned(log) for server, log in start["logs"].items()}
    known = {digest for log in logs.values() for digest in log["done"]}
    known |= {file["digest"] for log in logs.values() for file in log["files"]}
    gone = [digest for digest, _ in noted if digest and digest not in found.keys() | known]
    if gone and strict:
        raise RotatedAwayError(
            f"a file of {', '.join(paths)} was removed before it was read; with the option "
            "failOnDataLoss=false reading goes on with the next file"
        )
    fresh = [file for file in found.values() if file.digest not in known]
    for file in sorted(fresh, key=lambda file: (file.stamp, len(file.path))):
        _adopt(logs, file)
    moved = {}
    for server, log in logs.items():
        read = _advance_log(log, found, complete=complete, strict=strict)
        if read is not None:
            moved[server] = read
        else:  # also one that begins: it may be rotated before any line of it is decided
            moved[server] = start["logs"].get(server, log)
    return {"version": VERSION, "logs": moved}


def files_of(paths: Sequence[str], servers: Iterable[str]) -> list[str]:
    """Return the files that hold the logs of some servers from their start on.

    Args:
        paths: Files, directories and shell patterns, as ``advance`` is given them.
        servers: The logs, as an offset names them.

    Raises:
        RotatedAwayError: The first file of a log is no longer there.
    """
    found = _listed(_names(paths), complete=False).values()
    heads = {file.digest[:12]: file for file in found}
    gone = [server for server in servers if server not in heads]
    if gone:
        raise RotatedAwayError(
            f"the first file of the log {gone[0]} of {', '.join(paths)} was removed, and answers "
            "need all of it: keep the rotated files, or ask no question"
        )
    starts = [heads[server] for server in servers]
    return [
        file.path
        for file in found
        if any(file is head or (file.pid and file.pid == head.pid and file.stamp >= head.stamp)
               for head in starts)
    ]  # fmt: skip


def ranges(
    start: dict[str, Any], end: dict[str, Any], split_bytes: int, *, strict: bool = True
) -> list[tuple[LogRange, list[dict[str, Any]]]]:
    """Return the ranges between two offsets, each with the files that it is in."""
    found = []
    for server, log in end["logs"].items():
        before = start["logs"].get(server)
        begin, state = (0, None) if before is None else (before["position"], _state(before))
        if begin == log["position"]:
            continue
        count = -(-(log["position"] - begin) // split_bytes)
        targets = [begin + (log["position"] - begin) * i // count for i in range(1, count)]
        divider = native().LogDivider(targets, begin, state=state)
        starts: list[tuple[int, bytes | None]] = [(begin, state)]
        for _, block in blocks(log["files"], begin, strict=strict) if targets else ():
            if divider.feed(block):
                break
        starts += [(at, bytes(kept)) for at, kept in divider.take() if at < log["position"]]
        ends = [*(at for at, _ in starts[1:]), log["position"]]
        files = tuple((file["path"], 0) for file in log["files"])
        for (at, kept), until in zip(starts, ends, strict=True):
            packed = None if kept is None else packed_state(kept)
            found.append((LogRange(files, server, at, until, packed), log["files"]))
    return found


def blocks(
    files: Sequence[dict[str, Any]], start: int, *, strict: bool = True
) -> Iterator[tuple[tuple[int, str], bytes]]:
    """Yield the bytes of a log from a position on, with the position of their file in it.

    Args:
        files: The files, as an offset names them.
        start: The position.
        strict: Whether a file that is no longer there is an error.
    """
    for number, file in enumerate(files):
        further = files[number + 1]["base"] if number + 1 < len(files) else None
        if further is not None and further <= start:
            continue
        place = (file["base"], file["path"])
        begin = max(0, start - file["base"])
        stream = _open(file, begin, strict=strict)
        if stream is None:
            continue
        left = None if further is None else further - file["base"] - begin
        last = b"\n"
        with stream:
            for block in blocks_of(stream, left):
                yield place, block
                last = block[-1:]
                left = None if left is None else left - len(block)
        if left:  # the LF that its rotation in the middle of a line cut off
            yield place, b"\n" if last != b"\n" else b""


def _advance_log(
    log: dict[str, Any], found: dict[str, _File], *, complete: bool, strict: bool
) -> dict[str, Any] | None:
    """Return the offset of a log that has new lines that are decided, else None."""
    files = [dict(file) for file in log["files"]]
    for file in files:
        if file["digest"] in found:
            file["path"] = found[file["digest"]].path
    start, state = log["position"], _state(log)
    divider = native().LogDivider([_NEVER], start, state=state)
    at = start
    for number, file in enumerate(files):
        if number and file["base"] is None:
            file["base"] = at
        begin = max(0, at - file["base"])
        stream = _open(file, begin, strict=strict)
        if stream is None:
            continue
        last = b"\n"
        with stream:
            for block in blocks_of(stream, None):
                divider.feed(block)
                at, last = at + len(block), block[-1:]
                _check_one_server(divider, log)
        if last != b"\n" and number + 1 < len(files):
            divider.feed(b"\n")
            at += 1
    if complete:
        divider.finish()
    position = divider.settled
    if position == start:
        return None
    if position == divider.position:
        kept = divider.state()
    else:
        kept = _state_at(files, start, state, position)
    packed = base64.b64encode(zlib.compress(kept, 6)).decode()
    return {**log, "files": files, "position": position, "state": packed}


def _check_one_server(divider: Any, log: dict[str, Any]) -> None:
    check_one_server(divider, LogRange(((log["name"], 0),), ""))


def _state_at(
    files: Sequence[dict[str, Any]], start: int, state: bytes | None, position: int
) -> bytes:
    """Return the state of a reader at a position."""
    divider = native().LogDivider([_NEVER], start, state=state)
    left = position - start
    for _, block in blocks(files, start, strict=False):
        divider.feed(block[:left])
        left -= len(block)
        if left <= 0:
            break
    return bytes(divider.state())


def _state(log: dict[str, Any]) -> bytes | None:
    return zlib.decompress(base64.b64decode(log["state"])) if log["state"] else None


def _pruned(log: dict[str, Any]) -> dict[str, Any]:
    """Return a log without the files that were read to their end."""
    bases = [file["base"] for file in log["files"][1:]]
    read = sum(base is not None and base <= log["position"] for base in bases)
    done = [*log["done"], *(file["digest"] for file in log["files"][:read])][-_REMEMBERED:]
    return {**log, "files": log["files"][read:], "done": done}


def _adopt(logs: dict[str, dict[str, Any]], file: _File) -> None:
    """Add a file to the log that it continues, or begin a log with it."""
    for log in logs.values():
        if not (file.pid and file.pid == log["pid"] and _same_name(file.path, log["name"])):
            continue
        if file.stamp < log["files"][-1]["stamp"]:
            if not file.given:
                return
            raise ValueError(
                f"{file.path} has lines from before those of {log['files'][-1]['path']}, which "
                "was read already: read them with a new checkpoint"
            )
        log["files"].append(_entry(file, None))
        log["name"] = min(log["name"], file.path, key=len)
        return
    if file.given:
        logs[file.digest[:12]] = {
            "name": file.path, "pid": file.pid, "position": 0, "state": "", "done": [],
            "files": [_entry(file, 0)],
        }  # fmt: skip


def _entry(file: _File, base: int | None) -> dict[str, Any]:
    return {"path": file.path, "digest": file.digest, "stamp": file.stamp, "base": base}


def _same_name(one: str, other: str) -> bool:
    """Whether one name is the other, or the other and a suffix."""
    short, long = sorted((one, other), key=len)
    return short == long or long.startswith(f"{short}.")


def _stable_listing(
    paths: Sequence[str], start: dict[str, Any], complete: bool, noted: Sequence[Noted]
) -> dict[str, _File]:
    """Return the files by the digest of their first line; renaming is waited for."""
    unread = {log["files"][-1]["digest"] for log in start["logs"].values()}
    for _ in range(_LISTINGS):
        before = _names(paths)
        found = _listed(before, complete, noted)
        if before == _names(paths) and unread <= found.keys():
            return found
        time.sleep(_PAUSE)
    return found


def _names(paths: Sequence[str]) -> dict[str, bool]:
    """Return the names of files, and whether each is among those that were asked for."""
    names: dict[str, bool] = {}
    for path in paths:
        try:
            names |= dict.fromkeys(log_files([path]), True)
        except FileNotFoundError:
            continue  # a pattern or a directory without a file yet
        if "://" not in path and not glob.has_magic(path) and not os.path.isdir(path):
            for beside in sorted(glob.glob(f"{glob.escape(path)}.*")):
                if not os.path.isdir(beside):  # such as the directory of the tables
                    names.setdefault(beside, False)
    return names


def _listed(
    names: dict[str, bool], complete: bool, noted: Sequence[Noted] = ()
) -> dict[str, _File]:
    found: dict[str, _File] = {}
    digests = {digest for digest, _ in noted if digest is not None}
    inodes = {inode for digest, inode in noted if digest is None and inode is not None}
    for path, given in names.items():
        try:
            line = _first_line(path, complete)
            given = given or (bool(inodes) and _inode(path) in inodes)
        except FileNotFoundError:
            continue  # renamed since
        if line is None:
            continue
        match = match_first_line(line)
        file = _File(
            path=path,
            digest=_digest(line),
            stamp=match["time"].decode() if match else "",
            pid=match["pid"].decode() if match else "",
            given=given or _digest(line) in digests,
        )
        # Of two copies, such as a file that is being compressed, the first is taken.
        found.setdefault(file.digest, file)
    return found


def _digest(line: bytes) -> str:
    return hashlib.sha256(line).hexdigest()[:32]


def _inode(path: str) -> str | None:
    """Return what names a local file whatever its name is."""
    if "://" in path:
        return None
    found = os.stat(path)
    return f"{found.st_dev}:{found.st_ino}"


def _first_line(path: str, complete: bool) -> bytes | None:
    """Return the first line of a file, or None as long as it is not complete."""
    try:
        with open_plain(path)[0] as stream:
            block = next(blocks_of(stream, _FIRST_BLOCK), b"")
    except OSError as error:
        if error.errno is None and os.path.exists(os.path.splitext(path)[0]):
            return None  # it is being compressed, and its original is there
        raise
    if not block or (b"\n" not in block and len(block) < _FIRST_BLOCK and not complete):
        return None
    return block.split(b"\n", 1)[0].rstrip(b"\r")


def _open(file: dict[str, Any], begin: int, *, strict: bool) -> BinaryIO | None:
    """Open a file at a position, where it is now; None if it is not there and that is allowed."""
    path = file["path"]
    for _ in range(_LISTINGS):
        for candidate in _candidates(path):
            try:
                line = _first_line(candidate, complete=True)
                if line is None or _digest(line) != file["digest"]:
                    continue
                return _skip(*open_plain(candidate), begin, path)
            except FileNotFoundError:
                continue
        if not strict:
            return None
        time.sleep(_PAUSE)
    raise RotatedAwayError(
        f"{path} was removed before all of it was read; with the option failOnDataLoss=false "
        "reading goes on with the next file"
    )


def _candidates(path: str) -> Iterable[str]:
    """Yield the names that a file may have after its rotation."""
    yield path
    if "://" not in path:
        yield from sorted(glob.glob(f"{glob.escape(path)}.*"))
        stem = path
        while "." in os.path.basename(stem):
            stem = stem.rpartition(".")[0]
            yield from sorted(glob.glob(f"{glob.escape(stem)}*"))


def _skip(stream: BinaryIO, compressed: bool, count: int, path: str) -> BinaryIO:
    """Skip bytes that were read already."""
    if not compressed:
        size = stream.seek(0, os.SEEK_END)
        stream.seek(count)
        count -= size
    while count > 0 and (block := stream.read(min(count, 1 << 20)) if compressed else b""):
        count -= len(block)
    if count > 0:
        stream.close()
        raise OSError(f"{path} became shorter since it was read")
    return stream
