"""Accounts: what one exports, imports and maps, and where a message goes from there."""

from __future__ import annotations

import dataclasses
import re

from .. import _engine

_MARK = re.compile(r"\$([1-9][0-9]*)|\{\{ *wildcard\( *([1-9][0-9]*) *\) *\}\}", re.IGNORECASE)


@dataclasses.dataclass(frozen=True, slots=True)
class Export:
    """An offer of an account to others.

    Attributes:
        kind: ``stream`` or ``service``.
        subject: the pattern.
        accounts: the accounts that may import it; None for any account (a public export).
        line: its line in the configuration.
    """

    kind: str
    subject: str
    accounts: tuple[str, ...] | None = None
    line: int | None = None


@dataclasses.dataclass(frozen=True, slots=True)
class Import:
    """A pattern that an account takes from another.

    Attributes:
        kind: ``stream`` or ``service``.
        account: the account that exports it.
        subject: the pattern there.
        local: the pattern here.
        line: its line in the configuration.
    """

    kind: str
    account: str
    subject: str
    local: str
    line: int | None = None


@dataclasses.dataclass(frozen=True, slots=True)
class Mapping:
    """A mapping of subjects when they are published.

    Attributes:
        source: the pattern that it applies to.
        targets: pairs of a subject and its weight in percent.
        clusters: True if the targets depend on the cluster.
    """

    source: str
    targets: tuple[tuple[str, int], ...]
    clusters: bool = False


@dataclasses.dataclass(slots=True)
class Account:
    """One account: its exports, imports and mappings."""

    name: str
    exports: list[Export] = dataclasses.field(default_factory=list)
    imports: list[Import] = dataclasses.field(default_factory=list)
    mappings: list[Mapping] = dataclasses.field(default_factory=list)

    def mapped(self, subject: str) -> tuple[str, ...] | None:
        """Return the subjects that a published one may become; None if that is not determined."""
        fitting = [each for each in self.mappings if _engine.matches(each.source, subject)]
        if not fitting:
            return (subject,)
        exact = [each for each in fitting if each.source == subject]
        if len(fitting) > 1 and not exact:
            return None  # which of them applies depends on an order that the file does not tell
        [mapping] = exact or fitting
        targets = [text for text, weight in mapping.targets if weight]
        if mapping.clusters or None in (
            found := [_filled(mapping.source, text, subject) for text in targets]
        ):
            return None
        total = sum(weight for _, weight in mapping.targets)
        lost = () if total >= 100 else (subject,)
        return tuple(dict.fromkeys([*(text for text in found if text is not None), *lost]))


def pattern_of(text: str) -> str:
    """Return the pattern of a subject whose wildcards may be numbered (``$1``)."""
    return ".".join("*" if _MARK.fullmatch(token) else token for token in text.split("."))


def transformed(source: str, target: str, subject: str) -> str | None:
    """Return the subject by which one that matches ``source`` is known under ``target``.

    Either side may number its wildcards (``$1``); without numbers they count from the left.

    Args:
        source: the pattern that the subject matches.
        target: the pattern of the result.
        subject: the subject.
    """
    if not _engine.matches(pattern_of(source), subject):
        return None
    tokens = subject.split(".")
    wanted = source.split(".")
    values: dict[int, str] = {}
    rest: list[str] = []
    for index, token in enumerate(wanted):
        if token == ">":
            rest = tokens[index:]
        elif token == "*" or _MARK.fullmatch(token):
            values[_number(token, len(values) + 1)] = tokens[index]
    result: list[str] = []
    count = 0
    for token in target.split("."):
        if token == ">":
            result += rest
        elif token == "*" or _MARK.fullmatch(token):
            count += 1
            number = _number(token, count)
            if number not in values:
                return None
            result.append(values[number])
        else:
            result.append(token)
    return ".".join(result)


def _number(token: str, default: int) -> int:
    found = _MARK.fullmatch(token)
    return int(found[1] or found[2]) if found else default


def _filled(source: str, target: str, subject: str) -> str | None:
    """The destination of a mapping; None if it holds a function other than ``wildcard``."""
    if any("{{" in token and not _MARK.fullmatch(token) for token in target.split(".")):
        return None
    return transformed(source, target, subject)
