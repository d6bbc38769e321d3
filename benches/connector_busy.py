"""Services under load over NATS: requests in flight, a blocked event loop, threads that compute.

    python -m benches.connector_busy [--seconds 3] [--rounds 2] [--record FILE] [--peer-name NAME]

Callers and services are processes of their own. With ``SUBTRIE_INTEROP_PEER`` that program calls
and serves too, in all four combinations (it needs the verb ``load``: ``load --nats URL --plane P
--host H URL IN_FLIGHT SECONDS`` prints one line of JSON like ``load`` here, with its CPU seconds).
The combinations are measured in turns, and the best rate and the least CPU of the rounds count;
errors are added up. Every request is counted: each has one outcome.
Acknowledgements are timed at the connection of the caller, while threads of the service compute
also with the interpreter's own switch interval (``SUBTRIE_KEEP_SWITCH_INTERVAL``).
"""

from __future__ import annotations

import argparse
import asyncio
import json
import os
import platform
import shlex
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from itertools import product
from pathlib import Path
from typing import Any

from benches.plain_broker import running
from subtrie.connector import AckTimeout, Connector, HTTPError

HERE = Path(__file__).resolve().parents[1]
PEER = shlex.split(os.environ.get("SUBTRIE_INTEROP_PEER", ""))
OURS = [sys.executable, "-m", "benches.connector_busy", "--role"]
PLANES = {False: "busy", True: "busypeer"}  # by whether the peer serves
HOST, URL = "shop.example", "https://shop.example"
IN_FLIGHT = (1, 64, 512, 1024)
COMPUTING = (0, 4, 16)  # threads
TRIES = 100
BLOCKED = 0.5  # seconds
IN_TIME = 0.1  # seconds in which a route acknowledges


# --- one process


def _connector(url: str, host: str, plane: str = PLANES[False]) -> Connector:
    return Connector(host, plane=plane, nats=url, short_circuit=False, deployment="LAB")


async def serve(url: str, threads: int) -> None:
    """Serve until a line arrives on the standard input, while threads compute."""
    shop = _connector(url, HOST)

    @shop.endpoint("GET", "/hello")
    async def hello() -> dict[str, str]:
        return {"hello": "world"}

    @shop.endpoint("GET", "/block")
    async def block() -> None:
        time.sleep(BLOCKED)

    done = threading.Event()

    def compute() -> None:
        while not done.is_set():
            sum(range(10_000))

    async with shop:
        for _ in range(threads):
            threading.Thread(target=compute, daemon=True).start()
        print("READY", HOST, shop.id, flush=True)
        await asyncio.to_thread(sys.stdin.readline)
        done.set()


async def load(url: str, plane: str, target: str, in_flight: int, seconds: float) -> dict[str, Any]:
    """Keep requests in flight; return how many were sent, and each outcome."""
    counts = {"sent": 0, "answered": 0, "ack_timeouts": 0, "other": 0}
    times: list[float] = []

    async with _connector(url, "web.example", plane) as web:
        end = time.perf_counter() + seconds

        async def ask() -> None:
            while (begun := time.perf_counter()) < end:
                counts["sent"] += 1
                try:
                    await web.request("GET", f"{target}?n={counts['sent']}")
                    counts["answered"] += 1
                except AckTimeout:
                    counts["ack_timeouts"] += 1
                except HTTPError:
                    counts["other"] += 1
                times.append(time.perf_counter() - begun)

        begun, worked = time.perf_counter(), time.process_time()
        await asyncio.gather(*(ask() for _ in range(in_flight)))
        spent, worked = time.perf_counter() - begun, time.process_time() - worked
    times.sort()
    rate = counts["answered"] / spent
    p99 = times[int(0.99 * (len(times) - 1))]
    return {**counts, "seconds": spent, "per_second": rate, "p99": p99, "cpu": worked}


