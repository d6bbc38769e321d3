"""The content of a report, which every view shows. Times are ISO 8601 text in UTC."""

from __future__ import annotations

from dataclasses import asdict, dataclass, field
from typing import Any

from .._findings.finding import Finding

#: The version of the content; it changes when a field is renamed, removed or means something else.
REPORT_VERSION = 2


@dataclass(frozen=True)
class Edge:
    """The requests of one service to another, or the messages of a publisher to a subscriber."""

    source: str
    destination: str
    planes: tuple[str, ...]
    trusts: tuple[str, ...]
    published: int
    refused: int
    delivered: int
    undelivered: int
    bytes: int
    first: str | None
    last: str | None
    routes: int
    samples: tuple[str, ...] = ()


@dataclass(frozen=True)
class Column:
    """A column of a section. ``kind`` says how its values are written and sorted."""

    name: str
    kind: str


@dataclass(frozen=True)
class Section:
    """A table: its largest rows, and how many there are."""

    table: str
    title: str
    lead: str
    columns: tuple[Column, ...]
    rows: list[list[Any]]
    total: int


@dataclass(frozen=True)
class RuleDiff:
    """The lines of a diff from the rules of one service to the proposed ones."""

    service: str
    added: int
    removed: int
    lines: tuple[str, ...]


@dataclass(frozen=True)
class Report:
    """The content of a report.

    Attributes:
        title: What was audited.
        verdict: What is wrong, in one line.
        run: The identity of the run: its digest, version, options and planes.
        counts: What was read.
        graph: ``calls`` (between services), ``flows`` (publisher to subscriber) or ``none``.
    """

    title: str
    verdict: str
    run: dict[str, Any]
    counts: dict[str, Any]
    graph: str
    findings: list[Finding]
    findings_left_out: int
    edges: list[Edge]
    edges_total: int
    diffs: list[RuleDiff]
    sections: list[Section]
    empty: list[str] = field(default_factory=list)

    def as_dict(self) -> dict[str, Any]:
        """Return the content as values that JSON has."""
        findings = [each.as_dict() for each in self.findings]
        return {"schema": REPORT_VERSION, **asdict(self), "findings": findings}
