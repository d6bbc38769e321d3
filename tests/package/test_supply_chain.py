"""Licences of what subtrie depends on, and a source archive that can be made again."""

from __future__ import annotations

import hashlib
import json
import os
import re
import shlex
import shutil
import subprocess
import sys
import tomllib
from collections.abc import Iterator
from importlib import metadata
from pathlib import Path

import pytest

from subtrie import cli
from subtrie._core.extras import install_command

ROOT = Path(__file__).parents[2]
sys.path.insert(0, str(ROOT / "tools"))

import advisories  # noqa: E402
from tree_copy import copy_files  # noqa: E402

#: Licences under which a dependency may be passed on with an Apache-2.0 package.
ALLOWED = {
    "0BSD", "Apache-2.0", "Apache-2.0 WITH LLVM-exception", "BSD-2-Clause", "BSD-3-Clause",
    "CC0-1.0", "ISC", "MIT", "MIT-0", "MIT-CMU", "NCSA", "PSF-2.0", "Unicode-3.0", "Unlicense",
    "Zlib",
}  # fmt: skip

#: What packages write that state no SPDX expression, and its identifier.
SPELLINGS = {
    "3-Clause BSD License": "BSD-3-Clause",
    "Apache 2 License": "Apache-2.0",
    "Apache 2.0": "Apache-2.0",
    "Apache License 2.0": "Apache-2.0",
    "Apache Software License": "Apache-2.0",
    "BSD": "BSD-3-Clause",
    "BSD License": "BSD-3-Clause",
    "MIT License": "MIT",
    "Python Software Foundation License": "PSF-2.0",
}


def permits(expression: str, allowed: set[str] = ALLOWED) -> bool:
    """Return whether a licence expression lets one choose allowed licences only."""
    # A slash is what crates wrote for OR before there were expressions.
    words = re.findall(r"[()]|[^\s()]+", expression.replace("/", " OR "))

    def either() -> bool:
        found = both()
        while words and words[0] == "OR":
            words.pop(0)
            found = both() or found
        return found

    def both() -> bool:
        found = one()
        while words and words[0] == "AND":
            words.pop(0)
            found = one() and found
        return found

    def one() -> bool:
        word = words.pop(0)
        if word == "(":
            found = either()
            assert words.pop(0) == ")"
            return found
        if words and words[0] == "WITH":
            words.pop(0)
            word += f" WITH {words.pop(0)}"
        return word in allowed

    found = either()
    assert not words, f"not an expression: {expression}"
    return found


@pytest.mark.parametrize(
    ("expression", "permitted"),
    [
        ("MIT", True),
        ("GPL-3.0-only", False),
        ("MIT OR GPL-3.0-only", True),
        ("GPL-3.0-only/MIT", True),
        ("MIT AND GPL-3.0-only", False),
        ("(MIT OR GPL-2.0-only) AND Unicode-3.0", True),
        ("(MIT AND GPL-2.0-only) OR LGPL-2.1-or-later", False),
        ("Apache-2.0 WITH LLVM-exception", True),
        ("Apache-2.0 WITH Other-exception", False),
    ],
)
def test_an_expression_permits_what_one_of_its_choices_permits(expression, permitted):
    assert permits(expression) == permitted


def test_every_crate_of_the_lock_file_has_a_permitted_licence():
    listed = subprocess.run(
        ["cargo", "metadata", "--locked", "--all-features", "--format-version", "1"],
        cwd=ROOT, capture_output=True, text=True, check=True,
    )  # fmt: skip
    packages = json.loads(listed.stdout)["packages"]
    locked = tomllib.loads((ROOT / "Cargo.lock").read_text(encoding="utf-8"))["package"]
    assert {each["name"] for each in packages} >= {each["name"] for each in locked}
    refused = {each["name"]: each["license"] for each in packages if not permitted(each)}
    assert not refused


def permitted(package: dict[str, str | None]) -> bool:
    """Return whether a crate states a licence that is permitted."""
    return bool(package["license"]) and permits(str(package["license"]))


def required(names: list[str]) -> Iterator[metadata.Distribution]:
    """Yield what is installed of packages and of all that they need."""
    seen: set[str] = set()
    while names:
        name = re.sub(r"[-_.]+", "-", names.pop()).lower()
        if name in seen:
            continue
        seen.add(name)
        try:
            found = metadata.distribution(name)
        except metadata.PackageNotFoundError:
            continue  # needed on another platform or by an extra that is not used
        yield found
        needed = [each for each in found.requires or [] if "extra ==" not in each]
        names += [re.split(r"[\s\[;<>=!~(]", each, maxsplit=1)[0] for each in needed]


