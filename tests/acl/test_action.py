"""The steps of the GitHub action and the recipe of the documentation, in a real git repository."""

from __future__ import annotations

import os
import re
import subprocess
import sys
import textwrap
from pathlib import Path

import pytest
from sarif_schema import checked

ROOT = Path(__file__).resolve().parents[2]
PAGES = ("docs/permission-review.md",)

SITE = """accounts {
  include accounts.inc
}
"""
RULES = """LEGACY { users: [ { user: legacy, password: dull, permissions: {
  publish: [ "old.x" ], subscribe: [ "old.y" ] } } ] }
"""
WIDER = RULES.replace('"old.x"', '"old.x", "payments.>"')


def shell(folder, script, **env):
    """Run a script as a runner of actions does."""
    return subprocess.run(
        ["bash", "--noprofile", "--norc", "-eo", "pipefail", "-c", script], cwd=folder,
        env={**os.environ, **env}, capture_output=True, text=True, check=False, timeout=120,
    )  # fmt: skip


@pytest.fixture
def work(tmp_path, monkeypatch):
    """A repository with two commits, of which the second may grant more in an included file."""
    command = tmp_path / "bin" / "subtrie"
    command.parent.mkdir()
    command.write_text(f'#!/bin/sh\nexec {sys.executable} -m subtrie.cli "$@"\n')
    command.chmod(0o755)
    monkeypatch.setenv("PATH", f"{command.parent}{os.pathsep}{os.environ['PATH']}")
    for name, value in (("NAME", "someone"), ("EMAIL", "someone@shop.example")):
        for role in ("AUTHOR", "COMMITTER"):
            monkeypatch.setenv(f"GIT_{role}_{name}", value)
    monkeypatch.setenv("GIT_CONFIG_GLOBAL", os.devnull)
    folder = tmp_path / "work"
    folder.mkdir()
    _commit(folder, {"nats.conf": SITE, "accounts.inc": RULES})
    return folder


def _commit(folder, files):
    for name, text in files.items():
        (folder / name).write_text(text)
    script = "git init -q -b main; git add -A; git commit -q --allow-empty -m change"
    done = shell(folder, script)
    assert done.returncode == 0, done.stderr


def _steps():
    """The scripts of the steps by name, and the names of the variables of each."""
    parts = re.split(r"    - name: (.+)\n", (ROOT / "action.yml").read_text())[1:]
    found = {}
    for name, text in zip(parts[::2], parts[1::2], strict=True):
        script = textwrap.dedent(text.split("run: |\n")[1])
        found[name] = script, re.findall(r"^        (\w+): \$\{\{ inputs", text, re.MULTILINE)
    return found


def _action(work, **given):
    """The step that compares, of a change of a configuration."""
    inputs = {"BASE": "", "OLD": "", "NEW": "nats.conf", "WHO": "", "SARIF": "../out.sarif",
              "BASELINE": ""}  # fmt: skip
    inputs |= given
    script, names = _steps()["compare"]
    assert set(names) == set(inputs)
    trees = shell(work, "git worktree list").stdout
    done = shell(work, script, GITHUB_STEP_SUMMARY="../summary.md", **inputs)
    assert "dull" not in done.stdout + done.stderr
    assert shell(work, "git worktree list").stdout == trees
    return done


@pytest.mark.requirement("A81")
@pytest.mark.parametrize("page", PAGES)
def test_the_recipe_compared_the_new_include_with_itself(page, work):
    """The old configuration beside the new files was "no difference" with any change of them."""
    text = (ROOT / page).read_text()
    assert "git show" not in text
    _commit(work, {"accounts.inc": WIDER})
    shell(work, "git branch -q origin/main HEAD^")
    # On a line of its own, or in the second cell of a table.
    recipe = re.findall(r"^(?:\|[^|]*\| `)?(subtrie acl diff --git [^`\n]+)", text, re.MULTILINE)
    for each in recipe:
        done = shell(work, each)
        assert done.returncode == 1, done.stderr
        assert "+ publish payments.>" in done.stdout
    base = re.search(r"base: ([\w/^]+), new: nats\.conf", text)
    assert base is not None
    assert recipe
    done = _action(work, BASE=base[1])
    assert done.returncode == 1, done.stderr
    assert "+ publish payments.>" in done.stdout


@pytest.mark.parametrize(("change", "status", "shown"), [
    ({}, 0, "no difference"),
    ({"accounts.inc": WIDER}, 1, "+ publish payments.>"),
    ({"nats.conf": SITE + "no_auth_user: legacy\n"}, 1,
     "+ nats.conf:4:15: a connection without credentials may publish old.x in LEGACY, as LEGACY/"),
    ({"accounts.inc": RULES.replace("] } } ]", "] } } ], exports: [ { stream: a } ]")}, 2,
     "exports / stream a added"),
])  # fmt: skip
@pytest.mark.requirement("A81")
def test_the_action_was_green_for_what_is_not_compared(change, status, shown, work):
    _commit(work, change)
    done = _action(work, BASE="HEAD^")
    assert done.returncode == status, done.stderr
    assert shown in done.stdout
    results = checked((work.parent / "out.sarif").read_text())["runs"][0]["results"]
    assert len(results) == (0 if not status else 2 if "credentials" in shown else 1)
    summary = (work.parent / "summary.md").read_text()
    assert "Permissions of" in summary
    assert ("No difference." in summary) == (status == 0)


