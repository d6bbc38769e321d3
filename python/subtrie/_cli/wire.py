"""``subtrie wire``: print the operations of a connection."""

from __future__ import annotations

from base64 import b64decode, b64encode
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import click

from .._core.errors import WireError
from .._core.redaction import redact_bytes, redacted
from ..wire import (
    OperationRow,
    StreamError,
    conversation,
    read_capture_operations,
    read_operations,
    read_records,
)
from .stream import print_json, printable

#: The verdict on a rule about what a capture does not have.
_NOT_SEEN = "not seen"
_ARROWS = {"c2s": "->", "s2c": "<-", "in": "->", "out": "<-"}


@click.command()
@click.argument("file", type=click.Path(exists=True, path_type=Path))
@click.option(
    "--conn",
    type=click.Choice(["client", "server_to_client", "route", "leaf", "route_legacy"]),
    help="FILE is the bytes of one direction of a connection of this kind.",
)
@click.option(
    "--check",
    is_flag=True,
    help="Check the protocol behaviour rules of a capture; exit 1 if any is violated.",
)
@click.option("--long", is_flag=True, help="With --check: print the rules that were not seen, too.")
@click.option("--reveal", is_flag=True, help="Print passwords, tokens, JWTs and nkeys.")
@click.option("--json", "as_json", is_flag=True, help="Print one JSON object per line.")
@click.pass_context
def wire(
    context: click.Context,
    file: Path,
    conn: str | None,
    check: bool,
    long: bool,
    reveal: bool,
    as_json: bool,
) -> None:
    r"""Print the operations of FILE.

    FILE is a directory or file that `subtrie tap` wrote, a trace log of nats-server (-DV), a saved
    response of /connz, /subsz or /routez, or, with --conn, the bytes of a connection. Exit 0: all
    of it was read; 1: a stream violates the protocol or ends inside an operation; 2: bad input.

    \b
    Examples:
      subtrie wire trace.log --json
      subtrie wire capture --check
    """
    if long and not check:
        raise click.UsageError("--long goes with --check")
    complete = True
    try:
        if check:
            context.exit(0 if _checked(file, as_json, long=long) else 1)
        for row in read_operations(file, conn=conn):
            complete &= isinstance(row, OperationRow) or row.reason == "mqtt"
            if as_json:
                print_json(_object(row, reveal))
            else:
                click.echo(_line(row, reveal))
    except BrokenPipeError:
        raise  # the reader of a pipe has enough
    except (WireError, OSError, ImportError) as error:
        click.echo(f"subtrie: {printable(str(error))}", err=True)
        context.exit(2)
    context.exit(0 if complete else 1)


def _checked(file: Path, as_json: bool, *, long: bool) -> bool:
    """Print the rules that are kept or broken, with ``long`` all; return whether none is broken.

    Only a capture has both directions and the bytes.
    """
    findings = conversation.check(read_capture_operations(read_records(file)))
    seen = findings if long else [each for each in findings if each.verdict != _NOT_SEEN]
    for finding in seen:
        if as_json:
            print_json(finding._asdict())
        else:
            click.echo(str(finding))
    if not as_json and len(seen) < len(findings):
        click.echo(f"{len(findings) - len(seen)} rules about what is not in the capture: --long")
    return all(finding.verdict != "broken" for finding in findings)


def _parts(row: OperationRow, reveal: bool) -> dict[str, Any]:
    """Return the parts of an operation, redacted unless ``reveal``."""
    if reveal:
        return row.parts
    shown: dict[str, Any] = redacted(row.parts)
    if "payload_b64" in shown:
        payload = redact_bytes(b64decode(row.parts["payload_b64"]))
        shown["payload_b64"] = b64encode(payload).decode()
    return shown


def _object(row: OperationRow | StreamError, reveal: bool) -> dict[str, Any]:
    """Return the JSON object of a row."""
    place: dict[str, Any] = {"conn": row.conn, "direction": row.direction}
    if isinstance(row, StreamError):
        return {**place, "error": row.reason, "position": row.position, "message": row.message}
    return {**place, "time": row.time, **_parts(row, reveal)}


def _line(row: OperationRow | StreamError, reveal: bool) -> str:
    """Return the line of text of a row."""
    arrow = _ARROWS.get(row.direction or "", "")
    conn = None if row.conn is None else printable(str(row.conn))
    place = " ".join(part for part in (conn, arrow) if part)
    if isinstance(row, StreamError):
        return f"{place} ! {printable(row.message)}".strip()
    words = [printable(row.parts["op"])]
    for key, value in _parts(row, reveal).items():
        if key not in ("op", "payload_b64") and value not in (None, []):
            words.append(f"{printable(key)}={printable(str(value))}")
    return " ".join(part for part in (_clock(row.time), place, *words) if part)


def _clock(time: int | str | None) -> str:
    """Return the time of day of a capture, or the time as a log has it."""
    if not isinstance(time, int):
        return printable(time or "")
    return datetime.fromtimestamp(time / 1e9, UTC).strftime("%H:%M:%S.%f")
