"""All users at once: a table of what each may do."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from .._core.duration import readable_duration
from .._findings.finding import Finding, counted
from .._nats.jwt import utc_text
from ..acl import Permissions
from .anonymous import anonymity
from .format_option import JSON, TEXT
from .output_formats import print_findings
from .stream import print_json, printable, say

_HEADINGS = (
    "user", "account", "publish", "subscribe", "everything", "inbox", "responses", "types",
    "expires", "findings",
)  # fmt: skip
#: The columns of text that are left out if no row says anything in them.
_ONLY_IF_TOLD = frozenset(("types", "expires"))
_UNKNOWN = "not determined"
#: Characters of a public key of an NKey, and those that the table shows at each end of it.
_KEY, _ENDS = 56, 6


def show_users(
    users: dict[str, Permissions], file: str, findings: Iterable[Finding], form: str
) -> None:
    """Print one row for each user: how many entries, and what stands out.

    Args:
        users: the permissions by user.
        file: the file they are from.
        findings: what ``subtrie acl lint`` reports about them, and about the broker.
        form: the format.
    """
    found: dict[str, list[Finding]] = {}
    for each in findings:
        found.setdefault(each.user, []).append(each)
    rows = [_row(name, each, found.get(name, [])) for name, each in users.items()]
    if form == JSON:  # without the cells of the table
        for row in rows:
            print_json(row)
        return
    for row, name in zip(rows, users, strict=True):
        if row["findings"] != _UNKNOWN:
            row["findings"] = counted(found.get(name, []))
    texts = [list(_HEADINGS), *([_cell(row[key]) for key in _HEADINGS] for row in rows)]
    if form != TEXT:
        pairs = zip(users.values(), texts[1:], strict=True)
        notes = [_note(permissions, cells, file) for permissions, cells in pairs]
        print_findings(form, "subtrie acl show", notes, table=(texts[0], texts[1:]))
        return
    columns = [
        [_short(cell) for cell in column]
        for column in zip(*texts, strict=True)
        if column[0] not in _ONLY_IF_TOLD or {*column[1:]} != {"-"}
    ]
    texts = [list(cells) for cells in zip(*columns, strict=True)]
    widths = [max(map(len, column)) for column in columns]
    for number, cells in enumerate(texts):
        padded = (cell.ljust(width) for cell, width in zip(cells, widths, strict=True))
        say(("  ".join(padded).rstrip(), "bold" if number == 0 else ""))
    for name, permissions in users.items():
        if (reason := anonymity(permissions)) is not None:
            say(printable(f"{name}: {reason}"))
    if others := [each for name, rest in found.items() if name not in users for each in rest]:
        say(f"findings about the broker itself: {counted(others)}")


def _note(permissions: Permissions, cells: list[str], file: str) -> Finding:
    name, account, *others = cells
    parts = [
        f"{heading} {text}"
        for heading, text in zip(_HEADINGS[2:], others, strict=True)
        if text != "-"
    ]
    label = name if account == "-" else f"{account}/{name}"
    message = f"{label}: {'; '.join(parts)}"
    return Finding.at(permissions.place or file, "user", "note", message)


def _row(label: str, permissions: Permissions, found: list[Finding]) -> dict[str, Any]:
    account, _, name = label.rpartition("/")
    row: dict[str, Any] = {"user": name, "account": account or None}
    until = permissions.expires
    login = {
        "types": list(permissions.connection_types),
        "expires": None if until is None else utc_text(until),
    }
    if not permissions.determined:
        return row | dict.fromkeys(_HEADINGS[2:], _UNKNOWN) | login
    if permissions.anonymous:
        row["anonymous"] = permissions.anonymous
    for verb in ("publish", "subscribe"):
        allow, deny = getattr(permissions, f"{verb}_allow"), getattr(permissions, f"{verb}_deny")
        nothing = ">" in deny  # then no entry allows anything
        row[verb] = {
            "allow": 0 if nothing else None if allow is None else len(allow),
            "deny": len(deny),
        }
    everything = [
        verb
        for verb in ("publish", "subscribe")
        if not permissions.lists(verb)[1] and ">" in permissions.lists(verb)[0]
    ]
    inboxes = [each for each in found if each.rule == "inbox"]  # also if a comment accepts it
    limit = permissions.allow_responses
    return row | {
        "everything": everything,
        "inbox": str(inboxes[0].witness) if inboxes else None,
        "responses": limit and {"max": limit.max, "expires": limit.expires},
        **login,
        "findings": len(found),
    }


def _short(cell: str) -> str:
    """Return the ends of a public key, which is wider than all other columns together."""
    is_key = len(cell) == _KEY and cell.isalnum() and cell.isupper()
    return f"{cell[:_ENDS]}…{cell[-_ENDS:]}" if is_key else cell


def _cell(value: Any) -> str:
    if isinstance(value, dict) and "deny" in value:
        allowed = "all" if value["allow"] is None else str(value["allow"])
        return allowed + (f" - {value['deny']}" if value["deny"] and value["allow"] != 0 else "")
    if isinstance(value, dict):
        often = "any" if value["max"] < 0 else str(value["max"])
        return f"{often} in {readable_duration(value['expires'])}"
    if isinstance(value, list):
        return ", ".join(value) or "-"
    return "-" if value in (None, "") else printable(str(value))
