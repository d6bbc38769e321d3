"""JSON that is nested too deeply is one clear error of every command that reads JSON."""

from __future__ import annotations

import base64
from pathlib import Path

import pytest
from click.testing import CliRunner

from subtrie._cli.app import app

_CONF = "authorization { users = [ { user: u } ] }\n"
_LOG = '[7] 2026/11/21 08:00:00.000000 [TRC] 127.0.0.1:4 - cid:1 - "v1:x" - <<- [PUB a.b 0]\n'
#: The commands, in whose arguments DEEP is the file.
COMMANDS = {
    "baseline": "acl lint CONF --baseline DEEP",
    "expectations": "audit LOG --expect DEEP",
    "rules of the audit": "audit LOG --rules DEEP",
    "rules": "acl lint DEEP",
    "the other rules": "acl diff CONF DEEP",
    "snapshot as an input": "audit DEEP",
    "snapshot of accounts": "acl flows DEEP",
    "snapshot of streams": "acl need pull ORDERS DEEP",
    "subscriptions": "who -s DEEP a.b",
    "operations": "wire DEEP",
    "vectors": "conformance DEEP",
    "manifest": "report json RUN",
    "jwt": "acl show JWT",
}


@pytest.mark.parametrize("start", ["[", '{"subtrie":', '{"connections":[', '{"server_id":'])
@pytest.mark.parametrize("reader", COMMANDS)
def test_deep_json_is_one_clear_error(tmp_path, reader, start):
    deep = start * (200_000 // len(start))
    run = tmp_path / "run"
    run.mkdir()
    part = base64.urlsafe_b64encode(deep.encode()).decode().rstrip("=")
    files = {"CONF": _CONF, "LOG": _LOG, "DEEP": deep, "JWT": f"{part}.{part}.AAAA"}
    for name, text in files.items():
        (tmp_path / name).write_text(text)
    (run / "audit.json").write_text(deep)
    paths = {**{name: str(tmp_path / name) for name in files}, "RUN": str(run)}
    arguments = [paths.get(each, each) for each in COMMANDS[reader].split()]
    done = CliRunner().invoke(app, arguments)
    assert isinstance(done.exception, SystemExit), repr(done.exception)
    assert done.exit_code in (1, 2), done.output
    assert done.output.strip()
    assert len(done.output) < 4000, "it does not repeat the file"
    assert str(Path(tmp_path)) in done.output or reader in ("vectors", "operations")
