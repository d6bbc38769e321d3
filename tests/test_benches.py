"""The benchmarks work: same files, same answers, a table that marks losses, without timing."""

from __future__ import annotations

import importlib
import json
import subprocess
import sys
from pathlib import Path

import pytest

import subtrie
from subtrie.reference import matches

ROOT = Path(__file__).resolve().parent.parent
BENCHES = ROOT / "benches"


@pytest.fixture
def load(monkeypatch):
    """Import modules of the benchmarks and the tools, which are not packages."""
    for folder in (BENCHES, BENCHES / "peers", ROOT / "tools"):
        monkeypatch.syspath_prepend(str(folder))
    return importlib.import_module


@pytest.mark.requirement("M-13")
def test_every_rival_gives_the_same_answers():
    """The benchmark itself compares all answers with the reference before it would time them."""
    command = [sys.executable, "-m", "pytest", "-q", "--benchmark-disable", "-k", "zipf or batch"]
    command += ["benches/test_bench_match.py", "benches/test_bench_batch.py"]
    done = subprocess.run(
        command,
        cwd=ROOT,
        env={"SIZES": "1000"},
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stdout
    assert "9 passed" in done.stdout
    assert "skipped" not in done.stdout


@pytest.mark.requirement("M-13")
def test_the_workload_is_the_same_every_time(load):
    workload = load("workload")
    one, other = (workload.made(1_000, lookups=500, different=300) for _ in range(2))
    assert one == other
    assert len(one.patterns) == len(set(one.patterns)) == 1_000
    assert not set(one.patterns) & set(one.added)
    assert len(set(one.hot)) == 1_000
    assert len(one.uniform) == len(one.zipf) == 500
    assert one.patterns != workload.made(6_000, lookups=1, different=1).patterns[:1_000]


@pytest.mark.requirement("M-13")
def test_the_workload_has_the_shape_of_microbus(load):
    made = load("workload").made(6_000, lookups=2_000, different=10)
    for pattern in made.patterns[:200]:
        subtrie.microbus.decode_subscription(pattern)
    for subject in made.uniform[:200]:
        assert subtrie.microbus.decode(subject).source
    share = sum(pattern.endswith(".>") for pattern in made.patterns) / 6_000
    assert 0.03 < share < 0.09
    trie = subtrie.SubjectTrie()
    trie.update((pattern, pattern) for pattern in made.patterns)
    missed = 0
    for subject in made.uniform:
        found = trie.match(subject)
        assert all(matches(pattern, subject) for pattern in found)
        missed += not found
    assert 0.07 < missed / len(made.uniform) < 0.13


def test_the_checksum_knows_answers_from_each_other(load):
    checksum = load("answers").checksum
    assert checksum([[1, 2], [3]]) == checksum([(2, 1), [3]])
    different = [[[1, 2], [3]], [[3], [1, 2]], [[1], [2, 3]], [[1, 2], []], [[1, 2, 3]], [[0], [3]]]
    assert len({checksum(answers)["checksum"] for answers in different}) == len(different)
    assert checksum([[0]])["checksum"] == "9e3779b9e17d05ac"


def row(who, ns, **more):
    made = {"who": who, "measure": "lookup", "size": 6_000, "order": "hot", "median_ns": ns}
    return made | {"checksum": "a", "matches": 9} | more


def test_an_answer_that_differs_is_named(load):
    rows = [row("subtrie core", 50), row("subtrie, Python", 90), row("gsl (Go)", 400)]
    disagreeing = load("rows").disagreeing
    assert disagreeing(rows) == []
    rows[2] |= {"checksum": "b", "matches": 8}
    (said,) = disagreeing(rows)
    assert said.startswith("gsl (Go): 8 matches at 6,000 hot")


def test_of_several_runs_each_figure_is_the_best(load):
    one = row("gsl (Go)", 400, p99_ns=900, changes_per_second=7)
    other = row("gsl (Go)", 420, p99_ns=800, changes_per_second=8)
    best = load("rows").best
    (made,) = best([one, other])
    assert (made["median_ns"], made["p99_ns"], made["changes_per_second"]) == (400, 800, 8)
    assert one["p99_ns"] == 900
    assert len(best([one, other | {"checksum": "b"}])) == 2
    assert len(best([one, row("gsl (Go)", 1, order="zipf")])) == 2


def test_losing_rows_are_shown(load):
    cached = "lru_cache(1024) over the reference, Python"
    rows = [
        row("subtrie core", 50),
        row("subtrie, Python", 90),
        row("gsl (Go)", 40),
        row(cached, 30),
    ]
    lost = load("rows").losing(rows)
    assert [(one["who"], round(behind, 2)) for one, _, behind in lost] == [
        ("gsl (Go)", 1.25),
        (cached, 3.0),
    ]
    sections, table = load("sections"), load("table")
    text = "\n".join(table.plain(section) for section in sections.all_sections(rows))
    assert "where another index is faster" in text
    marked = [line for line in text.splitlines() if line.endswith("<--")]
    # the rows that are faster, and the target that is missed
    assert [line.split("  ")[0] for line in marked] == [
        cached,
        "gsl (Go)",
        "core against gsl, 6,000, hot: its time divided by subtrie's",
    ]
    assert load("rows").losing([row("subtrie core", 50), row("gsl (Go)", 51)]) == []


def test_a_figure_is_reached_missed_or_not_measured(load):
    figures = load("figures").figures
    rows = [row("subtrie core", 50), row("gsl (Go)", 401)]
    first = figures(rows)[0]
    assert (first.wanted, first.reached, first.shown) == ("at least 8 ×", True, "8.0 ×")
    rows[1]["median_ns"] = 399
    assert figures(rows)[0].reached is False
    assert figures([])[0].reached is None


def test_the_page_is_what_the_record_says(load):
    """One digit of a figure, or one point of a line, and the check fails."""
    page = load("performance_page")
    files = page.made()
    assert page.check(files) is None
    changed = files | {page.PAGE: files[page.PAGE].replace("cores, 2", "cores, 3")}
    assert "out of date" in page.check(changed)
    picture = next(path for path in files if path.suffix == ".svg")
    text = files[picture]
    number = page.NUMBER.search(text, text.index("<path"))
    moved = text[: number.start()] + str(float(number[0]) + 1) + text[number.end() :]
    assert not page.same(text, moved)
    assert "out of date" in page.check(files | {picture: moved})


def test_pictures_are_drawn_the_same_twice(load):
    plots = load("performance_plots")
    rows = [row("subtrie core", 50), row("gsl (Go)", 400)]
    one = plots.drawn("growth", rows)
    assert one == plots.drawn("growth", rows)
    assert "gsl (Go), hot" in one
    assert plots.drawn("readers", rows) is None


def test_a_record_names_no_machine(load):
    """A record has processor, cores, load, versions and rows, but no host and no path."""
    for path in (BENCHES / "records").glob("peers-*.json"):
        record = json.loads(path.read_text())
        assert set(record) == {
            "date",
            "processor",
            "cores",
            "load_average",
            "versions",
            "sizes",
            "runs",
            "notes",
            "rows",
        }
        assert path.stat().st_size < 200_000
        assert load("rows").disagreeing(record["rows"]) == []
        assert "/home/" not in path.read_text()


@pytest.mark.requirement("M-13")
def test_every_reader_reads_as_many_operations_and_every_name_is_fine():
    command = [sys.executable, "-m", "pytest", "-q", "benches/test_bench_wire.py"]
    command += ["benches/test_bench_names.py", "--benchmark-disable"]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout
    assert "skipped" not in done.stdout
