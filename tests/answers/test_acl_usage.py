"""``subtrie acl usage`` on the results of real audits, and what the page about it shows."""

from __future__ import annotations

import json
import re
import shlex
import shutil
from pathlib import Path
from typing import Any
from xml.etree import ElementTree

import pytest
from click.testing import CliRunner

from subtrie._cli.app import app
from subtrie._cli.nsc import edit_user
from subtrie.acl import Permissions
from subtrie.audit._answers.questions import load_rules
from subtrie.spark import Questions, audit

PAGE = Path(__file__).parents[2] / "docs" / "permission-review.md"


@pytest.fixture(scope="module")
def folder(spark: Any, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The files of the page; a run with rules and one without."""
    folder = tmp_path_factory.mktemp("usage")
    for name, text in re.findall(r"```text file=(\S+)\n(.*?)```", PAGE.read_text(), re.S):
        (folder / name).write_text(text)
    log = [str(folder / "trace.log")]
    questions = Questions(rules=load_rules([folder / "nats.conf"]))
    audit(spark, log, questions=questions, out=str(folder / "run"))
    audit(spark, log, questions=Questions(), out=str(folder / "plain"))
    return folder


@pytest.fixture
def usage(folder: Path, monkeypatch: pytest.MonkeyPatch) -> Any:
    """Run the command in the folder, and return its exit code and output."""
    monkeypatch.chdir(folder)

    def run(*words: object, run: str = "run", given: str | None = None) -> tuple[int, str]:
        arguments = ["acl", "usage", *map(str, words), "--traffic", run]
        done = CliRunner().invoke(app, arguments, input=given)
        assert done.exception is None or isinstance(done.exception, SystemExit), done.exception
        return done.exit_code, done.output

    return run


def test_a_run_tells_what_the_page_shows_of_its_log(usage: Any) -> None:
    shown = re.findall(
        r"^\$ subtrie acl usage (.*) \|\| echo.*\n((?:.+\n)+?)exit code 1\n", PAGE.read_text(), re.M
    )
    assert len(shown) == 2
    for command, expected in shown:
        files, _, options = command.partition(" --log trace.log")
        assert usage(*shlex.split(files), *shlex.split(options)) == (1, expected)


def test_without_rules_the_run_tells_the_same_less_exactly(usage: Any) -> None:
    ruled = usage("nats.conf")[1].splitlines()
    plain = usage("nats.conf", run="plain")[1].splitlines()
    assert plain[1:] == ruled[1:]
    assert (
        plain[0]
        == f"{ruled[0]}; messages are not counted by rule, as the audit had no --rules with it"
    )


def test_machine_formats(usage: Any) -> None:
    objects = [json.loads(line) for line in usage("nats.conf", "--json")[1].splitlines()]
    unused = {(e["user"], e["entry"]) for e in objects if e.get("state") == "unused"}
    assert unused == {("api", "$JS.API.>"), ("api", "orders.*"), ("worker", "_INBOX.worker.>")}
    (proposal,) = (e for e in objects if e["kind"] == "proposal" and e["user"] == "api")
    assert proposal["added"] == [{"verb": "publish", "entry": "orders.new"}]
    (run,) = json.loads(usage("nats.conf", "--sarif")[1])["runs"]
    levels = {each["ruleId"]: each["level"] for each in run["results"]}
    assert {each["id"] for each in run["tool"]["driver"]["rules"]} == set(levels)
    assert levels["unused-rule"] == "warning"
    assert levels["narrower"] == "note"
    cases = ElementTree.fromstring(usage("nats.conf", "--format", "junit")[1])
    assert int(cases.attrib["failures"]) == sum(each == "warning" for each in levels.values()) + 3
    assert "unused-rule" in usage("nats.conf", "--format", "markdown")[1]


def test_what_is_copied_is_the_proposal(usage: Any, tmp_path: Path) -> None:
    code, text = usage("nats.conf", "--user", "api", "--as", "config")
    assert code == 1
    file = tmp_path / "new.conf"
    block = text.replace("permissions = ", "permissions: ")
    file.write_text(f"authorization {{ users: [ {{ user: api, password: x, {block} }} ] }}\n")
    assert Permissions.load(file).publish_allow == ("orders.new",)
    code, text = usage("nats.conf", "--user", "api", "--as", "creds")
    plan = json.loads(text)
    file = tmp_path / "api.json"
    file.write_text(json.dumps(plan["permissions"]))
    assert Permissions.load(file).publish_allow == ("orders.new",)
    assert plan["jwt"]["fits"]
    # What the proposal leaves has nothing unused; the rest is what the broker accepted.
    code, text = usage(file)
    assert "not-covered" in text
    assert "unused" not in text


def test_nsc_removes_an_entry_from_all_lists_and_adds_it_where_it_stays() -> None:
    before = Permissions(publish_allow=["a", "b"], publish_deny=["b.c"], subscribe_allow=["a"])
    after = Permissions(publish_allow=["b"], publish_deny=["b.c"], subscribe_allow=["a"])
    lines = edit_user("me", "", before, after).splitlines()
    assert [each.strip(" \\") for each in lines] == [
        "nsc edit user --name me", "--rm a", "nsc edit user --name me", "--allow-sub a",
    ]  # fmt: skip
    assert edit_user("me", "", before, before) == ""
    # A token with an empty list allows everything, so nothing is a deny of everything.
    nothing = edit_user("me", "APP", after, Permissions(publish_allow=[], subscribe_allow=["a"]))
    assert "--deny-pub '>'" in nothing
    assert nothing.startswith("nsc edit user --account APP")
    assert "--allow-pub" not in edit_user("me", "", Permissions(publish_allow=["a"]), Permissions())


def test_nothing_to_report_is_exit_0(usage: Any, tmp_path: Path) -> None:
    file = tmp_path / "api_nats.json"
    rules = {"publish_allow": ["orders.new"], "subscribe_allow": ["_INBOX.>", "orders.*.done"]}
    file.write_text(json.dumps({"subtrie": 1, **rules}))
    code, text = usage(file)
    assert (code, text.splitlines()[1:]) == (0, ["✓ every rule was used"])
    given = usage("api=-", given=file.read_text())
    assert given == (code, text)


@pytest.mark.parametrize(
    ("words", "run", "message"),
    [
        (["nats.conf"], "gone", "gone: not a result of subtrie audit --out"),
        (["nats.conf"], ".", ".: not a result of subtrie audit --out"),
        (["nats.conf"], "nats.conf", "nats.conf: not a result of subtrie audit --out"),
        (["nats.conf"], "bare", "made without --rules and without --answers"),
        (["nats.conf"], "old", "is of an older version"),
        (["nats.conf", "--user", "invoices"], "run", "no traffic of invoices; it has api, worker"),
        (["nats.conf", "--user", "nobody"], "run", "no such user"),
        (["other.json"], "run", "no traffic of other; it has api, worker; write USER=FILE"),
        (["nats.conf", "api=other.json"], "run", "ORDERS/api and api have one name"),
        (["-"], "run", "write USER=-"),
        (["gone.conf"], "run", "gone.conf: no such file"),
    ],
)
def test_bad_input_is_exit_2(folder: Path, usage: Any, words: Any, run: str, message: str) -> None:
    (folder / "other.json").write_text(json.dumps({"subtrie": 1, "publish_allow": ["a"]}))
    for name in ("bare", "old"):
        shutil.copytree(folder / "plain", folder / name, dirs_exist_ok=True)
        manifest = json.loads((folder / "plain" / "audit.json").read_text())
        if name == "bare":
            manifest["tables"]["flows"]["rows"] = 0
        else:
            del manifest["tables"]["flows"]
        (folder / name / "audit.json").write_text(json.dumps(manifest))
    given = (folder / "other.json").read_text()
    code, text = usage(*words, run=run, given=given)
    assert (code, message in text) == (2, True), text
    assert text.count("\n") == 1
