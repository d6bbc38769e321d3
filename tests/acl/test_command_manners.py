"""The verbs about permissions: standard input, mistakes, formats, hints, exit codes."""

from __future__ import annotations

import json
import sys
from pathlib import Path
from xml.etree import ElementTree

import pytest
from click.testing import CliRunner
from sarif_schema import checked

from subtrie._cli.app import app
from subtrie.acl._load import config_parser

CONFIG = """accounts {
  APP { users: [
    { user: admin, password: $ADMIN }
    { user: ingest, password: $INGEST, permissions: {
        publish: { allow: [ "sensors.>" ], deny: [ "sensors.secret.>" ] }, subscribe: "in.*" } }
  ] }
}
"""


def run(*words: object, **options: object):
    done = CliRunner().invoke(app, [str(each) for each in words], **options)  # type: ignore[arg-type]
    assert done.exception is None or isinstance(done.exception, SystemExit), done.exception
    return done


@pytest.fixture
def path(tmp_path):
    file = tmp_path / "nats.conf"
    file.write_text(CONFIG)
    return file


VERBS = {
    "show": ["acl", "show", "-"],
    "lint": ["acl", "lint", "-"],
    "who": ["acl", "who", "sensors.x", "-"],
    "flows": ["acl", "flows", "-"],
    "minimise": ["acl", "minimise", "-", "--user", "ingest"],
    "why": ["why", "sensors.x", "-p", "-", "--user", "ingest"],
}


@pytest.mark.parametrize("verb", VERBS)
def test_standard_input(verb, path):
    given = run(*VERBS[verb], input=CONFIG)
    named = run(*[str(path) if each == "-" else each for each in VERBS[verb]])
    assert given.exit_code == named.exit_code < 2
    assert given.output == named.output.replace(str(path), "-")


def test_standard_input_of_diff_and_test(path, tmp_path):
    wider = CONFIG.replace('"in.*"', '">"')
    done = run("acl", "diff", path, "-", input=wider)
    assert done.exit_code == 1
    assert "+ subscribe >" in done.output
    policy = tmp_path / "policy.txt"
    policy.write_text("no subscribe >\n")
    assert run("acl", "test", policy, "-", "--user", "ingest", input=CONFIG).exit_code == 0
    assert run("acl", "test", policy, "-", "--user", "ingest", input=wider).exit_code == 1


def test_all_mistakes_of_a_configuration(path):
    path.write_text(
        """accounts {
  APP { users: [
    { user: a, password: x, permissions: { publish: [ "a..b", "ok", "c d" ], subscribe: "x..y" } }
    { usr: b, secret: y }
    { user: c, nkey: UABC }
  ] }
  $G { }
}
unknown_key: 1
"""
    )
    for verb in ("lint", "show", "flows"):
        done = run("acl", verb, path)
        assert done.exit_code == 2
        assert "Usage" not in done.output
        assert f"{path}:9: 'unknown_key'" in done.output
    path.write_text(path.read_text().replace("unknown_key: 1\n", ""))
    lines = run("acl", "lint", path).output.splitlines()
    assert lines[0] == "Error: 7 mistakes"
    places = [line.removeprefix(f"{path}:").partition(":")[0] for line in lines[1:]]
    assert places == ["3", "3", "3", "4", "4", "5", "7"]


def test_all_mistakes_of_exports_imports_and_mappings(path):
    path.write_text(
        """accounts {
  A { exports: [ { streams: x }, { stream: "a..b" } ]
      imports: [ { stream: { account: B, subject: nothing } } ]
      mappings: { x: "y..z" } }
  B { mappings: { "a.*": "b.$2" } }
}
"""
    )
    done = run("acl", "flows", path)
    assert done.exit_code == 2
    assert [line.partition(".conf:")[2][:2] for line in done.output.splitlines()[1:]] == [
        "2:", "2:", "4:", "5:",
    ]  # fmt: skip


