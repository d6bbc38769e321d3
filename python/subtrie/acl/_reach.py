"""The ways of messages between accounts: what they reach, and where they come from."""

from __future__ import annotations

import dataclasses
from collections.abc import Iterable, Iterator, Mapping
from typing import NamedTuple

from .._core import engine
from ._account import Account, Import, UnknownOrder
from ._account import Mapping as SubjectMapping
from ._renaming import Renaming, intersection

#: Most places that are followed for one question.
MAX_PLACES = 10_000


class TooManyPlaces(Exception):
    """Imports and mappings lead to more places than are followed."""


@dataclasses.dataclass(frozen=True, slots=True)
class Step:
    """One change on the way of a message: an import or a mapping.

    Attributes:
        text: what it is, for a reader.
        renaming: what it does to the subject.
        ordered: False if the input does not tell which subject becomes which.
    """

    text: str
    renaming: Renaming
    ordered: bool = True


@dataclasses.dataclass(frozen=True, slots=True)
class Region:
    """Subjects of an account, and the way between them and the subjects that were asked about.

    Attributes:
        account: the account.
        pattern: the pattern of the subjects, as the account's users see them after mapping.
        outside: patterns whose subjects do not belong to it.
        steps: the steps between the two ends, in the direction in which a message goes.
        whole: True if all messages that were asked about are among them.
    """

    account: Account
    pattern: str
    outside: tuple[str, ...] = ()
    steps: tuple[Step, ...] = ()
    whole: bool = True

    @property
    def ordered(self) -> bool:
        """True if it is known how each subject is renamed."""
        return all(each.ordered for each in self.steps)


class Place(NamedTuple):
    """An account, and the subject by which one message is known there.

    Attributes:
        account: the name of the account.
        subject: the subject.
        sure: False if the broker decides when it starts whether that can be.
        delivered: False for the subject as it is published, before mappings.
    """

    account: str
    subject: str
    sure: bool
    delivered: bool = True


