"""SARIF 2.1.0 reports of findings, added grants and unresolved calls, with stable fingerprints."""

from __future__ import annotations

import hashlib
import re
from collections.abc import Iterable
from pathlib import Path
from typing import Any, NamedTuple
from urllib.parse import quote

from .._core import engine
from ..acl import LINT_RULES, Finding, Grant, Permissions
from ..acl._place import Place
from ..gencreds import Service
from .stream import printable

_SCHEMA = "https://json.schemastore.org/sarif-2.1.0.json"

_RULES = {
    **{code: rule.summary for code, rule in LINT_RULES.items()},
    "new-access": "A change grants something new.",
    "not-compared": "A part that may change who may do what was not compared.",
    "unexpected": "A decision is not as expected.",
    "public-export": "Any account may import an export.",
    "unused-export": "No account imports an export.",
    "unused-import": "No user can use an import.",
    "ignored": "The broker ignores something in the input.",
    "not-verified": "A signature was not verified; install the extra creds.",
    "not-seen": "The input does not hold an account.",
    "user": "What a user may do.",
    "entry": "An entry of a user's lists.",
    "smallest": "An entry differs in the smallest form.",
    "may": "A user may do what was asked.",
    "refused": "A subject is refused.",
    "unused-rule": "No traffic used an allow entry.",
    "unused-user": "A user does not occur in the traffic.",
    "tried": "The broker refused what a user tried.",
    "not-covered": "The broker accepted what no entry allows.",
    "narrower": "Narrower entries allow the traffic.",
    "undetermined": "The traffic does not tell whether an entry is used.",
    "dynamic": "A call, endpoint or event in the source cannot be determined statically.",
    "note": "Something in the source needs attention.",
}


class Row(NamedTuple):
    """One thing to report.

    Attributes:
        rule: the code of the rule that reports it.
        level: ``error``, ``warning`` or ``note``.
        message: one sentence.
        file: the file.
        line: its line; None if it is not known.
        column: its column; None if it is not known.
    """

    rule: str
    level: str
    message: str
    file: str
    line: int | None = None
    column: int | None = None

    @property
    def place(self) -> str:
        """File, line and column as editors take them."""
        numbers = (self.line, self.column) if self.line else ()
        return ":".join([self.file, *(str(number) for number in numbers if number)])


def sarif_of_findings(findings: Iterable[Finding]) -> dict[str, Any]:
    """Return the report of a lint."""
    results = []
    for each in findings:
        message = f"{each.message}, for example {each.witness}" if each.witness else each.message
        place = (each.file or "", each.line, each.column)
        results.append(_result(each.rule, each.level, message, place, _key(each)))
    return _log(results)


def _key(finding: Finding) -> tuple[str, ...]:
    """The parts of a fingerprint: user, verb and rule, without numbers that change."""
    return finding.rule, re.sub(r"\d[\d,]* bytes", "bytes", finding.message)


def fingerprint(finding: Finding) -> str:
    """Return the fingerprint of a finding, which does not depend on its line."""
    return _digest(_uri(finding.file or ""), _key(finding))


def sarif_of_rows(rows: Iterable[Row]) -> dict[str, Any]:
    """Return the report of any rows."""
    return _log(_of_rows(rows))


def _of_rows(rows: Iterable[Row]) -> list[dict[str, Any]]:
    return [
        _result(
            each.rule, each.level, each.message, (each.file, each.line, each.column),
            (each.rule, each.message),
        )
        for each in rows
    ]  # fmt: skip


def sarif_of_grants(
    grants: Iterable[tuple[str, Grant, Permissions]], file: Path, rows: Iterable[Row]
) -> dict[str, Any]:
    """Return the report of a difference: one result for each added grant.

    Args:
        grants: the user, the grant, and the permissions after the change.
        file: the file to name if the place of the entry is not known.
        rows: what else is reported.
    """
    return _log([*_of_grants(grants, file), *_of_rows(rows)])


def sarif_of_source(
    services: Iterable[Service], grants: Iterable[tuple[str, Grant, Permissions]], file: Path
) -> dict[str, Any]:
    """Return the report of a scan: unresolved calls, notes, and added grants.

    Args:
        services: the services that were scanned.
        grants: the host, the grant, and the permissions that are needed now.
        file: the file to name if the place of the entry is not known.
    """
    places: dict[tuple[str, str, str, int], None] = {}
    for service in services:
        for dynamic in service.dynamic:
            places["dynamic", dynamic.message, dynamic.file, dynamic.line] = None
        for note in service.notes:
            places["note", note.message, note.file, note.line] = None
    results = [
        _result(
            rule,
            "error" if rule == "dynamic" else "note",
            message,
            (name, line, None),
            (rule, message),
        )
        for rule, message, name, line in places
    ]
    return _log([*results, *_of_grants(grants, file)])


def _of_grants(
    grants: Iterable[tuple[str, Grant, Permissions]], file: Path
) -> list[dict[str, Any]]:
    results = []
    for user, each, after in grants:
        entry = f"{each.pattern} {each.queue}" if each.queue else each.pattern
        place = _place(each, entry, after) or (str(file), None, None)
        level = "error" if each.danger else "warning"
        whose = f" of {user}" if user else ""
        message = f"New access{whose}: {each}, for example {each.witness}"
        key = ("new-access", user, each.verb, entry)
        results.append(_result("new-access", level, message, place, key))
    return results


def _place(grant: Grant, entry: str, after: Permissions) -> Place | None:
    """The place of the allow entry that grants it: the entry itself, or one that covers it."""
    side = f"{grant.verb}_allow"
    for allowed in [entry, *(getattr(after, side, None) or ())]:
        if (place := after.sources.get((side, allowed))) is not None and (
            engine.rules_witness([entry], [], [allowed], []) is None
        ):
            return place
    return None


def _result(
    rule: str,
    level: str,
    message: str,
    place: tuple[str, int | None, int | None],
    key: tuple[str, ...],
) -> dict[str, Any]:
    file, line, column = place
    uri = _uri(file)
    region = {"startLine": line or 1} | ({"startColumn": column} if column else {})
    return {
        "ruleId": rule,
        "level": level,
        # Brackets would be read as links.
        "message": {"text": re.sub(r"([\[\]\\])", r"\\\1", printable(message))},
        "locations": [{"physicalLocation": {"artifactLocation": {"uri": uri}, "region": region}}],
        "partialFingerprints": {"subtrieRule/v1": _digest(uri, key)},
    }


def _digest(uri: str, key: tuple[str, ...]) -> str:
    """The line is not part of the fingerprint: a finding that moves is the same finding."""
    return hashlib.sha256("\n".join((uri, *key)).encode("utf-8", "replace")).hexdigest()


def _uri(file: str) -> str:
    """A path relative to the working directory, as code hosts expect; else absolute."""
    path, here = Path(file).absolute(), Path.cwd()
    if path.is_relative_to(here):
        return quote(path.relative_to(here).as_posix())
    return path.as_uri()


def _log(results: list[dict[str, Any]]) -> dict[str, Any]:
    used = sorted({result["ruleId"] for result in results})
    driver = {
        "name": "subtrie",
        "rules": [{"id": rule, "shortDescription": {"text": _RULES[rule]}} for rule in used],
    }
    return {
        "$schema": _SCHEMA,
        "version": "2.1.0",
        "runs": [{"tool": {"driver": driver}, "results": results}],
    }
