"""``subtrie who``: list the subscriptions that match a subject, or the nearest that do not."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import click

from .. import SubjectTrie
from .._core import engine
from .._core.errors import SubtrieError
from .._core.subject import Dialect
from .dialect import by_dialect
from .format_option import by_format
from .pattern_relation import relation
from .reported_answers import reported
from .stream import error_fields, inputs, print_json, printable, say, say_rejected


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
@by_dialect
@by_format
def who(subjects: tuple[str, ...], source: Path, dialect: Dialect, form: str) -> None:
    r"""List the subscriptions that match each SUBJECT, by default each line of standard input.

    A SUBJECT with wildcards is a pattern: listed are those with which it shares a subject, and
    whether it covers them. Exit code 0 if every subject has a matching subscription, 1 if one has
    none, 2 if one is not a valid subject.

    \b
    Examples:
      subtrie who -s patterns.txt orders.eu.new
      subtrie who -s patterns.txt 'orders.*.new'
      subtrie who -s trace.log prod.safe.443.web_shop.orders_shop._.GET.orders.7
    """
    with reported(form, "subtrie who", "matched") as as_json:
        _who(subjects, source, dialect, as_json)


def _who(subjects: tuple[str, ...], source: Path, dialect: Dialect, as_json: bool) -> None:
    trie: SubjectTrie = SubjectTrie(dialect=dialect)
    rows: list[tuple[int, str, str | None]] = []
    for line, pattern, queue, is_log in subscriptions_of(source):
        try:
            trie.add(pattern, line, queue=queue)
        except SubtrieError as error:
            if is_log:
                continue  # the broker accepted it; it matches no subject of this dialect
            raise click.UsageError(f"{source}, line {line}: {error}") from None
        rows.append((line, pattern, queue))
    all_matched = all_valid = True
    for text in inputs(subjects):
        try:
            if not {"*", ">"}.isdisjoint(text.split(".")):
                all_matched &= _overlapping(text, dialect, rows, as_json)
                continue
            found = trie.explain(text)
        except SubtrieError as error:
            all_valid = False
            if as_json:
                print_json({"subject": text, "matched": None, **error_fields(error)})
            else:
                say_rejected(text, error)
            continue
        all_matched &= bool(found.matches)
        if as_json:
            print_json(_answer(text, found))
        else:
            _say(text, found)
    raise SystemExit(2 if not all_valid else 0 if all_matched else 1)


def _overlapping(
    text: str, dialect: Dialect, rows: list[tuple[int, str, str | None]], as_json: bool
) -> bool:
    """Print the subscriptions that share a subject with a pattern; return True if there is one."""
    engine.check_pattern(text, dialect)
    relations = ((row, relation(text, row[1])) for row in rows)
    found = [(row, each) for row, each in relations if each.common is not None]
    if as_json:
        matches = [
            {"pattern": pattern, "queue": queue, "line": line, **each._asdict()}
            for (line, pattern, queue), each in found
        ]
        print_json({"subject": text, "matched": bool(found), "matches": matches})
        return bool(found)
    say(("✓ ", "green") if found else ("✗ ", "red"), printable(text))
    for (line, pattern, queue), (word, common) in found:
        group = (("  queue ", "dim"), printable(queue)) if queue else ()
        note = f"  line {line}  common: {printable(common or '')}"
        say(f"    {word} {printable(pattern)}", *group, (note, "dim"))
    if not found:
        say("    ", ("disjoint from every subscription", "red"))
    return bool(found)


def subscriptions_of(source: Path) -> Iterator[tuple[int, str, str | None, bool]]:
    """Yield line number, pattern and queue group of each subscription, and if a log has it.

    Empty lines and lines that begin with ``# `` are skipped. In a trace log, every SUB of a client
    counts, also if the subscription ended later.

    Raises:
        click.UsageError: A line has more than a pattern and a queue group.
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
                continue  # another line of the trace log
            if len(words) > 2:
                raise click.UsageError(
                    f"{source}, line {number}: expected a pattern and at most one queue group"
                )
            yield number, words[0], words[1] if len(words) == 2 else None, record is not None


def _answer(text: str, found: Any) -> dict[str, Any]:
    return {
        "subject": text,
        "matched": bool(found.matches),
        "matches": [
            {"pattern": str(each.pattern), "queue": each.queue, "line": each.value}
            for each in found.matches
        ],
        "nearest": [
            {"pattern": str(miss.pattern), "differs_at": miss.differs_at} for miss in found.nearest
        ],
    }


def _say(text: str, found: Any) -> None:
    say(("✓ ", "green") if found.matches else ("✗ ", "red"), printable(text))
    for each in found.matches:
        queue = (("  queue ", "dim"), printable(each.queue)) if each.queue else ()
        say(f"    {printable(each.pattern)}", *queue, (f"  line {each.value}", "dim"))
    if not found.matches:
        note = "no matching subscription" if found.nearest else "the file has no subscriptions"
        say("    ", (note, "red"))
        for miss in found.nearest:
            differs = f"  differs at token {miss.differs_at}"
            say("    ", ("nearest ", "dim"), printable(miss.pattern), (differs, "dim"))
