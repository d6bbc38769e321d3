"""``subtrie bench``: input for benchmarks and tests."""

from __future__ import annotations

import json
from pathlib import Path

import click

from .command_group import CommandGroup


@click.group(cls=CommandGroup)
def bench() -> None:
    """Write input for benchmarks and tests."""


@bench.command()
@click.argument("out", metavar="OUT", type=click.Path(file_okay=False, path_type=Path))
@click.option("--seed", default=1, show_default=True, help="Determines services and traffic.")
@click.option(
    "--rows",
    type=click.IntRange(min=1),
    default=10_000,
    show_default=True,
    help="The number of operations in the log.",
)
@click.option(
    "--damage/--no-damage",
    default=True,
    help="Whether the log contains lines that cannot be parsed (default: it does).",
)
@click.option("--events", is_flag=True, help="Write the table of events too, as Parquet.")
@click.option(
    "--days", type=click.IntRange(min=1), default=1, show_default=True,
    help="Spread the traffic over days.",
)  # fmt: skip
@click.option(
    "--answers", is_flag=True, help="Write what the questions about rules and code must say, too."
)
@click.option("--json", "as_json", is_flag=True, help="Print the counts as one JSON object.")
@click.pass_context
def traffic(
    context: click.Context,
    out: Path,
    seed: int,
    rows: int,
    damage: bool,
    events: bool,
    days: int,
    answers: bool,
    as_json: bool,
) -> None:
    r"""Write a trace log of synthetic traffic, and what an audit of it must say.

    OUT is a new directory: trace.log, truth/ (JSON lines for each table), world.json, code/ and
    rules/. The same options give the same bytes on every machine. Exit 0; 2 if OUT is not empty or
    cannot be written.

    \b
    Examples:
      subtrie bench traffic world --rows 100000 --seed 7
      subtrie bench traffic world --answers --events
    """
    from ..conformance import write_traffic

    try:
        summary = write_traffic(
            out, seed=seed, rows=rows, damage=damage, events=events, days=days, answers=answers
        )
    except OSError as error:
        click.echo(f"subtrie: {error}", err=True)
        context.exit(2)
    except ImportError as error:
        click.echo(f"subtrie: --events needs {error.name}: pip install 'subtrie[arrow]'", err=True)
        context.exit(2)
    if as_json:
        click.echo(json.dumps(summary))
        return
    click.echo(
        f"{out}: {summary['rows']} operations, {summary['lines']} lines, "
        f"{summary['unparseable_lines']} of them unparseable"
    )
