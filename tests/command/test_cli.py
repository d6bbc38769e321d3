"""The command line in real processes: exit codes, output, JSON lines."""

from __future__ import annotations

import json
import os
import subprocess
import sys

import pytest

from subtrie._cli.stream import printable

GET = "microbus.safe.443.web_shop.orders_shop._.GET.order.17"


def run(*arguments, text=None, data=None):
    """Run the command in a new process."""
    given = data if data is not None else (text or "").encode()
    done = subprocess.run(
        [sys.executable, "-m", "subtrie.cli", *arguments],
        input=given,
        capture_output=True,
        timeout=60,
        check=False,
    )
    return done.returncode, done.stdout.decode(), done.stderr.decode()


def rows(output):
    return [json.loads(line) for line in output.splitlines()]


def test_check_names_the_class_of_each_subject():
    code, out, _ = run("check", GET, "_INBOX.abc", "$JS.API.INFO")
    assert code == 0
    assert [line.split()[-1] for line in out.splitlines()] == [
        "microbus-request",
        "inbox",
        "jetstream",
    ]


def test_check_reads_standard_input_and_answers_line_by_line():
    code, out, _ = run("check", "--json", text="foo.bar\nfoo..bar\n\n")
    assert code == 1
    valid, double, empty = rows(out)
    assert (valid["valid"], valid["tokens"], valid["class"]) == (True, 2, "other")
    assert (double["reason"], double["position"]) == ("empty-token", 4)
    assert empty["reason"] == "empty"


def test_check_accepts_any_bytes():
    code, out, _ = run(
        "check", "--json", data=b"caf\xe9\n\xff\xfe.x\n" + b"a" * 200_000 + b"\nok\n"
    )
    assert code == 1
    first, second, long, last = rows(out)
    assert (first["reason"], first["position"]) == ("surrogate", 3)
    assert (second["reason"], second["position"]) == ("surrogate", 0)
    assert long["reason"] == "too-long"
    assert last["valid"]


def test_check_dialect_and_warnings():
    assert run("check", "foo*")[0] == 1
    code, out, _ = run("check", "--dialect", "server", "--json", "foo*", "р\u202ea")
    assert code == 0
    star, cyrillic = rows(out)
    assert star["warnings"] == ["a wildcard character inside a token is literal text"]
    assert len(cyrillic["warnings"]) == 2


@pytest.mark.requirement("T19")
def test_terminal_codes_never_reach_the_terminal():
    _, out, err = run("check", "--dialect", "server", "a\x1b[2Jb", "c d\x1b[31m")
    assert "\x1b" not in out + err


@pytest.mark.parametrize("subject", ["a.y", "a.\x1b]0;pwned\x07.z"])
def test_terminal_codes_of_subscriptions_never_reach_the_terminal(tmp_path, subject):
    file = tmp_path / "patterns.txt"
    file.write_text("a.\x1b]0;pwned\x07.> q\x1b[31m\nb.\u202e.> q\n")
    _, out, err = run("who", "--dialect", "server", "-s", str(file), subject)
    assert "pwned" in out
    assert not [c for c in (out + err).replace("\n", "") if not c.isprintable()]


def test_text_of_a_class_with_its_own_repr_is_escaped_as_text():
    class Odd(str):
        __slots__ = ()

        def __repr__(self):
            return "odd"

    assert printable(Odd("a\x07b")) == "a\\x07b"


@pytest.mark.parametrize("verb", ["check", "decode"])
def test_plain_when_piped(verb):
    assert "\x1b" not in run(verb, GET, "a..b")[1]


def test_decode():
    code, out, _ = run("decode", "--json", GET)
    assert code == 0
    assert rows(out) == [
        {
            "subject": GET,
            "kind": "request",
            "plane": "microbus",
            "trust": "safe",
            "port": 443,
            "source": "web.shop",
            "host": "orders.shop",
            "slot": "",
            "method": "GET",
            "path": "/order/17",
        }
    ]
    code, out, _ = run("decode", "foo.bar")
    assert code == 1
    assert "foo.bar" in out


def test_decode_shows_control_characters_escaped():
    code, out, _ = run("decode", "p.safe.443.a.b._.GET.%001bx")
    assert code == 0
    assert out.rstrip("\n").endswith("path=/\\x001bx")


def test_decode_of_a_pattern_names_the_option():
    code, out, _ = run("decode", "p.safe.443.*.a._.GET.x")
    assert code == 1
    assert "--subscription" in out


def test_decode_subscription():
    code, out, _ = run(
        "decode", "--subscription", "--json", "microbus.safe.*.*.orders_shop._.*.order.*"
    )
    assert code == 0
    (row,) = rows(out)
    assert (row["port"], row["host"]) == (None, "orders.shop")


