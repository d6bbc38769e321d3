"""``subtrie report lines``: from a row of a table back to the lines of a log."""

from __future__ import annotations

import gzip
import json
import shlex
from pathlib import Path

import pytest
from click.testing import CliRunner
from report_runs import call, make_run, row

from subtrie._cli.app import app
from subtrie.report import read_report

FRONT = '[7] 2026/11/21 08:00:00.{:06d} [TRC] 1.2.3.4:{} - cid:{} - "v1:go:{}" - '
ITEMS = "prod.safe.443.web_example.stock_example._.GET.items"
ITMS = "prod.safe.443.web_example.stock_example._.GET.itms"
PATTERN = "prod.safe.443.*.stock_example._.GET.items"
LINES = (
    (1, "stock.example", f"<<- [SUB {PATTERN}  1]"),
    (2, "web.example", f"<<- [PUB {ITEMS} 2]"),
    (2, "web.example", '<<- MSG_PAYLOAD: ["hi"]'),
    (1, "stock.example", f"->> [MSG {ITEMS} 1 2]"),
    (2, "web.example", f"<<- [PUB {ITMS} 0]"),
    (3, "forger.example", f"<<- [PUB {ITEMS} 0]"),
    (2, "web.example", "<<- [PUB plain.a.b 0]"),
)


@pytest.fixture(scope="module")
def run(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A run, with its log beside it."""
    folder = tmp_path_factory.mktemp("lines")
    text = "".join(
        FRONT.format(i, client, client, name) + rest + "\n"
        for i, (client, name, rest) in enumerate(LINES)
    )
    (folder / "nats.log").write_text(text)
    (folder / "nats.log.gz").write_bytes(gzip.compress(text.encode()))
    forged = row("spoofed", who="forger.example", claimed="web.example", subject=ITEMS, count=1)
    made = {
        "call_graph": [call("web.example", "stock.example", 2)],
        "undelivered": [row("undelivered", subject=ITMS, count=1)],
        "spoofed": [forged],
        "flows": [row("flows", publisher="web.example", pattern="plain.*.b")],
        "coverage": [row("coverage", server="a", pattern=PATTERN)],
        "unparseable": [
            row("unparseable", server="a", file="nats.log", offset=0, reason="x", text="y")
        ],
        "cross_plane": [row("cross_plane", identity="a", plane="b")],
    }
    make_run(folder / "run", made)
    return folder


def found(run: Path, words: list[str], log: str = "nats.log") -> list[int]:
    """Return the numbers of the lines that the command prints."""
    done = CliRunner().invoke(
        app,
        ["report", "lines", "--json", "--log", str(run / log), "--", str(run / "run"), *words],
    )
    assert done.exit_code in (0, 1), done.output
    lines = (run / "nats.log").read_bytes().splitlines(keepends=True)
    starts = [sum(map(len, lines[:i])) for i in range(len(lines))]
    rows = [json.loads(line) for line in done.output.splitlines()]
    assert done.exit_code == (0 if rows else 1)
    for each in rows:
        assert each["line"].encode() == lines[starts.index(each["offset"])].rstrip()
    return [starts.index(each["offset"]) for each in rows]


@pytest.mark.parametrize(
    ("words", "numbers"),
    [
        (f"undelivered {ITMS}", [4]),
        (f"spoofed forger.example web.example {ITEMS} - - - -", [5]),
        ("call_graph prod - web.example stock.example 443 GET items", [1, 3, 5]),
        ("flows web.example plain.*.b - -", [6]),
        (f"coverage a {PATTERN} -", [0]),
    ],
)
def test_the_lines_of_a_row(run, words, numbers):
    assert found(run, words.split()) == numbers
    assert found(run, words.split(), log="nats.log.gz") == numbers


def test_the_line_of_an_unparseable_row(run):
    assert found(run, ["unparseable", "a", "nats.log", "0", "x"]) == [0]


def test_the_commands_of_a_report_find_lines(run):
    report = read_report(run / "run", logs=[str(run / "nats.log")])
    wanted = [each for each in report.findings if each.rule in ("spoofed", "undelivered")]
    assert len(wanted) == 2
    for each in wanted:
        done = CliRunner().invoke(app, shlex.split(each.command)[1:])
        assert done.exit_code == 0, done.output
        assert each.witness in done.output


@pytest.mark.parametrize(
    ("words", "told"),
    [
        ("nothing x", "is not a table"),
        ("undelivered", "named by 2 values: subject, account"),
        ("undelivered a.b", "no row of undelivered"),
        ("cross_plane a b", "not from single lines"),
    ],
)
def test_a_row_that_has_no_lines_is_one_clear_error(run, words, told):
    log, folder = str(run / "nats.log"), str(run / "run")
    done = CliRunner().invoke(app, ["report", "lines", "--log", log, folder, *words.split()])
    assert done.exit_code == 2
    (line,) = done.output.splitlines()
    assert told in line


def test_a_log_that_is_not_there_is_one_clear_error(run, tmp_path):
    for folder, log in ((run / "run", tmp_path / "no.log"), (tmp_path / "none", run / "nats.log")):
        words = ["report", "lines", "--log", str(log), str(folder), "undelivered", ITMS]
        done = CliRunner().invoke(app, words)
        assert done.exit_code == 2
        assert len(done.output.splitlines()) == 1


def test_long_lines_are_cut_and_offsets_stay(tmp_path):
    from subtrie.audit._results.row_lines import _lines

    log = tmp_path / "log"
    parts = [b"a" * 3_000_000, b"b", b"", b"c" * 70_000]
    log.write_bytes(b"\n".join(parts))
    got = [(offset, text[:1], len(text)) for _, offset, text in _lines([str(log)])]
    starts = [0, 3_000_001, 3_000_003, 3_000_004]
    assert got == [
        (start, part[:1].decode(), min(len(part), 65_536))
        for start, part in zip(starts, parts, strict=True)
    ]
