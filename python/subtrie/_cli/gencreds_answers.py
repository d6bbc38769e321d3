"""The output of ``subtrie gencreds``: rules with their places, changes, configuration, nsc."""

from __future__ import annotations

import dataclasses
import json
import re
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from .._core.printable import code
from .._findings.finding import Finding, Place
from ..acl import Diff, Permissions
from ..gencreds import Plan, Service
from .acl_changes import Change, changes_markdown, new_access
from .nsc import nsc_command, nsc_entry
from .stream import printable, say

_LISTS = (("publish", "publish_allow"), ("subscribe", "subscribe_allow"))


@dataclasses.dataclass(frozen=True)
class Need:
    """One service: its rules and their size, its creds file, and what that file grants now.

    ``before`` is None too if what the existing file grants is not known.
    """

    service: Service
    permissions: Permissions
    planned: Plan
    file: Path
    existed: bool
    before: Permissions | None

    @property
    def host(self) -> str:
        """The service's host."""
        return self.service.host

    @property
    def changes(self) -> Diff | None:
        """The rules to add and to remove; None if there is nothing to compare with."""
        return None if self.before is None else self.before.diff(self.permissions)

    def entries(self) -> list[tuple[str, str, str]]:
        """Return verb, rule, and place in the source of each rule."""
        found = []
        for verb, name in _LISTS:
            for entry in getattr(self.permissions, name) or ():
                place = self.permissions.sources.get((name, entry))
                found.append((verb, entry, "every service" if place is None else _at(place)))
        return found


def _at(place: Place) -> str:
    return f"{place.file}:{place.line}"


def as_text(needs: list[Need], written: bool) -> None:
    """Print the rules and changes of each service."""
    for number, need in enumerate(needs):
        if number:
            say()
        entries = need.entries()
        say((need.host, "bold"), f"  {len(entries)} rules, JWT {need.planned}")
        wide = max(len(entry) for _, entry, _ in entries)
        for verb, entry, place in entries:
            shown = f"  {verb:<9}  {printable(entry):<{wide}}  "
            say(shown, (printable(place), "dim"))
        for note in need.service.notes:
            message = f"  note: {note.file}:{note.line}: {note.message}"
            say((printable(message), "yellow"))
        for each in need.service.dynamic:
            message = f"  unresolved: {each.file}:{each.line}: {each.message}"
            say((printable(message), "red"))
        _difference(need)
        if written:
            say("  wrote ", (printable(str(need.file)), "green"))


def _difference(need: Need) -> None:
    changes, file = need.changes, printable(str(need.file))
    if changes is None:
        unknown = "is not compared: what it grants is not known"
        why = unknown if need.existed else "does not exist yet"
        say((f"  {file} {why}", "dim"))
    elif not changes:
        say((f"  no difference to {file}", "dim"))
    else:
        say((f"  difference to {file}:", "dim"))
        for sign, colour, grants in (("+", "red", changes.added), ("-", "green", changes.removed)):
            for grant in grants:
                say("  ", (sign, colour), f" {printable(str(grant))}")


def as_json(needs: list[Need], plane: str, written: bool) -> str:
    """Return one JSON object.

    Args:
        needs: the services.
        plane: the plane.
        written: True if the creds files were written.
    """
    return json.dumps({"plane": plane, "services": [_object(each, written) for each in needs]})


def unresolved_as_json(services: list[Service], plane: str) -> str:
    """Return the same if nothing is granted because of unresolved calls."""
    rows = [{"host": each.host, "dynamic": _dynamic(each)} for each in services]
    return json.dumps({"plane": plane, "services": rows})


def _dynamic(service: Service) -> list[dict[str, Any]]:
    return [
        {"kind": e.kind, "message": e.message, "file": e.file, "line": e.line}
        for e in service.dynamic
    ]


