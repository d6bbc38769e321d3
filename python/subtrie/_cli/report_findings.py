"""``subtrie report findings``: the findings of a run, as those of ``subtrie acl lint``."""

from __future__ import annotations

import dataclasses

import click

from .._core.extras import install_command
from .._findings.junit import Passed
from .format_option import by_format
from .output_formats import print_findings
from .stream import bad_input


@click.command()
@click.argument("run")
@click.option(
    "--log", "logs", multiple=True, help="A log of the run, for the commands; may be repeated."
)
@by_format
def findings(run: str, logs: tuple[str, ...], form: str) -> None:
    r"""Print what is wrong in a run: for a terminal, a review, a code host or a test report.

    RUN is a directory that `subtrie audit --out` wrote, and the place of each finding. Exit 0: no
    error and no warning; 1: there are some; 2: bad input.

    \b
    Examples:
      subtrie report findings run
      subtrie report findings run --format junit
    """
    try:
        from ..audit import open_run
        from ..report._findings import all_findings
        from ..report._sections import LEADS

        found = all_findings(open_run(run), name=run, logs=logs)
    except ImportError as error:
        bad_input("report findings", f"this needs {error.name}: {install_command('audit', 'cli')}")
    except FileNotFoundError:
        bad_input("report findings", f"{run} has no result of subtrie audit --out")
    except (OSError, ValueError) as error:
        bad_input("report findings", str(error))
    placed = [dataclasses.replace(each, file=run) for each in found]
    passed = () if placed else [Passed(run, "no findings")]
    print_findings(form, "subtrie report findings", placed, passed=passed, rules=LEADS)
    raise SystemExit(1 if any(each.level != "note" for each in placed) else 0)
