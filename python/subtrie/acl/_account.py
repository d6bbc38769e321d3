"""Accounts: what one exports, imports and maps, and where a message goes from there."""

from __future__ import annotations

import dataclasses
import itertools
import re
from collections.abc import Iterable, Iterator
from itertools import chain

from .._core import engine
from ._subject_transform import MAX_OUTCOMES, SubjectTransform

#: The account of users without an account.
GLOBAL = "$G"

#: The subjects by which JetStream is managed.
JETSTREAM_API = "$JS.API.>"

_WILD = frozenset("*>")

_MARK = re.compile(r"\$([1-9][0-9]*)|\{\{ *wildcard\( *([1-9][0-9]*) *\) *\}\}", re.IGNORECASE)


class UnknownOrder(Exception):
    """An import of which it is not known how it renames subjects: the message says why."""


@dataclasses.dataclass(frozen=True, slots=True)
class Export:
    """An offer of an account to others.

    Attributes:
        kind: ``stream`` or ``service``.
        subject: the pattern.
        accounts: the accounts that may import it; None for any account.
        line: its line in the configuration.
        token: True if an import needs an activation token.
        position: the number of the token that must be the importing account; 0 for none.
        revoked: the accounts (``*``: all) whose activation tokens are revoked, each with the last
            second in which a revoked one was issued.
    """

    kind: str
    subject: str
    accounts: tuple[str, ...] | None = None
    line: int | None = None
    token: bool = False
    position: int = 0
    revoked: tuple[tuple[str, int], ...] = ()
    file: str | None = None

    @property
    def public(self) -> bool:
        """True if any account may import it."""
        return self.accounts is None and not self.token and not self.position

    def offers(self, taken: Import) -> bool:
        """Return True if an import takes what this export offers."""
        pattern = pattern_of(taken.subject)
        return self.kind == taken.kind and engine.covers(self.subject, pattern)

    def allows(self, taken: Import, account: str) -> bool:
        """Return True if an account may take what this export offers by an import.

        Args:
            taken: the import.
            account: the name of the account that imports.
        """
        if not self.offers(taken):
            return False
        if self.position:
            tokens = taken.subject.split(".")
            return self.position <= len(tokens) and tokens[self.position - 1] == account
        if self.token:
            token = taken.activation
            return token is not None and not any(
                name in (account, "*") and token.issued <= second for name, second in self.revoked
            )
        return self.accounts is None or account in self.accounts


@dataclasses.dataclass(frozen=True, slots=True)
class Activation:
    """The proof of an import that it is allowed: a token of the exporting account for its subject.

    Attributes:
        issuer: the public key that signed it.
        issued: when, in seconds since the epoch; 0 if it does not say.
        verified: True if its signature was verified.
    """

    issuer: str
    issued: int
    verified: bool


@dataclasses.dataclass(frozen=True, slots=True)
class Import:
    """A pattern that an account takes from another.

    Attributes:
        kind: ``stream`` or ``service``.
        account: the account that exports it.
        subject: the pattern there.
        local: the pattern here.
        line: its line in the configuration.
        activation: its activation token; None without one that holds.
        implied: True if it is the broker's own, which no input lists.
        ordered: False if the input does not tell which wildcard becomes which.
        file: the configuration, or the file that it includes, in which it stands.
    """

    kind: str
    account: str
    subject: str
    local: str
    line: int | None = None
    activation: Activation | None = None
    implied: bool = False
    ordered: bool = True
    file: str | None = None

    @property
    def ends(self) -> tuple[str, str]:
        """The patterns there and here; equal numbers stand for the same token.

        The broker takes the numbers of a service's name, in their order, as those of its subject.
        """
        here = pattern_of(self.local)
        if self.kind == "stream" or here == self.local:
            return self.subject, self.local
        numbers = iter(wildcard_numbers(self.local.split(".")))
        there = [f"${next(numbers, 1)}" if token == "*" else token
                 for token in self.subject.split(".")]  # fmt: skip
        return ".".join(there), here

    @property
    def made_up(self) -> bool:
        """True if a stream of one subject is renamed to a pattern: the broker takes it as text."""
        return (
            self.kind == "stream"
            and (
                pattern_of(self.local) != self.local or not _WILD.isdisjoint(self.local.split("."))
            )
            and _WILD.isdisjoint(pattern_of(self.subject).split("."))
        )

    def arriving(self, subject: str) -> str | None:
        """Return the subject of a message at the other end; None if the import does not match.

        A stream is taken from the exporting account, a service to it.

        Raises:
            UnknownOrder: the input does not tell which wildcard becomes which.
        """
        there, here = self.ends
        source, target = (there, here) if self.kind == "stream" else (here, there)
        if self.made_up and subject == source:
            raise UnknownOrder(f"the import of {source} to {target} has no wildcard to put there")
        text = transformed(source, target, subject)
        if text is not None and not self.ordered:
            several = "has several wildcards, whose order the broker does not tell"
            raise UnknownOrder(f"an import on the way {several}")
        return text


