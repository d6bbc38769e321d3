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


def formats(forms: Sequence[str]) -> Callable[[Callable[..., Any]], Callable[..., Any]]:
    """Return a decorator that adds ``--format`` and a short option for JSON and for SARIF.

    The command gets the choice as ``form``; the first one is the default.
    """

    def decorated(command: Callable[..., Any]) -> Callable[..., Any]:
        @wraps(command)
        def chosen(*arguments: Any, form: str, short: str | None, **named: Any) -> Any:
            return command(*arguments, form=short or form, **named)

        with_options: Callable[..., Any] = chosen
        for each in (SARIF, JSON):
            if each in forms:
                with_options = click.option(
                    f"--{each}", "short", flag_value=each, help=f"The same as --format {each}."
                )(with_options)
        choice = click.Choice(forms)
        return click.option("--format", "form", type=choice, default=forms[0], show_default=True)(
            with_options
        )

    return decorated


#: For verbs whose answer is a text.
by_format = formats(FORMS)


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
        rows: what is reported: the results of SARIF, the test cases of JUnit, which fail unless
            they are notes.
        objects: the lines of JSON.
        table: the headings and rows of Markdown; a row's texts are escaped here.
        passed: further test cases of JUnit, which did not fail.
    """
    if form == JSON:
        for each in objects:
            print_json(each)
    elif form == SARIF:
        print(json.dumps(sarif_of_rows(rows), indent=2))
    elif form == JUNIT:
        cases = [
            Case(each.place, f"{each.rule}: {each.message}",
                 None if each.level == "note" else each.message) for each in rows
        ]  # fmt: skip
        print(junit(suite, [*cases, *passed]))
    else:
        print(markdown_table(*table), end="")


def markdown_table(headings: Sequence[str], rows: Iterable[Sequence[str]]) -> str:
    """Return a table of Markdown, with every text as inline code."""
    lines = [f"| {' | '.join(headings)} |", "|" + "---|" * len(headings)]
    for row in rows:
        cells = (code(text) if text else "" for text in row)
        lines.append(f"| {' | '.join(cells)} |")
    return "\n".join([*lines, ""]) if len(lines) > 2 else "Nothing to report.\n"
