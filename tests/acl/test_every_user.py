"""All users at once: the table, ``acl who``, and the options, comments and formats of a lint."""

from __future__ import annotations

import io
import json
import os
import re
import signal
import subprocess
import sys
from xml.etree import ElementTree

import pytest
from click.testing import CliRunner

from subtrie._cli.app import app
from subtrie._cli.lint_baseline import Comments
from subtrie._findings.finding import Finding
from subtrie.acl import LINT_RULES

CONFIG = """accounts {
  SYS { users: [ { user: sys, password: hidden-word } ] }
  APP {
    users: [
      { user: admin, password: hidden-word }
      { user: ingest, password: hidden-word, permissions: {
          publish: { allow: [ "sensors.>", "sensors.a" ], deny: "sensors.secret.>" }
          subscribe: [ "_INBOX.>", "cmd.*" ]  # subtrie: ignore[unbounded-depth]
          allow_responses: { max: 2, expires: "60s" } } }
      # subtrie: ignore[inbox, unbounded-depth]
      { user: dash, password: hidden-word, permissions: {
          publish: [], subscribe: { allow: [ "sensors.*" ], deny: [ "x" ] } } }
    ]
  }
}
"""


@pytest.fixture
def conf(tmp_path):
    path = tmp_path / "nats.conf"
    path.write_text(CONFIG)
    return path


def run(*words):
    done = CliRunner().invoke(app, [str(word) for word in words])
    assert "hidden-word" not in done.output
    assert done.exception is None or isinstance(done.exception, SystemExit), done.exception
    return done


def test_a_table_of_all_users(conf):
    done = run("acl", "show", conf)
    lines = done.output.splitlines()
    assert lines[0].split()[:4] == ["user", "account", "publish", "subscribe"]
    assert len(lines) == 6
    assert lines[-1] == "findings about the broker itself: 1 warning"
    rows = [json.loads(line) for line in run("acl", "show", conf, "--json").output.splitlines()]
    by_name = {row["user"]: row for row in rows}
    assert list(by_name) == ["sys", "admin", "ingest", "dash"]
    assert by_name["admin"]["everything"] == ["publish", "subscribe"]
    assert by_name["ingest"]["account"] == "APP"
    assert by_name["ingest"]["publish"] == {"allow": 2, "deny": 1}
    assert by_name["ingest"]["responses"] == {"max": 2, "expires": 60.0}
    assert by_name["ingest"]["inbox"].startswith("_INBOX.")
    assert by_name["dash"]["inbox"] is None
    assert "2 in 1m" in done.output
    assert run("acl", "show", conf, "--user", "dash").output.startswith("publish allow: ")


def test_the_table_counts_what_denies_leave(tmp_path):
    conf = tmp_path / "a.conf"
    conf.write_text(
        "authorization { users: [ { user: u, password: hidden-word, permissions: "
        '{ publish: { allow: [ ">", "y" ], deny: "x" }, subscribe: { deny: [ "a", ">" ] } } } ] }\n'
    )
    shown = run("acl", "show", conf, "--every-user")
    row = json.loads(run("acl", "show", conf, "--every-user", "--json").output)
    assert (row["publish"], row["subscribe"]) == (
        {"allow": 2, "deny": 1}, {"allow": 0, "deny": 2},
    )  # fmt: skip
    assert row["everything"] == []
    assert re.split("  +", shown.output.splitlines()[1])[:5] == ["u", "-", "2 - 1", "0", "-"]


@pytest.mark.parametrize("entries", [("_INBOX.*.x", "_INBOX.*.y"), ("_INBOX.*.y", "_INBOX.*.x")])
def test_the_inbox_of_a_user_is_an_example_of_its_first_entry_that_reaches_too_far(
    tmp_path, entries
):
    conf = tmp_path / "a.conf"
    conf.write_text(
        "authorization { users: [ { user: u, password: hidden-word, permissions: "
        f'{{ publish: [], subscribe: [ "s", "{entries[0]}", "{entries[1]}" ] }} }} ] }}\n'
    )
    (row,) = map(json.loads, run("acl", "show", conf, "--json", "--every-user").output.splitlines())
    assert row["findings"] >= 2
    assert (row["inbox"][:7], row["inbox"][-2:]) == ("_INBOX.", entries[0][-2:])
    table = run("acl", "show", conf, "--every-user").output.splitlines()
    assert row["inbox"] in table[1].split()