def licence_of(package: metadata.Distribution) -> str:
    """Return the licence that a package states: its expression, its field or its classifier."""
    stated = package.metadata.get("License-Expression") or package.metadata.get("License") or ""
    first = stated.strip().split("\n")[0].strip()
    classifiers = [
        each.rpartition(" :: ")[2]
        for each in package.metadata.get_all("Classifier") or []
        if each.startswith("License :: OSI Approved :: ")
    ]
    for choice in (first, *classifiers):
        expression = SPELLINGS.get(choice, choice)
        if re.fullmatch(r"[\w.+() -]+", expression) and permits_quietly(expression):
            return expression
    return first or ", ".join(classifiers) or "none stated"


def permits_quietly(text: str) -> bool:
    """Return whether a text is an expression that permits; free text is not."""
    try:
        return permits(text)
    except (AssertionError, IndexError):
        return False


def test_every_package_of_an_extra_has_a_permitted_licence():
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    extras = [name for names in project["optional-dependencies"].values() for name in names]
    wanted = [re.split(r"[\[<>=]", each, maxsplit=1)[0] for each in extras]
    found = {each.metadata["Name"]: licence_of(each) for each in required([*wanted, "nkeys"])}
    assert len(found) >= len(set(wanted))
    assert not {name: text for name, text in found.items() if not permits_quietly(text)}


OSV = """\
id: PYSEC-1
affected:
- package: {name: x, ecosystem: PyPI}
  ranges:
  - type: GIT
    events: [{introduced: "0"}]
  - type: ECOSYSTEM
    events: [{introduced: "1.2"}, {fixed: 1.10.1}, {introduced: "3"}, {last_affected: "3.5"}]
  versions: ["0.9"]
"""


@pytest.mark.parametrize(
    ("version", "named"),
    [
        ("0.9", True), ("1.1", False), ("1.2", True), ("1.9", True), ("1.10.1", False),
        ("2", False), ("3.5", True), ("3.6", False),
    ],
)  # fmt: skip
def test_an_advisory_names_the_versions_in_its_ranges(tmp_path, version, named):
    (tmp_path / "one.yaml").write_text(OSV)
    (tmp_path / "withdrawn.yaml").write_text(OSV + "withdrawn: 2026-01-01T00:00:00Z\n")
    assert list(advisories.advisories(tmp_path, version)) == ["PYSEC-1"] * named


def test_a_database_of_advisories_that_is_missing_is_an_error(tmp_path, capsys, monkeypatch):
    monkeypatch.setattr("sys.argv", ["", "--rust-db", str(tmp_path), "--python-db", str(tmp_path)])
    monkeypatch.setenv("PATH", "")
    assert advisories.main() == 2
    said = capsys.readouterr().err.splitlines()
    assert "cargo install --locked cargo-audit" in said[0]
    assert said[1].endswith("is not a clone of https://github.com/pypa/advisory-database")


def test_the_source_archive_is_the_same_bytes_from_another_folder(tmp_path):
    maturin = shutil.which("maturin", path=str(Path(sys.executable).parent)) or "maturin"
    digests = set()
    for number, folder in enumerate((tmp_path / "one", tmp_path / "a longer name" / "two")):
        copy_files(folder, time=1_600_000_000 + number * 86_400)
        packed = subprocess.run(
            [maturin, "sdist", "--out", "out"], cwd=folder, capture_output=True, text=True,
            env={**os.environ, "SOURCE_DATE_EPOCH": "1700000000", "CARGO_NET_OFFLINE": "true"},
        )  # fmt: skip
        assert packed.returncode == 0, packed.stderr
        (archive,) = (folder / "out").glob("*.tar.gz")
        digests.add(hashlib.sha256(archive.read_bytes()).hexdigest())
    assert len(digests) == 1


def test_a_hint_says_what_can_be_installed_today(monkeypatch):
    """``pip install 'subtrie[cli]'`` looks for subtrie in an index that need not have it."""
    declared = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    for extra, packages in declared["optional-dependencies"].items():
        if extra == "nats":  # the former name of two others
            continue
        command = install_command(extra)
        asked = shlex.split(command.removeprefix("pip install "))
        assert {re.split(r"[<>=]", each)[0] for each in asked} == {
            re.split(r"[<>=]", each)[0] for each in packages
        }
    assert install_command("audit", "cli").count("pyarrow") == 1
    for file in (ROOT / "python").rglob("*.py"):
        if file.name != "extras.py":
            assert "pip install 'subtrie[" not in file.read_text(encoding="utf-8"), file

    def absent(name):
        raise metadata.PackageNotFoundError(name)

    monkeypatch.setattr(metadata, "requires", absent)
    assert install_command("cli") == "pip install 'subtrie[cli]'"


def test_a_package_that_is_absent_is_named_with_an_extra_that_has_it():
    declared = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    packages = metadata.packages_distributions()
    for module, extra in cli._EXTRAS.items():
        wanted = declared["optional-dependencies"][extra]
        names = {re.split(r"[\[<>=]", each)[0] for each in wanted}
        made_by = {each.lower().replace("_", "-") for each in packages[module]}
        assert names & made_by, f"{extra} does not install {module}"
