"""Inputs that random variations found: once a traceback, now an answer or one clear error."""

from __future__ import annotations

import json
import shutil
from pathlib import Path

import pytest
from click.testing import CliRunner

from subtrie._cli.app import app


def _run(*arguments: object) -> tuple[int, str]:
    done = CliRunner().invoke(app, [str(each) for each in arguments])
    assert done.exception is None or isinstance(done.exception, SystemExit), repr(done.exception)
    return done.exit_code, done.output


def test_wire_shows_bytes_of_a_log_that_are_not_utf_8_escaped(tmp_path):
    line = b'[7] 2026/11/21 08:00:00.000000 [TRC] 127.0.0.1:4 - cid:1 - "v\xff:x" - <<- [PING]\n'
    log = tmp_path / "trace.log"
    log.write_bytes(line.replace(b"cid:1", b"cid:1\xff") + line + b"\xc3 " + line)
    code, text = _run("wire", log)
    assert code in (0, 1)
    text.encode()


@pytest.mark.parametrize("verb", ["wire", "audit", "who"])
@pytest.mark.parametrize("depth", [150, 400, 700, 950])
def test_a_snapshot_with_deep_values_is_read_or_refused(tmp_path, verb, depth):
    """Deeper than the redaction goes, though not than the JSON reader."""
    page = '{"server_id":"A","connections":[],"more":' + "[" * depth + "]" * depth + "}"
    (tmp_path / "connz.json").write_text(page)
    more = {"who": ["-s"]}.get(verb, [])
    _run(verb, *more, tmp_path / "connz.json", *(["a.b"] if more else []))


@pytest.mark.parametrize("rows", [[1.5], ["a"], [None], [[]], {"a": 1}, "ab", 7, True])
@pytest.mark.parametrize("key", ["connections", "account_detail"])
def test_a_snapshot_with_rows_of_another_type_is_one_clear_error(tmp_path, key, rows):
    (tmp_path / "connz.json").write_text(json.dumps({"server_id": "A", key: rows}))
    for verb in ("flows", "show"):
        code, text = _run("acl", verb, tmp_path / "connz.json")
        assert code in (0, 2)
        assert text.strip()


@pytest.mark.parametrize("field", ["exports", "imports", "mappings", "jwt"])
@pytest.mark.parametrize("value", [[1.5], 7, "a", {"a": 7}, {"a": [7]}, [{"subject": 7}]])
def test_an_account_of_another_type_is_one_clear_error(tmp_path, field, value):
    detail = {"account_name": "A", field: value}
    (tmp_path / "accountz.json").write_text(
        json.dumps({"server_id": "A", "account_detail": detail})
    )
    code, text = _run("acl", "flows", tmp_path / "accountz.json")
    assert code in (0, 2)
    assert text.strip()


def test_a_table_with_a_date_beyond_the_calendar_is_one_clear_error(tmp_path):
    pq = pytest.importorskip("pyarrow.parquet")
    import pyarrow as pa

    (tmp_path / "trace.log").write_text(
        '[7] 2026/11/21 08:00:00.000000 [TRC] 127.0.0.1:4 - cid:1 - "v1:x" - <<- [PUB a.b 0]\n'
    )
    run = tmp_path / "run"
    assert _run("audit", tmp_path / "trace.log", "--out", run)[0] == 0
    file = run / json.loads((run / "audit.json").read_text())["tables"]["flows"]["file"]
    table = pq.read_table(file)
    place = table.schema.get_field_index("first")
    late = pa.array([2**62] * len(table), pa.int64()).cast(table.schema.field("first").type)
    pq.write_table(table.set_column(place, table.schema.field("first"), late), file)
    shutil.copytree(run, tmp_path / "other")
    assert len(table)
    for arguments in (("report", "json", run), ("report", "diff", run, tmp_path / "other")):
        code, text = _run(*arguments)
        assert code == 2
        assert Path(run).name in text or "other" in text


@pytest.mark.parametrize(
    ("text", "told"),
    [
        ("include 'a\0b'\n", "nats.conf:1: "),
        ('leafnodes { remotes: [ { url: "nats-leaf://[::1" } ] }\n', "nats.conf:1: 'url'"),
    ],
)
@pytest.mark.parametrize("verb", ["flows", "lint"])
def test_a_path_or_an_address_that_cannot_be_read_is_one_clear_error(tmp_path, text, told, verb):
    (tmp_path / "nats.conf").write_text(text)
    code, output = _run("acl", verb, tmp_path / "nats.conf")
    assert code == 2
    assert told in output


@pytest.mark.parametrize("content", [b"eyJ\xff", None])
@pytest.mark.parametrize("verb", [("acl", "lint"), ("acl", "show"), ("acl", "flows")])
def test_the_token_of_an_account_that_cannot_be_read_is_one_error(tmp_path, verb, content):
    user, account = tmp_path / "user.jwt", tmp_path / "account.jwt"
    user.write_text("eyJ")
    user.chmod(0o600)
    account.mkdir() if content is None else account.write_bytes(content)
    code, text = _run(*verb, user, "--account-jwt", account)
    assert code == 2
    assert len(text.splitlines()) <= 5
