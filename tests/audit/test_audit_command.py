"""The command ``subtrie audit``: output, exit codes, files."""

from __future__ import annotations

import gzip
import json
import os
import re
import subprocess
import sys
from pathlib import Path

import pyarrow as pa
import pytest
from click.testing import CliRunner

from servers import free_port
from subtrie._cli.app import app
from subtrie.audit._runs.run_folder import RunFolder, read_manifest
from subtrie.audit._runs.run_writer import all_tables
from subtrie.audit._slot_redaction import Redaction
from subtrie.spark import (
    TABLES,
    OutputFolderError,
    SparkStartError,
    cluster_session,
)

BLOCKED = """
import sys
class Blocked:
    def find_spec(self, name, path=None, target=None):
        if name == {missing!r}:
            raise ModuleNotFoundError("No module named " + repr(name), name=name)
sys.meta_path.insert(0, Blocked())
sys.argv = ["subtrie", "audit", {log!r}, *{more!r}]
from subtrie.cli import main
main()
"""
FRONT = "[7] 2026/11/21 08:00:00.{:06d} [TRC] 1.2.3.4:5 - cid:{} - "


@pytest.fixture
def mixed(tmp_path: Path) -> Path:
    """A log with an incomplete line, junk, lines of other formats, and traffic between."""
    lines = [
        b"[7] 2026/11/21 08:00:00.000001 [INF] Starting nats-server",
        FRONT.format(2, 1).encode() + b"<<- [SUB p1.safe.443.*.b_com._.GET.x  1]\r",
        FRONT.format(3, 2).encode() + b"<<- [PUB p1.safe.443.a_com.b_com._.GET.x 2]",
        FRONT.format(4, 2).encode() + b'<<- MSG_PAYLOAD: ["hi"]',
        FRONT.format(5, 1).encode() + b"->> [MSG p1.safe.443.a_com.b_com._.GET.x 1 2]",
        FRONT.format(6, 1).encode() + b'->> MSG_PAYLOAD: ["hi"]\r',
        FRONT.format(7, 2).encode() + b"<<- [PUB p1.safe.443.a_com.b_com._.GET.y 0]",
        FRONT.format(8, 2).encode() + b"<<- [PUB p1.safe.443.A_com.b_com._.GET.x 0]",
        FRONT.format(9, 2).encode() + b"<<- [PUB other.thing\xff 0]",
        b"",
        b"\x00\x01\xfe\xff" * 30,
        b"127.0.0.1 - - [21/Nov/2026] GET /",
        FRONT.format(10, 2).encode() + b"<<- [PUB p1.safe.443.a_com.b_c",
    ]
    path = tmp_path / "mixed.log"
    path.write_bytes(b"\n".join(lines))
    return path


@pytest.mark.requirement("P-02")
def test_bad_lines_are_unparseable_and_the_rest_is_reported(run_both, mixed) -> None:
    done = run_both(mixed, "--json")
    assert done.exit_code == 0, done.output
    told = json.loads(done.stdout)
    assert {name: told[name] for name in ("lines", "operations", "payloads", "server")} == {
        "lines": 13,
        "operations": 6,
        "payloads": 2,
        "server": 1,
    }
    assert told["unparseable_lines"] == len(told["unparseable"]) == 4
    assert [row["offset"] for row in told["unparseable"]] == [
        position_of(mixed, line) for line in (9, 10, 11, 12)
    ]
    assert told["planes"] == ["p1"]
    edge = told["call_graph"][0]
    first, last = "2026-11-21T08:00:00.000003Z", "2026-11-21T08:00:00.000007Z"
    assert told["call_graph"] == [
        dict(zip(edge, values, strict=True))
        for values in (
            ("p1", "a.com", "b.com", 443, "GET", None, 1, 0, 0, 1, 0, 0, last, last, 1, None),
            ("p1", "a.com", "b.com", 443, "GET", "x", 1, 0, 1, 0, 0, 2, first, first, 1, None),
        )
    ]
    assert tuple(edge) == tuple(name for name in TABLES["call_graph"] if name != "window")
    assert told["undelivered"] == [
        {
            "subject": "p1.safe.443.a_com.b_com._.GET.y",
            "count": 1,
            "first": last,
            "last": last,
            "rate": {"start": "2026-11-21T08:00:00.000000Z", "width_s": 1, "counts": [1]},
            "nearest": "p1.safe.443.*.b_com._.GET.x",
            "differs_at": 7,
            "subscription_inactive": False,
            "account": None,
        }
    ]
    (malformed,) = told["malformed"]
    assert malformed.pop("reason")
    when = {"first": "2026-11-21T08:00:00.000008Z", "last": "2026-11-21T08:00:00.000008Z"}
    subject = "p1.safe.443.A_com.b_com._.GET.x"
    rate = {"start": "2026-11-21T08:00:00.000000Z", "width_s": 1, "counts": [1]}
    assert malformed == {
        "subject": subject, "count": 1, "received": 0, "account": None, "rate": rate, **when
    }  # fmt: skip
    assert told["other_traffic"] == [
        {"subject": "other.thing\\xff", "count": 1, "class": "other", "account": None}
    ]
    assert set(TABLES) <= set(told)


