"""Changes of permissions: what is granted anew as findings, and Markdown for a review."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from typing import NamedTuple

from .._core import engine
from .._core.printable import code, printable
from .._findings.finding import Finding, Place
from .._findings.markdown import table
from ..acl import Diff, Grant, Permissions, Witness
from ..acl._consequence import Consequence
from .stream import Line


class Change(NamedTuple):
    """The change for one user; the name is empty if it is the only one."""

    user: str
    diff: Diff
    after: Permissions


def new_access(changes: Iterable[Change], file: Path) -> Iterator[Finding]:
    """Yield a finding for each grant that a change adds.

    Args:
        changes: the changes.
        file: the file to name if the place of the entry is not known.
    """
    for user, diff, after in changes:
        whose = f" of {user}" if user else ""
        for each in diff.added:
            entry = _entry(each)
            yield Finding.at(
                _place(each, entry, after) or str(file),
                "new-access",
                "error" if each.danger else "warning",
                f"New access{whose}: {each}",
                witness=each.witness,
                key=(user, each.verb, entry),
            )


def _entry(grant: Grant) -> str:
    return f"{grant.pattern} {grant.queue}" if grant.queue else grant.pattern


def _place(grant: Grant, entry: str, after: Permissions) -> Place | None:
    """The place of the allow entry that grants it: the entry itself, or one that covers it."""
    side = f"{grant.verb}_allow"
    for allowed in [entry, *(getattr(after, side, None) or ())]:
        if (place := after.sources.get((side, allowed))) is not None and (
            engine.rules_witness([entry], [], [allowed], []) is None
        ):
            return place
    return None


def change_lines(diff: Diff) -> Iterator[Line]:
    """Yield a line of text for each grant that a change adds or removes."""
    for sign, colour, grants in (("+", "red", diff.added), ("-", "green", diff.removed)):
        for grant in grants:
            danger = (" danger", "bold red") if grant.danger else ""
            example = f"  example: {printable(grant.witness)}{queue_text(grant.witness)}"
            grants_what = f" {printable(str(grant))}"
            yield [(sign, colour), grants_what, danger, (example, "dim")]


def queue_text(witness: Witness) -> str:
    """Return the queue of a witness as words; empty without one."""
    return f" in queue {printable(witness.queue)}" if witness.queue else ""


def changes_markdown(
    changes: Iterable[Change],
    title: str,
    not_compared: Sequence[Finding] = (),
    consequences: Sequence[Consequence] = (),
) -> str:
    """Return the tables of a change.

    Args:
        changes: the changes.
        title: the file that changed.
        not_compared: what differs, or was not seen, besides.
        consequences: what is possible now, or was before, by what else changed.
    """
    changes = list(changes)
    lines = [f"### Permissions of {code(title)}", ""]
    for user, diff, _ in changes:
        for side, grants in (("added", diff.added), ("removed", diff.removed)):
            if not grants:
                continue
            lines += [f"**{side}**" + (f" for {code(user)}" if user else ""), ""]
            rows = (
                (
                    f"{each.verb} ⚠ danger" if each.danger else each.verb,
                    code(_entry(each)),
                    " ".join(map(code, each.unless)),
                    code(each.witness),
                )
                for each in grants
            )
            lines += [*table(("verb", "pattern", "unless", "example"), rows), ""]
    for side, gained in (("new access", True), ("removed access", False)):
        some = [each for each in consequences if each.gained is gained]
        if some:
            what = ((code(each.message), code(each.witness)) for each in some)
            lines += [f"**{side}**", "", *table(("what", "example"), what), ""]
    if not_compared:
        cells = ((code(each.place), code(each.message)) for each in not_compared)
        lines += ["**not compared**", "", *table(("place", "what"), cells), ""]
    elif not consequences and not any(diff for _, diff, _ in changes):
        lines += ["No difference.", ""]
    return "\n".join(lines)
