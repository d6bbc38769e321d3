"""One process that reads variations of one kind, and prints an outcome a line.

A bound on its CPU time, and one on its memory, end it if native code does not come back; the input
that it read then is in its folder.
"""

from __future__ import annotations

import json
import logging
import os
import random
import resource
import shutil
import signal
import sys
import time
import traceback
from pathlib import Path
from typing import Any

from .kinds import KINDS, Files, Kind

_MIB = 1 << 20
#: A bound of the system, far above those that are measured.
_MOST_DATA = 6 * 1024 * _MIB
#: What one input may take of the clock, waiting included: times its CPU time.
_WAITING = 15


def dice_of(kind: str, seed: int) -> random.Random:
    """Return what decides about a variation."""
    return random.Random(f"{kind}:{seed}")


def write_files(folder: Path, files: Files) -> None:
    """Write the files of an input into an empty folder."""
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir(parents=True)
    for name, data in files.items():
        (folder / name).parent.mkdir(exist_ok=True)
        (folder / name).write_bytes(data)


def run(name: str, first: int, count: int, seconds: float, folder: Path) -> None:
    """Read variations until the time is over or there are enough, and print each outcome."""
    logging.disable(logging.CRITICAL)
    resource.setrlimit(resource.RLIMIT_DATA, (_MOST_DATA, _MOST_DATA))
    kind = KINDS[name]
    _read(kind, dice_of(name, -1), folder)  # what is imported and made once
    end = time.monotonic() + seconds
    for seed in range(first, first + count):
        if time.monotonic() > end and seed > first:
            break
        dice = dice_of(name, seed)
        print(json.dumps({"seed": seed}), flush=True)  # so that a death has its seed
        _limit_time(kind.seconds)
        found = _read(kind, dice, folder)
        signal.alarm(0)
        print(json.dumps({"seed": seed, **found}), flush=True)


def _read(kind: Kind, dice: random.Random, folder: Path) -> dict[str, Any]:
    """Return the outcome of one variation, its CPU time and the memory that it added."""
    write_files(folder, kind.make(dice))
    before, memory = time.process_time(), _memory()
    fault = ""
    try:
        outcome = kind.read(folder, dice)
    except BaseException as error:  # not one that is promised
        outcome, fault = "fault", "".join(traceback.format_exception(error))[-4000:]
        if isinstance(error, KeyboardInterrupt):
            raise
    used, added = time.process_time() - before, _peak() - memory
    if used > kind.seconds:
        outcome, fault = "fault", fault or f"{used:.1f} s of CPU, more than {kind.seconds:g}"
    elif added > kind.mebibytes * _MIB:
        outcome = "fault"
        fault = fault or f"{added / _MIB:.0f} MiB of memory, more than {kind.mebibytes}"
    return {"outcome": outcome, "cpu": used, "memory": added, "fault": fault}


def _limit_time(seconds: float) -> None:
    """End this process if the next input takes several times its bound."""
    used = int(time.process_time()) + int(3 * seconds) + 2
    _, hard = resource.getrlimit(resource.RLIMIT_CPU)
    resource.setrlimit(resource.RLIMIT_CPU, (used, hard))
    signal.alarm(60 + int(seconds * _WAITING))


def _memory() -> int:
    """Return the memory of this process now, and begin a new peak."""
    try:
        Path("/proc/self/clear_refs").write_text("5")
        return _of_status("VmRSS")
    except OSError:
        return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024


def _peak() -> int:
    try:
        return _of_status("VmHWM")
    except OSError:
        return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024


def _of_status(name: str) -> int:
    for line in Path("/proc/self/status").read_text().splitlines():
        if line.startswith(f"{name}:"):
            return int(line.split()[1]) * 1024
    raise OSError(name)


if __name__ == "__main__":
    kind_name, first_seed, most, within, where = sys.argv[1:]
    os.environ["NO_COLOR"] = "1"
    run(kind_name, int(first_seed), int(most), float(within), Path(where))
