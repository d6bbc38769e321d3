"""The pre-commit hook and the GitHub action, step by step."""

from __future__ import annotations

import html
import os
import re
import subprocess
import sys
import textwrap
from functools import partial
from pathlib import Path

import pytest
from click.testing import CliRunner
from operators import Operator
from sarif_schema import checked
from source_trees import HEAD

from subtrie._cli.app import app

ROOT = Path(__file__).resolve().parents[2]
CALL = 'async def f(): await orders.request("GET", "https://stock.shop/items")\n'


@pytest.fixture
def shell(tmp_path):
    """Runs a script as a runner does, with a ``subtrie`` on its path."""
    command = tmp_path / "bin" / "subtrie"
    command.parent.mkdir()
    command.write_text(f'#!/bin/sh\nexec {sys.executable} -m subtrie.cli "$@"\n')
    command.chmod(0o755)
    path = f"{command.parent}{os.pathsep}{os.environ['PATH']}"

    def run(script: str, **env: str) -> subprocess.CompletedProcess[str]:
        return subprocess.run(
            ["bash", "--noprofile", "--norc", "-eo", "pipefail", "-c", script],
            cwd=tmp_path, env={**os.environ, "PATH": path, **env},
            capture_output=True, text=True, check=False, timeout=120,
        )  # fmt: skip

    return run


def _step(name: str) -> str:
    text = (ROOT / "action.yml").read_text().split(f"- name: {name}\n")[1]
    return textwrap.dedent(text.split("run: |\n")[1].split("    - name:")[0])


def test_the_action_derives_the_rules_of_the_source_and_compares(tree, tmp_path, shell):
    folder = tree(service=HEAD)
    given = {"PLANE": "prod", "OLD": "old.conf", "NEW": "new.conf", "SOURCE": str(folder)}
    given |= {"GITHUB_ENV": "variables", "GITHUB_STEP_SUMMARY": "summary.md"}
    given |= {"SARIF": "out.sarif", "WHO": "", "BASE": ""}
    (tmp_path / "old.conf").touch()
    assert shell(_step("derive"), **given).returncode == 0
    (tmp_path / "new.conf").rename(tmp_path / "old.conf")
    for text, status in ((HEAD, 0), (HEAD + CALL, 1)):
        tree(service=text)
        done = shell(_step("derive"), **given)
        assert done.returncode == 0, done.stderr
        done = shell(_step("compare"), **given)
        assert done.returncode == status, done.stderr
    summary = html.unescape((tmp_path / "summary.md").read_text())
    assert "prod.safe.443.orders_shop.stock_shop" in summary
    assert not (tmp_path / "variables").exists()  # no name of a file becomes a variable of the job
    tree(service=HEAD + CALL.replace('"https', 'url + "https'))
    assert shell(_step("derive"), **given).returncode == 1


def test_the_pre_commit_hook_calls_an_existing_command(tree, shell):
    [entry] = re.findall(
        r"entry: (subtrie gencreds.*)", (ROOT / ".pre-commit-hooks.yaml").read_text()
    )
    assert shell(f"{entry} {tree(service=HEAD + CALL)} --plane prod").returncode == 0
    dynamic = tree(service=HEAD + CALL.replace('"https', 'url + "https'))
    assert shell(f"{entry} {dynamic} --plane prod").returncode == 1
    assert shell(f"{entry} {tree(service='def f(:')} --plane prod").returncode == 2


def test_added_rules_as_sarif_and_markdown(tree, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    operator = Operator()
    key = Path("account.nk")
    key.write_text(operator.account.seed.decode())
    key.chmod(0o600)
    folder = tree(service=HEAD)
    run = partial(_gencreds, folder, "--plane", "prod")
    assert "No creds to compare with: `orders.shop`" in run("--format", "markdown")[1]
    assert checked(run("--format", "sarif")[1])["runs"][0]["results"] == []
    assert run("--signing-key", key)[0] == 0
    assert "Unchanged: `orders.shop`" in run("--format", "markdown")[1]

    tree(service=HEAD + CALL)
    status, text = run("--format", "sarif")
    [found] = checked(text)["runs"][0]["results"]
    place = found["locations"][0]["physicalLocation"]
    assert (status, found["ruleId"], found["level"]) == (0, "new-access", "warning")
    assert place["artifactLocation"]["uri"] == "source/service.py"
    line = (folder / "service.py").read_text().splitlines().index(CALL.strip()) + 1
    assert place["region"]["startLine"] == line
    assert "stock_shop" in found["message"]["text"]
    told = run("--format", "markdown")[1]
    assert "**added** for `orders.shop`" in told
    assert "prod.safe.443.orders_shop.stock_shop" in html.unescape(told)

    tree(service=HEAD + CALL.replace('"https', 'url + "https'))
    status, text = run("--format", "sarif")
    [found] = checked(text)["runs"][0]["results"]
    assert (status, found["ruleId"], found["level"]) == (1, "dynamic", "error")


def _gencreds(*words: object) -> tuple[int, str]:
    done = CliRunner().invoke(app, ["gencreds", *map(str, words)])
    return done.exit_code, done.stdout
