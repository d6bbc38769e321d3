"""``subtrie check``: validate subjects, classify them, and warn of risky characters."""

from __future__ import annotations

import click

from .. import check_name
from .._core.errors import shown
from .._core.subject import Dialect
from ..names import KINDS, LEVELS
from .dialect import by_dialect
from .stream import inputs, print_json, say, say_accepted
from .subject_check import subjects_are_valid


@click.command()
@click.argument("subjects", nargs=-1)
@click.option("--pattern", is_flag=True, help="Check patterns, which may contain wildcards.")
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
@click.option("--json", "as_json", is_flag=True, help="Print one JSON object per line.")
def check(
    subjects: tuple[str, ...],
    pattern: bool,
    dialect: Dialect,
    kind: str | None,
    level: str | None,
    windows: bool,
    as_json: bool,
) -> None:
    r"""Validate and classify each SUBJECT, by default each line of standard input.

    With --kind, SUBJECTS are names, such as that of a stream. Exit code 0 if all are valid, 1 if
    one is not.

    \b
    Examples:
      subtrie check orders.eu.new '$JS.API.INFO'
      subtrie check --kind stream ORDERS.EU
    """
    if kind is None:
        if level is not None or windows:
            raise click.UsageError("--level and --windows go with --kind")
        raise SystemExit(0 if subjects_are_valid(subjects, pattern, dialect, as_json) else 1)
    if pattern or dialect != "strict":
        raise click.UsageError("--kind has rules of its own; leave out --pattern and --dialect")
    raise SystemExit(
        0 if _names_are_valid(subjects, kind, level or "adr6", windows, as_json) else 1
    )


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