def _object(need: Need, written: bool) -> dict[str, Any]:
    rows: dict[str, list[dict[str, Any]]] = {"publish": [], "subscribe": []}
    for verb, name in _LISTS:
        for entry in getattr(need.permissions, name) or ():
            file, line, _ = need.permissions.sources.get((name, entry)) or (None, None, None)
            rows[verb].append({"rule": entry, "file": file, "line": line})
    changes = need.changes
    return {
        "host": need.host,
        **rows,
        "dynamic": _dynamic(need.service),
        "notes": [dataclasses.asdict(each) for each in need.service.notes],
        "size": need.planned.size,
        "limit": need.planned.limit,
        "added": None if changes is None else [str(each) for each in changes.added],
        "removed": None if changes is None else [str(each) for each in changes.removed],
        "creds": str(need.file),
        "written": written,
    }


def findings(services: Sequence[Service], needs: Sequence[Need], source: Path) -> list[Finding]:
    """Return unresolved calls, notes, and rules that the existing creds do not grant.

    Args:
        services: all services.
        needs: those whose rules are known.
        source: the source tree.
    """
    found: dict[Finding, None] = {}
    for service in services:
        for rule, level, those in (
            ("dynamic", "error", service.dynamic), ("note", "note", service.notes),
        ):  # fmt: skip
            for each in those:
                found[Finding(rule, level, each.message, file=each.file, line=each.line)] = None
    return [*found, *new_access(_changes(needs), source)]


def _changes(needs: Sequence[Need]) -> list[Change]:
    found = ((need.host, need.changes, need.permissions) for need in needs)
    return [Change(host, diff, after) for host, diff, after in found if diff]


def as_markdown(needs: Sequence[Need], source: Path) -> str:
    """Return Markdown for a review comment: rules added to and removed from the existing creds."""
    changed = _changes(needs)
    same = [need.host for need in needs if need.changes is not None and not need.changes]
    fresh = [need.host for need in needs if need.changes is None]
    title = f"### Permissions of {code(source.name)}\n\n"
    text = changes_markdown(changed, source.name) if changed else title
    for title, hosts in (("Unchanged", same), ("No creds to compare with", fresh)):
        if hosts:
            text += f"{title}: {', '.join(map(code, hosts))}.\n\n"
    return text


def as_conf(needs: list[Need]) -> str:
    """Return users of a server configuration, with passwords from environment variables."""
    users = []
    for need in needs:
        variable = re.sub(r"[^A-Z0-9]", "_", need.host.upper())
        block = need.permissions.dump("conf").replace("permissions = ", "permissions: ", 1)
        body = "\n".join("    " + line for line in block.rstrip().splitlines())
        users.append(
            f'    {{\n      user: "{need.host}"\n      password: ${variable}_PASSWORD\n'
            + body.replace("    permissions", "      permissions", 1).replace("\n    ", "\n      ")
            + "\n    }\n"
        )
    return "authorization {\n  users = [\n" + "".join(users) + "  ]\n}\n"


def as_nsc(needs: list[Need], expires: int | None) -> str:
    """Return the commands of ``nsc`` that make the same change: add a user, or edit it."""
    lines = []
    for need in needs:
        creds = need.file.name
        new = {verb: list(getattr(need.permissions, name) or ()) for verb, name in _LISTS}
        words = ["nsc", "edit" if need.existed else "add", "user", "--name", need.host]
        gone: list[str] = []
        if need.before is not None:
            old = {verb: list(getattr(need.before, name) or ()) for verb, name in _LISTS}
            gone = [e for verb in old for e in old[verb] if e not in new[verb]]
            # --rm removes an entry from both lists, so one that stays in a list is added again.
            new = {verb: [e for e in new[verb] if e not in old[verb] or e in gone] for verb in new}
        for entry in dict.fromkeys(gone):
            words += ["--rm", nsc_entry(entry)]
        if gone:
            lines.append(nsc_command(words))
            words = ["nsc", "edit", "user", "--name", need.host]
        for verb, flag in (("publish", "--allow-pub"), ("subscribe", "--allow-sub")):
            for entry in new[verb]:
                words += [flag, nsc_entry(entry)]
        if expires is not None:
            words += ["--expiry", f"{max(1, expires // 60)}m"]
        if len(words) > 5:
            lines.append(nsc_command(words))
        lines.append(
            nsc_command(["nsc", "generate", "creds", "--name", need.host, "--output-file", creds])
        )
    return "".join(lines)
