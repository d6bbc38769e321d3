"""Write the list of records into ``docs/reliability.md``.

With ``--check`` nothing is written, and a list that differs from the records is an error.
"""

from __future__ import annotations

import math
import sys
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).resolve().parent))

import reliability_record

PAGE = reliability_record.ROOT / "docs" / "reliability.md"
BEGIN, END = "<!-- records -->\n", "<!-- end of records -->"


def _chaos(figures: dict[str, Any]) -> str:
    outcomes = ", ".join(f"{count:,} {name}" for name, count in figures["outcomes"].items())
    one, other = figures["memory_mib"]
    return (
        f"{figures['requests']:,} requests in {figures['seconds']:g} s: {outcomes}; "
        f"each ended once; {sum(figures['faults'].values()):,} faults; "
        f"memory {one:g} to {other:g} MiB"
    )


def _interval(killed: int, judged: int) -> tuple[float, float]:
    """Return the 95 % interval of a share, by Wilson's score."""
    z = 1.96
    share, of = killed / judged, 1 + z * z / judged
    middle = (share + z * z / (2 * judged)) / of
    half = z * math.sqrt(share * (1 - share) / judged + z * z / (4 * judged * judged)) / of
    return middle - half, middle + half


def _mutants(figures: dict[str, Any]) -> str:
    survivors = figures["survivors"]
    since = sum(each["argument"].startswith("killed") for each in survivors)
    argued = sum(bool(each["argument"]) for each in survivors) - since
    judged = figures["killed"] + len(survivors)
    later = figures.get("later")
    low, high = _interval(figures["killed"], judged)
    return (
        f"{figures['killed']} of {judged} killed (95 % interval {low:.0%} to {high:.0%}) "
        f"of {figures['possible']:,}, {figures['not run']} not run; "
        f"survivors killed since: {since}, argued: {argued}"
        + (f"; run again at {later['commit']}: {later['killed']} killed" if later else "")
    )


def _cross(figures: dict[str, Any]) -> str:
    return f"{figures['cases']:,} cases, {figures['differences']} differences"


def _fuzz(figures: dict[str, Any]) -> str:
    runs, failed = figures["runs"], figures["failed"]
    return (
        f"{len(runs)} target{'s' * (len(runs) > 1)}, {figures['seconds for each target']} s each, "
        f"{sum(runs.values()):,} inputs; "
        f"{len(failed)} failed"
        + "".join(f"; `{target}` ended early" for target in figures.get("ended early", {}))
    )


def _leaks(figures: dict[str, Any]) -> str:
    shown = []
    for name in ("changes", "requests"):
        memory = figures[f"MiB during the {name}"]
        shown.append(f"{figures[name]:,} {name}: {memory[0]:g} to {memory[-1]:g} MiB")
    return "; ".join(shown)


def _attacks(figures: dict[str, Any]) -> str:
    kinds = figures["kinds"]
    slow = max(kinds, key=lambda name: kinds[name]["most CPU seconds"])
    large = max(kinds, key=lambda name: kinds[name]["most MiB"])
    return (
        f"{figures['inputs']:,} inputs of {len(kinds)} kinds in {figures['minutes']:g} minutes, "
        f"{figures['faults']} faults; at most {kinds[slow]['most CPU seconds']:g} s of CPU "
        f"(`{slow}`, bound {kinds[slow]['bound of seconds']:g}) and "
        f"{kinds[large]['most MiB']:g} MiB (`{large}`, bound {kinds[large]['bound of MiB']})"
    )


def _asan(figures: dict[str, Any]) -> str:
    return f"{figures['passed']} tests passed, {figures['reports']} reports"


def _breaks(figures: dict[str, Any]) -> str:
    silent = figures["not noticed"]
    left = figures.get("not run", [])
    anyway = figures.get("fail without a break too")
    return (
        f"{figures['breaks']} breaks, {len(silent)} not noticed; {len(left)} not run; "
        + ("" if anyway is None else f"{len(anyway)} tests that fail without a break too; ")
        + f"{figures['minutes']:g} minutes"
    )


