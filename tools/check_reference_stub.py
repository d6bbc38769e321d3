"""Holds the reference against the stub of the native module, with mypy's own stubtest.

The stub is laid over a copy of the package as ``subtrie/reference/__init__.pyi``, so that stubtest
compares the very same promises with the other engine.
"""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
PACKAGE = ROOT / "python" / "subtrie"


def main() -> int:
    """Exit code of stubtest."""
    with tempfile.TemporaryDirectory() as folder:
        copy = Path(folder) / "subtrie"
        shutil.copytree(PACKAGE, copy, ignore=shutil.ignore_patterns("*.so", "__pycache__"))
        stub = (copy / "_subtrie.pyi").read_text()
        # One package deeper, so relative imports climb one step more.
        (copy / "reference" / "__init__.pyi").write_text(stub.replace("from .", "from .."))
        config = Path(folder) / "mypy.ini"
        config.write_text("[mypy]\n[mypy-pyarrow.*,google.*]\nignore_missing_imports = true\n")
        command = [sys.executable, "-m", "mypy.stubtest", "subtrie.reference"]
        command += ["--ignore-missing-stub", "--ignore-disjoint-bases"]
        command += ["--mypy-config-file", str(config)]
        return subprocess.run(
            command, env={**os.environ, "MYPYPATH": folder}, check=False, cwd=folder
        ).returncode


if __name__ == "__main__":
    raise SystemExit(main())
