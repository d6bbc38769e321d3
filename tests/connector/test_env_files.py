"""``env.yaml``: read once, only if no other user may write it, and named in the log."""

from __future__ import annotations

import logging
import os
import stat
import tracemalloc
from pathlib import Path
from types import SimpleNamespace

import pytest
import yaml

from subtrie.connector import Connector, _config_folders, _env_files
from subtrie.connector._config import read_config_files
from subtrie.connector._env_files import read_env_files

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
@POSIX
@pytest.mark.parametrize(("owner", "counts"), [(12345, True), (0, True), (12346, False)])
def test_files_and_folders_of_this_user_and_of_root_count(monkeypatch, owner, counts):
    monkeypatch.setattr(os, "geteuid", lambda: 12345)
    file, folder = (
        os.stat_result((kind | 0o755, 0, 0, 1, owner, owner, 10, 0, 0, 0))
        for kind in (stat.S_IFREG, stat.S_IFDIR)
    )
    assert (not _env_files._fault(file)) is counts
    path = SimpleNamespace(stat=lambda: folder)
    assert (not _config_folders._fault(path)) is counts


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


@POSIX
@pytest.mark.parametrize("name", ["config.yaml", "config.local.yaml", "env.yaml", "env.local.yaml"])
async def test_a_folder_of_the_name_of_a_file_is_not_read(name, caplog):
    """A container whose file is missing has a folder there: no service started."""
    Path(name).mkdir()
    shop = Connector(HOST, nats="", deployment="TESTING")
    limit = shop.config("Limit", default="1")
    before = os.listdir("/dev/fd")
    for _ in range(3):
        assert (read_config_files(), read_env_files().values) == ({}, {})
    assert len(os.listdir("/dev/fd")) == len(before), "each is closed"
    async with shop:
        assert limit.get() == "1"
    told = [text for text in caplog.messages if "is not read" in text]
    assert told == [f"{Path.cwd() / name} is not read: it is not a regular file"]


async def test_the_line_at_startup_names_the_files_that_set_something(caplog):
    caplog.set_level(logging.INFO, logger="subtrie.connector")
    Path("env.yaml").write_text("MICROBUS_DEPLOYMENT: LOCAL\n")
    Path("env.local.yaml").write_text("MICROBUS_UNKNOWN: x\n")
    async with Connector(HOST):
        pass
    (line,) = [text for text in caplog.messages if " up as " in text]
    assert line.endswith(f", settings from {Path.cwd() / 'env.yaml'}")


@pytest.mark.parametrize(
    "text",
    ["x", "x y  ", "  x", "x # y", "x  # y # z", "#x", "# x", "", '"x"', "'x'", '"x" # y', "' x '",
     '""',
     '" x"  ', "x#y", "nats://u:p#q@h # y", '"x # y"', "'x # y'", "x##y", "x'y", 'x"y', "x:y", "é",
     '"it\'s"', "\"x' # y\"", "x #", "x#"],
)  # fmt: skip
def test_a_number_sign_within_a_value_is_part_of_it_as_in_yaml(text):
    """A variable whose value had one, such as the password of a URL, was not set."""
    line = f"A_1: {text}\n"
    Path("env.yaml").write_text(line)
    assert _env_files.read_env_files().get("A_1") == (yaml.safe_load(line)["A_1"] or "")


@pytest.mark.parametrize(
    ("line", "value"),
    [("A:x", "x"), ("A \t:\tx", "x"), ("A: x\r", "x"), ("a: x", ""), ("1A: x", ""), (" A: x", ""),
     ("- A: x", ""), ('A: "x', ""), ("A: 'x\" y", ""), ("A", ""), ("A: x\xff", "x\ufffd"),
     ("A: x\nA: y", "y"), ("B: x\n# A: y", ""), ("A: true", "true"), ("A: 1.50", "1.50")],
)  # fmt: skip
def test_only_a_line_of_a_name_and_a_value_is_read(line, value):
    Path("env.yaml").write_bytes(line.encode("latin-1"))
    assert _env_files.read_env_files().get("A") == value


