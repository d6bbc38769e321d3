"""Renamings of patterns: what an import or a mapping makes of all subjects of a pattern."""

from __future__ import annotations

from typing import NamedTuple, Self

from ._account import Import, Mapping, Target, numbered_wildcards, pattern_of
from ._subject_transform import SubjectTransform

#: Functions of a destination that may make several tokens of one, or none.
_OF_ANY_LENGTH = frozenset(
    ("split", "splitfromleft", "splitfromright", "slicefromleft", "slicefromright")
)


class _Part(NamedTuple):
    """One token of a result: a literal, a token of the source, the rest of it, or a function."""

    kind: str
    place: int = 0
    text: str = ""


def intersection(one: str, other: str) -> str | None:
    """Return the pattern of the subjects that two patterns share; None if there is none."""
    left, right = one.split("."), other.split(".")
    found: list[str] = []
    for index in range(max(len(left), len(right))):
        if index >= len(left) or index >= len(right):
            return None
        if left[index] == ">":
            return ".".join([*found, *right[index:]])
        if right[index] == ">":
            return ".".join([*found, *left[index:]])
        if left[index] == "*":
            found.append(right[index])
        elif right[index] in ("*", left[index]):
            found.append(left[index])
        else:
            return None
    return ".".join(found)


class Renaming:
    """The change of subjects by one import, or by one target of a mapping.

    Attributes:
        source: the pattern of the subjects that it applies to.
        target: a pattern that all its results match.
        exact: True if different subjects have different results, and no function decides.
    """

    def __init__(
        self, source: str, parts: list[_Part], transform: SubjectTransform | None = None
    ) -> None:
        self.source, self._parts, self._transform = source, parts, transform
        self._length = len(source.split("."))
        read = [each.place for each in parts if each.kind in ("token", "rest")]
        wild = {i for i, token in enumerate(source.split(".")) if token in ("*", ">")}
        self._known = all(each.kind != "function" for each in parts)
        self._fixed = all(each.text != "any length" for each in parts)
        self.exact = self._known and len(set(read)) == len(read) and wild <= set(read)
        #: True if the model does not decide which of the results it is, nor does chance.
        self.guessed = transform is not None and transform.guessed
        self.target = self._image(self.source.split("."))

    @classmethod
    def of_import(cls, taken: Import) -> Self:
        """Return what an import does to a message on its way from one account to the other."""
        source, target = taken.ends if taken.kind == "stream" else taken.ends[::-1]
        indexes = dict(numbered_wildcards(source.split(".")))
        named = target.split(".")
        numbers = {index: number for number, index in numbered_wildcards(named)}
        parts = []
        for index, token in enumerate(named):
            if token == ">":
                parts.append(_Part("rest", len(source.split(".")) - 1))
            elif index in numbers:
                parts.append(_Part("token", indexes.get(numbers[index], 0)))
            else:
                parts.append(_Part("literal", text=token))
        return cls(pattern_of(source), parts)

    @classmethod
    def of_mapping(cls, mapping: Mapping, target: Target) -> Self:
        """Return what one target of a mapping does to a subject."""
        parts: list[_Part] = []
        transform = SubjectTransform(mapping.source, target.subject)
        for each in transform.functions:
            if each.name == "literal":
                parts.append(_Part("literal", text=each.text))
            elif each.name == "rest":
                parts.append(_Part("rest", len(mapping.source.split(".")) - 1))
            elif each.name == "wildcard":
                parts.append(_Part("token", each.indexes[0]))
            else:
                length = "any length" if each.name in _OF_ANY_LENGTH else "one token"
                parts.append(_Part("function", text=length))
        return cls(mapping.source, parts, transform)

    def image(self, pattern: str) -> str | None:
        """Return a pattern of all results for subjects of a pattern; None if it applies to none."""
        shared = intersection(self.source, pattern)
        return None if shared is None else self._image(shared.split("."))

    def images(self, pattern: str) -> tuple[str, ...] | None:
        """Return patterns of the results; of one subject, each possible result.

        None if a function has too many.
        """
        if self._transform is None or not {"*", ">"}.isdisjoint(pattern.split(".")):
            found = self.image(pattern)
            return () if found is None else (found,)
        if intersection(self.source, pattern) is None:
            return ()
        outcomes = self._transform.outcomes(pattern)
        return None if outcomes is None else tuple(filter(None, outcomes))

    def _image(self, tokens: list[str]) -> str:
        found: list[str] = []
        for each in self._parts:
            if each.kind == "literal":
                found.append(each.text)
            elif each.kind == "token":
                found.append(tokens[each.place])
            elif each.kind == "rest":
                found += tokens[self._length - 1 :]
            elif each.text == "any length":
                return ".".join([*found, ">"])
            else:
                found.append("*")
        return ".".join(found)

    def preimage(self, pattern: str) -> str | None:
        """Return a pattern of all subjects whose result matches a pattern; None if there is none.

        With functions, some of its subjects may have other results.
        """
        shared = intersection(self.target, pattern)
        if shared is None:
            return None
        if not self._fixed:
            return self.source
        wanted, found = shared.split("."), self.source.split(".")
        rest: list[str] | None = None
        for index, each in enumerate(self._parts):
            if each.kind == "rest":
                rest = wanted[index:]
            elif each.kind == "token" and wanted[index] != "*":
                if found[each.place] not in ("*", wanted[index]):
                    return None
                found[each.place] = wanted[index]
        return ".".join(found if rest is None else [*found[:-1], *rest])

    def image_outside(self, patterns: tuple[str, ...]) -> tuple[str, ...]:
        """Return patterns that no result matches, for subjects outside of some patterns."""
        images = (self.image(each) for each in patterns) if self.exact else ()
        return tuple(each for each in images if each is not None)

    def preimage_outside(self, patterns: tuple[str, ...]) -> tuple[str, ...]:
        """Return the patterns of all subjects whose result is inside of some patterns."""
        images = (self.preimage(each) for each in patterns) if self._known else ()
        return tuple(each for each in images if each is not None)
