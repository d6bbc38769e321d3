"""Streams and consumers, as a broker tells them."""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping

from ..._core import engine
from .._account import Account


@dataclasses.dataclass(frozen=True, slots=True)
class Origin:
    """A stream that another one copies, as its mirror or one of its sources.

    Attributes:
        name: the name of the stream that is copied.
        api: the prefix of its API, of another domain or account; None for the stream's own account.
        deliver: the prefix of the subjects by which the copies arrive; None for the broker's own.
        filters: the patterns of what is copied, all if empty.
        destinations: for each filter, the subject under which it is stored; empty if unchanged.
        mirror: True for a mirror, False for a source.
    """

    name: str
    api: str | None = None
    deliver: str | None = None
    filters: tuple[str, ...] = ()
    destinations: tuple[str, ...] = ()
    mirror: bool = False


@dataclasses.dataclass(frozen=True, slots=True)
class Consumer:
    """A consumer of a stream.

    Attributes:
        name: its name.
        deliver: the subject to which a push consumer delivers; None for a pull consumer.
        group: the queue group of its subscribers; None without one.
        filters: the patterns of what it delivers, all if empty.
        durable: True if it lasts without a client.
        ack_policy: the acknowledgements that it asks for: ``explicit``, ``all`` or ``none``.
    """

    name: str
    deliver: str | None = None
    group: str | None = None
    filters: tuple[str, ...] = ()
    durable: bool = False
    ack_policy: str = "explicit"

    @property
    def acknowledged(self) -> bool:
        """True if its messages are acknowledged."""
        return self.ack_policy != "none"


@dataclasses.dataclass(frozen=True, slots=True)
class Stream:
    """A stream.

    Attributes:
        name: its name.
        account: the name of its account.
        file: the file or address from which it is known.
        key: the public key of the account in operator mode, else its name.
        subjects: the patterns of what it captures.
        origins: the streams that it copies.
        consumers: its consumers; None if the input does not tell them.
        direct: True if clients may ask for messages by direct get.
        mirror_direct: True if it answers direct gets of the stream that it mirrors.
        republish: the pattern of what is published again once stored, and the subject under which;
            None without.
        transform: the pattern of what is renamed before it is stored, and the name; None without.
        retention: ``limits``, ``interest`` or ``workqueue``.
        sealed: True if nothing can be added or removed.
        keeps_messages: True if a single message cannot be deleted.
        keeps_all: True if it cannot be purged.
        rollup: True if a message may replace those before it.
    """

    name: str
    account: str
    file: str = ""
    key: str = ""
    subjects: tuple[str, ...] = ()
    origins: tuple[Origin, ...] = ()
    consumers: tuple[Consumer, ...] | None = ()
    direct: bool = False
    mirror_direct: bool = False
    republish: tuple[str, str] | None = None
    transform: tuple[str, str] | None = None
    retention: str = "limits"
    sealed: bool = False
    keeps_messages: bool = False
    keeps_all: bool = False
    rollup: bool = False

    @property
    def label(self) -> str:
        """The account and the name."""
        return f"{self.account}:{self.name}"

    @property
    def kind(self) -> str:
        """``stream``, ``key-value bucket`` or ``object store``, by the name."""
        if self.name.startswith("KV_"):
            return "key-value bucket"
        return "object store" if self.name.startswith("OBJ_") else "stream"

    def captures(self, pattern: str) -> bool:
        """Return True if the stream captures some subject of a pattern."""
        return any(engine.overlaps(each, pattern) is not None for each in self.subjects)


@dataclasses.dataclass(frozen=True, slots=True)
class Streams:
    """The streams that the inputs hold.

    Attributes:
        streams: the streams.
        given: False if no input holds streams, so that nothing is known about them.
        unseen: what the inputs do not hold, a line each.
    """

    streams: tuple[Stream, ...] = ()
    given: bool = False
    unseen: tuple[str, ...] = ()

    def of(self, account: str) -> list[Stream]:
        """Return the streams of an account."""
        return [each for each in self.streams if each.account == account]

    def named(self, name: str, account: str | None = None) -> list[Stream]:
        """Return the streams of a name: in all accounts, or in one."""
        return [each for each in self.streams if each.name == name and account in
                (None, each.account)]  # fmt: skip

    def capturing(self, pattern: str) -> list[Stream]:
        """Return the streams that capture some subject of a pattern."""
        return [each for each in self.streams if each.captures(pattern)]

    def named_as_in(self, accounts: Mapping[str, Account]) -> Streams:
        """Return the streams with the names of their accounts that a deployment uses."""
        names = {each.key or name: name for name, each in accounts.items()}
        rows = tuple(
            each
            if each.account in accounts or each.key not in names
            else dataclasses.replace(each, account=names[each.key])
            for each in self.streams
        )
        return dataclasses.replace(self, streams=rows)
