"""Measure ``subtrie audit --follow`` on a log that grows: memory, CPU, and how late findings are.

Services exchange Microbus requests: each is a line of the sender and one of the receiver. Every ten
seconds one message has a spoofed source, by a service of its own: how long after its line its
finding is printed is measured.

    python benches/audit_follow.py [--rate 5000] [--seconds 3600] [--routes 50] [--record]
"""

from __future__ import annotations

import argparse
import json
import os
import platform
import random
import subprocess
import sys
import tempfile
import threading
import time
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

RECORDS = Path(__file__).parent / "records"
BEGIN = datetime(2026, 11, 25, 8)
SERVICES = 200
EVERY = 10.0  # seconds between spoofed messages


def line(at: float, cid: int, who: str, rest: str) -> str:
    """Return a line of the log at so many seconds after its begin."""
    stamp = (BEGIN + timedelta(seconds=at)).strftime("%Y/%m/%d %H:%M:%S.%f")
    return f'[7] {stamp} [TRC] 127.0.0.1:{cid} - cid:{cid} - "v1:go:{who}.shop" - {rest}\n'


class Follower:
    """The command, and when it printed which finding."""

    def __init__(self, log: Path) -> None:
        words = ["audit", str(log), "--follow", "--json", "--out", f"{log}.run"]
        self._process = subprocess.Popen(
            [sys.executable, "-m", "subtrie", *words], stdout=subprocess.PIPE, text=True
        )
        self.printed: dict[str, float] = {}
        self._reader = threading.Thread(target=self._read)
        self._reader.start()

    def _read(self) -> None:
        assert self._process.stdout is not None
        for text in self._process.stdout:
            finding = json.loads(text).get("finding")
            if finding is not None and finding["rule"] == "spoofed":
                self.printed.setdefault(finding["message"].split()[0], time.monotonic())

    def usage(self) -> tuple[float, float]:
        """Return the seconds of CPU so far, and the peak memory in MiB."""
        folder = Path("/proc") / str(self._process.pid)
        fields = (folder / "stat").read_text().rsplit(")", 1)[1].split()
        peak = (folder / "status").read_text().split("VmHWM:")[1].split()[0]
        ticks = os.sysconf("SC_CLK_TCK")
        return sum(map(int, fields[11:13])) / ticks, int(peak) / 1024

    def end(self) -> None:
        """Stop it as Ctrl-C does."""
        self._process.terminate()
        self._process.wait()
        self._reader.join()


def measure(rate: int, seconds: float, routes: int) -> dict[str, Any]:
    """Write the log for so long, and return what was measured."""
    dice = random.Random(1)
    written: dict[str, float] = {}
    with tempfile.TemporaryDirectory() as folder:
        log = Path(folder) / "nats.log"
        with log.open("w") as out:
            for number in range(SERVICES):
                route = f"prod.safe.443.*.svc{number}_shop._.GET.items.*"
                out.write(line(0, number + 5, f"svc{number}", f"<<- [SUB {route}  1]"))
            out.flush()
            follower = Follower(log)
            start, lines = time.monotonic(), 0
            while (past := time.monotonic() - start) < seconds:
                text = []
                while lines < past * rate:
                    at, number = 1 + lines / rate, dice.randrange(SERVICES)
                    subject = f"prod.safe.443.web_shop.svc{number}_shop._.GET.items.{{}}"
                    subject = subject.format(dice.randrange(routes))
                    text.append(line(at, 3, "web", f"<<- [PUB {subject} 0]"))
                    text.append(line(at, number + 5, f"svc{number}", f"->> [MSG {subject} 1 0]"))
                    lines += 2
                if past > EVERY * (len(written) + 1):
                    name, cid = f"evil{len(written)}.shop", 1000 + len(written)
                    subject = "prod.safe.443.web_shop.svc0_shop._.GET.items.0"
                    text.append(line(1 + lines / rate, cid, name[:-5], f"<<- [PUB {subject} 0]"))
                    written[name] = time.monotonic()
                out.write("".join(text))
                out.flush()
                time.sleep(0.05)
            cpu, peak = follower.usage()
            time.sleep(EVERY)
            follower.end()
    late = sorted(follower.printed[name] - at for name, at in written.items()
                  if name in follower.printed)  # fmt: skip
    return {
        "lines": lines + SERVICES + len(written),
        "seconds": round(seconds),
        "subjects": SERVICES * routes,
        "cpu_seconds": round(cpu, 1),
        "peak_mib": round(peak),
        "findings": len(written),
        "findings_printed": len(late),
        "seconds_after_the_line": {
            "median": round(late[len(late) // 2], 2), "most": round(late[-1], 2),
        },
    }  # fmt: skip


def main() -> None:
    """Measure, print the figures, and record them if asked."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rate", type=int, default=5000, help="lines a second")
    parser.add_argument("--seconds", type=float, default=3600)
    parser.add_argument("--routes", type=int, default=50, help="distinct subjects of each service")
    parser.add_argument("--record", action="store_true")
    asked = parser.parse_args()
    found = measure(asked.rate, asked.seconds, asked.routes)
    found |= {"rate": asked.rate, "cores": os.cpu_count(), "python": platform.python_version()}
    print(json.dumps(found, indent=1))
    if asked.record:
        path = RECORDS / f"audit-follow-{datetime.now(UTC):%Y-%m-%d}.json"
        path.write_text(json.dumps(found, indent=1) + "\n")


if __name__ == "__main__":
    main()
