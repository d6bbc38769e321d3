"""What a run over vector files found: per kind, and the kinds nobody answered."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

#: Failures of one kind that a report keeps in full; the rest is counted.
SHOWN = 5


@dataclass(frozen=True, slots=True)
class Failure:
    """One row that was answered wrongly: where it stands, what was wanted, what came."""

    file: str
    line: int
    id: str
    wanted: str
    got: str

    def __str__(self) -> str:
        return f"{self.file}:{self.line} {self.id}: wanted {self.wanted}, got {self.got}"


@dataclass(slots=True)
class KindReport:
    """The rows of one kind."""

    rows: int = 0
    passed: int = 0
    failed: int = 0
    failures: list[Failure] = field(default_factory=list)

    def count(self, failure: Failure | None) -> None:
        """Counts one answered row, and keeps the first few failures."""
        self.rows += 1
        if failure is None:
            self.passed += 1
            return
        self.failed += 1
        if len(self.failures) < SHOWN:
            self.failures.append(failure)


@dataclass(slots=True)
class Report:
    """The outcome of ``run``: ``.kinds`` by name, ``.unknown`` and ``.unreadable`` rows.

    Truthy when every row was known, readable and answered as it should be.
    """

    engine: str
    files: int = 0
    kinds: dict[str, KindReport] = field(default_factory=dict)
    #: Kinds this package cannot put to an engine, each with its number of rows.
    unknown: dict[str, int] = field(default_factory=dict)
    #: Lines that are no row: ``file:line: why``.
    unreadable: list[str] = field(default_factory=list)

    @property
    def rows(self) -> int:
        """Every line that was read, answered or not."""
        answered = sum(kind.rows for kind in self.kinds.values())
        return answered + sum(self.unknown.values()) + len(self.unreadable)

    @property
    def passed(self) -> int:
        """Rows answered as they should be."""
        return sum(kind.passed for kind in self.kinds.values())

    @property
    def failed(self) -> int:
        """Rows answered wrongly."""
        return sum(kind.failed for kind in self.kinds.values())

    @property
    def failures(self) -> list[Failure]:
        """The first failures of every kind."""
        return [failure for kind in self.kinds.values() for failure in kind.failures]

    def __bool__(self) -> bool:
        return not self.failed and not self.unknown and not self.unreadable

    def as_dict(self) -> dict[str, Any]:
        """The report as plain data, for JSON."""
        return {
            "engine": self.engine,
            "ok": bool(self),
            "files": self.files,
            "rows": self.rows,
            "passed": self.passed,
            "failed": self.failed,
            "kinds": {
                name: {
                    "rows": kind.rows,
                    "passed": kind.passed,
                    "failed": kind.failed,
                    "failures": [
                        {slot: getattr(failure, slot) for slot in Failure.__slots__}
                        for failure in kind.failures
                    ],
                }
                for name, kind in sorted(self.kinds.items())
            },
            "unknown": dict(sorted(self.unknown.items())),
            "unreadable": self.unreadable,
        }

    def __str__(self) -> str:
        lines = [f"engine {self.engine}, {self.files} files, {self.rows} rows"]
        for name, kind in sorted(self.kinds.items()):
            failed = f", {kind.failed} FAILED" if kind.failed else ""
            lines.append(f"  {name:32} {kind.rows:6} rows, {kind.passed:6} passed{failed}")
            lines += [f"    {failure}" for failure in kind.failures]
        lines += [
            f"  {name:32} {rows:6} rows, UNKNOWN kind"
            for name, rows in sorted(self.unknown.items())
        ]
        lines += [f"  UNREADABLE {line}" for line in self.unreadable]
        unknown = sum(self.unknown.values())
        lines.append(
            f"{self.passed} passed, {self.failed} failed, {unknown} of unknown kind, "
            f"{len(self.unreadable)} unreadable"
        )
        return "\n".join(lines)
