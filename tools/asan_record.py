"""Write the record of a run of ``tools/asan`` in which every test passed.

python tools/asan_record.py LOG TEST...
"""

from __future__ import annotations

import re
import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent))

import reliability_record


def main() -> int:
    """Read pytest's last line and the sanitizer's reports from the log, and write the record."""
    text = Path(sys.argv[1]).read_text(encoding="utf-8", errors="replace")
    passed = re.findall(r"(\d+) passed", text)
    if not passed:
        raise SystemExit("no test passed")
    figures = {
        "passed": int(passed[-1]),
        "reports": text.count("ERROR: AddressSanitizer"),
        "tests": sys.argv[2:],
    }
    print(reliability_record.write("asan", "make asan-threads", None, figures))
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
