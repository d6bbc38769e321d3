"""``Permissions``: what a connection may publish, subscribe to and receive."""

from __future__ import annotations

import dataclasses
import time
from collections.abc import Callable, Iterable, Mapping
from pathlib import Path
from typing import Any, Self

from .._core.errors import refusal
from .._findings.finding import Finding
from . import _broker_model as broker
from . import _comparison as comparison
from . import _strict_model as strict
from ._broker_difference import newly_accepted
from ._decision import BROKER, STRICT, Decision, undetermined
from ._dump import dump
from ._lint import lint
from ._load import load, load_all
from ._load.loaded import LoadedPermissions
from ._microbus import about_microbus
from ._rule_entry import check, check_published
from ._rule_sets import RuleSets
from ._session import Session


class Permissions(RuleSets):
    """Allow and deny lists for publish and subscribe, and ``allow_responses``.

    Decisions come in two models: ``strict`` is set inclusion, ``broker`` is what a running
    nats-server does. Two permissions are compared by meaning, so they are not hashable.

    Args:
        publish_allow: patterns that may be published; None for everything, ``()`` for nothing.
        publish_deny: patterns that may not; deny takes precedence over allow.
        subscribe_allow: patterns that may be subscribed to, as above; a queue may follow a pattern
            after a blank.
        subscribe_deny: patterns that may not be subscribed to.
        allow_responses: permission to answer received messages; None for none.
        dialect: ``server`` or ``strict``, of all patterns and subjects.

    Raises:
        PermissionsError: an entry that nats-server would not load.

    Example:
        >>> rules = Permissions(publish_allow=["orders.*"])
        >>> bool(rules.can_publish("orders.new")), bool(rules.can_publish("stock.new"))
        (True, False)
    """  # A67, A69

    __slots__ = ()
    __hash__ = None  # type: ignore[assignment]

    # --- questions

    def can_publish(
        self, subject: str, *, reply: str | None = None, model: str = STRICT
    ) -> Decision:
        """Decide whether a subject may be published.

        Decides from the lists alone; ``session()`` also knows the messages that may be answered.

        Args:
            subject: the subject; only ``broker`` takes wildcards in it, as ordinary text.
            reply: the reply subject that the message carries.
            model: ``strict`` or ``broker``.

        Raises:
            SubjectError: not a valid subject.
        """
        _check_model(model)
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
        if not self.determined:
            return undetermined(model, self.decided_by)
        answer = broker.can_publish(self, subject, reply)
        if model == STRICT:
            answer = strict.can_publish(self, subject).compared(answer)
        elif "*" not in subject.split(".") and ">" not in subject.split("."):
            answer = answer.compared(strict.can_publish(self, subject))
        if not answer and self.allow_responses is not None:
            return _explained(answer, "; it may be allowed as a reply, see session()")
        return answer

    def can_subscribe(
        self, pattern: str, *, queue: str | None = None, model: str = STRICT
    ) -> Decision:
        """Decide whether a pattern may be subscribed to.

        Args:
            pattern: the pattern.
            queue: the queue group; None without one.
            model: ``strict`` or ``broker``.

        Raises:
            PatternError: not a valid pattern.
            PermissionsError: not a valid queue name.
        """
        _check_model(model)
        self._engine.check_pattern(pattern, self.dialect)
        self._check_queue(queue)
        if not self.determined:
            return undetermined(model, self.decided_by)
        one = strict.can_subscribe(self, pattern, queue)
        two = broker.can_subscribe(self, pattern, queue)
        return one.compared(two) if model == STRICT else two.compared(one)

    def can_receive(
        self, subject: str, *, subscription: str, queue: str | None = None, model: str = STRICT
    ) -> Decision:
        """Decide whether a message on a subject is delivered to a subscription.

        Args:
            subject: the subject of the message.
            subscription: the pattern of the subscription.
            queue: its queue group; None without one.
            model: ``strict`` or ``broker``.

        Raises:
            SubjectError: not a valid subject.
            PatternError: not a valid pattern.
            PermissionsError: not a valid queue name.
        """
        _check_model(model)
        self._engine.check_subject(subject, self.dialect)
        self._engine.check_pattern(subscription, self.dialect)
        self._check_queue(queue)
        if not self.determined:
            return undetermined(model, self.decided_by)
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
        """Return these permissions with a history of received messages; ``clock`` gives seconds."""
        return Session(self, lambda subject: self.can_publish(subject, model=BROKER), clock)

    # --- comparison

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, Permissions):
            return NotImplemented
        if (self.dialect, self.determined) != (other.dialect, other.determined):
            return False
        return comparison.only(self, other) is None and comparison.only(other, self) is None

    def __le__(self, other: Permissions) -> bool:
        """Return True if ``other`` grants at least as much. Raises as ``compare``."""
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
        """Compare two permissions as sets, with a witness for each "no" and a proof for each "yes".

        Takes polynomial time in the number and length of the entries.

        Raises:
            PermissionsError: the dialects differ, either side is undetermined, or the comparison
                would take more than 2³⁴ steps.
        """
        self._comparable(other)
        return comparison.Comparison(self, other)

    def diff(self, new: Permissions, *, microbus: bool | None = None) -> comparison.Diff:
        """Return what only ``new`` grants (``added``) and what only these grant (``removed``).

        Args:
            new: the permissions after a change.
            microbus: mark grants that reach the trust root of Microbus; None to do so if an entry
                shows a plane, as ``prod.safe.>`` does.

        Raises:
            PermissionsError: as ``compare``.
        """
        self._comparable(new)
        marked = about_microbus([self, new]) if microbus is None else microbus
        return comparison.Diff(
            comparison.added(self, new, marked),
            comparison.added(new, self, marked),
            newly_accepted(self, new),
        )

    def _comparable(self, other: Permissions) -> None:
        if self.dialect != other.dialect:
            raise refusal("PermissionsError", "dialects", f"{self.dialect}, {other.dialect}")
        if not (self.determined and other.determined):
            raise refusal("PermissionsError", "account-decides", "the comparison")

    def minimised(self) -> Self:
        """Return the fewest allow rules of each queue name, and the denies that are needed.

        Widens nothing, adds no deny, does not depend on the order of the entries, and is its own
        smallest form. A smallest set over both lists would be NP-hard to find, and is not unique.
        """
        if not self.determined:
            raise refusal("PermissionsError", "account-decides", "the comparison")
        lists: dict[str, Any] = {}
        for verb in comparison.VERBS:
            allow, deny = self._engine.rules_minimised(*self.lists(verb), self.cap)
            everything = getattr(self, f"{verb}_allow") is None and allow == [">"]
            lists[f"{verb}_allow"] = None if everything else allow
            lists[f"{verb}_deny"] = deny
        return type(self)(**lists, allow_responses=self.allow_responses, dialect=self.dialect)

    def lint(self, *, microbus: bool | None = None) -> list[Finding]:
        """Return what a reviewer should look at; ``LINT_RULES`` lists the rules.

        Args:
            microbus: apply the rules about planes and the trust root of Microbus; None to apply
                them if an entry shows a plane, as ``prod.safe.>`` does.
        """
        return lint(self, about_microbus([self]) if microbus is None else microbus)

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
        allow_readable: bool = False,
        env: Mapping[str, str] | None = None,
        root: str | Path | None = None,
    ) -> Permissions:
        """Read permissions from a file, whose content decides the format.

        A server configuration, a ``.creds`` file, a user JWT, or subtrie permissions JSON. An
        expired token loads too: see ``expires`` and ``not_before``. With ``account_jwt``, a user
        whom the account has revoked does not.

        Args:
            path: the file.
            user: the user of a configuration with several.
            account: the user's account.
            account_jwt: the account's own JWT; with it, signatures are checked.
            trusted: public keys of operators that must have signed the account's JWT.
            allow_readable: accept a creds file that the group or others may read.
            env: values of the configuration's variables; default: the process's environment.
            root: the folder that must contain included files; default: that of ``path``.

        Raises:
            PermissionsError: what nats-server would refuse, with ``.file`` and ``.line``.
            OSError: a file cannot be read.
        """
        loaded = load(
            path,
            user=user,
            account=account,
            account_jwt=account_jwt,
            trusted=trusted,
            allow_readable=allow_readable,
            env=env,
            root=root,
        )
        return cls._of(loaded)

    @classmethod
    def load_all(
        cls,
        path: str | Path,
        *,
        account_jwt: str | None = None,
        trusted: Iterable[str] = (),
        allow_readable: bool = False,
        env: Mapping[str, str] | None = None,
        root: str | Path | None = None,
    ) -> dict[str, Permissions]:
        """Read the permissions of every user of a configuration, by ``user`` or ``account/user``.

        A file of one user gives one entry with the empty name. Arguments and errors are those of
        ``load``.
        """
        loaded = load_all(
            path,
            account_jwt=account_jwt,
            trusted=trusted,
            allow_readable=allow_readable,
            env=env,
            root=root,
        )
        return {name: cls._of(each) for name, each in loaded.items()}

    @classmethod
    def _of(cls, loaded: LoadedPermissions) -> Permissions:
        self = cls(
            publish_allow=loaded.publish_allow,
            publish_deny=loaded.publish_deny,
            subscribe_allow=loaded.subscribe_allow,
            subscribe_deny=loaded.subscribe_deny,
            allow_responses=loaded.allow_responses,
            dialect=loaded.dialect,
        )
        self.determined, self.unmatchable = loaded.determined, loaded.unmatchable
        self.sources, self.validity = loaded.sources, loaded.validity
        self.place, self.anonymous = loaded.place, loaded.anonymous
        self.from_token, self.connection_types = loaded.from_token, loaded.connection_types
        self._certified = loaded.certified
        self.decided_by = loaded.decided_by or self.decided_by
        return self

    def dump(self, format: str = "json") -> str:
        """Return the permissions as text.

        Args:
            format: ``json`` (subtrie permissions JSON) or ``conf`` (a block of a server
                configuration).

        Raises:
            ValueError: another format.
            PermissionsError: the permissions are undetermined.
        """
        return dump(self, format)


def _check_model(name: str) -> None:
    if name not in (STRICT, BROKER):
        raise ValueError(f"model must be 'strict' or 'broker', not {name!r}")


def _explained(answer: Decision, more: str) -> Decision:
    return dataclasses.replace(answer, explanation=answer.explanation + more)
