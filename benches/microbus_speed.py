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

#: Calls in a round; each round has texts of its own.
CALLS = 5000


def _path(number: int) -> str:
    return f"order/{number * 7919 % 10007}/items/{number}"


def _subject(number: int) -> str:
    path = _path(number).replace("/", ".")
    return f"prod.safe.443.web{number % 37}_shop.orders{number % 50}_service_shop._.GET.{path}"


def _reply(number: int) -> str:
    return f"prod.reply._.orders{number % 50}_shop.web{number % 37}_shop.id-{number}x"


def _parts(number: int) -> dict[str, Any]:
    return {
        "plane": "prod",
        "port": 443,
        "source": f"web{number % 37}.shop",
        "host": f"orders{number % 50}.service.shop",
        "method": "GET",
        "path": "/" + _path(number),
    }


def _url(number: int) -> dict[str, Any]:
    url = f"https://orders{number % 50}.service.shop/{_path(number)}"
    return {"plane": "prod", "source": f"web{number % 37}.shop", "method": "GET", "url": url}


CASES: dict[str, tuple[Callable[[int], Any], Callable[[Any], object]]] = {
    "loop": (_subject, lambda text: None),
    "decode": (_subject, microbus.decode),
    "decode, reply": (_reply, microbus.decode),
    "source_of": (_subject, microbus.source_of),
    "Subject": (_subject, Subject),
    "encode_request": (_parts, lambda parts: microbus.encode_request(**parts)),
    "request_from_url": (_url, lambda parts: microbus.request_from_url(**parts)),
}


def measure(rounds: int = 15) -> dict[str, float]:
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
    print(json.dumps(measure(int(sys.argv[1]) if len(sys.argv) > 1 else 15)))
