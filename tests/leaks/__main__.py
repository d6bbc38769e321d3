"""The command ``make leaks``: millions of changes and of requests, and the memory meanwhile.

The memory of the process is read after a tenth of the work and at the end. Between them it may grow
by 16 MiB, whatever the number of changes or requests is.
"""

from __future__ import annotations

import argparse
import asyncio
import importlib
import logging
import sys
import tempfile
import time
from pathlib import Path

from connector.nats_server import NatsServer

from .work import changes, requests, resident_bytes

_ROOT = Path(__file__).resolve().parents[2]
_ALLOWED = 16 << 20


def _of_the_index(count: int) -> list[int]:
    engine = importlib.import_module("subtrie._subtrie")
    return [resident_bytes() for _ in changes(engine, count, count // 10, 1_000)]


def _of_the_connector(count: int, folder: Path) -> list[int]:
    seen: list[int] = []
    server = NatsServer(folder).start()
    try:
        asyncio.run(
            requests(server.url, count, count // 10, lambda: seen.append(resident_bytes()),
                     short_circuit=False)
        )  # fmt: skip
    finally:
        server.stop()
    return seen


def main() -> int:
    """Run both, print the figures, and write the record if one is asked for."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--changes", type=int, default=10_000_000)
    parser.add_argument("--requests", type=int, default=1_000_000)
    parser.add_argument("--record", action="store_true", help="write docs/records/leaks-*.json")
    options = parser.parse_args()
    logging.disable(logging.ERROR)
    figures: dict[str, object] = {}
    flat = True
    with tempfile.TemporaryDirectory() as folder:
        for name, count in (("changes", options.changes), ("requests", options.requests)):
            started = time.monotonic()
            work = _of_the_index if name == "changes" else None
            seen = work(count) if work else _of_the_connector(count, Path(folder))
            flat = flat and seen[-1] - seen[0] <= _ALLOWED
            figures[name] = count
            figures[f"MiB during the {name}"] = [round(each / 2**20, 1) for each in seen]
            figures[f"seconds of the {name}"] = round(time.monotonic() - started)
    for name, value in figures.items():
        print(f"{name}: {value}")
    if options.record:
        sys.path.insert(0, str(_ROOT / "tools"))
        import reliability_record

        command = f"make leaks CHANGES={options.changes} REQUESTS={options.requests}"
        print(reliability_record.write("leaks", command, None, figures))
    return 0 if flat else 1


if __name__ == "__main__":
    raise SystemExit(main())
