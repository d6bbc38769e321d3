"""SARIF 2.1.0 reports of findings, added grants and unresolved calls, with stable fingerprints."""

from __future__ import annotations

import hashlib
import re
from collections.abc import Iterable
from pathlib import Path
from typing import Any
from urllib.parse import quote

from .. import _engine
from ..acl import Finding, Grant, Permissions
from ..gencreds import Service

_SCHEMA = "https://json.schemastore.org/sarif-2.1.0.json"

_RULES = {
    "plane-wildcard": "A rule spans every plane.",
    "danger": "A rule reaches the trust root, port 666.",
    "shadowed": "An allow rule is denied completely.",
    "redundant": "A rule changes nothing.",
    "dead": "A rule matches or denies nothing.",
    "inbox": "A rule receives replies to other clients.",
    "allow-responses": "Replies may be sent whatever the lists say.",
    "size": "The rules exceed the broker's control line.",
    "expired": "The token has expired.",
    "not-yet-valid": "The token is not valid yet.",
    "new-access": "A change grants something new.",
    "dynamic": "A call, endpoint or event in the source cannot be determined statically.",
    "note": "Something in the source needs attention.",
}


def sarif_of_findings(findings: Iterable[Finding]) -> dict[str, Any]:
    """Return the report of a lint."""
    results = []
    for each in findings:
        # The message names user, verb and rule; numbers are left out of the fingerprint.
        key = (each.rule, re.sub(r"\d[\d,]* bytes", "bytes", each.message))
        message = f"{each.message}, for example {each.witness}" if each.witness else each.message
        results.append(_result(each.rule, each.level, message, each.file or "", each.line, key))
    return _log(results)


def sarif_of_grants(grants: Iterable[tuple[str, Grant, Permissions]], file: Path) -> dict[str, Any]:
    """Return the report of a difference: one result for each added grant.

    Args:
        grants: the user, the grant, and the permissions after the change.
        file: the file to name if the place of the entry is not known.
    """
    return _log(_of_grants(grants, file))


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
            rule, "error" if rule == "dynamic" else "note", message, name, line, (rule, message)
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
        name, line = _place(each, entry, after) or (str(file), None)
        level = "error" if each.danger else "warning"
        whose = f" of {user}" if user else ""
        message = f"New access{whose}: {each}, for example {each.witness}"
        key = ("new-access", user, each.verb, entry)
        results.append(_result("new-access", level, message, name, line, key))
    return results


def _place(grant: Grant, entry: str, after: Permissions) -> tuple[str, int] | None:
    """The place of the allow entry that grants it: the entry itself, or one that covers it."""
    side = f"{grant.verb}_allow"
    for allowed in [entry, *(getattr(after, side, None) or ())]:
        if (place := after.sources.get((side, allowed))) is not None and (
            _engine.rules_witness([entry], [], [allowed], []) is None
        ):
            return place
    return None


def _result(
    rule: str, level: str, message: str, file: str, line: int | None, key: tuple[str, ...]
) -> dict[str, Any]:
    uri = _uri(file)
    # The line is not part of the fingerprint: a finding that moves is the same finding.
    digest = hashlib.sha256("\n".join((uri, *key)).encode("utf-8", "replace"))
    return {
        "ruleId": rule,
        "level": level,
        "message": {"text": message},
        "locations": [
            {
                "physicalLocation": {
                    "artifactLocation": {"uri": uri},
                    "region": {"startLine": line or 1},
                }
            }
        ],
        "partialFingerprints": {"subtrieRule/v1": digest.hexdigest()},
    }


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
