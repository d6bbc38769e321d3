"""The tables of the page of performance: sections of a record in Markdown."""

from __future__ import annotations

from sections import Section


def table(section: Section, everything: bool = False) -> list[str]:
    """Return a section in Markdown, without the rows that only developers compare."""
    shown_columns = [each for each in section.columns if everything or "baseline" not in each]
    rows = []
    for at, cells in enumerate(section.lines):
        if not everything and _is_for_developers(section, cells):
            continue
        cells = cells[: len(shown_columns)]  # an earlier build is the last column
        is_bold = at in section.lost and (everything or cells[-1] != "missed")
        rows.append([f"**{cell}**" if cell and is_bold else cell for cell in cells])
    title = section.title
    if not everything and shown_columns[-1:] == [""]:  # every row is of a missed target
        shown_columns, rows = shown_columns[:-1], [cells[:-1] for cells in rows]
    if not everything and (sizes := _by_size(shown_columns, rows)):
        unit, shown_columns, rows = sizes
        title += f": {unit}"
    lines = ["", f"**{title}**", "", f"| {' | '.join(shown_columns)} |"]
    lines.append("|---" * len(shown_columns) + "|")
    return lines + [f"| {' | '.join(cells)} |" for cells in rows]


def _by_size(
    columns: list[str], rows: list[list[str]]
) -> tuple[str, list[str], list[list[str]]] | None:
    """Give each size and order a column, if most rows differ in these alone."""
    inner = [at for at, name in enumerate(columns) if name in ("subscriptions", "order")]
    names = [at for at, name in enumerate(columns) if name in ("", "from")]
    found: dict[tuple[str, ...], dict[str, list[str]]] = {}
    for cells in rows:
        name = tuple(cells[at].strip("*") for at in names)
        where = " ".join(cells[at].strip("*") for at in inner).strip()
        first = cells[max([*inner, *names]) + 1 :][:1]
        found.setdefault(name, {}).setdefault(where, []).extend(first)
    if not inner or 2 * len(found) >= len(rows):
        return None
    sizes = list(dict.fromkeys(where for cells in found.values() for where in cells))
    shown = [
        [*name, *(", ".join(cells.get(where, ())) for where in sizes)]
        for name, cells in found.items()
    ]
    return columns[max([*inner, *names]) + 1], [*("" for _ in names), *sizes], shown


def _is_for_developers(section: Section, cells: list[str]) -> bool:
    """Tell whether a row is of an earlier build, of a target not missed, or between two others."""
    if section.title == "targets of the index":
        return cells[-1] != "missed" or "baseline" in cells[0]
    if cells[1:3] in (["6,000", "uniform"], ["600,000", "zipf"]):
        return True  # between the easiest and the hardest
    return any(cell.startswith("baseline") for cell in cells) or "baseline" in section.title
