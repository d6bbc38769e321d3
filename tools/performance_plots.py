"""Draw the plots of ``docs/performance.md`` from a record, as SVG.

The same record gives the same bytes: no date, fixed ids, text as text.
"""

from __future__ import annotations

import io
from collections.abc import Callable, Iterable
from typing import Any

import matplotlib
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.ticker import FuncFormatter, LogLocator, NullFormatter, NullLocator

Row = dict[str, Any]
CORE, GSL, PYTHON = "subtrie core", "gsl (Go)", "subtrie, Python"
COLOURS = {CORE: "#0b6e4f", PYTHON: "#08a045", GSL: "#c1121f"}
OTHERS = ["#6c757d", "#8d6e63", "#5e60ce", "#f4a261", "#adb5bd", "#264653"]
STYLES = {"hot": ":", "zipf": "--", "uniform": "-"}
STYLE = {
    "svg.hashsalt": "subtrie",
    "svg.fonttype": "none",
    "font.family": "sans-serif",
    "font.size": 10,
    "axes.spines.top": False,
    "axes.spines.right": False,
    "axes.grid": True,
    "grid.color": "#dddddd",
    "axes.axisbelow": True,
    "legend.frameon": False,
}


def _of(rows: list[Row], **wanted: Any) -> list[Row]:
    return [row for row in rows if all(row.get(key) == value for key, value in wanted.items())]


def _thousands(axis: Any) -> None:
    axis.set_major_formatter(FuncFormatter(lambda value, _: f"{value:,.12g}"))


def _by_size(axes: Axes, rows: Iterable[Row], field: str, scale: float = 1, **line: Any) -> None:
    points = sorted((row["size"], row[field] * scale) for row in rows if row.get(field))
    if points:
        axes.plot(*zip(*points, strict=True), marker="o", markersize=4, **line)


def _sizes(axes: Axes, rows: list[Row]) -> None:
    axes.set_xscale("log")
    axes.set_xlabel("subscriptions")
    axes.set_xticks(sorted({row["size"] for row in rows}))
    axes.xaxis.set_minor_locator(NullLocator())
    _thousands(axes.xaxis)
    axes.tick_params(axis="x", labelsize=8, rotation=40)


def _log(axes: Axes, label: str) -> None:
    axes.set_yscale("log")
    axes.set_ylabel(label)
    axes.yaxis.set_major_locator(LogLocator(subs=(1, 2, 5)))
    axes.yaxis.set_minor_formatter(NullFormatter())
    _thousands(axes.yaxis)


def growth(rows: list[Row], axes: Axes) -> None:
    """Plot the cost of a lookup by the number of subscriptions."""
    found = _of(rows, measure="lookup")
    for who in (CORE, PYTHON, GSL):
        for order, style in STYLES.items():
            here = _of(found, who=who, order=order)
            label = f"{who}, {order}"
            _by_size(axes, here, "median_ns", label=label, color=COLOURS[who], linestyle=style)
    _sizes(axes, found)
    _log(axes, "ns per lookup, median")


def against_gsl(rows: list[Row], axes: Axes) -> None:
    """Plot the time of nats-server's index divided by the time of the core."""
    found = _of(rows, measure="lookup", who=GSL)
    for order, style in STYLES.items():
        points = []
        for row in _of(found, order=order):
            own = _of(rows, measure="lookup", who=CORE, size=row["size"], order=order)
            points += [
                {"size": row["size"], "x": row["median_ns"] / one["median_ns"]} for one in own
            ]
        _by_size(axes, points, "x", label=order, color=COLOURS[CORE], linestyle=style)
    axes.axhline(1, color=COLOURS[GSL], linewidth=1, label="as fast as gsl")
    _sizes(axes, found)
    axes.set_ylim(bottom=0)
    axes.set_ylabel("time of gsl over time of the core")


def from_python(rows: list[Row], axes: Axes) -> None:
    """Plot one lookup from Python and from other libraries, the fastest at the top."""
    found = _of(rows, measure="lookup", order="uniform")
    size = 6_000 if _of(found, size=6_000) else min(row["size"] for row in found)
    bars = [row for row in _of(found, size=size) if row["who"] != f"{CORE}, count alone"]
    bars += [row | {"who": f"({row['who']})"} for row in _of(rows, measure="yardstick")]
    bars += [
        row | {"who": f"{row['who']}, Zipf"}
        for row in _of(rows, measure="lookup", order="zipf", size=size)
        if row["who"] == PYTHON or "lru_cache" in row["who"]
    ]
    bars.sort(key=lambda row: -row["median_ns"])
    for row in bars:
        colour = next((c for who, c in COLOURS.items() if row["who"].startswith(who)), OTHERS[0])
        axes.barh(row["who"], row["median_ns"], color=colour)
        axes.text(row["median_ns"] * 1.08, row["who"], f"{row['median_ns']:,.0f}", va="center")
    axes.set_xscale("log")
    axes.set_xlim(right=max(row["median_ns"] for row in bars) * 8)
    axes.set_xlabel(f"ns per subject, median\n{size:,} subscriptions, uniform unless stated")
    axes.grid(axis="y", visible=False)
    _thousands(axes.xaxis)


