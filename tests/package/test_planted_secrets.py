"""A known set of secrets goes through every command that reads a file, and is shown nowhere."""

from __future__ import annotations

import logging
from pathlib import Path

import pytest
from click.testing import CliRunner

from planted_secrets import SUBJECT, PlantedSecrets
from secrets_watch import PASSWORD
from subtrie._cli.app import app

SOURCE = f'''
from subtrie.connector import Connector
service = Connector("a.com", nats="nats://admin:{PASSWORD}@127.0.0.1:4222")
async def ask(path):
    await service.request("GET", "https://user:{PASSWORD}@b.com/" + path)
    await service.request("GET", "https://b.com/x", headers={{"Authorization": "{PASSWORD}"}})
'''


@pytest.fixture
def planted(tmp_path: Path) -> PlantedSecrets:
    folder = tmp_path / "inputs"
    folder.mkdir()
    return PlantedSecrets(folder)


def commands(planted: PlantedSecrets, out: Path) -> list[list[str]]:
    """Return each command that reads something with secrets."""
    log, taken, snapshot = str(planted.log), str(planted.capture), str(planted.snapshot)
    source = out.parent / "service"
    source.mkdir()
    (source / "service.py").write_text(SOURCE)
    rules = [planted.creds, planted.bare_seed, planted.configuration, planted.broken_configuration]
    return [
        *(["wire", file, *more] for file in (log, taken, snapshot) for more in ([], ["--json"])),
        ["wire", taken, "--check"],
        ["who", "-s", str(planted.clean_log), SUBJECT],
        ["audit", log, "--out", f"{out}/log", "--long", "--rows", "0", "--report",
         f"{out}/page.html"],
        ["audit", log, "--json"],
        ["audit", taken, snapshot, "--out", f"{out}/capture", "--rows", "0"],
        ["report", "html", f"{out}/log", "--out", f"{out}/again.html"],
        ["report", "markdown", f"{out}/log"],
        ["report", "json", f"{out}/log"],
        ["report", "diff", f"{out}/log", f"{out}/capture"],
        *(["acl", verb, str(file)] for file in rules for verb in ("show", "lint")),
        ["acl", "diff", *2 * [str(planted.configuration)]],
        ["gencreds", str(source), "--plane", "p", "--dry-run"],
        ["gencreds", str(source), "--plane", "p", "--signing-key", str(planted.bare_seed), "--out",
         f"{out}/creds"],
    ]  # fmt: skip


@pytest.mark.requirement("T16")
def test_no_command_shows_a_secret_that_it_read(planted, tmp_path, capfd, caplog):
    caplog.set_level(logging.DEBUG)
    out, codes = tmp_path / "out", {}
    out.mkdir()
    for arguments in commands(planted, out):
        done = CliRunner().invoke(app, arguments)
        assert not planted.shown_in(done.output + repr(done.exception)), arguments
        codes[" ".join(arguments[:2])] = done.exit_code
    assert not planted.shown_in(caplog.text + "".join(capfd.readouterr()))
    assert not planted.shown_in_files([out])
    assert (out / "log" / "audit.json").exists()
    assert (out / "page.html").exists()
    assert codes["audit " + str(planted.log)] == 0
    assert planted.shown_in_files([planted.folder]), "the search finds what is there"
