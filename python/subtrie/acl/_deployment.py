"""``Deployment``: the accounts and users of a configuration, and which messages reach whom."""

from __future__ import annotations

import dataclasses
import os
from collections.abc import Iterator, Mapping
from pathlib import Path

from .. import _engine
from ._account import Account, Import, pattern_of, transformed
from ._decision import BROKER
from ._load.config_accounts import GLOBAL, accounts_of
from ._load.config_parser import parse_file
from ._load.config_users import permissions_of_users
from ._permissions import Permissions


@dataclasses.dataclass(frozen=True, slots=True)
class Delivery:
    """The answer to one question: published here, received there; truthy if anything arrives.

    Attributes:
        subjects: the subject of each message that arrives, sorted.
        explanation: one line that says why.
        determined: False if the configuration or the model does not decide.
    """

    subjects: tuple[str, ...]
    explanation: str
    determined: bool = True

    def __bool__(self) -> bool:
        return bool(self.subjects)


@dataclasses.dataclass(frozen=True, slots=True)
class Flow:
    """One way by which messages cross from one account to another.

    Attributes:
        kind: ``stream`` or ``service``.
        source: the account in which a message is published.
        target: the account in which it arrives.
        published: a subject as it is published; an example.
        received: the same subject as it arrives.
        senders: the users that may publish it.
        receivers: the users that may subscribe to it.
        taken: the import.
    """

    kind: str
    source: str
    target: str
    published: str
    received: str
    senders: tuple[str, ...]
    receivers: tuple[str, ...]
    taken: Import


