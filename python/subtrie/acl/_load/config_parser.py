"""Recursive-descent parser of nats-server's configuration language.

Maps, arrays, strings, variables, includes: ``key: value``, ``key = value`` or ``key value``;
commas, semicolons or new lines between; comments after ``#`` and ``//``; the last duplicate wins.
What the broker accepts with a surprising meaning (a comma as the start of a key, say) is refused.
"""

from __future__ import annotations

import dataclasses
import re
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from contextvars import ContextVar
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, NoReturn

from ..._core.errors import SubtrieError
from ..._core.file_errors import file_error
from .files import STANDARD_INPUT, read_text

#: Deepest nesting of maps, arrays and includes.
MAX_DEPTH = 32
#: Most files read for one configuration.
MAX_FILES = 256

_SPACE = re.compile(r"[ \t]*")
_BLANKS = re.compile(r"(?:[ \t\r\n]+|(?:#|//)[^\r\n]*)*")
_BLANK_STARTS = frozenset(" \t\r\n#/")
_PLAIN = re.compile(r'[^"\\]*')
_BARE = re.compile(r"""[^\s,;\]}]*""")
_KEY = re.compile(r"""[^\s:={}\[\],;"'#]+""")
_INTEGER = re.compile(r"(-?[0-9]{1,20})([kmgtpe]?)(b|i|ib)?", re.IGNORECASE)
_FLOAT = re.compile(r"-?[0-9]+\.[0-9]+")
_ADDRESS = re.compile(r"[0-9]+\.[0-9]+\.[0-9.:-]*")
_DATE = re.compile(r"[0-9]{4}-[0-9]{2}-[0-9]{2}T[0-9]{2}:[0-9]{2}:[0-9]{2}Z")
_ESCAPES = {"t": "\t", "n": "\n", "r": "\r", '"': '"', "\\": "\\"}
#: A line that may hold a secret is not repeated in a message.  # T16
_SECRET = re.compile("pass|token|seed|secret", re.IGNORECASE)
#: Keys whose value may be unknown: a reviewer has no secrets, and often not the names.
_UNKNOWN = re.compile("pass|token|nkey|seed|secret|^user(name)?$", re.IGNORECASE)
#: YAML, which nats-server does not read: by its name, or as a manifest of Kubernetes.
_YAML = (".yaml", ".yml")
_MANIFEST = (re.compile(r"^apiVersion: *\w", re.M), re.compile(r"^kind: *\w", re.M))
_BOOLS = {"true": True, "yes": True, "on": True, "false": False, "no": False, "off": False}


class UnknownText(str):
    """The name of a variable that is not defined, where a name, a secret or a key stands."""

    __slots__ = ()


@dataclasses.dataclass(slots=True)
class Node:
    """A value (dict, list, str, int, float, bool, datetime) and its place in a file."""

    value: Any = dataclasses.field(repr=False)  # it may be a password
    file: Path
    line: int
    column: int = 1
    used: bool = False  # a variable refers to it, so the broker accepts any key


def parse_file(
    path: Path, env: Mapping[str, str], root: Path, files: list[Path] | None = None
) -> Node:
    """Return a configuration as one map.

    Args:
        path: the file.
        env: values of variables that the configuration does not define.
        root: the folder that must contain included files.
        files: gets each file that is read, with links resolved.

    Raises:
        PermissionsError: a syntax error, or an include that is not possible.
        OSError: the file cannot be read.
    """
    kept = _KEPT.get()
    key = (str(path), root.resolve(), id(env))
    if kept is None or key not in kept or str(path) == str(STANDARD_INPUT):
        read: list[Path] = []
        found = _ConfigReader(env, root.resolve(), read).file(path, None, None), read
        if kept is not None:
            kept[key] = found
    else:
        found = kept[key]
    if files is not None:
        files += found[1]
    return found[0]


@contextmanager
def each_file_once() -> Iterator[None]:
    """Read each configuration once, however often it is asked for, until the block ends."""
    token = _KEPT.set({})
    try:
        yield
    finally:
        _KEPT.reset(token)


#: The configurations of the block ``each_file_once``, with the files that each includes.
_KEPT: ContextVar[dict[tuple[str, Path, int], tuple[Node, list[Path]]] | None] = ContextVar(
    "kept configurations", default=None
)


class _ConfigReader:
    """Reads the files of one configuration; holds what they share."""

    def __init__(self, env: Mapping[str, str], root: Path, files: list[Path]) -> None:
        self.env, self.root = env, root
        self.open: list[Path] = []
        self.files = files
        self.resolving: set[str] = set()

    def file(self, path: Path, parent: Path | None, line: int | None) -> Node:
        if parent is not None and "\0" in str(path):
            raise file_error("include-file", path.name, parent, line)
        real = path.resolve()
        if parent is not None and not real.is_relative_to(self.root):
            raise file_error("include-root", path.name, parent, line)
        if real in self.open:
            raise file_error("include-cycle", path.name, parent, line)
        self.files.append(real)
        if len(self.open) >= MAX_DEPTH or len(self.files) > MAX_FILES:
            raise file_error("include-depth", path.name, parent, line)
        try:
            if parent is not None and not path.is_file():  # a pipe may have no end
                raise file_error("include-file", path.name, parent, line)
            text = read_text(path)
        except OSError:
            if parent is None:
                raise
            raise file_error("include-file", path.name, parent, line) from None
        if parent is None and (
            path.suffix in _YAML or all(line.search(text) for line in _MANIFEST)
        ):
            raise file_error("conf-yaml", path.name, path)
        self.open.append(real)
        values = _ConfigParser(text, path, self).document()
        self.open.pop()
        return Node(values, path, 1)


