"""Mutants of Python files with cosmic-ray: each is given only the tests that execute its line.

The tests of the part run once under coverage, one context a test. A mutant then runs the tests that
execute the changed statement, the shortest first, up to the first that fails twice. Statements that
are executed at import, and tests that start programs of their own, are not known line by line: such
a mutant is given all tests, and each survivor those tests as well.
"""

from __future__ import annotations

import ast
import math
import os
import re
import signal
import subprocess
import sys
import time
from collections.abc import Iterable, Iterator
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import NamedTuple

#: The operators of cosmic-ray whose mutants change what a program does.
_OPERATORS = re.compile(
    r"core/(ReplaceComparisonOperator_\w+|ReplaceAndWithOr|ReplaceOrWithAnd|AddNot|NumberReplacer"
    r"|ReplaceTrueWithFalse|ReplaceFalseWithTrue|ReplaceBreakWithContinue"
    r"|ReplaceContinueWithBreak|ZeroIterationForLoop|ReplaceUnaryOperator_\w+|ExceptionReplacer"
    r"|ReplaceBinaryOperator_(Add_Sub|Sub_Add|Mul_Add|BitAnd_BitOr|BitOr_BitAnd))"
)

#: Seconds that tests may take beyond what they take without a mutant, and how much longer they may.
_LEAST, _SLOWER = 60.0, 4.0
#: The same for the CPU: tests of the connector mostly wait.
_LEAST_CPU, _SLOWER_CPU = 20.0, 1.0

#: Seconds of tests for each mutant, before those of all others; the rest is for survivors.
_FIRST = 30.0

#: Seconds that all tests of a part may take.
_ALL = 2400.0

#: Plugins of pytest that these tests do not need; to import them takes longer than most tests.
_WITHOUT = tuple(
    word
    for name in ("benchmark", "xdist", "hypothesispytest", "randomly")
    for word in ("-p", f"no:{name}")
)

#: How a test is recognised that starts a Python program, which coverage does not see.
_STARTS = re.compile(r"\bsys\.executable\b")

_DURATION = re.compile(r"^([\d.]+)s (?:call|setup|teardown)\s+(\S.*)$", re.MULTILINE)
#: Not the lines of a log, which begin alike.
_FAILED = re.compile(r"^(?:FAILED|ERROR) (\S+\.py::.+?)(?: - .*)?$", re.MULTILINE)


class Mutant(NamedTuple):
    """One change that cosmic-ray can make."""

    file: str
    operator: str
    #: Which of the operator's places in the file.
    place: int

    def text(self, original: str) -> str | None:
        """Return the changed file, or None if nothing changes or it is not Python."""
        from cosmic_ray import plugins
        from cosmic_ray.mutating import mutate_code

        # A star that makes parameters keyword-only is taken for a multiplication, and the dotted
        # name of an exception has no value that could be replaced.
        with suppress(SyntaxError, AttributeError):
            changed: str | None = mutate_code(
                original, plugins.get_operator(self.operator)(), self.place
            )
            same = changed is None or executed(changed) == executed(original)
            return None if same else changed
        return None


def executed(source: str) -> str:
    """Return the syntax tree without annotations, which no module of the package evaluates.

    Raises:
        SyntaxError: It is not Python.
    """
    compile(source, "", "exec")  # what is not allowed in its place, as ``break`` outside a loop
    tree = ast.parse(source)
    for node in ast.walk(tree):
        if isinstance(node, ast.arg):
            node.annotation = None
        elif isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
            node.returns = None
        elif isinstance(node, ast.AnnAssign):
            node.annotation = ast.Constant(None)
    return ast.dump(tree)


def possible(root: Path, files: Iterable[str]) -> Iterator[Mutant]:
    """Yield each mutant of the files."""
    from cosmic_ray import plugins
    from cosmic_ray.ast import ast_nodes, get_ast_from_path

    operators = {name: plugins.get_operator(name) for name in sorted(plugins.operator_names())}
    chosen = {name: made() for name, made in operators.items() if _OPERATORS.fullmatch(name)}
    for file in files:
        nodes = list(ast_nodes(get_ast_from_path(root / file)))
        for name, operator in chosen.items():
            places = sum(len(list(operator.mutation_positions(node))) for node in nodes)
            yield from (Mutant(file, name, place) for place in range(places))


