"""Open logs, captures and snapshots: local files, or logs at URIs that ``pyarrow.fs`` can open."""

from __future__ import annotations

import glob
import hashlib
import json
import os
import re
import shlex
from collections.abc import Sequence
from pathlib import Path
from typing import Any, BinaryIO, cast

from ..._core.redaction import REDACTED
from ..._nats.container_lines import is_document
from ...wire import capture, monitor

_USER_INFO = re.compile(r"^([a-z][a-z0-9+.-]*://)[^/?#]*@", re.IGNORECASE)
#: The keys of the lists of monitoring responses.
_SNAPSHOT = frozenset({"connections", "routes", "num_subscriptions", "subscriptions_list"})
#: The bytes of an input that are digested at once.
_DIGESTED_AT_ONCE = 1024 * 1024
#: The parameters of URIs that are shown; the values of all others may be secrets.
_SHOWN = frozenset({"endpoint_override", "region", "scheme"})


def resolve_path(path: str) -> str:
    """Return a path that names the same log in every process, as ``/dev/stdin`` does not.

    Local paths become absolute, with symbolic links resolved; URIs are unchanged.
    """
    return path if "://" in path else os.path.realpath(path)


def shown_path(path: str) -> str:
    """Return a path as results and errors show it: a URI without its credentials."""
    if "://" not in path:
        return path
    place, mark, query = _USER_INFO.sub(rf"\g<1>{REDACTED}@", path).partition("?")
    shown = []
    for part in query.split("&"):
        name, equals, _ = part.partition("=")
        known = equals and name in _SHOWN
        shown.append(part if known else f"{name}={REDACTED}" if equals else REDACTED)
    return f"{place}{mark}{'&'.join(shown) if mark else ''}"


def open_log(path: str) -> BinaryIO:
    """Open a log for reading bytes."""
    if "://" not in path:
        return open(path, "rb")
    from pyarrow import fs

    system, inner = fs.FileSystem.from_uri(path)
    return cast(BinaryIO, system.open_input_file(inner))


def input_kind(path: str) -> str:
    """Return what a path is, by its content: ``log``, ``capture`` or ``snapshot``.

    Raises:
        OSError: It does not exist or cannot be opened.
        ValueError: It is JSON, and not a snapshot.
    """
    if _is_capture_folder(path):
        return "capture"
    try:
        with open_log(path) as stream:
            head = stream.read(4096)
    except ValueError as error:  # an invalid file name or an unknown URI scheme
        raise OSError(str(error).replace(path, shown_path(path))) from None
    if head.startswith(capture.MAGIC):
        return "capture"
    if not is_document(head):
        return "log"
    _check_snapshot(path)
    return "snapshot"


def _check_snapshot(path: str) -> None:
    """Refuse a JSON file without the list of a monitoring response, and say what it may be."""
    with open_log(path) as stream:
        text = stream.read()
    document = _json_object(text)
    page = None if document is None else monitor.other_page(document)
    if page is not None and not isinstance((document or {}).get("connections"), list):
        raise ValueError(f"{shown_path(path)}: {monitor.other_page_advice(page)}")
    if document is not None and not _SNAPSHOT.isdisjoint(document):
        return
    shown = shown_path(path)
    if document is not None and "subtrie" in document:
        folder = os.path.dirname(shown) or "."
        raise ValueError(
            f"{shown}: these are rules, not a log: name each file of rules with its own --rules, "
            f"or their folder: --rules {shlex.quote(folder)}"
        )
    raise ValueError(
        f"{shown}: this JSON is neither a log nor a saved response of /connz, /subsz or /routez, "
        "which has connections, subscriptions or routes"
    )


def _json_object(text: bytes) -> dict[str, Any] | None:
    """Return the JSON object that a text is, or None."""
    try:
        found = json.loads(text)
    except (ValueError, RecursionError):
        return None
    return found if isinstance(found, dict) else None


def _is_capture_folder(path: str) -> bool:
    """Whether a path is a directory with files of a tap."""
    return "://" not in path and os.path.isdir(path) and bool(capture.files(Path(path)))


def capture_files(path: str) -> list[str]:
    """Return the files of a capture's directory; any other path as it is."""
    if not _is_capture_folder(path):
        return [path]
    return [str(file) for file in capture.files(Path(path))]


def log_size(path: str) -> int:
    """Return the current size of a log in bytes.

    Raises:
        OSError: The log does not exist or cannot be opened.
    """
    try:
        if _is_capture_folder(path):
            return sum(entry.stat().st_size for entry in os.scandir(path) if entry.is_file())
        with open_log(path) as stream:
            return int(stream.seek(0, 2))
    except ValueError as error:  # an invalid file name or an unknown URI scheme
        raise OSError(str(error).replace(path, shown_path(path))) from None


def log_files(paths: Sequence[str]) -> list[str]:
    """Return the files of paths, of which each may be a file, a directory or a shell pattern.

    A directory that ``subtrie tap`` wrote stays as it is: its files are one capture.

    Raises:
        FileNotFoundError: A directory has no file, a pattern matches none, or a path is ``-``.
    """
    found: list[str] = []
    for path in paths:
        files = [path]
        if path == "-" and not os.path.exists(path):
            raise FileNotFoundError("standard input cannot be read as a log: write it to a file")
        if "://" not in path and glob.has_magic(path) and not os.path.exists(path):
            files = sorted(glob.glob(path))
        elif "://" not in path and os.path.isdir(path) and not _is_capture_folder(path):
            files = sorted(entry.path for entry in os.scandir(path) if entry.is_file())
        if not files:
            raise FileNotFoundError(f"no log in {path}")
        found += files
    return found


def input_files(paths: Sequence[str]) -> list[tuple[str, int]]:
    """Return the files of inputs and their current sizes.

    Raises:
        OSError: A file cannot be read.
    """
    return [(file, log_size(file)) for path in paths for file in capture_files(path)]


def input_digest(files: Sequence[tuple[str, int]]) -> str:
    """Return a digest of the bytes of all inputs.

    Neither the names nor the order of the files have an effect. Cost: one read of all bytes, with
    the lock of the interpreter released; a second core does it while the logs are divided.

    Args:
        files: The files, and the number of bytes of each that are read.

    Raises:
        OSError: A file cannot be read, or became shorter.
    """
    digests = sorted(_digest(file, size) for file, size in files)
    return hashlib.sha256("".join(digests).encode()).hexdigest()


def _digest(path: str, size: int) -> str:
    found = hashlib.sha256()
    left = size
    with open_log(path) as stream:
        while left:
            block = stream.read(min(left, _DIGESTED_AT_ONCE))
            if not block:
                raise OSError(f"{shown_path(path)} became shorter while it was read")
            found.update(block)
            left -= len(block)
    return found.hexdigest()