@dataclasses.dataclass(frozen=True, slots=True)
class Target:
    """One target of a mapping.

    Attributes:
        subject: the destination, with numbered wildcards and functions.
        weight: its probability in percent.
        cluster: the cluster in which it applies; None for all that have no target of their own.
    """

    subject: str
    weight: int = 100
    cluster: str | None = None


@dataclasses.dataclass(frozen=True, slots=True)
class Mapping:
    """A mapping of subjects when they are published.

    Attributes:
        source: the pattern that it applies to.
        targets: what becomes of a subject, each with a probability.
    """

    source: str
    targets: tuple[Target, ...]

    def fault(self) -> str | None:
        """Return why the broker refuses the targets together; None if it takes them."""
        subjects = [each.subject for each in self.targets]
        if twice := [each for each in subjects if subjects.count(each) > 1]:
            return f"{twice[0]}: the destination is listed twice"
        for cluster in {each.cluster for each in self.targets}:
            if sum(each.weight for each in self.targets if each.cluster == cluster) > 100:
                return f"{self.source}: the weights exceed 100 percent"
        return None

    def targets_in(self, cluster: str | None) -> list[tuple[Target | None, ...]]:
        """Return the targets that may be chosen; None among them stands for a lost message.

        Args:
            cluster: the name of the broker's cluster, empty without one; None if it is not known,
                which gives one row for each cluster that it may be.
        """
        clusters = dict.fromkeys([None, *(each.cluster for each in self.targets)])
        chosen = [cluster or None] if cluster is not None else list(clusters)
        named = {each.subject for each in self.targets}
        rows: list[tuple[Target | None, ...]] = []
        for name in chosen:
            of_cluster = [each for each in self.targets if each.cluster == name]
            if not of_cluster and name is not None:
                of_cluster = [each for each in self.targets if each.cluster is None]
            row: list[Target | None] = [each for each in of_cluster if each.weight]
            if sum(each.weight for each in of_cluster) < 100:
                # The rest stays as it is, or is lost if the source is listed with its own weight.
                row.append(None if self.source in named else Target(_numbered(self.source)))
            rows.append(tuple(row))
        return rows