async def acknowledged(url: str, block: bool) -> dict[str, Any]:
    """Time the acknowledgements of ``/hello``, also while another route blocks the loop."""
    sent: dict[str, float] = {}
    times: list[float] = []
    web = _connector(url, "web.example")

    @web.watch
    def watch(direction: str, subject: str, payload: bytes) -> None:
        head = payload.partition(b"\r\n\r\n")[0].decode()
        headers = dict(line.split(": ", 1) for line in head.split("\r\n")[1:])
        number, operation = headers["Microbus-Msg-Id"], headers["Microbus-Op-Code"]
        if direction == "out" and subject.endswith(".GET.hello"):
            sent[number] = time.perf_counter()
        elif direction == "in" and operation == "Ack" and number in sent:
            times.append(time.perf_counter() - sent.pop(number))

    outcomes = 0
    async with web:
        working = True

        async def blocking() -> None:
            while working:
                await web.request("GET", f"{URL}/block", timeout=60)

        other = asyncio.create_task(blocking()) if block else None

        async def one() -> None:
            nonlocal outcomes
            try:
                await web.request("GET", f"{URL}/hello", timeout=60)
            finally:
                outcomes += 1

        asking = set()
        for _ in range(TRIES):
            asking.add(asyncio.create_task(one()))
            await asyncio.sleep(0.05)
        found = await asyncio.gather(*asking, return_exceptions=True)
        working = False
        if other is not None:
            await other
    return {
        "tries": TRIES,
        "outcomes": outcomes,
        "answered": sum(not isinstance(each, BaseException) for each in found),
        "in_time": sum(each <= IN_TIME for each in times),
        "slowest_ms": round(max(times, default=0.0) * 1000, 1),
    }


# --- from outside


def _environment(kept: bool = False) -> dict[str, str]:
    path = os.pathsep.join((str(HERE / "python"), str(HERE)))
    interval = {"SUBTRIE_KEEP_SWITCH_INTERVAL": "1" if kept else "0"}
    return {**os.environ, "PYTHONPATH": path, "MICROBUS_DEPLOYMENT": "LAB", **interval}


def _cpu_of(process: int) -> float:
    """Return the CPU seconds of a process so far; 0 where the system does not tell."""
    try:
        fields = Path(f"/proc/{process}/stat").read_text().rpartition(")")[2].split()
    except OSError:
        return 0.0
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


@contextmanager
def _service(url: str, *, peer: bool, threads: int = 0, kept: bool = False) -> Iterator[int]:
    """Start a service, yield its process id, and stop it."""
    mine = [*OURS, "serve", url, str(threads)]
    his = [*PEER, "serve", "--nats", url, "--plane", PLANES[True], "--host", HOST]
    process = subprocess.Popen(
        his if peer else mine,
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL if peer else None,
        text=True,
        env=_environment(kept),
        cwd=HERE,
    )
    assert process.stdout is not None
    try:
        while not (line := process.stdout.readline()).startswith("READY"):
            assert line, "the service ended before it was ready"
        yield process.pid
    finally:
        if peer:
            process.terminate()
        process.communicate("\n", timeout=60)


def _last_line(arguments: list[str]) -> dict[str, Any]:
    said = subprocess.run(
        arguments,
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
        text=True,
        env=_environment(),
        cwd=HERE,
        check=True,
        timeout=300,
    ).stdout
    found: dict[str, Any] = json.loads(said.splitlines()[-1])
    return found


def in_flight(
    url: str, seconds: float, numbers: tuple[int, ...], rounds: int = 1
) -> dict[str, Any]:
    """Return the rates and outcomes by caller, service and requests in flight."""
    kinds = {"Python": False, **({"peer": True} if PEER else {})}
    rows: dict[str, Any] = {}
    with ExitStack() as services:
        running_services = {
            name: services.enter_context(_service(url, peer=serves))
            for name, serves in kinds.items()
        }
        for number in numbers:
            for _, caller, service in product(range(rounds), kinds, kinds):
                process, plane = running_services[service], PLANES[kinds[service]]
                before = _cpu_of(process)
                found = _loaded(url, plane, kinds[caller], number, seconds)
                cpu = _cpu_of(process) - before
                outcomes = found["answered"] + found["ack_timeouts"] + found["other"]
                assert outcomes == found["sent"], "a request has no outcome, or two"
                row = {
                    "sent": found["sent"],
                    "answered_per_second": round(found["per_second"]),
                    "ack_timeouts": found["ack_timeouts"],
                    "other_errors": found["other"],
                    "p99_ms": round(found["p99"] * 1000, 1),
                    "service_us_a_request": round(cpu / found["sent"] * 1e6, 1),
                    "caller_us_a_request": round(found["cpu"] / found["sent"] * 1e6, 1),
                }
                name = f"{caller} to {service}, {number}"
                rows[name] = {
                    figure: _ROUNDS.get(figure, sum)((value, rows[name][figure]))
                    if name in rows
                    else value
                    for figure, value in row.items()
                }
    return rows


#: How the figures of several rounds become one; others are added up.
_ROUNDS: dict[str, Callable[[tuple[float, float]], float]] = {
    "answered_per_second": max,
    "p99_ms": min,
    "service_us_a_request": min,
    "caller_us_a_request": min,
}


