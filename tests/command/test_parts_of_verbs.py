"""Parts of verbs at their limits: sizes, periods, lines on a terminal, files that are looked at."""

from __future__ import annotations

import logging
import sys

import pytest
from click.testing import CliRunner

from subtrie._cli import audit, audit_counts, audit_tables
from subtrie._cli import run as run_command
from subtrie._cli.app import app
from subtrie.audit import TABLES


@pytest.mark.parametrize(
    ("text", "size"),
    [
        ("7", 7), ("1k", 1 << 10), ("512m", 512 << 20), ("2g", 2 << 30), ("2G", 2 << 30),
        ("0", None), ("0m", None), ("m", None), ("1.5g", None), ("-1m", None), ("1t", None),
        ("1mb", None), ("", None),
    ],
)  # fmt: skip
def test_a_size_of_memory_has_a_unit_of_the_jvm(text, size, capsys) -> None:
    if size is not None:
        assert audit._bytes(text) == size
        return
    with pytest.raises(SystemExit) as ended:
        audit._bytes(text)
    assert ended.value.code == 2
    assert f"--memory {text} is not a size: write 512m or 2g" in capsys.readouterr().err


DAY, NEXT_DAY = "2026-11-21T08:00:00.123456Z", "2026-11-22T08:00:00.123456Z"


@pytest.mark.parametrize(
    ("first", "last", "told"),
    [
        (DAY, None, "at 2026-11-21 08:00:00.123"),
        (DAY, DAY, "at 2026-11-21 08:00:00.123"),
        (DAY, DAY.replace("08:", "09:"), "from 2026-11-21 08:00:00.123 to 09:00:00.123"),
        (DAY, NEXT_DAY, "from 2026-11-21 08:00:00.123 to 2026-11-22 08:00:00.123"),
    ],
)
def test_a_period_names_its_day_once(first, last, told) -> None:
    assert audit_counts._period(first, last) == told


def test_a_finding_is_wrapped_on_a_terminal_only() -> None:
    text = "word " * 40
    assert audit_counts._wrapped(text, None) == [text]
    for width, longest in ((100, 83), (80, 63), (20, 40)):
        lines = audit_counts._wrapped(text, width)
        assert max(map(len, lines)) <= longest
        assert longest - 5 < max(map(len, lines)), "no narrower than it must be"
        assert " ".join(lines) == text.strip()


def test_a_name_with_a_hyphen_is_not_divided_between_lines() -> None:
    text = " ".join(["orders-of-today"] * 20)
    for width in (80, 85, 90):
        lines = audit_counts._wrapped(text, width)
        assert len(lines) > 1
        assert " ".join(lines) == text


def test_a_short_heading_is_one_of_a_column_and_shorter() -> None:
    columns = {column for columns in TABLES.values() for column in columns}
    assert set(audit_tables._SHORT) <= columns
    assert all(len(short) < len(column) for column, short in audit_tables._SHORT.items())


def test_which_files_are_looked_at(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    seen = ["app.py", "shop/orders.py", "shop/deep/er/x.py"]
    others = ["notes.txt", "app.pyc", ".git/a.py", "shop/__pycache__/a.py", "node_modules/m/a.py",
              "venv/a.py", "lib/site-packages/a.py", "target/a.py", "own/lib/a.py"]  # fmt: skip
    for name in (*seen, *others, "own/pyvenv.cfg"):
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).touch()
    assert sorted(run_command._files()) == sorted(f"./{name}" for name in seen)


@pytest.mark.parametrize(
    ("before", "now", "changed"),
    [
        ({}, {}, ""), ({"a.py": 1}, {"a.py": 1}, ""), ({"a.py": 1}, {"a.py": 2}, "a.py"),
        ({"a.py": 2}, {"a.py": 1}, "a.py"), ({}, {"./a.py": 1}, "a.py"),
        ({"./b/a.py": 1}, {}, "b/a.py"), ({"a.py": 1, "b.py": 1}, {"a.py": 1, "b.py": 3}, "b.py"),
    ],
)  # fmt: skip
def test_a_file_that_changed_came_or_went_is_named(before, now, changed):
    assert run_command._difference(before, now) == changed


def test_run_takes_a_module_of_the_working_directory_before_others(tmp_path, monkeypatch):
    here, elsewhere = tmp_path / "here", tmp_path / "elsewhere"
    for folder, text in ((here, "thing = 1\n"), (elsewhere, "thing = 'x'\n")):
        folder.mkdir()
        (folder / "module_of_two.py").write_text(text)
    monkeypatch.chdir(here)
    monkeypatch.setattr(sys, "path", [str(elsewhere), *sys.path])
    nats = logging.getLogger("nats")
    monkeypatch.setattr(nats, "level", nats.level)  # the command sets it
    done = CliRunner().invoke(app, ["run", "module_of_two:thing"])
    sys.modules.pop("module_of_two", None)
    assert done.exit_code == 2
    assert "not a connector, but int" in done.output
