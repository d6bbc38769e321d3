"""The command ``make attacks``: random variations of every input, for the minutes that are given.

Each input must give an answer or one clear error, within a bound of CPU time and memory. One that
does not is kept with its seed, and ``--kind`` with ``--seed`` reads that one again.
"""

from __future__ import annotations

import argparse
import json
import os
import shutil
import subprocess
import sys
import tempfile
import time
from collections import Counter
from pathlib import Path
from typing import Any

from .kinds import KINDS
from .worker import dice_of, write_files

_ROOT = Path(__file__).resolve().parents[2]
_MOST = 1_000_000
#: Faults of one kind that are kept; the rest is counted.
_MOST_KEPT = 20


class Attack:
    """Variations of all kinds, and what became of them.

    Args:
        kept: The folder for inputs that fail.
    """

    def __init__(self, kept: Path) -> None:
        self.kept = kept
        self.outcomes: dict[str, Counter[str]] = {name: Counter() for name in KINDS}
        self.most_cpu = dict.fromkeys(KINDS, 0.0)
        self.most_memory = dict.fromkeys(KINDS, 0)
        self.faults: list[tuple[str, int, str]] = []

    def slice(self, name: str, first: int, count: int, seconds: float) -> int:
        """Read variations in a process of its own, and return the first seed that was not read."""
        with tempfile.TemporaryDirectory(prefix="subtrie-attacks-") as folder:
            command = [sys.executable, "-m", "attacks.worker", name, str(first), str(count),
                       str(seconds), f"{folder}/input"]  # fmt: skip
            environment = os.environ | {
                "PYTHONPATH": os.pathsep.join((str(_ROOT / "tests"), str(_ROOT)))
            }
            done = subprocess.run(
                command, cwd=_ROOT, env=environment, capture_output=True, text=True, check=False
            )
            begun, ended = first - 1, first - 1
            for line in done.stdout.splitlines():
                row = json.loads(line)
                begun = row["seed"]
                if "outcome" in row:
                    ended = begun
                    self._count(name, row)
            if done.returncode:
                why = f"the process ended with {done.returncode}\n{done.stderr[-3000:]}"
                self._fault(name, begun, why, Path(folder, "input"))
        return max(begun, ended) + 1

    def _count(self, name: str, row: dict[str, Any]) -> None:
        self.outcomes[name][row["outcome"]] += 1
        self.most_cpu[name] = max(self.most_cpu[name], row["cpu"])
        self.most_memory[name] = max(self.most_memory[name], row["memory"])
        if row["fault"]:
            self._fault(name, row["seed"], row["fault"], None)

    def _fault(self, name: str, seed: int, why: str, folder: Path | None) -> None:
        self.faults.append((name, seed, why))
        if sum(each[0] == name for each in self.faults) > _MOST_KEPT:
            return
        place = self.kept / f"{name}-{seed}"
        if folder is not None and folder.exists():
            shutil.copytree(folder, place, dirs_exist_ok=True)
        else:
            write_files(place, KINDS[name].make(dice_of(name, seed)))
        (place / "fault.txt").write_text(
            f"make attacks KIND={name} SEED={seed}\n\n{why}\n", encoding="utf-8"
        )

    def figures(self, minutes: float) -> dict[str, Any]:
        """Return what was counted, for a record."""
        return {
            "minutes": round(minutes, 1),
            "inputs": sum(sum(each.values()) for each in self.outcomes.values()),
            "faults": len(self.faults),
            "kinds": {
                name: {
                    **dict(sorted(self.outcomes[name].items())),
                    "most CPU seconds": round(self.most_cpu[name], 2),
                    "bound of seconds": KINDS[name].seconds,
                    "most MiB": round(self.most_memory[name] / (1 << 20), 1),
                    "bound of MiB": KINDS[name].mebibytes,
                }
                for name in KINDS
            },
        }


def attack(
    kinds: list[str], kept: Path, *, seed: int = 0, seconds: float, slice_seconds: float
) -> Attack:
    """Read variations of some kinds in turn, until the time is over.

    Args:
        kinds: Names of ``KINDS``.
        kept: The folder for inputs that fail.
        seed: The first seed of each kind.
        seconds: For how long.
        slice_seconds: How long a kind has its turn.
    """
    made, end = Attack(kept), time.monotonic() + seconds
    following = dict.fromkeys(kinds, seed)
    while True:
        for name in kinds:
            following[name] = made.slice(name, following[name], _MOST, slice_seconds)
        if time.monotonic() > end:
            return made


def main() -> int:
    """Run, print the figures, and write the record if one is asked for."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--minutes", type=float, default=10.0)
    parser.add_argument("--kind", choices=sorted(KINDS), action="append")
    parser.add_argument("--seed", type=int)
    parser.add_argument("--first", type=int, default=1, help="the first seed")
    parser.add_argument("--kept", type=Path, default=_ROOT / "out" / "attacks")
    parser.add_argument("--record", action="store_true", help="write docs/records/attacks-*.json")
    options = parser.parse_args()
    kinds, begun = options.kind or list(KINDS), time.monotonic()
    if options.seed is not None:
        made = Attack(options.kept)
        for name in kinds:
            made.slice(name, options.seed, 1, 0)
    else:
        most = max(5.0, min(60.0, options.minutes * 60 / len(kinds) / 2))
        made = attack(
            kinds, options.kept, seed=options.first, seconds=options.minutes * 60,
            slice_seconds=most,
        )  # fmt: skip
    figures = made.figures((time.monotonic() - begun) / 60)
    for name, seed, why in made.faults:
        print(f"{name} {seed}: {why.strip().splitlines()[-1]}")
    for name in kinds:
        print(f"{name}: {figures['kinds'][name]}")
    print(f"{figures['inputs']:,} inputs, {figures['faults']} faults, {figures['minutes']} minutes")
    if made.faults:
        print(f"kept in {options.kept}")
    if options.record:
        sys.path.insert(0, str(_ROOT / "tools"))
        import reliability_record

        command = f"make attacks MINUTES={options.minutes:g} FIRST={options.first}"
        print(reliability_record.write("attacks", command, options.first, figures))
    return 1 if made.faults else 0


if __name__ == "__main__":
    raise SystemExit(main())
