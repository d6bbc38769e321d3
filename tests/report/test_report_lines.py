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
from subtrie.audit import audit, open_run
from subtrie.audit._results.row_lines import key_text, row_lines
from subtrie.audit._schema import TABLE_KEYS
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


def test_the_line_of_an_unparseable_row_is_of_its_log(run, tmp_path):
    """Logs of several servers may have one name; those that were moved have another folder."""
    for server in ("a", "b"):
        (tmp_path / server).mkdir()
        (tmp_path / server / "nats.log").write_text(f"damaged at {server}\n")
    logs = [str(tmp_path / server / "nats.log") for server in ("a", "b")]
    moved = [str(tmp_path / "a" / "nats.log")]
    make_run(tmp_path / "run", {"unparseable": [
        row("unparseable", server="b", file=logs[1], offset=0, reason="x", text="y")
    ]})  # fmt: skip
    result = open_run(tmp_path / "run")
    for given, wanted in ((logs, logs[1:]), (moved, moved)):
        lines = list(row_lines(result, "unparseable", ["b", logs[1], "0", "x"], given))
        assert [each.log for each in lines] == wanted


@pytest.mark.parametrize(("address", "number"), [("10.0.0.1", 0), ("10.0.0.11", 1), ("fd00::1", 2)])
def test_the_lines_of_a_login_are_those_of_its_address(tmp_path, address, number):
    """Those of ``10.0.0.11`` were among the lines of ``10.0.0.1``."""
    log = tmp_path / "nats.log"
    log.write_text("".join(
        f'[7] 2026/11/21 08:00:00.000000 [TRC] {peer} - cid:{n} - "v1:go:x" - <<- [CONNECT {{}}]\n'
        for n, peer in enumerate(("10.0.0.1:4711", "10.0.0.11:4711", "[fd00::1]:4711"))
    ))  # fmt: skip
    login = row("logins", who=None, address=address, outcome="accepted", why=None, count=1)
    make_run(tmp_path / "run", {"logins": [login]})
    keys = [key_text(login[name]) for name in TABLE_KEYS["logins"]]
    (line,) = row_lines(open_run(tmp_path / "run"), "logins", keys, [str(log)])
    assert f"cid:{number} " in line.text


def test_the_lines_of_a_server_are_those_of_its_process(tmp_path):
    log = tmp_path / "nats.log"
    log.write_text("".join(
        f"[{pid}] 2026/11/21 08:00:0{pid}.000000 [INF] Server is ready\n" for pid in (7, 8)
    ))  # fmt: skip
    with audit([str(log)]) as run:
        for each in run.rows("servers"):
            keys = [key_text(each[name]) for name in TABLE_KEYS["servers"]]
            (line,) = row_lines(run, "servers", keys, [str(log)])
            assert line.text.startswith(f"[{each['process']}]")


def test_the_commands_of_a_report_find_lines(run):
    report = read_report(run / "run", logs=[str(run / "nats.log")])
    wanted = [each for each in report.findings if each.rule in ("spoofed", "undelivered")]
    assert len(wanted) == 2
    for each in wanted:
        done = CliRunner().invoke(app, shlex.split(each.command)[1:])
        assert done.exit_code == 0, done.output
        assert each.witness in done.output


@pytest.mark.parametrize("options", [[], ["--json"]])
def test_a_row_without_a_line_in_these_logs_is_exit_code_1(run, tmp_path, options):
    log = tmp_path / "other.log"
    log.write_text(FRONT.format(1, 2, 2, "web.example") + "<<- [PUB plain.a.b 0]\n")
    words = ["report", "lines", "--log", str(log), *options, str(run / "run"), "undelivered", ITMS]
    done = CliRunner().invoke(app, words)
    assert (done.exit_code, done.output) == (1, "")


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