def first_difference(one: str, other: str) -> int:
    """Return the number of the first line that differs."""
    lines = zip(one.splitlines(), other.splitlines(), strict=False)
    return next((row for row, (a, b) in enumerate(lines, 1) if a != b), 1)


# --- Which tests execute a line


def statement(source: str, line: int) -> range | None:
    """Return the lines of the statement at ``line``, without the statements within it.

    None: it is executed when the module is imported, not in the body of a function.
    """
    node: ast.AST = ast.parse(source)
    within = False
    while True:
        inner = [child for child in ast.iter_child_nodes(node) if _extent(child)]
        found = next((child for child in inner if line in _extent(child)), None)
        if found is None:
            break
        within = within or isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef)
        node = found
    if not within:
        return None
    whole = _extent(node)
    return range(whole.start, min((_extent(child).start for child in inner), default=whole.stop))


def _extent(node: ast.AST) -> range:
    """Return the lines of a statement, of an ``except`` or a ``case``; empty for anything else."""
    if isinstance(node, ast.match_case):
        return range(node.pattern.lineno, _extent(node.body[-1]).stop)
    if not isinstance(node, ast.stmt | ast.excepthandler):
        return range(0)
    first = min([node.lineno, *(each.lineno for each in getattr(node, "decorator_list", ()))])
    return range(first, (node.end_lineno or node.lineno) + 1)


@dataclass(frozen=True)
class Coverage:
    """The duration of each test, and which tests execute which line."""

    #: The seconds of each test.
    seconds: dict[str, float]
    #: By file and line, the tests that execute it.
    lines: dict[str, dict[int, set[str]]]
    #: Tests whose lines are not known: they fork, or are in files that start programs.
    programs: frozenset[str]

    def tests_for(self, file: str, lines: range | None) -> list[str]:
        """Return the tests that execute the lines, the shortest first; for None all tests."""
        if lines is None:
            return self.shortest(self.seconds)
        known = self.lines.get(file, {})
        return self.shortest(set().union(*(known.get(line, ()) for line in lines)))

    def first(self, tests: list[str]) -> list[str]:
        """Return the tests at the beginning of a list that together take less than their share."""
        total = 0.0
        for number, test in enumerate(tests):
            total += self.seconds.get(test, 0.0)
            if number and total > _FIRST:
                return tests[:number]
        return tests

    def shortest(self, tests: Iterable[str]) -> list[str]:
        """Sort tests by duration."""
        return sorted(tests, key=lambda test: (self.seconds.get(test, 0.0), test))


