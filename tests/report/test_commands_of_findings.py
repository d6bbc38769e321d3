"""The command of a finding names the run and the logs, wherever the finding is shown."""

from __future__ import annotations

import html
import json
import re

import pytest
from click.testing import CliRunner

from subtrie._cli.app import app

ITEMS = "prod.safe.443.web_example.stock_example._.GET.items"
LINE = '[7] 2026/11/21 08:00:0{}.000000 [TRC] 1.2.3.4:{} - cid:{} - "v1:go:{}" - <<- [{}]\n'
#: A subscriber, and a message in the name of another service.
LOG = LINE.format(1, 1, 1, "stock.example", f"SUB {ITEMS}  1") + LINE.format(
    2, 2, 2, "forger.example", f"PUB {ITEMS} 0"
)


def named(text: str) -> set[tuple[str, str]]:
    """Return the logs and the runs that commands in a text name."""
    found = re.findall(r"report lines --log (\S+) (?:-- )?(\S+) ", html.unescape(text))
    assert found
    return set(found)


def ran(*words: str) -> str:
    done = CliRunner().invoke(app, [*words])
    assert done.exit_code in (0, 1), done.output
    return done.stdout


@pytest.fixture
def folder(tmp_path, monkeypatch):
    """Be in a folder with a log."""
    monkeypatch.chdir(tmp_path)
    (tmp_path / "shop.log").write_text(LOG)
    return tmp_path


def test_the_run_and_the_logs_of_an_audit_are_those_of_its_page_and_its_findings(folder):
    ran("audit", "shop.log", "--out", "mine", "--report", "page.html")
    assert named((folder / "page.html").read_text()) == {("shop.log", "mine")}
    for form in ("html", "markdown", "json", "findings"):
        more = ["--format", "json"] if form == "findings" else []
        assert named(ran("report", form, "mine", *more)) == {("LOG", "mine")}, form
        told = ran("report", form, "mine", "--log", "shop.log", *more)
        assert named(told) == {("shop.log", "mine")}, form


def test_the_run_and_the_logs_of_a_growing_log_are_those_of_its_findings(folder):
    words = ["audit", "shop.log", "--out", "mine", "--follow", "--until-idle", "0.01", "--json"]
    lines = [json.loads(each) for each in ran(*words, "--report", "page.html").splitlines()]
    told = [each["finding"]["command"] for each in lines if "finding" in each]
    for text in ("\n".join(told), (folder / "page.html").read_text()):
        assert named(text) == {("shop.log", "mine")}