ITEM_REPLY = "prod.reply._.stock_example.web_example.id-1"
FULL = r"{\"error\":{\"description\":\"full: x"
#: Lines by the letter that a test names them with: process, connection, client, user and the rest.
SAID = {
    "a": (7, "cid:1", "stock", "ann", f"<<- [SUB {PATTERN} q 1]"),
    "b": (7, "rid:1", "", "", f"<<- [RS+ $G {PATTERN}]"),
    "c": (7, "lid:1", "", "", f"<<- [LS+ {PATTERN}]"),
    "d": (7, "cid:2", "web", "bob", f"<<- [PUB {ITEMS} r 2]"),
    "e": (7, "rid:1", "", "", f"<<- [RMSG $G {ITEMS} 2]"),
    "f": (7, "cid:2", "web", "bob", f"<<- [PUB r {ITEMS} 2]"),
    "g": (7, "cid:2", "web", "bob", f'Publish Violation - Subject "{ITEMS}"'),
    "h": (7, "cid:1", "stock", "ann", f"<<- [PUB {ITEM_REPLY} 2]"),
    "i": (7, "cid:1", "stock", "ann", "Slow Consumer Detected: WriteDeadline of 2s exceeded"),
    "j": (7, "cid:2", "web", "bob", "Slow Consumer Detected: WriteDeadline of 2s exceeded"),
    "k": (7, "cid:2", "web", "bob", 'Not a Slow Consumer Detected: x'),
    "l": (7, "cid:1", "stock", "ann", '<<- [CONNECT {"user":"eve"}]'),
    "m": (7, "cid:2", "web", "bob", f'->> MSG_PAYLOAD: ["{FULL}"]'),
    "n": (7, "cid:2", "web", "bob", f'<<- MSG_PAYLOAD: ["{FULL}"]'),
    "o": (7, "cid:2", "web", "bob", '->> MSG_PAYLOAD: ["{\\"other\\":\\"full: x"]'),
    "p": (7, "cid:1", "stock", "ann", "<<- [PUB $JS.ACK.S.c.1.2.3.4.5 0]"),
    "q": (7, "cid:1", "stock", "ann", "->> [MSG in 1 $JS.ACK.d.h.S.c.1.2.3.4.5 2]"),
    "r": (7, "cid:1", "stock", "ann", "<<- [PUB $JS.ACK.S.other.1.2.3.4.5 0]"),
    "s": (7, "cid:3", "", "", "authentication error - User \"eve\""),
    "t": (7, "rid:9", "", "", "Router connection closed: Client Closed"),
    "u": (8, "rid:9", "", "", "Router connection closed: Client Closed"),
    "v": (7, "rid:9", "", "", "<<- [PING]"),
    "w": (7, None, "", "", "Starting nats-server"),
    "x": (7, None, "", "", "Initiating Shutdown..."),
    "y": (7, None, "", "", "Reloaded server configuration"),
    "z": (7, "cid:2", "web", "bob", "<<- [PUB plain.a.b.c 2]"),
    "A": (7, "cid:2", "web", "bob", "<<- [PUB plain.>.b 2]"),
    "B": (7, None, "", "", "Server is ready"),
    "C": (7, None, "", "", "Entering lame duck mode, stop accepting new clients"),
    "D": (7, "cid:1", "stock", "ann", f"<<- [PUB {ITEMS.replace('443', '80')} 2]"),
    "E": (7, "cid:1", "stock", "ann", f"<<- [PUB {ITEMS.replace('GET', 'POST')} 2]"),
    "F": (7, "cid:1", "stock", "ann", f"<<- [PUB {ITEMS}.more 2]"),
    "G": (7, "cid:1", "stock", "ann", f"<<- [PUB {ITEMS.replace('web', 'other')} 2]"),
}  # fmt: skip
EDGE = {"source": "web.example", "destination": "stock.example"}


@pytest.fixture(scope="module")
def said(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, dict[int, str]]:
    """A log, and the letter of each offset in it."""
    path = tmp_path_factory.mktemp("said") / "nats.log"
    text, letters = "", {}
    for letter, (pid, conn, client, user, rest) in SAID.items():
        letters[len(text)] = letter
        text += f"[{pid}] 2026/11/21 08:00:00.000001 [{'INF' if conn is None else 'TRC'}] "
        if "Slow" in rest or "Violation" in rest or "error -" in rest or "closed" in rest:
            text = text.removesuffix("[TRC] ") + "[INF] "
        if conn is not None:
            text += f"1.2.3.{conn[-1]}:5 - {conn} - "
            text += f'"v1:go:{client}" - "{user}" - '.replace(f'"{user}"', f'"$G/user:{user}"') * (
                client != ""
            )
        text += rest + "\r\n"
    path.write_bytes(text.encode())
    return path, letters


