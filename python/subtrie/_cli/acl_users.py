"""All users at once: a table of what each may do, and who may do one thing."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import click
from rich.text import Text

from .._core import engine
from .._core.duration import readable_duration
from .._core.errors import SubtrieError
from ..acl import Permissions
from ..acl._entitlement import entitlement
from ..acl._microbus import about_microbus
from .anonymous import anonymity
from .permission_files import SOURCE, UserSelection, bad_file, by_model, of_user
from .report_forms import JSON, TEXT, by_format, print_report
from .sarif import Row
from .stream import console, print_json, printable

_HEADINGS = (
    "user", "account", "publish", "subscribe", "everything", "inbox", "responses", "findings",
)  # fmt: skip

#: The rule and the level of a row of ``who``, by whether the user may.
_KINDS = {True: ("may", "note"), None: ("not-determined", "error")}


def show_users(users: dict[str, Permissions], file: str, plane: str | None, form: str) -> None:
    """Print one row for each user: how many entries, and what stands out.

    Args:
        users: the permissions by user.
        file: the file they are from.
        plane: the plane of a Microbus deployment; None if the entries tell.
        form: the format.
    """
    microbus = plane is not None or about_microbus(users.values())
    rows = [_row(name, permissions, microbus) for name, permissions in users.items()]
    if form == JSON:  # without the cells of the table
        for row in rows:
            print_json(row)
        return
    texts = [list(_HEADINGS), *([_cell(row[key]) for key in _HEADINGS] for row in rows)]
    if form != TEXT:
        pairs = zip(users.values(), texts[1:], strict=True)
        notes = [_note(permissions, cells, file) for permissions, cells in pairs]
        print_report(form, "subtrie acl show", notes, (), (texts[0], texts[1:]))
        return
    widths = [max(map(len, column)) for column in zip(*texts, strict=True)]
    screen = console()
    for number, cells in enumerate(texts):
        padded = (cell.ljust(width) for cell, width in zip(cells, widths, strict=True))
        screen.print(Text("  ".join(padded).rstrip(), "bold" if number == 0 else ""))
    for name, permissions in users.items():
        if (reason := anonymity(permissions)) is not None:
            screen.print(Text(printable(f"{name}: {reason}")))


def _note(permissions: Permissions, cells: list[str], file: str) -> Row:
    name, account, *others = cells
    parts = [
        f"{heading} {text}"
        for heading, text in zip(_HEADINGS[2:], others, strict=True)
        if text != "-"
    ]
    label = name if account == "-" else f"{account}/{name}"
    place = permissions.place
    at = (file,) if place is None else (place.file, place.line, place.column)
    return Row("user", "note", f"{label}: {'; '.join(parts)}", *at)


def _row(label: str, permissions: Permissions, microbus: bool) -> dict[str, Any]:
    account, _, name = label.rpartition("/")
    row: dict[str, Any] = {"user": name, "account": account or None}
    if not permissions.determined:
        return row | dict.fromkeys(_HEADINGS[2:], "not determined")
    if permissions.anonymous:
        row["anonymous"] = permissions.anonymous
    for verb in ("publish", "subscribe"):
        allow, deny = getattr(permissions, f"{verb}_allow"), getattr(permissions, f"{verb}_deny")
        row[verb] = {"allow": None if allow is None else len(allow), "deny": len(deny)}
    everything = [
        verb
        for verb in ("publish", "subscribe")
        if not permissions.lists(verb)[1] and ">" in permissions.lists(verb)[0]
    ]
    found = permissions.lint(microbus=microbus)
    inboxes = [each for each in found if each.rule == "inbox"]
    limit = permissions.allow_responses
    return row | {
        "everything": everything,
        "inbox": str(inboxes[0].witness) if inboxes else None,
        "responses": limit and {"max": limit.max, "expires": limit.expires},
        "findings": sum(each.level != "note" for each in found),
    }


def _cell(value: Any) -> str:
    if isinstance(value, dict) and "deny" in value:
        allowed = "all" if value["allow"] is None else str(value["allow"])
        return allowed + (f" - {value['deny']}" if value["deny"] else "")
    if isinstance(value, dict):
        often = "any" if value["max"] < 0 else str(value["max"])
        return f"{often} in {readable_duration(value['expires'])}"
    if isinstance(value, list):
        return ", ".join(value) or "-"
    return "-" if value in (None, 0) else printable(str(value))


@click.command()
@click.argument("subject")
@click.argument("files", type=SOURCE, nargs=-1, required=True)
@of_user
@click.option(
    "--verb", type=click.Choice(["publish", "subscribe", "receive"]), default="publish",
    show_default=True,
)  # fmt: skip
@by_model
@by_format
def who(
    subject: str,
    files: tuple[Path, ...],
    selection: UserSelection,
    verb: str,
    model: str | None,
    form: str,
) -> None:
    r"""List the users of FILES that may publish SUBJECT, subscribe to it, or receive it.

    Each with the rule that decides. SUBJECT may be a pattern: then who may do so with any subject
    of it (subscribe: with the whole pattern), and an example. Exports, imports and mappings of
    accounts are in 'subtrie acl flows'. A user about whom it is not known, because the permissions
    are decided elsewhere or the models differ, has a question mark. Exit code 1 if no user may, 2
    if that is not known of one.

    \b
    Examples:
      subtrie acl who orders.eu.new nats.conf
      subtrie acl who 'orders.>' nats.conf --verb subscribe
    """
    try:
        engine.check_pattern(subject, "server")
        found = [
            {"file": str(file), **row}
            for file in files
            for row in _who(file, selection, subject, verb, model)
        ]
    except SubtrieError as error:
        raise bad_file(error) from None
    if form == TEXT:
        _print_who(found, subject, verb)
    else:
        rows = [
            Row(*_KINDS[each["allowed"]], _sentence(each, subject, verb), each["file"])
            for each in found
        ]
        table = ((e["user"] or e["file"], e["rule"], e["witness"] or "") for e in found)
        headings = ("user", "rule", "example")
        print_report(form, "subtrie acl who", rows, found, (headings, table))
    if any(each["allowed"] is None for each in found):
        raise SystemExit(2)
    raise SystemExit(0 if found else 1)


def _sentence(row: dict[str, Any], subject: str, verb: str) -> str:
    name = row["user"] or "the user"
    if row["allowed"] is None:
        return f"{name}: {row['rule']}"
    example = f", for example {row['witness']}" if row["witness"] else ""
    return f"{name} may {verb} {subject} by {row['rule']}{example}"


def _print_who(found: list[dict[str, Any]], subject: str, verb: str) -> None:
    screen = console()
    for row in found:
        mark = ("✓ ", "green") if row["allowed"] else ("? ", "yellow")
        name = printable(row["user"] or row["file"])
        example = f"  example: {row['witness']}" if row["witness"] else ""
        rule = f"  {printable(row['rule'])}"
        screen.print(Text.assemble(mark, name, rule, (printable(example), "dim")))
    if not found:
        screen.print(f"no user may {verb} {printable(subject)}")


def _who(
    file: Path, selection: UserSelection, subject: str, verb: str, model: str | None
) -> Iterator[dict[str, Any]]:
    users = {"": selection.load(file)} if selection.names_a_user else selection.load_each(file)
    for name, permissions in users.items():
        found = entitlement(permissions, subject, verb, model)
        if found is None:
            continue
        reason = anonymity(permissions)
        rule = found.rule if reason is None else f"{found.rule} ({reason})"
        allowed = True if found.determined else None
        row = {"user": name, "verb": verb, "allowed": allowed, "witness": found.witness}
        yield {**row, "rule": rule}
