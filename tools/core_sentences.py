"""Copy the sentences of the core's reasons into the table of the Python package.

``make sentences`` writes them; with ``--check`` nothing is written, and a difference is an error.
"""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
CORE = (ROOT / "src" / "error" / "kind.rs", ROOT / "crates" / "nats" / "src" / "error.rs")
TABLE = ROOT / "python" / "subtrie" / "_core" / "reasons.py"

#: A row of the Rust table: `Kind = "code": "sentence",`.
ROW = re.compile(r'^    [A-Z]\w* = "([^"]+)":\s+"((?:[^"\\]|\\.)*)",$', re.MULTILINE)


def core_sentences() -> dict[str, str]:
    """Return the sentence of each code of the Rust crates."""
    rows = (row for file in CORE for row in ROW.findall(file.read_text()))
    return {code: text.replace('\\"', '"') for code, text in rows}


def updated(table: str) -> str:
    """Return the text of the Python table with the sentences of the core.

    Raises:
        LookupError: The Python table lacks a code of the core.
    """
    for code, sentence in core_sentences().items():
        row = re.compile(rf'(    "{re.escape(code)}": Reason\(\s*)"(?:[^"\\]|\\.)*"')
        literal = '"' + sentence.replace("\\", "\\\\").replace('"', '\\"') + '"'
        table, count = row.subn(lambda found, text=literal: found[1] + text, table)
        if count != 1:
            raise LookupError(f"{code!r} occurs {count} times in {TABLE.name}")
    return table


def main() -> int:
    """Write the table, or check it."""
    before = TABLE.read_text()
    after = updated(before)
    if "--check" in sys.argv:
        if before != after:
            print(f"{TABLE.name} differs from the core: run make sentences", file=sys.stderr)
            return 1
        return 0
    TABLE.write_text(after)
    command = [sys.executable, "-m", "ruff", "format", "-q", str(TABLE)]
    return subprocess.run(command, check=False).returncode


if __name__ == "__main__":
    sys.exit(main())