class _ConfigParser:
    """Parses one text, from left to right."""

    def __init__(self, text: str, file: Path, reader: _ConfigReader, depth: int = 0) -> None:
        self._text, self._file, self._reader = text, file, reader
        self._at = 0
        self._counted = (0, 1, 0)  # a place, its line, and where the line begins
        self._depth = depth
        self._key_read = ""
        self._scopes: list[dict[str, Node]] = []

    def document(self) -> dict[str, Node]:
        self._blanks()
        # A whole configuration may be enclosed in braces, as JSON is.
        if self._peek() == "{":
            self._at += 1
            values = self._map("}")
            self._blanks()
        else:
            values = self._map("")
        if self._at < len(self._text):
            self._fail("conf-syntax")
        return values

    def single(self) -> Node:
        """The value in an environment variable, which the broker parses too."""
        self._spaces()
        node = self._value()
        self._blanks()
        if self._at < len(self._text):
            self._fail("conf-syntax")
        return node

    # --- characters

    @property
    def _line(self) -> int:
        place, line, start = self._counted
        if lines := self._text.count("\n", place, self._at):
            line, start = line + lines, self._text.rfind("\n", place, self._at) + 1
        self._counted = (self._at, line, start)
        return line

    def _fail(self, reason: str, value: str = "the configuration") -> NoReturn:
        start = self._text.rfind("\n", 0, self._at) + 1
        if _SECRET.search(self._text[start:].split("\n", 1)[0]):
            value = "the configuration"
        raise file_error(reason, value, self._file, self._line)

    def _peek(self) -> str:
        return self._text[self._at : self._at + 1]

    def _spaces(self) -> None:
        found = _SPACE.match(self._text, self._at)
        self._at = found.end() if found else self._at

    def _blanks(self) -> bool:
        """Skip blanks, new lines and comments; return True if there was a new line."""
        text, start = self._text, self._at
        if text[start : start + 1] not in _BLANK_STARTS:
            return False
        found = _BLANKS.match(text, start)
        self._at = found.end() if found else start
        return text.find("\n", start, self._at) >= 0 or text.find("\r", start, self._at) >= 0

    # --- values

    def _map(self, end: str) -> dict[str, Node]:
        values: dict[str, Node] = {}
        self._scopes.append(values)
        self._deeper()
        while True:
            self._blanks()
            character = self._peek()
            if character == end:
                break
            if not character:
                self._fail("conf-end")
            line = self._line
            key = self._key()
            if key is None:
                values.update(self._included(line))
            else:
                self._assign(values, key, line)
            if not self._ended(end):
                self._fail("conf-separator" if self._peek() else "conf-end")
        self._at += len(end)
        self._scopes.pop()
        self._depth -= 1
        return values

    def _deeper(self) -> None:
        self._depth += 1
        if self._depth > MAX_DEPTH:
            self._fail("conf-depth")

    def _assign(self, values: dict[str, Node], key: str, line: int) -> None:
        while self._peek() and self._peek() in " \t\r\n":
            self._at += 1
        if self._peek() and self._peek() in ":=":
            self._at += 1
            self._spaces()
        if not self._peek() or self._peek() in "\r\n":
            self._fail("conf-value", key)
        before, self._key_read = self._key_read, key
        node = self._value()
        self._key_read = before
        values[key] = Node(node.value, node.file, line, node.column, node.used)

    def _ended(self, end: str) -> bool:
        """Skip what ends a value: a comma, a semicolon, a new line, or the end of its block."""
        if self._blanks():
            if self._peek() in (",", ";") and self._peek():
                self._fail("conf-separator")
            return True
        character = self._peek()
        if character and (character == "," or (character == ";" and end != "]")):
            self._at += 1
            return True
        return character == end

    def _key(self) -> str | None:
        """A key; None if it was the word ``include``."""
        quote = self._peek()
        if quote in ("'", '"'):
            stop = self._text.find(quote, self._at + 1)
            if stop < 0:
                self._fail("conf-end")
            key = self._text[self._at + 1 : stop]
            self._at = stop + 1
            return key
        found = _KEY.match(self._text, self._at)
        if not found:
            self._fail("conf-key")
        after = self._text[found.end() : found.end() + 1]
        if after and not (after.isspace() or after in ":="):
            self._fail("conf-key", found[0])
        self._at = found.end()
        return None if found[0].lower() == "include" and after.isspace() else found[0]

    def _included(self, line: int) -> dict[str, Node]:
        self._spaces()
        quote = self._peek()
        if quote in ("'", '"'):
            stop = self._text.find(quote, self._at + 1)
            if stop < 0:
                self._fail("conf-end")
            name, self._at = self._text[self._at + 1 : stop], stop + 1
        else:
            found = _BARE.match(self._text, self._at)
            name = found[0] if found else ""
            self._at += len(name)
        if not name or name[0] in "[{(\\-" or name[0].isdigit():
            self._fail("include-file", name)
        # The broker joins even an absolute path to the folder of the including file.
        path = self._file.parent / name.lstrip("/")
        values: dict[str, Node] = self._reader.file(path, self._file, line).value
        return values

    def _value(self) -> Node:
        line = self._line
        column = self._at - self._counted[2] + 1
        node = self._read(line)
        node.column = column
        return node

    def _read(self, line: int) -> Node:
        character = self._peek()
        value: Any
        if character == "{":
            self._at += 1
            value = self._map("}")
        elif character == "[":
            self._at += 1
            value = self._array()
        elif character == "'":
            stop = self._text.find("'", self._at + 1)
            if stop < 0:
                self._fail("conf-end")
            value, self._at = self._text[self._at + 1 : stop], stop + 1
        elif character == '"':
            self._at += 1
            value = self._quoted()
        elif character == "(":
            self._fail("conf-block")
        else:
            return self._bare(line)
        return Node(value, self._file, line)

    def _array(self) -> list[Node]:
        values: list[Node] = []
        self._deeper()
        while True:
            self._blanks()
            character = self._peek()
            if character == "]":
                break
            if not character:
                self._fail("conf-end")
            if character in ",;":
                self._fail("conf-separator")
            values.append(self._value())
            if not self._ended("]"):
                self._fail("conf-separator" if self._peek() else "conf-end")
        self._at += 1
        self._depth -= 1
        return values

    def _quoted(self) -> str:
        parts: list[str] = []
        while True:
            found = _PLAIN.match(self._text, self._at)
            plain = found[0] if found else ""
            parts.append(plain)
            self._at += len(plain) + 1
            character = self._text[self._at - 1 : self._at]
            if not character:
                self._fail("conf-end")
            if character == '"':
                return "".join(parts)
            parts.append(self._escape())

    def _escape(self) -> str:
        letter = self._peek()
        self._at += 1
        if letter == "x":
            digits = self._text[self._at : self._at + 2]
            self._at += 2
            if not re.fullmatch("[0-7][0-9a-fA-F]", digits):
                self._fail("conf-escape")
            return chr(int(digits, 16))
        if letter not in _ESCAPES:
            self._fail("conf-escape")
        return _ESCAPES[letter]

    def _bare(self, line: int) -> Node:
        found = _BARE.match(self._text, self._at)
        word = found[0] if found else ""
        if not word or "'" in word or "\\" in word or word[0] == ".":
            self._fail("conf-value")
        start, self._at = self._at, self._at + len(word)
        if word.lower() in _BOOLS:
            return Node(_BOOLS[word.lower()], self._file, line)
        if word[0] == "$":
            return self._variable(word[1:], line)
        if word[0] == "-" or word[0].isdigit():
            # The broker swallows a bracket right after a number.
            if self._peek() == "]":
                self._at = start
                self._fail("conf-number")
            return Node(self._number(word), self._file, line)
        return Node(word, self._file, line)

    def _number(self, word: str) -> Any:
        if found := _INTEGER.fullmatch(word):
            factor = 1024 if found[3] else 1000
            number = int(found[1]) * factor ** (
                "kmgtpe".find(found[2].lower()) + 1 if found[2] else 0
            )
            if (found[3] and not found[2]) or not -(2**63) <= number < 2**63:
                self._fail("conf-number")
            return number
        if _FLOAT.fullmatch(word):
            return float(word)
        if _DATE.fullmatch(word):
            try:
                return datetime.strptime(word, "%Y-%m-%dT%H:%M:%SZ").replace(tzinfo=UTC)
            except ValueError:
                self._fail("conf-number")
        if _ADDRESS.fullmatch(word):
            return word
        if not word[0].isascii() or re.match(r"-|[0-9]+[.-]|[0-9]{21}", word):
            self._fail("conf-number")
        return word

    def _variable(self, name: str, line: int) -> Node:
        if name.startswith("2a$"):  # a hash of a password, not a variable
            return Node("$" + name, self._file, line)
        for scope in reversed(self._scopes):
            if name in scope:
                scope[name].used = True
                return Node(scope[name].value, self._file, line)
        reader = self._reader
        if name not in reader.env and _UNKNOWN.search(self._key_read):
            return Node(UnknownText("$" + name), self._file, line)
        if name in reader.resolving or name not in reader.env:
            # The name is shown: it does not stand where a password does.
            raise file_error("conf-variable", name, self._file, line)
        reader.resolving.add(name)
        try:
            value = _ConfigParser(reader.env[name], self._file, reader, self._depth).single().value
        except SubtrieError:
            self._fail("conf-variable", name)
        reader.resolving.discard(name)
        return Node(value, self._file, line)
