"""Markdown for a review comment: what a change of permissions grants and revokes."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from .._core.printable import code as code
from ..acl import Diff, Permissions
from .sarif import Row


def markdown(
    changes: Iterable[tuple[str, Diff, Permissions]], title: str, not_compared: Sequence[Row] = ()
) -> str:
    """Return the tables of a change.

    Args:
        changes: name, change and new permissions of each user; the name is empty for a single one.
        title: the file that changed.
        not_compared: what differs, or was not seen, besides.
    """
    changes = list(changes)
    lines = [f"### Permissions of {code(title)}", ""]
    for name, found, _ in changes:
        for title, grants in (("added", found.added), ("removed", found.removed)):
            if not grants:
                continue
            lines += [f"**{title}**" + (f" for {code(name)}" if name else ""), ""]
            lines += ["| verb | pattern | unless | example |", "|---|---|---|---|"]
            for each in grants:
                verb = f"{each.verb} ⚠ danger" if each.danger else each.verb
                pattern = f"{each.pattern} {each.queue}" if each.queue else each.pattern
                unless = " ".join(map(code, each.unless))
                lines.append(f"| {verb} | {code(pattern)} | {unless} | {code(each.witness)} |")
            lines.append("")
    if not_compared:
        lines += ["**not compared**", "", "| place | what |", "|---|---|"]
        for row in not_compared:
            lines.append(f"| {code(row.place)} | {code(row.message)} |")
        lines.append("")
    elif not any(found for _, found, _ in changes):
        lines += ["No difference.", ""]
    return "\n".join(lines)
