"""What a rival of ``rivals.py`` holds: growth of the process while it is built, as one JSON row.

    python benches/python_memory.py WHO SIZE

A process of its own for each, because nothing gives memory back for certain. Linux alone says how
much a process holds at the moment; elsewhere there is no row.
"""

from __future__ import annotations

import gc
import json
import os
import sys
from pathlib import Path

from rivals import RIVALS
from workload import lines

STATM = Path("/proc/self/statm")


def held() -> int:
    """Bytes of this process in memory."""
    gc.collect()
    return int(STATM.read_text().split()[1]) * os.sysconf("SC_PAGE_SIZE")


def main(who: str, size: int) -> None:
    """Prints the row."""
    rival = next(rival for rival in RIVALS if rival.who == who)
    patterns = lines(size, "patterns")
    before = held()
    built = rival.build(patterns)
    each = round((held() - before) / size, 1)
    assert built
    print(json.dumps({"who": who, "measure": "memory", "size": size, "heap_bytes": each}))


if __name__ == "__main__" and STATM.exists():
    main(sys.argv[1], int(sys.argv[2]))
