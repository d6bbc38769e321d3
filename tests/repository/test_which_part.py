"""The page *Which part do I need?*: every extra is there, with the size of its packages."""

from __future__ import annotations

import importlib.metadata as installed
import re
import tomllib
from pathlib import Path

import pytest
from packaging.requirements import Requirement

ROOT = Path(__file__).resolve().parents[2]
EXTRAS = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]["optional-dependencies"]
PAGE = (ROOT / "docs" / "which-part.md").read_text(encoding="utf-8")
SIZES = {name: int(size) for name, size in re.findall(r"^\| `([\w-]+)` \| (\d+) \|$", PAGE, re.M)}


def _megabytes(requirements: list[str]) -> float | None:
    """Return the size of the packages and of what they need, or None if one is not installed."""
    left, seen, size = [Requirement(each) for each in requirements], set(), 0
    while left:
        wanted = left.pop()
        if (key := (wanted.name, tuple(wanted.extras))) in seen:
            continue
        seen.add(key)
        try:
            found = installed.distribution(wanted.name)
        except installed.PackageNotFoundError:
            return None
        files = [Path(str(file.locate())) for file in found.files or () if file.suffix != ".pyc"]
        size += sum(file.stat().st_size for file in files if file.exists())
        for text in found.requires or ():
            other = Requirement(text)
            marks = [{"extra": extra} for extra in (*wanted.extras, "")]
            if other.marker is None or any(map(other.marker.evaluate, marks)):
                left.append(other)
    return size / 1e6


def test_every_extra_is_on_the_page():
    """``nats`` is a former name, so it is not."""
    assert {*SIZES, "nats"} == EXTRAS.keys()
    tasks = PAGE[: PAGE.index("## What an extra installs")]
    assert [name for name in SIZES if f"`{name}`" not in tasks] == []


@pytest.mark.parametrize("name", SIZES)
def test_the_size_of_an_extra_is_that_of_its_packages(name):
    """Versions differ a little in size, and the smallest count as one megabyte."""
    size = _megabytes(EXTRAS[name])
    if size is None:
        pytest.skip("a package of it is not installed here")
    assert size / 1.5 <= SIZES[name] <= max(1, 1.5 * size)
