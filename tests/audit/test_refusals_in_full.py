"""The whole text of refusals of an audit, with values that all differ from one another."""

from __future__ import annotations

import json
import os
import re
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from trace_writer import Trace

from subtrie.audit import audit as local_audit
from subtrie.audit import open_run
from subtrie.audit._answers.questions import load_code, load_rules
from subtrie.audit._readers.growing_log import advance, empty_offset, files_of
from subtrie.audit._readers.log_reader import divide, read_range, whole_logs
from subtrie.audit._results.expectations import read_expectations


@pytest.fixture(autouse=True)
def _here(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)


def _said(call, *arguments, **more):
    with pytest.raises((ValueError, OSError)) as caught:
        list(call(*arguments, **more) or ())
    return str(caught.value)


def _log(path, *texts, pid=7, start=0):
    trace = Trace()
    trace.tick(start)
    for text in texts:
        trace.publish(1, text)
        trace.tick(2)
    Path(path).write_text(trace.text().replace("[7] ", f"[{pid}] "))
    return Path(path).read_text().splitlines(keepends=True)


def test_of_lines_of_several_servers(tmp_path):
    one, other = _log("one.log", *"abcdefghij"), _log("other.log", *"klmnopqrst", pid=8)
    one = [line for line in one if line.startswith("[")]
    other = [line for line in other if line.startswith("[")]
    lines = [*one[:4], *other[:16], *one[4:], *other[16:]]
    path = tmp_path / "bo th.log"
    path.write_text("".join(lines))
    [log] = whole_logs([str(path)])
    [part] = divide(log, 1 << 30)
    assert _said(read_range, part) == (
        f"{path}, byte {len(''.join(lines[:20]))}: the lines of several servers alternate "
        f"(processes 8 and 7); give one log per server, as with: grep '^\\[7\\]' '{path}' > 7.log"
    )


def test_of_one_log_that_is_given_twice():
    _log("first.log", "a", "b")
    _log("second.log", "a", "b", "c")
    assert _said(whole_logs, ["first.log", "second.log"]) == (
        "first.log and second.log begin with the same line: give each log once"
    )


def test_of_logs_that_go_on():
    assert _said(advance, ["a.log"], {"version": 99, "logs": {}}) == (
        f"the checkpoint has offsets of version 99, not {empty_offset()['version']}"
    )
    _log("nats.log", "b", "c", start=60)
    offset = advance(["nats.log*"], empty_offset())
    _log("nats.log.1", "a")
    assert _said(advance, ["nats.log*"], offset) == (
        "nats.log.1 has lines from before those of nats.log, which was read already: read them "
        "with a new checkpoint"
    )
    assert _said(files_of, ["nats.log", "nats.log.1"], ["gone"]) == (
        "the first file of the log gone of nats.log, nats.log.1 was removed, and answers need all "
        "of it: keep the rotated files, or ask no question"
    )


def test_of_the_folder_of_a_result(tmp_path):
    _log("nats.log", "a", "b")
    run = tmp_path / "run"
    local_audit(["nats.log"], out=run)
    manifest = json.loads((run / "audit.json").read_text())
    table = manifest["tables"]["undelivered"]["file"]
    pq.write_table(pa.table({"count": ["many"]}), run / table)
    [missing] = re.findall("column (.*) is", _said(open_run(run).columns, "undelivered", ["plane"]))
    assert missing == "plane"
    assert _said(open_run(run).columns, "undelivered", ["plane"]) == (
        f"{run}/{table} is not a table of an audit: column plane is missing or of another type"
    )
    (run / "audit.json").write_text(json.dumps(manifest | {"schema": 99}))
    assert _said(open_run, run) == (
        f"{run} was written by a newer version of subtrie (schema 99, this version reads "
        f"{manifest['schema']})"
    )
    assert _said(local_audit, ["nats.log"], out=run) == (
        f"{_said(open_run, run)}; choose another output directory"
    )
    (run / "audit.json").write_text("{}")
    assert _said(open_run, run) == f"{run}/audit.json is not the manifest of an audit"
    del manifest["lines"]
    (run / "audit.json").write_text(json.dumps(manifest))
    assert _said(open_run, run) == (
        f"{run}/audit.json is not the manifest of an audit: lines is missing"
    )
    other = tmp_path / "other"
    other.mkdir()
    (other / "a").touch()
    assert _said(open_run, other) == f"{other} exists and is not an audit result"
    assert _said(local_audit, ["nats.log"], out=other) == (
        f"{other} exists and is not an audit result; choose another output directory"
    )


