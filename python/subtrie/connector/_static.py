"""Files of a folder as responses: never a file outside of it, whatever the path says."""

from __future__ import annotations

import os
import stat
from collections.abc import Callable
from functools import cache
from hashlib import sha256
from pathlib import Path
from typing import Any, NoReturn
from urllib.parse import quote

from ._errors import HTTPError
from ._message import Request, Response

INDEX = "index.html"
_WALKS = os.open in os.supports_dir_fd
_FLAGS = os.O_RDONLY | getattr(os, "O_NOFOLLOW", 0) | getattr(os, "O_NONBLOCK", 0)
_REFUSED = frozenset("\x00\\:")  # the last two part names on Windows
#: Types that not every version of Python knows.
_MORE_TYPES = {
    ".js": "text/javascript", ".mjs": "text/javascript", ".map": "application/json",
    ".webp": "image/webp", ".woff": "font/woff", ".woff2": "font/woff2", ".md": "text/markdown",
    ".ico": "image/x-icon",
}  # fmt: skip
_TEXT = ("text/", "application/json", "application/xml", "image/svg+xml")

#: Serves a route with a function: ``Connector.endpoint``.
Add = Callable[..., Callable[[Any], Any]]


class StaticFiles:
    """Serves the files of folders.

    Args:
        add: Serves a route with a function.
        most: Returns the largest size of a file in bytes.
    """

    def __init__(self, add: Add, most: Callable[[], int]) -> None:
        self._add, self._most = add, most

    def static(
        self,
        route: str,
        folder: str | os.PathLike[str],
        *,
        max_age: int = 0,
        requires: str | None = None,
    ) -> None:
        """Serve the files of a folder with ``GET`` and ``HEAD``. Use before ``startup``.

        A path never leaves the folder: not by ``..``, not by an escape, not by a link. A link that
        stays inside is followed; names that begin with a dot are not served, but ``.well-known``.
        A folder is its ``index.html``. A file that the client has already (``If-None-Match`` with
        the ``Etag`` of its content) is not sent again.

        Args:
            route: The route, which ends in ``{name...}``: ``/assets/{name...}``.
            folder: The folder.
            max_age: How long a client may keep a file, in seconds.
            requires: The claims that an actor token must have, as for ``endpoint``.

        Raises:
            ValueError: The route does not end in ``{name...}``, or there is no such folder.
            AddressError: The route is not valid.
            BusError: The connector has started, or the route is served already.
        """
        name = route.rpartition("/")[2].removeprefix("{").removesuffix("...}")
        if not route.endswith(f"/{{{name}...}}"):
            raise ValueError(f"the route of static files ends in '/{{name...}}', not {route!r}")
        base = Path(folder).resolve()
        if not base.is_dir():
            raise ValueError(f"{os.fspath(folder)!r} is not a folder, in {os.getcwd()}")
        headers = {
            "Cache-Control": f"max-age={max_age}" if max_age else "no-cache",
            "X-Content-Type-Options": "nosniff",
        }

        def static(request: Request) -> Response:
            # Decoded: an escape is checked as what it stands for.
            names = next(iter(request.arguments.values())).split("/")
            held = request.headers.get("If-None-Match", "")
            return _response(base, names, self._most(), headers, held)

        for method in ("GET", "HEAD"):
            self._add(method, route, requires=requires)(static)


def _response(
    base: Path, names: list[str], most: int, headers: dict[str, str], held: str = ""
) -> Response:
    """Return a file below a folder, or where a folder below it is.

    Args:
        base: The folder.
        names: The parts of the path.
        most: The largest size in bytes.
        headers: The headers of every response.
        held: The tags of what the client has (``If-None-Match``): that is not sent again.

    Raises:
        HTTPError: There is none, or it is not below the folder (404), or it is too large (413).
    """
    if not all(map(_is_plain, names[:-1])) or not (names[-1] == "" or _is_plain(names[-1])):
        _missing()
    found = _inside(base, names)
    if names[-1] and found.is_dir():  # a page in it refers to its neighbours
        return Response(307, headers={"Location": f"{quote(names[-1])}/", **headers})
    if not names[-1]:
        found = _inside(base, [*names[:-1], INDEX])
    content = _content(base, found, most)
    tag = f'"{sha256(content).hexdigest()}"'
    if _holds(held, tag):
        return Response(304, headers={"Etag": tag, **headers})
    given = {"Content-Type": _type_of(found.name), "Etag": tag, **headers}
    return Response(200, content, headers=given)


def _holds(held: str, tag: str) -> bool:
    """Return whether a tag is among those of a client (RFC 9110, 13.1.2)."""
    tags = (each.strip().removeprefix("W/") for each in held.split(","))
    return any(each in (tag, "*") for each in tags)


@cache
def _types() -> Any:
    """Return the table of media types, without the files of the system."""
    from mimetypes import MimeTypes

    types = MimeTypes()
    for suffix, kind in _MORE_TYPES.items():
        types.add_type(kind, suffix)
    return types


def _type_of(name: str) -> str:
    """Return the media type of a file by its name: the same on every machine."""
    found, packed = _types().guess_type(name)
    if found is None or packed:
        return "application/octet-stream"
    return f"{found}; charset=utf-8" if found.startswith(_TEXT) else found


def _is_plain(name: str) -> bool:
    """Return whether a name can only be that of a file in its folder, which is not hidden."""
    return bool(name) and not _REFUSED & set(name) and (name[0] != "." or name == ".well-known")


def _inside(base: Path, names: list[str]) -> Path:
    """Return the file of a path, links followed, if it is below a folder."""
    try:
        found = base.joinpath(*names).resolve(strict=True)
    except (OSError, RuntimeError, ValueError):  # not there, or links in a circle
        _missing()
    if not found.is_relative_to(base):
        _missing()
    return found


def _content(base: Path, found: Path, most: int) -> bytes:
    """Return what is in a file. A link that replaced a part of its path meanwhile is not followed.

    Args:
        base: The folder.
        found: The file, without links.
        most: The largest size in bytes.
    """
    try:
        with open(_opened(base, found.relative_to(base).parts), "rb") as file:
            if not stat.S_ISREG(os.fstat(file.fileno()).st_mode):
                _missing()
            content = file.read(most + 1)
    except OSError:
        _missing()
    if len(content) > most:
        raise HTTPError(f"the file exceeds {most} bytes (max_body)", status=413)
    return content


def _opened(base: Path, parts: tuple[str, ...]) -> int:
    if not parts:
        _missing()
    if not _WALKS:
        return os.open(base.joinpath(*parts), _FLAGS)
    folder = os.open(base, os.O_RDONLY)
    try:
        for each in parts[:-1]:
            inner = os.open(each, _FLAGS | os.O_DIRECTORY, dir_fd=folder)
            os.close(folder)
            folder = inner
        return os.open(parts[-1], _FLAGS, dir_fd=folder)
    finally:
        os.close(folder)


def _missing() -> NoReturn:
    raise HTTPError("no such file", status=404)
