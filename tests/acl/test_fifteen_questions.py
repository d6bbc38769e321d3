"""The questions of the page about a review: each command runs, and a live broker agrees."""

from __future__ import annotations

import json
import re
import shlex
import time
from pathlib import Path

import nkeys
import pytest
from click.testing import CliRunner
from operators import Operator, key, token
from raw_client import RawClient

from servers import serving
from subtrie._cli.app import app

PAGE = (Path(__file__).parents[2] / "docs" / "permission-review.md").read_text()
TABLE = PAGE[PAGE.index("## Fifteen questions") : PAGE.index("`STORE` is a folder")]
COMMANDS = re.findall(r"\| `subtrie (acl .+?)` \|", TABLE)
CONF = re.search(r"```text file=nats\.conf\n(.*?)```", PAGE, re.DOTALL)[1]


@pytest.fixture
def site(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    Path("nats.conf").write_text(CONF)
    operator = Operator({"template": {"pub": {"allow": ["svc.{{name()}}.>"]}}}, {"name": "PAY"})
    Path("STORE").mkdir()
    jwt, _ = operator.user({}, scoped=True, claims={"name": "scoped"})
    Path("STORE/scoped.jwt").write_text(jwt)
    soon = {"exp": int(time.time()) + 86_400}
    public = key(nkeys.PREFIX_BYTE_USER).public_key.decode()
    lists = {"type": "user", "pub": {"allow": ["a"]}, "sub": {"allow": ["b"]}}
    Path("STORE/soon.jwt").write_text(token(operator.account, public, "soon", lists, soon))
    Path("STORE/PAY.jwt").write_text(operator.account_jwt)
    return tmp_path


def run(command):
    done = CliRunner().invoke(app, shlex.split(command))
    assert done.exception is None or isinstance(done.exception, SystemExit), done.exception
    return done


def test_there_are_fifteen():
    assert TABLE.count("? |") == 15
    assert len(COMMANDS) == 14  # one answers two questions


def _is_local(command):
    return "--git" not in command and "--log" not in command  # tested with a repository, a log


@pytest.mark.parametrize("command", list(filter(_is_local, COMMANDS)))
def test_each_command_answers(command, site):
    done = run(command)
    assert "Usage" not in done.output
    assert "Error" not in done.output
    assert done.output


def test_the_answers_about_one_store(site):
    assert "✓ svc.scoped.x" in run(COMMANDS[11]).output
    assert "soon" in run(COMMANDS[13]).output


def test_a_live_broker_gives_the_same_answers(site):
    config = re.sub(r"\$(\w+)_PASSWORD", "open", CONF[: CONF.index("leafnodes")])
    config = re.sub(r"(?m)^(port|http):.*\n", "", config)
    config = config.replace("/var/lib/nats", str(site / "js"))
    with serving(site / "live", config) as url:
        clients = {
            each: RawClient(url, user=each, **{"pass": "open"})
            for each in ("ops", "api", "worker", "invoices")
        }
        for command in COMMANDS:
            if not command.startswith("acl who"):
                continue
            words = shlex.split(command)
            subject = words[2].partition(":")[2]
            verb = words[words.index("--verb") + 1] if "--verb" in words else "publish"
            rows = [json.loads(line) for line in run(f"{command} --json").output.splitlines()]
            allowed = {
                row["user"].rpartition("/")[2]: row["known_as"] or subject
                for row in rows if row["allowed"]
            }  # fmt: skip
            for name in ("api", "worker", "invoices"):
                client = clients[name]
                if verb == "publish":
                    if name == "invoices":
                        continue  # of another account
                    client.publish(subject)
                    client.flush()
                    assert (not client.refused) is (name in allowed), (command, name)
                    continue
                pattern = allowed.get(name, subject)
                client.subscribe(pattern, "1")
                client.flush()
                refused = bool(client.refused)
                text = subject.replace("*", "7")
                clients["api"].publish(text)
                clients["api"].flush()
                found = list(clients["api"].messages) if name == "api" else []
                client.flush()
                found += client.messages
                client.unsubscribe("1")
                assert bool(found and not refused) is (name in allowed), (command, name)
        for each in clients.values():
            each.close()
