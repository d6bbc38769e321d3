"""The option ``--format``: the formats in which a verb answers. It loads no renderer."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import wraps
from typing import Any

import click

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