def test_all_mistakes_of_a_policy(path, tmp_path):
    policy = tmp_path / "policy.txt"
    policy.write_text("yes publish a..b\nperhaps\nyes publish a.*\n")
    done = run("acl", "test", policy, path, "--user", "ingest")
    assert done.exit_code == 2
    assert [each.partition("policy.txt:")[2][:1] for each in done.output.splitlines()] == [
        "1", "2", "3",
    ]  # fmt: skip
    assert "Pattern" not in done.output


FORMS = {
    "lint": ["acl", "lint"],
    "diff": ["acl", "diff"],
    "test": ["acl", "test"],
    "who": ["acl", "who", "sensors.x"],
    "flows": ["acl", "flows"],
    "show": ["acl", "show"],
    "show of one user": ["acl", "show", "--user", "ingest"],
    "minimise": ["acl", "minimise", "--user", "ingest"],
    "why": ["why", "other.x", "sensors.x", "a..b", "--user", "ingest", "-p"],
}


@pytest.mark.parametrize("verb", FORMS)
def test_every_verb_has_every_format(verb, path, tmp_path):
    words = [*FORMS[verb], path]
    if verb == "minimise":
        path.write_text(CONFIG.replace('"sensors.>"', '"sensors.>", "sensors.x"'))
    if verb == "diff":
        (tmp_path / "new.conf").write_text(CONFIG.replace('"in.*"', '">"'))
        words.append(tmp_path / "new.conf")
    if verb == "test":
        (tmp_path / "policy.txt").write_text("yes subscribe >\nno publish sensors.secret.x\n")
        words = ["acl", "test", tmp_path / "policy.txt", path, "--user", "ingest"]
    if verb == "flows":
        path.write_text(CONFIG.replace("] }\n}", '], exports: [ { stream: "a" } ] }\n}'))
    plain = run(*words)
    codes = {plain.exit_code}
    report = run(*words, "--sarif")
    assert checked(report.output)["runs"][0]["results"]
    junit = run(*words, "--format", "junit")
    cases = list(ElementTree.fromstring(junit.output).iter("testcase"))
    assert cases
    rows = run(*words, "--json")
    if verb in ("show of one user", "minimise"):
        assert json.loads(rows.output)["subtrie"] == 1
    else:
        assert [json.loads(line) for line in rows.output.splitlines()]
    table = run(*words, "--format", "markdown")
    assert "|---|" in table.output
    codes |= {each.exit_code for each in (report, junit, rows, table)}
    assert len(codes) == 1
    if verb == "test":
        failed = [each for each in cases if each.find("failure") is not None]
        assert (len(cases), len(failed)) == (2, 1)


def test_a_table_of_users_and_lists_as_markdown(path):
    table = run("acl", "show", path, "--format", "markdown").output.splitlines()
    assert table[0].startswith("| user | account |")
    assert len(table) == 4
    lists = run("acl", "show", path, "--user", "ingest", "--format", "markdown").output
    assert "| `publish deny` | `sensors.secret.>` |" in lists


def test_hints_are_in_the_words_of_the_command(path):
    done = run("why", "a.*", "-p", path, "--user", "admin")
    assert "pass --verb subscribe for a subscription" in done.output
    done = run("check", "a.*")
    assert "pass --pattern for a subscription" in done.output
    assert (
        "--dialect server" in run("check", "a b").output + run("check", "a*b", "--pattern").output
    )
    done = run("acl", "minimise", path)
    assert "choose one with --user" in done.output
    done = run("acl", "show", path.parent / "missing")
    assert done.exit_code == 2
    assert done.output.splitlines() == [f"Error: {path.parent / 'missing'}: no such file"]


