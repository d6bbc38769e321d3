"""The files of a source tree, parsed and never imported.

A folder means all its Python files but tests; a file means itself and the modules in its folder
that it imports. Modules of the same project that a file imports are read too, for their
definitions. A tree may be hostile: sizes are bounded, links that lead out of it are refused, and
errors name file and line.
"""

from __future__ import annotations

import ast
import io
import os
import re
import stat
import tokenize
import warnings
from pathlib import Path

from .._core.errors import SubtrieError
from .._core.file_errors import Mistakes, file_error

#: Largest file, in bytes, and most files of one scan: above any real project, so that a hostile
#: one cannot exhaust memory.
MAX_FILE_BYTES = 4 << 20
MAX_FILES = 20_000

#: Most parts of the name of a module: Python's parser makes the text of each prefix, so that a
#: file of 120 KB would take gigabytes.
MAX_PARTS = 100
_BLANK = r"(?:[ \t\f]|\\\r?\n)*+"
_IMPORT = re.compile(r"\b(?:import|from)\b(?:[^\n;\\]|\\\r?\n|\\)*+")
_DOTTED = re.compile(rf"\w++(?:{_BLANK}\.{_BLANK}\w++)*+")

_SKIPPED = {"node_modules", "site-packages", "__pycache__", "build", "dist", "tests", "test"}


class SourceFile:
    """One parsed file; ``name`` is its name in messages."""

    def __init__(self, path: Path, name: str, tree: ast.Module) -> None:
        self.path, self.name, self.tree = path, name, tree

    def __repr__(self) -> str:
        return f"<SourceFile {self.name}>"


class SourceFiles:
    """The files that a scan has read; ``own`` are those whose services are scanned.

    Raises:
        PermissionsError: a file that cannot be read or parsed, with ``.file`` and ``.line``.
        FileNotFoundError: nothing exists at ``path``.
    """

    def __init__(self, path: str | Path) -> None:
        self.given = Path(path)
        if not self.given.exists():
            raise FileNotFoundError(f"{self.given}: no such file or folder")
        self.root = Path(os.path.abspath(self.given))
        self.folder = self.root if self.root.is_dir() else self.root.parent
        self.project = self._project()
        self.files: dict[Path, SourceFile] = {}
        self._folders: set[Path] = set()
        self.tests: list[str] = []
        #: True if a file mentions this package; otherwise no call can be one of a connector.
        self.mentions = False
        self._modules: dict[tuple[Path, str], Path | None] = {}
        if self.root.is_dir():
            mistakes = Mistakes()
            for each in self._python_files():
                try:
                    self.load(each)
                except SubtrieError as error:
                    mistakes.add(error)
            mistakes.check()
        else:
            self.load(self.root)
        self.own = set(self.files)
        #: Files whose mistakes do not concern the services that are asked for.
        self.passed_over: set[Path] = set()

    @property
    def whole(self) -> bool:
        """True if a folder was given, False for one file and what it imports."""
        return self.root.is_dir()

    def _project(self) -> Path:
        """The folder in which imports are followed: the nearest with a ``pyproject.toml``."""
        for each in (self.folder, *self.folder.parents):
            if (each / "pyproject.toml").is_file():
                return each
        top = self.folder
        while (top / "__init__.py").is_file() and top != top.parent:
            top = top.parent
        return top

    def named(self, path: Path) -> str:
        """Return a path as messages name it: relative to what was given."""
        if self.root.is_dir() and path.is_relative_to(self.root):
            return str(self.given / path.relative_to(self.root))
        return os.path.relpath(path) if not self.given.is_absolute() else str(path)

    def _python_files(self) -> list[Path]:
        found: list[Path] = []
        for folder, folders, files in os.walk(self.root):
            here = Path(folder)
            for each in list(folders):
                module_path = here / each
                if (
                    each.startswith(".")
                    or each in _SKIPPED
                    or (module_path / "pyvenv.cfg").exists()
                ):
                    folders.remove(each)
                    if each in ("tests", "test"):
                        self.tests.append(self.named(module_path))
                elif module_path.is_symlink():
                    self._check_link(module_path)
            folders.sort()
            for each in sorted(files):
                if not each.endswith((".py", ".pyw")) or each.startswith("."):
                    continue
                module_path = here / each
                if each.startswith("test_") or each.endswith("_test.py") or each == "conftest.py":
                    self.tests.append(self.named(module_path))
                elif not (module_path.is_symlink() and self._check_link(module_path)):
                    found.append(module_path)
                    if len(found) > MAX_FILES:
                        raise file_error("source-files", self.named(self.root), self.given)
        return found

    def _check_link(self, link: Path) -> bool:
        """Accept a link within the tree, whose target is read anyway; refuse any other."""
        target = Path(os.path.realpath(link))
        if not target.is_relative_to(os.path.realpath(self.root)) or not target.exists():
            raise file_error("source-link", link.name, Path(self.named(link)))
        return True

    def load(self, path: Path) -> SourceFile:
        """Read and parse a file, once."""
        file = self.files.get(path)
        if file is None:
            name = self.named(path)
            data = _bytes(path, Path(name))
            self.mentions = self.mentions or b"subtrie" in data
            file = SourceFile(path, name, _parsed(data, Path(name)))
            self.files[path] = file
            self._folders.update(path.parents)
        return file

    def module(self, dotted: str, importer: SourceFile) -> Path | None:
        """Return the path without ``.py`` of a module that a file imports; None if it is external.

        Resolves as Python does, where each folder that is not a package may be on the import path.

        Args:
            dotted: the name of the module.
            importer: the importing file.
        """
        key = (importer.path.parent, dotted)
        if key not in self._modules:
            self._modules[key] = self._found(dotted, importer)
        return self._modules[key]

    def _found(self, dotted: str, importer: SourceFile) -> Path | None:
        parts = dotted.split(".")
        if parts[0] == "subtrie":
            return None
        for base in (importer.path.parent, *importer.path.parent.parents):
            if not (base / "__init__.py").is_file():
                for start in (base, base / "src"):
                    module_path = start.joinpath(*parts)
                    if self.at(module_path) is not None or self.is_folder(module_path):
                        return module_path
            if base == self.project:
                break
        return None

    def at(self, module_path: Path) -> SourceFile | None:
        """Return the file of a module at a path without ``.py``; None if there is none."""
        for path in (module_path / "__init__.py", module_path.with_name(module_path.name + ".py")):
            if path in self.files:
                return self.files[path]
            if path.is_relative_to(self.project) and os.path.isfile(path):  # never raises
                real = Path(os.path.realpath(path))
                if real.is_relative_to(os.path.realpath(self.project)):
                    return self.load(path)
        return None

    def is_folder(self, module_path: Path) -> bool:
        """Return True for a namespace package: a folder that holds a file of the tree."""
        return module_path in self._folders


