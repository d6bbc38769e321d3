"""The law of partials: any division, any order of adding, anywhere, gives the same tables."""

from __future__ import annotations

import errno
import hashlib
import io
import random
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from jetstream_log import jetstream_log

from subtrie.audit import Questions, Run, audit, load_code, load_rules, partials_of, table_of
from subtrie.audit._growing import GrowingAudit
from subtrie.audit._here import MAX_HEAD, HeldPartial, SpillFile
from subtrie.audit._partial.kinds import VERSION
from subtrie.audit._partial.partial import Partial
from subtrie.audit._partial.parts import Reading, partials_of_part, plan
from subtrie.audit._schema import TABLES
from subtrie.spark import OutputFolderError, audit_stream, open_audit
from subtrie.spark import audit as audit_on_spark
from synthetic_traffic import write_traffic

GO_LIVE = Path(__file__).resolve().parents[2] / "examples" / "captures" / "go_live"
WINDOW = 600
#: The version of the kinds of partials in the manifest of a stream.
CURRENT = f'"version": {VERSION}'


@pytest.fixture(scope="module")
def world(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("law") / "world"
    write_traffic(folder, seed=23, rows=2500, days=4, answers=True)
    return folder


@pytest.fixture(scope="module")
def logs(world: Path, tmp_path_factory: pytest.TempPathFactory) -> list[str]:
    streams, _ = jetstream_log(tmp_path_factory.mktemp("jetstream"))
    return [str(world / "trace.log"), str(GO_LIVE / "trace.log"), str(streams)]


@pytest.fixture(scope="module")
def questions(world: Path) -> Questions:
    rules = load_rules(sorted((world / "rules").iterdir()))
    return Questions(rules=rules, code=load_code([world / "code"]), payloads="heads")


def digests(run: Run) -> dict[str, str]:
    return {name: hashlib.sha256(Path(run.path(name)).read_bytes()).hexdigest()
            for name in TABLES if name != "runs"}  # fmt: skip


@pytest.fixture(scope="module")
def whole(logs: list[str], questions: Questions) -> Iterator[Run]:
    """The tables of one pass over whole logs, in memory."""
    with audit(logs, questions=questions, window=WINDOW, split_bytes=1 << 40) as run:
        assert all(run.count(name) for name in ("call_graph", "flows", "latency", "proposal"))
        yield run


@pytest.fixture(scope="module")
def expected(whole: Run) -> dict[str, str]:
    return digests(whole)


@pytest.mark.parametrize("split_bytes", [1 << 30, 70_000, 9_000])
@pytest.mark.parametrize("memory", [1 << 30, 1024])
def test_here_however_the_logs_are_divided_and_whatever_goes_to_disk(
    logs, questions, expected, split_bytes, memory
) -> None:
    how = {"questions": questions, "window": WINDOW, "split_bytes": split_bytes}
    with audit(logs, memory=memory, **how) as run:
        assert digests(run) == expected


@pytest.mark.parametrize("split_bytes", [1 << 30, 30_000])
def test_on_spark_with_one_task_and_with_several(
    spark, logs, questions, expected, split_bytes
) -> None:
    how = {"questions": questions, "window": WINDOW, "split_bytes": split_bytes}
    with audit_on_spark(spark, logs, **how) as run:
        assert digests(run) == expected


@pytest.mark.parametrize("batches", [1, 3])
def test_in_a_stream_of_batches(spark, world, questions, tmp_path, batches) -> None:
    """Nothing is read twice: the answers come of the partials that are kept."""
    data = (world / "trace.log").read_bytes()
    live, out = tmp_path / "trace.log", tmp_path / "out"
    for batch in range(1, batches + 1):
        live.write_bytes(data[: len(data) * batch // batches])
        audit_stream(
            spark, [str(live)], out=out, checkpoint=str(tmp_path / "checkpoint"),
            questions=questions, window=WINDOW, complete=batch == batches,
        ).awaitTermination()  # fmt: skip
    with audit([str(live)], questions=questions, window=WINDOW) as whole:
        assert digests(open_audit(out)) == digests(whole)


@pytest.mark.parametrize("batches", [1, 3, 8])
def test_of_logs_that_grow_here(world, questions, tmp_path, batches) -> None:
    """Each second reading is by another process that goes on in the same directory."""
    data = (world / "trace.log").read_bytes()
    live, out = tmp_path / "trace.log", tmp_path / "out"
    for batch in range(1, batches + 1):
        live.write_bytes(data[: len(data) * batch // batches])
        if batch % 2:
            growing = GrowingAudit([str(live)], str(out), questions=questions, window=WINDOW)
        growing.read_on(complete=batch == batches)
    assert not growing.read_on()
    with audit([str(live)], questions=questions, window=WINDOW) as whole:
        assert digests(open_audit(out)) == digests(whole)


def table_rows(partials: list[Partial]) -> Iterator[tuple[str, int, int]]:
    """Yield kind, bucket and digest of the rows of added partials."""
    found = Partial()
    for partial in partials:
        found.add(partial)
    batch = found.to_rows()
    for kind, bucket, count in zip(*(batch.column(n) for n in ("kind", "bucket", "rows")),
                                   strict=True):  # fmt: skip
        yield kind.as_py(), bucket.as_py(), count.as_py()


@pytest.mark.parametrize("seed", range(3))
def test_any_order_and_any_grouping_of_adding(logs, seed) -> None:
    dice = random.Random(seed)
    reading = Reading(follow=True, answers=True, heads=True)

    def read() -> list[Partial]:
        return [each for part in plan(logs, 40_000).parts
                for each in partials_of_part(part, reading)]  # fmt: skip

    whole = sorted(table_rows(read()))
    shuffled = read()
    dice.shuffle(shuffled)
    groups: list[Partial] = []
    while shuffled:
        group = Partial()
        for _ in range(dice.randint(1, 5)):
            if shuffled:
                group.add(shuffled.pop())
        # Some were moved by another process meanwhile.
        groups.append(Partial.of_rows([group.to_rows()]) if dice.random() < 0.5 else group)
    assert sorted(table_rows(groups)) == whole


def test_a_disk_that_fills_during_a_spill_is_one_sentence(logs, tmp_path, monkeypatch) -> None:
    """The temporary file is on a device that is full."""

    def full(**_: Any) -> Any:
        return open("/dev/full", "wb", buffering=0)

    monkeypatch.setattr(tempfile, "TemporaryFile", full)
    with pytest.raises(OSError, match=r"no space is left in .*--memory.*--master") as raised:
        audit(logs, memory=1024, out=tmp_path / "out")
    assert raised.value.errno == errno.ENOSPC
    assert not (tmp_path / "out").exists()


@pytest.mark.parametrize(
    ("number", "full"),
    [(errno.ENOSPC, True), (errno.EDQUOT, True), (errno.EFBIG, True), (errno.EIO, False)],
)
def test_only_a_disk_or_a_quota_that_is_full_needs_more_room(monkeypatch, number, full) -> None:
    class Failing(io.BytesIO):
        def write(self, data: Any) -> int:
            raise OSError(number, "failed")

    monkeypatch.setattr(tempfile, "TemporaryFile", lambda **_: Failing())
    with pytest.raises(OSError, match="no space is left" if full else "failed") as raised:
        SpillFile().write(b"data")
    assert raised.value.errno == number


def test_a_head_beyond_its_bound_is_refused(monkeypatch) -> None:
    monkeypatch.setattr("subtrie.audit._here.MAX_HEAD", 2)
    assert MAX_HEAD == 5_000_000
    partial = Partial()
    for count in range(3):
        partial.add_counts({f"name {count}": 1})
    with pytest.raises(ValueError, match="more than 2 lines begin or end subscriptions"):
        HeldPartial(1024, SpillFile()).add(partial)


def test_a_stream_of_another_version_or_without_questions_is_refused(
    spark, world, questions, tmp_path
) -> None:
    live, out = tmp_path / "trace.log", tmp_path / "out"
    data = (world / "trace.log").read_bytes()

    def run(**more: Any) -> None:
        where = {"out": out, "checkpoint": str(tmp_path / "checkpoint")}
        audit_stream(spark, [str(live)], **where, **more).awaitTermination()

    live.write_bytes(data[: len(data) // 2])
    run()
    before = {entry.name: entry.read_bytes() for entry in out.iterdir()}
    live.write_bytes(data)
    with pytest.raises(Exception, match="began without questions"):
        run(questions=questions)
    manifest = out / "audit.json"
    assert {entry.name: entry.read_bytes() for entry in out.iterdir()} == before
    manifest.write_text(manifest.read_text().replace(CURRENT, '"version": 0'))
    with pytest.raises(Exception, match="another version of subtrie"):
        run()
    with pytest.raises(OutputFolderError, match="another version of subtrie"):
        GrowingAudit([str(live)], str(out))
    manifest.write_text(manifest.read_text().replace('"version": 0', CURRENT))
    with pytest.raises(OutputFolderError, match="began without questions"):
        GrowingAudit([str(live)], str(out), questions=questions)
    with pytest.raises(OutputFolderError, match="has a stream of Spark: go on with --master"):
        GrowingAudit([str(live)], str(out))
    with pytest.raises(ValueError, match="redacted with one key for every run"):
        GrowingAudit([str(live)], str(tmp_path / "other"), redact=["path"])


@pytest.fixture(scope="module")
def parts(logs: list[str]) -> list[Any]:
    """The rows of each partial of the logs."""
    return [each.to_rows() for each in partials_of(logs, window=WINDOW, heads=True)]


@pytest.mark.parametrize("name", [name for name in TABLES if name != "runs"])
def test_one_table_has_the_rows_of_the_audit(whole, parts, questions, name) -> None:
    partials = [Partial.of_rows([rows]) for rows in parts]
    random.Random(name).shuffle(partials)
    found = table_of(name, partials, questions=questions, window=WINDOW)
    assert found.to_pylist() == list(whole.rows(name))
    assert found.schema.equals(whole.table(name).schema)


def test_a_table_that_does_not_exist_is_refused() -> None:
    with pytest.raises(ValueError, match="no table 'run'; the tables are: at, "):
        table_of("run", [])
