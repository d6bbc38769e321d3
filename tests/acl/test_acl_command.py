"""``subtrie why`` and ``subtrie acl``: decisions, exit codes, JSON, SARIF, Markdown."""

from __future__ import annotations

import json
import re
from pathlib import Path

import jsonschema
import pytest
from click.testing import CliRunner
from sarif_schema import checked

from subtrie._cli.app import app
from subtrie.acl import Permissions, ResponseLimit

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


def test_several_users_without_user_are_an_error(files):
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
    assert done.output.startswith("+ publish p.danger.666.orders.> danger  example:")
    done = run("acl", "diff", new, *USER, "--no-new-access-than", old, "--json")
    assert done.exit_code == 1
    [added] = json.loads(done.output)["added"]
    assert (added["verb"], added["danger"], added["unless"]) == ("publish", True, [])
    done = run("acl", "diff", old, new, *USER, "--format", "markdown")
    assert "| publish ⚠ danger | `p.danger.666.orders.>` |" in done.output
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
    assert "new.conf:4:2: error danger" in done.output
    assert done.output.endswith("1 finding: 1 error\n")
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


def test_a_policy_of_a_thousand_mistakes_is_told_in_a_hundred_lines(files):
    policy = files / "policy.txt"
    policy.write_text("maybe publish a\n" * 1000)
    done = run("acl", "test", policy, files / "old.conf", *USER)
    assert done.exit_code == 2
    lines = done.stderr.splitlines()
    assert len(lines) == 101
    assert lines[-1] == f"{policy}: and 900 more"
    policy.write_text("maybe publish a\n" * 101)
    done = run("acl", "test", policy, files / "old.conf", *USER)
    assert done.stderr.splitlines()[-1] == f"{policy}: and 1 more"


@pytest.mark.requirement("T19")
def test_a_report_escapes_terminal_and_html_sequences(files):
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


def test_lint_and_diff_of_every_user(files):
    done = run("acl", "lint", files / "new.conf", "--every-user")
    assert done.exit_code == 1
    assert "new.conf:4:2: error danger: orders: publish" in done.output
    assert "plane-wildcard: other: publish > spans" in done.output
    less = OLD.replace("  { user: other, password: hidden-word }\n", "")
    (files / "less.conf").write_text(less)
    done = run("acl", "diff", files / "less.conf", files / "new.conf", "--every-user")
    assert done.exit_code == 1
    assert "orders:\n+ publish p.danger" in done.output
    assert "other:\n+ publish >" in done.output
    done = run("acl", "diff", files / "old.conf", files / "less.conf", "--every-user", "--json")
    assert done.exit_code == 0
    users = json.loads(done.output)["users"]
    assert [len(users[name]["removed"]) for name in ("orders", "other")] == [0, 2]
    done = run("acl", "diff", files / "old.conf", files / "new.conf", "--every-user", "--format",
               "markdown")  # fmt: skip
    assert "**added** for `orders`" in done.output
    (files / "one.json").write_text(Permissions().dump())
    assert run("acl", "diff", files / "one.json", files / "old.conf", "--every-user").exit_code == 2
    same = run("acl", "diff", files / "one.json", files / "one.json", "--every-user")
    assert same.exit_code == 0


def test_users_of_a_callout_are_not_determined(files):
    key = "AA5WUJ54Z23KILLCUOUNAKTPBVZWKMQVO4O6EQ5GHLAERIMLLHNCS47C"
    callout = f"auth_callout {{ issuer: {key}, auth_users: [ orders ] }}"
    asked = f"{OLD.removesuffix('] }' + chr(10))}]\n {callout} }}\n"
    (files / "asked.conf").write_text(asked)
    done = run("acl", "lint", files / "asked.conf", "--every-user")
    assert done.exit_code == 2
    assert "error not-determined: other: what is allowed is decided elsewhere" in done.output
    assert run("acl", "lint", files / "asked.conf", "--user", "other").exit_code == 2
    # An unknown result is not "nothing is added".
    done = run("acl", "diff", files / "old.conf", files / "asked.conf", "--every-user")
    assert done.exit_code == 2
    assert "not compared: permissions of other, decided by the authorization" in done.output


def test_policy_tests_name_their_files(files):
    policy = files / "policy.txt"
    policy.write_text(
        "of old.conf orders\nyes publish p.safe.443.orders.x\n"
        "yes receive p.safe.1.2.orders.a p.safe.*.*.orders.>\n"
        "of old.conf other\nyes subscribe > workers\n"
    )
    assert run("acl", "test", policy).exit_code == 0
    policy.write_text("no publish a\n")
    assert run("acl", "test", policy).exit_code == 2
    policy.write_text("of nobody.conf\nno publish a\n")
    assert run("acl", "test", policy).exit_code == 2
    policy.write_text("# nothing\n")
    assert run("acl", "test", policy, files / "old.conf", *USER).exit_code == 2
    policy.write_text("no subscribe 'a\n")
    assert run("acl", "test", policy, files / "old.conf", *USER).exit_code == 2


def test_a_line_about_receiving_may_name_a_queue(files):
    rules = files / "rules.json"
    rules.write_text(Permissions(subscribe_allow=["a.> workers"]).dump())
    policy = files / "policy.txt"
    policy.write_text(
        "yes receive a.b a.> workers\nno receive a.b a.> others\nno receive a.b a.>\n"
    )
    done = run("acl", "test", policy, rules)
    assert done.exit_code == 0, done.output


