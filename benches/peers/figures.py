"""The targets of the index, each computed from the rows of one run."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from rows import BASELINE, BASELINE_CORE, CORE, EMPTY, GSL, IMAGE, PYTHON, SPLIT, Row, find


@dataclass(frozen=True)
class Figure:
    """A target and the measured value (None: not measured in this run)."""

    what: str
    wanted: str
    seen: float | None
    reached: bool | None
    unit: str = "×"

    @property
    def shown(self) -> str:
        if self.seen is None:
            return "not measured"
        digits = 1 if abs(self.seen) < 100 else 0
        return f"{self.seen:,.{digits}f} {self.unit}"


def _over(one: Row | None, other: Row | None, field: str = "median_ns") -> float | None:
    if one is None or other is None or not other.get(field) or one.get(field) is None:
        return None
    return float(one[field] / other[field])


def _field(row: Row | None, field: str, scale: float = 1) -> float | None:
    return None if row is None or row.get(field) is None else float(row[field] * scale)


def figures(rows: list[Row]) -> list[Figure]:
    """Return all targets, in a fixed order."""
    made: list[Figure] = []

    def lookup(who: str, size: int, order: str) -> Row | None:
        return find(rows, who=who, measure="lookup", size=size, order=order)

    def core(measure: str, size: int) -> Row | None:
        return find(rows, who=CORE, measure=measure, size=size)

    def least(what: str, seen: float | None, wanted: float, unit: str = "×") -> None:
        reached = None if seen is None else seen >= wanted
        made.append(Figure(what, f"at least {wanted:g} {unit}", seen, reached, unit))

    def most(what: str, seen: float | None, wanted: float, unit: str = "×") -> None:
        reached = None if seen is None else seen <= wanted
        made.append(Figure(what, f"at most {wanted:g} {unit}", seen, reached, unit))

    _in_turns(rows, least, most)
    for size, wanted in ((6_000, 8), (600_000, 12)):
        seen = _over(lookup(GSL, size, "hot"), lookup(CORE, size, "hot"))
        least(f"core against gsl, {size:,}, hot: its time divided by subtrie's", seen, wanted)
    for order, wanted in (("uniform", 6), ("hot", 2)):
        seen = _over(lookup(CORE, 1_000_000, order), lookup(CORE, 1_000, order))
        most(f"core, {order}: a lookup at 1,000,000 over one at 1,000", seen, wanted)
    _from_python(rows, lookup, least)
    for size in (6_000, 600_000):
        one, two = (
            find(rows, measure="batch", size=size, order="uniform", threads=threads)
            for threads in (1, 2)
        )
        least(f"batch on two cores over one, {size:,}", _over(two, one, "per_second"), 1.7)
    rate = _field(core("build", 600_000), "per_second", 1e-3)
    least("core: bulk build, 600,000", rate, 500, "thousand/s")
    for kind, wanted in (("insert", 3), ("remove", 2)):
        seen = _field(core(kind, 600_000), "median_ns", 1e-3)
        most(f"core: one {kind} at 600,000, median", seen, wanted, "µs")
    _during_writes(rows, least, most)
    longest = _field(core("grow", 1_000_000), "max_ns", 1e-6)
    most("core: longest insert while growing to 1,000,000", longest, 5, "ms")
    return made


def _in_turns(rows: list[Row], least: Callable, most: Callable) -> None:
    """Add the targets of what was measured in turn, and of memory."""

    def turn(who: str, size: int, order: str = "uniform") -> Row | None:
        return find(rows, who=who, measure="turns", size=size, order=order)

    def faster(one: Row | None, other: Row | None) -> float | None:
        return _over(one, other, "least_ns")

    for size, order, who, name, wanted in (
        (6_000, "zipf", GSL, "gsl in Go", 3.5),
        (6_000, "zipf", SPLIT, 'subject.split(".")', 1.2),
        (600_000, "uniform", GSL, "gsl in Go", 3),
    ):
        seen = faster(turn(who, size, order), turn(PYTHON, size, order))
        what = f"fresh match from Python, {size:,}, {order.title() if order == 'zipf' else order}"
        least(f"{what}: times faster than {name}", seen, wanted)
    hot, core, empty = (turn(who, 6_000, "hot") for who in (PYTHON, CORE, EMPTY))
    most("hot match from Python, 6,000, over an empty native call", faster(hot, empty), 3)
    if hot and core and empty:
        beyond = (hot["least_ns"] - core["least_ns"]) / empty["least_ns"]
        most("hot match from Python less that of the core, 6,000, in empty native calls", beyond, 2)
    most("core, 6,000, hot: share of the baseline's time",
         faster(core, turn(BASELINE_CORE, 6_000, "hot")), 0.75)  # fmt: skip
    most("match from Python, 600,000, uniform: share of the baseline's time",
         faster(turn(PYTHON, 600_000), turn(BASELINE, 600_000)), 0.7)  # fmt: skip
    most("match in an image from Python, 6,000, hot, over that in the index",
         faster(turn(IMAGE, 6_000, "hot"), hot), 1.3)  # fmt: skip
    for size in (6_000, 600_000):
        here, base = (
            find(rows, who=who, measure="turns batch", size=size, order="uniform")
            for who in (CORE, BASELINE_CORE)
        )
        rate = _over(here, base, "per_second")
        least(f"core: batch on one core, {size:,}, uniform, over the baseline's", rate, 1.3)
    for form in ("add", "remove"):
        few, many = (
            find(rows, who=PYTHON, measure="turns shared", size=size, form=form)
            for size in (1, 1_000_000)
        )
        seen = faster(many, few)
        most(f"one pattern: {form} at 1,000,000 subscriptions over that at 1", seen, 2)
    for size, wanted in ((6_000, 8), (600_000, 4)):
        row = find(rows, who=PYTHON, measure="turns batch", size=size, order="uniform")
        rate = _field(row, "per_second", 1e-6)
        least(f"batch from Python on one core, {size:,}, uniform", rate, wanted, "million/s")
    for size, wanted in ((6_000, 4), (600_000, 5)):
        entries = _field(turn(CORE, size), "entries")
        most(f"entries that a lookup examines, {size:,}, uniform", entries, wanted, "entries")
    for how, who in (("", CORE), (", bulk load", f"{CORE}, bulk load")):
        own = find(rows, who=who, measure="memory", size=600_000)
        what = f"core: memory per subscription, 600,000{how}"
        most(what, _field(own, "own_bytes"), 160, "bytes")
    heap = find(rows, who=PYTHON, measure="turns memory", size=600_000)
    most(
        "growth of the process per subscription, 600,000, handles kept",
        _field(heap, "heap_bytes"),
        390,
        "bytes",
    )
    for case, wanted in (("decode", 2.5), ("encode_request", 1.5)):
        one, other = (
            find(rows, who=who, measure="turns codec", form=case) for who in (BASELINE, PYTHON)
        )
        least(f"`{case}` from Python: times faster than the baseline", faster(one, other), wanted)
    for size in (6_000, 600_000):
        seen = faster(turn(GSL, size), turn(CORE, size))
        least(f"core against gsl, {size:,}, uniform: its time divided by subtrie's", seen, 7)
    cached = faster(turn("lru_cache(1024) over a dictionary trie, Python", 6_000, "zipf"),
                    turn(PYTHON, 6_000, "zipf"))  # fmt: skip
    least("Zipf from Python, 6,000: times faster than lru_cache(1024)", cached, 1)
    for form, wanted in (("lists", 0.6), ("Arrow", 1)):
        row = find(rows, who=PYTHON, measure="turns load", size=600_000, form=form)
        rate = _field(row, "per_second", 1e-6)
        least(f"loading 600,000 from Python, {form}", rate, wanted, "million/s")
    for form, size, wanted, unit, scale in (
        ("verified", 1_000_000, 10, "ms", 1e-6),
        ("unverified", 1_000_000, 10, "µs", 1e-3),
    ):
        row = find(rows, who=PYTHON, measure="turns image", size=size, form=form)
        most(f"image of {size:,}: opening, {form}", _field(row, "least_ns", scale), wanted, unit)


def _from_python(
    rows: list[Row], lookup: Callable[[str, int, str], Row | None], least: Callable
) -> None:
    for size in (1_000, 6_000):
        here = lookup(PYTHON, size, "uniform")
        reference = lookup("reference, Python", size, "uniform")
        least(
            f"Python, {size:,}, uniform: the reference's time divided by subtrie's",
            _over(reference, here),
            15,
        )


def _during_writes(rows: list[Row], least: Callable, most: Callable) -> None:
    schemes = sorted({row["scheme"] for row in rows if row["measure"] == "readers"})
    for scheme in schemes or ["any scheme"]:
        alone, during = (
            find(rows, measure="readers", scheme=scheme, readers=1, writer=writer)
            for writer in ("none", "10000/s")
        )
        for rate, of in (("per_second", ""), ("per_cpu_second", ", of its CPU time")):
            kept = _over(during, alone, rate)
            share = None if kept is None else kept * 100
            least(f"one reader during 10,000 changes per second{of} ({scheme})", share, 90, "%")
        longest = _field(during, "max_ns", 1e-3)
        most(f"its longest read, without thread switches ({scheme})", longest, 100, "µs")
