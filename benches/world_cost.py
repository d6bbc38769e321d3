"""The cost of the one interface to clocks, locks and randomness, for a request in process.

Each round runs three copies of the package in turn: as it is; as it is once more, which shows the
noise; and one whose modules call ``time``, ``threading`` and the others themselves.

    python benches/world_cost.py [--rounds 24] [--record]
"""

from __future__ import annotations

import argparse
import json
import os
import re
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path
from statistics import median

ROOT = Path(__file__).parents[1]
sys.path.insert(0, str(ROOT / "tools"))

import reliability_record  # noqa: E402

#: What each name of the interface stands for.
DIRECT = {
    "now": "time.time",
    "monotonic": "time.monotonic",
    "random_bytes": "secrets.token_bytes",
    "random_choice": "secrets.choice",
    "uniform": "random.uniform",
    "shuffle": "random.shuffle",
    "lock": "threading.Lock",
    "queue": "collections.deque",
    "new_event_loop": "asyncio.new_event_loop",
}
#: Prints the CPU time of a request, in microseconds: the least of five times 3,000.
PROGRAM = """
import asyncio, time
from subtrie.connector import Connector

async def main():
    made = {"plane": "p", "nats": "", "deployment": "TESTING"}
    web, shop = Connector("web", **made), Connector("shop", **made)

    @shop.endpoint("POST", "/order/{n}")
    async def order(n: int) -> dict:
        return {"n": n}

    async def requests(count):
        begin = time.process_time()
        for number in range(count):
            await web.request("POST", f"https://shop/order/{number % 50}")
        return time.process_time() - begin

    async with shop, web:
        assert (await web.request("POST", "https://shop/order/7")).json() == {"n": 7}
        await requests(2000)
        print(min([await requests(3000) for _ in range(5)]) / 3000 * 1e6)

asyncio.run(main())
"""


def copies(folder: Path) -> dict[str, Path]:
    """Make the three copies of the package; return the folder of each."""
    made = {name: folder / name for name in ("as it is", "again", "without")}
    for path in made.values():
        shutil.copytree(ROOT / "python", path, ignore=shutil.ignore_patterns("__pycache__"))
    called, modules = 0, sorted({name.split(".")[0] for name in DIRECT.values()})
    for file in (made["without"] / "subtrie" / "connector").rglob("*.py"):
        text, count = re.subn(
            rf"\b_system\.({'|'.join(DIRECT)})\b",
            lambda found: f"_direct_{DIRECT[found[1]]}",
            file.read_text(),
        )
        lines = "".join(f"import {module} as _direct_{module}\n" for module in modules)
        future = "from __future__ import annotations\n"
        if count:
            file.write_text(text.replace(future, future + lines, 1))
        called += count
    assert called > 15, called
    return made


def main() -> None:
    """Run the copies in turn, and print the figures."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--rounds", type=int, default=24)
    parser.add_argument("--record", action="store_true")
    given = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        made = copies(Path(folder))
        seen: dict[str, list[float]] = {name: [] for name in made}
        for number in range(given.rounds):
            for name in list(made) if number % 2 else reversed(made):
                done = subprocess.run(
                    [sys.executable, "-c", PROGRAM], cwd=folder, check=True, capture_output=True,
                    env={**os.environ, "PYTHONPATH": str(made[name]), "PYTHONHASHSEED": "0"},
                )  # fmt: skip
                seen[name].append(float(done.stdout))
    against = seen["without"]
    figures = {
        "microseconds of CPU a request": {name: round(min(each), 1) for name, each in seen.items()},
        "share, of the least": {
            name: round(min(seen[name]) / min(against), 3) for name in ("as it is", "again")
        },
        "share, median of rounds": {
            name: round(median(a / b for a, b in zip(seen[name], against, strict=True)), 3)
            for name in ("as it is", "again")
        },
    }
    print(json.dumps(figures, indent=1))
    if given.record:
        command = f"python benches/world_cost.py --rounds {given.rounds}"
        print(reliability_record.write("worldcost", command, None, figures))


if __name__ == "__main__":
    main()