@pytest.mark.parametrize("broker", ["", "no_auth_user: dash\n", "leafnodes { port: 7422 }\n"])
def test_show_counts_the_findings_that_lint_reports(broker, conf):
    """It counted those about entries alone, without notes: other numbers than lint."""
    conf.write_text(broker + conf.read_text())
    found = [json.loads(line) for line in run("acl", "lint", conf, "--json").output.splitlines()]
    rows = [json.loads(line) for line in run("acl", "show", conf, "--json").output.splitlines()]
    for row in rows:
        label = f"{row['account']}/{row['user']}" if row["account"] else row["user"]
        assert row["findings"] == sum(each.get("user") == label for each in found), label
    shown = run("acl", "show", conf).output
    levels = {
        level: sum(map(int, re.findall(rf"(\d+) {level}", shown)))
        for level in ("error", "warning", "note")
    }
    assert levels == {level: sum(each["level"] == level for each in found) for level in levels}


def test_who(conf):
    unsure = set()

    def users(*words):
        unsure.clear()
        done = run("acl", "who", *words, conf, "--json")
        rows = [json.loads(line) for line in done.output.splitlines()]
        unsure.update(row["user"] for row in rows if row["allowed"] is None)
        assert done.exit_code == (2 if unsure else 0 if rows else 1)
        return {row["user"]: (row["rule"], row["witness"]) for row in rows if row["allowed"]}

    assert users("sensors.a") == {
        "SYS/sys": ("everything", None), "APP/admin": ("everything", None),
        "APP/ingest": ("sensors.>", None), "APP/dash": ("everything", None),
    }  # fmt: skip
    assert "APP/ingest" not in users("sensors.secret.x")
    found = users("sensors.secret.>", "--verb", "receive")
    assert set(found) == {"SYS/sys", "APP/admin"}
    assert unsure == {"APP/dash"}  # by a subscription to sensors.>
    assert found["APP/admin"][1].startswith("sensors.secret.")
    found = users("*.*", "--verb", "receive")
    assert found["APP/ingest"][0] == "_INBOX.>"
    assert found["APP/dash"][0] == "sensors.*"
    assert set(users("sensors.>", "--verb", "subscribe")) == {"SYS/sys", "APP/admin"}
    assert users("other", "--verb", "receive", "--user", "dash") == {}
    assert "no user may" in run("acl", "who", "other", conf, "--verb", "receive", "--user",
                               "dash").output  # fmt: skip
    assert run("acl", "who", "a..b", conf).exit_code == 2


def test_why_of_every_user(conf):
    done = run("why", "sensors.secret.x", "-p", conf, "--every-user", "--json")
    rows = {row["user"]: row["allowed"] for row in map(json.loads, done.output.splitlines())}
    assert rows == {"SYS/sys": True, "APP/admin": True, "APP/ingest": False, "APP/dash": True}
    assert done.exit_code == 1


def test_a_hint_is_in_the_words_of_the_command(conf):
    done = run("why", "a", "-p", conf)
    assert done.exit_code == 2
    assert "--user" in done.stderr
    assert "user=" not in done.stderr
    assert "Usage:" not in done.stderr


def test_lint_of_all_users_by_default_and_without_rules_about_microbus(conf):
    done = run("acl", "lint", conf)
    assert done.exit_code == 1
    codes = [line.split()[2] for line in done.output.splitlines()[:-1]]
    assert set(codes) == {
        "inbox:", "allow-responses:", "redundant:", "unbounded-depth:", "dead:",
        "publish-everything:", "plaintext-password:",
    }  # fmt: skip
    assert "plane-wildcard: APP/admin" in run("acl", "lint", conf, "--plane", "prod").output
    assert "nats.conf:8:24: warning inbox: APP/ingest" in done.output


