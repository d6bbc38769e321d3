"""Required claims: boolean expressions over the claims of an actor token, as in Go.

Grammar: ``or := and ("||" and)*``, ``and := not ("&&" not)*``, ``not := "!"* (name | "(" or ")") |
operand compare operand``, with ``== != < <= > >=``. An operand is a name, a number or a quoted
text; ``true`` and ``false`` are names with a value. A name has parts between dots: ``tenant.id`` is
a member of an object, ``roles.admin`` is true if the list ``roles`` contains ``admin``. Values of
different types are not equal and not ordered. An expression is parsed once, by recursive descent.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from typing import Any, NoReturn

from .._core.errors import refusal

_LONGEST = 4096  # characters of an expression
_DEEPEST = 64  # nested parentheses and negations
_MOST = 4096  # flattened claims of one token; bounds the work for a token of many values

_TOKEN = re.compile(
    r"""\s*(?:
      (?P<text>"[^"]*"|'[^']*'|`[^`]*`)
    | (?P<number>-?\d+(?:\.\d+)?(?![\w.]))
    | (?P<name>[A-Za-z_]\w*(?:\.\w+)*(?![\w.]))
    | (?P<sign>==|!=|<=|>=|<|>|!(?!~)|&&|\|\||\(|\))
    )""",
    re.VERBOSE | re.ASCII,
)
_COMPARISONS = frozenset(("==", "!=", "<", "<=", ">", ">="))

Flat = Mapping[str, Any]
_Value = Callable[[Flat], Any]
_Test = Callable[[Flat], bool]


class Claims:
    """A parsed expression; ``claims.satisfied_by(flat)`` evaluates it.

    Args:
        text: The expression.

    Raises:
        BusError: The text is not a valid expression (``requires``).
    """

    __slots__ = ("_test", "text")

    def __init__(self, text: str) -> None:
        self.text = text
        self._test = _ExpressionParser(text).whole()

    def satisfied_by(self, flat: Flat) -> bool:
        """Return whether flattened claims (``flattened``) satisfy the expression."""
        return self._test(flat)

    def __repr__(self) -> str:
        return f"Claims({self.text!r})"


def flattened(claims: Mapping[str, Any]) -> dict[str, Any]:
    """Return claims by dotted name: members of objects, and True for each element of a list.

    Numbers become floats, as in Go. At most 4,096 names are kept; a claim beyond is missing.
    """
    flat: dict[str, Any] = {}
    waiting: list[tuple[str, Mapping[str, Any]]] = [("", claims)]
    while waiting:
        prefix, members = waiting.pop()
        for name, value in members.items():
            if len(flat) >= _MOST:
                return flat
            key = prefix + name
            flat[key] = _comparable(value)
            if isinstance(value, dict):
                waiting.append((f"{key}.", value))
            elif isinstance(value, list):
                for each in value[: _MOST - len(flat)]:
                    if isinstance(each, str | int | float):
                        flat[f"{key}.{_element(each)}"] = True
    return flat


def _comparable(value: Any) -> Any:
    if isinstance(value, int) and not isinstance(value, bool):
        try:
            return float(value)
        except OverflowError:
            return None
    return value


def _element(value: str | float) -> str:
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, float) and value.is_integer():
        return str(int(value))
    return str(value)


class _ExpressionParser:
    """Recursive descent over the tokens of one expression."""

    def __init__(self, text: str) -> None:
        if not isinstance(text, str):
            raise TypeError(f"requires must be text, not {type(text).__name__}")
        self._text, self._depth = text, 0
        if len(text) > _LONGEST:
            self._refuse(_LONGEST)
        self._tokens: list[tuple[str, str, int]] = []
        place, end = 0, len(text.rstrip())
        while place < end:
            found = _TOKEN.match(text, place)
            if found is None:
                place += len(text[place:]) - len(text[place:].lstrip())
                self._refuse(place)
            kind = str(found.lastgroup)
            self._tokens.append((kind, found[kind], found.start(kind)))
            place = found.end()
        self._next = 0

    def whole(self) -> _Test:
        """Return the test for the whole text."""
        test = self._or()
        if self._next < len(self._tokens):
            self._refuse(self._tokens[self._next][2])
        return test

    def _or(self) -> _Test:
        tests = [self._and()]
        while self._take("||"):
            tests.append(self._and())
        return tests[0] if len(tests) == 1 else lambda flat: any(test(flat) for test in tests)

    def _and(self) -> _Test:
        tests = [self._not()]
        while self._take("&&"):
            tests.append(self._not())
        return tests[0] if len(tests) == 1 else lambda flat: all(test(flat) for test in tests)

    def _not(self) -> _Test:
        negated, begun = False, self._next
        while self._take("!"):
            negated = not negated
        if self._take("("):
            self._depth += 1
            if self._depth > _DEEPEST:
                self._refuse(self._tokens[self._next - 1][2])
            test = self._or()
            if not self._take(")"):
                self._refuse(self._place())
            self._depth -= 1
        else:
            test = self._comparison(plain=self._next > begun)
        return (lambda flat: not test(flat)) if negated else test

    def _comparison(self, *, plain: bool) -> _Test:
        kind, text, place = self._operand_token()
        left = _operand(kind, text)
        sign = self._tokens[self._next][1] if self._next < len(self._tokens) else ""
        if sign not in _COMPARISONS:
            # A text or a number alone would always hold: surely a mistake.
            if kind != "name":
                self._refuse(place)
            return lambda flat: _truth(left(flat))
        if plain:  # ``!a == b``: write ``!(a == b)``
            self._refuse(self._place())
        self._next += 1
        right = _operand(*self._operand_token()[:2])
        return lambda flat: _compared(sign, left(flat), right(flat))

    def _operand_token(self) -> tuple[str, str, int]:
        if self._next >= len(self._tokens) or self._tokens[self._next][0] == "sign":
            self._refuse(self._place())
        token = self._tokens[self._next]
        self._next += 1
        return token

    def _take(self, sign: str) -> bool:
        if self._next < len(self._tokens) and self._tokens[self._next][:2] == ("sign", sign):
            self._next += 1
            return True
        return False

    def _place(self) -> int:
        return self._tokens[self._next][2] if self._next < len(self._tokens) else len(self._text)

    def _refuse(self, place: int) -> NoReturn:
        position = len(self._text[:place].encode("utf-8", "surrogatepass"))
        raise refusal("BusError", "requires", self._text, position, "requires")


def _operand(kind: str, text: str) -> _Value:
    if kind == "text":
        quoted = text[1:-1]
        return lambda flat: quoted
    if kind == "number":
        number = float(text)
        return lambda flat: number
    constant = {"true": True, "false": False}.get(text.lower())

    def claim(flat: Flat) -> Any:
        return flat.get(text, constant)

    return claim


def _truth(value: Any) -> bool:
    """Return whether a claim holds: absent, null, false, zero and the empty text do not."""
    return bool(value) if value is None or isinstance(value, bool | float | str) else True


def _compared(sign: str, left: Any, right: Any) -> bool:
    same = type(left) is type(right)
    equal = same and left == right and not isinstance(left, list | dict)
    if sign == "==":
        return equal
    if sign == "!=":
        return not equal
    if not same or not isinstance(left, float | str):
        return equal and sign in ("<=", ">=")
    if sign in ("<", "<="):
        return bool(left < right or (equal and sign == "<="))
    return bool(right < left or (equal and sign == ">="))
