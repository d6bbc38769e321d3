"""The connector against an earlier commit built beside it: CPU, with a new URL for each request.

    python -m benches.connector_compare --today FOLDER [--rounds 3] [--calls 1500] [--record FILE]

``FOLDER`` is a checkout of the earlier commit with its extension built. Both are measured in turns,
each in processes of its own, and the least CPU of the rounds counts: in process with new and with
repeated URLs, and over NATS for the caller's and the service's process. Requests over NATS are
counted: each has exactly one outcome. ``SUBTRIE_TRANSPORT`` chooses the client of NATS of the
present commit. ``--endpoints N`` adds the start, the stop and the memory of
a connector with so many endpoints, of two patterns each and of six, in process and over NATS. Other
Pythons are measured by running this with them.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import os
import platform
import resource
import subprocess
import sys
import tempfile
import time
from math import inf
from pathlib import Path
from typing import Any

from benches.plain_broker import running

HERE = Path(__file__).resolve().parents[1]
FLOORS = {"in process, new URLs": 0.30 if sys.version_info >= (3, 12) else 0.50, "over NATS": 0.36}

_TURNS = 10  # of new and of repeated URLs, in one process


async def _order(id: int, order: dict[str, Any]) -> dict[str, Any]:
    return {"id": id, "item": order["item"]}


def _pair(url: str, role: str, locality: str = "") -> Any:
    from subtrie.connector import Connector

    host = {"serve": "shop.example", "call": "web.example"}[role]
    # The earlier commit loses requests for want of acknowledgements; their CPU is to be counted.
    bus = {"nats": url, "short_circuit": not url, "locality": locality, "round_trip": 1.0}
    connector = Connector(host, plane="compare", deployment="LAB", **bus)
    if role == "serve":
        connector.endpoint("POST", "/order/{id}")(_order)
    return connector


async def _calls(web: Any, numbers: range, repeated: bool, at_once: int) -> tuple[float, int]:
    """Return the CPU seconds of the calls, and how many had the right answer."""
    right = 0
    waiting = iter(numbers)

    async def caller() -> None:
        nonlocal right
        for n in waiting:
            number = n % 50 if repeated else n
            url = f"https://shop.example/order/{number}"
            answer = (await web.request("POST", url, json={"order": {"item": "tea"}})).json()
            right += answer == {"id": number, "item": "tea"}

    begun = time.process_time()
    await asyncio.gather(*(caller() for _ in range(at_once)))
    return time.process_time() - begun, right


async def _in_process(calls: int) -> dict[str, float]:
    shop, web = _pair("", "serve"), _pair("", "call")
    found: dict[str, float] = {}
    async with shop, web:
        for turn in range(_TURNS):
            # In turns: a processor that is faster for a while favours neither.
            numbers = range(turn * calls, (turn + 1) * calls)
            for name, repeated in (("new URLs", False), ("repeated URLs", True)):
                spent, right = await _calls(web, numbers, repeated, 1)
                assert right == calls, f"{calls - right} outcomes are missing or wrong"
                figure = f"in process, {name}"
                found[figure] = min(spent / calls * 1e6, found.get(figure, inf))
    return found


async def _serve(url: str) -> dict[str, float]:
    async with _pair(url, "serve"):
        print("READY", flush=True)
        begun = time.process_time()
        await asyncio.to_thread(sys.stdin.readline)
        return {"cpu": time.process_time() - begun}


async def _call(url: str, calls: int) -> dict[str, float]:
    async with _pair(url, "call") as web:
        await _calls(web, range(100), False, 32)
        spent, right = await _calls(web, range(100, 100 + calls), False, 32)
        return {"cpu": spent, "right": right}


async def _endpoints(count: int, url: str, locality: str) -> dict[str, float]:
    connector = _pair(url, "serve", locality)
    for number in range(count):
        connector.endpoint("GET", f"/other{number}/{{id}}")(_order)
    before = _resident()
    begun = time.perf_counter()
    await connector.startup()
    started = time.perf_counter()
    memory = _resident() - before
    stopping = time.perf_counter()
    await connector.shutdown()
    return {
        "start": started - begun,
        "stop": time.perf_counter() - stopping,
        "resident MiB": memory,
    }


def _resident() -> float:
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024


def _start(tree: Path, *arguments: str) -> subprocess.Popen[str]:
    path = os.pathsep.join((str(tree / "python"), str(HERE)))
    return subprocess.Popen(
        [sys.executable, "-m", "benches.connector_compare", "--child", *arguments],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
        env={**os.environ, "PYTHONPATH": path},
    )


def _result(child: subprocess.Popen[str]) -> dict[str, float]:
    said, _ = child.communicate("\n")
    assert child.returncode == 0, said
    found: dict[str, float] = json.loads(said.splitlines()[-1])
    return found


def _over_nats(tree: Path, url: str, calls: int) -> dict[str, float]:
    service = _start(tree, "serve", url)
    assert service.stdout is not None
    assert service.stdout.readline() == "READY\n"
    caller = _result(_start(tree, "call", url, str(calls)))
    served = _result(service)
    assert caller["right"] == calls, f"{calls - caller['right']} outcomes are missing or wrong"
    return {
        "over NATS, caller": caller["cpu"] / calls * 1e6,
        "over NATS, service": served["cpu"] / (calls + 100) * 1e6,
    }


def compared(today: Path, rounds: int, calls: int, endpoints: int) -> dict[str, Any]:
    """Return the least CPU of each tree in microseconds a request, and the ratios.

    Args:
        today: The checkout of the earlier commit.
        rounds: How often each is measured.
        calls: The requests of a round.
        endpoints: The endpoints of one connector whose start and stop are measured; 0 for none.
    """

    trees = {"today": today, "now": HERE}
    least: dict[str, dict[str, float]] = {name: {} for name in trees}
    started: dict[str, dict[str, dict[str, float]]] = {name: {} for name in trees}
    with tempfile.TemporaryDirectory() as folder, running(Path(folder)) as url:
        for _ in range(min(rounds, 3) if endpoints else 0):
            for name, tree in trees.items():
                _add_starts(started[name], tree, url, endpoints)
        for _ in range(rounds):
            for name, tree in trees.items():
                found = _result(_start(tree, "in-process", str(calls)))
                found |= _over_nats(tree, url, calls)
                for figure, value in found.items():
                    least[name][figure] = min(value, least[name].get(figure, value))
    record: dict[str, Any] = {
        "python": platform.python_version(),
        "cores": os.cpu_count(),
        "microseconds": {k: {n: round(v, 1) for n, v in d.items()} for k, d in least.items()},
        "ratios": {
            figure: round(value / least["today"][figure], 3)
            for figure, value in least["now"].items()
        },
    }
    if endpoints:
        record["endpoints"] = {
            name: {kind: {k: round(v, 3) for k, v in each.items()} for kind, each in kinds.items()}
            for name, kinds in started.items()
        }
    return record


def _add_starts(least: dict[str, dict[str, float]], tree: Path, url: str, endpoints: int) -> None:
    """Start and stop a connector of each kind; keep the least figures."""
    for patterns, locality in (("two", ""), ("six", "a-b-c-d")):
        for where, broker in (("in process", ""), ("over NATS", url)):
            found = _result(_start(tree, "endpoints", str(endpoints), broker, locality))
            kept = least.setdefault(f"{where}, {patterns} patterns", found)
            for figure, value in found.items():
                kept[figure] = min(value, kept[figure])


def missed(record: dict[str, Any]) -> list[str]:
    """Return the ratios above their floors."""
    found = []
    for figure, ratio in record["ratios"].items():
        floor = next((value for name, value in FLOORS.items() if figure.startswith(name)), 1.0)
        if ratio > floor:
            found.append(f"{figure}: {ratio} (wanted: at most {floor})")
    now = record["microseconds"]["now"]
    if now["in process, new URLs"] > 1.2 * now["in process, repeated URLs"]:
        found.append("new URLs cost more than 1.2 times repeated ones")
    for kind, times in record.get("endpoints", {}).get("now", {}).items():
        if times["stop"] > 3 * times["start"]:
            found.append(f"{kind}: the stop takes more than three times the start")
    return found


def main() -> None:
    """Run the comparison, or one of its processes."""
    if sys.argv[1:2] == ["--child"]:
        role, *rest = sys.argv[2:]
        work = {
            "in-process": lambda: _in_process(int(rest[0])),
            "serve": lambda: _serve(rest[0]),
            "call": lambda: _call(rest[0], int(rest[1])),
            "endpoints": lambda: _endpoints(int(rest[0]), *rest[1:]),
        }[role]
        print(json.dumps(asyncio.run(work())))
        return
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--today", type=Path, required=True)
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--calls", type=int, default=1500)
    parser.add_argument("--endpoints", type=int, default=0)
    parser.add_argument("--record", type=Path)
    given = parser.parse_args()
    record = compared(given.today, given.rounds, given.calls, given.endpoints)
    print(json.dumps(record, indent=1))
    if given.record:
        given.record.write_text(json.dumps(record, indent=1) + "\n")
    for text in missed(record):
        print(f"MISS {text}")
    raise SystemExit(1 if missed(record) else 0)


if __name__ == "__main__":
    main()
