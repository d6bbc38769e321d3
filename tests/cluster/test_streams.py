"""Streams of logs that grow: in forty pieces, killed in the middle, and on a cluster."""

from __future__ import annotations

import json
import os
import signal
from pathlib import Path
from typing import Any

import pytest

from synthetic_traffic import write_traffic

pytestmark = pytest.mark.cluster


@pytest.fixture
def given(tmp_path: Path) -> dict[str, Any]:
    """A world, and where its log grows."""
    write_traffic(tmp_path / "world", seed=91, rows=4000)
    (tmp_path / "logs").mkdir()
    return {
        "log": str(tmp_path / "world" / "trace.log"),
        "live": str(tmp_path / "logs" / "trace.log"),
        "folder": str(tmp_path),
        "world": str(tmp_path / "world"),
    }


@pytest.mark.requirement("P-03")
def test_the_tables_of_forty_pieces_are_those_of_one_read(drive, given):
    told = drive("local[2]", ("ship", {}), ("stream", given | {"pieces": 40}))
    batches, differences = told["stream"]
    assert batches >= 36
    assert differences == []


@pytest.mark.requirement("P-10")
def test_a_driver_killed_in_the_middle_loses_nothing(drive, given):
    for kill_after in (1, 3):
        process = drive.start("local[2]", ("ship", {}), ("stream", given | {"pieces": 8}))
        seen = 0
        for line in process.stdout:
            seen += json.loads(line)["step"] == "batch"
            if seen == kill_after:
                break
        os.kill(process.pid, signal.SIGKILL)
        process.communicate()
    told = drive("local[2]", ("ship", {}), ("stream", given | {"pieces": 8}))
    assert told["stream"][1] == []


@pytest.mark.requirement("P-12")
def test_a_stream_on_a_cluster_is_the_truth(spark_cluster, drive, given):
    told = drive(spark_cluster.url, ("ship", {}), ("stream", given | {"pieces": 3}))
    assert told["stream"][1] == []
