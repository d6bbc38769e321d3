"""The questions of the page about a review: each command runs, and a live broker agrees."""

from __future__ import annotations

import json
import re
import shlex
import subprocess
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
#: What the page says of the output of each command: the texts that are in it.
ANSWERS = {
    command: [each for each in re.findall(r"`(.+?)`", answer) if "…" not in each]
    for command, answer in re.findall(r"\| `subtrie (acl .+?)` \| (.*) \|", TABLE)
}
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


#: The trace log of the page.
LOG = re.search(r"```text file=trace\.log\n(.*?)```", PAGE, re.DOTALL)[1]


def _is_local(command):
    return "--git" not in command and "--log" not in command


def git(*words):
    settings = ("-c", "user.name=t", "-c", "user.email=t@example.com")
    done = subprocess.run(["git", *settings, *words], capture_output=True, text=True, check=True)
    return done.stdout


def _local(config, folder):
    """The configuration of the page with passwords, and without what a test cannot serve."""
    config = re.sub(r"\$(\w+)_PASSWORD", "open", config[: config.index("leafnodes")])
    config = re.sub(r"(?m)^(port|http):.*\n", "", config)
    return config.replace("/var/lib/nats", str(folder / "js"))


def test_what_a_change_grants_is_told_from_a_repository(site):
    """The command with --git, against a broker before the change and after it."""
    [command] = [each for each in COMMANDS if "--git" in each]
    git("init", "-q", "-b", "main")
    git("add", "nats.conf")
    git("commit", "-qm", "the deployment")
    git("update-ref", "refs/remotes/origin/main", "HEAD")
    assert run(command).output == "✓ no difference\n"
    assert ANSWERS[command] == ["✓ no difference"]
    changed = CONF.replace('publish: "ask.>"', 'publish: [ "ask.>", "orders.>" ]')
    assert changed != CONF
    Path("nats.conf").write_text(changed)
    done = run(command)
    assert (done.exit_code, "+ publish orders.>" in done.output) == (1, True), done.output
    for name, text, refused in (("before", CONF, True), ("after", changed, False)):
        with serving(site / name, _local(text, site / name)) as url:
            client = RawClient(url, user="invoices", **{"pass": "open"})
            client.publish("orders.x")
            client.flush()
            assert bool(client.refused) is refused
            client.close()


def test_what_is_held_and_what_was_refused_is_told_from_traffic(site):
    """The command with --log, for the log of the page and for that of a running broker."""
    [command] = [each for each in COMMANDS if "--log" in each]
    Path("trace.log").write_text(LOG)
    done = run(command)
    assert done.exit_code == 1
    [tried] = re.findall(r"the same: `tried` \| `(.+)` \|", TABLE)
    assert all(each in done.output for each in [*ANSWERS[command], tried]), done.output
    assert "warning unused-rule: ORDERS/api: publish $JS.API.> was not used" in done.output
    assert "warning tried: ORDERS/worker: publish orders.audit.7 was refused" in done.output
    config = "debug: true\ntrace: true\n" + _local(CONF, site / "traced")
    with serving(site / "traced", config) as url:
        login = {"user": "worker", "pass": "open", "name": "worker", "lang": "go"}
        client = RawClient(url, **login)
        client.publish("orders.audit.7")
        client.publish("orders.7.done")
        client.flush()
        assert client.refused == [("Publish", "orders.audit.7", None)]
        client.close()
    Path("trace.log").write_text((site / "traced" / "server.log").read_text())
    done = run(command)
    assert "unused-user: BILLING/invoices: no traffic of this user" in done.output, done.output
    assert "tried: ORDERS/worker: publish orders.audit.7 was refused" in done.output
    assert "unused-user: ORDERS/worker" not in done.output


@pytest.mark.parametrize("command", list(filter(_is_local, COMMANDS)))
def test_each_command_answers(command, site):
    done = run(command)
    assert "Usage" not in done.output
    assert "Error" not in done.output
    assert done.output
    told = ANSWERS[command]
    assert all(each in done.output for each in told), done.output
    if command.startswith("acl who") and told:
        assert ("✓" in done.output) is any("✓" in each for each in told)


def test_the_answers_about_one_store(site):
    assert "✓ svc.scoped.x" in run(COMMANDS[11]).output
    assert "soon" in run(COMMANDS[13]).output


def test_a_live_broker_gives_the_same_answers(site):
    with serving(site / "live", _local(CONF, site)) as url:
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
