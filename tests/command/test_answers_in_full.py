"""Commands with all that they print, in every format, and their exit codes.

``python tests/command/test_answers_in_full.py`` writes what they print now: read the difference.
"""

from __future__ import annotations

import ast
import json
import os
import re
import sys
from functools import cache
from pathlib import Path
from xml.etree import ElementTree

import pytest
from answered_files import FILES
from click.testing import CliRunner
from test_cli_verbs import leaves

sys.path.insert(0, str(Path(__file__).parent.parent / "acl"))

from sarif_schema import checked

import subtrie._cli.app as app_module
from subtrie import __version__
from subtrie._cli.app import SUBCOMMANDS, app
from subtrie._cli.output_formats import RULES

PATH = Path(__file__).with_name("answers.txt")
#: After a command: what it prints on a terminal. There, ``‹31›`` is a style, ``‹0›`` its end.
_TERMINAL = "  # on a terminal"
_COMMAND = re.compile(
    r"^\$ subtrie (.+)\n((?:.*\n)*?)\[(\d)((?: std(?:out|err))*)\]\n", re.MULTILINE
)


@cache
def recorded() -> dict[str, tuple[str, int, str]]:
    """Return what each command printed, its exit code, and where it printed."""
    found = _COMMAND.findall(PATH.read_text(encoding="utf-8"))
    return {command: (printed, int(code), streams) for command, printed, code, streams in found}


def written(folder: Path) -> Path:
    """Write the files that the commands read."""
    for name, content in FILES.items():
        text = content if isinstance(content, str) else json.dumps(content, indent=1)
        (folder / name).parent.mkdir(exist_ok=True)
        (folder / name).write_text(text, encoding="utf-8")
        (folder / name).chmod(0o600)
    for made, more in (("run", ()), ("day", ("--since", "2026-11-21"))):
        words = ["audit", str(folder / "shop.log"), "--out", str(folder / made), *more]
        assert CliRunner().invoke(app, words).exit_code == 0
    return folder


def answer(command: str) -> tuple[str, int, str]:
    """Run a command in the folder of the files; return what it prints, its exit code, and where.

    Where is empty if all is on standard output. The folder, and digests of what names it, are not
    part of it.
    """
    words = command.removesuffix(_TERMINAL).split()
    with pytest.MonkeyPatch.context() as patch:
        if command.endswith(_TERMINAL):
            patch.setattr(
                "click.testing._NamedTextIOWrapper.isatty", lambda self: self.name == "<stdout>"
            )
        for name in ("NO_COLOR", "FORCE_COLOR", "COLORTERM"):
            patch.delenv(name, raising=False)
        # With a key of its own each run would have other digests, in another order.
        given = {"TERM": "xterm", "COLUMNS": "100", "SUBTRIE_REDACT_KEY": "a key of 16 bytes"}
        for name, value in given.items():
            patch.setenv(name, value)
        done = CliRunner().invoke(app, words, input="", prog_name="subtrie", color=True)
    assert done.exception is None or isinstance(done.exception, SystemExit), done.exception
    text = re.sub(r"\x1b\[([\d;]*)m", r"‹\1›", done.output.replace(f"{Path.cwd()}/", ""))
    text = re.sub(r"\b(?=\d*[a-f])(?=[a-f]*\d)[0-9a-f]{12,64}\b", "DIGEST", text)
    text = text.replace(f'"{__version__}"', '"VERSION"').replace(f" {__version__} ", " VERSION ")
    text = text.replace(f"subtrie {__version__},", "subtrie VERSION,")
    streams = " stdout" * bool(done.stdout) + " stderr" if done.stderr else ""
    return text if text.endswith("\n") or not text else text + "\n", done.exit_code, streams


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    return written(tmp_path_factory.mktemp("answers"))


@pytest.mark.parametrize("command", recorded())
def test_a_command_prints_what_is_recorded(command, folder, monkeypatch):
    monkeypatch.chdir(folder)
    assert answer(command) == recorded()[command]


def test_the_help_of_each_verb_is_recorded():
    pages = {each.removesuffix("--help").strip() for each in recorded() if each.endswith("--help")}
    assert pages == {"", *SUBCOMMANDS, *(" ".join(path) for path, _ in leaves())}


