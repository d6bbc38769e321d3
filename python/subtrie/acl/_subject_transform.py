"""Transforms of subjects: the destination of a mapping, with the functions that fill its tokens."""

from __future__ import annotations

import dataclasses
import itertools
import re

from .._core import engine
from .._core.errors import SubtrieError

_NUMBERED = re.compile(r"\$([+-]?[0-9]+)")
_CALL = re.compile(
    r"\{\{\s*([Pp]artition|[Ww]ildcard|[Ss]plit[Ff]rom[Ll]eft|[Ss]plit[Ff]rom[Rr]ight|"
    r"[Ss]lice[Ff]rom[Ll]eft|[Ss]lice[Ff]rom[Rr]ight|[Ss]plit|[Ll]eft|[Rr]ight|[Rr]andom)"
    r"\s*\((.*)\)\s*\}\}"
)
_COMMA = re.compile(r",\s*")
_INTEGER = re.compile(r"[+-]?[0-9]{1,9}")

#: Most results of one transform that are listed; ``random(n)`` may have more.
MAX_OUTCOMES = 256


@dataclasses.dataclass(frozen=True, slots=True)
class _Function:
    """A token of a destination: a function of the tokens of the source, or a literal."""

    name: str
    #: Indexes of the tokens of the source that it reads.
    indexes: tuple[int, ...] = ()
    number: int = 0
    text: str = ""


class SubjectTransform:
    """The function by which a mapping changes the subjects that its source matches.

    Args:
        source: the pattern of the subjects.
        target: the destination: literal tokens, ``$1``, functions such as ``{{wildcard(1)}}``,
            and a final ``>`` if the source ends in one.

    Raises:
        ValueError: the broker refuses such a destination; the message says why.
    """

    def __init__(self, source: str, target: str) -> None:
        self._source = source.split(".")
        tokens = target.split(".")
        stars = [index for index, token in enumerate(self._source) if token == "*"]
        self._fixed = not stars and self._source[-1] != ">"
        if not all(tokens) or ">" in tokens[:-1]:
            raise ValueError("an empty token, or '>' before the end")
        if "*" in tokens:
            raise ValueError("a destination numbers its wildcards: $1 in place of *")
        if (tokens[-1] == ">") != (self._source[-1] == ">"):
            raise ValueError("source and destination must both end in '>', or neither")
        self.functions = [_function(token, stars, self._fixed) for token in tokens]

    @property
    def guessed(self) -> bool:
        """True if what a partition hashes is not decided here, so that each outcome may be it."""
        return self._fixed and any(
            each.name == "partition" and not each.indexes for each in self.functions
        )

    def outcomes(self, subject: str) -> tuple[str | None, ...] | None:
        """Return what may become of a subject; several with a function that decides by chance.

        An outcome of None is lost: it is not a valid subject, so that no subscription matches.

        Args:
            subject: a subject that the source matches.

        Returns:
            The distinct subjects; None if there are more than ``MAX_OUTCOMES``, or if one is not
            UTF-8.
        """
        tokens = subject.encode().split(b".")
        parts: list[list[bytes]] = []
        count = 1
        for each in self.functions:
            if each.name == "rest":
                parts.append([b".".join(tokens[len(self._source) - 1 :])])
                continue
            if each.name == "random" and abs(each.number) > MAX_OUTCOMES:
                return None
            parts.append(_values(each, tokens, self._fixed))
            count *= len(parts[-1])
            if count > MAX_OUTCOMES:
                return None
        try:
            texts = [b".".join(row).decode() for row in itertools.product(*parts)]
        except UnicodeDecodeError:  # cut inside a character
            return None
        return tuple(dict.fromkeys(map(_valid, texts)))


def _valid(text: str) -> str | None:
    try:
        engine.check_subject(text, "server")
    except SubtrieError:
        return None
    return text


