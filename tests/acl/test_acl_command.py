"""``subtrie why`` and ``subtrie acl``: answers, exit codes, JSON, SARIF, Markdown."""

from __future__ import annotations

import json
import re
from pathlib import Path

import pytest
from click.testing import CliRunner

from subtrie.cli.app import app

OLD = """authorization { users = [
  { user: orders, password: hidden-word, permissions: {
      publish: [ "p.safe.443.orders.>" ]
      subscribe: [ "p.safe.*.*.orders.>" ] } }
  { user: other, password: hidden-word }
] }
"""


@pytest.fixture
def files(tmp_path):
    (tmp_path / "old.conf").write_text(OLD)
    new = OLD.replace('[ "p.safe.443', '[\n "p.danger.666.orders.>"\n "p.safe.443')
    (tmp_path / "new.conf").write_text(new)
    return tmp_path


def run(*words, **options):
    done = CliRunner().invoke(app, [str(word) for word in words], **options)
    assert "hidden-word" not in done.output
    assert done.exception is None or isinstance(done.exception, SystemExit)
    return done


USER = ("--user", "orders")


def test_why(files):
    old = files / "old.conf"
    done = run("why", "p.safe.443.orders.x.y", "-p", old, *USER)
    assert (done.exit_code, done.output.split()[0]) == (0, "✓")
    done = run("why", "p.safe.444.orders.x", "-p", old, *USER)
    assert done.exit_code == 1
    assert "differs at token 2" in done.output
    done = run("why", "p.safe.*.*.orders.*", "-p", old, *USER, "--verb", "subscribe", "--json")
    assert json.loads(done.output)["rule"] == "p.safe.*.*.orders.>"
    assert run("why", "a..b", "-p", old, *USER).exit_code == 2
    assert run("why", "a", "-p", old, *USER, "--queue", "q").exit_code == 2
    done = run("why", "-p", old, *USER, "--json", input="p.safe.443.orders.a\nb\n")
    assert [json.loads(line)["allowed"] for line in done.output.splitlines()] == [True, False]


def test_several_users_and_none_named(files):
    done = run("why", "a", "-p", files / "old.conf")
    assert done.exit_code == 2
    assert "orders, other" in " ".join(done.output.split())


def test_show(files):
    done = run("acl", "show", files / "old.conf", *USER)
    assert "p.safe.443.orders.>" in done.output
    assert (
        json.loads(run("acl", "show", files / "old.conf", *USER, "--json").output)["subtrie"] == 1
    )
    assert "everything" in run("acl", "show", files / "old.conf", "--user", "other").output


def test_diff(files):
    old, new = files / "old.conf", files / "new.conf"
    assert run("acl", "diff", old, old, *USER).exit_code == 0
    assert run("acl", "diff", new, old, *USER).exit_code == 0
    done = run("acl", "diff", old, new, *USER)
    assert done.exit_code == 1
    assert done.output.startswith("+ publish p.danger.666.orders.> danger  such as")
    done = run("acl", "diff", new, *USER, "--no-new-access-than", old, "--json")
    assert done.exit_code == 1
    [added] = json.loads(done.output)["added"]
    assert (added["verb"], added["danger"], added["unless"]) == ("publish", True, [])
    done = run("acl", "diff", old, new, *USER, "--format", "markdown")
    assert "| publish ⚠ danger | <code>p.danger.666.orders.&gt;</code> |" in done.output
    assert run("acl", "diff", new).exit_code == 2
    assert run("acl", "diff", old, files / "nobody.conf").exit_code == 2