def position_of(path: Path, line: int) -> int:
    """Return the offset of a line."""
    return sum(len(text) + 1 for text in path.read_bytes().split(b"\n")[:line])


@pytest.mark.requirement("P-02")
def test_the_sum_of_lines_is_printed(run, mixed) -> None:
    done = run(mixed)
    assert done.exit_code == 0, done.output
    assert "lines: 13 = 6 operations + 2 payloads + 1 of the server + 4 unparseable (bad" in (
        done.stdout
    )
    assert "p1.safe.443.a_com.b_com._.GET.y" in done.stdout
    assert done.stdout.startswith("1 undelivered, 1 malformed, 4 unparseable\n")
    assert "\x1b" not in done.stdout


def test_a_plane_may_be_given(run, mixed) -> None:
    told = json.loads(run(mixed, "--json", "--plane", "zz").stdout)
    assert told["planes"] == ["zz"]
    assert told["call_graph"] == told["malformed"] == told["undelivered"] == []
    assert sum(row["count"] for row in told["other_traffic"]) == 4


@pytest.mark.requirement("P-10")
def test_the_same_log_gives_the_same_bytes(run, spark, mixed, tmp_path) -> None:
    """Whether this process or Spark made the tables."""
    out = tmp_path / "out"
    files = []
    for engine in ([], ["--master", spark.conf.get("spark.master")], []):
        assert run(mixed, "--out", out, *engine).exit_code == 0
        files.append({path.name: path.read_bytes() for path in out.iterdir()})
    assert files[0] == files[1] == files[2]
    manifest = json.loads(files[0]["audit.json"])
    named = {entry["file"] for entry in manifest["tables"].values()}
    assert set(manifest["tables"]) == set(TABLES)
    assert set(files[0]) == {"audit.json", *named}
    assert sorted(path.name for path in tmp_path.iterdir()) == ["mixed.log", "out"]


@pytest.mark.parametrize("on_spark", [False, True])
def test_a_directory_that_it_makes_is_of_its_owner_only(
    run, request, mixed, tmp_path, on_spark
) -> None:
    """The tables have subjects and identities, and every user of the machine could list them."""
    master = request.getfixturevalue("spark").conf.get("spark.master") if on_spark else None
    engine = ["--master", master] if on_spark else []
    out, shared = tmp_path / "new" / "out", tmp_path / "shared"
    shared.mkdir()
    shared.chmod(0o775)
    for each in (out, shared):
        assert run(mixed, "--out", each, *engine).exit_code == 0
    assert out.stat().st_mode & 0o777 == 0o700
    assert shared.stat().st_mode & 0o777 == 0o775  # made beforehand, to share it


def test_the_report_is_written_and_named(run, mixed, tmp_path) -> None:
    page = tmp_path / "page.html"
    done = run(mixed, "--out", tmp_path / "run", "--report", page)
    assert done.exit_code == 0, done.output
    assert f"report written to {page}" in done.output
    text = page.read_text(encoding="utf-8")
    shown = CliRunner().invoke(app, ["report", "html", str(tmp_path / "run"), "--log", str(mixed)])
    assert shown.output == text
    assert "p1.safe.443.a_com.b_com._.GET.y" in text


