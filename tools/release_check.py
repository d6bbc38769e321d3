"""Walk the list of a release, step by step, and stop at the first that fails. Nothing is published.

    python tools/release_check.py [STEP...]

Without steps: all, in the order of ``STEPS``. Every step prints its name and what it found.
"""

from __future__ import annotations

import re
import subprocess
import sys
import tomllib
from collections.abc import Callable
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent))

import release_notes

ROOT = Path(__file__).resolve().parent.parent


class StepError(Exception):
    """A step failed; the text says why, and what to do."""


def run(*command: str) -> str:
    """Run a command in the repository; its last lines are the reason if it fails."""
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False)
    if done.returncode:
        last = "\n".join((done.stdout + done.stderr).strip().splitlines()[-15:])
        raise StepError(f"{' '.join(command)} exited with {done.returncode}:\n{last}")
    return done.stdout


def versions(root: Path) -> dict[str, str]:
    """Return the version by the file that has it."""
    cargo = tomllib.loads((root / "Cargo.toml").read_text(encoding="utf-8"))
    lock = tomllib.loads((root / "Cargo.lock").read_text(encoding="utf-8"))
    citation = (root / "CITATION.cff").read_text(encoding="utf-8")
    found = {"Cargo.toml": cargo["workspace"]["package"]["version"]}
    found["CITATION.cff"] = (re.findall(r"^version: (\S+)$", citation, re.MULTILINE) or ["none"])[0]
    for package in lock["package"]:
        released = package["version"] != "0.0.0"  # benchmarks and fuzz targets have none
        if package["name"].startswith("subtrie") and "source" not in package and released:
            found[f"Cargo.lock, {package['name']}"] = package["version"]
    return found


def clean_tree() -> str:
    """Nothing is changed or untracked."""
    changed = run("git", "status", "--porcelain").splitlines()
    if changed:
        raise StepError(f"commit or remove first: {', '.join(each[3:] for each in changed[:5])}")
    return run("git", "rev-parse", "--short", "HEAD").strip()


def one_version() -> str:
    """Every file has the same version."""
    found = versions(ROOT)
    if len(set(found.values())) != 1:
        told = "; ".join(f"{file}: {version}" for file, version in found.items())
        raise StepError(f"set one version in Cargo.toml and CITATION.cff, then cargo check: {told}")
    return found["Cargo.toml"]


def changelog() -> str:
    """The changelog has a dated entry of the version."""
    version = versions(ROOT)["Cargo.toml"]
    text = (ROOT / "CHANGELOG.md").read_text(encoding="utf-8")
    try:
        notes = release_notes.notes(f"v{version}", text, version)
    except ValueError as error:
        raise StepError(str(error)) from None
    if not re.search(rf"^## {re.escape(version)} \(\d{{4}}-\d\d-\d\d\)$", text, re.MULTILINE):
        raise StepError(f"write the date after the version: ## {version} (YYYY-MM-DD)")
    return f"{len(notes.splitlines())} lines"


def wheels() -> str:
    """The wheels build; those that run here are installed and used, offline."""
    run("make", "wheels")
    built = sorted((ROOT / "dist").iterdir())
    return ", ".join(path.name for path in built)


def docs() -> str:
    """The documentation builds without a warning."""
    run("make", "docs")
    return f"{len(list((ROOT / 'site').rglob('*.html')))} pages"


def wheel_tests() -> str:
    """The tests of the wheel, of its import and of the licences pass."""
    return run("make", "--no-print-directory", "wheel").strip().splitlines()[-1]


#: What must hold before a tag is pushed, the quickest first.
STEPS: dict[str, Callable[[], str]] = {
    "clean-tree": clean_tree,
    "version": one_version,
    "changelog": changelog,
    "docs": docs,
    "wheel": wheel_tests,
    "wheels": wheels,
}


def main(names: list[str]) -> int:
    """Walk the steps; return 1 at the first that fails, 2 for an unknown one."""
    unknown = [name for name in names if name not in STEPS]
    if unknown:
        print(f"there is no step {unknown[0]!r}; the steps are {', '.join(STEPS)}", file=sys.stderr)
        return 2
    for name in names or STEPS:
        try:
            told = STEPS[name]()
        except StepError as error:
            print(f"✗ {name}: {error}")
            return 1
        print(f"✓ {name}: {told}", flush=True)
    if not names:
        version = versions(ROOT)["Cargo.toml"]
        print(f"ready: git tag v{version}; pushing the tag publishes it")
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
