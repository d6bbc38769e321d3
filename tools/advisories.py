"""Compare every crate and every package with the known advisories about their versions.

    python tools/advisories.py [--rust-db FOLDER] [--python-db FOLDER]

``FOLDER`` is a clone of https://github.com/rustsec/advisory-db, or of
https://github.com/pypa/advisory-database, for machines without a network; without one, cargo-audit
and pip-audit fetch what they need. Exit 1 if a version has an advisory, 2 if something is missing.
"""

from __future__ import annotations

import argparse
import re
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from importlib import metadata
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parent.parent

#: Seconds for each of the two; most of it is the fetching.
_LIMIT = 300.0


class Missing(Exception):
    """A program or a database is not there."""


def rust(database: Path | None) -> bool:
    """Return whether no crate of the lock file has an advisory."""
    if shutil.which("cargo-audit") is None:
        raise Missing("cargo-audit is not installed; run: cargo install --locked cargo-audit")
    command = ["cargo-audit", "audit", "--file", str(ROOT / "Cargo.lock")]
    if database is not None:
        if not (database / "crates").is_dir():
            raise Missing(f"{database} is not a clone of https://github.com/rustsec/advisory-db")
        command += ["--db", str(database), "--no-fetch", "--stale"]
    return subprocess.run(command, check=False, timeout=_LIMIT).returncode == 0


def python(database: Path | None) -> bool:
    """Return whether no installed package has an advisory."""
    installed = {
        re.sub(r"[-_.]+", "-", each.metadata["Name"]).lower(): each.version
        for each in metadata.distributions()
    }
    # Itself, and what comes with Python.
    for name in ("subtrie", "pip", "setuptools"):
        installed.pop(name, None)
    if database is not None:
        return _compared(installed, database)
    if shutil.which("pip-audit") is None:
        raise Missing("pip-audit is not installed; run: python -m pip install pip-audit")
    with tempfile.NamedTemporaryFile("w", suffix=".txt") as frozen:
        frozen.writelines(f"{name}=={version}\n" for name, version in sorted(installed.items()))
        frozen.flush()
        # Strict: a package that the service does not know is an error, not a line of the report.
        command = ["pip-audit", "--strict", "--no-deps", "--disable-pip", "-r", frozen.name]
        return subprocess.run(command, check=False, timeout=_LIMIT).returncode == 0


def _compared(installed: dict[str, str], database: Path) -> bool:
    """Compare the packages with a database on disk, which pip-audit cannot read."""
    folder = database / "vulns"
    if not folder.is_dir():
        raise Missing(f"{database} is not a clone of https://github.com/pypa/advisory-database")
    found = [
        f"{name} {version}: {identifier}"
        for name, version in sorted(installed.items())
        for identifier in advisories(folder / name, version)
    ]
    print(*found, sep="\n", end="\n" * bool(found))
    print(f"{len(installed)} packages, {len(found)} advisories ({database})")
    return not found


def advisories(folder: Path, version: str) -> Iterator[str]:
    """Yield the advisories of one package that name a version of it."""
    import yaml  # type: ignore[import-untyped]

    for path in sorted(folder.glob("*.yaml")):
        advisory: dict[str, Any] = yaml.safe_load(path.read_text(encoding="utf-8"))
        if not advisory.get("withdrawn") and any(
            version in map(str, each.get("versions", ()))
            or any(
                _inside(version, row["events"])
                for row in each.get("ranges", ())
                if row["type"] == "ECOSYSTEM"
            )
            for each in advisory.get("affected", ())
        ):
            yield advisory["id"]


def _inside(version: str, events: list[dict[str, str]]) -> bool:
    """Whether a version lies in a range of OSV: the last event reached counts."""
    from packaging.version import Version

    asked, inside = Version(version), False
    for event in events:
        ((kind, at),) = event.items()
        reached = asked >= Version(at) if kind != "last_affected" else asked > Version(at)
        if reached:
            inside = kind == "introduced"
    return inside


def main() -> int:
    """Run both, and say what is missing."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--rust-db", type=Path)
    parser.add_argument("--python-db", type=Path)
    options = parser.parse_args()
    codes = [0]
    for check, database in ((rust, options.rust_db), (python, options.python_db)):
        try:
            codes.append(0 if check(database) else 1)
        except Missing as missing:
            print(missing, file=sys.stderr)
            codes.append(2)
        except subprocess.TimeoutExpired as late:
            print(f"{late.cmd[0]} did not end within {_LIMIT:g} s", file=sys.stderr)
            codes.append(2)
    return max(codes)


if __name__ == "__main__":
    raise SystemExit(main())
