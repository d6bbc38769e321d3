"""``subtrie check``: validate subjects, classify them, warn of characters, compare patterns."""

from __future__ import annotations

import click

from .. import check_name
from .._core import engine
from .._core.errors import SubtrieError, shown
from .._core.subject import Dialect
from ..names import KINDS, LEVELS
from .dialect import by_dialect
from .format_option import by_format
from .pattern_relation import relation
from .reported_answers import reported
from .stream import (
    error_fields,
    inputs,
    print_json,
    printable,
    say,
    say_accepted,
    say_rejected,
)
from .subject_check import subjects_are_valid


@click.command()
@click.argument("subjects", nargs=-1)
@click.option("--pattern", is_flag=True, help="Check patterns, which may contain wildcards.")
@click.option(
    "--against",
    metavar="PATTERN",
    multiple=True,
    help="Compare each pattern with this one: covers, overlaps, disjoint; and a common subject.",
)
@by_dialect
@click.option(
    "--kind",
    type=click.Choice(list(KINDS)),
    metavar="KIND",
    help="Check names of this kind by the rules of ADR-6: stream, durable, consumer, account, "
    "queue, kv-key, kv-bucket, os-bucket, os-object, subject, pattern, reply-to, …",
)
@click.option(
    "--level", type=click.Choice(LEVELS), help="With --kind: the rules to check.  [default: adr6]"
)
@click.option("--windows", is_flag=True, help="With --kind: what a file name on Windows may hold.")
@by_format
def check(
    subjects: tuple[str, ...],
    pattern: bool,
    against: tuple[str, ...],
    dialect: Dialect,
    kind: str | None,
    level: str | None,
    windows: bool,
    form: str,
) -> None:
    r"""Validate and classify each SUBJECT, by default each line of standard input.

    With --kind, SUBJECTS are names, such as that of a stream. With --against, they are patterns to
    compare. Exit code 0 if all are valid, 1 if one is not; with --against, 0 if each pair has a
    common subject, 1 if one has none, 2 if one is not a valid pattern.

    \b
    Examples:
      subtrie check orders.eu.new '$JS.API.INFO'
      subtrie check --kind stream ORDERS.EU
      subtrie check 'orders.*.created' --against 'orders.eu.>'
    """
    with reported(form, "subtrie check", "valid") as as_json:
        _check(subjects, pattern, against, dialect, kind, level, windows, as_json)


def _check(
    subjects: tuple[str, ...],
    pattern: bool,
    against: tuple[str, ...],
    dialect: Dialect,
    kind: str | None,
    level: str | None,
    windows: bool,
    as_json: bool,
) -> None:
    if against:
        if kind is not None:
            raise click.UsageError("--against compares patterns; leave out --kind")
        raise SystemExit(_compare(subjects, against, dialect, as_json))
    if kind is None:
        if level is not None or windows:
            raise click.UsageError("--level and --windows go with --kind")
        raise SystemExit(0 if subjects_are_valid(subjects, pattern, dialect, as_json) else 1)
    if pattern or dialect != "strict":
        raise click.UsageError("--kind has rules of its own; leave out --pattern and --dialect")
    raise SystemExit(
        0 if _names_are_valid(subjects, kind, level or "adr6", windows, as_json) else 1
    )


def _compare(
    patterns: tuple[str, ...], against: tuple[str, ...], dialect: Dialect, as_json: bool
) -> int:
    """Print how each pattern relates to each other one, and return the exit code."""
    all_valid = all_overlap = True
    for text in inputs(patterns):
        for other in against:
            try:
                for each in (text, other):
                    engine.check_pattern(each, dialect)
            except SubtrieError as error:
                all_valid = False
                if as_json:
                    print_json({"pattern": text, "against": other, **error_fields(error)})
                else:
                    say_rejected(f"{text} --against {other}", error)
                continue
            found = relation(text, other)
            all_overlap &= found.common is not None
            if as_json:
                answer = {"pattern": text, "against": other, "relation": found.word}
                print_json({**answer, "common": found.common})
                continue
            mark = ("✓ ", "green") if found.common else ("✗ ", "red")
            example = f"  common: {printable(found.common)}" if found.common else ""
            sentence = f"{printable(text)} {found.word} {printable(other)}"
            say(mark, sentence, (example, "dim"))
    return 2 if not all_valid else 0 if all_overlap else 1


def _names_are_valid(
    names: tuple[str, ...], kind: str, level: str, windows: bool, as_json: bool
) -> bool:
    """Print the answer for each name, and return whether all are valid."""
    all_valid = True
    for text in inputs(names):
        report = check_name(text, kind, level=level, windows=windows)
        all_valid &= bool(report)
        notes = [] if report.portable else ["not portable: Windows reserves it for a device"]
        if report.reserved is not None:
            notes.append(f"reserved for {report.reserved.owner}")
        if as_json:
            print_json(
                {
                    "name": text, "kind": kind, "level": level, "windows": windows,
                    "valid": bool(report), "rule": report.rule, "reason": report.reason,
                    "position": report.position, "legal": report.legal, "warnings": notes,
                }
            )  # fmt: skip
        elif report:
            say_accepted(text, ", ".join([kind, *notes]))
        else:
            place = "" if report.position is None else f" at byte {report.position}"
            why = (f"  {report.reason}{place}", "red")
            say(("✗ ", "red"), shown(text), why, (f": valid: {report.legal}", "dim"))
    return all_valid