@pytest.mark.parametrize(
    ("files", "value"),
    [(["env.yaml"], "below/env.yaml"), (["env.yaml", "env.local.yaml"], "below/env.local.yaml")],
)
def test_the_nearest_local_file_wins(files, value, tmp_path, monkeypatch):
    below = tmp_path / "below"
    below.mkdir()
    for name in ("env.yaml", "env.local.yaml"):
        (tmp_path / name).write_text(f"A: above/{name}\nB: above/{name}\n")
    for name in files:
        (below / name).write_text(f"A: below/{name}\n")
    monkeypatch.chdir(below)
    found = _env_files.read_env_files()
    assert found.used == []
    assert (found.get("C"), found.get("A"), found.get("B"), found.get("A")) == (
        "", value, "above/env.local.yaml", value,
    )  # fmt: skip
    assert found.used == [tmp_path / value, tmp_path / "env.local.yaml"]
    assert _env_files.env_files() is found
    assert _env_files.read_env_files().used == found.used
    monkeypatch.chdir(tmp_path)
    assert _env_files.env_files().get("A") == "above/env.local.yaml"
    assert len(_env_files._read) == 1


@pytest.mark.parametrize(("more", "read"), [(0, True), (1, False)])
def test_an_env_file_of_exactly_a_mebibyte_is_read(more, read, caplog):
    Path("env.yaml").write_bytes(b"A: x\n".ljust((1 << 20) + more, b"#"))
    assert _env_files.read_env_files().get("A") == ("x" if read else "")
    assert ("it is larger than 1048576 bytes" in caplog.text) is not read


@POSIX
@pytest.mark.parametrize(
    ("group", "members", "counts"),
    [("ann", [], True), ("ann", ["ann"], True), ("ann", ["ann", "bob"], False),
     ("staff", [], False),
     ("ann", ["bob"], False), (None, [], False)],
)  # fmt: skip
def test_a_folder_that_the_own_group_may_write_counts(
    group, members, counts, tmp_path, monkeypatch
):
    """A group of this user alone, which many systems make for each user; a test is one user."""

    def found(number):
        if group is None:
            raise KeyError(number)
        return SimpleNamespace(gr_name=group, gr_mem=members)

    below = tmp_path / "below"
    below.mkdir()
    os.chown(below, -1, 12345)
    below.chmod(0o775)
    monkeypatch.setattr("pwd.getpwuid", lambda number: SimpleNamespace(pw_name="ann"))
    monkeypatch.setattr("grp.getgrgid", found)
    assert (below in _config_folders.config_folders(below, ())) is counts
    # Root's own group counts for each user, whatever its name.
    os.chown(below, -1, 0)
    assert below in _config_folders.config_folders(below, ())


@POSIX
def test_a_folder_that_no_user_may_write_counts(tmp_path, monkeypatch):
    """Such as a mounted ConfigMap, whose mode alone would let others write."""
    tmp_path.chmod(0o777)
    assert tmp_path not in _config_folders.config_folders(tmp_path, ())
    monkeypatch.setattr("os.access", lambda path, mode: mode != os.W_OK)
    assert tmp_path in _config_folders.config_folders(tmp_path, ())


@POSIX
def test_a_folder_that_is_gone_ends_the_search(tmp_path, caplog):
    (tmp_path / "env.yaml").write_text("A: x\n")
    assert _config_folders.config_folders(tmp_path / "gone", ["env.yaml", "other.yaml"]) == []
    (record,) = caplog.records
    fault = f"{tmp_path / 'gone'}: No such file or directory"
    assert record.getMessage() == f"{tmp_path / 'env.yaml'} is not read: {fault}"


@pytest.mark.parametrize(
    "value", ["a" * 9, "a b" * 3, "a" + " " * 9 + "b", "a" + " #" * 4, " " * 9]
)
def test_a_line_of_any_size_is_read_in_one_pass(tmp_path, value):
    """Many blanks took hours, and every other character 200 bytes."""
    file = tmp_path / "env.yaml"
    parts = (value[:1], value[1:-1] * 100_000, value[-1:])
    file.write_text("MICROBUS_PLANE: " + "".join(parts))
    tracemalloc.start()
    try:
        read = _env_files._lines(file)
        assert tracemalloc.get_traced_memory()[1] < 8 * file.stat().st_size
    finally:
        tracemalloc.stop()
    assert set(read) == {"MICROBUS_PLANE"}