@dataclasses.dataclass(slots=True)
class Account:
    """One account: its exports, imports and mappings.

    Attributes:
        name: its name.
        exports: what it offers.
        imports: what it takes.
        mappings: what becomes of subjects that are published in it.
        implied: the imports from the system account that the broker adds.
        jetstream: True if JetStream is enabled for it.
        known: False if only its name is known, from an import of another account.
        key: its public key in operator mode, else its name.
    """

    name: str
    exports: list[Export] = dataclasses.field(default_factory=list)
    imports: list[Import] = dataclasses.field(default_factory=list)
    mappings: list[Mapping] = dataclasses.field(default_factory=list)
    implied: list[Import] = dataclasses.field(default_factory=list)
    jetstream: bool = False
    known: bool = True
    key: str = ""

    def mapped(self, subject: str, cluster: str | None) -> tuple[str | None, ...] | None:
        """Return what may become of a published subject; more than one if chance decides.

        None among them stands for a message that is lost.

        Args:
            subject: the subject.
            cluster: the name of the broker's cluster, empty without one; None if it is not known.

        Returns:
            The distinct subjects; None if there are too many to list.
        """
        # Of several mappings that match, the broker takes the first in an order of chance.
        fitting = [each for each in self.mappings if engine.matches(each.source, subject)]
        found: dict[str | None, None] = {} if fitting else {subject: None}
        for mapping in fitting:
            for target in dict.fromkeys(chain.from_iterable(mapping.targets_in(cluster))):
                if target is None:
                    found[None] = None
                    continue
                outcomes = SubjectTransform(mapping.source, target.subject).outcomes(subject)
                if outcomes is None:
                    return None
                found |= dict.fromkeys(outcomes)
        return tuple(found) if len(found) <= MAX_OUTCOMES else None


def add_implied(accounts: dict[str, Account], system: str | None, *, stored: bool) -> None:
    """Add the imports from the system account that a broker adds to every other account.

    Args:
        accounts: the accounts by name.
        system: the system account; None without one.
        stored: True if the broker has JetStream.
    """
    if system is None or system not in accounts:
        return
    for name, account in accounts.items():
        if name == system or not account.known:
            continue
        key = account.key or name
        pairs = [
            ("$SYS.REQ.ACCOUNT.PING.CONNZ", f"$SYS.REQ.ACCOUNT.{key}.CONNZ"),
            ("$SYS.REQ.SERVER.PING.CONNZ", f"$SYS.REQ.ACCOUNT.{key}.CONNZ"),
            ("$SYS.REQ.ACCOUNT.PING.STATZ", f"$SYS.REQ.ACCOUNT.{key}.STATZ"),
            ("$SYS.REQ.USER.INFO", f"$SYS.REQ.USER.{key}.INFO"),
        ]
        if stored:
            pairs.append((JETSTREAM_API, JETSTREAM_API))
        account.implied = [
            Import("service", system, there, here, implied=True) for here, there in pairs
        ]


def pattern_of(text: str) -> str:
    """Return the pattern of a subject whose wildcards may be numbered (``$1``)."""
    return ".".join("*" if _MARK.fullmatch(token) else token for token in text.split("."))


def wildcard_numbers(tokens: Iterable[str]) -> list[int]:
    """Return the number of each wildcard of one token; those without one count from the left."""
    return [number for number, _ in numbered_wildcards(tokens)]


def numbered_wildcards(tokens: Iterable[str]) -> Iterator[tuple[int, int]]:
    """Yield the number of each wildcard of one token, and the index of the token."""
    count = 0
    for index, token in enumerate(tokens):
        count += token == "*"
        if token == "*" or _MARK.fullmatch(token):
            yield _number(token, count), index


def transformed(source: str, target: str, subject: str) -> str | None:
    """Return the subject by which one that matches ``source`` is known under ``target``.

    Either side may number its wildcards (``$1``); without numbers they count from the left.

    Args:
        source: the pattern that the subject matches.
        target: the pattern of the result.
        subject: the subject.
    """
    if not engine.matches(pattern_of(source), subject):
        return None
    tokens, wanted, result = subject.split("."), source.split("."), target.split(".")
    values = {number: tokens[at] for number, at in numbered_wildcards(wanted)}
    named = list(numbered_wildcards(result))
    if result[-1] == ">":
        result[-1:] = tokens[len(wanted) - 1 :] if wanted[-1] == ">" else []
    for number, at in named:
        if number not in values:
            return None
        result[at] = values[number]
    return ".".join(result)


def _number(token: str, default: int) -> int:
    found = _MARK.fullmatch(token)
    return int(found[1] or found[2]) if found else default


def _numbered(pattern: str) -> str:
    """A pattern as the destination that changes nothing."""
    count = itertools.count(1)
    return ".".join(f"${next(count)}" if token == "*" else token for token in pattern.split("."))
