"""Each option of the audit of a growing log changes its tables as that of one audit does."""

from __future__ import annotations

from typing import Any

from subtrie.audit import TABLES, Questions, audit, open_run
from subtrie.audit._growing import GrowingAudit
from synthetic_traffic import write_traffic

KEY = b"a key of 16 bytes"
OPTIONS: dict[str, dict[str, Any]] = {
    "none": {}, "planes": {"planes": ["staging"]}, "window": {"window": 600},
    "redact": {"redact": ["path", "id"], "redact_key": KEY},
    "questions": {"questions": Questions()},
    "periods of answers": {"questions": Questions(min_days=1, min_sources=1), "window": 600},
}  # fmt: skip


def test_the_tables_are_those_of_one_audit_with_the_same_options(tmp_path):
    write_traffic(tmp_path / "world", seed=11, rows=800)
    log, seen = str(tmp_path / "world" / "trace.log"), set()
    for name, options in OPTIONS.items():
        assert GrowingAudit([log], str(tmp_path / name), **options).read_on(complete=True)
        with open_run(tmp_path / name) as growing, audit([log], **options) as whole:
            found, expected = (
                {table: list(run.rows(table)) for table in TABLES} for run in (growing, whole)
            )
        ((ran,), (as_one,)) = found.pop("runs"), expected.pop("runs")
        assert ran["options"] == as_one["options"], name
        assert found == expected, name
        seen.add(repr(found))
    assert len(seen) == len(OPTIONS), "each option changes the tables"
