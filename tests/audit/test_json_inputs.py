"""JSON files that are not snapshots, given as logs: each is refused, and told what would work."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from trace_writer import Trace

from subtrie.audit._answers.questions import load_rules
from subtrie.audit._readers.log_files import input_kind, shown_path
from subtrie.spark import audit

CALL = "p1.safe.443.{}.b_com._.GET.x"


@pytest.fixture
def log(tmp_path) -> Path:
    trace = Trace()
    trace.publish(1, CALL.format("a_com"))
    path = tmp_path / "trace.log"
    path.write_text(trace.text())
    return path


def rules_in(folder: Path, count: int) -> list[Path]:
    folder.mkdir()
    paths = [folder / f"s{number}.shop.json" for number in range(count)]
    for path in paths:
        path.write_text('{"subtrie": 1, "publish_allow": ["a.>"]}')
    return paths


def test_rules_that_the_shell_took_for_logs_are_refused(run, log, tmp_path):
    """``--rules rules/*.json`` gave one file to the option, and made eleven of twelve logs."""
    first, *others = rules_in(tmp_path / "rules", 12)
    done = run(log, "--rules", first, *others)
    assert done.exit_code == 2
    (line,) = done.stderr.splitlines()
    assert str(others[0]) in line
    assert "--rules" in line
    assert f"--rules {tmp_path / 'rules'}" in line  # the folder, which the option takes


def test_the_option_rules_takes_a_folder_of_json_files(tmp_path):
    paths = rules_in(tmp_path / "rules", 12)
    assert set(load_rules([tmp_path / "rules"])) == {path.stem for path in paths}
    assert load_rules([tmp_path / "rules"]) == load_rules(paths)


def test_no_file_of_a_folder_of_rules_is_left_out(tmp_path):
    rules_in(tmp_path / "rules", 2)
    (tmp_path / "rules" / "README.md").write_text("Rules of ours.")
    with pytest.raises(ValueError, match=r"README.md"):
        load_rules([tmp_path / "rules"])


def test_a_folder_of_rules_is_about_several_services(tmp_path):
    rules_in(tmp_path / "rules", 2)
    with pytest.raises(ValueError, match=r"a.shop=.*several services"):
        load_rules([f"a.shop={tmp_path / 'rules'}"])


def test_a_log_of_dockers_json_driver_is_read(run, log, tmp_path):
    """It was one unparseable line, then refused."""
    wrapped = tmp_path / "c-json.log"
    lines = log.read_text().splitlines(keepends=True)
    wrapped.write_text(
        "".join(json.dumps({"log": line, "stream": "stderr", "time": "t"}) + "\n" for line in lines)
    )
    done, plain = run(wrapped), run(log)
    assert done.exit_code == plain.exit_code == 0
    assert done.stdout == plain.stdout


@pytest.mark.parametrize(
    "text",
    [
        '{"level":"info","msg":"hello"}\n{"level":"info","msg":"bye"}\n',
        '{"varz": {"connections_total": 4}}',
        "{}",
        '{"connections": [',
        "{" * 100_000,
        '  \n{"a": "\xff"}',
    ],
)
def test_other_json_is_not_a_snapshot(run, tmp_path, text):
    """Any file that began with a brace was one."""
    path = tmp_path / "other.json"
    path.write_bytes(text.encode("latin-1"))
    done = run(path)
    assert done.exit_code == 2
    assert "/connz, /subsz or /routez" in done.stderr
    with pytest.raises(ValueError, match=r"other.json: .*/connz"):
        audit(None, [str(path)])


@pytest.mark.parametrize(
    "document",
    [
        {"connections": []},
        {"routes": None},
        {"subscriptions_list": [{"subject": "a", "cid": 1}]},
        {"num_subscriptions": 0},
    ],
)
def test_a_snapshot_is_known_by_its_list(tmp_path, document):
    path = tmp_path / "saved.json"
    path.write_text(json.dumps({"server_id": "A", "now": "x" * 10_000} | document))
    assert input_kind(str(path)) == "snapshot"


def test_a_document_may_begin_with_blanks(tmp_path):
    path = tmp_path / "connz.json"
    for blanks, kind in ((0, "snapshot"), (4_000, "snapshot"), (100_000, "log")):
        path.write_text(" " * blanks + '{"connections":[]}')
        assert input_kind(str(path)) == kind


@pytest.mark.parametrize("scheme", ["s3", "S3", "gs+ssl"])
def test_who_reads_a_store_is_not_shown(scheme):
    shown = shown_path(f"{scheme}://user:secret@host/log?region=x&key=secret")
    assert shown == f"{scheme}://[REDACTED]@host/log?region=x&key=[REDACTED]"


@pytest.mark.parametrize(
    ("page", "document"),
    [
        ("varz", {"connections": 3, "max_connections": 9, "max_payload": 1, "in_msgs": 0}),
        ("jsz", {"streams": 1, "consumers": 1, "messages": 2, "storage": 3}),
        ("leafz", {"leafnodes": 0, "leafs": None}),
        ("gatewayz", {"inbound_gateways": {}, "outbound_gateways": {}}),
        ("healthz", {"status": "ok"}),
    ],
)
def test_another_page_of_the_server_is_named(run, tmp_path, page, document):
    """It was "neither a log nor a saved response", and /varz an unparseable line."""
    path = tmp_path / "saved.json"
    path.write_text(json.dumps(document))
    done = run(path)
    assert done.exit_code == 2
    assert f"this is a response of /{page}, which lists no subscriptions" in done.stderr
    assert ("--streams" in done.stderr) == (page == "jsz")


def test_an_input_without_microbus_prints_no_empty_table(run, tmp_path):
    """Eleven empty tables of Microbus stood between the verdict and the counts."""
    path = tmp_path / "connz.json"
    path.write_text(json.dumps({"connections": []}))
    assert "without rows" not in run(path).stdout
    (line,) = [each for each in run(path, "--long").stdout.splitlines() if "without rows" in each]
    assert line.startswith("without rows: call_graph, replies, undelivered, ")
