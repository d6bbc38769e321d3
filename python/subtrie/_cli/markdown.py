"""Markdown for a comment in a review: what a change of permissions grants and takes away."""

from __future__ import annotations

from collections.abc import Iterable

from ..acl import Diff, Permissions
from .stream import printable


def markdown(changes: Iterable[tuple[str, Diff, Permissions]], title: str) -> str:
    """What changes for each user, by name; the empty one where there is but one."""
    changes = list(changes)
    lines = [f"### Permissions of {code(title)}", ""]
    for name, found, _ in changes:
        for title, grants in (("grants more", found.added), ("grants less", found.removed)):
            if not grants:
                continue
            lines += [f"**{title}**" + (f" to {code(name)}" if name else ""), ""]
            lines += ["| verb | pattern | unless | such as |", "|---|---|---|---|"]
            for each in grants:
                verb = f"{each.verb} ⚠ danger" if each.danger else each.verb
                pattern = f"{each.pattern} {each.queue}" if each.queue else each.pattern
                unless = " ".join(map(code, each.unless))
                lines.append(f"| {verb} | {code(pattern)} | {unless} | {code(each.witness)} |")
            lines.append("")
    if not any(found for _, found, _ in changes):
        lines += ["No change of what is granted.", ""]
    lines += ["Not looked at: what accounts export, import and map.", ""]
    return "\n".join(lines)


def code(text: str) -> str:
    """A subject as code: its backticks, stars and bars are taken care of."""
    escaped = printable(text).replace("&", "&amp;").replace("<", "&lt;").replace(">", "&gt;")
    return (
        f"<code>{escaped.replace('|', '&#124;').replace('`', '&#96;').replace('*', '&#42;')}</code>"
    )
