"""Write the record of a run of ``tools/fuzz``: the targets, their runs, and which of them failed.

    python tools/fuzz_record.py SECONDS FILE

Each line of the file is a target, the number of inputs it was run on, and its exit code.
"""

from __future__ import annotations

import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent))

import reliability_record


def main() -> int:
    """Read the lines and write the record."""
    seconds, file = int(sys.argv[1]), Path(sys.argv[2])
    lines = [line.split() for line in file.read_text(encoding="utf-8").splitlines()]
    figures = {
        "seconds for each target": seconds,
        "runs": {target: int(runs) for target, runs, _ in lines},
        "failed": [target for target, _, status in lines if status != "0"],
    }
    print(reliability_record.write("fuzz", f"make fuzz SECONDS={seconds}", None, figures))
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
