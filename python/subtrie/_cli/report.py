"""``subtrie report``: the result of an audit as a page, as Markdown or as JSON."""

from __future__ import annotations

import os
import sys
import tempfile
from collections.abc import Callable, Sequence
from importlib import import_module
from typing import TYPE_CHECKING

import click

if TYPE_CHECKING:
    from ..report import Report
    from ..spark import Audit

#: Commands of this group that have a module of their own, imported when they run.
_ELSEWHERE = {
    "diff": ("report_diff", "Compare two runs: what is new, gone or changed."),
    "lines": ("report_lines", "Print the lines of the logs that a row is from."),
}


class _Views(click.Group):
    def list_commands(self, ctx: click.Context) -> list[str]:
        return [*self.commands, *_ELSEWHERE]

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        if cmd_name not in _ELSEWHERE:
            return super().get_command(ctx, cmd_name)
        module = import_module(f".{_ELSEWHERE[cmd_name][0]}", __package__)
        command: click.Command = getattr(module, cmd_name)
        return command

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        own = [(name, each.get_short_help_str()) for name, each in self.commands.items()]
        with formatter.section("Commands"):
            formatter.write_dl([*own, *((name, text) for name, (_, text) in _ELSEWHERE.items())])


@click.group(cls=_Views)
def report() -> None:
    """Show the result of an audit as a page, as Markdown or as JSON.

    RUN is a directory that `subtrie audit --out` wrote. Spark is not started.
    """


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
    """Write a page that needs nothing but a browser."""
    from ..report import to_html

    _show(run, logs, out, to_html)


@report.command()
@_run
@_logs
@_out
def markdown(run: str, logs: tuple[str, ...], out: str | None) -> None:
    """Write Markdown, for a terminal or a pull request."""
    from ..report import to_markdown

    _show(run, logs, out, to_markdown)


@report.command()
@_run
@_logs
@_out
def json(run: str, logs: tuple[str, ...], out: str | None) -> None:
    """Write one JSON object, for a program."""
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
        _bad(f"the report needs {error.name}: pip install 'subtrie[spark,cli]'")
    except FileNotFoundError:
        _bad(f"{run} has no result of subtrie audit --out")
    except (OSError, ValueError) as error:
        _bad(str(error))


def write_report(result: Audit, run: str | None, logs: Sequence[str], path: str) -> None:
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


def _bad(message: str) -> None:
    print(f"subtrie report: {message}", file=sys.stderr)
    raise SystemExit(2)
