"""The formats in which every verb about permissions answers, and the option that chooses one."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Sequence
from functools import wraps
from typing import Any

import click

from .junit import Case, junit
from .markdown import code
from .sarif import Row, sarif_of_rows
from .stream import print_json

TEXT, JSON, MARKDOWN, SARIF, JUNIT = FORMS = ("text", "json", "markdown", "sarif", "junit")


def by_format(command: Callable[..., Any]) -> Callable[..., Any]:
    """Add ``--format``, ``--json`` and ``--sarif``; the command gets the choice as ``form``."""

    @wraps(command)
    def chosen(*arguments: Any, form: str, as_json: bool, sarif: bool, **named: Any) -> Any:
        form = SARIF if sarif else JSON if as_json else form
        return command(*arguments, form=form, **named)

    with_options: Callable[..., Any] = chosen
    for option in (
        click.option("--sarif", is_flag=True, help="The same as --format sarif."),
        click.option("--json", "as_json", is_flag=True, help="The same as --format json."),
        click.option(
            "--format", "form", type=click.Choice(FORMS), default=TEXT, show_default=True
        ),
    ):  # fmt: skip
        with_options = option(with_options)
    return with_options


def print_report(
    form: str,
    suite: str,
    rows: Sequence[Row],
    objects: Iterable[dict[str, Any]],
    table: tuple[Sequence[str], Iterable[Sequence[str]]],
    passed: Iterable[Case] = (),
) -> None:
    """Print an answer in a format other than text.

    Args:
        form: the format.
        suite: the command, for JUnit.
        rows: what is reported: the results of SARIF, the failures of JUnit.
        objects: the lines of JSON.
        table: the headings and rows of Markdown; a row's texts are escaped here.
        passed: the test cases of JUnit that did not fail.
    """
    if form == JSON:
        for each in objects:
            print_json(each)
    elif form == SARIF:
        print(json.dumps(sarif_of_rows(rows), indent=2))
    elif form == JUNIT:
        failed = [Case(each.place, f"{each.rule}: {each.message}", each.message) for each in rows]
        print(junit(suite, [*failed, *passed]))
    else:
        print(markdown_table(*table), end="")


def markdown_table(headings: Sequence[str], rows: Iterable[Sequence[str]]) -> str:
    """Return a table of Markdown, with every text as inline code."""
    lines = [f"| {' | '.join(headings)} |", "|" + "---|" * len(headings)]
    for row in rows:
        cells = (code(text) if text else "" for text in row)
        lines.append(f"| {' | '.join(cells)} |")
    return "\n".join([*lines, ""]) if len(lines) > 2 else "Nothing to report.\n"
