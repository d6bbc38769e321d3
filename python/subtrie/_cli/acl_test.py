"""``subtrie acl test``: do permissions answer as a file of expected answers says?"""

from __future__ import annotations

import shlex
from pathlib import Path

import click
from rich.text import Text

from .._errors import SubtrieError
from ..acl import Decision, Permissions
from .permission_files import FILE, by_model, known, loaded, of_user
from .stream import console, print_json, printable


@click.command()
@click.argument("expected", type=FILE)
@click.argument("file", type=FILE, required=False)
@of_user
@by_model
@click.option("--json", "as_json", is_flag=True, help="One JSON object a line.")
def test(
    expected: Path,
    file: Path | None,
    user: str | None,
    account: str | None,
    account_jwt: Path | None,
    model: str,
    as_json: bool,
) -> None:
    """Does FILE answer as EXPECTED says?

    EXPECTED holds lines such as 'yes publish orders.new', 'no subscribe orders.> workers',
    'yes receive orders.new orders.*'. A line 'of FILE [USER]' names the permissions that the lines
    below are about, beside EXPECTED; so FILE may be left out. Blank lines and lines that begin with
    '#' are passed over. Exit code 1 when one answer differs.
    """
    permissions = None
    if file is not None:
        permissions = known(file, loaded(file, user, account, account_jwt))
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
                permissions = _named(expected, words, account_jwt)
                continue
            if permissions is None:
                raise ValueError("whose permissions? give FILE, or a line 'of FILE [USER]' above")
            wanted, decision = _answer(permissions, words, model)
        except click.UsageError:
            raise
        except (SubtrieError, ValueError) as error:
            raise click.UsageError(f"{expected}, line {number}: {error}") from None
        right = wanted == bool(decision)
        asked += 1
        failed += not right
        if as_json:
            print_json({"line": number, "expected": wanted, "right": right, "why": decision.why})
        elif not right:
            said = f"line {number}: {printable(' '.join(words))}: {printable(decision.why)}"
            screen.print(Text.assemble(("✗ ", "red"), said))
    if not asked:
        raise click.UsageError(f"{expected}: it expects nothing")
    if not as_json and not failed:
        screen.print("[green]✓[/] every answer is as expected")
    raise SystemExit(1 if failed else 0)


def _named(expected: Path, words: list[str], account_jwt: Path | None) -> Permissions:
    if len(words) not in (2, 3):
        raise ValueError("write 'of FILE' or 'of FILE USER'")
    path = expected.parent / words[1]
    return known(path, loaded(path, words[2] if len(words) == 3 else None, None, account_jwt))


def _answer(permissions: Permissions, words: list[str], model: str) -> tuple[bool, Decision]:
    if len(words) not in (3, 4, 5) or words[0] not in ("yes", "no"):
        raise ValueError(
            "write 'yes' or 'no', then 'publish' and a subject, 'subscribe' and a pattern, or "
            "'receive', a subject and a pattern; after a pattern perhaps a queue"
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