@pytest.mark.requirement("T19")
def test_a_file_name_is_not_a_command_to_the_runner_of_an_action(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    name = "::warning ::x.conf"
    with open(name, "w") as file:
        file.write(CONFIG.replace("sensors.>", "a..b").replace("in.*", "c..d"))
    for words in (["acl", "lint", name], ["acl", "show", name], ["acl", "flows", name]):
        lines = run(*words).output.splitlines()
        assert len(lines) == 3
        assert not [line for line in lines if line.lstrip().startswith("::")]
    with open(name, "w") as file:
        file.write(CONFIG)
    for words in (["acl", "lint", name], ["acl", "flows", name]):
        lines = run(*words).output.splitlines()
        assert not [line for line in lines if line.lstrip().startswith("::")]


def test_the_action_sets_no_variable_for_later_steps():
    text = (Path(__file__).parents[2] / "action.yml").read_text()
    assert "GITHUB_ENV" not in text


#: Calls of Python and C functions for each further user: the bound of each verb.
CALLS = {
    "acl show F": 1_650, "acl lint F": 2_100, "acl who svc.7.x F": 1_150,
    "acl who svc.*.x F --verb receive": 1_050, "acl diff F N": 3_200,
    "why svc.7.x -p F --every-user": 1_700, "acl flows F": 1_100,
}  # fmt: skip


@pytest.mark.parametrize("command", CALLS)
def test_the_work_grows_by_a_bounded_number_of_calls_for_each_user(command, tmp_path):
    """2,000 users take under 2 s of CPU time on the machine that these bounds are from."""
    counts = []
    for users in (40, 80):
        files_of = {}
        for letter, more in (("F", ""), ("N", ', "new.>"')):
            rows = "".join(
                f'{{ user: u{n}, password: x, permissions: {{ publish: ["svc.{n}.>", "all.*.req"'
                f'{more}], subscribe: ["_INBOX.u{n}.>", "svc.{n}.*.rep", "cast.>"] }} }}\n'
                for n in range(users)
            )
            path = tmp_path / f"{letter}{users}.conf"
            path.write_text(f"authorization {{ users = [\n{rows}] }}\n")
            files_of[letter] = str(path)
        words = [files_of.get(word, word) for word in command.split()]
        run(*words)
        counts.append(_calls(words))
    assert 40 * 100 < counts[1] - counts[0] < 40 * CALLS[command]


def _calls(words):
    count = 0

    def note(frame, event, argument):
        nonlocal count
        count += event in ("call", "c_call")

    sys.setprofile(note)
    try:
        CliRunner().invoke(app, words)
    finally:
        sys.setprofile(None)
    return count


def test_each_section_of_a_policy_read_the_file_again(tmp_path, monkeypatch):
    """One reading of the configuration serves all sections, and both inputs of a comparison."""
    rows = [f"{{ user: u{n}, password: x, permissions: {{ publish: a{n} }} }}" for n in range(5)]
    text = f"accounts {{ A {{ users: [ {', '.join(rows)} ], mappings: {{ b: c }} }} }}\n"
    (tmp_path / "nats.conf").write_text(text)
    (tmp_path / "new.conf").write_text(text.replace("b: c", "b: d"))
    sections = (f"of nats.conf A/u{n}\nyes publish a{n}\nno publish b\n" for n in range(5))
    (tmp_path / "policy.txt").write_text("".join(sections))
    read = []
    document = config_parser._ConfigParser.document

    def counted(parser):
        read.append(parser._file.name)
        return document(parser)

    monkeypatch.setattr(config_parser._ConfigParser, "document", counted)
    done = CliRunner().invoke(app, ["acl", "test", str(tmp_path / "policy.txt")])
    assert (done.exit_code, read) == (0, ["nats.conf"]), done.output
    read.clear()
    CliRunner().invoke(
        app, ["acl", "diff", *(str(tmp_path / f) for f in ("nats.conf", "new.conf"))]
    )
    assert sorted(read) == ["nats.conf", "new.conf"]


def test_a_stream_is_named_with_its_account_as_in_the_list(tmp_path):
    streams = [{"name": f"S{n}", "config": {"name": f"S{n}", "subjects": [f"s{n}"]}}
               for n in range(20)]  # fmt: skip
    details = [{"name": "A", "id": "A", "stream_detail": streams}]
    path = tmp_path / "jsz.json"
    path.write_text(json.dumps({"server_id": "N", "account_details": details}))
    done = CliRunner().invoke(app, ["acl", "need", "publish", "A:S3", str(path)])
    assert (done.exit_code, "s3" in done.output) == (0, True), done.output
    done = CliRunner().invoke(app, ["acl", "need", "publish", "B:S3", str(path)])
    assert (done.exit_code, "A:S9 and 10 more" in done.output) == (2, True), done.output
