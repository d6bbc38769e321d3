"""``subtrie report``: the result of an audit as a page, as Markdown or as JSON."""

from __future__ import annotations

import os
import sys
import tempfile
from collections.abc import Callable, Sequence
from importlib import import_module
from typing import TYPE_CHECKING

import click

from .._core.extras import install_command
from .command_group import CommandGroup
from .stream import bad_input

if TYPE_CHECKING:
    from ..audit import Run
    from ..report import Report

#: Commands of this group that have a module of their own, imported when they run.
_ELSEWHERE = {
    "diff": "report_diff",
    "findings": "report_findings",
    "lines": "report_lines",
}


class _Views(CommandGroup):
    def list_commands(self, ctx: click.Context) -> list[str]:
        return [*self.commands, *_ELSEWHERE]

    def find_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        if cmd_name not in _ELSEWHERE:
            return super().find_command(ctx, cmd_name)
        command: click.Command = getattr(
            import_module(f".{_ELSEWHERE[cmd_name]}", __package__), cmd_name
        )
        return command


@click.group(cls=_Views)
def report() -> None:
    """Show the result of an audit as a page, as Markdown or as JSON.

    RUN is a directory that `subtrie audit --out` wrote. Spark is not started.
    """


#: What a result raises whose tables hold values that no audit writes.
OF_ANOTHER_TYPE = (TypeError, KeyError, AttributeError, ArithmeticError, IndexError, RecursionError)

_run = click.argument("run")
_logs = click.option(
    "--log", "logs", multiple=True, help="A log of the run, for the commands; may be repeated."
)
_out = click.option("--out", type=click.Path(dir_okay=False), help="Write to this file.")


@report.command()
@_run
@_logs
@_out
def html(run: str, logs: tuple[str, ...], out: str | None) -> None:
    r"""Write a page that needs nothing but a browser.

    \b
    Examples:
      subtrie report html run --log trace.log --out report.html
    """
    from ..report import to_html

    _show(run, logs, out, to_html)


@report.command()
@_run
@_logs
@_out
def markdown(run: str, logs: tuple[str, ...], out: str | None) -> None:
    r"""Write Markdown, for a terminal or a pull request.

    \b
    Examples:
      subtrie report markdown run
    """
    from ..report import to_markdown

    _show(run, logs, out, to_markdown)


@report.command()
@_run
@_logs
@_out
def json(run: str, logs: tuple[str, ...], out: str | None) -> None:
    r"""Write one JSON object, for a program.

    \b
    Examples:
      subtrie report json run --out report.json
    """
    from ..report import to_json

    _show(run, logs, out, to_json)


def _show(run: str, logs: tuple[str, ...], out: str | None, view: Callable[[Report], str]) -> None:
    """Write a view of a run to a file or standard output, or exit with 2."""
    try:
        from ..report import read_report

        text = view(read_report(run, logs=logs))
        if out is None:
            sys.stdout.write(text)
        else:
            write_page(out, text)
    except ImportError as error:
        bad_input("report", f"the report needs {error.name}: {install_command('audit', 'cli')}")
    except FileNotFoundError:
        bad_input("report", f"{run} has no result of subtrie audit --out")
    except BrokenPipeError:
        raise  # the reader of a pipe has enough
    except (OSError, ValueError) as error:
        bad_input("report", str(error))
    except OF_ANOTHER_TYPE as error:
        bad_input("report", f"{run}: a value of the result is not that of an audit: {error}")


def write_report(result: Run, run: str | None, logs: Sequence[str], path: str) -> None:
    """Write the page of an open result.

    Args:
        result: The result of an audit.
        run: The directory that the commands of the page name; None if it is temporary.
        logs: The logs that were audited.
        path: The file to write.
    """
    from ..report import read_report, to_html

    write_page(path, to_html(read_report(result, name=run, logs=logs)))


def write_page(path: str, text: str) -> None:
    """Write a file so that it is complete or absent: a browser may be reading an earlier one."""
    folder = os.path.dirname(os.path.abspath(path))
    with tempfile.NamedTemporaryFile(
        "w", dir=folder, prefix=".subtrie-", delete=False, encoding="utf-8"
    ) as file:
        try:
            file.write(text)
            file.close()
            os.replace(file.name, path)
        except BaseException:
            os.unlink(file.name)
            raise