def test_the_action_takes_a_file_or_a_policy_as_the_old_side(work):
    (work / "narrow.conf").write_text(f"accounts {{\n{RULES.replace('old.x', 'old.z')}}}\n")
    assert _action(work, OLD="narrow.conf").returncode == 1
    assert _action(work, OLD="narrow.conf", WHO="nobody").returncode == 2
    assert _action(work, BASE="HEAD", NEW="./nats.conf").returncode == 0
    assert _action(work, BASE="no-such-revision").returncode == 2
    assert _action(work, BASE="HEAD", NEW="missing.conf").returncode == 2
    for wrong in ("", "nats.conf"):
        done = _action(work, OLD=wrong)
        assert done.returncode == 2
        assert "give base" in done.stderr


def test_revisions_are_compared_each_with_its_own_includes(work, tmp_path):
    _commit(work, {"accounts.inc": WIDER})
    _commit(work, {"other.txt": "x"})
    done = shell(work, "subtrie acl diff --every-user --git HEAD~2..HEAD nats.conf")
    assert (done.returncode, done.stdout) == (
        1, "LEGACY/legacy:\n+ publish payments.>  example: payments.x1\n",
    )  # fmt: skip
    done = shell(work, "subtrie acl diff --git HEAD~1..HEAD nats.conf")
    assert (done.returncode, done.stdout) == (0, "✓ no difference\n")
    # The working tree, from a folder below, of two files.
    (work / "sub").mkdir()
    (work / "accounts.inc").write_text(RULES)
    done = shell(work / "sub", "subtrie acl diff --every-user --git HEAD ../nats.conf")
    assert done.returncode == 0
    assert "- publish payments.>" in done.stdout
    done = shell(work, "subtrie acl diff --git HEAD~2 nats.conf nats.conf")
    assert (done.returncode, done.stdout) == (0, "✓ no difference\n" * 2)


def test_an_attribute_of_git_hides_no_file(work):
    """A file that export-ignore leaves out of archives is compared, too."""
    _commit(work, {".gitattributes": "accounts.inc export-ignore\n"})
    _commit(work, {"accounts.inc": WIDER})
    done = shell(work, "subtrie acl diff --every-user --git HEAD^..HEAD nats.conf")
    assert "+ publish payments.>" in done.stdout


def test_a_place_of_the_old_revision_is_named_as_git_writes_it(work):
    _commit(work, {"nats.conf": "proxies { trusted: [ { key: PX } ] }\n" + SITE})
    _commit(work, {"nats.conf": SITE})
    for revisions in ("HEAD^", "HEAD^..HEAD", "HEAD^.."):
        done = shell(work, f"subtrie acl diff --git {revisions} nats.conf")
        assert done.returncode == 2
        assert done.stdout == (
            "? nats.conf: not compared: proxies removed (was at HEAD^:nats.conf:1)\n"
        )


@pytest.mark.parametrize("arguments", [
    "--git nothing nats.conf", "--git ..HEAD nats.conf", "--git HEAD...HEAD nats.conf",
    "--git HEAD^..HEAD missing.conf", "--git HEAD new.conf", "--git=--help nats.conf",
    "--git HEAD /etc/hostname", "--git HEAD nats.conf nats.conf --sarif",
])  # fmt: skip
def test_a_revision_or_file_that_is_missing_is_one_sentence(arguments, work):
    (work / "new.conf").write_text(SITE)
    done = shell(work, f"subtrie acl diff {arguments}")
    assert done.returncode == 2
    assert "Traceback" not in done.stderr
    assert done.stderr.count("Error: ") == 1


def test_a_hook_runs_on_any_text_and_with_a_baseline(work):
    text = (ROOT / ".pre-commit-hooks.yaml").read_text()
    lint, change = (part for part in text.split("- id: ") if "subtrie acl" in part)
    for each in (lint, change):
        assert "pass_filenames: false" in each
        assert "types: [text]" in each
    entry = re.search("entry: (.+)", lint)[1]
    assert shell(work, f"{entry} nats.conf --write-baseline ../ok.json").returncode == 0
    assert shell(work, f"{entry} nats.conf --baseline ../ok.json").returncode == 0
    (work / "accounts.inc").write_text(WIDER)
    entry = re.search("entry: (.+)", change)[1]
    assert shell(work, f"{entry} nats.conf").returncode == 1
