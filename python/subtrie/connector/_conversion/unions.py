"""Converters of unions: which alternative a value is of, at a cost that its depth does not double.

The candidates are chosen by the JSON type of the value, and among objects by the members that are
there. If several remain they are tried in order. What came of a value is kept during a conversion
(memoisation), so that no alternative is tried twice on one value: the work is linear in the size.
"""

from __future__ import annotations

from typing import Any

from .converter import Branch, Conversion, Converter, Misfit, Text, Zero, misfit

_CONTAINERS = (dict, list, Branch)


class Optional(Converter):
    """A converter of one type or None.

    Args:
        inner: The converter of the type.
    """

    nullable = True

    def __init__(self, inner: Converter) -> None:
        self._inner = inner

    @property
    def name(self) -> str:  # type: ignore[override]
        """The name of the type."""
        return self._inner.name

    @property
    def kinds(self) -> frozenset[type]:  # type: ignore[override]
        """The JSON types that it reads."""
        return self._inner.kinds

    @property
    def members(self) -> frozenset[str] | None:  # type: ignore[override]
        """The names of the members of an object."""
        return self._inner.members

    @property
    def is_open(self) -> bool:  # type: ignore[override]
        """Whether an object with any members is read."""
        return self._inner.is_open

    def read(self, value: Any, conversion: Conversion) -> Any:
        """Return the converted value."""
        if value is None or (type(value) is Text and value == "null"):
            return None
        return self._inner.read(value, conversion)

    def schema(self, depth: int) -> dict[str, Any]:
        """Return the JSON schema."""
        return {"anyOf": [self._inner.schema(depth + 1), {"type": "null"}]}

    def zero_within(self, outer: frozenset[Converter]) -> Zero | None:
        """Return a function that makes None."""
        return lambda: None


class UnionOf(Converter):
    """A converter of several types.

    Args:
        alternatives: Their converters, in the declared order.
    """

    def __init__(self, alternatives: list[Converter]) -> None:
        self._alternatives = alternatives

    @property
    def name(self) -> str:  # type: ignore[override]
        """The names of the types."""
        return " | ".join(each.name for each in self._alternatives)

    @property
    def kinds(self) -> frozenset[type]:  # type: ignore[override]
        """The JSON types that it reads."""
        return frozenset(kind for each in self._alternatives for kind in each.kinds)

    @property
    def members(self) -> frozenset[str] | None:  # type: ignore[override]
        """The members of all objects among the types; None if there are none with members."""
        known = [each.members for each in self._alternatives if each.members is not None]
        return frozenset().union(*known) if known else None

    @property
    def is_open(self) -> bool:  # type: ignore[override]
        """Whether an object with any members is read."""
        return any(each.is_open for each in self._alternatives)

    @property
    def takes_null(self) -> bool:  # type: ignore[override]
        """Whether the text ``null`` is a value."""
        return any(each.takes_null for each in self._alternatives)

    def read(self, value: Any, conversion: Conversion) -> Any:
        """Return the converted value."""
        candidates = self._candidates(value)
        if len(candidates) == 1:
            return candidates[0].read(value, conversion)
        key = (id(self), id(value)) if isinstance(value, _CONTAINERS) else None
        if key is not None and key in conversion.tried:
            known = conversion.tried[key]
            if isinstance(known, Misfit):
                raise Misfit(known.message)
            return known
        failed: Misfit | None = None
        for each in candidates:
            conversion.spend(1)
            try:
                made = each.read(value, conversion)
            except Misfit as error:
                failed = failed or error
                continue
            if key is not None:
                conversion.tried[key] = made
            return made
        if failed is None:
            failed = misfit(self.name, value)
        if key is not None:
            conversion.tried[key] = Misfit(failed.message)
        raise failed

    def _candidates(self, value: Any) -> list[Converter]:
        kind = type(value)
        if kind is Text:
            return self._alternatives
        kind = dict if kind is Branch else kind
        fitting = [each for each in self._alternatives if kind in each.kinds]
        if kind is not dict or len(fitting) < 2:
            return fitting
        counted = [
            (sum(name in value for name in each.members), each)
            for each in fitting
            if each.members is not None
        ]
        found = sorted((one for one in counted if one[0]), key=lambda one: -one[0])
        any_members = [each for each in fitting if each.is_open]
        if found or any_members:
            return [each for _, each in found] + any_members
        return [] if value else fitting

    def schema(self, depth: int) -> dict[str, Any]:
        """Return the JSON schema."""
        if depth > 8:
            return {}
        return {"anyOf": [each.schema(depth + 1) for each in self._alternatives]}

    def zero_within(self, outer: frozenset[Converter]) -> Zero | None:
        """Return a function that makes the zero of the first alternative that has one."""
        within = outer | {self}
        for each in self._alternatives:
            if each not in within and (zero := each.zero_within(within)) is not None:
                return zero
        return None
