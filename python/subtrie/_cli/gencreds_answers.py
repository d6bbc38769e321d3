"""What ``subtrie gencreds`` prints: rules with their places, the difference, configuration, nsc."""

from __future__ import annotations

import dataclasses
import json
import re
import shlex
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from rich.console import Console
from rich.text import Text

from ..acl import Diff, Permissions
from ..gencreds import Plan, Service
from .markdown import code, markdown
from .sarif import sarif_of_source
from .stream import printable

_LISTS = (("publish", "publish_allow"), ("subscribe", "subscribe_allow"))


@dataclasses.dataclass(frozen=True)
class Need:
    """One service: its rules, how large they are, its file, and what that grants now."""

    service: Service
    permissions: Permissions
    planned: Plan
    file: Path
    before: Permissions | None

    @property
    def host(self) -> str:
        """The service's host."""
        return self.service.host

    @property
    def changes(self) -> Diff | None:
        """What the new rules add and take away; None where there is nothing to compare with."""
        return None if self.before is None else self.before.diff(self.permissions)

    def entries(self) -> list[tuple[str, str, str]]:
        """Verb, rule, and the place in the source it comes from."""
        found = []
        for verb, name in _LISTS:
            for entry in getattr(self.permissions, name) or ():
                place = self.permissions.sources.get((name, entry))
                found.append((verb, entry, "every service" if place is None else _at(place)))
        return found


def _at(place: tuple[str, int]) -> str:
    return f"{place[0]}:{place[1]}"


def as_text(needs: list[Need], screen: Console, written: bool) -> None:
    """For people."""
    for number, need in enumerate(needs):
        if number:
            screen.print()
        entries = need.entries()
        line = Text.assemble((need.host, "bold"), f"  {len(entries)} rules, JWT {need.planned}")
        screen.print(line)
        wide = max(len(entry) for _, entry, _ in entries)
        for verb, entry, place in entries:
            shown = f"  {verb:<9}  {printable(entry):<{wide}}  "
            screen.print(Text.assemble(shown, (printable(place), "dim")))
        for note in need.service.notes:
            told = f"  note: {note.file}:{note.line}: {note.message}"
            screen.print(Text(printable(told), "yellow"))
        for each in need.service.dynamic:
            told = f"  dynamic: {each.file}:{each.line}: {each.message}"
            screen.print(Text(printable(told), "red"))
        _difference(need, screen)
        if written:
            screen.print(Text.assemble("  wrote ", (printable(str(need.file)), "green")))


def _difference(need: Need, screen: Console) -> None:
    changes, file = need.changes, printable(str(need.file))
    if changes is None:
        screen.print(Text(f"  {file} was not there", "dim"))
    elif not changes:
        screen.print(Text(f"  grants what {file} granted", "dim"))
    else:
        screen.print(Text(f"  other than {file}:", "dim"))
        for sign, colour, grants in (("+", "red", changes.added), ("-", "green", changes.removed)):
            for grant in grants:
                screen.print(Text.assemble("  ", (sign, colour), f" {printable(str(grant))}"))


def as_json(needs: list[Need], plane: str, written: bool) -> str:
    """One JSON object."""
    return json.dumps({"plane": plane, "services": [_object(each, written) for each in needs]})


def untold_as_json(services: list[Service], plane: str) -> str:
    """The same where nothing is granted, because the source does not tell enough."""
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
            file, line = need.permissions.sources.get((name, entry), (None, None))
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


def as_sarif(services: Sequence[Service], needs: Sequence[Need], source: Path) -> str:
    """For code hosts: what the source does not tell, and what it needs beyond the creds there."""
    grants = [
        (need.host, grant, need.permissions)
        for need in needs
        for grant in (need.changes.added if need.changes else ())
    ]
    return json.dumps(sarif_of_source(services, grants, source), indent=2)


def as_markdown(needs: Sequence[Need], source: Path) -> str:
    """For a comment in a review: what is needed beyond the creds there, and no longer needed."""
    changed = [(need.host, need.changes, need.permissions) for need in needs if need.changes]
    same = [need.host for need in needs if need.changes is not None and not need.changes]
    fresh = [need.host for need in needs if need.changes is None]
    title = f"### Permissions of {code(source.name)}\n\n"
    text = markdown(changed, source.name) if changed else title
    for title, hosts in (("Unchanged", same), ("No creds to compare with", fresh)):
        if hosts:
            text += f"{title}: {', '.join(map(code, hosts))}.\n\n"
    return text


def as_conf(needs: list[Need]) -> str:
    """Users for a server configuration, their passwords in variables of the environment."""
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
    """The commands of ``nsc`` that make the same change: a new user, or an edit of the old one."""
    lines = []
    for need in needs:
        creds = need.file.name
        new = {verb: list(getattr(need.permissions, name) or ()) for verb, name in _LISTS}
        words = ["nsc", "edit" if need.before else "add", "user", "--name", need.host]
        gone: list[str] = []
        if need.before is not None:
            old = {verb: list(getattr(need.before, name) or ()) for verb, name in _LISTS}
            gone = [e for verb in old for e in old[verb] if e not in new[verb]]
            # What is taken out is taken out of both lists, so what stays in one comes again.
            new = {verb: [e for e in new[verb] if e not in old[verb] or e in gone] for verb in new}
        for entry in dict.fromkeys(gone):
            words += ["--rm", _csv(entry)]
        if gone:
            lines.append(_command(words))
            words = ["nsc", "edit", "user", "--name", need.host]
        for verb, flag in (("publish", "--allow-pub"), ("subscribe", "--allow-sub")):
            for entry in new[verb]:
                words += [flag, _csv(entry)]
        if expires is not None:
            words += ["--expiry", f"{max(1, expires // 60)}m"]
        if len(words) > 5:
            lines.append(_command(words))
        lines.append(
            _command(["nsc", "generate", "creds", "--name", need.host, "--output-file", creds])
        )
    return "".join(lines)


def _command(words: list[str]) -> str:
    """A command for a shell, one option with its value a line where it is long."""
    head, options = words[:3], words[3:]
    pairs = [
        " ".join(map(shlex.quote, options[place : place + 2]))
        for place in range(0, len(options), 2)
    ]
    return " \\\n  ".join([" ".join([*head, pairs[0]]), *pairs[1:]]) + "\n"


def _csv(entry: str) -> str:
    """As nsc reads its lists: with commas between, so quoted where it holds one."""
    return '"' + entry.replace('"', '""') + '"' if set(',"') & set(entry) else entry