def test_encode_url_and_route():
    code, out, _ = run(
        "encode", "--plane", "microbus", "--source", "web.shop", "https://orders.shop/order/17"
    )
    assert (code, out.strip()) == (0, GET)
    code, out, _ = run(
        "encode", "--plane", "microbus", "--host", "orders.shop", text="/order/{id}\n:417/x\n"
    )
    assert code == 0
    assert out.splitlines() == [
        "microbus.safe.443.*.orders_shop._.*.order.*",
        "microbus.safe.417.*.orders_shop._.*.x",
    ]


@pytest.mark.requirement("S0-083")
def test_a_request_to_port_0_is_noted_in_one_line():
    code, out, err = run("encode", "--source", "a", "--plane", "p", "https://h:0/x")
    assert (code, out.strip()) == (0, "p.safe.0.a.h._.GET.x")
    assert err.startswith("subtrie: note: ")
    assert err.count("\n") == 1


def test_encode_exits_with_2_if_a_target_is_refused():
    code, out, _ = run("encode", "--source", "web.shop", "--json", "https://h:99999/x")
    assert code == 2
    assert rows(out)[0]["subject"] is None
    assert run("encode", "https://h/x")[0] == 2  # neither --source nor --host
    code, out, _ = run("encode", "--source", "web.shop", "--plane", "", "https://h/x")
    assert (code, "plane" in out) == (2, True), "an empty plane is not the default one"


@pytest.fixture
def patterns(tmp_path):
    file = tmp_path / "patterns.txt"
    file.write_text("# subscriptions\norders.*.new q1\norders.>\n\nusers.*\n")
    return str(file)


def test_who(patterns):
    code, out, _ = run("who", "-s", patterns, "--json", "orders.eu.new", "orders.x")
    assert code == 0
    first, second = rows(out)
    assert [(m["pattern"], m["queue"], m["line"]) for m in first["matches"]] == [
        ("orders.*.new", "q1", 2),
        ("orders.>", None, 3),
    ]
    assert [m["pattern"] for m in second["matches"]] == ["orders.>"]


def test_who_names_the_nearest_patterns_if_none_matches(patterns):
    code, out, _ = run("who", "-s", patterns, "--json", "users.a.b")
    assert code == 1
    assert rows(out)[0]["nearest"][0] == {"pattern": "users.*", "differs_at": 2}
    code, out, _ = run("who", "-s", patterns, "users.a.b")
    assert "no matching subscription" in out
    assert "users.*" in out


def test_who_names_the_line_of_a_bad_pattern(tmp_path):
    file = tmp_path / "bad.txt"
    file.write_text("a.*\nb..c\n")
    code, _, err = run("who", "-s", str(file), "a.b")
    assert code == 2
    assert "line 2" in err


def test_a_usage_error_exits_with_2_and_help_with_0():
    assert run("nonsense")[0] == 2
    assert run("who", "a.b")[0] == 2
    code, out, _ = run("--help")
    assert code == 0
    assert "audit" in out


def test_a_closed_pipe_is_quiet():
    done = subprocess.run(
        f"yes a.b | head -c 2000000 | {sys.executable} -m subtrie.cli check | head -1",
        shell=True,
        capture_output=True,
        timeout=60,
        check=False,
    )
    assert done.stdout.decode().startswith("✓ a.b")
    assert b"Traceback" not in done.stderr


@pytest.mark.parametrize(
    "command", ["wire trace.log", "wire --json trace.log", "report lines --log trace.log run {key}"]
)
def test_a_closed_pipe_ends_wire_and_report_lines_quietly(tmp_path, command):
    """Bug: both said "Broken pipe" and exited with 2."""
    front = '[7] 2026/11/21 08:00:02.000001 [TRC] 127.0.0.1:40002 - cid:2 - "v1:go:a" - '
    (tmp_path / "trace.log").write_text(f"{front}<<- [PUB orders.new 0]\n" * 20_000)
    if command.startswith("report"):
        pytest.importorskip("pyarrow")
        from subtrie.spark import audit

        audit(None, [str(tmp_path / "trace.log")], out=str(tmp_path / "run"))
    words = command.format(key="other_traffic orders.new").split()
    done = subprocess.Popen(
        [sys.executable, "-m", "subtrie.cli", *words],
        cwd=tmp_path,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
    )
    assert b"orders.new" in done.stdout.readline()
    done.stdout.close()
    errors = done.stderr.read()
    assert (done.wait(60), errors) == (1, b"")


