"""Questions about traffic: today's rules, the code, a subject, thresholds; and their files."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path

from ..._core import engine
from ..._core.errors import SubtrieError
from ...acl import Permissions
from ...acl._jetstream.streams import Streams
from ...gencreds import Service, scan
from ...microbus import check_identity_host

#: Most files of rules, and most rules of one run: beyond any deployment that creds can describe.
MAX_RULES = 1_000_000


@dataclass(frozen=True)
class Questions:
    """The questions about the traffic.

    Attributes:
        rules: Today's permissions by service; None if they are not given.
        code: The services of the source; None if it is not given.
        subject: The subject whose receivers are asked for; None for none.
        time: The time of ``at``; None for none.
        min_days: The days on which there must be evidence for a rule.
        min_sources: The services from which there must be evidence for a wildcard.
        claimed_identities: Propose also from traffic of clients whose name the broker did not
            prove.
        payloads: ``heads`` reads message id, op code and status of Microbus messages, for their
            latency; None reads no payload.
        automatic: Answer only if the traffic has no plane, so that the other tables say little.
        streams: The streams of the brokers, beside those that the log tells; None if not given.
    """

    rules: Mapping[str, Permissions] | None = None
    code: tuple[Service, ...] | None = None
    subject: str | None = None
    time: datetime | None = None
    min_days: int = 3
    min_sources: int = 2
    claimed_identities: bool = False
    payloads: str | None = None
    automatic: bool = False
    streams: Streams | None = None

    def unasked(self, planes: Sequence[str], operations: int) -> bool:
        """Return whether the tables of the traffic say enough: it has planes, or is nothing."""
        return self.automatic and bool(planes or not operations)

    def __post_init__(self) -> None:
        if self.min_days < 1 or self.min_sources < 1:
            raise ValueError("min_days and min_sources must be at least 1")
        if self.payloads not in (None, "heads"):
            raise ValueError(f"payloads is 'heads' or None, not {self.payloads!r}")
        if self.time is not None and self.subject is None:
            raise ValueError("a time needs a subject: give the subject whose receivers you ask for")
        if self.subject is not None:
            engine.check_subject(self.subject, "server")


def load_rules(sources: Iterable[str | Path]) -> dict[str, Permissions]:
    """Return the permissions of services from files.

    Args:
        sources: ``FILE``, ``SERVICE=FILE``, or a folder of JSON files, of which every file is read
            (or of JWTs). A server configuration names its users. Of a file of one user, the name
            without its ending is the service, or what precedes ``_nats``.

    Raises:
        PermissionsError: A file cannot be read.
        OSError: A file cannot be opened.
        ValueError: The service of a file is not known, its permissions are not in the file, or two
            files are about one service.
    """
    found: dict[str, Permissions] = {}
    for path, service in _files_of_rules(sources):
        for user, permissions in Permissions.load_all(path).items():
            name = user.rpartition("/")[2] if user else service or _service_of(path)
            if user and service is not None and name != service:
                continue
            if not permissions.determined:
                raise ValueError(
                    f"{path}: the permissions of {name} are not in this file: decided elsewhere, "
                    f"by {permissions.decided_by}"
                )
            if permissions.anonymous == "no-authorization":
                raise ValueError(
                    f"{path}: no authorization: every connection may do everything, so there are "
                    "no rules to compare with the traffic"
                )
            if name in found:
                raise ValueError(f"{path}: there are rules of {name} already; give each once")
            found[name] = permissions
        if service is not None and service not in found:
            raise ValueError(f"{path} has no user {service}")
    return found


def _files_of_rules(sources: Iterable[str | Path]) -> Iterator[tuple[Path, str | None]]:
    """Yield each file, and the service that it is said to be of; a folder of JWTs is one file."""
    for source in sources:
        named, equals, rest = str(source).partition("=")
        path = Path(rest) if equals and not Path(str(source)).exists() else Path(source)
        service = named if path != Path(source) else None
        files = [path]
        if path.is_dir() and any(path.glob("*.json")):
            if service is not None:
                raise ValueError(f"{source}: a folder has the rules of several services")
            files = sorted(each for each in path.iterdir() if not each.name.startswith("."))
        elif path.is_dir() and not any(path.rglob("*.jwt")):
            raise ValueError(f"{path}: no file of rules in this folder: neither *.json nor *.jwt")
        yield from ((each, service) for each in files)


def _service_of(path: Path) -> str:
    """Return the service that the name of a file of one user says."""
    name = re.sub(r"_nats$", "", path.stem)
    try:
        return str(check_identity_host(name))
    except SubtrieError:
        raise ValueError(
            f"{path}: cannot tell which service it is for; write SERVICE={path}"
        ) from None


def load_code(folders: Sequence[str | Path]) -> tuple[Service, ...]:
    """Return the services of source trees.

    Raises:
        PermissionsError: A file cannot be parsed.
        AddressError: A method, route or host is not valid.
        OSError: A folder does not exist.
        ValueError: There is no service in them, or one is in two of them.
    """
    found: dict[str, Service] = {}
    for folder in folders:
        for service in scan(folder):
            if not service.host:
                continue
            if service.host in found:
                raise ValueError(f"{folder}: {service.host} is in two source trees; give one")
            found[service.host] = service
    if not found:
        raise ValueError(f"no service of a connector in {', '.join(map(str, folders))}")
    return tuple(found[name] for name in sorted(found))


def parse_time(text: str) -> datetime:
    """Return a time in UTC: ``2026-11-21T08:00:00.5Z``, a date, or with a blank for the T.

    Raises:
        ValueError: It is not such a text.
    """
    try:
        found = datetime.fromisoformat(text)
    except ValueError:
        raise ValueError(
            f"not a time: {text!r}; write it as 2026-11-21T08:00:00.5Z (UTC without a zone)"
        ) from None
    return found.replace(tzinfo=UTC) if found.tzinfo is None else found.astimezone(UTC)