class Reach:
    """The ways of messages between the accounts of a deployment.

    Args:
        accounts: the accounts by name.
        cluster: the name of the broker's cluster, empty without one; None if it is not known.
    """

    def __init__(self, accounts: Mapping[str, Account], cluster: str | None) -> None:
        self._accounts, self.cluster = accounts, cluster
        #: The imports of each kind from an account, with the importing account.
        self._taken: dict[tuple[str, str], list[tuple[Account, Import, Step]]] = {}
        self._services: dict[str, list[tuple[Import, Step]]] = {}
        self._mappings: dict[str, list[tuple[SubjectMapping, list[Step]]]] = {}
        for account in accounts.values():
            self._services[account.name] = []
            for each in (*account.imports, *account.implied):
                ends = (each.account, account.name)
                here, there = ends if each.kind == "stream" else ends[::-1]
                ordered = each.ordered and not each.made_up
                step = Step(f"{each.kind} {here} → {there}", Renaming.of_import(each), ordered)
                self._taken.setdefault((each.account, each.kind), []).append((account, each, step))
                if each.kind == "service":
                    self._services[account.name].append((each, step))
            self._mappings[account.name] = [
                (each, self._steps_of(each)) for each in account.mappings
            ]

    def _steps_of(self, mapping: SubjectMapping) -> list[Step]:
        steps = {}
        # Without the name of the cluster, no target of a cluster is certain.
        told = self.cluster is not None or all(each.cluster is None for each in mapping.targets)
        for row in mapping.targets_in(self.cluster):
            for target in row:
                if target is None:
                    continue
                weight = f" ({target.weight} %)" if target.weight < 100 else ""
                text = f"mapping {mapping.source} → {target.subject}{weight}"
                renaming = Renaming.of_mapping(mapping, target)
                steps[text] = Step(text, renaming, told and not renaming.guessed)
        return list(steps.values())

    # --- forward

    def receivers(self, account: Account, pattern: str) -> Iterator[Region]:
        """Yield where messages arrive that clients of an account publish to a pattern."""
        count = 0
        for region in self.published(Region(account, pattern)):
            for place, imported in self._appearing(region, ()):
                for each in (place, *(() if imported else self._streams(place))):
                    yield each
                    count += 1
                    if count > MAX_PLACES:
                        raise TooManyPlaces

    def subscribers(self, account: Account, pattern: str) -> Iterator[Region]:
        """Yield the subscriptions that receive all that appears in an account on a pattern."""
        for place, imported in self._appearing(Region(account, pattern), ()):
            for each in (place, *(() if imported else self._streams(place))):
                if each.whole:
                    yield each

    def published(self, region: Region) -> Iterator[Region]:
        """Yield what an account makes of published subjects by its mappings."""
        mappings = self._mappings[region.account.name]
        fitting = [each for each in mappings if engine.overlaps(each[0].source, region.pattern)]
        sources = tuple(mapping.source for mapping, _ in fitting)
        if not any(engine.covers(each, region.pattern) for each in sources):
            yield dataclasses.replace(
                region, outside=(*region.outside, *sources), whole=region.whole and not sources
            )
        for mapping, steps in fitting:
            whole = len(fitting) == 1 and engine.covers(mapping.source, region.pattern)
            for step in steps:
                yield from _moved(region, step, region.account, whole and len(steps) == 1)

    def _appearing(
        self, region: Region, taken: tuple[Import, ...]
    ) -> Iterator[tuple[Region, bool]]:
        """Yield a place, and those to which services take its messages; True for the latter."""
        yield region, bool(taken)
        for each, step in self._services[region.account.name]:
            if each in taken:
                continue
            for entered in _moved(region, step, self._accounts[each.account], True):
                for place in self.published(entered):
                    yield from self._appearing(place, (*taken, each))

    def _streams(self, region: Region) -> Iterator[Region]:
        for importer, _, step in self._taken.get((region.account.name, "stream"), ()):
            yield from _moved(region, step, importer, True)

    # --- backward

    def senders(self, account: Account, pattern: str) -> Iterator[Region]:
        """Yield what users may publish to send messages that an account has on a pattern.

        The subjects of a region are those that permissions apply to: after the mappings of its
        account.
        """
        asked = Region(account, pattern)
        yield from self.published(asked)
        yield from self._callers(asked, ())
        for _, steps in self._mappings[account.name]:
            for step in steps:
                # The lists apply to what the mapping makes of a subject.
                shared = intersection(step.renaming.target, pattern)
                if shared is not None:
                    yield Region(account, shared, steps=(step,), whole=False)
                    before = _before(asked, step, account)
                    if before is not None:
                        yield from self._callers(before, ())
        for each in account.imports:
            if each.kind == "stream":
                step = self._step(each)
                before = _before(asked, step, self._accounts[each.account])
                if before is not None:
                    yield before

    def _step(self, taken: Import) -> Step:
        found = self._taken[taken.account, taken.kind]
        return next(step for _, each, step in found if each is taken)

    def _callers(self, region: Region, taken: tuple[Import, ...]) -> Iterator[Region]:
        """Yield the places from which services take messages to one, as published there."""
        for importer, each, step in self._taken.get((region.account.name, "service"), ()):
            if each in taken:
                continue
            before = _before(region, step, importer)
            if before is None:
                continue
            yield before
            for mapped in self.unmapped(before):
                yield from self._callers(mapped, (*taken, each))

    def unmapped(self, region: Region) -> Iterator[Region]:
        """Yield the published subjects of which an account makes those of a region."""
        mappings = self._mappings[region.account.name]
        sources = tuple(each.source for each, _ in mappings)
        if not any(engine.covers(each, region.pattern) for each in sources):
            yield dataclasses.replace(region, outside=(*region.outside, *sources))
        for _, steps in mappings:
            for step in steps:
                before = _before(region, step, region.account)
                if before is not None:
                    yield before

    # --- one message

    def places(
        self, account: Account, subject: str, taken: tuple[Import, ...] = (), sure: bool = True
    ) -> Iterator[Place]:
        """Yield the places by which one message may come.

        Args:
            account: the account in which it is published.
            subject: the subject.
            taken: the service imports that brought it.
            sure: False if that is not known of what is published.

        Raises:
            UnknownOrder: the input does not tell how it is renamed.
            TooManyPlaces: mappings have too many possible results.
        """
        yield Place(account.name, subject, sure, delivered=False)
        outcomes = account.mapped(subject, self.cluster)
        if outcomes is None:
            raise TooManyPlaces
        fitting = [
            steps
            for mapping, steps in self._mappings[account.name]
            if engine.matches(mapping.source, subject)
        ]
        # Of several mappings that match, the broker takes one, which it chooses when it starts.
        sure = sure and (
            len(outcomes) == 1
            or (len(fitting) == 1 and all(each.ordered for steps in fitting for each in steps))
        )
        for outcome in outcomes:
            if outcome is None:
                continue
            yield Place(account.name, outcome, sure)
            for each, _ in self._services[account.name]:
                text = None if each in taken else each.arriving(outcome)
                if text is not None:
                    there = self._accounts[each.account]
                    yield from self.places(there, text, (*taken, each), sure)
            for importer, each, _ in self._taken.get((account.name, "stream"), ()):
                text = None if taken else each.arriving(outcome)
                if text is not None:
                    yield Place(importer.name, text, sure)

    def passes(
        self, account: Account, subject: str, place: str, pattern: str, *, delivered: bool = False
    ) -> bool | None:
        """Return True if a published message is known in an account by a subject of a pattern.

        None if that is not known.

        Args:
            account: the account in which it is published.
            subject: its subject.
            place: the account in which it is looked for.
            pattern: the pattern.
            delivered: True if clients of that account must be able to receive it so.
        """
        found: bool | None = False
        try:
            for each in self.places(account, subject):
                if each.account != place or not engine.matches(pattern, each.subject):
                    continue
                if each.delivered or not delivered:
                    if each.sure:
                        return True
                    found = None
        except (UnknownOrder, TooManyPlaces):
            return None
        return found


def _moved(region: Region, step: Step, account: Account, whole: bool) -> Iterator[Region]:
    """Yield a region after one more step, if the step applies to any of it."""
    images = step.renaming.images(region.pattern)
    if images is None:
        raise TooManyPlaces
    for pattern in images:
        covered = whole and engine.covers(step.renaming.source, region.pattern)
        outside = step.renaming.image_outside(region.outside)
        steps = (*region.steps, step)
        yield Region(account, pattern, outside, steps, region.whole and covered)


def _before(region: Region, step: Step, account: Account) -> Region | None:
    """A region before one more step, if the step leads to any of it."""
    pattern = step.renaming.preimage(region.pattern)
    if pattern is None:
        return None
    outside = step.renaming.preimage_outside(region.outside)
    return Region(account, pattern, outside, (step, *region.steps), False)


def literals(pattern: str, outside: Iterable[str]) -> Iterator[str]:
    """Yield a few subjects of a pattern that lie outside of others."""
    for word in ("x", "1", "0", "a", "x-x", "2", "3"):
        tokens = (word if each in ("*", ">") else each for each in pattern.split("."))
        text = ".".join(tokens)
        if not any(engine.matches(each, text) for each in outside):
            yield text
        if text == pattern:
            return