def test_an_output_directory_with_other_files_is_refused(run, mixed, tmp_path) -> None:
    out = tmp_path / "mine"
    out.mkdir()
    (out / "notes.txt").write_text("keep")
    done = run(mixed, "--out", out)
    assert done.exit_code == 2
    assert "not an audit result" in done.stderr
    assert [path.name for path in out.iterdir()] == ["notes.txt"]
    assert sorted(path.name for path in tmp_path.iterdir()) == ["mine", "mixed.log"]


def test_an_earlier_result_with_an_added_file_is_not_replaced(tmp_path) -> None:
    out = tmp_path / "project"
    RunFolder(out).commit(all_tables([]), {})
    before = sorted(path.name for path in out.iterdir())
    assert "audit.json" in before
    run = RunFolder(out)
    (out / "notes.txt").write_text("keep")
    with pytest.raises(OutputFolderError):
        run.commit(all_tables([]), {})
    with pytest.raises(OutputFolderError):
        RunFolder(out)
    assert sorted(path.name for path in out.iterdir()) == sorted([*before, "notes.txt"])


@pytest.mark.requirement("P-10")
def test_a_run_that_fails_leaves_the_earlier_result(run, mixed, tmp_path, monkeypatch) -> None:
    out = tmp_path / "out"
    assert run(mixed, "--out", out).exit_code == 0
    before = {path.name: path.read_bytes() for path in out.iterdir()}
    mixed.write_bytes(mixed.read_bytes().replace(b"b_com", b"c_com"))

    def fail(*_: object) -> None:
        raise OSError("disk full")

    monkeypatch.setattr(RunFolder, "_place", fail)
    done = run(mixed, "--out", out)
    assert done.exit_code == 2
    assert "disk full" in done.stderr
    assert {path.name: path.read_bytes() for path in out.iterdir()} == before
    monkeypatch.undo()
    assert run(mixed, "--out", out).exit_code == 0
    after = {path.name: path.read_bytes() for path in out.iterdir()}
    assert after != before
    assert len(after) == len(before)


def test_a_folder_that_the_workers_do_not_share_is_refused(tmp_path) -> None:
    run = RunFolder(tmp_path / "out")
    row = {"table": "replies", "file": "replies-0123456789ab.parquet", "rows": 1, "sha256": "x"}
    with pytest.raises(OutputFolderError, match="not shared with the workers"):
        run.commit(all_tables([row]), {})


def test_a_manifest_of_a_newer_version_is_refused(tmp_path) -> None:
    (tmp_path / "audit.json").write_text('{"schema": 99}')
    with pytest.raises(ValueError, match="newer version"):
        read_manifest(str(tmp_path))


@pytest.mark.parametrize("pack", [gzip.compress, lambda d: bytes(pa.compress(d, "zstd"))])
def test_a_compressed_log_is_read_whatever_its_name(run, mixed, pack) -> None:
    """Bug: a .gz file was read as text, and its bytes were listed as unparseable lines."""
    plain = json.loads(run(mixed, "--json").stdout)
    mixed.write_bytes(pack(mixed.read_bytes()))
    packed = json.loads(run(mixed, "--json").stdout)
    (one,), (other,) = plain.pop("runs"), packed.pop("runs")
    assert packed == plain
    assert one["input_digest"] != other["input_digest"]  # of the bytes of the file
    assert one["counters"] == other["counters"]


def test_a_file_that_is_not_a_log_is_refused_before_spark_starts(tmp_path) -> None:
    """Bug: every line of a file of another kind was listed as unparseable, with exit code 0."""
    path = tmp_path / "README.md"
    path.write_text("# A page\n\nwith text\n" * 30)
    done = CliRunner().invoke(app, ["audit", str(path)])
    assert done.exit_code == 2
    assert "no line of nats-server" in done.stderr


