"""Print the findings and proposals of ``subtrie acl usage``, and what can be copied."""

from __future__ import annotations

import json
from collections.abc import Sequence

from .._findings.finding import Finding, counted
from ..acl import Permissions
from ..acl._narrowing import Narrowing
from ..gencreds import plan
from .nsc import edit_user
from .output_formats import print_lines
from .stream import print_json, printable, say, say_good, say_lines

CONFIG, NSC, CREDS = AS = ("config", "nsc", "creds")


def print_usage(
    period: str, rows: Sequence[Finding], proposals: Sequence[tuple[str, Narrowing]]
) -> None:
    """Print the findings, the changes that are proposed, and a count.

    Args:
        period: the time of the traffic.
        rows: the findings.
        proposals: the users and their proposals.
    """
    say((f"traffic: {period}", "dim"))
    shown = [each for each in rows if each.rule != "narrower"]  # the proposal shows it
    print_lines(shown)
    lines: list[list[str | tuple[str, str]]] = []
    for label, proposal in proposals:
        lines.append([f"proposal for {printable(label)}:"])
        for sign, colour, entries in (
            ("-", "red", proposal.removed), ("+", "green", proposal.added),
        ):  # fmt: skip
            lines += [[(f"{sign} {verb} {printable(entry)}", colour)] for verb, entry in entries]
    if lines:
        say_lines(lines)
    say(counted(shown)) if shown else say_good("every rule was used")


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
