"""Make a pure-Python wheel from a platform wheel, for platforms without a wheel of their own.

    python tools/plain_wheel.py DIRECTORY

Takes any wheel in DIRECTORY, removes the extension and changes the tags. With this wheel the
reference engine is used, and importing the package warns of it.
"""
# M-11

from __future__ import annotations

import subprocess
import sys
import tempfile
from pathlib import Path


def wheel(*arguments: str | Path) -> None:
    """Run the command of the package ``wheel``."""
    subprocess.run([sys.executable, "-m", "wheel", *arguments], check=True, stdout=sys.stderr)


def plain(directory: Path) -> None:
    """Write the pure-Python wheel into the directory of the platform wheel."""
    made_of = next(iter(sorted(directory.glob("*.whl"))))
    with tempfile.TemporaryDirectory() as folder:
        wheel("unpack", made_of, "--dest", folder)
        (unpacked,) = Path(folder).iterdir()
        (information,) = unpacked.glob("*.dist-info")
        for extension in [*unpacked.glob("subtrie/_subtrie.*"), *information.glob("sboms/*")]:
            if extension.suffix != ".pyi":
                extension.unlink()
        tags = information / "WHEEL"
        kept = [
            line
            for line in tags.read_text().splitlines()
            if line and not line.startswith(("Root-Is-Purelib:", "Tag:"))
        ]
        tags.write_text("\n".join([*kept, "Root-Is-Purelib: true", "Tag: py3-none-any", ""]))
        wheel("pack", unpacked, "--dest-dir", directory)


if __name__ == "__main__":
    plain(Path(sys.argv[1]))
