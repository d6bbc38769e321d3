"""A naive implementation of the matching of deliveries with publishes, for tests.

It makes one pass over a whole log, and shares no code with the audit. It knows only the format of
nats-server 2.15, with process id and times.
"""

from __future__ import annotations

import re
from collections import defaultdict
from dataclasses import dataclass, field
from datetime import datetime, timedelta

LINE = re.compile(
    r"\[(?P<pid>\d+)\] (?P<ts>\S+ \S+) \[(?P<level>...)\] \S+ - (?P<conn>[a-z]+:\d+)"
    r'(?: - "[^"]*")* - (?P<rest>[^"].*)'
)


@dataclass
class Publish:
    """A message from a client and its deliveries."""

    at: int
    key: tuple[str, str, int]
    conn: str
    time: datetime
    end: int | None = None
    refused: bool = False
    delivered: int = 0
    ambiguous: bool = False


@dataclass
class Verdict:
    """The counts of a log, by subject."""

    published: dict[str, int] = field(default_factory=lambda: defaultdict(int))
    refused: dict[str, int] = field(default_factory=lambda: defaultdict(int))
    delivered: dict[str, int] = field(default_factory=lambda: defaultdict(int))
    undelivered: dict[str, int] = field(default_factory=lambda: defaultdict(int))
    ambiguous: int = 0
    unmatched: int = 0


def judge(text: str) -> Verdict:
    """Match the deliveries of a whole log."""
    parsed = []
    for line in text.split("\n"):
        found = LINE.fullmatch(line.rstrip("\r"))
        parsed.append(found)
    times = [datetime.strptime(p["ts"], "%Y/%m/%d %H:%M:%S.%f") if p else None for p in parsed]

    publishes: list[Publish] = []
    lines: dict[tuple[str, str, int], list[tuple[int, str]]] = defaultdict(list)
    queues: dict[tuple[str, str], str | None] = {}
    for at, found in enumerate(parsed):
        if found is None or not found["rest"].endswith("]"):
            continue
        rest, conn = found["rest"], found["conn"]
        words = rest[5:-1].split()
        if rest.startswith(("<<- [PUB ", "<<- [HPUB ")):
            optional = len(words) == (4 if words[0] == "PUB" else 5)
            key = (words[1], words[2] if optional else "", int(words[-1]))
            publishes.append(Publish(at, key, conn, times[at]))
        elif rest.startswith("<<- [SUB "):
            queues[conn, words[-1]] = words[2] if len(words) == 4 else None
        elif rest.startswith(("->> [MSG ", "->> [HMSG ")):
            optional = len(words) == (5 if words[0] == "MSG" else 6)
            key = (words[1], words[3] if optional else "", int(words[-1]))
            queue = queues.get((conn, words[2]))
            lines[key].append((at, f"queue {queue}" if queue else f"{conn} {words[2]}"))
    for publish in publishes:
        _close(publish, parsed, times)

    verdict = Verdict()
    groups: dict[tuple[str, str, int], list[Publish]] = defaultdict(list)
    for publish in publishes:
        if publish.refused:
            verdict.refused[publish.key[0]] += 1
        else:
            verdict.published[publish.key[0]] += 1
            groups[publish.key].append(publish)
    for key, handed in lines.items():
        verdict.delivered[key[0]] += len(handed)
    for key, competing in groups.items():
        _serve(competing, lines.get(key, []), verdict)
    verdict.unmatched += sum(len(handed) for key, handed in lines.items() if key not in groups)
    for publish in publishes:
        if not publish.refused and not publish.delivered:
            verdict.undelivered[publish.key[0]] += 1
    verdict.ambiguous = sum(publish.ambiguous for publish in publishes)
    return verdict


def _close(publish: Publish, parsed: list, times: list) -> None:
    """Find the end of the window of a publish."""
    limit = publish.time + timedelta(seconds=1)
    for at in range(publish.at + 1, len(parsed)):
        found = parsed[at]
        if found is None:
            continue
        if times[at] > limit:
            publish.end = at
            return
        if found["conn"] != publish.conn:
            continue
        rest = found["rest"]
        if rest.startswith("<<- MSG_PAYLOAD:"):
            limit = times[at] + timedelta(seconds=1)
        elif rest.startswith("<<- ") and rest.endswith("]"):
            publish.end = at
            return
        elif rest in (
            f'Publish Violation - Subject "{publish.key[0]}"',
            f'Publish Violation - Reply "{publish.key[1]}"',
        ):
            publish.end, publish.refused = at, True
            return
    publish.end = len(parsed)


def _serve(competing: list[Publish], handed: list[tuple[int, str]], verdict: Verdict) -> None:
    """Serve the windows in the order of their ends; each takes one free line per subscriber."""
    free: dict[str, list[int]] = defaultdict(list)
    for at, subscriber in handed:
        free[subscriber].append(at)
        inside = [p for p in competing if p.at < at < p.end]
        if len(inside) > 1:
            for publish in inside:
                publish.ambiguous = True
    for publish in sorted(competing, key=lambda p: (p.end, p.at)):
        for taken in free.values():
            fitting = [at for at in taken if publish.at < at < publish.end]
            if fitting:
                taken.remove(fitting[0])
                publish.delivered += 1
    verdict.unmatched += sum(map(len, free.values()))
