"""Findings as a SARIF 2.1.0 report, with fingerprints that stay while a finding moves."""

from __future__ import annotations

import hashlib
import json
import re
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any
from urllib.parse import quote

from .._core.printable import printable
from .finding import Finding

_SCHEMA = "https://json.schemastore.org/sarif-2.1.0.json"


def sarif(findings: Iterable[Finding], rules: Mapping[str, str]) -> str:
    """Return the report as JSON.

    Args:
        findings: what was found.
        rules: what each rule finds, in one sentence.
    """
    results = [_result(each) for each in findings]
    used = sorted({result["ruleId"] for result in results})
    driver = {
        "name": "subtrie",
        "rules": [{"id": rule, "shortDescription": {"text": rules[rule]}} for rule in used],
    }
    run = {"tool": {"driver": driver}, "results": results}
    return json.dumps({"$schema": _SCHEMA, "version": "2.1.0", "runs": [run]}, indent=2)


def fingerprint(finding: Finding) -> str:
    """Return the digest of the file and the identity of a finding; its line is not part of it."""
    text = "\n".join((_uri(finding.file or ""), *finding.identity))
    return hashlib.sha256(text.encode("utf-8", "replace")).hexdigest()


def _result(finding: Finding) -> dict[str, Any]:
    column = finding.column
    region = {"startLine": finding.line or 1} | ({"startColumn": column} if column else {})
    location = {"artifactLocation": {"uri": _uri(finding.file or "")}, "region": region}
    return {
        "ruleId": finding.rule,
        "level": finding.level,
        # Brackets would be read as links.
        "message": {"text": re.sub(r"([\[\]\\])", r"\\\1", printable(finding.sentence))},
        "locations": [{"physicalLocation": location}],
        "partialFingerprints": {"subtrieRule/v1": fingerprint(finding)},
    }


def _uri(file: str) -> str:
    """A path relative to the working directory, as code hosts expect; else absolute."""
    path, here = Path(file).absolute(), Path.cwd()
    if path.is_relative_to(here):
        return quote(path.relative_to(here).as_posix())
    return path.as_uri()