USER = '{ user: u, password: x, permissions: { publish: "a" } }'
RULES = {
    "users.conf": f"authorization {{ users: [ {USER} ] }}",
    "open.conf": "port: 4222",
    "two words.json": '{"subtrie": 1, "publish_allow": ["a"]}',
    "folder/a.shop.json": '{"subtrie": 1, "publish_allow": ["a"]}',
    "callout.conf": (
        "authorization { users: [ { user: u, password: x } ], auth_callout { issuer: "
        "AA5WUJ54Z23KILLCUOUNAKTPBVZWKMQVO4O6EQ5GHLAERIMLLHNCS47C, auth_users: [ v ] } }"
    ),
}
REFUSED = [
    (["users.conf", "u=users.conf"], "users.conf: there are rules of u already; give each once"),
    (["w=users.conf"], "users.conf has no user w"),
    (["open.conf"], "open.conf: no authorization: every connection may do everything, so there "
     "are no rules to compare with the traffic"),
    (["two words.json"], "two words.json: cannot tell which service it is for; write "
     "SERVICE=two words.json"),
    (["a.shop=folder"], "a.shop=folder: a folder has the rules of several services"),
    (["callout.conf"], "callout.conf: the permissions of u are not in this file: decided "
     "elsewhere, by the authorization callout of $G"),
]  # fmt: skip


@pytest.mark.parametrize(("sources", "text"), REFUSED)
def test_of_files_of_rules(sources, text):
    Path("folder").mkdir()
    for name, rules in RULES.items():
        Path(name).write_text(rules)
    assert _said(load_rules, sources) == text


def test_of_source_trees():
    for folder in ("one", "other"):
        Path(folder).mkdir()
        source = 'from subtrie.connector import Connector\na = Connector("z.shop")\n'
        (Path(folder) / "a.py").write_text(source)
    assert _said(load_code, ["one", "other"]) == "other: z.shop is in two source trees; give one"
    os.rename("one/a.py", "one/a.txt")
    os.rename("other/a.py", "other/a.txt")
    assert _said(load_code, ["one", "other"]) == "no service of a connector in one, other"


EXPECTED = [
    ('{"expect": [{"empty": "replies"}, {"empty": "nowhere"}, {"empty": "replies"}]}',
     "own.json: expectation 2: there is no table 'nowhere'"),
    ('[{"unique": "replies", "columns": ["plane", "x"]}]',
     "own.json: expectation 1: table 'replies' has no column 'x'"),
    ('[{"sum": ["replies.y"], "equals": [1]}]',
     "own.json: expectation 1: table 'replies' has no column 'y'"),
    ('[{"sum": ["counts.z"], "equals": [1]}]',
     "own.json: expectation 1: there is no counter 'z'"),
    ('[{"sum": [1], "at_most": 2}]', "own.json: expectation 1: at_most must be a list of terms"),
    ('[{"sum": [null], "equals": [1]}]',
     "own.json: expectation 1: a term is a number or a text, not None"),
    ("{}", "own.json: the file contains no expectations (a list `expect`)"),
    ("[" * 100_000, "own.json: it is nested too deeply"),
]  # fmt: skip


@pytest.mark.parametrize(("written", "text"), EXPECTED)
def test_of_expectations(written, text):
    Path("own.json").write_text(written)
    assert _said(read_expectations, "own.json") == text
