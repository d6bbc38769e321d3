"""The command ``make chaos``: requests under faults, and a record of the run.

Every request must end in exactly one response, error or timeout, with the body that was asked for;
sources and planes are never confused, and afterwards everything works again.
"""

from __future__ import annotations

import argparse
import asyncio
import logging
import os
import sys
import tempfile
from pathlib import Path

from .broker_cluster import BrokerCluster
from .world import Report, Violation, World

_ROOT = Path(__file__).resolve().parents[2]


async def run(options: argparse.Namespace, folder: Path) -> Report:
    """Return the figures of one run."""
    async with BrokerCluster(folder, options.brokers, options.seed) as cluster:
        world = World(
            cluster, seed=options.seed, requests=options.requests, seconds=options.seconds,
            duplicates=options.duplicates,
        )  # fmt: skip
        return await world.run()


def main() -> int:
    """Run, print the figures, and write the record if one is asked for."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--requests", type=int, default=1_000_000)
    parser.add_argument("--seconds", type=float, default=3600.0)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--brokers", type=int, default=3)
    parser.add_argument("--no-duplicates", dest="duplicates", action="store_false")
    parser.add_argument("--record", action="store_true", help="write docs/records/chaos-*.json")
    options = parser.parse_args()
    logging.disable(logging.ERROR)
    os.environ.pop("PYTEST_CURRENT_TEST", None)
    with tempfile.TemporaryDirectory() as folder:
        os.chdir(folder)  # no creds or configuration of the caller's folder
        try:
            report = asyncio.run(run(options, Path(folder)))
        except Violation as violation:
            print(f"broken with seed {options.seed}: {violation}")
            return 1
        finally:
            os.chdir(_ROOT)
    counted = {"outcomes": dict(report.outcomes), "faults": dict(sorted(report.faults.items()))}
    figures = {**vars(report), **counted}
    for name, value in figures.items():
        print(f"{name}: {value}")
    if options.record:
        sys.path.insert(0, str(_ROOT / "tools"))
        import reliability_record

        command = (
            f"make chaos REQUESTS={options.requests} SECONDS={options.seconds:g} "
            f"SEED={options.seed}"
        )
        print(reliability_record.write("chaos", command, options.seed, figures))
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
