"""Print the findings and proposals of ``subtrie acl usage``."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Sequence

from rich.text import Text

from ..acl import Permissions
from ..acl._narrowing import Narrowing
from ..gencreds import plan
from .nsc import edit_user
from .sarif import Row
from .stream import console, line_of_output, print_json, printable

CONFIG, NSC, CREDS = AS = ("config", "nsc", "creds")
_COLOURS = {"warning": "yellow", "note": "dim"}


def print_usage(
    period: str, rows: Sequence[Row], proposals: Sequence[tuple[str, Narrowing]]
) -> None:
    """Print the findings, the changes that are proposed, and a count.

    Args:
        period: the time of the traffic.
        rows: the findings.
        proposals: the users and their proposals.
    """
    screen = console()
    screen.print(Text(f"traffic: {period}", "dim"))
    for each in rows:
        if each.rule == "narrower":
            continue  # the proposal shows it
        place = line_of_output(printable(each.place))
        level = (each.level, _COLOURS[each.level])
        screen.print(Text.assemble(place, ": ", level, f" {each.rule}: ", printable(each.message)))
    for label, proposal in proposals:
        screen.print(Text(f"proposal for {printable(label)}:"))
        for sign, colour, entries in (
            ("-", "red", proposal.removed), ("+", "green", proposal.added),
        ):  # fmt: skip
            for verb, entry in entries:
                screen.print(Text(f"{sign} {verb} {printable(entry)}", colour))
    levels = Counter(each.level for each in rows if each.rule != "narrower")
    parts = [f"{n} {level}{'s' * (n > 1)}" for level in _COLOURS if (n := levels[level])]
    screen.print(Text(", ".join(parts)) if parts else "[green]✓[/] every rule was used")


def print_as(
    artefact: str, name: str, account: str, before: Permissions, proposal: Narrowing
) -> None:
    """Print a proposal so that it can be copied.

    Args:
        artefact: one of ``AS``.
        name: the user's name.
        account: the user's account; empty if it is not known.
        before: the user's permissions now.
        proposal: the proposal.
    """
    after = proposal.permissions
    label = f"{account}/{name}" if account else name
    if artefact == CONFIG:
        print(f"# {printable(label)}\n{after.dump('conf')}", end="")
    elif artefact == NSC:
        print(edit_user(name, account, before, after), end="")
    else:
        planned = plan(after, name=name)
        size = {"size": planned.size, "limit": planned.limit, "fits": planned.fits}
        user = {"user": name, "account": account or None}
        print_json({**user, "jwt": size, "permissions": json.loads(after.dump("json"))})
