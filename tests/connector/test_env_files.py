"""``env.yaml``: read once, only if no other user may write it, and named in the log."""

from __future__ import annotations

import logging
import os
import sys
from pathlib import Path

import pytest

from subtrie.connector import Connector, _config_folders, _env_files, _io_thread
from subtrie.connector._config import read_config_files

from .nats_server import NatsServer

HOST = "shop.example"
POSIX = pytest.mark.skipif(os.name != "posix", reason="modes and owners are of POSIX")


@pytest.fixture(autouse=True)
def _not_of_the_test(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(_env_files, "_skipped", set())
    monkeypatch.setattr(_config_folders, "_skipped", set())


def _opened(monkeypatch, make) -> list[str]:
    names: list[str] = []
    plain = os.open

    def count(path, *more, **options):
        names.append(os.fspath(path))
        return plain(path, *more, **options)

    monkeypatch.setattr(os, "open", count)
    make()
    return [name for name in names if name.endswith((".yaml",))]


def test_a_constructor_opens_each_env_file_once(monkeypatch):
    Path("env.yaml").write_text("MICROBUS_LOCALITY: west\n")
    opened = _opened(monkeypatch, lambda: Connector(HOST))
    folders = _config_folders.config_folders(Path.cwd(), ())
    assert len(opened) == len(set(opened)) == 2 * len(folders)


def test_a_file_above_counts_and_a_nearer_one_wins(monkeypatch, tmp_path):
    Path("env.yaml").write_text("MICROBUS_LOCALITY: west\nMICROBUS_SHORT_CIRCUIT: 0\n")
    (tmp_path / "below").mkdir()
    monkeypatch.chdir(tmp_path / "below")
    assert Connector(HOST).locality == "west"
    Path("env.yaml").write_text("MICROBUS_LOCALITY: near\n")
    made = Connector(HOST)
    assert (made.locality, made._transport.short_circuit) == ("near", False)


@POSIX
@pytest.mark.parametrize("mode", [0o664, 0o646, 0o666])
def test_a_file_that_others_may_write_is_skipped_and_named_once(mode, caplog):
    Path("env.yaml").write_text("MICROBUS_NATS: nats://elsewhere.example:4222\n")
    Path("env.yaml").chmod(mode)
    for _ in range(2):
        assert Connector(HOST)._transport.broker == ""
    (record,) = caplog.records
    fault = f"others may write it (mode {mode:04o}); use chmod go-w"
    assert record.getMessage() == f"{Path.cwd() / 'env.yaml'} is not read: {fault}"


@POSIX
@pytest.mark.skipif(os.name == "posix" and os.geteuid() != 0, reason="only root gives files away")
def test_a_file_of_another_user_is_skipped(caplog):
    Path("env.yaml").write_text("MICROBUS_LOCALITY: west\n")
    os.chown("env.yaml", 12345, 12345)
    assert Connector(HOST).locality == ""
    assert "another user owns it (uid 12345)" in caplog.text


@POSIX
@pytest.mark.parametrize("mode", [0o777, 0o1777, 0o707])
async def test_a_folder_that_others_may_write_ends_the_search(mode, tmp_path, monkeypatch, caplog):
    """Not its files, and not those above it, of ``env.yaml`` and ``config.yaml``."""
    shared = tmp_path / "shared"
    for folder in (tmp_path, shared, shared / "own"):
        folder.mkdir(exist_ok=True)
        (folder / "env.yaml").write_text(f"MICROBUS_LOCALITY: {folder.name}\n")
        (folder / "config.yaml").write_text(f"all:\n  Limit: {folder.name}\n")
    shared.chmod(mode)
    monkeypatch.chdir(shared / "own")
    assert Connector(HOST).locality == "own"
    assert read_config_files() == {"all": {"Limit": "own"}}
    (shared / "own" / "env.yaml").unlink()
    (shared / "own" / "config.yaml").unlink()
    caplog.clear()
    assert Connector(HOST).locality == ""
    assert read_config_files() == {}
    monkeypatch.chdir(shared)
    assert (Connector(HOST).locality, read_config_files()) == ("", {}), "the folder itself"
    assert not caplog.records, "each is named once"
    shared.chmod(0o755)
    assert (Connector(HOST).locality, read_config_files()) == (
        "shared",
        {"all": {"Limit": "shared"}},
    )


@POSIX
def test_files_that_do_not_count_for_their_folder_are_named_once(tmp_path, monkeypatch, caplog):
    below = tmp_path / "below"
    below.mkdir()
    (tmp_path / "env.yaml").write_text("MICROBUS_LOCALITY: above\n")
    below.chmod(0o777)
    monkeypatch.chdir(below)
    for _ in range(2):
        Connector(HOST)
    (record,) = caplog.records
    fault = f"others may write {below} (mode 0777)"
    assert record.getMessage() == f"{tmp_path / 'env.yaml'} is not read: {fault}"


@POSIX
@pytest.mark.skipif(os.name == "posix" and os.geteuid() != 0, reason="only root gives files away")
@pytest.mark.parametrize(("owner", "group", "mode"), [(12345, 0, 0o755), (0, 12345, 0o775)])
def test_a_folder_of_another_user_or_group_ends_the_search(
    owner, group, mode, tmp_path, monkeypatch
):
    below = tmp_path / "below"
    below.mkdir()
    (below / "config.yaml").write_text("all:\n  Limit: 1\n")
    os.chown(below, owner, group)
    below.chmod(mode)
    monkeypatch.chdir(below)
    assert read_config_files() == {}


@POSIX
def test_a_pipe_named_config_yaml_does_not_hang(caplog):
    os.mkfifo("config.yaml", 0o600)
    assert read_config_files() == {}
    assert "not a regular file" in caplog.text


@POSIX
def test_a_pipe_named_env_yaml_does_not_hang_the_constructor(caplog):
    os.mkfifo("env.yaml", 0o600)
    assert Connector(HOST).locality == ""
    assert "not a regular file" in caplog.text


async def test_the_line_at_startup_names_the_files_that_set_something(caplog):
    caplog.set_level(logging.INFO, logger="subtrie.connector")
    Path("env.yaml").write_text("MICROBUS_DEPLOYMENT: LOCAL\n")
    Path("env.local.yaml").write_text("MICROBUS_UNKNOWN: x\n")
    async with Connector(HOST):
        pass
    (line,) = [text for text in caplog.messages if " up as " in text]
    assert line.endswith(f", settings from {Path.cwd() / 'env.yaml'}")


@pytest.mark.parametrize(("value", "lowered"), [("", True), ("0", True), ("1", False)])
async def test_the_switch_interval_can_be_kept(monkeypatch, broker: NatsServer, value, lowered):
    monkeypatch.setenv("SUBTRIE_KEEP_SWITCH_INTERVAL", value)
    before = sys.getswitchinterval()
    async with Connector(HOST, nats=broker.url, short_circuit=False, transport="native"):
        assert (sys.getswitchinterval() == pytest.approx(_io_thread.SWITCH_INTERVAL)) is lowered
    assert sys.getswitchinterval() == before
