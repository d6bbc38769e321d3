"""A wheel of plain Python, made of a platform's: what pip takes where no other wheel fits.

    python tools/plain_wheel.py DIRECTORY

Takes any wheel of DIRECTORY, leaves the extension out and says so in the tags. In it the reference
engine answers, and importing it says so (M-11).
"""

from __future__ import annotations

import subprocess
import sys
import tempfile
from pathlib import Path


def wheel(*arguments: str | Path) -> None:
    """Runs the tool of the wheel format."""
    subprocess.run([sys.executable, "-m", "wheel", *arguments], check=True, stdout=sys.stderr)


def plain(directory: Path) -> None:
    """Writes the wheel beside the one it is made of."""
    made_of = next(iter(sorted(directory.glob("*.whl"))))
    with tempfile.TemporaryDirectory() as room:
        wheel("unpack", made_of, "--dest", room)
        (unpacked,) = Path(room).iterdir()
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