def _function(token: str, stars: list[int], fixed: bool) -> _Function:
    """The meaning of one token of a destination."""
    if token == ">":
        return _Function("rest")
    if found := _NUMBERED.fullmatch(token):
        return _Function("wildcard", _indexes([found[1]], stars, fixed))
    if not (len(token) > 4 and token.startswith("{{") and token.endswith("}}")):
        if any(blank in token for blank in " \t\n\f\r"):
            raise ValueError("a token with a blank")
        return _Function("literal", text=token)
    call = _CALL.search(token)
    if call is None:
        raise ValueError(f"no function is called {token}")
    name, arguments = call[1].lower(), _COMMA.split(call[2])
    if name == "wildcard":
        if len(arguments) != 1:
            raise ValueError(f"{token} takes one number")
        return _Function(name, _indexes(arguments, stars, fixed))
    if name == "random":
        if len(arguments) != 1:
            raise ValueError(f"{token} takes one number")
        return _Function(name, number=_integer(arguments[0]))
    if name == "partition":
        chosen = () if fixed else _indexes(arguments[1:], stars, fixed)
        return _Function(name, chosen, _integer(arguments[0]))
    if len(arguments) != 2:
        raise ValueError(f"{token} takes two arguments")
    indexes = _indexes(arguments[:1], stars, fixed)
    if name == "split":
        if " " in arguments[1] or "." in arguments[1]:
            raise ValueError(f"{token} splits at a text without blanks and dots")
        return _Function(name, indexes, text=arguments[1])
    return _Function(name, indexes, _integer(arguments[1]))


def _integer(text: str) -> int:
    if not _INTEGER.fullmatch(text.strip(" ")):
        raise ValueError(f"{text or 'nothing'} is not a number")
    return int(text)


def _indexes(texts: list[str], stars: list[int], fixed: bool) -> tuple[int, ...]:
    """The places of numbered wildcards in the source; a number below 1 is the first token."""
    numbers = [_integer(text) for text in texts]
    if numbers and (fixed or max(numbers) > len(stars)):
        raise ValueError(f"the source has {len(stars)} wildcards, not {max(numbers)}")
    return tuple(stars[number - 1] if number > 0 else 0 for number in numbers)


def _values(function: _Function, tokens: list[bytes], fixed: bool) -> list[bytes]:
    """The texts that a token of a destination may become."""
    name, number = function.name, function.number
    if name == "literal":
        return [function.text.encode()]
    if name == "random":
        return [str(each).encode() for each in range(max(abs(number), 1))]
    if name == "partition":
        keys = [b"".join(tokens[index] for index in function.indexes)]
        if not function.indexes:
            # Of a subject without wildcards the model does not decide what is hashed.
            keys = [b".".join(tokens), b""] if fixed else [b".".join(tokens)]
        return list(dict.fromkeys(_partition(key, number) for key in keys))
    token = tokens[function.indexes[0]]
    if name == "split":
        return [_split(token, function.text.encode())]
    if name != "wildcard" and not 0 < number < len(token):
        return [token]
    return [_cut(name, token, number)]


def _cut(name: str, token: bytes, size: int) -> bytes:
    """A token, or a part of it, cut at bytes."""
    if name == "splitfromleft":
        return token[:size] + b"." + token[size:]
    if name == "splitfromright":
        return token[:-size] + b"." + token[-size:]
    if name == "left":
        return token[:size]
    if name == "right":
        return token[-size:]
    if name in ("slicefromleft", "slicefromright"):
        first = len(token) % size if name == "slicefromright" else 0
        starts = range(first, len(token), size)
        pieces = [token[:first]] * (first > 0) + [token[at : at + size] for at in starts]
        return b".".join(pieces)
    return token


def _split(token: bytes, separator: bytes) -> bytes:
    """The parts between separators as tokens; two separators at the start leave an empty one."""
    if not separator:
        return b".".join(each.encode() for each in token.decode())
    parts = token.split(separator)
    result = b""
    for index, part in enumerate(parts):
        result += part
        if index + 1 < len(parts) and parts[index + 1] and (index > 0 or part):
            result += b"."
    return result


def _partition(key: bytes, count: int) -> bytes:
    """The number of a partition: the FNV-1a hash of 32 bits, modulo the number of partitions."""
    if count == 0:
        return b"0"
    value = 2_166_136_261
    for byte in key:
        value = (value ^ byte) * 16_777_619 % 2**32
    return str(value % (count % 2**32)).encode()
