"""Install a wheel into a new, bare virtual environment, and run ``smoke.py`` there.

    python tests/wheel/try_wheel.py WHEEL

Nothing but the wheel is installed, and neither Rust nor a package index is reachable.
"""

from __future__ import annotations

import os
import subprocess
import sys
import tempfile
import zipfile
from pathlib import Path

HERE = Path(__file__).resolve().parent
#: The largest wheel that is published, in bytes.
MAX_SIZE = 3_000_000


def check_content(wheel: Path) -> None:
    """Refuse a wheel that is too large, or lacks what a user or a type checker needs."""
    size = wheel.stat().st_size
    assert size < MAX_SIZE, f"{wheel.name} has {size:,} bytes"
    with zipfile.ZipFile(wheel) as opened:
        names = set(opened.namelist())
        (metadata,) = (name for name in names if name.endswith(".dist-info/METADATA"))
        text = opened.read(metadata).decode()
    for needed in ("subtrie/__init__.py", "subtrie/py.typed", "subtrie/_subtrie.pyi"):
        assert needed in names, f"{needed} is missing"
    assert any(name.endswith("licenses/LICENSE") for name in names), "no licence"
    if "none-any" not in wheel.name:  # the list of the crates that are compiled into it
        assert any("/sboms/" in name for name in names), "no list of components (SBOM)"
    foreign = [name for name in names if not name.startswith(("subtrie/", "subtrie-"))]
    assert not foreign, foreign
    assert "Requires-Python: >=3.11" in text
    assert not [line for line in text.splitlines() if line.startswith("Requires-Dist")
                and "extra ==" not in line]  # fmt: skip
    print(f"{wheel.name}: {size:,} bytes, {len(names)} files")


def try_out(wheel: Path) -> None:
    """Install a wheel and run the smoke test with the interpreter of the new environment."""
    native = "none-any" not in wheel.name
    with tempfile.TemporaryDirectory() as folder:
        subprocess.run([sys.executable, "-m", "venv", folder], check=True)
        scripts = Path(folder) / ("Scripts" if os.name == "nt" else "bin")
        python = scripts / ("python.exe" if os.name == "nt" else "python")
        pip = ["-m", "pip", "install", "--quiet", "--disable-pip-version-check", "--no-index"]
        subprocess.run([python, *pip, wheel.resolve()], check=True)
        environment = {
            name: value
            for name, value in os.environ.items()
            if not name.startswith(("PYTHON", "SUBTRIE", "CARGO", "RUST", "VIRTUAL_ENV"))
        }
        environment["PATH"] = str(scripts)
        if not native:
            environment["SUBTRIE_ENGINE"] = "reference"
        subprocess.run(
            [python, HERE / "smoke.py", "native" if native else "reference"],
            cwd=folder,
            env=environment,
            check=True,
        )


if __name__ == "__main__":
    for argument in sys.argv[1:]:
        check_content(Path(argument))
        try_out(Path(argument))