def test_sarif(files):
    done = run("acl", "diff", files / "old.conf", files / "new.conf", *USER, "--format", "sarif")
    log = json.loads(done.output)
    assert log["version"] == "2.1.0"
    [result] = log["runs"][0]["results"]
    assert (result["ruleId"], result["level"]) == ("new-access", "error")
    place = result["locations"][0]["physicalLocation"]
    assert place["region"]["startLine"] == 4
    assert place["artifactLocation"]["uri"].endswith("new.conf")
    moved = (files / "new.conf").read_text()
    (files / "new.conf").write_text("# another line\n" + moved)
    done = run("acl", "diff", files / "old.conf", files / "new.conf", *USER, "--format", "sarif")
    [again] = json.loads(done.output)["runs"][0]["results"]
    assert again["partialFingerprints"] == result["partialFingerprints"]
    assert again["locations"][0]["physicalLocation"]["region"]["startLine"] == 5


def test_lint(files):
    assert run("acl", "lint", files / "old.conf", *USER).exit_code == 0
    done = run("acl", "lint", files / "new.conf", *USER)
    assert done.exit_code == 1
    assert "new.conf:4: error danger" in done.output
    done = run("acl", "lint", files / "new.conf", *USER, "--json")
    assert json.loads(done.output.splitlines()[0])["rule"] == "danger"
    done = run("acl", "lint", files / "new.conf", *USER, "--sarif")
    rules = json.loads(done.output)["runs"][0]["tool"]["driver"]["rules"]
    assert [rule["id"] for rule in rules] == ["danger"]


def test_minimise(files):
    (files / "wide.json").write_text(
        json.dumps({"subtrie": 1, "publish_allow": ["a.*", "a.*.>", "a.b"], "subscribe_allow": []})
    )
    done = run("acl", "minimise", files / "wide.json")
    assert json.loads(done.output)["publish_allow"] == ["a.>"]
    assert "a.>" in run("acl", "minimise", files / "wide.json", "--format", "conf").output


def test_policy_tests(files):
    policy = files / "policy.txt"
    policy.write_text(
        "# who may\n\nyes publish p.safe.443.orders.x\nno publish p.danger.666.orders.x\n"
        "no subscribe >\nyes subscribe p.safe.*.*.orders.> workers\n"
    )
    assert run("acl", "test", policy, files / "old.conf", *USER).exit_code == 0
    done = run("acl", "test", policy, files / "new.conf", *USER)
    assert done.exit_code == 1
    assert "line 4" in done.output
    policy.write_text("perhaps publish a\n")
    assert run("acl", "test", policy, files / "old.conf", *USER).exit_code == 2
    policy.write_text("yes publish a q\n")
    assert run("acl", "test", policy, files / "old.conf", *USER).exit_code == 2


def test_T19_a_report_escapes_what_a_terminal_or_a_page_would_run(files):
    path = files / "odd.json"
    path.write_text(json.dumps({"subtrie": 1, "publish_allow": ["a.\x1b[31m|<b>`"]}))
    old = files / "none.json"
    old.write_text(json.dumps({"subtrie": 1, "publish_allow": []}))
    for form in ("text", "markdown"):
        done = run("acl", "diff", old, path, "--format", form)
        assert "\x1b" not in done.output
        if form == "markdown":
            assert "<b>" not in done.output
    assert "\x1b" not in run("acl", "show", path).output


def test_the_pre_commit_hook_and_the_action_call_what_there_is(files):
    """Their commands, run as a code host would run them."""
    root = Path(__file__).resolve().parents[2]
    [entry] = re.findall(r"entry: subtrie (.+)", (root / ".pre-commit-hooks.yaml").read_text())
    assert run(*entry.split(), files / "old.conf", files / "old.conf", *USER).exit_code == 0
    assert run(*entry.split(), files / "old.conf", files / "new.conf", *USER).exit_code == 1
    steps = re.findall(r"subtrie (acl diff .+?) >+ ", (root / "action.yml").read_text())
    assert len(steps) == 2
    for step in steps:
        words = step.replace('"$OLD"', "old.conf").replace('"$NEW"', "new.conf")
        words = words.replace('"${options[@]}"', "--user orders").split()
        words = [files / word if word.endswith(".conf") else word for word in words]
        assert run(*words).exit_code == 1
