"""The report of a conformance run."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

#: The maximum number of failures of one kind in a report; the others are only counted.
SHOWN = 5


@dataclass(frozen=True, slots=True)
class Failure:
    """A row with a wrong answer."""

    file: str
    line: int
    id: str
    wanted: str
    got: str

    def __str__(self) -> str:
        return f"{self.file}:{self.line} {self.id}: expected {self.wanted}, got {self.got}"


@dataclass(slots=True)
class KindReport:
    """The counts and the first failures of one kind."""

    rows: int = 0
    passed: int = 0
    failed: int = 0
    failures: list[Failure] = field(default_factory=list)

    def count(self, failure: Failure | None) -> None:
        """Count one row and keep the first failures."""
        self.rows += 1
        if failure is None:
            self.passed += 1
            return
        self.failed += 1
        if len(self.failures) < SHOWN:
            self.failures.append(failure)


@dataclass(slots=True)
class Report:
    """The result of ``run``; it is true if every row was of a known kind and passed.

    Attributes:
        engine: The name of the engine.
        files: The number of files.
        kinds: The counts of each kind, by name.
        unknown: The number of rows of each unknown kind.
        unreadable: The lines that are not rows, as ``file:line: why``.
    """

    engine: str
    files: int = 0
    kinds: dict[str, KindReport] = field(default_factory=dict)
    unknown: dict[str, int] = field(default_factory=dict)
    unreadable: list[str] = field(default_factory=list)

    @property
    def rows(self) -> int:
        """The number of lines."""
        answered = sum(kind.rows for kind in self.kinds.values())
        return answered + sum(self.unknown.values()) + len(self.unreadable)

    @property
    def passed(self) -> int:
        """The number of rows that passed."""
        return sum(kind.passed for kind in self.kinds.values())

    @property
    def failed(self) -> int:
        """The number of rows that failed."""
        return sum(kind.failed for kind in self.kinds.values())

    @property
    def failures(self) -> list[Failure]:
        """The first failures of each kind."""
        return [failure for kind in self.kinds.values() for failure in kind.failures]

    def __bool__(self) -> bool:
        return not self.failed and not self.unknown and not self.unreadable

    def as_dict(self) -> dict[str, Any]:
        """Return the report as data for JSON."""
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
