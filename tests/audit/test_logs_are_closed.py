"""Each log that is read is closed, packed or not, also where its reader has enough."""

from __future__ import annotations

import gc
import gzip
import warnings
from pathlib import Path

import pyarrow as pa
import pytest
from trace_writer import random_trace

from subtrie.audit._readers.growing_log import advance, empty_offset
from subtrie.audit._readers.log_reader import holds_server_lines, read_range, whole_logs


@pytest.mark.parametrize("form", ["plain", "gzip", "zstd"])
def test_a_log_is_closed(form: str, tmp_path: Path) -> None:
    data = random_trace(3).encode("latin-1")
    packed = gzip.compress(data) if form == "gzip" else data
    path = tmp_path / "nats.log"
    path.write_bytes(pa.compress(data, codec="zstd", asbytes=True) if form == "zstd" else packed)
    gc.collect()
    with warnings.catch_warnings(record=True) as told:
        warnings.simplefilter("always", ResourceWarning)
        (log,) = whole_logs([str(path)])
        assert holds_server_lines(str(path))
        assert sum(map(len, read_range(log))) > 10
        reading = read_range(log)
        next(reading)
        reading.close()
        assert advance([str(path)], empty_offset())["logs"]
        gc.collect()
    assert [str(each.message) for each in told] == []
