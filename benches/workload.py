"""Patterns and subjects of a Microbus deployment, as text files that every language can read.

    python benches/workload.py [--sizes 1000,6000]

A deployment has services of 20 routes each (50 from 100,000 subscriptions on). A route is
subscribed six times: at slot ``_``, at the ids of the service's two replicas, at three localities.
Sources are always ``*``; a tenth of the ports and methods are ``*``; a quarter of the deeper paths
have an argument; 6 % end in ``>``. 6,000 subscriptions are 50 services, 600,000 are 2,000. They
are listed service by service, the six slots of a route one after the other: the regular order in
which a deployment is written down, and the hardest for an index that samples what it is given.

Subjects are drawn from the patterns; one in ten has no matching pattern:

- ``hot``: 1,000 different ones, looked up repeatedly
- ``zipf``: 200,000 lookups over 100,000 different ones, the n-th drawn with weight 1/n
- ``uniform``: 200,000 lookups, every pattern equally likely, almost no subject twice: a round over
  them asks for each as if it were new

The files are in ``benches/workloads/SIZE/``: ``patterns.txt``, ``hot.txt``, ``zipf.txt``,
``uniform.txt``, and ``added.txt``, 10,000 patterns more: further replicas of the same services.
ASCII, one text per line, LF after each. The zero-based number of a line is the subscription's value
in every program; ``added.txt`` continues the numbering. The same seed gives the same bytes.
"""

from __future__ import annotations

import argparse
import functools
import random
from collections.abc import Iterator
from dataclasses import dataclass
from itertools import accumulate, islice
from pathlib import Path

FOLDER = Path(__file__).resolve().parent / "workloads"
SIZES = (1_000, 6_000, 10_000, 100_000, 600_000, 1_000_000)
ORDERS = ("hot", "zipf", "uniform")
SEED = 20261121
# Stored with the files; files of another form are generated again.
FORM = f"form 2, seed {SEED}\n"

_HOT, _LOOKUPS, _DIFFERENT, _ADDED, _SOURCES = 1_000, 200_000, 100_000, 10_000, 400
_VERBS = ("GET", "POST", "PUT", "DELETE", "PATCH")
_NOUNS = ("orders", "items", "users", "carts", "prices", "stock", "events", "labels")
_PORTS = ("443", "443", "443", "417", "888")
_LOCALITIES = ("loc-eu", "loc-eu-west", "loc-eu-west-1")


@dataclass(frozen=True)
class Workload:
    """The subscriptions of a deployment, the subjects sent to it, and further subscriptions."""

    patterns: list[str]
    added: list[str]
    hot: list[str]
    zipf: list[str]
    uniform: list[str]


def made(size: int, *, lookups: int = _LOOKUPS, different: int = _DIFFERENT) -> Workload:
    """Generate the workload of a number of subscriptions. Cost: about 4 µs per text."""
    draw = random.Random(SEED + size)
    per_service = 20 if size < 100_000 else 50
    services = [
        _service(draw, number, per_service) for number in range(-(-size // (per_service * 6)))
    ]
    patterns = [
        f"{before}{slot}{after}"
        for routes, slots in services
        for before, after in routes
        for slot in slots
    ]
    del patterns[size:]
    uniform = list(islice(_subjects(draw, patterns), lookups))
    base = list(islice(_distinct(_subjects(draw, patterns)), different))
    weights = list(accumulate(1 / rank for rank in range(1, different + 1)))
    return Workload(
        patterns=patterns,
        added=list(islice(_replicas(draw, services), _ADDED)),
        hot=list(islice(_distinct(_subjects(draw, patterns)), _HOT)),
        zipf=draw.choices(base, cum_weights=weights, k=lookups),
        uniform=uniform,
    )


def _service(draw: random.Random, number: int, routes: int) -> tuple[list, list]:
    """Return the routes of a service, as the text before and after the slot, and its slots."""
    host = f"com_acme_service{number}"
    slots = ["_", _id(draw), _id(draw), *_LOCALITIES]
    return [_route(draw, host, route) for route in range(routes)], slots


def _id(draw: random.Random) -> str:
    return f"id-{draw.getrandbits(32):08x}"


def _route(draw: random.Random, host: str, number: int) -> tuple[str, str]:
    path = ["v1", draw.choice(_NOUNS)]
    path += [f"p{draw.randrange(40)}" for _ in range(draw.randrange(3))]
    path.append(f"r{number}")
    if len(path) > 3 and draw.random() < 0.25:
        path[2] = "*"
    if draw.random() < 0.06:
        path.append(">")
    port = "*" if draw.random() < 0.1 else draw.choice(_PORTS)
    method = "*" if draw.random() < 0.1 else draw.choice(_VERBS)
    return f"microbus.safe.{port}.*.{host}.", f".{method}.{'.'.join(path)}"


def _replicas(draw: random.Random, services: list) -> Iterator[str]:
    while True:
        routes, _ = draw.choice(services)
        slot = _id(draw)
        for before, after in routes:
            yield f"{before}{slot}{after}"


def _subjects(draw: random.Random, patterns: list[str]) -> Iterator[str]:
    chance, choice = draw.random, draw.choice
    while True:
        tokens = choice(patterns).split(".")
        if tokens[2] == "*":
            tokens[2] = "443"
        tokens[3] = f"com_acme_web{int(chance() * _SOURCES)}"
        if tokens[6] == "*":
            tokens[6] = choice(_VERBS)
        if tokens[9] == "*":
            tokens[9] = f"arg{int(chance() * 1e6)}"
        route = -1
        if tokens[-1] == ">":
            deeper = 1 + int(chance() * 3)
            tokens[-1:] = [f"deep{int(chance() * 9)}" for _ in range(deeper)]
            route -= deeper
        if chance() < 0.1:
            tokens[route] = "nowhere"
        yield ".".join(tokens)


def _distinct(subjects: Iterator[str]) -> Iterator[str]:
    seen = set()
    for subject in subjects:
        if subject not in seen:
            seen.add(subject)
            yield subject


def folder(size: int, within: Path = FOLDER) -> Path:
    """Return the directory of a size; generate its files if they are missing or outdated."""
    place = within / str(size)
    stamp = place / "form.txt"
    if not stamp.exists() or stamp.read_text() != FORM:
        place.mkdir(parents=True, exist_ok=True)
        workload = made(size)
        for name, lines in vars(workload).items():
            (place / f"{name}.txt").write_bytes(("\n".join(lines) + "\n").encode("ascii"))
        stamp.write_text(FORM)
    return place


@functools.lru_cache(maxsize=8)
def lines(size: int, name: str) -> list[str]:
    """Read the lines of one file: ``patterns``, ``added``, or an order of subjects."""
    return (folder(size) / f"{name}.txt").read_text("ascii").splitlines()


def fresh(text: str) -> str:
    """Return the text as a new object without a cached hash, as if read from a socket."""
    return text.encode().decode()


def main() -> None:
    """Generate missing files, and print their sizes."""
    options = argparse.ArgumentParser(description="Write the workload files.")
    options.add_argument("--sizes", default=",".join(map(str, SIZES)))
    for size in map(int, options.parse_args().sizes.split(",")):
        place = folder(size)
        total = sum(file.stat().st_size for file in place.iterdir())
        print(f"{place.relative_to(FOLDER.parent)}: {total / 1e6:.1f} MB", flush=True)


if __name__ == "__main__":
    main()