def test_a_decision_that_is_not_determined_is_never_as_expected(files):
    (files / "chance.conf").write_text(
        "authorization { users: [ { user: u, password: open, permissions: { publish: b.0 } } ] }"
        '\nmappings { a: "b.{{random(2)}}" }\n'
    )
    policy = files / "policy.txt"
    for said in ("yes", "no"):
        policy.write_text(f"{said} publish a\n")
        done = run("acl", "test", policy, files / "chance.conf", "--user", "u")
        assert (done.exit_code, done.output[0]) == (1, "?")


def test_an_option_about_the_file_is_not_about_a_file_that_a_policy_names(files):
    (files / "accounts.conf").write_text(
        "accounts { A: { users: [ { user: u, password: open, permissions: { publish: a } } ] }\n"
        "B: { users: [ { user: v, password: open } ] } }"
    )
    policy = files / "policy.txt"
    policy.write_text("yes publish a\nof accounts.conf v\nyes publish b\n")
    done = run("acl", "test", policy, files / "accounts.conf", "--user", "u", "--account", "A")
    assert done.exit_code == 0, done.output


def test_policy_tests_of_the_broker(files):
    rules = files / "rules.json"
    rules.write_text(Permissions(subscribe_allow=["a.>"], subscribe_deny=["a.b"]).dump())
    policy = files / "policy.txt"
    policy.write_text("yes subscribe a.*\n")
    assert run("acl", "test", policy, rules).exit_code == 1
    assert run("acl", "test", policy, rules, "--model", "broker").exit_code == 0
    done = run("acl", "test", policy, rules, "--json")
    assert json.loads(done.output)["right"] is False


def test_sarif_is_valid_by_the_schema_of_the_standard(files, monkeypatch):
    broken = json.loads(run("acl", "lint", files / "new.conf", *USER, "--sarif").output)
    del broken["runs"][0]["results"][0]["message"]
    with pytest.raises(jsonschema.ValidationError):
        checked(json.dumps(broken))
    rules = files / "odd name #1.json"
    everything = Permissions(
        publish_allow=["a\u200bb", "*.x", "a.b", "a.*", "p.danger.666.x", "z"],
        publish_deny=["z", "y"],
        subscribe_allow=["_INBOX.>", "_INBOX.> q"] + [f"{n}." + "t" * 90 for n in range(40)],
        allow_responses=ResponseLimit(),
    )
    rules.write_text(everything.dump())
    report = checked(run("acl", "lint", rules, "--sarif").output)
    found = report["runs"][0]["results"]
    assert {each["ruleId"] for each in found} == {
        "danger", "plane-wildcard", "shadowed", "redundant", "dead", "inbox", "allow-responses",
        "size",
    }  # fmt: skip
    prints = [each["partialFingerprints"]["subtrieRule/v1"] for each in found]
    assert len(set(prints)) == len(prints)
    [place] = {
        each["locations"][0]["physicalLocation"]["artifactLocation"]["uri"] for each in found
    }
    assert place == rules.as_uri()
    monkeypatch.chdir(files)
    report = checked(run("acl", "lint", rules.name, "--sarif").output)
    physical = report["runs"][0]["results"][0]["locations"][0]["physicalLocation"]
    assert physical["artifactLocation"]["uri"] == "odd%20name%20%231.json"
    # Our JSON has lines too: each region is the line that holds the entry.
    lines = rules.read_text().splitlines()
    for each in report["runs"][0]["results"]:
        line = each["locations"][0]["physicalLocation"]["region"]["startLine"]
        if each["ruleId"] in ("danger", "shadowed"):
            entry = each["message"]["text"].split()[1]
            assert f'"{entry}' in lines[line - 1]
    for extra in ((), ("--every-user",)):
        (files / "none.json").write_text(Permissions(publish_allow=(), subscribe_allow=()).dump())
        done = run("acl", "diff", "none.json", rules.name, "--format", "sarif", *extra)
        checked(done.output)
    checked(run("acl", "diff", "none.json", "none.json", "--format", "sarif").output)


def test_a_grant_that_is_part_of_an_entry_is_found_at_its_line(files):
    old, new = files / "old.json", files / "new.json"
    old.write_text(Permissions(publish_allow=["c", "a.>"], publish_deny=["a.b.>"]).dump())
    new.write_text(Permissions(publish_allow=["c", "a.>"], publish_deny=[]).dump())
    report = checked(run("acl", "diff", old, new, "--format", "sarif").output)
    [result] = report["runs"][0]["results"]
    line = result["locations"][0]["physicalLocation"]["region"]["startLine"]
    assert new.read_text().splitlines()[line - 1].strip() == '"a.>"'


ROOT = Path(__file__).resolve().parents[2]


def test_the_pre_commit_hook_calls_an_existing_command(files):
    hooks = (ROOT / ".pre-commit-hooks.yaml").read_text()
    [entry] = re.findall(r"entry: subtrie (acl lint.+)", hooks)
    fine = OLD.replace("{ user: other, password: hidden-word }", "")
    (files / "fine.conf").write_text(fine.replace("hidden-word", "$PASSWORD"))
    assert run(*entry.split(), files / "fine.conf", files / "fine.conf").exit_code == 0
    assert run(*entry.split(), files / "fine.conf", files / "new.conf").exit_code == 1