def test_comments_suppress_findings(conf):
    found = [json.loads(line) for line in run("acl", "lint", conf, "--json").output.splitlines()]
    places = {(each["rule"], each["entry"]) for each in found}
    assert ("unbounded-depth", "cmd.*") not in places
    assert ("unbounded-depth", "sensors.*") in places  # the comment is above another line
    conf.write_text(CONFIG.replace("ignore[inbox, unbounded-depth]", "ignore[no-such]"))
    done = run("acl", "lint", conf)
    assert "no lint rule is called no-such" in done.stderr


def test_select_ignore_and_baseline(conf, tmp_path):
    def codes(*words):
        done = run("acl", "lint", conf, "--json", *words)
        return {json.loads(line)["rule"] for line in done.output.splitlines()}

    everything = codes()
    assert codes("--select", "inbox,dead") == codes("--select", "inbox, dead") == {"inbox", "dead"}
    assert codes("--ignore", "inbox", "--ignore", "dead") == everything - {"inbox", "dead"}
    assert run("acl", "lint", conf, "--select", "nothing").exit_code == 2
    kept = tmp_path / "baseline.json"
    assert run("acl", "lint", conf, "--write-baseline", kept).exit_code == 0
    assert codes("--baseline", kept) == set()
    # A finding that moves is the same finding; another one is new.
    conf.write_text("# a line\n" + CONFIG.replace('"_INBOX.>"', '"_INBOX.>", "_INBOX.*"'))
    assert "inbox" in codes("--baseline", kept)
    assert codes("--baseline", kept) < everything
    kept.write_text("[]")
    assert run("acl", "lint", conf, "--baseline", kept).exit_code == 2


def test_all_formats_of_lint_and_diff(conf, tmp_path):
    done = run("acl", "lint", conf, "--format", "junit")
    root = ElementTree.fromstring(done.output)
    assert int(root.get("failures")) == len(root.findall("testcase/failure")) > 3
    done = run("acl", "lint", conf, "--format", "markdown")
    assert "| warning | inbox |" in done.output
    (tmp_path / "less.conf").write_text(CONFIG.replace('"sensors.a" ]', "]"))
    new = tmp_path / "more.conf"
    new.write_text(CONFIG.replace('"sensors.a" ]', '"b" ]'))
    done = run("acl", "diff", conf, new, "--format", "junit")
    [failure] = ElementTree.fromstring(done.output).findall("testcase/failure")
    assert failure.text == "New access of APP/ingest: publish b, for example b"
    done = run("acl", "diff", conf, tmp_path / "less.conf", "--format", "junit")
    assert ElementTree.fromstring(done.output).get("failures") == "0"


@pytest.mark.requirement("T19")
def test_markdown_and_sarif_hold_no_links(tmp_path):
    path = tmp_path / "rules.json"
    entry = "a.![p](https://evil.example/p.png)@team#1"
    path.write_text(json.dumps({"subtrie": 1, "publish_allow": [entry, entry]}))
    shown = run("acl", "lint", path, "--format", "markdown").output
    nothing = tmp_path / "none.json"
    nothing.write_text(json.dumps({"subtrie": 1, "publish_allow": []}))
    shown += run("acl", "diff", nothing, path, "--format", "markdown").output
    assert "evil" in shown
    for mark in ("](", "![", "https:", "@team", "#1 "):
        assert mark not in shown
    report = json.loads(run("acl", "lint", path, "--format", "sarif").output)
    texts = [each["message"]["text"] for each in report["runs"][0]["results"]]
    assert any("evil" in text for text in texts)
    assert all("](" not in text.replace("\\]", "") for text in texts)


def test_the_page_of_each_rule():
    done = run("acl", "rule")
    assert [line.split()[0] for line in done.output.splitlines()] == list(LINT_RULES)
    for code in LINT_RULES:
        page = run("acl", "rule", code).output
        assert page.startswith(f"{code} (")
        assert f"ignore[{code}]" in page
    assert json.loads(run("acl", "rule", "danger", "--json").output)["microbus"] is True
    assert run("acl", "rule", "nothing").exit_code == 2


