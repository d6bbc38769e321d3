"""Logs and results in an object store: an S3 service on loopback (moto)."""

from __future__ import annotations

import os
import shutil
import socket
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path

import pyarrow as pa
import pytest
from pyarrow import fs

from servers import free_port
from subtrie.spark import TABLES, audit, local_session, open_audit
from synthetic_traffic import write_traffic

pytestmark = pytest.mark.cluster

#: The pinned one, which is installed beside this interpreter.
SERVER = Path(sys.executable).with_name("moto_server")


@pytest.fixture
def port(monkeypatch: pytest.MonkeyPatch) -> Iterator[int]:
    """The port of an S3 service with the bucket ``logs``."""
    program = os.environ.get("SUBTRIE_TEST_MOTO_SERVER") or str(SERVER)
    if shutil.which(program) is None:
        pytest.skip("needs moto_server: pip install -r tools/requirements/cluster.txt")
    number = free_port()
    for name in ("AWS_ACCESS_KEY_ID", "AWS_SECRET_ACCESS_KEY"):
        monkeypatch.setenv(name, "test")
    monkeypatch.setenv("AWS_EC2_METADATA_DISABLED", "true")
    server = subprocess.Popen(
        [program, "-H", "127.0.0.1", "-p", str(number)],
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
    )
    try:
        for _ in range(1200):
            with socket.socket() as probe:
                if probe.connect_ex(("127.0.0.1", number)) == 0:
                    break
            time.sleep(0.1)
        else:
            pytest.fail(f"{program} does not listen after two minutes")
        store(number).create_dir("logs")
        yield number
    finally:
        server.terminate()
        server.wait()


def store(port: int) -> fs.S3FileSystem:
    return fs.S3FileSystem(
        endpoint_override=f"http://127.0.0.1:{port}", allow_bucket_creation=True, region="us-east-1"
    )


@pytest.mark.requirement("P-10")
def test_a_log_and_its_tables_are_in_an_object_store(port: int, tmp_path: Path) -> None:
    """The bytes are those of local files, here and on Spark; a second run replaces the first."""
    write_traffic(tmp_path / "world", seed=5, rows=2000)
    log = tmp_path / "world" / "trace.log"
    files = store(port)
    with files.open_output_stream("logs/in/trace.log") as stream:
        stream.write(log.read_bytes())
    packed = pa.compress(log.read_bytes(), "zstd", asbytes=True)
    with files.open_output_stream("logs/in/packed") as stream:
        stream.write(packed)
    query = f"?endpoint_override=127.0.0.1:{port}&scheme=http&region=us-east-1"
    uri, out = f"s3://logs/in/trace.log{query}", f"s3://logs/out{query}"
    with audit(None, [str(log)]) as local:
        # The rows of unparseable lines have the path of the log.
        same = [name for name in TABLES if name != "unparseable"]
        names = {name: Path(local.path(name)).name for name in same}
    damaged = set()
    for session in (None, local_session(cores="2")):
        with audit(session, [uri], out=out, split_bytes=100_000) as found:
            assert {name: found.path(name) for name in same} == {
                name: f"s3://logs/out/{file}{query}" for name, file in names.items()
            }
            assert {row["file"] for row in found.rows("unparseable")} == {uri}
            damaged.add(found.path("unparseable").removesuffix(query).rpartition("/")[2])
    assert len(damaged) == 1
    there = {each.base_name for each in files.get_file_info(fs.FileSelector("logs/out"))}
    assert there == {"audit.json", *names.values(), *damaged}
    with open_audit(out) as again:
        assert list(again.rows("call_graph"))
    with audit(None, [uri.replace("s3://", "s3://KEY:SECRET@")]) as found:
        shown = {row["file"] for row in found.rows("unparseable")}
        assert shown == {uri.replace("s3://", "s3://[REDACTED]@")}
    with audit(None, [f"s3://logs/in/packed{query}"]) as unpacked:
        assert Path(unpacked.path("call_graph")).name == names["call_graph"]
