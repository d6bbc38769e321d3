"""The package that ``ship`` sends: of this process, or of a wheel."""

from __future__ import annotations

import subprocess
import sys
import zipfile
from pathlib import Path
from typing import Any

import pytest

import subtrie
from subtrie.spark import ship


class Sent:
    """A session that keeps the file it is given, as a worker gets it."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.session_id = str(folder)

    def addArtifact(self, path: str, *, pyfile: bool) -> None:
        assert pyfile
        (self.folder / Path(path).name).write_bytes(Path(path).read_bytes())


@pytest.fixture
def session(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Any:
    monkeypatch.setattr(Sent, "__module__", "pyspark.sql.connect.session")
    (tmp_path / "worker").mkdir()
    return Sent(tmp_path / "worker")


def wheel_of(path: Path, mark: str) -> Path:
    """Write a wheel of the installed package, with a mark in it."""
    package = Path(subtrie.__file__).parent
    with zipfile.ZipFile(path, "w") as archive:
        for file in package.rglob("*"):
            if file.suffix in (".py", ".so", ".json", ".js", ".css"):
                archive.write(file, f"subtrie/{file.relative_to(package)}")
        archive.writestr("subtrie/_mark.py", f"MARK = {mark!r}\n")
        archive.writestr("subtrie-0.dist-info/METADATA", "Name: subtrie\n")
    return path


def imported(path: Path, program: str) -> str:
    """Return what a program prints that imports the package from a zip file."""
    done = subprocess.run(
        [sys.executable, "-I", "-c", f"import sys; sys.path.insert(0, {str(path)!r})\n{program}"],
        check=True,
        capture_output=True,
        text=True,
    )
    return done.stdout.strip()


def test_a_worker_imports_the_package_of_a_wheel(session: Any, tmp_path: Path) -> None:
    name = ship(session, wheel=wheel_of(tmp_path / "subtrie-0-py3-none-any.whl", "of the wheel"))
    program = (
        "import subtrie, subtrie._mark\n"
        "print(subtrie.engine().name, subtrie._mark.MARK, subtrie.__file__)"
    )
    told = imported(session.folder / name, program)
    assert told.startswith("native of the wheel ")
    assert f"{name}.unpacked" in told


def test_a_wheel_of_another_package_is_refused(session: Any, tmp_path: Path) -> None:
    wheel = tmp_path / "other-1-py3-none-any.whl"
    with zipfile.ZipFile(wheel, "w") as archive:
        archive.writestr("other/__init__.py", "")
    with pytest.raises(ValueError, match=r"other-1-.*\.whl does not contain the package subtrie"):
        ship(session, wheel=wheel)
    assert list(session.folder.iterdir()) == []


def test_every_file_that_the_package_needs_is_sent(session: Any) -> None:
    """Messages of NATS Streaming could not be read on a worker: their definition was not sent."""
    name = ship(session)
    program = "import subtrie, os; print(os.path.dirname(subtrie.__file__))"
    folder = Path(imported(session.folder / name, program))
    package = Path(subtrie.__file__).parent
    needed = {
        file.relative_to(package)
        for file in package.rglob("*")
        if file.suffix not in ("", ".LICENSE", ".pyc", ".pyi") and file.is_file()
    }
    assert {each for each in needed if not (folder / each).is_file()} == set()
