"""All commands: help, exit codes, JSON; the tour, ``check --kind`` and completion."""

from __future__ import annotations

import inspect
import json
import os
import re
import shlex
import subprocess
import sys
from pathlib import Path
from types import SimpleNamespace

import click
import pytest
from click.testing import CliRunner
from test_cli import rows, run

import subtrie._cli.app as app_module
from subtrie._cli.app import COMMANDS, GROUPS, SUBCOMMANDS, app

#: Commands without an answer that a program would read.
NO_JSON = {"run", "completion"}
#: Commands whose name is the format of their output.
VIEWS = {("report", name) for name in ("html", "markdown", "json")}
SUBJECT = "prod.safe.443.web_shop.orders_shop._.GET.orders.7"


def context_of(command, name=None):
    """A context as below the group: a command keeps the names of its help option from the first."""
    return click.Context(command, info_name=name, **app.context_settings)


def leaves(command=app, path=()):
    """Every command that can be run, with its words."""
    context = context_of(command)
    for name in command.list_commands(context):
        inner = command.get_command(context, name)
        if isinstance(inner, click.Group):
            yield from leaves(inner, (*path, name))
        else:
            yield (*path, name), inner


VERBS = dict(leaves())


def ids(path):
    return " ".join(path)


def called(*arguments):
    """Run a command in this process, as its entry point does, and return the exit code."""
    try:
        app(list(arguments), standalone_mode=False)
    except SystemExit as ended:
        return ended.code or 0
    except click.exceptions.Exit as ended:
        return ended.exit_code
    except click.ClickException as error:
        return error.exit_code
    return 0


@pytest.mark.parametrize("path", VERBS, ids=ids)
def test_every_command_has_help_and_refuses_an_unknown_option(path, capsys):
    assert called(*path, "--help") == 0
    assert "\\b" not in capsys.readouterr().out
    assert called(*path, "--no-such-option") == 2


@pytest.mark.parametrize("path", VERBS, ids=ids)
def test_every_command_that_answers_has_json(path):
    options = {word for each in VERBS[path].params for word in each.opts}
    assert ("--json" in options) == (path[0] not in NO_JSON and path not in VIEWS)


@pytest.mark.parametrize("path", VERBS, ids=ids)
def test_one_default_dialect(path):
    defaults = [each.default for each in VERBS[path].params if "--dialect" in each.opts]
    assert defaults in ([], ["strict"])


@pytest.mark.parametrize("path", VERBS, ids=ids)
def test_a_file_that_does_not_exist_is_bad_input(path, tmp_path, capsys):
    """A command that reads a file exits with 2 if there is none, whatever else it is told."""
    missing = str(tmp_path / "missing")
    words = [*path]
    reads = False
    for each in VERBS[path].params:
        if isinstance(each.type, click.Path) and each.type.exists:
            reads = True
            words += [missing] if isinstance(each, click.Argument) else [each.opts[0], missing]
    if reads:
        assert called(*words) == 2


#: A name that would colour a terminal, and turn the rest of the line.
ODD = "o\x1b[31md\u202e"
#: Commands that are told this name.
TOLD = [
    ["acl", "show", ODD], ["acl", "lint", ODD], ["acl", "minimise", ODD], ["acl", "diff", ODD, ODD],
    ["acl", "flows", ODD], ["acl", "streams", ODD], ["acl", "test", ODD], ["acl", "test", ODD, ODD],
    ["acl", "who", "a", ODD], ["acl", "who", "S", ODD, "--verb", "read"], ["acl", "rule", ODD],
    ["acl", "lint", "a.conf", "--baseline", ODD], ["acl", "need", "pull", "S", ODD],
    ["acl", "lint", "a.conf", "--select", ODD], ["acl", "usage", ODD, "--log", ODD],
    ["acl", "usage", "u=a.conf", "--log", ODD], ["acl", "usage", "u=a.conf", "--traffic", ODD],
    ["acl", "who", ODD, "a.conf"], ["acl", "show", "a.conf", "--user", ODD],
    ["acl", "flows", "a.conf", "--from", ODD], ["acl", "flows", "a.conf", "--to", ODD],
    ["acl", "diff", "a.conf", "--git", ODD], ["why", "a", ODD], ["why", ODD, "a.conf"],
    ["who", "-s", ODD, "a"], ["who", "-s", "patterns.txt", ODD], ["wire", ODD],
    ["wire", ODD, "--conn", "client"], ["wire", ODD, "--check"], ["conformance", ODD],
    *(["report", each, ODD] for each in ("html", "markdown", "json", "findings")),
    ["report", "diff", ODD, ODD], ["report", "diff", ODD, ODD, "--table", ODD],
    ["report", "lines", "--log", ODD, ODD, ODD, ODD], ["tap", "--to", ODD, "--out", "x"],
    ["tap", "--to", "h:1", "--listen", "h:x", "--out", ODD], ["check", ODD], ["decode", ODD],
    ["encode", "--source", "a", ODD], ["encode", "--host", "a", ODD], ["run", ODD], [ODD],
    ["acl", ODD], ["report", ODD], ["check", "--kind", ODD, "a"],
]  # fmt: skip


