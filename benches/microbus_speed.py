"""Time the codec of addresses from Python, on subjects that no call has seen.

    python benches/microbus_speed.py [ROUNDS]

prints one JSON object: nanoseconds a call, the least of the rounds. It uses only what every version
has, so two builds are compared by running it with one ``PYTHONPATH`` after the other.
"""

from __future__ import annotations

import json
import sys
import time
from collections.abc import Callable
from typing import Any

from subtrie import Subject, microbus

#: Calls in a round; each round has texts of its own. Few, so that some rounds are not interrupted.
CALLS = 200


def _path(number: int) -> str:
    return f"order/{number * 7919 % 10007}/items/{number}"


def _subject(number: int) -> str:
    path = _path(number).replace("/", ".")
    return f"prod.safe.443.web{number % 37}_shop.orders{number % 50}_service_shop._.GET.{path}"


def _reply(number: int) -> str:
    return f"prod.reply._.orders{number % 50}_shop.web{number % 37}_shop.id-{number}x"


def _parts(number: int) -> tuple[str, str, str]:
    return f"web{number % 37}.shop", f"orders{number % 50}.service.shop", "/" + _path(number)


def _encode_request(parts: tuple[str, str, str]) -> Subject:
    source, host, path = parts
    return microbus.encode_request(
        plane="prod", port=443, source=source, host=host, method="GET", path=path
    )


def _url(number: int) -> tuple[str, str]:
    return f"web{number % 37}.shop", f"https://orders{number % 50}.service.shop/{_path(number)}"


def _request_from_url(parts: tuple[str, str]) -> Subject:
    source, url = parts
    return microbus.request_from_url(plane="prod", source=source, method="GET", url=url)


CASES: dict[str, tuple[Callable[[int], Any], Callable[[Any], object]]] = {
    "loop": (_subject, lambda text: None),
    "decode": (_subject, microbus.decode),
    "decode, reply": (_reply, microbus.decode),
    "source_of": (_subject, microbus.source_of),
    "Subject": (_subject, Subject),
    "encode_request": (_parts, _encode_request),
    "request_from_url": (_url, _request_from_url),
}


def measure(rounds: int = 300) -> dict[str, float]:
    """Return the nanoseconds of a call for each case, loop included."""
    found = {}
    for name, (make, call) in CASES.items():
        least = float("inf")
        for number in range(rounds):
            given = [make(at) for at in range(number * CALLS, (number + 1) * CALLS)]
            start = time.perf_counter_ns()
            for each in given:
                call(each)
            least = min(least, (time.perf_counter_ns() - start) / CALLS)
        found[name] = round(least, 1)
    return found


if __name__ == "__main__":
    print(json.dumps(measure(int(sys.argv[1]) if len(sys.argv) > 1 else 300)))
