"""``subtrie wire``: what was said, operation by operation."""

from __future__ import annotations

from base64 import b64decode, b64encode
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import click

from .._errors import WireError
from .._redaction import redact_bytes, redacted
from ..wire import Broken, Row, conversation, of_capture, read, records
from .stream import print_json, printable

_ARROWS = {"c2s": "->", "s2c": "<-", "in": "->", "out": "<-"}


@click.command()
@click.argument("file", type=click.Path(exists=True, path_type=Path))
@click.option(
    "--conn",
    type=click.Choice(["client", "server_to_client", "route", "leaf", "route_legacy"]),
    help="FILE is one direction of such a connection, as it was read from the socket.",
)
@click.option(
    "--check",
    is_flag=True,
    help="FILE is a capture: print what became of each rule of behaviour; exit 1: one is broken.",
)
@click.option("--reveal", is_flag=True, help="Show passwords, tokens, JWTs and nkeys.")
@click.option("--json", "as_json", is_flag=True, help="One JSON object a line.")
@click.pass_context
def wire(
    context: click.Context,
    file: Path,
    conn: str | None,
    check: bool,
    reveal: bool,
    as_json: bool,
) -> None:
    """Print the operations of FILE.

    FILE is a folder or file that `subtrie tap` wrote, a trace log of nats-server (-DV), a saved
    /connz, /subsz or /routez, or, with --conn, bytes of a connection. Exit 0: all of it was read;
    1: a stream breaks the protocol, or ends in the middle of an operation; 2: no such input.
    """
    whole = True
    try:
        if check:
            context.exit(0 if _checked(file, as_json) else 1)
        for row in read(file, conn=conn):
            whole &= isinstance(row, Row)
            if as_json:
                print_json(_object(row, reveal))
            else:
                click.echo(_line(row, reveal))
    except (WireError, OSError, ImportError) as error:
        click.echo(f"subtrie: {error}", err=True)
        context.exit(2)
    context.exit(0 if whole else 1)


def _checked(file: Path, as_json: bool) -> bool:
    """Is no rule broken? Only a capture has both directions, and bytes."""
    findings = conversation.check(of_capture(records(file)))
    for found in findings:
        if as_json:
            print_json(found._asdict())
        else:
            click.echo(str(found))
    return all(found.verdict != "broken" for found in findings)


def _parts(row: Row, reveal: bool) -> dict[str, Any]:
    if reveal:
        return row.parts
    shown: dict[str, Any] = redacted(row.parts)
    if "payload_b64" in shown:
        payload = redact_bytes(b64decode(row.parts["payload_b64"]))
        shown["payload_b64"] = b64encode(payload).decode()
    return shown


def _object(row: Row | Broken, reveal: bool) -> dict[str, Any]:
    place: dict[str, Any] = {"conn": row.conn, "direction": row.direction}
    if isinstance(row, Broken):
        return {**place, "error": row.reason, "position": row.position, "message": row.message}
    return {**place, "time": row.time, **_parts(row, reveal)}


def _line(row: Row | Broken, reveal: bool) -> str:
    arrow = _ARROWS.get(row.direction or "", "")
    place = " ".join(str(part) for part in (row.conn, arrow) if part not in (None, ""))
    if isinstance(row, Broken):
        return f"{place} ! {printable(row.message)}".strip()
    words = [row.parts["op"]]
    for key, value in _parts(row, reveal).items():
        if key not in ("op", "payload_b64") and value not in (None, [], ()):
            words.append(f"{key}={printable(str(value))}")
    return " ".join(part for part in (_clock(row.time), place, *words) if part)


def _clock(time: int | str | None) -> str:
    if not isinstance(time, int):
        return time or ""
    return datetime.fromtimestamp(time / 1e9, UTC).strftime("%H:%M:%S.%f")