@pytest.mark.parametrize("content", [None, ODD, "{" + ODD, f'{{"server_id": "{ODD}"}}'])
def test_a_name_that_would_colour_a_terminal_is_escaped_in_each_error(
    content, tmp_path, monkeypatch
):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "a.conf").write_text("authorization { users: [ { user: u, password: $P } ] }\n")
    (tmp_path / "patterns.txt").write_text("a.*\n")
    if content is not None:
        (tmp_path / ODD).write_text(content)
    for words in TOLD:
        done = CliRunner().invoke(app, words, input="")
        assert done.exception is None or isinstance(done.exception, SystemExit), words
        assert not {"\x1b", "\u202e"} & set(done.output), (words, done.output)


@pytest.fixture
def files(tmp_path, monkeypatch):
    """A folder with the files of the tour, in which commands run."""
    monkeypatch.chdir(tmp_path)
    assert run("tour", "--write", "--json")[0] == 0
    return tmp_path


@pytest.mark.parametrize(
    ("yes", "no", "bad"),
    [
        (("check", "a.b"), ("check", "a..b"), ("check", "--kind", "nothing", "a")),
        (
            ("check", "--kind", "stream", "A"),
            ("check", "--kind", "stream", "A.B"),
            ("check", "--level", "cli", "a"),
        ),
        (("decode", SUBJECT), ("decode", "a.b"), ("decode", "--bad")),
        (("encode", "--source", "a", "https://b/c"), None, ("encode", "--source", "a", "https://b:x/")),
        (
            ("who", "-s", "tour/subscriptions.txt", SUBJECT),
            ("who", "-s", "tour/subscriptions.txt", "a.b"),
            ("who", "-s", "tour/subscriptions.txt", "a..b"),
        ),
        (
            ("why", "-p", "tour/old.conf", SUBJECT),
            ("why", "-p", "tour/old.conf", "a.b"),
            ("why", "-p", "tour/old.conf", "a..b"),
        ),
        (
            ("acl", "diff", "tour/old.conf", "tour/old.conf"),
            ("acl", "diff", "tour/old.conf", "tour/new.conf"),
            ("acl", "diff", "tour/old.conf", "tour/subscriptions.txt"),
        ),
    ],
    ids=lambda words: words[0] if words else "-",
)  # fmt: skip
def test_exit_codes_mean_yes_no_and_bad_input(yes, no, bad, files, capsys):
    assert called(*yes) == 0
    assert no is None or called(*no) == 1
    assert called(*bad) == 2


# --- the tour


def test_every_command_of_the_tour_repeats_its_step(files):
    code, out, err = run("tour")
    assert (code, err) == (0, "")
    steps = out.strip().split("\n\n")
    assert len(steps) == 7  # and the last line
    for step in steps[:-1]:
        _, command, *wanted = step.splitlines()
        _, out, err = run(*shlex.split(command.removeprefix("   $ subtrie ")))
        assert out.splitlines() == [line.removeprefix("   ") for line in wanted], command
        assert not err


def test_the_tour_finds_the_near_miss_and_the_one_subject_that_leaks():
    code, out, _ = run("tour", "--json")
    assert code == 0
    steps = [json.loads(line) for line in out.splitlines()]
    assert [step["exit_code"] for step in steps] == [0, 0, 0, 1, 1, 0]
    (miss,) = steps[3]["answers"]
    assert (miss["matched"], miss["nearest"][0]["differs_at"]) == (False, 7)
    (change,) = steps[4]["answers"]
    (grant,) = change["added"]
    assert not change["removed"]
    assert grant["witness"] == grant["pattern"]
    (decision,) = steps[5]["answers"]
    assert (decision["subject"], decision["allowed"]) == (grant["witness"], True)


