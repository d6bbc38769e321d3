"""``acl diff --git``: the files of two revisions, and what is refused."""

from __future__ import annotations

import os
import subprocess
from pathlib import Path

import pytest
from click.testing import CliRunner

from subtrie._cli.app import app
from subtrie._cli.git_trees import pairs
from subtrie._cli.permission_files import BadFile


def git(*words):
    return subprocess.run(["git", *words], check=True, capture_output=True, text=True).stdout


@pytest.fixture
def work(tmp_path, monkeypatch):
    """A repository with the revisions one, two and three, and a change that is not committed."""
    for role in ("AUTHOR", "COMMITTER"):
        monkeypatch.setenv(f"GIT_{role}_NAME", "someone")
        monkeypatch.setenv(f"GIT_{role}_EMAIL", "someone@shop.example")
    monkeypatch.setenv("GIT_CONFIG_GLOBAL", os.devnull)
    folder = tmp_path / "work"
    (folder / "sub").mkdir(parents=True)
    monkeypatch.chdir(folder)
    git("init", "-q", "-b", "main")
    for name in ("one", "two", "three"):
        Path("a.conf").write_text(name)
        Path("sub/b.conf").write_text(f"sub {name}")
        git("add", "-A")
        git("commit", "-q", "-m", name)
        git("tag", name)
    Path("a.conf").write_text("changed")
    Path("new.conf").write_text("new")
    return folder


@pytest.mark.parametrize(
    ("revisions", "old", "new"),
    [
        ("one", "one", "changed"), ("HEAD", "three", "changed"), ("HEAD^", "two", "changed"),
        ("one..two", "one", "two"), ("two..one", "two", "one"), ("one..", "one", "three"),
        ("two..HEAD^^", "two", "one"),
    ],
)  # fmt: skip
def test_both_sides_are_those_of_the_revisions(work, revisions, old, new):
    with pairs(revisions, (Path("a.conf"), Path("sub/b.conf"))) as (one, other):
        assert (one.old.read_text(), one.new.read_text()) == (old, new)
        assert (one.new, other.new) == (Path("a.conf"), Path("sub/b.conf"))
        assert (one.revision, one.prefix) == (revisions.partition("..")[0], f"{one.old.parent}/")
        below = new if ".." in revisions else "three"
        assert (other.old.read_text(), other.new.read_text()) == (f"sub {old}", f"sub {below}")
        assert one.shown(str(other.old)) == f"{one.revision}:sub/b.conf"
        assert one.shown("a.conf") == "a.conf"
        kept = one.old.parent.parent
        assert (Path.cwd() == work) == (".." not in revisions)
    assert not kept.exists()
    assert Path.cwd() == work


def test_a_file_is_named_from_the_folder_of_the_command(work, monkeypatch):
    monkeypatch.chdir("sub")
    with pairs("one", (Path("b.conf"), Path("../a.conf"))) as (one, other):
        assert (one.new, one.new.read_text()) == (Path("b.conf"), "sub three")
        assert (other.new, other.new.read_text()) == (Path("../a.conf"), "changed")
        assert one.old.read_text() == "sub one"
    with pairs("one..two", (Path("b.conf"),)) as (one,):
        assert (one.new, one.new.read_text()) == (Path("sub/b.conf"), "sub two")


def test_the_index_of_the_repository_is_left_as_it_is(work, monkeypatch):
    """In a hook, git sets the variable; the trees were read into that index."""
    Path("a.conf").write_text("staged")
    git("add", "-A")
    before = git("status", "--porcelain")
    monkeypatch.setenv("GIT_INDEX_FILE", ".git/index")
    with pairs("one..two", (Path("a.conf"),)) as (one,):
        assert one.old.read_text() == "one"
    assert git("status", "--porcelain") == before


def test_the_repository_is_that_of_the_files(work, monkeypatch):
    """In a hook, git names its own in the environment."""
    for name, value in (("GIT_DIR", ".git"), ("GIT_WORK_TREE", "elsewhere"), ("GIT_PREFIX", "x/")):
        monkeypatch.setenv(name, value)
    with pairs("one..two", (Path("sub/b.conf"),)) as (one,):
        assert one.old.read_text() == "sub one"


@pytest.mark.parametrize(
    ("revisions", "file", "told"),
    [
        ("..two", "a.conf", "--git ..two: write OLD or OLD..NEW"),
        ("", "a.conf", "--git : write OLD or OLD..NEW"),
        ("one...two", "a.conf", "--git one...two: write OLD or OLD..NEW"),
        ("gone", "a.conf", "git rev-parse gone^{tree}: there is no such revision"),
        ("one..gone", "a.conf", "git rev-parse gone^{tree}: there is no such revision"),
        ("--all", "a.conf", "git rev-parse --all^{tree}: there is no such revision"),
        ("one", "new.conf", "one:new.conf: no such file in that revision"),
        ("one..two", "new.conf", "one:new.conf: no such file in that revision"),
    ],
)
def test_what_is_not_there_is_named(work, revisions, file, told):
    with pytest.raises(BadFile) as caught, pairs(revisions, (Path(file),)):
        pass
    assert caught.value.message == told
    done = CliRunner().invoke(app, ["acl", "diff", "--git", revisions, file])
    assert (done.exit_code, done.stdout, done.stderr) == (2, "", f"Error: {told}\n")


def test_a_file_that_only_the_new_revision_lacks_is_named_with_it(work):
    git("rm", "-q", "sub/b.conf")
    git("commit", "-q", "-m", "four")
    Path("sub").mkdir()
    Path("sub/b.conf").write_text("again")
    for revisions in ("one..", "one..HEAD"):
        with pytest.raises(BadFile) as caught, pairs(revisions, (Path("sub/b.conf"),)):
            pass
        assert caught.value.message == "HEAD:sub/b.conf: no such file in that revision"


def test_the_files_are_of_one_repository(work, tmp_path, monkeypatch):
    (tmp_path / "other.conf").write_text("other")
    with pytest.raises(BadFile) as caught, pairs("one", (Path("a.conf"), tmp_path / "other.conf")):
        pass
    assert caught.value.message == f"the files are not all in the repository {work}"
    outside = (tmp_path / "other.conf",)
    with pytest.raises(BadFile, match=r"^git rev-parse .*not a git rep"), pairs("one", outside):
        pass
    monkeypatch.setenv("PATH", str(tmp_path))
    with (
        pytest.raises(BadFile, match=r"^git rev-parse: .*No such file"),
        pairs("one", (Path("a"),)),
    ):
        pass


def test_the_exit_code_is_the_worst_of_the_files(work):
    """The first file grants more, the second is as it was; one file may be SARIF, two may not."""
    rules = '{"subtrie": 1, "publish_allow": [%s]}'
    for name in ("more.json", "same.json"):
        Path(name).write_text(rules % '"a"')
    git("add", "-A")
    git("commit", "-q", "-m", "rules")
    Path("more.json").write_text(rules % '"a", "b"')
    diff = ["acl", "diff", "--git", "HEAD"]
    for files in (["more.json", "same.json"], ["same.json", "more.json"]):
        done = CliRunner().invoke(app, [*diff, *files])
        assert (done.exit_code, "+ publish b" in done.stdout) == (1, True), done.output
        assert CliRunner().invoke(app, [*diff, *files, "--format", "sarif"]).exit_code == 2
    done = CliRunner().invoke(app, [*diff, "more.json", "--format", "sarif"])
    assert (done.exit_code, "new-access" in done.stdout) == (1, True), done.output
