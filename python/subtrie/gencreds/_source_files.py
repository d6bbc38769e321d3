"""The files of a source tree, parsed and never imported (A29).

A folder means all its Python files but tests; a file means itself and what it imports from beside
it. Whatever a file imports from the same project is read too, for what it defines. A tree may be
hostile: sizes are bounded, links that lead out are refused, and each error names file and line.
"""

from __future__ import annotations

import ast
import os
import stat
import warnings
from pathlib import Path

from .._file_errors import failure

#: Largest file, in bytes, and most files of one scan.
MOST_BYTES = 4 << 20
MOST_FILES = 20_000

_PASSED_OVER = {"node_modules", "site-packages", "__pycache__", "build", "dist", "tests", "test"}


class File:
    """One parsed file. ``name`` is how messages call it."""

    def __init__(self, path: Path, name: str, tree: ast.Module) -> None:
        self.path, self.name, self.tree = path, name, tree

    def __repr__(self) -> str:
        return f"<File {self.name}>"


class Sources:
    """All files that a scan has read. ``own`` are those whose services are meant.

    Raises ``PermissionsError`` (``.file``, ``.line``) for what cannot be read or parsed,
    ``FileNotFoundError`` where there is nothing at ``path``.
    """

    def __init__(self, path: str | Path) -> None:
        self.given = Path(path)
        if not self.given.exists():
            raise FileNotFoundError(f"{self.given}: no such file or folder")
        self.root = Path(os.path.abspath(self.given))
        self.folder = self.root if self.root.is_dir() else self.root.parent
        self.project = self._project()
        self.files: dict[Path, File] = {}
        self._folders: set[Path] = set()
        self.tests: list[str] = []
        #: Does any file speak of this package? Where none does, nothing can be a call of its.
        self.mentions = False
        self._modules: dict[tuple[Path, str], Path | None] = {}
        if self.root.is_dir():
            for each in self._python_files():
                self.load(each)
        else:
            self.load(self.root)
        self.own = set(self.files)

    @property
    def whole(self) -> bool:
        """Whether a folder was given, and not one file and what it imports."""
        return self.root.is_dir()

    def _project(self) -> Path:
        """The folder up to which imports are followed: the nearest with a ``pyproject.toml``."""
        for each in (self.folder, *self.folder.parents):
            if (each / "pyproject.toml").is_file():
                return each
        top = self.folder
        while (top / "__init__.py").is_file() and top != top.parent:
            top = top.parent
        return top

    def named(self, path: Path) -> str:
        """A path as messages call it: as it was given."""
        if self.root.is_dir() and path.is_relative_to(self.root):
            return str(self.given / path.relative_to(self.root))
        return os.path.relpath(path) if not self.given.is_absolute() else str(path)

    def _python_files(self) -> list[Path]:
        found: list[Path] = []
        for folder, folders, files in os.walk(self.root):
            here = Path(folder)
            for each in list(folders):
                way = here / each
                if each.startswith(".") or each in _PASSED_OVER or (way / "pyvenv.cfg").exists():
                    folders.remove(each)
                    if each in ("tests", "test"):
                        self.tests.append(self.named(way))
                elif way.is_symlink():
                    self._check_link(way)
            folders.sort()
            for each in sorted(files):
                if not each.endswith((".py", ".pyw")) or each.startswith("."):
                    continue
                way = here / each
                if each.startswith("test_") or each.endswith("_test.py") or each == "conftest.py":
                    self.tests.append(self.named(way))
                elif not (way.is_symlink() and self._check_link(way)):
                    found.append(way)
                    if len(found) > MOST_FILES:
                        raise failure("source-files", self.named(self.root), self.given)
        return found

    def _check_link(self, link: Path) -> bool:
        """A link within the tree is met again where it leads. Any other is refused."""
        target = Path(os.path.realpath(link))
        if not target.is_relative_to(os.path.realpath(self.root)) or not target.exists():
            raise failure("source-link", link.name, Path(self.named(link)))
        return True

    def load(self, path: Path) -> File:
        """Reads and parses a file, once."""
        file = self.files.get(path)
        if file is None:
            name = self.named(path)
            data = _bytes(path, Path(name))
            self.mentions = self.mentions or b"subtrie" in data
            file = File(path, name, _parsed(data, Path(name)))
            self.files[path] = file
            self._folders.update(path.parents)
        return file

    def module(self, dotted: str, importer: File) -> Path | None:
        """Where ``import dotted`` leads from a file: the path without ``.py``; None if abroad.

        As Python finds it when each folder that is no package may be where programs start.
        """
        key = (importer.path.parent, dotted)
        if key not in self._modules:
            self._modules[key] = self._found(dotted, importer)
        return self._modules[key]

    def _found(self, dotted: str, importer: File) -> Path | None:
        parts = dotted.split(".")
        if parts[0] == "subtrie":
            return None
        for base in (importer.path.parent, *importer.path.parent.parents):
            if not (base / "__init__.py").is_file():
                for start in (base, base / "src"):
                    way = start.joinpath(*parts)
                    if self.at(way) is not None or self.is_folder(way):
                        return way
            if base == self.project:
                break
        return None

    def at(self, way: Path) -> File | None:
        """The file of a module at this path without ``.py``."""
        for path in (way / "__init__.py", way.with_name(way.name + ".py")):
            if path in self.files:
                return self.files[path]
            if path.is_relative_to(self.project) and path.is_file():
                real = Path(os.path.realpath(path))
                if real.is_relative_to(os.path.realpath(self.project)):
                    return self.load(path)
        return None

    def is_folder(self, way: Path) -> bool:
        """A package without ``__init__.py``, with something of Python in it."""
        return way in self._folders


def _bytes(path: Path, name: Path) -> bytes:
    try:
        handle = os.open(path, os.O_RDONLY | getattr(os, "O_NONBLOCK", 0))
        with os.fdopen(handle, "rb") as opened:
            status = os.fstat(handle)
            if not stat.S_ISREG(status.st_mode):
                raise failure("source-read", "no regular file", name)
            if status.st_size > MOST_BYTES:
                raise failure("source-size", f"{status.st_size} bytes", name)
            return opened.read(MOST_BYTES + 1)
    except OSError as error:
        raise failure("source-read", error.strerror or type(error).__name__, name) from None


def _parsed(data: bytes, name: Path) -> ast.Module:
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # an invalid escape is not ours to remark
            return ast.parse(data)
    except SyntaxError as error:
        raise failure("source-syntax", error.msg, name, error.lineno or 1) from None
    except (ValueError, LookupError) as error:
        raise failure("source-syntax", str(error), name, 1) from None
    except (RecursionError, MemoryError):
        raise failure("source-depth", "its nesting", name, 1) from None