def _loaded(url: str, plane: str, peer: bool, number: int, seconds: float) -> dict[str, Any]:
    rest = [f"{URL}/hello", str(number), str(seconds)]
    if peer:
        given = ["--nats", url, "--plane", plane, "--host", "web.example"]
        return _last_line([*PEER, "load", *given, *rest])
    return _last_line([*OURS, "load", url, plane, *rest])


def measured(
    seconds: float, numbers: tuple[int, ...] = IN_FLIGHT, rounds: int = 1
) -> dict[str, Any]:
    """Return everything, as it is recorded.

    Args:
        seconds: The length of each load.
        numbers: The numbers of requests in flight.
        rounds: How often each load is run.
    """
    record: dict[str, Any] = {
        "python": platform.python_version(),
        "cores": os.cpu_count(),
    }
    with tempfile.TemporaryDirectory() as folder, running(Path(folder)) as url:
        record["in_flight"] = in_flight(url, seconds, numbers, rounds)
        record["acknowledgements"] = {}
        for threads, kept in product(COMPUTING, (False, True)):
            if kept and not threads:
                continue
            name = f"{threads} threads compute" if threads else "another route blocks the loop"
            name += ", the interval of 5 ms" if kept else ""
            with _service(url, peer=False, threads=threads, kept=kept):
                told = _last_line([*OURS, "acknowledged", url, "" if threads else "block"])
            assert told["outcomes"] == told["tries"], "a request has no outcome, or two"
            record["acknowledgements"][name] = told
    return record


def missed(record: dict[str, Any]) -> list[str]:
    """Return what is not as wanted."""
    rows, found = record["in_flight"], []

    def value(caller: str, service: str, number: int, name: str) -> float | None:
        row = rows.get(f"{caller} to {service}, {number}")
        return None if row is None else row.get(name)

    for caller in ("Python", "peer"):
        late = value(caller, "Python", 512, "ack_timeouts")
        if late:
            found.append(f"{caller} to Python, 512 in flight: {late} time-outs (wanted: 0)")
    late, most = (value("peer", each, 1024, "ack_timeouts") for each in ("Python", "peer"))
    if late is not None and most is not None and late > most:
        found.append(f"1,024 in flight: {late} time-outs (wanted: at most {most}, the peer's)")
    for number in sorted({int(name.rpartition(" ")[2]) for name in rows}):
        ours, theirs = (
            value("peer", s, number, "service_us_a_request") for s in ("Python", "peer")
        )
        if ours and theirs and ours > 1.3 * theirs:
            ratio = ours / theirs
            found.append(
                f"service CPU, {number} in flight: {ratio:.2f} of the peer's (wanted: 1.3)"
            )
        ours, theirs = (value(c, "peer", number, "caller_us_a_request") for c in ("Python", "peer"))
        if ours and theirs and ours > 1.25 * theirs:
            ratio = ours / theirs
            found.append(
                f"caller CPU, {number} in flight: {ratio:.2f} of the peer's (wanted: 1.25)"
            )
        ours, theirs = (value("peer", s, number, "answered_per_second") for s in ("Python", "peer"))
        if ours is not None and theirs and ours < 0.8 * theirs:
            ratio = ours / theirs
            found.append(f"rate, {number} in flight: {ratio:.2f} of the peer's (wanted: 0.8)")
    for name, told in record["acknowledgements"].items():
        if told["in_time"] < 0.99 * told["tries"] and "16" not in name and "interval" not in name:
            found.append(f"{name}: {told['in_time']} of {told['tries']} acknowledged in 100 ms")
    return found


def main() -> None:
    """Run the benchmark, or one of its processes."""
    if sys.argv[1:2] == ["--role"]:
        role, url, *rest = sys.argv[2:]
        if role == "serve":
            asyncio.run(serve(url, int(rest[0])))
        elif role == "load":
            plane, target, number, seconds = rest
            work = load(url, plane, target, int(number), float(seconds))
            print(json.dumps(asyncio.run(work)))
        else:
            print(json.dumps(asyncio.run(acknowledged(url, bool(rest[0])))))
        return
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--seconds", type=float, default=3)
    parser.add_argument("--rounds", type=int, default=2)
    parser.add_argument("--record", type=Path)
    parser.add_argument("--peer-name", default="", help="what SUBTRIE_INTEROP_PEER is")
    given = parser.parse_args()
    record = {"peer": given.peer_name} if PEER else {}
    record |= measured(given.seconds, rounds=given.rounds)
    print(json.dumps(record, indent=1))
    if given.record:
        given.record.write_text(json.dumps(record, indent=1) + "\n")
    misses = missed(record)
    for text in misses:
        print(f"MISS {text}")
    sys.exit(1 if misses else 0)


if __name__ == "__main__":
    main()
