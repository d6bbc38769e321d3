"""``subtrie acl test``: check permissions against a file of expected decisions."""

from __future__ import annotations

import dataclasses
import shlex
from pathlib import Path

import click
from rich.text import Text

from .._errors import SubtrieError
from ..acl import Decision, Permissions
from .permission_files import FILE, Selection, by_model, of_user
from .stream import console, print_json, printable


@click.command()
@click.argument("expected", type=FILE)
@click.argument("file", type=FILE, required=False)
@of_user
@by_model
@click.option("--json", "as_json", is_flag=True, help="Print one JSON object for each expectation.")
def test(
    expected: Path,
    file: Path | None,
    selection: Selection,
    model: str,
    as_json: bool,
) -> None:
    """Check that FILE decides as EXPECTED says.

    EXPECTED holds lines such as 'yes publish orders.new', 'no subscribe orders.> workers',
    'yes receive orders.new orders.*'. A line 'of FILE [USER]' names the permissions for the lines
    below it, relative to EXPECTED; then FILE may be omitted. Blank lines and lines that begin with
    '#' are ignored. Exit code 1 if a decision differs, or is not determined.
    """
    permissions = None
    if file is not None:
        permissions = selection.load_determined(file)
    screen = console()
    asked = failed = 0
    try:
        text = expected.read_text()
    except (OSError, UnicodeDecodeError) as error:
        raise click.UsageError(f"{expected}: {error}") from None
    for number, line in enumerate(text.splitlines(), 1):
        try:
            words = shlex.split(line, comments=False)
            if not words or words[0].startswith("#"):
                continue
            if words[0] == "of":
                permissions = _named(expected, words, selection)
                continue
            if permissions is None:
                raise ValueError(
                    "no permissions to check: pass FILE, or put a line 'of FILE [USER]' above"
                )
            wanted, decision = _answer(permissions, words, model)
        except click.UsageError:
            raise
        except (SubtrieError, ValueError) as error:
            raise click.UsageError(f"{expected}, line {number}: {error}") from None
        right = decision.determined and wanted == bool(decision)
        asked += 1
        failed += not right
        if as_json:
            answer = {"line": number, "expected": wanted, "right": right}
            more = {"determined": decision.determined, "explanation": decision.explanation}
            print_json({**answer, **more})
        elif not right:
            said = f"line {number}: {printable(' '.join(words))}: {printable(decision.explanation)}"
            mark = ("✗ ", "red") if decision.determined else ("? ", "yellow")
            screen.print(Text.assemble(mark, said))
    if not asked:
        raise click.UsageError(f"{expected}: the file contains no expectations")
    if not as_json and not failed:
        screen.print("[green]✓[/] all decisions are as expected")
    raise SystemExit(1 if failed else 0)


def _named(expected: Path, words: list[str], selection: Selection) -> Permissions:
    if len(words) not in (2, 3):
        raise ValueError("write 'of FILE' or 'of FILE USER'")
    path = expected.parent / words[1]
    whose = dataclasses.replace(selection, user=None, account=None)
    return whose.load_determined(path, words[2] if len(words) == 3 else None)


def _answer(permissions: Permissions, words: list[str], model: str) -> tuple[bool, Decision]:
    if len(words) not in (3, 4, 5) or words[0] not in ("yes", "no"):
        raise ValueError(
            "write 'yes' or 'no', then 'publish' and a subject, 'subscribe' and a pattern, or "
            "'receive', a subject and a pattern; a queue may follow a pattern"
        )
    said, verb, subject, *more = words
    if verb == "publish" and not more:
        return said == "yes", permissions.can_publish(subject, model=model)
    if verb == "subscribe" and len(more) < 2:
        queue = more[0] if more else None
        return said == "yes", permissions.can_subscribe(subject, queue=queue, model=model)
    if verb == "receive" and more:
        pattern, *queues = more
        queue = queues[0] if queues else None
        decision = permissions.can_receive(subject, subscription=pattern, queue=queue, model=model)
        return said == "yes", decision
    raise ValueError("'publish' takes a subject, 'subscribe' a pattern, 'receive' both")
