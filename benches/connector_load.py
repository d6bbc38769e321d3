"""Mixed traffic between connectors over NATS for a while: rate, losses, the slope of memory.

python -m benches.connector_load [--seconds 60]
"""

from __future__ import annotations

import argparse
import asyncio
import resource
import tempfile
import time
from pathlib import Path

from examples.shop.broker import running
from subtrie.connector import Connector, HTTPError, Request

CALLERS = 20


def resident() -> float:
    """MiB of memory now, where the system tells; else the most there ever was."""
    try:
        pages = int(Path("/proc/self/statm").read_text().split()[1])
        return pages * resource.getpagesize() / 2**20
    except OSError:
        return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024


async def load(url: str, seconds: float) -> bool:
    """Runs it and prints what was seen; False where anything was lost or doubled."""
    options = {"nats": url, "short_circuit": False, "plane": "load", "deployment": "LAB"}
    shop, web = Connector("shop.example", **options), Connector("web.example", **options)
    served, answered, wrong = 0, 0, 0

    @shop.endpoint("POST", "/order/{n}")
    async def place(n: int, request: Request):  # type: ignore[no-untyped-def]
        nonlocal served
        served += 1
        if n % 11 == 0:
            raise HTTPError("eleven", status=409)
        return b"%d:" % n + request.body

    samples: list[tuple[float, float]] = []
    async with shop, web:
        end, begun = time.monotonic() + seconds, time.monotonic()

        async def caller(start: int) -> None:
            nonlocal answered, wrong
            n = start
            while time.monotonic() < end:
                n += CALLERS
                body = b"x" * (50 if n % 200 else 30_000)
                try:
                    answer = await web.request("POST", f"https://shop.example/order/{n}", body=body)
                    wrong += answer.body != b"%d:" % n + body or n % 11 == 0
                except HTTPError as error:
                    wrong += not (error.status == 409 and n % 11 == 0)
                answered += 1

        async def watch() -> None:
            while time.monotonic() < end:
                samples.append((time.monotonic() - begun, resident()))
                await asyncio.sleep(min(1.0, seconds / 10))

        await asyncio.gather(watch(), *(caller(start) for start in range(CALLERS)))
        spent = time.monotonic() - begun
    later = samples[len(samples) // 4 :]
    slope = (later[-1][1] - later[0][1]) / max(later[-1][0] - later[0][0], 1e-9) * 60
    print(f"{answered} requests in {spent:.1f} s: {answered / spent:.0f} a second")
    print(f"{served - answered} lost or doubled, {wrong} wrong")
    print(f"{later[-1][1]:.1f} MiB resident, {slope:+.2f} MiB a minute")
    return served == answered and wrong == 0


def main() -> None:
    """The command line."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--seconds", type=float, default=60)
    given = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder, running(Path(folder)) as broker:
        raise SystemExit(0 if asyncio.run(load(broker.url, given.seconds)) else 1)


if __name__ == "__main__":
    main()