def _bytes(path: Path, name: Path) -> bytes:
    try:
        handle = os.open(path, os.O_RDONLY | getattr(os, "O_NONBLOCK", 0))
        with os.fdopen(handle, "rb") as opened:
            status = os.fstat(handle)
            if not stat.S_ISREG(status.st_mode):
                raise file_error("source-read", "not a regular file", name)
            if status.st_size > MAX_FILE_BYTES:
                raise file_error("source-size", f"{status.st_size} bytes", name)
            return opened.read(MAX_FILE_BYTES + 1)
    except OSError as error:
        raise file_error("source-read", error.strerror or type(error).__name__, name) from None


def _check_imports(data: bytes, name: Path) -> None:
    """Refuse an import of a module whose name has too many parts, before Python parses it."""
    try:
        encoding, _ = tokenize.detect_encoding(io.BytesIO(data).readline)
    except SyntaxError:  # in the first two lines
        encoding = "utf-8"
    try:
        text = data.decode(encoding, "replace")  # Python parses up to a byte that is not valid
    except (ValueError, LookupError):
        return  # Python says what is wrong
    for statement in _IMPORT.finditer(text):
        if statement[0].count(".") < MAX_PARTS:
            continue
        for dotted in _DOTTED.finditer(statement[0]):
            if dotted[0].count(".") >= MAX_PARTS:
                line = text.count("\n", 0, statement.start()) + 1
                raise file_error("source-depth", "the name of a module", name, line)


def _parsed(data: bytes, name: Path) -> ast.Module:
    _check_imports(data, name)
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # warnings about the scanned source are not reported
            return ast.parse(data)
    except SyntaxError as error:
        raise file_error("source-syntax", error.msg, name, error.lineno or 1) from None
    except (ValueError, LookupError) as error:
        raise file_error("source-syntax", str(error), name, 1) from None
    except (RecursionError, MemoryError):
        raise file_error("source-depth", "the syntax tree", name, 1) from None