class Tree:
    """A copy of the tree, in which the tests run with one mutant after the other."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self._environment = {
            **os.environ,
            "PYTHONPATH": str(folder / "python"),
            "PYTHONDONTWRITEBYTECODE": "1",
            "COVERAGE_FILE": str(folder / ".coverage"),
        }

    def compile(self, tests: Iterable[str]) -> None:
        """Collect the tests and keep their bytecode, so that no mutant compiles them again.

        A mutant writes none: its file has another time than the bytecode, and is compiled.
        """
        writes = {**self._environment, "PYTHONDONTWRITEBYTECODE": ""}
        command = [sys.executable, "-m", "pytest", "--collect-only", "-q", *_WITHOUT, *tests]
        subprocess.run(command, cwd=self.folder, env=writes, stdout=subprocess.DEVNULL, check=True)

    def cover(
        self, tests: Iterable[str], files: tuple[str, ...], without: tuple[str, ...]
    ) -> Coverage:
        """Run the tests under coverage, without those that do not end there.

        Raises:
            SystemExit: One fails.
        """
        from coverage import CoverageData

        folders = sorted({str(Path(file).parent) for file in files})
        code, output = self._pytest(
            [
                "-v", "--durations=0", "--durations-min=0", "--cov-context=test", "--cov-report=",
                *(f"--cov={folder}" for folder in folders),
                *(f"--deselect={test}" for test in without), *tests,
            ],
            _ALL,
        )  # fmt: skip
        if code == 1:
            # A test that depends on time may fail under coverage.
            code, output_again = self._pytest(["-p", "no:cov", *_FAILED.findall(output)], _ALL)
            output += output_again
        if code != 0:
            raise SystemExit("the tests fail without a mutant:\n" + output[-4000:])
        seconds: dict[str, float] = {}
        for took, test in _DURATION.findall(output):
            seconds[test] = seconds.get(test, 0.0) + float(took)
        data = CoverageData(str(self.folder / ".coverage"))
        data.read()
        lines = {}
        for file in files:
            contexts = data.contexts_by_lineno(str(self.folder / file))
            lines[file] = {
                line: {name.rpartition("|")[0] for name in names if name}
                for line, names in contexts.items()
            }
        sources = {test.partition("::")[0] for test in seconds}
        starting = {
            name
            for name in sources
            if _STARTS.search((self.folder / name).read_text(encoding="utf-8"))
        }
        seconds |= dict.fromkeys(without, 1.0)
        programs = {test for test in seconds if test.partition("::")[0] in starting}
        return Coverage(seconds, lines, frozenset({*programs, *without}))

    def verdict(self, mutant: Mutant, changed: str, tests: list[str], took: float) -> str:
        """Return ``killed``, ``timeout`` or ``survived``.

        Args:
            mutant: The mutant.
            changed: The text of its file.
            tests: The tests to run, in this order.
            took: The seconds that they take without the mutant.
        """
        if not tests:
            return "survived"
        path = self.folder / mutant.file
        original = path.read_text(encoding="utf-8")
        path.write_text(changed, encoding="utf-8")
        os.utime(path, (0, 0))  # bytecode is of a file with the same time and size
        try:
            # A test that fails must fail again: other programs make this machine slow.
            for _ in range(3):
                code, output = self._pytest(["-x", "-p", "no:cov", *tests], took)
                if code in (0, None):
                    break
                failed = _FAILED.findall(output)[:1]
                again, _output = self._pytest(["-x", "-p", "no:cov", *(failed or tests)], took)
                if again != 0:
                    return "killed" if again is not None else "timeout"
        finally:
            path.write_text(original, encoding="utf-8")
        return "timeout" if code is None else "survived"

    def _pytest(self, words: list[str], took: float) -> tuple[int | None, str]:
        """Run pytest on tests that took so many seconds; the code is None if it did not end."""
        listed = self.folder / ".words"
        listed.write_text("\n".join(words), encoding="utf-8")
        command = [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", *_WITHOUT]
        with (self.folder / ".output").open("w+", encoding="utf-8") as output:
            with subprocess.Popen(
                [*command, f"@{listed}"], cwd=self.folder, env=self._environment,
                stdout=output, stderr=subprocess.STDOUT,
            ) as run:  # fmt: skip
                ended = _wait(run, _LEAST + _SLOWER * took, _LEAST_CPU + _SLOWER_CPU * took)
                if not ended:
                    # pytest then stops the brokers that it started.
                    run.send_signal(signal.SIGINT)
                    if not _wait(run, 8.0, math.inf):
                        run.kill()
            output.seek(0)
            return run.returncode if ended else None, output.read()


def _wait(run: subprocess.Popen[bytes], limit: float, cpu: float) -> bool:
    """Wait for the end of a program.

    Time does not count in which this one was suspended, or that one waited for others to be run.
    """
    waited = 0.0
    while waited - _queued(run.pid) < limit and _cpu(run.pid) < cpu:
        before = time.monotonic()
        try:
            run.wait(0.5)
        except subprocess.TimeoutExpired:
            waited += min(1.0, time.monotonic() - before)
        else:
            return True
    return run.poll() is not None


def _cpu(process: int) -> float:
    """Return the seconds of CPU that a process has used: 0 where Linux does not tell."""
    try:
        fields = Path(f"/proc/{process}/stat").read_text().rpartition(")")[2].split()
    except OSError:
        return 0.0
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


def _queued(process: int) -> float:
    """Return the seconds that a program was ready and others ran: 0 where Linux does not tell."""
    try:
        return int(Path(f"/proc/{process}/schedstat").read_text().split()[1]) / 1e9
    except (OSError, IndexError):
        return 0.0
