"""A request between two connectors in process, and what it is measured against, in one run.

    python -m benches.connector_speed [--rounds 7] [--load 60] [--record]

The same request, path argument and JSON body: between connectors in process, with one endpoint and
with ten thousand; through nats-server with nats-py's request-reply; the handler called directly;
what a task, a time limit and the JSON alone cost. Besides, a dispatcher's ``dispatch`` against the
index's ``select``. All of them take turns, so that whatever else the machine does meets all alike.
``--load`` adds mixed traffic over NATS for so many seconds; ``--record`` keeps it all in
``benches/records/``. Exits with 1 where a wanted figure was missed.
"""

from __future__ import annotations

import argparse
import asyncio
import datetime
import itertools
import json
import os
import platform
import statistics
import sys
import tempfile
import time
from collections.abc import Awaitable, Callable
from importlib import metadata
from pathlib import Path
from typing import Any

import nats

from benches.connector_load import load
from benches.plain_broker import running
from subtrie import Dispatcher, SubjectTrie
from subtrie.connector import Connector

RECORDS = Path(__file__).parent / "records"
CALLS = 1000  # in a round
MANY = 10_000  # endpoints
SUBJECT = "p.safe.443.web_example.host500._.GET.order.7"

Ask = Callable[[int], Awaitable[Any]]

#: Name, what is wanted, and how it follows from the medians (in microseconds).
WANTED: list[tuple[str, str, Callable[[dict[str, float]], float], Callable[[float], bool]]] = [
    (
        "times faster than through nats-server with nats-py",
        "at least 10",
        lambda m: m["through nats-server with nats-py"] / m["in process"],
        lambda value: value >= 10,
    ),
    (
        "µs over the handler called directly",
        "under 25",
        lambda m: m["in process"] - m["handler called directly"],
        lambda value: value < 25,
    ),
    (
        "times a task, a time limit and the JSON alone",
        "at most 1.1",
        lambda m: m["in process"] / m["a task, a time limit and the JSON alone"],
        lambda value: value <= 1.1,
    ),
    (
        "times as slow with 10,000 endpoints",
        "at most 1.5",
        lambda m: m["in process, 10,000 endpoints"] / m["in process"],
        lambda value: value <= 1.5,
    ),
    (
        "times `select` for `dispatch` of a plain callable",
        "at most 3",
        lambda m: m["Dispatcher.dispatch"] / m["SubjectTrie.select"],
        lambda value: value <= 3,
    ),
]


async def place(id: int, order: dict[str, Any]) -> dict[str, Any]:
    """The handler that everyone calls."""
    return {"id": id, "item": order["item"]}


def services(plane: str, endpoints: int = 0) -> tuple[Connector, Connector]:
    """Return a connector that serves, and one that sends requests."""
    options = {"nats": "", "plane": plane, "deployment": "LAB"}
    shop, web = Connector("shop.example", **options), Connector("web.example", **options)
    shop.endpoint("POST", "/order/{id}")(place)
    for number in range(endpoints):
        shop.endpoint("GET", f"/other{number}/{{id}}")(place)
    return shop, web


def asking(web: Connector) -> Ask:
    """One request and the answer's JSON."""

    async def ask(n: int) -> Any:
        url = f"https://shop.example/order/{n}"
        return (await web.request("POST", url, json={"order": {"item": "tea"}})).json()

    return ask


async def through_nats(url: str) -> tuple[Ask, Callable[[], Awaitable[None]]]:
    """The same with nats-py alone: two clients, one server."""
    here, there = await nats.connect(url), await nats.connect(url)

    async def answer(message: Any) -> None:
        told = await place(int(message.subject.split(".")[1]), json.loads(message.data))
        await message.respond(json.dumps(told).encode())

    await there.subscribe("order.*", cb=answer)
    for _ in range(2):
        await there.flush()

    async def ask(n: int) -> Any:
        told = await here.request(f"order.{n}", json.dumps({"item": "tea"}).encode(), timeout=20)
        return json.loads(told.data)

    async def close() -> None:
        await here.close()
        await there.close()

    return ask, close


async def direct(n: int) -> Any:
    """Nothing between caller and handler."""
    return await place(n, {"item": "tea"})


async def least(n: int) -> Any:
    """A task, a time limit, and both bodies there and back: less cannot do the same."""

    async def serve() -> str:
        return json.dumps(await place(n, json.loads(json.dumps({"item": "tea"}))))

    async with asyncio.timeout(20):
        return json.loads(await asyncio.get_running_loop().create_task(serve()))


_numbers = itertools.count()


async def spent(ask: Ask, calls: int) -> list[float]:
    """Seconds of each call, with a new URL each time; the answers are compared."""
    times = []
    for n in itertools.islice(_numbers, calls):
        begun = time.perf_counter()
        told = await ask(n)
        times.append(time.perf_counter() - begun)
        assert told == {"id": n, "item": "tea"}, told
    return times


