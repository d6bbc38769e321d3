"""Mixed traffic between connectors over NATS for a while: rate, losses, the slope of memory.

    python -m benches.connector_load [--seconds 60]

Small bodies and fragmented ones, answers and errors, calls that call others, events to two
listeners. Every request has its number, so that one lost, doubled or mixed up is seen.
"""

from __future__ import annotations

import argparse
import asyncio
import resource
import tempfile
import time
from collections import Counter
from pathlib import Path
from typing import Any

from benches.plain_broker import running
from subtrie.connector import Connector, HTTPError, Request

CALLERS = 20
NUMBERS = 250  # of each caller, over and over: caches fill, and then nothing should grow
BIG = 1_200_000  # bytes: two fragments


def resident() -> float:
    """MiB of memory now, where the system tells; else the most there ever was."""
    try:
        pages = int(Path("/proc/self/statm").read_text().split()[1])
        return pages * resource.getpagesize() / 2**20
    except OSError:
        return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024


async def load(url: str, seconds: float) -> dict[str, Any]:
    """Runs it; what was seen."""
    options = {"nats": url, "short_circuit": False, "plane": "load", "deployment": "LAB"}
    shop, stock, web, mail = (
        Connector(f"{name}.example", **options) for name in ("shop", "stock", "web", "mail")
    )
    served: Counter[tuple[str, int]] = Counter()
    requests = answered = doubled = wrong = 0

    @shop.endpoint("POST", "/order/{n}")
    async def place(n: int, request: Request):  # type: ignore[no-untyped-def]
        served["order", n] += 1
        if n % 11 == 0:
            raise HTTPError("eleven", status=409)
        if n % 7 == 0:
            return (await shop.request("GET", f"https://stock.example/level/{n}")).body
        return b"%d:" % n + request.body

    @stock.endpoint("GET", "/level/{n}")
    async def level(n: int) -> bytes:
        served["level", n] += 1
        return b"%d:" % n

    for each in (mail, stock):

        @each.endpoint("POST", "//shop.example:417/on-order/{n}")
        async def hear(n: int, host: str = each.host) -> None:
            served[host, n] += 1

    def check(*keys: tuple[str, int]) -> None:
        """Each was handled once; what comes later stays, and is seen in the end."""
        nonlocal doubled
        doubled += sum(served.pop(key, 0) != 1 for key in keys)

    async def ask(n: int) -> None:
        nonlocal requests, answered, wrong
        body = bytes(50 if n % 1000 else BIG)
        wanted: bytes | None = b"%d:" % n + body
        if n % 11 == 0:
            wanted = None
        elif n % 7 == 0:
            wanted = b"%d:" % n
        requests += 1
        try:
            url = f"https://shop.example/order/{n}"
            answer = await web.request("POST", url, body=body)
            wrong += answer.body != wanted
        except HTTPError as error:
            wrong += wanted is not None or error.status != 409
        answered += 1
        check(("order", n), *([("level", n)] if n % 7 == 0 and n % 11 else []))

    async def tell(n: int) -> None:
        nonlocal requests, answered, wrong
        requests += 2
        url = f"https://shop.example:417/on-order/{n}"
        answers = [a async for a in shop.publish("POST", url)]
        answered += len(answers)
        wrong += sum(a.status != 200 for a in answers)
        check((mail.host, n), (stock.host, n))

    samples: list[tuple[float, float]] = []
    async with shop, stock, web, mail:
        end, begun = time.monotonic() + seconds, time.monotonic()
        worked = time.process_time()

        async def caller(start: int) -> None:
            turn = 0
            while time.monotonic() < end:
                turn = (turn + 1) % NUMBERS
                await (tell if turn % 20 == 0 else ask)(start + turn * CALLERS)

        async def watch() -> None:
            while time.monotonic() < end:
                samples.append((time.monotonic() - begun, resident()))
                await asyncio.sleep(min(1.0, seconds / 10))

        await asyncio.gather(watch(), *(caller(start) for start in range(1, CALLERS + 1)))
        spent = time.monotonic() - begun
        worked = time.process_time() - worked
    return {
        "seconds": round(spent, 1),
        "requests": requests,
        "per_second": round(answered / spent),
        "cpu_us_a_request": round(worked / max(answered, 1) * 1e6),
        "lost": requests - answered,
        "doubled": doubled + sum(served.values()),
        "wrong": wrong,
        "resident_mib": round(samples[-1][1], 1),
        "mib_a_minute": round(slope(samples[len(samples) // 3 :]) * 60, 2),
    }


def slope(samples: list[tuple[float, float]]) -> float:
    """MiB a second, by least squares."""
    count = len(samples)
    if count < 2:
        return 0.0
    mean_x = sum(x for x, _ in samples) / count
    mean_y = sum(y for _, y in samples) / count
    spread = sum((x - mean_x) ** 2 for x, _ in samples)
    return sum((x - mean_x) * (y - mean_y) for x, y in samples) / spread if spread else 0.0


def main() -> None:
    """The command line."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--seconds", type=float, default=60)
    given = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder, running(Path(folder)) as url:
        told = asyncio.run(load(url, given.seconds))
    for name, value in told.items():
        print(f"{value:10}  {name}")
    raise SystemExit(1 if told["lost"] or told["doubled"] or told["wrong"] else 0)


if __name__ == "__main__":
    main()
