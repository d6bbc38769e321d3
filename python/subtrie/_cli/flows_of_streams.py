"""Streams as nodes of ``subtrie acl flows``: who may write and read what they store."""

from __future__ import annotations

import dataclasses
from typing import Any

from .._findings.finding import Finding
from ..acl import Deployment
from ..acl._access import split_question
from ..acl._jetstream.access import READ, WRITE, access, origin
from ..acl._jetstream.streams import Stream, Streams
from .stream_sources import NOT_GIVEN

_ENDS = (WRITE, READ)


@dataclasses.dataclass(frozen=True, slots=True)
class Stored:
    """A stream and its ends.

    Attributes:
        stream: the stream.
        writers: the users that may write to it.
        readers: the users that may read it.
        origins: the streams that it copies.
        undetermined: the users about whom it is not known.
        unsure: the questions, to write and to read, that are not known of some user.
    """

    stream: Stream
    writers: tuple[str, ...]
    readers: tuple[str, ...]
    origins: tuple[str, ...]
    undetermined: tuple[str, ...]
    unsure: frozenset[str]

    @property
    def title(self) -> str:
        """The stream and what it captures."""
        captured = ", ".join(self.stream.subjects)
        return f"{self.stream.kind} {self.stream.label}" + (f"  {captured}" if captured else "")

    @property
    def ends(self) -> list[tuple[str, str]]:
        """The ends, as headings and names."""
        rows = {
            "copies": self.origins,
            "written by": (self._names(WRITE, self.writers),),
            "read by": (self._names(READ, self.readers),),
            "not determined": self.undetermined,
        }
        return [(what, ", ".join(names)) for what, names in rows.items() if names]

    @property
    def cells(self) -> tuple[str, str, str, str, str, str, str]:
        """A row of the table of flows."""
        captured = ", ".join(self.stream.subjects)
        ends = self._names(WRITE, self.writers), self._names(READ, self.readers)
        return ("stored", self.stream.account, self.stream.label, captured, captured, *ends)

    def _names(self, verb: str, users: tuple[str, ...]) -> str:
        """The users at an end; without one, whether there may be one about whom it is not known."""
        return ", ".join(users) or ("not known" if verb in self.unsure else "no user")

    def as_dict(self) -> dict[str, Any]:
        """Return the object of JSON."""
        row = {"kind": "stored", "account": self.stream.account, "stream": self.stream.name}
        ends = {"origins": self.origins, "writers": self.writers, "readers": self.readers}
        return {**row, "captures": self.stream.subjects, **ends, "undetermined": self.undetermined}


def stored_messages(deployment: Deployment, streams: Streams, stream: Stream) -> Stored:
    """Return a stream with the users that may write and read it.

    Args:
        deployment: the accounts and users.
        streams: all streams.
        stream: the stream.
    """
    found = {verb: access(deployment, streams, stream, verb) for verb in _ENDS}
    certain = {
        verb: tuple(each.user for each in rows if each.determined) for verb, rows in found.items()
    }
    unsure = {
        verb: {each.user: None for each in rows if not each.determined}
        for verb, rows in found.items()
    }
    copied = {
        each.label: None for o in stream.origins for each in origin(deployment, streams, stream, o)
    }
    return Stored(
        stream,
        certain[WRITE],
        certain[READ],
        tuple(copied),
        tuple(unsure[WRITE] | unsure[READ]),
        frozenset(verb for verb, users in unsure.items() if users),
    )


def streams_not_seen(deployment: Deployment, streams: Streams, file: str) -> list[Finding]:
    """Return what is not known about streams, a finding each."""
    if not streams.given:
        names = [each.name for each in deployment.accounts.values() if each.jetstream]
        if not names:
            return []
        return [Finding.at(file, "streams-not-given", "note", f"{', '.join(names)}: {NOT_GIVEN}")]
    rows = [
        f"the account {each.account} of the stream {each.name} is not given"
        for each in streams.streams
        if each.account not in deployment.accounts
    ]
    return [Finding.at(file, "not-seen", "error", each) for each in (*streams.unseen, *rows)]


def of_question(
    deployment: Deployment,
    stored: list[Stored],
    origin: str | None,
    target: str | None,
    user: str | None,
) -> list[Stored]:
    """Return the streams of a question of ``acl flows``.

    Args:
        deployment: the accounts and users.
        stored: the streams.
        origin: the account whose users write or read, perhaps with a subject; None for any.
        target: the account of the stream; None for any.
        user: a user that writes or reads; None for any.
    """
    account, subject = split_question(origin or ">", deployment.accounts)
    if origin is not None and account is None:
        account, subject = origin, ">"
    found = []
    for each in stored:
        ends = (*each.writers, *each.readers, *each.undetermined)
        fits = target in (None, each.stream.account) and (
            subject == ">" or each.stream.captures(subject)
        )
        fits = fits and any(
            account in (None, deployment.account_of(end).name)
            and user in (None, end, end.rpartition("/")[2])
            for end in ends
        )
        if fits:
            found.append(each)
    return found