def test_without_its_styles_a_text_on_a_terminal_is_that_of_a_pipe():
    """Except for the tables of an audit."""
    told = recorded()
    styled = [each for each in told if each.endswith(_TERMINAL) and not each.startswith("audit")]
    assert len(styled) > 20
    for command in styled:
        text, code, streams = told[command]
        assert "‹" in text
        plain = re.sub(r"‹[\d;]+›", "", text)
        assert (plain, code, streams) == told[command.removesuffix(_TERMINAL)]


@pytest.mark.parametrize("command", [each for each in recorded() if "--format junit" in each])
def test_the_findings_of_sarif_are_those_of_junit(command, folder, monkeypatch):
    monkeypatch.chdir(folder)
    printed, code, _ = answer(command.replace("junit", "sarif"))
    if code == 2 and not printed.startswith("{"):
        assert printed == recorded()[command][0].replace("junit", "sarif")
        return
    assert code == recorded()[command][1]
    (run,) = checked(printed[: printed.rindex("}") + 1])["runs"]
    told = recorded()[command][0]
    cases = ElementTree.fromstring(told[: told.index("</testsuite>") + len("</testsuite>")])
    names = [each.get("name", "") for each in cases]
    found = [each["ruleId"] for each in run["results"]]
    assert [each.partition(": ")[0] for each in names[: len(found)]] == found
    levels = [each["level"] != "note" for each in run["results"]]
    assert [len(each) == 1 for each in cases] == levels + [False] * (len(names) - len(found))


#: Commands, and the rules and levels of what they find.
LEVELS_OF = {
    "acl who a.y asked.conf": {"not-determined error"},
    "acl who a.y rules.json": {"may note"},
    "acl flows open.conf": {"no-authorization warning"},
    "acl flows flows.conf": {"public-export note", "unused-export note", "unused-import warning"},
    "acl diff one.conf danger.json": {"new-access error"},
    "acl diff one.conf two.conf": {"not-compared error", "new-access warning"},
    "acl test policy.txt a.conf --user web": {"unexpected error"},
}


@pytest.mark.parametrize("command", LEVELS_OF)
def test_each_rule_of_a_command_has_its_level(command, folder, monkeypatch):
    monkeypatch.chdir(folder)
    (run,) = json.loads(answer(f"{command} --sarif")[0])["runs"]
    assert {f"{each['ruleId']} {each['level']}" for each in run["results"]} == LEVELS_OF[command]


def test_each_finding_of_a_command_has_a_sentence_for_sarif():
    """``acl usage --sarif`` ended with ``KeyError: 'claimed'``."""
    codes = set()
    for path in Path(app_module.__file__).parent.glob("*.py"):
        for call in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            if isinstance(call, ast.Call) and ast.unparse(call.func) in ("Finding", "Finding.at"):
                code = call.args[ast.unparse(call.func) == "Finding.at"]
                codes |= {code.value} if isinstance(code, ast.Constant) else set()
    assert len(codes) > 15
    assert codes <= set(RULES)


def test_a_colon_in_a_subject_was_printed_as_a_picture(folder, monkeypatch):
    """``:A:`` was an emoji, and ``[b]`` in a subject was taken for a style."""
    monkeypatch.chdir(folder)
    for words in ("acl who x:A:y one.conf", "acl who x[b]y[/b]:cat: one.conf",
                  "acl who a:A:y jsz.conf jsz.json --verb read",
                  "acl streams jsz.json --subject x[b]:cat:"):  # fmt: skip
        printed, _, _ = answer(words)
        assert words.split()[2] in printed or words.split()[-1] in printed
        assert printed.isascii()


if __name__ == "__main__":
    import tempfile

    commands = list(recorded())
    with tempfile.TemporaryDirectory() as made:
        os.chdir(written(Path(made)))
        answers = {each: answer(each) for each in (*commands, *sys.argv[1:])}
    PATH.write_text(
        "\n".join(
            f"$ subtrie {each}\n{text}[{code}{streams}]\n"
            for each, (text, code, streams) in answers.items()
        ),
        encoding="utf-8",
    )