def test_the_tour_leaves_nothing_behind(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("TMPDIR", str(tmp_path))
    assert run("tour")[0] == 0
    assert not list(tmp_path.iterdir())


# --- names


def test_check_of_names():
    code, out, _ = run("check", "--kind", "consumer", "--json", "a.b", "ok", "NUL")
    assert code == 1
    dotted, fine, device = rows(out)
    assert (dotted["valid"], dotted["reason"], dotted["position"]) == (False, "name-character", 1)
    assert (fine["valid"], fine["warnings"]) == (True, [])
    assert device["warnings"]
    assert run("check", "--kind", "consumer", "--level", "go-client", "a*b")[0] == 0
    assert run("check", "--kind", "stream", "a:b")[0] == 0
    assert run("check", "--kind", "stream", "--windows", "a:b")[0] == 1
    assert "reserved" in run("check", "--kind", "kv-key", "_kvx")[1]


@pytest.mark.parametrize(
    "words",
    [
        ("--kind", "stream", "--pattern"),
        ("--windows",),
        ("--kind", "stream", "--dialect", "server"),
    ],
)
def test_options_that_do_not_go_together_are_refused(words):
    assert run("check", *words, "a")[0] == 2


# --- the rest


def test_hints_are_in_the_words_of_the_command_line():
    assert "--dialect server" in run("check", "café")[1]
    assert "--pattern" in run("check", "a.*")[1]


def test_a_misspelt_command_names_the_nearest():
    code, _, err = run("decoed", "a")
    assert code == 2
    assert "did you mean 'decode'?" in err


def test_the_package_runs_as_a_module():
    done = subprocess.run(
        [sys.executable, "-m", "subtrie", "--version"], capture_output=True, text=True, check=False
    )
    assert done.returncode == 0
    assert done.stdout.split()[-1][0].isdigit()


def test_colours_end_where_nothing_shows_them(monkeypatch, capsys):
    from subtrie._cli import stream

    def said(terminal):
        monkeypatch.setattr(sys.stdout, "isatty", lambda: terminal)
        stream.say(("a", "red"), ("b", "dim"), "c", ("d", "bold red"), ("", "red"), ("e", ""))
        return capsys.readouterr().out

    monkeypatch.delenv("NO_COLOR", raising=False)
    for name in ("xterm", "dumb", None):
        monkeypatch.setenv("TERM", name) if name else monkeypatch.delenv("TERM")
        assert said(terminal=False) == "abcde\n"
        styled = click.style("a", "red") + click.style("b", dim=True) + "c\x1b[1;31md\x1b[0me\n"
        assert said(terminal=True) == ("abcde\n" if name == "dumb" else styled)
    monkeypatch.setenv("NO_COLOR", "1")
    assert said(terminal=True) == "abcde\n"


@pytest.mark.parametrize(("name", "terminal", "by_click"), [
    ("nt", True, True), ("nt", False, False), ("posix", True, False),
])  # fmt: skip
def test_click_translates_colours_for_older_consoles_of_windows(
    name, terminal, by_click, monkeypatch, capsys
):
    from subtrie._cli import stream

    echoed = []
    monkeypatch.setattr(stream, "os", SimpleNamespace(name=name, environ={}))
    monkeypatch.setattr(sys.stdout, "isatty", lambda: terminal)
    monkeypatch.setattr(click, "echo", echoed.append)
    stream.say(("a", "red"))
    printed = capsys.readouterr().out
    assert (bool(echoed), bool(printed)) == (by_click, not by_click)
    assert "".join(echoed) + printed.rstrip("\n") == ("\x1b[31ma\x1b[0m" if terminal else "a")


@pytest.mark.parametrize("shell", ["bash", "zsh", "fish"])
def test_completion_is_a_script_of_the_shell(shell):
    code, out, _ = run("completion", shell)
    assert code == 0
    assert "_SUBTRIE_COMPLETE" in out


def test_completion_offers_commands_and_options():
    """The script of bash passes the words so far, and the number of the one to complete."""
    program = "import sys; sys.argv[0] = 'subtrie'; from subtrie.cli import main; main()"

    def offered(words, number):
        done = subprocess.run(
            [sys.executable, "-c", program],
            env={
                **os.environ,
                "_SUBTRIE_COMPLETE": "bash_complete",
                "COMP_WORDS": words,
                "COMP_CWORD": str(number),
            },
            capture_output=True,
            text=True,
            check=False,
        )
        return {line.split(",")[-1] for line in done.stdout.splitlines()}

    assert offered("subtrie t", 1) == {"tap", "tour"}
    assert {"--kind", "--level"} <= offered("subtrie check --", 2)
    assert "strict" in offered("subtrie check --dialect ", 3)


def test_a_log_with_patterns_of_the_broker_is_read_in_the_strict_dialect(tmp_path):
    log = tmp_path / "trace.log"
    line = '[7] 2026/11/21 08:00:01.000001 [TRC] 127.0.0.1:1 - cid:1 - "v1:go" - <<- [SUB {}  1]\n'
    log.write_text(line.format("foo*.bar") + line.format("a.*"), encoding="utf-8")
    code, out, _ = run("who", "-s", str(log), "--json", "a.b")
    assert code == 0
    assert [each["line"] for each in rows(out)[0]["matches"]] == [2]
    patterns = tmp_path / "patterns.txt"
    patterns.write_text("foo*.bar\n", encoding="utf-8")
    assert run("who", "-s", str(patterns), "a.b")[0] == 2


def test_a_command_without_its_extra_names_it_in_one_line():
    code = (
        "import sys; sys.modules['h11'] = sys.modules['nats'] = None; "
        "sys.argv = ['subtrie', 'call', '--nats', 'nats://127.0.0.1:1', 'GET', 'https://a.b/']; "
        "from subtrie.cli import main; main()"
    )
    done = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, check=False, timeout=60
    )
    assert done.returncode in (1, 2)
    assert "Traceback" not in done.stderr


