"""Check the reference engine against the stub of the native module, with mypy's stubtest.

The stub is copied into a copy of the package as ``subtrie/reference/__init__.pyi``, so that
stubtest compares the same signatures with the reference engine.
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
    """Run stubtest, and return its exit code."""
    with tempfile.TemporaryDirectory() as folder:
        copy = Path(folder) / "subtrie"
        shutil.copytree(PACKAGE, copy, ignore=shutil.ignore_patterns("*.so", "__pycache__"))
        stub = (copy / "_subtrie.pyi").read_text()
        # The reader of trace logs is native only.
        stub = stub.replace("from ._subtrie_trace import *", "")
        # The file is one package deeper, so relative imports need one more dot.
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
