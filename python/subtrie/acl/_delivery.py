"""Deliveries: where a published message arrives, and under which subject."""

from __future__ import annotations

import dataclasses
from collections.abc import Iterator, Mapping
from itertools import product
from typing import NamedTuple

from .._core import engine
from ._account import Account, Import, UnknownOrder
from ._decision import BROKER
from ._permissions import Permissions

#: Most courses of events that are told apart if chance decides.
MAX_COURSES = 256


@dataclasses.dataclass(frozen=True, slots=True)
class Delivery:
    """The answer to one question: published here, received there; truthy if anything arrives.

    Attributes:
        subjects: the subject of each message that arrives, sorted.
        explanation: one line that says why.
        determined: False if the configuration or the model does not decide.
        possible: if chance decides, each possible value of ``subjects``, sorted.
    """

    subjects: tuple[str, ...]
    explanation: str
    determined: bool = True
    possible: tuple[tuple[str, ...], ...] = ()

    def __bool__(self) -> bool:
        return bool(self.subjects)


class _Arrival(NamedTuple):
    """An account in which a message appears, its subject there, and if a service brought it."""

    account: Account
    subject: str
    imported: bool


class _TooMany(Exception):
    """Chance has more possible courses than are told apart."""


class Courses:
    """The courses of a message: one row of places for each that chance may take."""

    def __init__(self, accounts: Mapping[str, Account], cluster: str | None) -> None:
        self._accounts, self._cluster = accounts, cluster

    def of_published(self, account: Account, subject: str) -> list[str | None]:
        """Return the subjects that the account may make of a published one; None if lost.

        Raises:
            _TooMany: more than are listed.
        """
        outcomes = account.mapped(subject, self._cluster)
        if outcomes is None:
            raise _TooMany
        return list(outcomes)

    def of(
        self, account: Account, subject: str, taken: tuple[Import, ...] = ()
    ) -> list[list[_Arrival]]:
        """Return the places that a message reaches, for each course of chance.

        Args:
            account: the account in which it appears.
            subject: its subject there, mapped already.
            taken: the service imports that brought it.
        """
        courses = [[_Arrival(account, subject, bool(taken))]]
        for each in (*account.imports, *account.implied):
            if each.kind != "service" or each in taken:
                continue
            text = each.arriving(subject)
            if text is None:
                continue
            other = self._accounts[each.account]
            further: list[list[_Arrival]] = []
            for outcome in self.of_published(other, text):
                further += [[]] if outcome is None else self.of(other, outcome, (*taken, each))
            courses = [[*one, *more] for one, more in product(courses, further)]
            if len(courses) > MAX_COURSES:
                raise _TooMany
        return courses


def delivery(
    courses: Courses,
    here: Account,
    subject: str,
    there: Account,
    sender: Permissions,
    receiver: Permissions,
    subscription: str,
    queue: str | None,
) -> Delivery:
    """Decide what arrives: see ``Deployment.delivery``.

    Args:
        courses: what may happen to a message of these accounts.
        here: the account of the publisher.
        subject: the subject.
        there: the account of the receiver.
        sender: the permissions of the publisher.
        receiver: those of the receiver.
        subscription: the pattern of the subscription.
        queue: its queue group, with no other member; None without one.
    """
    can = receiver.can_subscribe(subscription, queue=queue, model=BROKER)
    if not can and can.determined:
        return Delivery((), f"the subscription is refused: {can.explanation}")
    results: dict[tuple[str, ...], None] = {}
    reasons = []
    try:
        for outcome in courses.of_published(here, subject):
            if outcome is None:
                results[()] = None
                continue
            # The lists apply to what the account makes of the subject.
            may = sender.can_publish(outcome, model=BROKER)
            if not may:
                if not may.determined:
                    return Delivery((), f"the publish is {may.explanation}", False)
                reasons.append(f"the publish is refused: {may.explanation}")
                results[()] = None
                continue
            for course in courses.of(here, outcome):
                found = _received(course, there, subscription, queue, receiver)
                if found is None:
                    return Delivery((), can.explanation, False)
                results |= dict.fromkeys(found)
                if len(results) > MAX_COURSES:
                    raise _TooMany
    except _TooMany:
        message = f"mappings have more than {MAX_COURSES} possible results"
        return Delivery((), message, False)
    except UnknownOrder as error:
        return Delivery((), str(error), False)
    if len(results) > 1:
        possible = tuple(sorted(results))
        return Delivery((), "the order or the weights of mappings decide", False, possible)
    [subjects] = results
    if subjects and not can.determined:
        return Delivery((), can.explanation, False)
    if not subjects:
        return Delivery((), reasons[0] if reasons else "nothing arrives")
    crossing = "" if here is there else f" from {here.name} to {there.name}"
    return Delivery(subjects, f"arrives as {', '.join(subjects)}{crossing}")


def _received(
    course: list[_Arrival],
    there: Account,
    subscription: str,
    queue: str | None,
    receiver: Permissions,
) -> list[tuple[str, ...]] | None:
    """The possible subjects of what a subscription receives in a course; None: undetermined."""
    certain: list[str] = []
    choices: list[list[str]] = []
    for place in course:
        allowed = []
        for text in _arriving(place, there, subscription):
            decision = receiver.can_receive(
                text, subscription=subscription, queue=queue, model=BROKER
            )
            if not decision.determined:
                return None
            if decision:
                allowed.append(text)
        if queue is None:
            certain += allowed
        elif allowed:
            # A queue group gets a message of an account once, by one of its ways.
            choices.append(list(dict.fromkeys(allowed)))
    return [tuple(sorted([*certain, *row])) for row in product(*choices)]


def _arriving(place: _Arrival, there: Account, subscription: str) -> Iterator[str]:
    """The subjects under which a message in a place reaches a subscription of an account."""
    if place.account is there and engine.matches(subscription, place.subject):
        yield place.subject
    if place.imported:
        return  # what a service import brings is not exported again as a stream
    for taken in there.imports:
        if taken.kind == "stream" and taken.account == place.account.name:
            text = taken.arriving(place.subject)
            if text is not None and engine.matches(subscription, text):
                yield text
