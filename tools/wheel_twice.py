"""Build the wheel and the source archive twice, in two folders, and compare them byte by byte.

    python tools/wheel_twice.py [--record]

Both folders have the files of git and their own build folder, and files of other times. In the
SBOM of a wheel the serial number, the time and the folder of the build are not compared: every
build has its own. Exit 1 if anything else differs, with the members that do.
"""

from __future__ import annotations

import argparse
import hashlib
import os
import re
import shutil
import subprocess
import sys
import tempfile
import time
import zipfile
from pathlib import Path
from urllib.parse import quote

sys.path.insert(0, str(Path(__file__).resolve().parent))

import reliability_record
from tree_copy import copy_files

#: The time of the files in the archives, the same in both builds.
_EPOCH = "1700000000"


def built(folder: Path) -> dict[str, Path]:
    """Build both archives in a folder; return them by name."""
    maturin = shutil.which("maturin", path=str(Path(sys.executable).parent)) or "maturin"
    environment = {**os.environ, "SOURCE_DATE_EPOCH": _EPOCH}
    environment["CARGO_TARGET_DIR"] = str(folder / "target")
    for command in (["build", "--quiet", "--release", "--locked"], ["sdist"]):
        subprocess.run([maturin, *command, "--out", "out"], cwd=folder, env=environment, check=True)
    return {path.name: path for path in sorted((folder / "out").iterdir())}


def digest(path: Path) -> str:
    """Return the SHA-256 of a file."""
    return hashlib.sha256(path.read_bytes()).hexdigest()


def members(wheel: Path, folder: Path) -> list[tuple[str, object]]:
    """Return the members of a wheel in order: the name, the time, the mode and the content."""
    found: list[tuple[str, object]] = []
    with zipfile.ZipFile(wheel) as opened:
        for info in opened.infolist():
            data = opened.read(info)
            if "/sboms/" in info.filename:
                data = data.replace(str(folder).encode(), b"/")
                data = data.replace(quote(str(folder)).encode(), b"/")
                data = re.sub(rb'"(serialNumber|timestamp)": *"[^"]*"', b"", data)
            elif info.filename.endswith(".dist-info/RECORD"):
                data = b"".join(line for line in data.splitlines(True) if b"/sboms/" not in line)
            found.append((info.filename, (info.date_time, info.external_attr, data)))
    return found


def different_members(one: Path, other: Path) -> list[str]:
    """Return the names of the members of two wheels that differ, in the folders of their builds."""
    first, second = (members(wheel, wheel.parents[1]) for wheel in (one, other))
    if [name for name, _ in first] != [name for name, _ in second]:
        return ["(other members, or another order)"]
    return [name for (name, mine), (_, theirs) in zip(first, second, strict=True) if mine != theirs]


def main() -> int:
    """Build, compare, print, and write the record if one is asked for."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--record", action="store_true", help="write docs/records/rebuild-*.json")
    options = parser.parse_args()
    started = time.monotonic()
    with tempfile.TemporaryDirectory() as made:
        folders = (Path(made) / "one", Path(made) / "a longer name" / "two")
        archives = []
        for number, folder in enumerate(folders):
            copy_files(folder, time=1_600_000_000 + number * 86_400)
            archives.append(built(folder))
        one, other = archives
        differ = sorted(one.keys() ^ other.keys())
        for name in sorted(one.keys() & other.keys()):
            what = []
            if name.endswith(".whl"):
                what = different_members(one[name], other[name])
            elif digest(one[name]) != digest(other[name]):
                what = ["the archive"]
            print(f"{'DIFFERENT' if what else 'equal'}  {name}", *what)
            differ += [name] * bool(what)
        digests = {name: digest(path) for name, path in one.items()}
    if options.record:
        figures = {"sha256": digests, "different": differ,
                   "minutes": round((time.monotonic() - started) / 60, 1)}  # fmt: skip
        print(reliability_record.write("rebuild", "make wheel-twice", None, figures))
    return int(bool(differ))


if __name__ == "__main__":
    raise SystemExit(main())