@pytest.mark.requirement("P-11")
def test_paths_are_redacted_and_counts_stay(run_both, mixed, monkeypatch) -> None:
    plain = json.loads(run_both(mixed, "--json").stdout)
    monkeypatch.setenv("SUBTRIE_REDACT_KEY", "a key of 16 bytes")
    done = run_both(mixed, "--json", "--redact", "path")
    told = json.loads(done.stdout)
    assert json.loads(run_both(mixed, "--json", "--redact", "path").stdout) == told
    subjects = [row["subject"] for name in ("undelivered", "malformed") for row in told[name]]
    assert all(subject.split(".")[7] not in ("x", "y") for subject in subjects)
    assert told["undelivered"][0]["nearest"].split(".")[7] not in ("x", "*")
    for edge in (*told["call_graph"], *plain["call_graph"]):
        edge["route"] = edge["route"] is not None
    assert told["call_graph"] == plain["call_graph"]
    assert "b_c" not in json.dumps(told["unparseable"])
    monkeypatch.setenv("SUBTRIE_REDACT_KEY", "another key of 16 bytes")
    assert json.loads(run_both(mixed, "--json", "--redact", "path").stdout) != told
    monkeypatch.setenv("SUBTRIE_REDACT_KEY", "short")
    assert run_both(mixed, "--json", "--redact", "path").exit_code == 2


def test_ids_are_redacted_in_replies_and_slots() -> None:
    hidden = Redaction(("id",), b"0123456789abcdef")
    reply = hidden.text("p1.reply._.a_com.b_com.id-7f3c")
    assert reply is not None
    assert reply.startswith("p1.reply._.a_com.b_com.id-")
    assert "7f3c" not in reply
    assert hidden.text("p1.safe.443.a_com.b_com._.GET.x") == "p1.safe.443.a_com.b_com._.GET.x"
    assert hidden.text("p1.safe.443.*.b_com.id-7f3c.GET.>").split(".")[5] == reply.split(".")[5]
    assert hidden.text("orders.new") == "orders.new"
    with pytest.raises(ValueError, match="one of path, id"):
        Redaction(("host",), b"0123456789abcdef")


@pytest.mark.parametrize(
    ("subject", "path", "ids"),
    [
        ("p1.safe.443.a.b.id-7f.GET.x.y", {7, 8}, {5}),
        ("p1.danger.443.a.b.id-7f.GET.x", {7}, {5}),
        ("p1.*.443.a.b.id-7f.GET.x", {7}, {5}),
        ("p1.other.443.a.b.id-7f.GET.x", set(), set()),
        ("p1.safe.443.a.b.id-7f", set(), {5}),
        ("p1.safe.443.a.b", set(), set()),
        ("p1.safe.443.a.b._.GET.\udcff", {7}, set()),
        ("p1.safe.443.*.b.*.GET.*.x.>", {8}, set()),
        ("p1.safe.443.a.b.loc-x.GET", set(), set()),
        ("p1.reply._.a.b.id-7f", set(), {5}),
        ("p1.reply._.a.b.id-7f.x.y", set(), set()),
        ("p1.reply._.a.b", set(), set()),
        ("a.safe", set(), set()), ("a", set(), set()), ("", set(), set()),
    ],
)  # fmt: skip
def test_only_the_slots_that_are_named_are_redacted(subject, path, ids) -> None:
    for slots, places in ((("path",), path), (("id",), ids), (("path", "id"), path | ids)):
        hidden = Redaction(slots, b"0123456789abcdef").text(subject)
        assert hidden is not None
        before, after = subject.split("."), hidden.split(".")
        assert len(before) == len(after)
        assert {n for n, token in enumerate(before) if after[n] != token} == places
        for place in places:
            digest = after[place].removeprefix("id-") if place in ids else after[place]
            assert re.fullmatch("[0-9a-f]{12}", digest)
            assert after[place].startswith("id-") == (place in ids)
        other = Redaction(slots, b"0123456789abcdeg").text(subject)
        assert (other == hidden) == (not places)
    assert Redaction(("path",), bytes(16)).text(None) is None


@pytest.mark.parametrize(("length", "right"), [(15, False), (16, True), (64, True), (65, False)])
def test_the_key_of_a_redaction_has_a_length(length, right) -> None:
    if right:
        assert Redaction(("path",), bytes(length)).slots == ("path",)
    else:
        with pytest.raises(ValueError, match="16 to 64 bytes"):
            Redaction(("path",), bytes(length))