def lookups() -> dict[str, Callable[[], Any]]:
    """``select`` and ``dispatch`` over the same thousand subscriptions."""
    trie, dispatcher, heard = SubjectTrie(), Dispatcher(), int
    for number in range(1000):
        pattern = f"p.safe.443.*.host{number}._.GET.order.*"
        trie.add(pattern, heard, queue=f"host{number}")
        dispatcher.subscribe(pattern, lambda message: None, queue=f"host{number}")
    assert len(trie.select(SUBJECT)) == dispatcher.dispatch(SUBJECT, None) == 1
    return {
        "SubjectTrie.select": lambda: trie.select(SUBJECT),
        "Dispatcher.dispatch": lambda: dispatcher.dispatch(SUBJECT, None),
    }


def block(call: Callable[[], Any], calls: int) -> float:
    """Seconds of one call, from a block of them."""
    begun = time.perf_counter()
    for _ in range(calls):
        call()
    return (time.perf_counter() - begun) / calls


async def medians(url: str, rounds: int, calls: int, endpoints: int) -> dict[str, float]:
    """The median of each, in microseconds."""
    ask_nats, close = await through_nats(url)
    few, many = services("few"), services("many", endpoints)
    for each in (*few, *many):
        await each.startup()
    asks: dict[str, Ask] = {
        "in process": asking(few[1]),
        "in process, 10,000 endpoints": asking(many[1]),
        "through nats-server with nats-py": ask_nats,
        "a task, a time limit and the JSON alone": least,
        "handler called directly": direct,
    }
    direct_calls = lookups()
    times: dict[str, list[float]] = {name: [] for name in (*asks, *direct_calls)}
    for turn in range(rounds + 1):  # the first is for warming up
        for name, ask in asks.items():
            times[name] += (await spent(ask, calls)) if turn else []
            if not turn:
                await spent(ask, calls)
        for name, call in direct_calls.items():
            times[name] += [block(call, 200) for _ in range(max(calls // 20, 1))] if turn else []
    for each in (*few, *many):
        await each.shutdown()
    await close()
    return {name: statistics.median(each) * 1e6 for name, each in times.items()}


def measured(
    *, rounds: int = 7, calls: int = CALLS, endpoints: int = MANY, seconds: float = 0
) -> dict[str, Any]:
    """Everything, as it is recorded."""
    with tempfile.TemporaryDirectory() as folder, running(Path(folder)) as url:
        found = asyncio.run(medians(url, rounds, calls, endpoints))
        loaded = asyncio.run(load(url, seconds)) if seconds else None
    figures = [
        {"figure": name, "wanted": wanted, "value": round(value, 2), "reached": reached(value)}
        for name, wanted, of, reached in WANTED
        for value in [of(found)]
    ]
    if loaded is not None:
        figures += [
            {"figure": "requests a second over NATS, sustained", "wanted": "at least 1,000",
             "value": loaded["per_second"], "reached": loaded["per_second"] >= 1000},
            {"figure": "replies lost or doubled or wrong", "wanted": "0",
             "value": loaded["lost"] + loaded["doubled"] + loaded["wrong"],
             "reached": not (loaded["lost"] or loaded["doubled"] or loaded["wrong"])},
            {"figure": "MiB of resident memory a minute", "wanted": "under 2",
             "value": loaded["mib_a_minute"], "reached": loaded["mib_a_minute"] < 2},
        ]  # fmt: skip
    return {
        "date": datetime.date.today().isoformat(),
        "processor": _processor(),
        "cores": os.cpu_count(),
        "load_average": round(os.getloadavg()[0], 1),
        "versions": {
            "Python": platform.python_version(),
            "subtrie": metadata.version("subtrie"),
            "nats-py": metadata.version("nats-py"),
        },
        "calls": rounds * calls,
        "medians_us": {name: round(value, 2) for name, value in found.items()},
        "load": loaded,
        "figures": figures,
    }


def _processor() -> str:
    try:
        lines = Path("/proc/cpuinfo").read_text().splitlines()
        name = next(x.split(":")[1].strip() for x in lines if x.startswith("model name"))
        return " ".join(name.split()[:2])
    except (OSError, StopIteration):
        return platform.machine()


def shown(record: dict[str, Any]) -> str:
    """Return the text that is printed."""
    lines = [f"{value:10.2f} µs  {name}" for name, value in record["medians_us"].items()]
    if record["load"]:
        lines += ["", *(f"{value:10}  {name}" for name, value in record["load"].items())]
    lines.append("")
    for each in record["figures"]:
        mark = "     " if each["reached"] else "MISS "
        lines.append(f"{mark}{each['value']:10}  {each['figure']} (wanted: {each['wanted']})")
    return "\n".join(lines)


def main() -> None:
    """The command line."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rounds", type=int, default=7)
    parser.add_argument("--load", type=float, default=0, metavar="SECONDS")
    parser.add_argument("--record", action="store_true")
    given = parser.parse_args()
    record = measured(rounds=given.rounds, seconds=given.load)
    print(shown(record))
    if given.record:
        path = RECORDS / f"connector-{record['date']}.json"
        path.write_text(json.dumps(record, indent=1) + "\n")
        print(f"\nkept as benches/records/{path.name}")
    sys.exit(0 if all(each["reached"] for each in record["figures"]) else 1)


if __name__ == "__main__":
    main()
