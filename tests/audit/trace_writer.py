"""Write trace logs of synthetic traffic in the format of nats-server."""

from __future__ import annotations

import random
from datetime import datetime, timedelta


class Trace:
    """The lines of a log, with a clock."""

    def __init__(self, *, pid: int = 7) -> None:
        self.lines: list[str] = []
        self.clock = datetime(2026, 11, 21, 8, 0, 0)
        self.pid = pid

    def tick(self, seconds: float) -> None:
        """Advance the clock."""
        self.clock += timedelta(seconds=seconds)

    def write(self, conn: int, rest: str, *, level: str = "TRC", login: str = "") -> None:
        """Write a line about the connection of a client."""
        named = f' - "{login}"' if login else ""
        self.lines.append(
            f"[{self.pid}] {self.clock:%Y/%m/%d %H:%M:%S.%f} [{level}] 127.0.0.1:{40000 + conn} - "
            f'cid:{conn} - "v1:x"{named} - {rest}'
        )

    def publish(
        self, conn: int, subject: str, payload: str = "hi", reply: str = "", late: float = 0
    ) -> None:
        """Write a publish and its payload line, which comes ``late`` seconds later."""
        self.write(conn, f"<<- [PUB {subject} {reply + ' ' if reply else ''}{len(payload)}]")
        self.tick(late)
        if payload:
            self.write(conn, f'<<- MSG_PAYLOAD: ["{payload}"]')

    def deliver(
        self, conn: int, subject: str, sid: str, payload: str = "hi", reply: str = ""
    ) -> None:
        """Write a delivery to a client and its payload line."""
        self.write(conn, f"->> [MSG {subject} {sid} {reply + ' ' if reply else ''}{len(payload)}]")
        if payload:
            self.write(conn, f'->> MSG_PAYLOAD: ["{payload}"]')

    def subscribe(self, conn: int, pattern: str, sid: str, queue: str = "") -> None:
        """Write a subscription."""
        self.write(conn, f"<<- [SUB {pattern} {queue} {sid}]")

    def text(self, *, end: str = "\n") -> str:
        """Return the log."""
        return "".join(line + end for line in self.lines)


def random_trace(seed: int, *, steps: int = 60, quiet: float = 0) -> str:
    """Return random traffic of a few connections, in which windows end in every possible way.

    Before a step there is a pause of 1.7 seconds with the probability ``quiet``.
    """
    dice = random.Random(seed)
    trace = Trace()
    for conn in range(1, 5):
        for number in range(dice.randint(0, 3)):
            trace.subscribe(conn, f"p{dice.randint(0, 1)}", str(number), dice.choice(["", "", "q"]))
    for _ in range(steps):
        trace.tick(dice.choice([0, 0, 0.000001, 0.0004, 0.2, 0.6, 1.0, 1.1, -0.3]))
        if quiet and dice.random() < quiet:
            trace.tick(1.7)
        conn, subject = dice.randint(1, 4), f"p{dice.randint(0, 1)}"
        payload, reply = dice.choice(["", "hi", "yo"]), dice.choice(["", "", "r"])
        what = dice.random()
        if what < 0.35:
            trace.publish(conn, subject, payload, reply, dice.choice([0, 0, 0, 0, 0, 0.9]))
        elif what < 0.75:
            trace.deliver(conn, subject, str(dice.randint(0, 2)), payload, reply)
        elif what < 0.8:
            trace.write(conn, f'Publish Violation - Subject "{subject}"', level="ERR")
        elif what < 0.9:
            sid = dice.randint(0, 3)
            trace.write(conn, dice.choice([
                "<<- [PING]", "->> [PONG]", f"<<- [UNSUB {sid} ]", f"<<- [UNSUB {sid} 2]",
                f"<-> [DELSUB {sid}]",
            ]))  # fmt: skip
        elif what < 0.95:
            trace.lines.append(dice.choice(["", "junk", "[7] 2026/11/21 08:00", "\x00\xff"]))
        else:
            trace.subscribe(conn, subject, str(dice.randint(0, 3)), dice.choice(["", "", "q"]))
    return trace.text()