def test_columns_of_events_are_redacted_and_unparseable_text_is_left_out() -> None:
    subjects = ["p1.safe.443.a.b._.GET.x", None, "p1.safe.443.a.b._.GET.x", "orders.x"]
    names = ("subject", "reply", "_corrupt_record", "text", "other")
    batch = pa.record_batch([pa.array(subjects)] * len(names), names)
    hidden = Redaction(("path",), bytes(16))
    found = hidden.columns(batch, [*names[:-1], "absent"]).to_pydict()
    told = [hidden.text(each) for each in subjects]
    assert told[0] != subjects[0]
    assert found == {
        "subject": told, "reply": told, "_corrupt_record": [None] * 4, "text": [None] * 4,
        "other": subjects,
    }  # fmt: skip


def test_periods_of_the_call_graph(run_both, mixed) -> None:
    told = json.loads(run_both(mixed, "--json", "--window", 3600).stdout)
    assert {row["window"] for row in told["call_graph"]} == {"2026-11-21T08:00:00.000000Z"}


def test_a_log_on_standard_input_is_read_from_its_file(mixed) -> None:
    program = (
        "from subtrie.audit._readers import log_files as f; print(f.resolve_path('/dev/stdin'))"
    )
    with mixed.open() as log:
        done = subprocess.run(
            [sys.executable, "-c", program], stdin=log, capture_output=True, text=True, check=True
        )
    assert done.stdout == f"{os.path.realpath(mixed)}\n"


def test_a_log_given_twice_is_exit_2(mixed, tmp_path) -> None:
    link = tmp_path / "link.log"
    link.symlink_to(mixed)
    done = CliRunner().invoke(app, ["audit", str(mixed), str(link)])
    assert done.exit_code == 2
    assert "is given twice" in done.stderr


def test_an_empty_log_has_empty_tables(run_both, tmp_path) -> None:
    path = tmp_path / "empty.log"
    path.touch()
    told = json.loads(run_both(path, "--json").stdout)
    assert told["lines"] == 0
    assert all(told[name] == [] for name in TABLES if name != "runs")


@pytest.mark.parametrize("arguments", [["nowhere.log"], ["."], [], ["nobody://a"]])
def test_input_that_cannot_be_read_is_exit_2(run, arguments) -> None:
    done = run(*arguments)
    assert done.exit_code == 2
    assert "Traceback" not in done.output


def test_standard_input_is_refused_with_what_to_do(run) -> None:
    done = run("-")
    assert done.exit_code == 2
    assert "standard input cannot be read as a log: write it to a file" in done.stderr


def test_an_invalid_plane_is_exit_2(run, mixed) -> None:
    assert run(mixed, "--plane", "a.b").exit_code == 2


@pytest.mark.parametrize("missing", ["pyspark", "pyarrow", "pandas", "rich", "click"])
def test_a_missing_package_is_one_line_that_says_what_to_install(missing, mixed) -> None:
    program = BLOCKED.format(missing=missing, log=str(mixed), more=["--master", "local[2]"])
    done = subprocess.run(
        [sys.executable, "-c", program], capture_output=True, text=True, check=False
    )
    assert done.returncode == 2
    assert len(done.stderr.splitlines()) == 1
    assert f"{missing}" in done.stderr.partition("pip install")[2]


def test_a_small_log_needs_neither_java_nor_pyspark(mixed, tmp_path) -> None:
    program = BLOCKED.format(missing="pyspark", log=str(mixed), more=["--json"])
    surroundings = {k: v for k, v in os.environ.items() if k != "JAVA_HOME"}
    done = subprocess.run(
        [sys.executable, "-c", program],
        capture_output=True,
        text=True,
        check=True,
        env={**surroundings, "PATH": str(tmp_path)},
    )
    assert json.loads(done.stdout)["lines"] == 13


def test_missing_java_is_reported_with_installation_instructions(mixed, tmp_path) -> None:
    surroundings = {k: v for k, v in os.environ.items() if k != "JAVA_HOME"}
    done = subprocess.run(
        [sys.executable, "-m", "subtrie.cli", "audit", str(mixed), "--master", "local[2]"],
        capture_output=True,
        text=True,
        check=False,
        env={**surroundings, "PATH": str(tmp_path)},
    )
    assert done.returncode == 2
    assert "Java 17" in done.stderr
    assert "openjdk-17" in done.stderr


