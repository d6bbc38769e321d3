"""The bounds that ``docs/reliability.md`` states, and constants that look like bounds."""

from __future__ import annotations

import re
from importlib import import_module
from pathlib import Path

_PAGE = (Path(__file__).resolve().parents[1] / "docs" / "reliability.md").read_text()
_UNITS = {"KiB": 1 << 10, "MiB": 1 << 20}
_CONSTANT = re.compile(r"^(_?[A-Z][A-Z_]*)(?:, (_?[A-Z][A-Z_]*))?(?:: [^=]+)? = ", re.MULTILINE)
_BOUND = re.compile(r"MAX|MOST|LONGEST|LIMIT|LEAST|DEEPEST|KEPT|REMEMBERED|CAPACITY|HELD")


def stated_rows(heading: str) -> list[list[str]]:
    """Return the rows of the table below a heading: bound, value, and what is beyond it."""
    section = _PAGE.partition(f"## {heading}\n")[2].partition("\n## ")[0]
    return [
        [cell.strip() for cell in line.strip("|").split("|")]
        for line in section.splitlines()
        if line.startswith("|")
    ][2:]


def numbers_of(value: str) -> list[float]:
    """Return the numbers of a stated value."""
    return [
        float(number.replace(",", "")) * _UNITS.get(unit, 1)
        for number, unit in re.findall(r"(\d[\d,.]*) ?(KiB|MiB)?", value)
    ]


def constant(name: str, within: str = "subtrie") -> float:
    """Return the value of a constant, as ``acl/_lint.MOST_COMPARED``, of a module of a package."""
    module, _, last = name.rpartition(".")
    found: float = getattr(import_module(f"{within}.{module.replace('/', '.')}"), last)
    return found


def constants_like_bounds(folder: Path) -> dict[str, list[str]]:
    """Return the names of constants that look like bounds, by file below a folder."""
    found = {}
    for file in sorted(folder.rglob("*.py")):
        names = {name for pair in _CONSTANT.findall(file.read_text()) for name in pair if name}
        found[file.relative_to(folder).with_suffix("").as_posix()] = sorted(
            filter(_BOUND.search, names)
        )
    return found
