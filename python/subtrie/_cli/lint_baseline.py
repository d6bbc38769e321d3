"""Findings that a reviewer has accepted: comments in a configuration, and baseline files."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

import click

from .._findings.finding import Finding
from .._findings.sarif import fingerprint
from ..acl import LINT_RULES
from ..acl._load.files import read_text
from .stream import printable

_COMMENT = re.compile(r"(?:#|//)[ \t]*subtrie:[ \t]*ignore\[([^\]\n]*)\]")
_ALONE = re.compile(r"[ \t]*(?:#|//)")


class Comments:
    """The comments ``# subtrie: ignore[code]`` of the files of one run, each read once."""

    def __init__(self) -> None:
        self._files: dict[str, dict[int, tuple[bool, frozenset[str]]]] = {}

    def suppress(self, finding: Finding) -> bool:
        """Return True if a comment on its line, or alone above it, names its rule."""
        if finding.file is None or finding.line is None:
            return False
        if finding.file not in self._files:
            self._files[finding.file] = _comments(finding.file)
        lines = self._files[finding.file]
        _, here = lines.get(finding.line, (False, frozenset()))
        alone, above = lines.get(finding.line - 1, (False, frozenset()))
        return finding.rule in here or (alone and finding.rule in above)


def _comments(file: str) -> dict[int, tuple[bool, frozenset[str]]]:
    """By line: whether its comment stands alone, and the rules that it names."""
    found = {}
    for number, line in enumerate(read_text(Path(file)).split("\n"), 1):
        if comment := _COMMENT.search(line):
            codes = frozenset(each.strip() for each in comment[1].split(","))
            if unknown := sorted(codes - set(LINT_RULES)):
                name = printable(unknown[0])
                click.echo(f"{printable(file)}:{number}: no lint rule is called {name}", err=True)
            found[number] = (_ALONE.match(line) is not None, codes)
    return found


def read_baseline(path: Path) -> set[str]:
    """Return the fingerprints in a baseline file; a usage error if it is none."""
    try:
        document: Any = json.loads(path.read_text())
        return set(document["findings"])
    except (OSError, ValueError, KeyError, TypeError, RecursionError):
        name = printable(str(path))
        raise click.UsageError(f"{name}: not a baseline that --write-baseline wrote") from None


def write_baseline(path: Path, findings: list[Finding]) -> None:
    """Write the fingerprints of findings, each with its message for a reader."""
    rows = {fingerprint(each): f"{each.rule}: {each.message}" for each in findings}
    path.write_text(json.dumps({"subtrie": 1, "findings": dict(sorted(rows.items()))}, indent=2))