@pytest.mark.requirement("P-10")
def test_the_run_is_recorded_without_a_clock(run, mixed, tmp_path) -> None:
    (row,) = json.loads(run(mixed, "--json", "--plane", "p1").stdout)["runs"]
    counters = json.loads(row["counters"])
    assert counters["lines"] == 13
    assert counters["published"] == 4
    assert json.loads(row["options"]) == {"planes": ["p1"], "redact": [], "window": None}
    copy = tmp_path / "copy.log"
    copy.write_bytes(mixed.read_bytes())
    assert json.loads(run(copy, "--json", "--plane", "p1").stdout)["runs"] == [row]
    (other,) = json.loads(run(copy, "--json").stdout)["runs"]
    assert other["input_digest"] == row["input_digest"]
    assert other["run"] != row["run"]
    copy.write_bytes(mixed.read_bytes() + b"\n")
    (longer,) = json.loads(run(copy, "--json", "--plane", "p1").stdout)["runs"]
    assert longer["input_digest"] != row["input_digest"]


def test_a_run_of_a_selection_has_no_digest_of_the_input(run_both, mixed) -> None:
    """The digest says which messages were audited, and these are some of them."""
    for words, whole in (((), True), (("--host", "b.com"), False)):
        (row,) = json.loads(run_both(mixed, "--json", *words).stdout)["runs"]
        assert (row["input_digest"] is not None) is whole


def test_a_session_without_a_lake_format_is_told_before_the_audit(run, mixed, tmp_path) -> None:
    for lake in ("delta", "iceberg"):
        done = run(mixed, "--format", lake, "--out", tmp_path / "lake")
        assert done.exit_code == 2
        assert f"this session cannot write {lake}" in done.stderr
        assert not (tmp_path / "lake").exists()
    assert "needs --out" in run(mixed, "--format", "delta").stderr


def test_master_and_remote_are_not_both_given(run, mixed) -> None:
    done = run(mixed, "--master", "local[2]", "--remote", "sc://127.0.0.1")
    assert done.exit_code == 2
    assert "not both" in done.stderr


@pytest.mark.parametrize(
    ("arguments", "told"),
    [(["--conf", "a=b"], "needs --master"), (["--conf", "a", "--master", "local"], "NAME=VALUE")],
)
def test_settings_of_spark_are_checked(run, mixed, arguments, told) -> None:
    done = run(mixed, *arguments)
    assert done.exit_code == 2
    assert told in done.stderr


@pytest.mark.parametrize(
    ("option", "url", "told"),
    [
        ("--master", "spark://127.0.0.1:{port}", "the Spark master cannot be reached: 127.0.0.1:"),
        ("--remote", "sc://127.0.0.1:{port}/;user_id=a", "the Spark Connect server cannot be"),
        ("--remote", "http://127.0.0.1:{port}", "a Spark Connect server is sc://host:port"),
    ],
)
def test_an_unreachable_master_or_server_is_exit_2_at_once(mixed, option, url, told) -> None:
    url = url.format(port=free_port())
    done = subprocess.run(
        [sys.executable, "-m", "subtrie.cli", "audit", str(mixed), option, url],
        capture_output=True,
        text=True,
        check=False,
        timeout=60,
    )
    assert done.returncode == 2
    assert len(done.stderr.splitlines()) == 1, done.stderr
    assert told in done.stderr


def test_the_running_session_is_of_the_master_that_is_given(spark) -> None:
    assert cluster_session(spark.conf.get("spark.master")) is spark
    with pytest.raises(SparkStartError, match=r"a session on .* is running"):
        cluster_session("local[7]")


@pytest.mark.parametrize("name", ["no\x1b[31m.log", "no\x1b[31m/*.log"])
def test_a_log_that_is_not_there_is_named_without_control_characters(tmp_path, name):
    done = CliRunner().invoke(app, ["audit", str(tmp_path / name)])
    assert (done.exit_code, "\x1b" in done.output) == (2, False)
    assert "no log in " in done.output
    assert name.replace("\x1b", "\\x1b") in done.output
