"""The connector takes clocks, randomness, locks and threads from one module."""

from __future__ import annotations

import ast
from pathlib import Path

from subtrie import connector
from subtrie.connector import _system

_FOLDER = Path(connector.__file__).parent
_TAKEN = {"random", "secrets", "threading", "time"}
#: What stays with the system: the text of a time that a log record has.
_STAYS = {"_logging.py": {"time"}}


def _imported(path: Path) -> set[str]:
    names: set[str] = set()
    for node in ast.walk(ast.parse(path.read_text())):
        if isinstance(node, ast.Import):
            names |= {each.name.partition(".")[0] for each in node.names}
        elif isinstance(node, ast.ImportFrom) and not node.level:
            names.add((node.module or "").partition(".")[0])
            names |= {each.name for each in node.names if each.name.endswith("PoolExecutor")}
    return names


def test_no_other_module_reads_a_clock_draws_a_number_or_makes_a_lock_or_a_thread():
    forbidden = _TAKEN | {"ThreadPoolExecutor", "ProcessPoolExecutor"}
    found = {
        str(path.relative_to(_FOLDER)): used
        for path in sorted(_FOLDER.rglob("*.py"))
        if path.name != "_system.py" and (used := _imported(path) & forbidden)
    }
    assert found == _STAYS


def test_clocks_and_rates_follow_a_replaced_clock(monkeypatch):
    rate, limiter = connector._records.RecordRate(1, 10.0), connector.RateLimiter(1, burst=1)
    monkeypatch.setattr(_system, "monotonic", lambda: 1e9)
    assert (rate.admits(), rate.admits(), limiter.admit("a.example")) == (True, False, 0.0)
    assert limiter.admit("a.example") == 1.0
    monkeypatch.setattr(_system, "monotonic", lambda: 1e9 + 11)
    assert (rate.admits(), limiter.admit("a.example")) == (True, 0.0)
