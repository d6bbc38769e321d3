"""A Spark Connect server on a standalone cluster whose workers do not have this package."""

from __future__ import annotations

from pathlib import Path

import pytest
from spark_servers import connect_server

from synthetic_traffic import write_traffic

pytestmark = pytest.mark.cluster
LOG = Path(__file__).parents[2] / "examples" / "captures" / "go_live" / "trace.log"
#: Requests that were published in the recording, by destination.
PUBLISHED = [
    ["all", 14], ["configurator.core", 3], ["my$.xml", 1], ["nobody.example", 2],
    ["shop.example", 74], ["stock.example", 5], ["web.client.example", 1],
]  # fmt: skip


@pytest.mark.requirement("M-03", "P-12")
def test_the_package_is_sent_and_a_log_is_audited(spark_cluster, bare_python, drive, tmp_path):
    env = {"PYSPARK_PYTHON": str(bare_python)}
    world = tmp_path / "world"
    write_traffic(world, seed=61, rows=2000)
    logs, out = [str(world / "trace.log")], str(tmp_path / "out")
    with connect_server(tmp_path, spark_cluster.url, env=env) as url:
        told = drive(
            url,
            ("engine_missing", {}),
            ("ship", {}),
            ("engine", {}),
            ("decode", {"log": str(LOG)}),
            ("match", {}),
            ("audit", {"logs": logs, "world": str(world), "out": out, "split_bytes": 100_000}),
            ("progress", {"log": logs[0]}),
            ("refused_stream", {"log": logs[0]}),
        )
    assert "No module named 'subtrie'" in told["engine_missing"]
    assert told["ship"].startswith("subtrie-")
    assert [text.split()[0] for text in told["engine"]] == ["native"] * len(told["engine"])
    assert all(f"{told['ship']}.unpacked" in text for text in told["engine"])
    assert told["decode"] == PUBLISHED
    assert told["match"] == [["a.b", ["a.*", "a.b"]], ["a.c", ["a.*"]], ["x", []]]
    assert told["audit"] == []
    assert told["progress"]
    assert told["progress"][-1][0] == told["progress"][-1][1]
    assert all(complete <= total for complete, total in told["progress"])
    assert told["refused_stream"].startswith("a stream needs a classic session")
