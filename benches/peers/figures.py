"""The targets of the index, each computed from the rows of one run."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from rows import CORE, GSL, PYTHON, Row, find


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

    for size, order, wanted in (
        (6_000, "hot", 8),
        (6_000, "uniform", 7),
        (600_000, "hot", 12),
        (600_000, "uniform", 12),
    ):
        seen = _over(lookup(GSL, size, order), lookup(CORE, size, order))
        least(f"core against gsl, {size:,}, {order}: its time divided by subtrie's", seen, wanted)
    for order, wanted in (("uniform", 6), ("hot", 2)):
        seen = _over(lookup(CORE, 1_000_000, order), lookup(CORE, 1_000, order))
        most(f"core, {order}: a lookup at 1,000,000 over one at 1,000", seen, wanted)
    _from_python(rows, lookup, least, most)
    for size, wanted in ((6_000, 12), (600_000, 7)):
        one, two = (
            find(rows, measure="batch", size=size, order="uniform", threads=threads)
            for threads in (1, 2)
        )
        seen = _field(one, "per_second", 1e-6)
        least(f"batch on one core, {size:,}, uniform", seen, wanted, "million/s")
        least(f"batch on two cores over one, {size:,}", _over(two, one, "per_second"), 1.7)
    most("core: memory per subscription, 600,000", _own(core("memory", 600_000)), 160, "bytes")
    rate = _field(core("build", 600_000), "per_second", 1e-3)
    least("core: bulk build, 600,000", rate, 500, "thousand/s")
    for kind, wanted in (("insert", 3), ("remove", 2)):
        seen = _field(core(kind, 600_000), "median_ns", 1e-3)
        most(f"core: one {kind} at 600,000, median", seen, wanted, "µs")
    _during_writes(rows, least, most)
    longest = _field(core("grow", 1_000_000), "max_ns", 1e-6)
    most("core: longest insert while growing to 1,000,000", longest, 5, "ms")
    return made


def _own(row: Row | None) -> float | None:
    return _field(row, "own_bytes")


def _from_python(
    rows: list[Row], lookup: Callable[[str, int, str], Row | None], least: Callable, most: Callable
) -> None:
    empty = find(rows, who="empty native call, Python", measure="yardstick")
    split = find(rows, who='subject.split(".") alone, Python', measure="yardstick")
    for size in (1_000, 6_000):
        here = lookup(PYTHON, size, "uniform")
        most(f"Python, {size:,}, uniform, over an empty native call", _over(here, empty), 3)
        reference = lookup("reference, Python", size, "uniform")
        least(
            f"Python, {size:,}, uniform: the reference's time divided by subtrie's",
            _over(reference, here),
            15,
        )
        gsl = lookup(GSL, size, "uniform")
        least(
            f"Python, {size:,}, uniform: gsl's time in Go divided by subtrie's", _over(gsl, here), 1
        )
        least(
            f'Python, {size:,}, uniform: time of split(".") divided by subtrie\'s',
            _over(split, here),
            1,
        )
        cached = lookup("lru_cache(1024) over the reference, Python", size, "zipf")
        times = _over(cached, lookup(PYTHON, size, "zipf"))
        least(f"Python, {size:,}, Zipf: time of lru_cache(1024) divided by subtrie's", times, 1)


def _during_writes(rows: list[Row], least: Callable, most: Callable) -> None:
    schemes = sorted({row["scheme"] for row in rows if row["measure"] == "readers"})
    for scheme in schemes or ["any scheme"]:
        alone, during = (
            find(rows, measure="readers", scheme=scheme, readers=1, writer=writer)
            for writer in ("none", "10000/s")
        )
        kept = _over(during, alone, "per_second")
        share = None if kept is None else kept * 100
        least(f"one reader during 10,000 changes per second ({scheme})", share, 90, "%")
        longest = _field(during, "max_ns", 1e-3)
        most(f"its longest read, without thread switches ({scheme})", longest, 100, "µs")
