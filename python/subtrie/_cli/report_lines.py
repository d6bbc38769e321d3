"""``subtrie report lines``: the lines of the logs that a row of a table is from."""

from __future__ import annotations

import click

from .._core.extras import install_command
from .stream import bad_input, print_json, printable


@click.command()
@click.argument("run")
@click.argument("table")
@click.argument("keys", nargs=-1, metavar="KEY...")
@click.option(
    "--log", "logs", multiple=True, required=True, help="A log of the run; may be repeated."
)
@click.option("--json", "as_json", is_flag=True, help="Print one JSON object per line.")
def lines(
    run: str, table: str, keys: tuple[str, ...], logs: tuple[str, ...], as_json: bool
) -> None:
    r"""Print the lines of the logs that a row is from.

    RUN is a directory that `subtrie audit --out` wrote, TABLE one of its tables. KEY... are the
    values of the key columns of a row, as the commands in a report have them; - is null. The
    lines are those on the subject, pattern or edge of the row, of all clients unless it names one.
    Exit 0: there are such lines; 1: there are none; 2: bad input.

    \b
    Examples:
      subtrie report lines --log trace.log run undelivered orders.17.placed
    """
    try:
        from ..audit import open_run
        from ..audit._results.row_lines import row_lines

        found = False
        for line in row_lines(open_run(run), table, keys, logs):
            found = True
            if as_json:
                print_json({"log": line.log, "offset": line.offset, "line": line.text})
            else:
                print(f"{printable(line.log)}:{line.offset}: {printable(line.text)}")
    except ImportError as error:
        bad_input("report lines", f"this needs {error.name}: {install_command('audit', 'cli')}")
    except FileNotFoundError as error:
        bad_input(
            "report lines",
            f"{error.filename or run}: there is no such log, or no result of subtrie audit --out",
        )
    except BrokenPipeError:
        raise  # the reader of a pipe has enough
    except (OSError, ValueError) as error:
        bad_input("report lines", str(error))
    raise SystemExit(0 if found else 1)
