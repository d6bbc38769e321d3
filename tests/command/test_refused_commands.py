"""The whole text with which a command refuses, with values that all differ from one another."""

from __future__ import annotations

from pathlib import Path

import pytest
from click.testing import CliRunner

from subtrie._cli.app import app

FILES = {
    "api.json": '{"subtrie": 1, "publish_allow": ["a"]}',
    "other.txt": "hello\n" * 10,
    "no-times.log": '[7] [TRC] 127.0.0.1:4 - cid:1 - "v1:x" - <<- [PUB a 2]\n',
    "module.py": "x = 1",
    "empty/module.py": "x = 1",
    "a.conf": 'authorization { users: [ { user: u, password: "x" } ] }',
}

#: Words, and the last line that they are refused with.
REFUSED = {
    "health shop.example --nats nats://u:p@127.0.0.1:9 --timeout 0.25": (
        "shop.example: no connection to nats://127.0.0.1:9 within 0.25 s"
    ),
    "run module.py": "Error: 'module.py' is a file; give its module: module",
    "run empty/module.py": "Error: 'empty/module.py' is a file; give its module: empty.module",
    "audit other.txt": (
        "subtrie audit: other.txt: no line of nats-server among the first; is it a trace log?"
    ),
    "audit no-times.log --follow --format iceberg --out o": (
        "subtrie audit: --format iceberg writes a result once: give no --follow with it"
    ),
    "gencreds empty --plane p": (
        "Error: empty: no service found; Connector('host.name') in the source declares one"
    ),
    "acl need pull ORDERS": (
        "Error: the subjects of ORDERS are not known; give --subject, or a saved answer of "
        "/jsz?accounts=1&streams=1&consumers=1&config=1"
    ),
    "acl need push ORDERS/work": (
        "Error: the deliver subject of ORDERS/work is not known; give --deliver, or a saved answer "
        "of /jsz?accounts=1&streams=1&consumers=1&config=1"
    ),
}  # fmt: skip


@pytest.fixture(autouse=True)
def _here(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    for name, text in FILES.items():
        Path(name).parent.mkdir(exist_ok=True)
        Path(name).write_text(text)


@pytest.mark.parametrize("words", REFUSED)
def test_of_a_command(words):
    done = CliRunner().invoke(app, words.split())
    assert done.exit_code in (1, 2), done.output
    assert done.output.splitlines()[-1] == REFUSED[words]


def test_of_what_a_consumer_may_filter():
    done = CliRunner().invoke(app, ["acl", "need", "consumer-create", "ORDERS/work"])
    assert (
        "CONSUMER.CREATE.ORDERS.work lets the client choose the filter; with --subject the broker "
        "holds it to that filter"
    ) in done.output