@pytest.mark.parametrize("path", VERBS, ids=ids)
def test_the_examples_of_each_verb_have_its_options(path):
    help_text = inspect.cleandoc(VERBS[path].help)
    _, found, examples = help_text.partition("\b\nExamples:\n")
    assert found or path == ("tour",), help_text
    for line in examples.splitlines():
        words = shlex.split(line, comments=True)
        if "$(" in line or "|" in words:  # of a shell
            assert " ".join(path) in line
            continue
        words = words[words.index("subtrie") + 1 :]
        assert tuple(words[: len(path)]) == path
        command = VERBS[path]
        parser = command.make_parser(context_of(command, words[0]))
        _, left, _ = parser.parse_args(words[len(path) :])
        assert left == []


@pytest.mark.parametrize("path", VERBS, ids=ids)
def test_each_option_says_what_it_does_and_what_it_takes(path):
    """A choice between words may say it by its words, and a flag takes nothing."""
    command = VERBS[path]
    for option in command.params:
        if not isinstance(option, click.Option):
            continue
        if option.is_flag or not isinstance(option.type, click.Choice):
            assert re.match(r"[A-Z].*\.(?:  \[.*\])?$", f"{option.help}.".replace("..", ".")), (
                option
            )
        if not (option.is_flag or option.count):
            metavar = option.make_metavar(context_of(command))
            assert re.search(r"^\[.+\]$|^(\[.+\])?[A-Z]", metavar), option
        for default in re.findall(r"\[default: ([^],]+)\]", option.help or ""):
            assert default in str(getattr(option.type, "choices", default)), option


def test_the_kinds_of_names_that_the_help_of_check_lists_are_kinds():
    (option,) = (each for each in VERBS["check",].params if each.name == "kind")
    listed = re.findall(r"[a-z-]+", option.help.partition("ADR-6: ")[2])
    assert len(listed) > 10
    assert set(listed) < set(option.type.choices)


def test_help_is_a_verb_too():
    assert run("help") == run("--help")
    assert run("help", "report", "diff") == run("report", "diff", "--help")
    code, _, error = run("help", "xcheck")
    assert (code, "did you mean 'check'" in error) == (2, True)


def test_the_help_of_a_group_cuts_no_sentence_off():
    for group in ("acl", "report"):
        assert "..." not in run(group, "--help")[1].partition("Commands:")[2]


def test_help_lists_every_command_in_one_of_five_groups():
    _, out, _ = run("--help")
    assert "\x1b" not in out  # plain where it is not a terminal
    shown = out.partition("\nServices:")[2]
    headings = ["Services", *re.findall(r"^(\w[\w ]*):$", shown, re.MULTILINE)]
    assert headings == list(GROUPS)
    assert len(headings) == 5
    assert re.findall(r"^  (\w+) ", shown, re.MULTILINE) == list(COMMANDS)
    assert sum(map(len, GROUPS.values())) == len(COMMANDS)  # each in one group
    modules = {path.stem for path in Path(app_module.__file__).parent.glob("*.py")}
    assert set(COMMANDS) <= modules
    for group, names in SUBCOMMANDS.items():
        inner = [path[1] for path in VERBS if path[0] == group]
        assert names.split() == inner
        text = " ".join(shown.split())
        assert f": {', '.join(inner)}." in text
    assert set(SUBCOMMANDS) == {path[0] for path in VERBS if len(path) > 1}
