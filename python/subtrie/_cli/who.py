"""``subtrie who``: list the subscriptions that match a subject, or the nearest that do not."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import click

from .. import SubjectTrie
from .._core import engine
from .._core.errors import SubtrieError, WireError
from .._core.subject import Dialect
from .dialect import by_dialect
from .format_option import by_format
from .listed_subscriptions import Listed, subscriptions_of
from .pattern_relation import relation
from .reported_answers import reported
from .stream import (
    error_fields,
    in_words_of_the_command,
    inputs,
    print_json,
    printable,
    say,
    say_rejected,
)


@click.command()
@click.argument("subjects", nargs=-1)
@click.option(
    "-s",
    "--subscriptions",
    "source",
    type=click.Path(exists=True, path_type=Path),
    required=True,
    help="Patterns, one per line, each with an optional queue group; or a trace log of "
    "nats-server, a capture of subtrie tap, a saved /connz, /subsz or /routez.",
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
    rows: list[Listed] = []
    try:
        for each in subscriptions_of(source):
            try:
                trie.add(each.pattern, each, queue=each.queue)
            except SubtrieError as error:
                if each.accepted:
                    continue  # the broker accepted it; it matches no subject of this dialect
                place = printable(f"{source}, {each.place}")
                raise click.UsageError(f"{place}: {in_words_of_the_command(str(error))}") from None
            rows.append(each)
    except WireError as error:
        raise click.UsageError(printable(f"{source}: {error}")) from None
    except OSError as error:
        raise click.UsageError(printable(str(error))) from None
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
            _say(text, found, any_listed=bool(rows))
    raise SystemExit(2 if not all_valid else 0 if all_matched else 1)


def _overlapping(text: str, dialect: Dialect, rows: list[Listed], as_json: bool) -> bool:
    """Print the subscriptions that share a subject with a pattern; return True if there is one."""
    engine.check_pattern(text, dialect)
    relations = ((row, relation(text, row.pattern)) for row in rows)
    found = [(row, each) for row, each in relations if each.common is not None]
    if as_json:
        matches = [{**row.as_dict(), **each._asdict()} for row, each in found]
        print_json({"subject": text, "matched": bool(found), "matches": matches})
        return bool(found)
    say(("✓ ", "green") if found else ("✗ ", "red"), printable(text))
    for row, (word, common) in found:
        group = (("  queue ", "dim"), printable(row.queue)) if row.queue else ()
        note = f"  {row.place}  common: {printable(common or '')}"
        say(f"    {word} {printable(row.pattern)}", *group, (note, "dim"))
    if not found:
        say("    ", ("disjoint from every subscription", "red"))
    return bool(found)


def _answer(text: str, found: Any) -> dict[str, Any]:
    return {
        "subject": text,
        "matched": bool(found.matches),
        "matches": [each.value.as_dict() for each in found.matches],
        "nearest": [
            {"pattern": str(miss.pattern), "differs_at": miss.differs_at}
            for miss in found.nearest
            if _is_near(miss, text)
        ],
    }


def _say(text: str, found: Any, *, any_listed: bool) -> None:
    say(("✓ ", "green") if found.matches else ("✗ ", "red"), printable(text))
    for each in found.matches:
        queue = (("  queue ", "dim"), printable(each.queue)) if each.queue else ()
        say(f"    {printable(each.pattern)}", *queue, (f"  {each.value.place}", "dim"))
    if not found.matches:
        note = "no matching subscription" if any_listed else "the file has no subscriptions"
        say("    ", (note, "red"))
        for miss in found.nearest:
            if not _is_near(miss, text):
                continue
            differs = f"  differs at token {miss.differs_at}"
            say("    ", ("nearest ", "dim"), printable(miss.pattern), (differs, "dim"))


def _is_near(miss: Any, subject: str) -> bool:
    """Return whether a pattern that does not match has a token in common with a subject."""
    pairs = zip(str(miss.pattern).split("."), subject.split("."), strict=False)
    return bool(miss.differs_at) or any(one == other for one, other in pairs)
