"""Declared calls: what a scan cannot see, in ``[[tool.subtrie.gencreds.calls]]`` of pyproject.toml.

Each entry is one call (``method`` and ``url``), one endpoint (``method`` and ``route``), or one
subject outside every plane (``publish`` or ``subscribe``). ``service`` may be omitted if there is
one. ``in = "file.py"`` or ``in = "file.py:function"`` says that the entry stands for the unresolved
calls there, which are then no longer reported.
"""

from __future__ import annotations

import dataclasses
import re
import tomllib
from pathlib import Path
from typing import Any

from .. import microbus
from .._core import engine
from .._core.errors import SubtrieError
from .._core.file_errors import file_error, located
from ..microbus import check_identity_host
from ._service import EndpointUse, RawSubject, UnresolvedCall
from ._source_files import SourceFiles
from ._targets import target_of_route, target_of_url

_KEYS = {"service", "method", "url", "route", "publish", "subscribe", "in"}
_HEADER = re.compile(r"^[ \t]*\[\[\s*tool\s*\.\s*subtrie\s*\.\s*gencreds\s*\.\s*calls\s*\]\]", re.M)

#: Largest pyproject.toml that is read, in bytes.
MAX_PROJECT_BYTES = 65_536
#: Most dots in a line of it: a key of many dotted parts takes quadratic time and memory.
MAX_DOTS = 2_000
#: Subjects of a plane have rules of their own, which pin the source.
_PLANES = ("*.safe.>", "*.danger.>", "*.reply.>")


@dataclasses.dataclass(frozen=True)
class DeclaredCall:
    """One entry of the table."""

    service: str
    kind: str
    use: EndpointUse | None
    raw: tuple[RawSubject, ...] = ()
    place: str | None = None
    folder: Path | None = None

    def uses(self, kind: str) -> tuple[EndpointUse, ...]:
        """Return its endpoint if it belongs to this list of ``Service``."""
        return (self.use,) if self.use is not None and kind == self.kind else ()

    def accounts_for(self, dynamic: UnresolvedCall) -> bool:
        """Return True if it stands for an unresolved call."""
        if self.place is None or self.folder is None:
            return False
        file, _, function = self.place.partition(":")
        if (self.folder / file).resolve() != Path(dynamic.file).resolve():
            return False
        return not function or (dynamic.inside + ".").startswith(function + ".")


def declared(sources: SourceFiles, hosts: set[str]) -> list[DeclaredCall]:
    """Return the entries of the nearest ``pyproject.toml`` that concern these services.

    Args:
        sources: the files of the scan.
        hosts: the hosts of the services.

    Raises:
        PermissionsError: an entry is not valid, with ``.file`` and ``.line``.
        AddressError: a URL, route or host is not valid, with ``.file`` and ``.line``.
    """
    for folder in (sources.folder, *sources.folder.parents):
        file = folder / "pyproject.toml"
        if file.is_file():
            return _read(file, Path(sources.named(file)), hosts, folder == sources.root)
        if folder == sources.project:
            break
    return []


def _read(file: Path, name: Path, hosts: set[str], whole: bool) -> list[DeclaredCall]:
    data = file.read_bytes()
    if len(data) > MAX_PROJECT_BYTES:
        raise file_error("project-size", f"{len(data)} bytes", name)
    for number, each in enumerate(data.split(b"\n"), 1):
        if each.count(b".") > MAX_DOTS:
            raise file_error("source-syntax", f"more than {MAX_DOTS} dots", name, number)
    try:
        text = data.decode()
        table: Any = tomllib.loads(text)
    except (ValueError, RecursionError, MemoryError) as error:
        found = re.search(r"line (\d+)", str(error))
        line = int(found[1]) if found else 1
        raise file_error("source-syntax", str(error)[:200], name, line) from None
    for key in ("tool", "subtrie", "gencreds"):
        table = table.get(key, {}) if isinstance(table, dict) else {}
    if not isinstance(table, dict) or set(table) - {"calls"}:
        wrong = min(set(table) - {"calls"}) if isinstance(table, dict) else "tool.subtrie.gencreds"
        raise file_error("declared-key", wrong, name)
    entries = table.get("calls", [])
    if not isinstance(entries, list):
        raise file_error("declared-key", "calls", name)
    lines = [text.count("\n", 0, each.start()) + 1 for each in _HEADER.finditer(text)]
    made = []
    for number, entry in enumerate(entries):
        line = lines[number] if number < len(lines) else 1
        one = _entry(entry, name, line, hosts, file.parent)
        if one.service in hosts:
            made.append(one)
        elif whole:
            raise file_error("declared-service", one.service, name, line)
    return made


def _entry(entry: Any, name: Path, line: int, hosts: set[str], folder: Path) -> DeclaredCall:
    if not isinstance(entry, dict) or not all(isinstance(v, str) for v in entry.values()):
        raise file_error("declared-key", "an entry that is not a table of texts", name, line)
    for key in entry:
        if key not in _KEYS:
            raise file_error("declared-key", key, name, line)
    service = entry.get("service")
    if service is None:
        if len(hosts) != 1:
            raise file_error("several-services", ", ".join(sorted(hosts)) or "none", name, line)
        service = min(hosts)
    given = {key for key in ("url", "route", "publish", "subscribe") if key in entry}
    if len(given) != 1 or (("method" in entry) != bool(given & {"url", "route"})):
        raise file_error("declared-call", service, name, line)
    try:
        check_identity_host(service)
        use: EndpointUse | None = None
        raw: tuple[RawSubject, ...] = ()
        kind = "calls"
        if "url" in entry or "route" in entry:
            kind = "calls" if "url" in entry else "endpoints"
            use = _use(service, entry, name, line)
        else:
            verb = min(given)
            raw = (_raw(verb, entry[verb], name, line),)
        return DeclaredCall(service, kind, use, raw, entry.get("in"), folder)
    except SubtrieError as error:
        raise error if hasattr(error, "file") else located(error, name, line) from None


def _use(service: str, entry: dict[str, str], name: Path, line: int) -> EndpointUse:
    """The endpoint that an entry declares."""
    method = microbus.check_method(entry["method"])
    if "url" in entry:
        target = target_of_url((entry["url"],))
        microbus.encode_request(
            plane="p", port=443, source="s", host="h", method=method, path="/"
        )  # fmt: skip
    else:
        target = target_of_route(service, (entry["route"],))
    return EndpointUse(target.host, target.port, method, target.path, str(name), line)


def _raw(verb: str, pattern: str, name: Path, line: int) -> RawSubject:
    """The subject that an entry declares; it must be outside every plane."""
    entry = pattern.partition(" ")[0] if verb == "subscribe" else pattern
    engine.check_pattern(entry, "server")
    first = entry.split(".")[0]
    if first in ("*", ">") or any(engine.overlaps(entry, each) is not None for each in _PLANES):
        raise file_error("declared-plane", pattern, name, line)
    return RawSubject(verb, pattern, str(name), line)