def _simulation(figures: dict[str, Any]) -> str:
    planted = figures["planted"]
    found = [each for each in planted.values() if each["seed"] is not None]
    last = max(each["seed"] for each in found)
    earlier = figures.get("found", {})
    again = [each for each in earlier.values() if each["seed"] is not None]
    tapes, broker = figures["tapes"], figures["broker"]
    return (
        f"{figures['seeds']:,} worlds, {len(figures['violations'])} broken; "
        f"{figures['cpu_seconds']:,.0f} s of CPU; {len(found)} of {len(planted)} planted faults "
        f"found, the last by seed {last}; {len(again)} of {len(earlier)} found ones again; "
        f"{tapes['equal']} of {tapes['seeds']} tapes equal in another process; "
        f"{broker['tapes']:,} tapes on a real broker, {broker['different']} different"
    )


def _worldcost(figures: dict[str, Any]) -> str:
    cost = figures["microseconds of CPU a request"]
    share, noise = (figures["share, of the least"][name] for name in ("as it is", "again"))
    return (
        f"{cost['as it is']:g} µs of CPU a request, {share:g} of that without the interface to "
        f"clocks, locks and randomness; an equal copy: {noise:g}"
    )


def _clustered(figures: dict[str, Any]) -> str:
    tables, late = figures["tables"], figures["requests slower in the log than for their program"]
    equal = [name for name, each in tables.items() if each["equal"]]
    return (
        f"{figures['messages']:,} messages; {len(equal)} of {len(tables)} tables equal (of links "
        f"the leaf node, not the routes), {sum(each['rows'] for each in tables.values()):,} rows; "
        f"{len(figures['hot subjects that differ'])} of hot_subjects and {len(late)} times of "
        f"latency differ; {len(figures['findings above a note'])} findings above a "
        f"note; {figures['cpu seconds of the audit']:g} s of CPU"
    )


def _rebuild(figures: dict[str, Any]) -> str:
    return (
        f"{len(figures['sha256'])} archives, {len(figures['different'])} of them different; "
        f"{figures['minutes']:g} minutes"
    )


_SHOWN = {"attacks": _attacks,
          "chaos": _chaos, "clustered": _clustered, "fuzz": _fuzz, "leaks": _leaks,
          "asan": _asan, "mutants": _mutants, "breaks": _breaks, "rebuild": _rebuild,
          "simulation": _simulation, "worldcost": _worldcost}  # fmt: skip


def _shown(record: dict[str, Any]) -> str:
    return _SHOWN.get(record["kind"].partition("-")[0], _cross)(record["figures"])


#: Runs of which the page has the newest record; ``docs/records/`` has all.
_ON_THE_PAGE = ("attacks", "breaks", "chaos", "cross", "cross-go", "fuzz", "fuzz-idle", "leaks",
                "rebuild", "simulation")  # fmt: skip


def table() -> str:
    """Return the list of the newest records; a machine that all share stands above."""
    records = {
        kind: record
        for kind, record in reliability_record.latest().items()
        if kind in _ON_THE_PAGE or kind.startswith("mutants-")
    }
    machines = {record["machine"] for record in records.values()}
    rows = [
        f"Each ran on {', or '.join(sorted(machines))}; `docs/records/` has the commands and "
        "further runs.",
        "",
    ]
    rows += [
        f"- {kind}, {record['date']}: {_shown(record)}" for kind, record in sorted(records.items())
    ]
    return "\n".join(rows) + "\n"


def updated(text: str) -> str:
    """Return the text of the page with the list of today's records."""
    before, begin, rest = text.partition(BEGIN)
    _, end, after = rest.partition(END)
    return before + begin + table() + end + after


def main() -> int:
    """Write the page, or compare it."""
    text = PAGE.read_text(encoding="utf-8")
    if "--check" in sys.argv:
        return int(updated(text) != text)
    PAGE.write_text(updated(text), encoding="utf-8")
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
