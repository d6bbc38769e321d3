"""``subtrie conformance``: run conformance vectors against an engine."""

from __future__ import annotations

import json
from pathlib import Path

import click

from .stream import printable


@click.command()
@click.argument(
    "paths",
    nargs=-1,
    required=True,
    metavar="PATH...",
    type=click.Path(exists=True, path_type=Path),
)
@click.option(
    "--engine",
    type=click.Choice(["native", "reference"]),
    help="The engine to test (default: the one in use).",
)
@click.option("--json", "as_json", is_flag=True, help="Print one JSON object.")
@click.pass_context
def conformance(
    context: click.Context, paths: tuple[Path, ...], engine: str | None, as_json: bool
) -> None:
    r"""Run vector files (JSON lines) against an engine.

    PATH is a file, or a directory that contains *.jsonl. Exit code 0 if every row passes, 1 if a
    row fails or is of an unknown kind, 2 if the input cannot be read.

    \b
    Examples:
      subtrie conformance vectors/
      subtrie conformance --engine reference vectors/microbus.jsonl
    """
    from ..conformance import run

    try:
        report = run(paths, engine=engine)
    except (OSError, ImportError) as error:
        click.echo(f"subtrie: {printable(str(error))}", err=True)
        context.exit(2)
    if as_json:
        click.echo(json.dumps(report.as_dict(), indent=2))
    else:
        click.echo("\n".join(map(printable, str(report).split("\n"))))
    context.exit(0 if report else 1)
