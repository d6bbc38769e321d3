"""The benchmarks work: same files, same answers, a table that marks losses, without timing."""

from __future__ import annotations

import importlib
import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

import subtrie
from subtrie.reference import matches

ROOT = Path(__file__).resolve().parents[2]
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
        env=os.environ | {"SIZES": "1000"},
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stdout
    assert "10 passed" in done.stdout
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


@pytest.mark.requirement("M-14")
def test_losing_rows_are_shown(load):
    cached = "lru_cache(1024) over a dictionary trie, Python"
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
    table = load("table")
    text = "\n".join(table.plain(section) for section in table.all_sections(rows))
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

    def hot():
        return next(
            one for one in figures(rows) if one.what.startswith("core against gsl, 6,000, hot")
        )

    assert (hot().wanted, hot().reached, hot().shown) == ("at least 8 ×", True, "8.0 ×")
    rows[1]["median_ns"] = 399
    assert hot().reached is False
    assert figures([])[0].reached is None


def in_turn(who, ns, **more):
    row = {"who": who, "measure": "turns", "size": 6_000, "order": "uniform", "least_ns": ns}
    return row | more


def test_what_was_measured_in_turn_is_compared_with_its_targets(load):
    """Ratios within one run; a faster alternative is marked, a yardstick is not."""
    names = load("rows")
    rows = [
        in_turn("subtrie, Python", 100),
        in_turn("gsl (Go)", 350),
        in_turn(names.SPLIT, 99),
        in_turn(names.EMPTY, 20),
        in_turn("subtrie core", 50, entries=4.01),
        in_turn("subtrie, Python", 100, order="zipf"),
        in_turn("gsl (Go)", 350, order="zipf"),
        in_turn(names.SPLIT, 99, order="zipf"),
    ]
    seen = {one.what: one for one in load("figures").figures(rows) if one.seen is not None}
    assert {what: one.reached for what, one in seen.items()} == {
        "fresh match from Python, 6,000, Zipf: times faster than gsl in Go": True,
        'fresh match from Python, 6,000, Zipf: times faster than subject.split(".")': False,
        "entries that a lookup examines, 6,000, uniform": False,
        "core against gsl, 6,000, uniform: its time divided by subtrie's": True,
    }
    (section,) = load("turns").in_turns(rows)
    assert {section.lines[at][0] for at in section.lost} == {names.SPLIT}


def test_another_build_answers_the_same_commands(load):
    """The parts of the turns at a small size: this build stands for the other one as well."""
    interleaved = load("interleaved")
    with interleaved.python(ROOT) as one, interleaved.python(ROOT) as other:
        assert one.ask("package") == str(Path(subtrie.__file__).parent)
        where = {"size": 1_000, "order": "zipf"}
        answers = [program.ask("answers", **where) for program in (one, other)]
        answers += [one.ask("answers", **where, whose=whose) for whose in ("batch", "0", "1024")]
        assert all(answer == answers[0] for answer in answers)
        asks = {
            name: lambda at=at: at.ask("lookup", **where) for name, at in (("a", one), ("b", other))
        }
        least = interleaved.least(asks, 2)
        assert all(0 < took < float("inf") for took in least.values())
        for form in ("rows", "lists", "Arrow"):
            assert one.ask("load", size=1_000, form=form) > 0
        for then in ("verified", "unverified", "match", "add", "matching", "covered_by", "explain"):
            assert one.ask("opened", size=1_000, then=then) > 0
        assert one.ask("growth", size=1_000, most=1024)["entries"] == 1024
        one.ask("forget")


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