class Deployment:
    """The accounts and users of one server configuration.

    Attributes:
        accounts: the accounts by name, ``$G`` among them.
        users: the permissions of each user by ``user`` or ``account/user``.
    """

    def __init__(self, accounts: dict[str, Account], users: dict[str, Permissions]) -> None:
        self.accounts, self.users = accounts, users

    @classmethod
    def load(
        cls,
        path: str | Path,
        *,
        env: Mapping[str, str] | None = None,
        root: str | Path | None = None,
    ) -> Deployment:
        """Read a server configuration.

        Args:
            path: the file.
            env: values of the configuration's variables; default: the process's environment.
            root: the folder that must contain included files; default: that of ``path``.

        Raises:
            PermissionsError: what nats-server would refuse, with ``.file`` and ``.line``.
            OSError: a file cannot be read.
        """
        path = Path(path)
        folder = Path(root) if root is not None else path.parent
        document = parse_file(path, os.environ if env is None else env, folder)
        loaded = permissions_of_users(document)
        users = {name: Permissions._of(each) for name, each in loaded.items()}
        return cls(accounts_of(document), users)

    def account_of(self, user: str) -> Account:
        """Return the account of a user. Raises ``KeyError`` if there is no such user."""
        if user not in self.users:
            raise KeyError(user)
        name, slash, _ = user.rpartition("/")
        return self.accounts[name] if slash else self.accounts[GLOBAL]

    def delivery(self, publisher: str, subject: str, receiver: str, subscription: str) -> Delivery:
        """Decide what arrives at a subscription if a user publishes a subject.

        Args:
            publisher: the user that publishes.
            subject: the subject.
            receiver: the user that has subscribed.
            subscription: the pattern of the subscription, without a queue.

        Raises:
            KeyError: no such user.
            SubjectError: not a valid subject.
            PatternError: not a valid pattern.
        """
        _engine.check_subject(subject, "server")
        here, there = self.account_of(publisher), self.account_of(receiver)
        mapped = here.mapped(subject)
        if mapped is None or len(mapped) > 1:
            return Delivery((), f"a mapping of {here.name} decides by chance or cluster", False)
        # The lists apply to what the account makes of the subject.
        may = self.users[publisher].can_publish(mapped[0], model=BROKER)
        if not may:
            return Delivery((), f"the publish is refused: {may.explanation}", may.determined)
        can = self.users[receiver].can_subscribe(subscription, model=BROKER)
        if not can and can.determined:
            return Delivery((), f"the subscription is refused: {can.explanation}")
        reached = list(self._reached(here, mapped[0], (), False))
        if any(each is None for each in reached):
            return Delivery((), "a mapping of an account on the way decides by chance", False)
        arriving: list[str] = []
        for each in reached:
            if each is not None:
                arriving += self._arriving(*each, there, subscription)
        determined = can.determined
        kept = []
        for text in sorted(arriving):
            decision = self.users[receiver].can_receive(
                text, subscription=subscription, model=BROKER
            )
            determined = determined and decision.determined
            if decision:
                kept.append(text)
        if arriving and not determined:
            return Delivery((), can.explanation, False)
        crossing = "" if here is there else f" from {here.name} to {there.name}"
        shown = f"arrives as {', '.join(kept)}{crossing}" if kept else "nothing arrives"
        return Delivery(tuple(kept), shown)

    def _reached(
        self, account: Account, subject: str, chain: tuple[Import, ...], imported: bool
    ) -> Iterator[tuple[Account, str, bool] | None]:
        """Accounts in which a message appears, its subject there, and if it was imported.

        None stands for a mapping on the way that is not determined.
        """
        yield account, subject, imported
        for taken in account.imports:
            if taken.kind != "service" or taken in chain:
                continue
            text = transformed(taken.local, taken.subject, subject)
            if text is None:
                continue
            other = self.accounts[taken.account]
            mapped = other.mapped(text)
            if mapped is None or len(mapped) > 1:
                yield None
                continue
            yield from self._reached(other, mapped[0], (*chain, taken), True)

    def _arriving(
        self, account: Account, subject: str, imported: bool, there: Account, subscription: str
    ) -> Iterator[str]:
        """The subjects under which a message of an account reaches a subscription in another."""
        if account is there and _engine.matches(subscription, subject):
            yield subject
        if imported:
            return  # what a service import brings is not exported again as a stream
        for taken in there.imports:
            if taken.kind == "stream" and taken.account == account.name:
                text = transformed(taken.subject, taken.local, subject)
                if text is not None and _engine.matches(subscription, text):
                    yield text

    def flows(self) -> list[Flow]:
        """Return each import with the users at both ends and an example on each side."""
        found = []
        for account in self.accounts.values():
            for taken in account.imports:
                stream = taken.kind == "stream"
                source, target = taken.account, account.name
                there, here = pattern_of(taken.subject), pattern_of(taken.local)
                published, received = there, here
                if not stream:
                    source, target, published, received = target, source, here, there
                example = _example(published)
                arriving = (
                    transformed(taken.subject, taken.local, example)
                    if stream
                    else transformed(taken.local, taken.subject, example)
                )
                found.append(
                    Flow(
                        taken.kind,
                        source,
                        target,
                        example,
                        arriving or received,
                        self._able(source, "publish", published),
                        self._able(target, "subscribe", received),
                        taken,
                    )
                )
        return found

    def _able(self, account: str, verb: str, pattern: str) -> tuple[str, ...]:
        """The users of an account that may use some subject of a pattern."""
        names = []
        for name, each in self.users.items():
            if self.account_of(name).name != account or not each.determined:
                continue
            if _engine.rules_overlap(*each.lists(verb), [pattern], []) is not None:
                names.append(name)
        return tuple(names)

    def unused(self) -> list[tuple[str, int | None, str, str]]:
        """Return exports and imports that deserve a look: account, line, code and message."""
        found = []
        taken = [each for account in self.accounts.values() for each in account.imports]
        for name, account in self.accounts.items():
            for export in account.exports:
                used = any(
                    each.account == name
                    and each.kind == export.kind
                    and _engine.covers(export.subject, pattern_of(each.subject))
                    for each in taken
                )
                if export.accounts is None:
                    message = f"{export.kind} {export.subject} may be imported by any account"
                    found.append((name, export.line, "public-export", message))
                if not used:
                    message = f"no account imports the {export.kind} {export.subject}"
                    found.append((name, export.line, "unused-export", message))
        for flow in self.flows():
            ends = ((flow.senders, "publish to"), (flow.receivers, "receive from"))
            for users, what in ends:
                if not users:
                    importer = flow.target if flow.kind == "stream" else flow.source
                    end = flow.source if what == "publish to" else flow.target
                    message = f"no user of {end} may {what} the {flow.kind} {flow.taken.subject}"
                    found.append((importer, flow.taken.line, "unused-import", message))
        return found


def _example(pattern: str) -> str:
    return ".".join("x" if token in ("*", ">") else token for token in pattern.split("."))
