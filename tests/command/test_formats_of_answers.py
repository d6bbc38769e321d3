"""``--format`` of ``check`` and ``who``; what the help of verbs about permissions leaves out."""

from __future__ import annotations

import json
from xml.etree import ElementTree

import pytest
from click.testing import CliRunner

from subtrie._cli.app import app


def run(*words, status):
    done = CliRunner().invoke(app, [str(each) for each in words])
    assert done.exit_code == status, done.output
    return done.output


@pytest.fixture
def patterns(tmp_path):
    path = tmp_path / "patterns.txt"
    path.write_text("orders.*\n")
    return path


def test_check_and_who_had_no_other_formats(patterns):
    for words, status, wrong in (
        (["check", "a.b", "a..b"], 1, "a..b"),
        (["check", "--kind", "stream", "A", "A.B"], 1, "A.B"),
        (["check", "a.*", "x.*", "--against", "a.b"], 1, "x.* --against a.b"),
        (["who", "-s", patterns, "orders.x", "stock"], 1, "stock"),
    ):
        [found] = json.loads(run(*words, "--format", "sarif", status=status))["runs"]
        [result] = found["results"]
        assert result["message"]["text"].startswith(f"{wrong}: ")
        suite = ElementTree.fromstring(run(*words, "--format", "junit", status=status))
        assert (suite.attrib["tests"], suite.attrib["failures"]) == ("2", "1")
        table = run(*words, "--format", "markdown", status=status)
        assert f"| `{wrong}` | `no` |" in table
        assert run(*words, "--format", "json", status=status) == run(
            *words, "--json", status=status
        )
    said = CliRunner().invoke(app, ["check", "a.b", "--level", "adr6", "--format", "junit"])
    assert (said.exit_code, "<testsuite" in said.output) == (2, False)


def test_a_reader_of_plain_nats_meets_no_word_of_microbus():
    names = app.get_command(None, "acl").commands
    pages = [run("acl", "--help", status=0)]
    pages += [run("acl", each, "--help", status=0) for each in names]
    assert len(pages) > 10
    assert not [page for page in pages if "microbus" in page.lower() or "plane" in page.lower()]
