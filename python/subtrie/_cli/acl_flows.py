"""``subtrie acl flows``: which messages cross from one account to another."""

from __future__ import annotations

from pathlib import Path

import click
from rich.text import Text

from .._errors import SubtrieError
from ..acl import Deployment
from .permission_files import FILE, BadFile
from .stream import console, print_json, printable


@click.command()
@click.argument("file", type=FILE)
@click.option("--json", "as_json", is_flag=True, help="Print one JSON object for each line.")
def flows(file: Path, as_json: bool) -> None:
    """Show which messages cross from one account of FILE to another, and between which users.

    FILE is a server configuration. Each import is shown with an example, before and after the
    import renames it; then public exports, exports that no account imports, and imports that no
    user can use. Exit code 1 if there is such an import.
    """
    try:
        deployment = Deployment.load(file)
    except (SubtrieError, OSError) as error:
        raise BadFile(str(error)) from None
    screen = console()
    for flow in deployment.flows():
        if as_json:
            row = {"kind": flow.kind, "from": flow.source, "to": flow.target}
            row |= {"published": flow.published, "received": flow.received}
            print_json({**row, "senders": flow.senders, "receivers": flow.receivers})
            continue
        crossing = f"{flow.kind} {flow.source} → {flow.target}  {flow.published}"
        renamed = f" as {flow.received}" if flow.received != flow.published else ""
        screen.print(Text(printable(crossing + renamed)))
        for what, users in (("published by", flow.senders), ("received by", flow.receivers)):
            screen.print(Text(f"  {what}: {printable(', '.join(users)) or 'no user'}", "dim"))
    unused = deployment.unused()
    for account, line, code, message in unused:
        if as_json:
            found = {"account": account, "line": line, "rule": code, "message": message}
            print_json(found)
            continue
        place = f"{file}:{line}" if line else str(file)
        screen.print(Text(printable(f"{place}: {code}: {account}: {message}"), "yellow"))
    raise SystemExit(1 if any(code == "unused-import" for _, _, code, _ in unused) else 0)