def test_an_encoding_without_the_marks(conf):
    env = {**os.environ, "PYTHONIOENCODING": "cp1252"}
    command = [sys.executable, "-m", "subtrie.cli", "check", "a..b", "a.b"]
    done = subprocess.run(command, env=env, capture_output=True, check=False, timeout=60)
    assert (done.returncode, done.stderr) == (1, b"")
    assert [line.split()[0] for line in done.stdout.splitlines()] == [b"no", b"ok"]


@pytest.mark.skipif(os.name != "posix", reason="signals")
def test_ctrl_c_is_not_an_answer():
    command = [sys.executable, "-m", "subtrie.cli", "check"]
    pipes = {"stdin": subprocess.PIPE, "stdout": subprocess.PIPE, "stderr": subprocess.PIPE}
    with subprocess.Popen(command, **pipes) as process:
        process.stdin.write(b"a.b\n")
        process.stdin.flush()
        assert b"a.b" in process.stdout.readline()
        process.send_signal(signal.SIGINT)
        assert process.wait(timeout=30) == 130
        assert b"interrupted" in process.stderr.read()


def test_many_users(tmp_path):
    users = "\n".join(
        f'{{ user: u{n}, password: x, permissions: {{ publish: "u{n}.>", subscribe: "u{n}.>" }} }}'
        for n in range(500)
    )
    path = tmp_path / "many.conf"
    path.write_text(f"authorization {{ users [\n{users}\n] }}\n")
    assert len(run("acl", "show", path).output.splitlines()) == 502
    assert run("acl", "who", "u7.a", path).output.split() == ["✓", "u7", "u7.>"]
    assert isinstance(io.StringIO(run("acl", "lint", path).output).read(), str)


@pytest.mark.parametrize(
    ("lines", "suppressed"),
    [
        (["# subtrie: ignore[inbox]", "x"], True),
        (["  // subtrie: ignore[depth, inbox]", "x"], True),
        (["x", "x  # subtrie: ignore[inbox]"], True),
        (["x  # subtrie: ignore[inbox]", "x"], False),
        (["# subtrie: ignore[inbox]", "", "x"], False),
        (["# subtrie: ignore[depth]", "x"], False),
        (["#subtrie:\tignore[ depth , inbox ]", "x"], True),
        (["# about subtrie: ignore[inbox]", "x"], False),
        (["# ignore[inbox]", "x"], False),
        (["# subtrie: ignore[]", "x"], False),
        (["x", "# subtrie: ignore[inbox]", "x"], True),
        (["x", "# subtrie: ignore[inbox]"], True),
        # Only a line feed ends a line of a configuration.
        (["# \x0c \x85 \u2028 \x1c", "x  # subtrie: ignore[inbox]"], True),
        (["# subtrie: ignore[inbox]", "# \x0c", "x"], False),
    ],
)
def test_a_comment_suppresses_its_own_line_or_alone_the_next_one(tmp_path, lines, suppressed):
    path = tmp_path / "rules.conf"
    path.write_text("\n".join(lines).replace("depth", "unbounded-depth") + "\n")
    found = Finding("inbox", "warning", "m", file=str(path), line=len(lines))
    assert Comments().suppress(found) is suppressed


def test_a_finding_without_a_place_has_no_comment(tmp_path):
    path = tmp_path / "rules.conf"
    path.write_text("# subtrie: ignore[inbox]\n")
    for file, line in ((None, None), (None, 1), (str(path), None)):
        assert not Comments().suppress(Finding("inbox", "warning", "m", file=file, line=line))


def test_each_file_has_its_own_comments_and_mistakes_are_told_once(tmp_path, capsys):
    comments = Comments()
    for name, code in (("a", "inbox"), ("b", "dead"), ("c", "zzz, inbox, aaa")):
        (tmp_path / name).write_text(f"\nx # subtrie: ignore[{code}]\n")
        for rule in ("inbox", "dead"):
            found = Finding(rule, "warning", "m", file=str(tmp_path / name), line=2)
            assert comments.suppress(found) is (rule in code)
    told = capsys.readouterr().err
    assert told == f"{tmp_path / 'c'}:2: no lint rule is called aaa\n"


