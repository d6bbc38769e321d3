"""Print the part of ``CHANGELOG.md`` that is about one version.

    python tools/release_notes.py v0.1.0

Exits with 1 if the version is not that of ``Cargo.toml``, or if the changelog has no such part.
"""

from __future__ import annotations

import re
import sys
import tomllib
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent


def notes(tag: str, changelog: str, version: str) -> str:
    """Return the notes of a version, without its heading.

    Raises:
        ValueError: The tag is of another version, or the changelog has no part of that name.
    """
    wanted = tag.removeprefix("v")
    if wanted != version:
        raise ValueError(f"the tag is {tag}, but Cargo.toml has version {version}")
    parts = re.split(r"^## +", changelog, flags=re.MULTILINE)[1:]
    for part in parts:
        heading, _, text = part.partition("\n")
        if re.match(rf"\[?{re.escape(wanted)}\b", heading):
            return text.strip() + "\n"
    raise ValueError(f"CHANGELOG.md has no part about {wanted}; rename 'Unreleased' first")


def main() -> None:
    """Print the notes of the tag given."""
    cargo = tomllib.loads((ROOT / "Cargo.toml").read_text(encoding="utf-8"))
    version = cargo["workspace"]["package"]["version"]
    try:
        print(notes(sys.argv[1], (ROOT / "CHANGELOG.md").read_text(encoding="utf-8"), version))
    except ValueError as error:
        raise SystemExit(f"release_notes: {error}") from None


if __name__ == "__main__":
    main()
