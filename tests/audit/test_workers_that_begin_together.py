"""Workers of a run begin at the same time, and each may be the one that makes the directory."""

from __future__ import annotations

import threading
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

from subtrie.audit._runs.run_folder import stage_file

_WORKERS, _ROUNDS = 8, 40


def test_the_files_of_workers_that_begin_together_are_all_there(tmp_path: Path) -> None:
    (tmp_path / "local").write_bytes(b"rows")
    begin = threading.Barrier(_WORKERS)

    def work(folder: Path, number: int) -> None:
        begin.wait()
        stage_file(str(folder), ".staging-1", str(tmp_path / "local"), f"{number}.parquet")

    with ThreadPoolExecutor(_WORKERS) as threads:
        for number in range(_ROUNDS):
            folder = tmp_path / str(number) / "out"
            list(threads.map(work, [folder] * _WORKERS, range(_WORKERS)))
            found = {path.name: path.read_bytes() for path in (folder / ".staging-1").iterdir()}
            assert found == {f"{worker}.parquet": b"rows" for worker in range(_WORKERS)}