@pytest.mark.parametrize(
    "text", ["", "{", "[]", "7", "null", '{"subtrie": 1}', '{"findings": 7}', "[" * 100_000, None]
)
def test_a_damaged_baseline_is_one_clear_error(conf, tmp_path, text):
    kept = tmp_path / "baseline.json"
    if text is not None:
        kept.write_text(text)
    done = run("acl", "lint", conf, "--baseline", kept)
    assert done.exit_code == 2
    assert "baseline.json" in done.stderr
    if text is not None:
        assert f"{kept}: not a baseline that --write-baseline wrote" in done.stderr


def test_a_baseline_has_each_finding_with_its_message(conf, tmp_path):
    kept = tmp_path / "baseline.json"
    done = run("acl", "lint", conf, "--write-baseline", kept)
    found = [json.loads(line) for line in run("acl", "lint", conf, "--json").output.splitlines()]
    document = json.loads(kept.read_text())
    assert (list(document), document["subtrie"]) == (["subtrie", "findings"], 1)
    assert sorted(document["findings"].values()) == sorted(
        f"{each['rule']}: {each['message']}" for each in found
    )
    assert list(document["findings"]) == sorted(document["findings"])
    assert done.stderr == f"{kept}: {len(found)} findings\n"


def test_the_exit_code_of_a_lint_and_the_files_without_findings(tmp_path):
    """Notes are exit code 0, an error or a warning 1, and users of another file 2."""
    rules = {"clean": ["a.b"], "note": ["a.b", "a.*"], "warning": ["a.b", ">"]}
    paths = {name: tmp_path / f"{name}.json" for name in rules}
    for name, entries in rules.items():
        paths[name].write_text(
            json.dumps({"subtrie": 1, "publish_allow": entries, "subscribe_allow": ["a.b"]})
        )
    levels = {}
    for name, path in paths.items():
        done = run("acl", "lint", path, "--json")
        levels[name] = {json.loads(line)["level"] for line in done.output.splitlines()}
        assert done.exit_code == bool(levels[name] - {"note"})
    assert (levels["clean"], levels["note"]) == (set(), {"note"})
    assert "warning" in levels["warning"] or "error" in levels["warning"]
    done = run("acl", "lint", *paths.values(), "--format", "junit")
    root = ElementTree.fromstring(done.output)
    clean = [each for each in root if each.get("name") == "no findings"]
    assert [each.get("classname") for each in clean] == [str(paths["clean"])]


def test_a_page_of_a_rule_says_why_and_whether_it_is_about_microbus():
    for code, found in LINT_RULES.items():
        page = run("acl", "rule", code).output
        words = " ".join(page.split())
        for text in (found.summary, f"Why: {found.why}", f"Instead: {found.instead}"):
            assert " ".join(text.split()) in words
        assert ("Applies to subjects of Microbus only" in words) is found.microbus
        (row,) = map(json.loads, run("acl", "rule", code, "--json").output.splitlines())
        assert row == found._asdict()
        assert f"| `{code}` |" in run("acl", "rule", code, "--format", "markdown").output
    rows = run("acl", "rule", "--json").output.splitlines()
    assert [json.loads(each)["code"] for each in rows] == list(LINT_RULES)


def test_select_and_ignore_take_codes_apart(conf):
    done = run("acl", "lint", conf, "--select", "inbox, nothing", "--json")
    assert done.exit_code == 2
    assert "no lint rule is called nothing; see subtrie acl rule" in done.stderr
    words = ("acl", "lint", conf, "--json")
    both = run(*words, "--select", " inbox ", "--select", "dead, redundant").output
    assert {json.loads(each)["rule"] for each in both.splitlines()} == {
        "inbox", "dead", "redundant",
    }  # fmt: skip
    left = run(*words, "--select", "inbox,dead", "--ignore", "dead").output
    assert {json.loads(each)["rule"] for each in left.splitlines()} == {"inbox"}
