"""Draw the chart of ``README.md`` from a record of the benchmarks, as SVG.

    python tools/readme_chart.py [--check]

Without an option it takes the newest record. ``--check`` checks the chart against the record that
it names, so that a newer record does not make it wrong.
"""

from __future__ import annotations

import json
import re
import sys
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parent.parent
RECORDS = ROOT / "benches" / "records"
CHART = ROOT / "docs" / "pictures" / "lookup.svg"
SIZE = 6_000

#: The programs of the chart, with their labels, and whether they are subtrie.
PROGRAMS = {
    "subtrie core": ("subtrie, from Rust", True),
    "subtrie, Python": ("subtrie, from Python", True),
    "gsl (Go)": ("nats-server's index, in Go", False),
    "lru_cache(1024) over a dictionary trie, Python": ("dictionaries with lru_cache(1024)", False),
    "dictionary trie, Python": ("a trie of dictionaries, Python", False),
    "paho-mqtt, Python": ("paho-mqtt's MQTTMatcher, Python", False),
}


def chart(record: dict[str, Any], name: str) -> str:
    """Return the chart of a record."""
    found = {
        row["who"]: row["median_ns"]
        for row in record["rows"]
        if row["measure"] == "lookup" and row.get("size") == SIZE and row["order"] == "uniform"
    }
    rows = sorted((found[who], *PROGRAMS[who]) for who in PROGRAMS if who in found)
    longest = rows[-1][0]
    height = 58 + 24 * len(rows) + 30
    lines = [
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 720 {height}" '
        f'font-family="sans-serif" font-size="13" role="img" aria-label="Time of one lookup">',
        f"<!-- {name} -->",
        '<rect width="100%" height="100%" rx="6" fill="#ffffff"/>',
        '<text x="16" y="26" font-size="15" font-weight="bold" fill="#1f2933">'
        f"One lookup among {SIZE:,} subscriptions: nanoseconds, median; shorter is better</text>",
    ]
    for place, (time, label, own) in enumerate(rows):
        top = 46 + 24 * place
        width = max(2.0, 380 * time / longest)
        colour = "#0b6e4f" if own else "#9aa5b1"
        lines += [
            f'<text x="250" y="{top + 13}" text-anchor="end" fill="#1f2933">{label}</text>',
            f'<rect x="260" y="{top}" width="{width:.1f}" height="17" rx="2" fill="{colour}"/>',
            f'<text x="{266 + width:.1f}" y="{top + 13}" fill="#1f2933">{time:,.0f}</text>',
        ]
    lines += [
        f'<text x="16" y="{height - 14}" font-size="11" fill="#52606d">{record["processor"]}, '
        f"{record['cores']} cores, {record['date']}; subjects of Microbus, each a new text; "
        "all answers compared first</text>",
        "</svg>",
    ]
    return "\n".join(lines) + "\n"


def main() -> None:
    """Write the chart, or check it."""
    if "--check" in sys.argv:
        drawn = CHART.read_text(encoding="utf-8")
        named = re.search(r"<!-- (\S+) -->", drawn)
        source = RECORDS / named[1] if named else Path()
        if drawn != chart(json.loads(source.read_text(encoding="utf-8")), source.name):
            raise SystemExit("run: python tools/readme_chart.py")
        return
    newest = max(RECORDS.glob("peers-*.json"))
    CHART.write_text(chart(json.loads(newest.read_text(encoding="utf-8")), newest.name), "utf-8")


if __name__ == "__main__":
    main()
