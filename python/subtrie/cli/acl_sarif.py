"""SARIF 2.1.0 for code hosts: findings and added grants, with stable fingerprints."""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

from ..acl import Finding, Grant

_SCHEMA = "https://json.schemastore.org/sarif-2.1.0.json"

_RULES = {
    "plane-wildcard": "A rule spans every plane.",
    "danger": "A rule reaches the trust root, port 666.",
    "shadowed": "An allow rule is denied as a whole.",
    "redundant": "A rule changes nothing.",
    "dead": "A rule matches or denies nothing.",
    "inbox": "A rule hears the replies to everyone.",
    "allow-responses": "Replies may be sent whatever the lists say.",
    "size": "The rules exceed the broker's control line.",
    "new-access": "A change grants something new.",
}


def sarif_of_findings(findings: Iterable[Finding]) -> dict[str, Any]:
    """The report of a lint."""
    results = []
    for each in findings:
        key = (each.rule, each.entry or "")
        results.append(
            _result(each.rule, each.level, each.message, each.file or "", each.line, key)
        )
    return _log(results)


def sarif_of_grants(
    grants: Iterable[Grant], file: Path, sources: Mapping[tuple[str, str], tuple[str, int]]
) -> dict[str, Any]:
    """The report of a difference: one result for each grant that is new."""
    results = []
    for each in grants:
        entry = f"{each.pattern} {each.queue}" if each.queue else each.pattern
        name, line = sources.get((f"{each.verb}_allow", entry), (str(file), None))
        level = "error" if each.danger else "warning"
        message = f"New access: {each}, such as {each.witness}"
        key = ("new-access", each.verb, entry)
        results.append(_result("new-access", level, message, name, line, key))
    return _log(results)


def _result(
    rule: str, level: str, message: str, file: str, line: int | None, key: tuple[str, ...]
) -> dict[str, Any]:
    # Whatever stands on another line tomorrow is still the same finding.
    digest = hashlib.sha256("\n".join((Path(file).name, *key)).encode("utf-8", "replace"))
    return {
        "ruleId": rule,
        "level": level,
        "message": {"text": message},
        "locations": [
            {
                "physicalLocation": {
                    "artifactLocation": {"uri": Path(file).as_posix()},
                    "region": {"startLine": line or 1},
                }
            }
        ],
        "partialFingerprints": {"subtrieRule/v1": digest.hexdigest()},
    }


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
