"""``Permissions``: what a connection may publish and subscribe to."""

from __future__ import annotations

import dataclasses
import time
from collections.abc import Callable, Iterable, Mapping
from pathlib import Path
from typing import Any, Self

from .._errors import refusal
from . import _broker_model as broker
from . import _comparison as comparison
from . import _strict_model as strict
from ._decision import BROKER, STRICT, Decision, unknown
from ._dump import dump
from ._lint import Finding, lint
from ._load import load, load_all
from ._load.loaded import Found
from ._rule_entry import check, check_published
from ._rule_sets import Lists
from ._session import Session


class Permissions(Lists):
    """Allow and deny lists for publish and subscribe, and ``allow_responses``.

    ``None`` as an allow list allows everything, ``()`` nothing. Entries are patterns; those of the
    subscribe lists may name a queue after a blank (A69). Deny beats allow. Raises
    ``PermissionsError`` for an entry that nats-server would not load.

    The answers come in two models (A67): ``strict`` is set inclusion, ``broker`` is what a running
    nats-server does. Two permissions are compared by meaning, so they are not hashable.
    """

    __slots__ = ()
    __hash__ = None  # type: ignore[assignment]

    # --- questions

    def can_publish(
        self, subject: str, *, reply: str | None = None, model: str = STRICT
    ) -> Decision:
        """May this subject be published? ``reply`` is the reply subject carried in the message.

        Raises ``SubjectError``; a wildcard is a subject only to ``broker``, as ordinary text.
        Answers from the lists alone; what messages received allow besides, ``session()`` knows.
        """
        _model(model)
        if model == BROKER:
            if not isinstance(subject, str):
                raise TypeError(f"subject must be str, not {type(subject).__name__}")
            check_published(
                subject, subject, None, self.dialect, "SubjectError", engine=self._engine
            )
        else:
            self._engine.check_subject(subject, self.dialect)
        if reply is not None:
            self._engine.check_subject(reply, self.dialect)
        if not self.known:
            return unknown(model)
        answer = broker.can_publish(self, subject, reply)
        if model == STRICT:
            answer = strict.can_publish(self, subject).compared(answer)
        elif "*" not in subject.split(".") and ">" not in subject.split("."):
            answer = answer.compared(strict.can_publish(self, subject))
        if not answer and self.allow_responses is not None:
            return _with_why(answer, "; as a reply it may be, see session()")
        return answer

    def can_subscribe(
        self, pattern: str, *, queue: str | None = None, model: str = STRICT
    ) -> Decision:
        """May this pattern be subscribed to, in this queue group or without one?

        Raises ``PatternError``, and ``PermissionsError`` for a queue that is none.
        """
        _model(model)
        self._engine.check_pattern(pattern, self.dialect)
        self._check_queue(queue)
        if not self.known:
            return unknown(model)
        one = strict.can_subscribe(self, pattern, queue)
        two = broker.can_subscribe(self, pattern, queue)
        return one.compared(two) if model == STRICT else two.compared(one)

    def can_receive(
        self, subject: str, *, subscription: str, queue: str | None = None, model: str = STRICT
    ) -> Decision:
        """Is a message on this subject delivered to this subscription, as far as these lists say?

        Raises ``SubjectError``, ``PatternError``, and ``PermissionsError`` for a queue.
        """
        _model(model)
        self._engine.check_subject(subject, self.dialect)
        self._engine.check_pattern(subscription, self.dialect)
        self._check_queue(queue)
        if not self.known:
            return unknown(model)
        one = strict.can_receive(self, subject, subscription, queue)
        two = broker.can_receive(self, subject, subscription, queue)
        return one.compared(two) if model == STRICT else two.compared(one)

    def _check_queue(self, queue: str | None) -> None:
        if queue is None:
            return
        if not isinstance(queue, str):
            raise TypeError(f"queue must be str, not {type(queue).__name__}")
        check(queue, queue, "queue", self.dialect, "PermissionsError", self._engine)

    def session(self, clock: Callable[[], float] = time.monotonic) -> Session:
        """The same with a history of messages received (A70). ``clock`` gives seconds."""
        return Session(self, lambda subject: self.can_publish(subject, model=BROKER), clock)

    # --- comparison

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, Permissions):
            return NotImplemented
        if (self.dialect, self.known) != (other.dialect, other.known):
            return False
        return comparison.only(self, other) is None and comparison.only(other, self) is None

    def __le__(self, other: Permissions) -> bool:
        """Does the other one grant at least as much? Raises ``PermissionsError`` as ``compare``."""
        if not isinstance(other, Permissions):
            return NotImplemented
        self._comparable(other)
        return comparison.only(self, other) is None

    def __ge__(self, other: Permissions) -> bool:
        if not isinstance(other, Permissions):
            return NotImplemented
        return other <= self

    def __lt__(self, other: Permissions) -> bool:
        return self <= other and not other <= self

    def __gt__(self, other: Permissions) -> bool:
        return other < self

    def compare(self, other: Permissions) -> comparison.Comparison:
        """How the two relate, with a witness for each "no" and a proof for each "yes".

        Raises ``PermissionsError`` where the dialects differ, where either is unknown, and where
        it would take more work than is promised.
        """
        self._comparable(other)
        return comparison.Comparison(self, other)

    def diff(self, new: Permissions) -> comparison.Diff:
        """What only ``new`` grants (``added``) and what only this grants (``removed``).

        Raises ``PermissionsError`` as ``compare``.
        """
        self._comparable(new)
        return comparison.Diff(comparison.added(self, new), comparison.added(new, self))

    def _comparable(self, other: Permissions) -> None:
        if self.dialect != other.dialect:
            raise refusal("PermissionsError", "dialects", f"{self.dialect}, {other.dialect}")
        if not (self.known and other.known):
            raise refusal("PermissionsError", "account-decides", "the comparison")

    def minimised(self) -> Self:
        """The fewest allow rules that grant the same under these denies, then the denies needed.

        Widens nothing, adds no deny, is independent of the order of the entries and its own
        smallest form. A smallest set over both lists would be NP-hard to find, and is not unique.
        """
        if not self.known:
            raise refusal("PermissionsError", "account-decides", "the comparison")
        lists: dict[str, Any] = {}
        for verb in comparison.VERBS:
            allow, deny = self._engine.rules_minimised(*self.lists(verb), self.cap)
            everything = getattr(self, f"{verb}_allow") is None and allow == [">"]
            lists[f"{verb}_allow"] = None if everything else allow
            lists[f"{verb}_deny"] = deny
        return type(self)(**lists, allow_responses=self.allow_responses, dialect=self.dialect)

    def lint(self) -> list[Finding]:
        """What a reviewer should look at: see ``docs/permissions.md`` for the rules."""
        return lint(self)

    # --- files

    @classmethod
    def load(
        cls,
        path: str | Path,
        *,
        user: str | None = None,
        account: str | None = None,
        account_jwt: str | None = None,
        trusted: Iterable[str] = (),
        env: Mapping[str, str] | None = None,
        root: str | Path | None = None,
    ) -> Permissions:
        """Reads a server configuration, a ``.creds`` file, a user JWT or our JSON, by content.

        ``user`` and ``account`` choose among those of a configuration. ``account_jwt`` is the
        account's own JWT; ``trusted`` operator keys. ``env`` stands for the environment of the
        configuration's variables (default: the process's), ``root`` for the folder that includes
        must not leave (default: that of ``path``). Raises ``PermissionsError`` with the file, the
        line and the entry; ``OSError`` where a file cannot be read.
        """
        found = load(
            path,
            user=user,
            account=account,
            account_jwt=account_jwt,
            trusted=trusted,
            env=env,
            root=root,
        )
        return cls._found(found)

    @classmethod
    def load_all(
        cls,
        path: str | Path,
        *,
        account_jwt: str | None = None,
        trusted: Iterable[str] = (),
        env: Mapping[str, str] | None = None,
        root: str | Path | None = None,
    ) -> dict[str, Permissions]:
        """Those of every user of a server configuration, by ``user`` or ``account/user``.

        A file of one user gives one, by the empty name. Otherwise as ``load``.
        """
        found = load_all(path, account_jwt=account_jwt, trusted=trusted, env=env, root=root)
        return {name: cls._found(each) for name, each in found.items()}

    @classmethod
    def _found(cls, found: Found) -> Permissions:
        self = cls(
            publish_allow=found.publish_allow,
            publish_deny=found.publish_deny,
            subscribe_allow=found.subscribe_allow,
            subscribe_deny=found.subscribe_deny,
            allow_responses=found.allow_responses,
            dialect=found.dialect,
        )
        self.known, self.dead, self.sources = found.known, found.dead, found.sources
        return self

    def dump(self, format: str = "json") -> str:
        """The permissions as text: ``json`` (ours) or ``conf`` (a block of server configuration).

        Raises ``ValueError`` for another format, and where ``conf`` cannot say it.
        """
        return dump(self, format)


def _model(name: str) -> None:
    if name not in (STRICT, BROKER):
        raise ValueError(f"model must be 'strict' or 'broker', not {name!r}")


def _with_why(answer: Decision, more: str) -> Decision:
    return dataclasses.replace(answer, why=answer.why + more)
