"""``subtrie who``: which subscriptions does a subject reach, and if none, which came nearest?"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import click
from rich.markup import escape

from .. import SubjectTrie
from .._errors import SubtrieError
from .stream import console, inputs, line_of, no, printable, refused


@click.command()
@click.argument("subjects", nargs=-1)
@click.option(
    "-s",
    "--subscriptions",
    "source",
    type=click.Path(exists=True, dir_okay=False, path_type=Path),
    required=True,
    help="Patterns, one per line, each with an optional queue group; or a nats-server trace log.",
)
@click.option(
    "--dialect", type=click.Choice(["strict", "server"]), default="server", show_default=True
)
@click.option("--json", "as_json", is_flag=True, help="One JSON object a line.")
def who(subjects: tuple[str, ...], source: Path, dialect: str, as_json: bool) -> None:
    """Who gets each SUBJECT? Reads one per line from standard input when none is given.

    Exit code 0 when every subject reaches somebody, 1 when one reaches nobody, 2 when one is no
    subject.
    """
    trie: SubjectTrie = SubjectTrie(dialect=dialect)
    for line, pattern, queue in subscriptions_of(source):
        try:
            trie.add(pattern, line, queue=queue)
        except SubtrieError as error:
            raise click.UsageError(f"{source}, line {line}: {error}") from None
    screen = console()
    all_heard = all_subjects = True
    for text in inputs(subjects):
        try:
            found = trie.explain(text)
        except SubtrieError as error:
            all_subjects = False
            if as_json:
                line_of({"subject": text, "heard": None, **refused(error)})
            else:
                screen.print(no(text, error))
            continue
        all_heard &= bool(found.matches)
        if as_json:
            line_of(_answer(text, found))
        else:
            screen.print(_lines(text, found))
    raise SystemExit(2 if not all_subjects else 0 if all_heard else 1)


def subscriptions_of(source: Path) -> Iterator[tuple[int, str, str | None]]:
    """Line number, pattern and queue group of each line; blank lines and ``# …`` are passed over.

    Of a trace log, each subscription that a client made, ended ones too.
    """
    from ..wire.log import parse_line

    with source.open(encoding="utf-8", errors="surrogateescape") as lines:
        for number, line in enumerate(lines, 1):
            words = line.split()
            if not words or words[0] == "#":
                continue
            record = parse_line(line.rstrip("\r\n")) if line.startswith("[") else None
            if record is not None:
                if record.op != "SUB" or record.direction != "in":
                    continue
                words = list(record.args[:-1])
            elif line.startswith("[") and "] [" in line:
                continue  # a line of the log that is no subscription
            if len(words) > 2:
                raise click.UsageError(
                    f"{source}, line {number}: a pattern and at most a queue group, please"
                )
            yield number, words[0], words[1] if len(words) == 2 else None


def _answer(text: str, found: Any) -> dict[str, Any]:
    return {
        "subject": text,
        "heard": bool(found.matches),
        "matches": [
            {"pattern": str(each.pattern), "queue": each.queue, "line": each.value}
            for each in found.matches
        ],
        "nearest": [
            {"pattern": str(miss.pattern), "differs_at": miss.differs_at} for miss in found.nearest
        ],
    }


def _lines(text: str, found: Any) -> str:
    mark = "[green]✓[/]" if found.matches else "[red]✗[/]"
    lines = [f"{mark} {escape(printable(text))}"]
    for each in found.matches:
        queue = f"  [dim]queue[/] {escape(each.queue)}" if each.queue else ""
        lines.append(f"    {escape(str(each.pattern))}{queue}  [dim]line {each.value}[/]")
    if not found.matches:
        lines.append("    [red]nobody[/]" if found.nearest else "    [red]nobody: no patterns[/]")
        for miss in found.nearest:
            lines.append(
                f"    [dim]nearest[/] {escape(str(miss.pattern))}"
                f"  [dim]differs at token {miss.differs_at}[/]"
            )
    return "\n".join(lines)
