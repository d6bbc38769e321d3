"""``env.yaml``: read once, only if no other user may write it, and named in the log."""

from __future__ import annotations

import logging
import os
import sys
from pathlib import Path

import pytest

from subtrie.connector import Connector, _env_files, _io_thread

from .nats_server import NatsServer

HOST = "shop.example"
POSIX = pytest.mark.skipif(os.name != "posix", reason="modes and owners are of POSIX")


@pytest.fixture(autouse=True)
def _not_of_the_test(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(_env_files, "_skipped", set())


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
    assert len(opened) == len(set(opened)) == 2 * len((Path.cwd(), *Path.cwd().parents))


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