def _bars(
    axes: Axes, groups: list[str], series: dict[str, dict[str, float | None]], digits: int
) -> None:
    width = 0.8 / max(1, len(series))
    for number, (label, values) in enumerate(series.items()):
        for place, group in enumerate(groups):
            height = values.get(group)
            if height is None:
                continue
            at = place - 0.4 + width * (number + 0.5)
            colour = OTHERS[number % len(OTHERS)] if number else COLOURS[CORE]
            # The legend shows a series once.
            name = label if group == next(g for g in groups if values.get(g) is not None) else ""
            axes.bar(at, height, width, color=colour, label=name or None)
            text = f"{height:,.{digits}f}"
            axes.text(at, height, text, ha="center", va="bottom", fontsize=7)
    axes.set_xticks(range(len(groups)), groups)
    axes.grid(axis="x", visible=False)


def batch(rows: list[Row], axes: Axes) -> None:
    """Plot the subjects matched per second in columns."""
    found = _of(rows, measure="batch")
    sizes = sorted({row["size"] for row in found})
    series = {
        f"{order}, {threads} thread{'s' if threads > 1 else ''}": {
            f"{row['size']:,}": row["per_second"] / 1e6
            for row in _of(found, order=order, threads=threads)
        }
        for order in ("uniform", "hot")
        for threads in (1, 2)
    }
    _bars(axes, [f"{size:,}" for size in sizes], series, 1)
    axes.set_xlabel("subscriptions")
    axes.set_ylabel("million subjects per second")


def memory(rows: list[Row], axes: Axes) -> None:
    """Plot the bytes per subscription."""
    found = _of(rows, measure="memory")
    _by_size(
        axes, _of(found, who=CORE), "own_bytes", label=f"{CORE}, its own count", color="#0b6e4f"
    )
    colours = iter(OTHERS)
    for who in dict.fromkeys(row["who"] for row in found):
        colour = COLOURS.get(who) or next(colours)
        _by_size(axes, _of(found, who=who), "heap_bytes", label=who, color=colour, linestyle="--")
    _sizes(axes, found)
    _log(axes, "bytes per subscription")


def changes(rows: list[Row], axes: Axes) -> None:
    """Plot the time of one insert and one remove by the number of subscriptions."""
    found = [row for row in rows if row["measure"] in ("insert", "remove")]
    for who in (CORE, PYTHON, GSL):
        for measure, style in (("insert", "-"), ("remove", ":")):
            here = _of(found, who=who, measure=measure)
            label = f"{who}, {measure}"
            _by_size(
                axes, here, "median_ns", 1e-3, label=label, color=COLOURS[who], linestyle=style
            )
    _sizes(axes, found)
    _log(axes, "µs per change, median")


def readers(rows: list[Row], axes: Axes) -> None:
    """Plot the reads per second while a writer changes the index."""
    found = _of(rows, measure="readers")
    writers = list(dict.fromkeys(row["writer"] for row in found))
    kinds = dict.fromkeys((row["scheme"], row["readers"]) for row in found)
    series = {
        f"{scheme}, {count} reader{'s' if count > 1 else ''}": {
            row["writer"]: row["per_second"] / 1e6
            for row in _of(found, scheme=scheme, readers=count)
        }
        for scheme, count in kinds
    }
    _bars(axes, writers, series, 1)
    axes.set_xlabel("changes per second by the writer")
    axes.set_ylabel("million reads per second, all readers")


# Name of the file: the function, the height in inches, and the measure that the record must have.
PLOTS: dict[str, tuple[Callable[[list[Row], Axes], None], float, str]] = {
    "growth": (growth, 4.2, "lookup"),
    "against-gsl": (against_gsl, 3.4, "lookup"),
    "from-python": (from_python, 5.0, "yardstick"),
    "batch": (batch, 3.6, "batch"),
    "memory": (memory, 3.6, "memory"),
    "changes": (changes, 3.8, "insert"),
    "readers": (readers, 3.6, "readers"),
}


def drawn(name: str, rows: list[Row]) -> str | None:
    """Return a plot as SVG, or None if the record has no rows for it."""
    draw, height, needed = PLOTS[name]
    if not _of(rows, measure=needed) or (name == "against-gsl" and not _of(rows, who=GSL)):
        return None
    with matplotlib.rc_context(STYLE):
        figure = Figure(figsize=(8, height), layout="constrained")
        axes = figure.add_subplot()
        draw(rows, axes)
        if axes.get_legend_handles_labels()[1]:
            axes.legend(loc="upper left", bbox_to_anchor=(1, 1), fontsize=8)
        out = io.StringIO()
        figure.savefig(out, format="svg", metadata={"Date": None, "Creator": None})
    return "\n".join(line.rstrip() for line in out.getvalue().splitlines()) + "\n"
