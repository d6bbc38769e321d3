"""Type checking of programs that use the public names."""

from __future__ import annotations

import importlib.metadata
import os
import re
import subprocess
import sys
from pathlib import Path

from subtrie import Dispatcher, Groups

PACKAGE = Path(__file__).resolve().parents[2] / "python"


def mypy(tmp_path: Path, program: str) -> str:
    """Return the report of mypy on a program."""
    file = tmp_path / "program.py"
    file.write_text(program, encoding="utf-8")
    done = subprocess.run(
        [sys.executable, "-m", "mypy", "--strict", "--no-error-summary", "--follow-imports=silent",
         "--cache-dir", str(tmp_path.parent / "mypy"), str(file)],
        env={**os.environ, "MYPYPATH": str(PACKAGE)},
        capture_output=True, text=True, timeout=300, check=False,
    )  # fmt: skip
    assert not done.stderr
    return done.stdout


def revealed(report: str) -> list[str]:
    """Return the types that mypy was asked for, each with a quote at its end."""
    lines = report.splitlines()
    return [line.split('Revealed type is "')[-1] for line in lines if "Revealed" in line]


def wrong_lines(report: str) -> list[str]:
    """Return the numbers of the lines with an error."""
    return [line.split(":")[1] for line in report.splitlines() if ": error:" in line]


def test_the_values_of_an_index_have_the_type_of_its_parameter(tmp_path):
    report = mypy(
        tmp_path,
        "from subtrie import Dispatcher, SubjectTrie\n"
        "trie = SubjectTrie[int]()\n"
        "trie.add('a.*', 'text')\n"
        "reveal_type(trie.match('a.b'))\n"
        "reveal_type(trie.select('a.b'))\n"
        "reveal_type(trie.groups('a.b').plain)\n"
        "reveal_type(SubjectTrie().match('a.b'))\n"
        "Dispatcher[int]().dispatch('a.b', 'text')\n",
    )
    assert revealed(report) == [
        'tuple[int, ...]"',
        'tuple[int, ...]"',
        'tuple[int, ...]"',
        'tuple[Any, ...]"',
    ]
    assert wrong_lines(report) == ["3", "8"], report


def test_an_unknown_dialect_is_a_type_error(tmp_path):
    report = mypy(
        tmp_path,
        "from subtrie import Dispatcher, Pattern, Subject, SubjectTrie\n"
        "SubjectTrie(dialect='server')\n"
        "SubjectTrie(dialect='lax')\n"
        "Dispatcher(dialect='lax')\n"
        "Pattern('a', dialect='lax')\n"
        "Subject('a', dialect='lax')\n",
    )
    assert wrong_lines(report) == ["3", "4", "5", "6"], report


def test_functions_of_microbus_are_typed(tmp_path):
    report = mypy(
        tmp_path,
        "from subtrie import microbus\n"
        "reveal_type(microbus.source_of('a'))\n"
        "reveal_type(microbus.locality_slots('us'))\n",
    )
    assert "str | None" in report
    assert "tuple[str, ...]" in report


def test_the_classes_that_hold_values_take_a_parameter_at_run_time(engine):
    for generic in (Dispatcher, Groups, engine.SubjectTrie):
        assert generic[int].__origin__ is generic
        assert generic[int].__args__ == (int,)


def test_calls_and_events_are_typed(tmp_path):
    report = mypy(
        tmp_path,
        "from dataclasses import dataclass\n"
        "from subtrie.connector import Client, Connector, Event\n"
        "@dataclass\n"
        "class Order:\n"
        "    item: str\n"
        "client = Client('shop.example')\n"
        "placed = Event[Order]('shop.example', '/on-placed')\n"
        "@client.call('POST', '/order/{id}')\n"
        "async def order(id: int, order: Order) -> dict[str, int]:\n"
        "    raise NotImplementedError\n"
        "async def main(web: Connector) -> None:\n"
        "    reveal_type(await order(web, 7, Order('tea')))\n"
        "    reveal_type(await order.within(3.0)(web, 7, order=Order('tea')))\n"
        "    async with web as entered:\n"
        "        reveal_type(entered)\n"
        "    await web.trigger(placed, Order('tea'))\n"
        "    await order(web, 'x', Order('tea'))\n"
        "    await order(7, Order('tea'))\n"
        "    await web.trigger(placed, 7)\n",
    )
    assert revealed(report) == [
        'dict[str, int]"',
        'dict[str, int]"',
        'subtrie.connector._connector.Connector"',
    ], report
    assert sorted(set(wrong_lines(report))) == ["17", "18", "19"], report


def installed_by_make_test() -> set[str]:
    """Return the names of the packages that ``make test`` installs."""
    files, names = ["test.txt"], set()
    for file in files:
        for line in (PACKAGE.parent / "tools/requirements" / file).read_text().splitlines():
            if line.startswith("-r "):
                files.append(line.removeprefix("-r "))
            elif line and not line.startswith("#"):
                names.add(line.partition("==")[0].partition("[")[0].lower())
    return names


def test_make_test_installs_what_tests_would_be_skipped_without():
    """On a fresh machine the tests of types were skipped: mypy came with ``make check``."""
    asked = {"mypy", "pyright"}
    for file in (PACKAGE.parent / "tests").rglob("*.py"):
        asked |= set(re.findall(r'importorskip\("([\w.]+)"', file.read_text()))
    given_by = importlib.metadata.packages_distributions()
    missing = [
        each
        for each in asked - sys.stdlib_module_names
        if not each.startswith("subtrie")
        and not {name.lower() for name in given_by.get(each.partition(".")[0], [each])}
        & installed_by_make_test()
    ]
    assert missing == []


def test_a_configuration_value_has_the_type_that_its_text_is_parsed_to(tmp_path):
    """``default=2`` without ``parse`` was a number until the configurator sent a text."""
    report = mypy(
        tmp_path,
        "from subtrie.connector import Connector\n"
        "service = Connector('a.example')\n"
        "reveal_type(service.config('a', default='x'))\n"
        "reveal_type(service.config('b', default=2, parse=int))\n"
        "service.config('c', default=2)\n",
    )
    assert revealed(report) == [
        'subtrie.connector._config.Config[str]"',
        'subtrie.connector._config.Config[int]"',
    ]
    assert wrong_lines(report) == ["5"], report


def test_the_program_of_the_page_about_nats_py_is_clean(tmp_path):
    page = (PACKAGE.parent / "docs" / "howto" / "nats-clients.md").read_text(encoding="utf-8")
    (program,) = re.findall(r"^```python file=stock.py\n(.*?)^```", page, re.MULTILINE | re.DOTALL)
    assert mypy(tmp_path, program) == ""
