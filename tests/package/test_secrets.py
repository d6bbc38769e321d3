"""The search for secrets in ``secrets_watch`` finds each way of showing one."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

#: Each test shows a secret in another way, except the last ones.
SHOWN = """
import logging, subprocess, sys
import click, nkeys, pytest
from click.testing import CliRunner
from subtrie import SubtrieError
from subtrie.gencreds._sign import Creds

SEED = nkeys.encode_seed(bytes(32), nkeys.PREFIX_BYTE_USER).decode()
WORD = "hidden" + "-word"

def test_shown_printed(): print("is", SEED)
def test_shown_to_stderr(): print(WORD, file=sys.stderr)
def test_shown_logged(): logging.getLogger("any").warning("is %s", SEED)
def test_shown_raised():
    raise RuntimeError(f"no {WORD} is right")
def test_shown_in_an_expected_refusal():
    with pytest.raises(SubtrieError):
        raise SubtrieError(f"'{SEED}' is refused")
def test_shown_by_a_command():
    CliRunner().invoke(click.Command("say", callback=lambda: click.echo(WORD)))
def test_shown_by_a_command_that_fails():
    def fail(): raise RuntimeError(WORD)
    CliRunner().invoke(click.Command("say", callback=fail))
def test_shown_by_a_process():
    subprocess.run([sys.executable, "-c", f"print('{SEED}')"], capture_output=True)
def test_shown_as_it_looks(): print("SA" + "B" * 56)
def test_shown_by_a_fixture(fixture): pass
@pytest.fixture
def fixture():
    yield
    print(WORD)
class Telling(Creds):
    def __repr__(self): return self.seed
def test_shown_by_creds(): Telling("u", "U", "jwt", SEED)

def test_kept(): print("a seed SU…, a hidden word", Creds("u", "U", "jwt", SEED))
def test_kept_in_a_refusal():
    with pytest.raises(SubtrieError):
        raise SubtrieError("the seed SU… is refused")
"""


@pytest.mark.requirement("T16")
def test_every_way_to_show_a_secret_fails(tmp_path):
    here = Path(__file__).parents[1]
    (tmp_path / "conftest.py").write_text(
        "from secrets_watch import pytest_configure, pytest_runtest_makereport\n"
    )
    (tmp_path / "test_shown.py").write_text(SHOWN)
    path = os.pathsep.join([str(here), *sys.path])
    done = subprocess.run(
        [sys.executable, "-m", "pytest", "-q", "-rA", "-p", "no:cacheprovider", str(tmp_path)],
        cwd=tmp_path, env={**os.environ, "PYTHONPATH": path}, capture_output=True, text=True,
        check=False, timeout=120,
    )  # fmt: skip
    rows = re.findall(r"^(FAILED|PASSED|ERROR) \S+::(test_\w+)", done.stdout, re.MULTILINE)
    names = {name for _, name in rows}
    assert len(names) == 13, done.stdout
    caught = {name for word, name in rows if word != "PASSED"}
    assert caught == {name for name in names if name.startswith("test_shown")}, done.stdout
