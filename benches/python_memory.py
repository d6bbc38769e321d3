"""Measure the memory of one index of ``rivals.py``: the growth of the process while it is built.

    python benches/python_memory.py WHO SIZE

Prints one JSON row. Each index gets a new process, because freed memory may stay with a process.
Only Linux reports the current size of a process; on other systems there is no row.
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
    """Return the resident size of this process in bytes."""
    gc.collect()
    return int(STATM.read_text().split()[1]) * os.sysconf("SC_PAGE_SIZE")


def main(who: str, size: int) -> None:
    """Measure one index and print the row."""
    rival = next(rival for rival in RIVALS if rival.who == who)
    patterns = lines(size, "patterns")
    before = held()
    built = rival.build(patterns)
    each = round((held() - before) / size, 1)
    assert built
    print(json.dumps({"who": who, "measure": "memory", "size": size, "heap_bytes": each}))


if __name__ == "__main__" and STATM.exists():
    main(sys.argv[1], int(sys.argv[2]))
