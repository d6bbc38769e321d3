"""A query that follows logs on Spark has ended when the command has, whatever ended it."""

from __future__ import annotations

import signal
from types import SimpleNamespace
from typing import Any

import pytest

from subtrie._cli.audit_follow import Following, _until_the_end
from subtrie.audit import Questions


@pytest.mark.parametrize("end", ["failed", "interrupted", "idle", "error"])
def test_the_query_has_ended_whatever_ended_it(spark: Any, end: str) -> None:
    begun: list[Any] = []

    def start(interval: str) -> Any:
        stream = spark.readStream.format("rate").option("numPartitions", 1).load().limit(1)
        begun.append(stream.writeStream.format("noop").trigger(processingTime="1 hour").start())
        return begun[0]

    def refresh() -> bool:
        if end == "error":
            raise ZeroDivisionError
        if end == "interrupted":
            signal.raise_signal(signal.SIGINT)
        return False

    idle = 0.001 if end == "idle" else None
    what = Following((), None, None, idle, None, (), False, Questions(), {})
    watcher: Any = SimpleNamespace(refresh=refresh, fails=end == "failed")
    before = signal.getsignal(signal.SIGINT)
    if end == "error":
        with pytest.raises(ZeroDivisionError):
            _until_the_end(start, watcher, what)
    else:
        assert _until_the_end(start, watcher, what) == end
    assert signal.getsignal(signal.SIGINT) == before
    assert not begun[0].isActive