@pytest.mark.parametrize(("table", "verdict"), [("malformed", 0), ("undelivered", 1)])
@pytest.mark.parametrize("form", [[], ["--json"]], ids=["text", "json"])
@pytest.mark.skipif(sys.platform == "win32", reason="a pipe of another kind")
def test_a_closed_pipe_does_not_change_the_verdict_of_an_audit(tmp_path, table, verdict, form):
    """``subtrie audit LOG --expect FILE | head`` exited with 1, as if FILE were not satisfied."""
    pytest.importorskip("pyarrow")
    front = '[7] 2026/11/21 08:00:02.000001 [TRC] 127.0.0.1:40002 - cid:2 - "v1:go:a" - '
    (tmp_path / "trace.log").write_text(f"{front}<<- [PUB p.safe.443.a_b.c_d._.GET.x 0]\n")
    (tmp_path / "expected.toml").write_text(f'[[expect]]\nname = "x"\nempty = "{table}"\n')
    reader, writer = os.pipe()
    os.close(reader)
    done = subprocess.run(
        [sys.executable, "-m", "subtrie.cli", "audit", "trace.log", "--expect", "expected.toml",
         *form],
        cwd=tmp_path, stdout=writer, stderr=subprocess.PIPE, timeout=60, check=False,
    )  # fmt: skip
    os.close(writer)
    assert (done.returncode, done.stderr) == (verdict, b"")


def test_subjects_without_options_are_checked_without_click():
    """Importing click takes longer than the answer; with it, the answer is the same."""
    subjects = [GET, "a.b", "a..b", "a.*", "caf\u00e9", "a\x1b[2J.b", "foo*"]
    loads_click = "import sys; sys.modules['click'] = None; import subtrie.cli; subtrie.cli.main()"
    plain = subprocess.run(
        [sys.executable, "-c", loads_click, "check", *subjects],
        capture_output=True, timeout=60, check=False, text=True,
    )  # fmt: skip
    assert (plain.returncode, plain.stdout, plain.stderr) == run(
        "check", "--dialect", "strict", *subjects
    )


@pytest.mark.skipif(sys.platform == "win32", reason="a pipe of another kind")
def test_a_pipe_that_is_closed_before_the_answer_is_quiet():
    reader, writer = os.pipe()
    os.close(reader)
    done = subprocess.run(
        [sys.executable, "-m", "subtrie", "check", "a.b", "c.d"],
        stdout=writer, stderr=subprocess.PIPE, timeout=60, check=False,
    )  # fmt: skip
    os.close(writer)
    assert (done.returncode, done.stderr) == (1, b"")


def test_without_click_one_line_says_what_to_install():
    code = "import sys; sys.modules['click'] = None\nimport subtrie.cli\nsubtrie.cli.main()"
    done = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, timeout=60, check=False, text=True
    )
    assert done.returncode == 2
    assert done.stderr.count("\n") == 1
    assert "pip install 'click>=" in done.stderr


def test_encode_refuses_a_slot_with_a_url():
    """Bug: with --source, --slot was accepted and ignored."""
    code, out, err = run("encode", "--source", "web.shop", "--slot", "id-1", "https://h/x")
    assert (code, out) == (2, "")
    assert "id-" in err


def test_who_exits_with_2_for_an_invalid_subject(patterns):
    """Bug: it exited with 1, as if no subscription matched."""
    for subjects in (["a..b"], ["orders.x", "a.>.b"], ["nobody.at.all", "a b"]):
        assert run("who", "-s", patterns, *subjects)[0] == 2


def test_who_takes_a_pattern(patterns):
    """It was refused, though what a new wildcard would match is a question of its own."""
    code, out, _ = run("who", "-s", patterns, "--json", "orders.*.*")
    assert code == 0
    assert [(m["pattern"], m["word"], m["common"]) for m in rows(out)[0]["matches"]] == [
        ("orders.*.new", "covers", "orders.x.new"),
        ("orders.>", "is covered by", "orders.x.x"),
    ]
    code, out, _ = run("who", "-s", patterns, "orders.*.*", "users.*.*")
    assert code == 1
    assert "covers orders.*.new  queue q1  line 2  common: orders.x.new" in out
    assert "disjoint from every subscription" in out


@pytest.mark.parametrize(
    ("pattern", "other", "word", "common"),
    [
        ("a.*", "a.*", "equals", "a.x"),
        ("a.>", "a.*", "covers", "a.x"),
        ("a.b", "a.>", "is covered by", "a.b"),
        ("a.*.c", "a.b.*", "overlaps", "a.b.c"),
        ("a.*", "b.>", "is disjoint from", None),
    ],
)
def test_check_compares_two_patterns(pattern, other, word, common):
    code, out, _ = run("check", "--json", pattern, "--against", other)
    assert rows(out) == [{"pattern": pattern, "against": other, "relation": word, "common": common}]
    assert code == (1 if common is None else 0)
    _, out, _ = run("check", pattern, "--against", other)
    assert f"{pattern} {word} {other}" in out


def test_check_against_refuses_an_invalid_pattern():
    assert run("check", "a..b", "--against", "a.*")[0] == 2
    assert run("check", "a", "--against", "a.>.b")[0] == 2
    assert run("check", "a", "--against", "b", "--kind", "stream")[0] == 2