@pytest.mark.parametrize(
    ("table", "values", "letters"),
    [
        ("subscriptions", {"server": "a", "pattern": PATTERN}, "abc"),
        ("coverage", {"server": "a", "pattern": PATTERN}, "abc"),
        ("call_graph", {"plane": "prod", **EDGE, "port": 443, "method": "GET", "route": "items"},
         "deg"),
        ("call_graph", {"plane": "prod", **EDGE, "port": None, "method": "GET", "route": "items"},
         "degD"),
        ("call_graph", {"plane": "prod", **EDGE, "port": 443, "method": "*", "route": "items"},
         "degE"),
        ("call_graph", {"plane": "prod", **EDGE, "port": 443, "method": "GET", "route": "items.>"},
         "F"),
        ("call_graph", {"plane": "prod", **EDGE, "port": 443, "method": "GET", "route": None},
         "degF"),
        ("gap", {"service": "web.example", "destination": "stock.example", "port": 443,
                 "method": "GET", "path": "items"}, "deg"),
        ("replies", {"plane": "prod", "replier": "stock.example", "caller": "web.example"}, "h"),
        ("slow_consumers", {"who": "ann"}, "i"),
        ("slow_consumers", {"who": "ann", "client": "stock"}, "i"),
        ("slow_consumers", {"who": "ann", "client": "other"}, ""),
        ("slow_consumers", {"who": "bob"}, "j"),
        ("claimed_users", {"who": "ann", "claimed": "eve"}, "l"),
        ("jetstream_errors", {"who": "bob", "request": "r", "stream": "s", "why": "full"}, "m"),
        ("consumers", {"stream": "S", "consumer": "c", "who": "ann"}, "pq"),
        ("logins", {"address": "1.2.3.1", "outcome": "accepted", "who": "ann"}, "l"),
        ("logins", {"address": "1.2.3.3", "outcome": "refused", "who": "eve",
                    "why": "authentication error"}, "s"),
        ("logins", {"address": "1.2.3.3", "outcome": "refused", "who": None,
                    "why": "authentication error"}, "s"),
        ("logins", {"address": "1.2.3.3", "outcome": "refused", "who": "mallory",
                    "why": "authentication error"}, ""),
        ("logins", {"address": "1.2.3.1", "outcome": "refused", "who": None,
                    "why": "authentication error"}, ""),
        ("links", {"server": "a", "conn": "7/route:9"}, "t"),
        ("servers", {"server": "a", "process": "7", "event": "start"}, "w"),
        ("servers", {"server": "a", "process": "7", "event": "stop"}, "x"),
        ("servers", {"server": "a", "process": "7", "event": "reload"}, "y"),
        ("servers", {"server": "a", "process": "7", "event": "ready"}, "B"),
        ("servers", {"server": "a", "process": "7", "event": "lame duck"}, "C"),
        ("undelivered", {"subject": ITEMS}, "deg"),
        ("refused", {"who": "bob", "subject": ITEMS, "kind": "publish"}, "dg"),
        ("refused", {"who": "web", "subject": ITEMS, "kind": "publish"}, "dg"),
        ("refused", {"who": "7/client:2", "subject": ITEMS, "kind": "publish"}, "dg"),
        ("refused", {"who": "ann", "subject": ITEMS, "kind": "publish"}, ""),
        ("flows", {"publisher": "p", "pattern": "plain.*.*.c"}, "z"),
        ("flows", {"publisher": "p", "pattern": "plain.a.>"}, "z"),
        ("flows", {"publisher": "p", "pattern": "plain.a.b.c.>"}, ""),
        ("undelivered", {"subject": "plain.>.b"}, "A"),
        ("permission_usage", {"service": "s", "rule": "plain.>"}, "zA"),
    ],
)  # fmt: skip
def test_each_table_has_the_lines_that_its_row_is_from(said, tmp_path, table, values, letters):
    path, letter_of = said
    made = row(table, **values)
    make_run(tmp_path / "run", {table: [made]})
    keys = [key_text(made[name]) for name in TABLE_KEYS[table]]
    lines = list(row_lines(open_run(tmp_path / "run"), table, keys, [str(path)] * 2))
    found = "".join(letter_of[each.offset] for each in lines)
    assert found == letters * 2
    assert {each.log for each in lines} <= {str(path)}
    data = path.read_bytes()
    assert all(data[each.offset :].startswith(f"{each.text}\r\n".encode()) for each in lines)
