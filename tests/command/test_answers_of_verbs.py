"""The exact answers of the verbs about subjects, patterns, names and addresses."""

from __future__ import annotations

import json
import re

import pytest
from click.testing import CliRunner

from subtrie._cli.app import app
from subtrie._cli.stream import MAX_LINE

GET = "prod.safe.443.web_shop.orders_shop._.GET.order.17"
EVENT = "prod.safe.443.*.orders_shop._.GET.order.*"


def run(words, given=None):
    done = CliRunner().invoke(app, list(words), input=given, catch_exceptions=False)
    return done.exit_code, done.stdout, done.stderr


#: What is asked, the exit code, and all lines of the answer.
TEXTS = {
    ("check", "a.b", "a..b"): (1, ["✓ a.b  other",
        "✗ 'a..b'  empty-token at byte 2: remove the leading, trailing or double dot"]),
    ("check", "--pattern", "a.*", "a.>.b"): (1, ["✓ a.*  pattern", None]),
    ("check", "--dialect", "server", "a*b", "a.>b", "a.*", "*"): (1, [
        *(f"✓ {text}  other, a wildcard character inside a token is literal text"
          for text in ("a*b", "a.>b")), None, None]),
    ("check", "--dialect", "server", "a\x01", "a\u200db", "ä"): (0, [
        "✓ a\\x01  other, contains control characters",
        "✓ a\\u200db  other, contains invisible or direction-changing characters, contains "
        "non-ASCII characters: not portable, and look-alikes are possible",
        "✓ ä  other, contains non-ASCII characters: not portable, and look-alikes are possible"]),
    ("check", "a.*", "b.c", "--against", "a.b", "--against", "*.c"): (1, [
        "✓ a.* covers a.b  common: a.b", "✓ a.* overlaps *.c  common: a.c",
        "✗ b.c is disjoint from a.b", "✓ b.c is covered by *.c  common: b.c"]),
    ("check", "a..b", "a", "--against", "a"): (2, [None, "✓ a equals a  common: a"]),
    ("check", "a..b", "a", "--against", "b"): (2, [None, "✗ a is disjoint from b"]),
    ("check", "--kind", "stream", "ORDERS", "A.B"): (1, ["✓ ORDERS  stream", None]),
    ("check", "--kind", "consumer", "NUL"): (0, [
        "✓ NUL  consumer, not portable: Windows reserves it for a device"]),
    ("check", "--kind", "kv-key", "_kvx"): (0, [
        "✓ _kvx  kv-key, reserved for the key-value store itself"]),
    ("decode", GET): (0, [
        "request  plane=prod  trust=safe  port=443  source=web.shop  host=orders.shop  slot=-"
        "  method=GET  path=/order/17"]),
    ("decode", "--subscription", EVENT): (0, [
        "subscription  plane=prod  trust=safe  port=443  host=orders.shop  slot=-  method=GET"
        "  path=/order/{}"]),
    ("decode", "--subscription", "p.safe.*.*.b._.*.>"): (0, [
        "subscription  plane=p  trust=safe  port=any  host=b  slot=-  method=any  path=/{...}"]),
    ("decode", EVENT, GET): (1, [
        f"✗ '{EVENT}'  wildcard at byte 14: to decode a subscription pattern, pass --subscription",
        None]),
    ("encode", "--plane", "prod", "--source", "web.shop", "https://orders.shop/order/17"):
        (0, [GET]),
    ("encode", "--plane", "p", "--source", "a", "--method", "POST", "https://b/c"):
        (0, ["p.safe.443.a.b._.POST.c"]),
    ("encode", "--plane", "prod", "--host", "orders.shop", "--method", "GET", "/order/{id}"):
        (0, [EVENT]),
    ("encode", "--plane", "p", "--source", "a", "https://b:x/c", "https://b/c"): (2, [
        None, "p.safe.443.a.b._.GET.c"]),
    ("encode", "--plane", "p", "--host", "b", "--slot", "id-1", "/c"):
        (0, ["p.safe.443.*.b.id-1.*.c"]),
}  # fmt: skip


@pytest.mark.parametrize("words", TEXTS, ids=" ".join)
def test_the_answer_in_text(words):
    status, wanted = TEXTS[words]
    code, out, _ = run(words)
    lines = out.splitlines()
    assert (code, len(lines)) == (status, len(wanted)), out
    for line, text in zip(lines, wanted, strict=True):
        assert text is None or line == text
    assert all(line.isprintable() for line in lines)


@pytest.mark.parametrize("words", TEXTS, ids=" ".join)
def test_the_answers_in_json_have_the_same_exit_code(words):
    """One object for each line of text, with the same verdict."""
    code, out, _ = run(words)
    told, objects, _ = run([*words, "--json"])
    answers = [json.loads(line) for line in objects.splitlines()]
    assert (told, len(answers)) == (code, len(out.splitlines()))
    asked = [next(iter(each.values())) for each in answers]
    assert sorted(set(asked), key=words.index) == list(dict.fromkeys(asked))
    assert {*asked} <= {*words}
    for line, each in zip(out.splitlines(), answers, strict=True):
        bad = line.startswith("✗") and " disjoint " not in line
        assert bad == (each.get("reason") is not None)
        if bad and "position" in each and each["position"] is not None:
            assert f"  {each['reason']} at byte {each['position']}" in line


@pytest.mark.parametrize("words", [*TEXTS, ("who",)], ids=" ".join)
def test_colours_of_a_terminal_say_what_the_marks_say(words, monkeypatch, patterns):
    """Without its escape sequences the text is that of a pipe."""
    if words == ("who",):
        words = ("who", "-s", patterns, *(each for some in WHO for each in some))
    plain = run(words)[1]
    monkeypatch.setattr("click.testing._NamedTextIOWrapper.isatty", lambda self: True)
    monkeypatch.delenv("NO_COLOR", raising=False)
    coloured = run(words)[1]
    assert re.sub(r"\x1b\[\d*m", "", coloured) == plain
    for mark, number in (("✓", 32), ("✗", 31)):
        assert coloured.count(f"\x1b[{number}m{mark} \x1b[0m") == plain.count(f"{mark} ")
    for reason in re.findall(r"^✗ \S+(  [a-z-]+(?: at byte \d+)?):", plain, re.MULTILINE):
        assert f"\x1b[31m{reason}\x1b[0m\x1b[2m: " in coloured
    for dim in re.findall(r"  (?:common: .*|line \d+|differs at .*)$", plain, re.MULTILINE):
        assert re.search(rf"\x1b\[2m[^\x1b]*{re.escape(dim)}\x1b\[0m", coloured)
    for word in ("no matching subscription", "disjoint from every subscription"):
        assert coloured.count(f"\x1b[31m{word}\x1b[0m") == plain.count(word)


def answers(*words):
    return [json.loads(line) for line in run([*words, "--json"])[1].splitlines()]


def test_the_fields_of_each_answer():
    assert answers("check", "a.b") == [
        {"subject": "a.b", "valid": True, "class": "other", "tokens": 2, "warnings": []}
    ]
    (wrong,) = answers("check", "a..b")
    assert list(wrong) == ["subject", "valid", "reason", "position", "field", "hint", "message"]
    assert (wrong["valid"], wrong["reason"], wrong["position"]) == (False, "empty-token", 2)
    (pattern,) = answers("check", "--pattern", "a.*.>")
    assert (pattern["class"], pattern["tokens"]) == (None, 3)
    (name,) = answers("check", "--kind", "stream", "A.B", "--level", "go-client", "--windows")
    assert list(name) == ["name", "kind", "level", "windows", "valid", "rule", "reason",
                          "position", "legal", "warnings"]  # fmt: skip
    assert (name["kind"], name["level"], name["windows"]) == ("stream", "go-client", True)
    assert answers("check", "--kind", "stream", "A")[0]["level"] == "adr6"
    (compared,) = answers("check", "a..b", "--against", "a")
    assert (compared["pattern"], compared["against"]) == ("a..b", "a")
    (decoded,) = answers("decode", "--subscription", EVENT)
    assert (decoded["kind"], decoded["port"], decoded["method"]) == ("subscription", 443, "GET")
    assert answers("decode", "prod.r.a.b.c")[0]["kind"] is None
    assert answers("encode", "--plane", "p", "--source", "a", "https://b/c") == [
        {"target": "https://b/c", "subject": "p.safe.443.a.b._.GET.c"}
    ]
    (refused,) = answers("encode", "--plane", "p", "--source", "a", "https://b:x/c")
    assert (refused["target"], refused["subject"]) == ("https://b:x/c", None)
    assert refused["reason"]


def test_the_default_plane_is_that_of_the_environment(monkeypatch):
    words = ("encode", "--source", "a", "https://b/c")
    monkeypatch.setenv("MICROBUS_PLANE", "other")
    assert run(words)[1] == "other.safe.443.a.b._.GET.c\n"


@pytest.mark.parametrize(("words", "told"), [
    (("encode", "x"), "give either --source (TARGETS are URLs) or --host"),
    (("encode", "--source", "a", "--host", "b", "x"), "give either --source"),
    (("encode", "--source", "a", "--slot", "id-1", "https://b/c"), "--slot applies to routes only"),
    (("check", "--against", "a", "--kind", "stream", "b"), "leave out --kind"),
    (("check", "--level", "adr6", "a"), "--level and --windows go with --kind"),
    (("check", "--windows", "a"), "--level and --windows go with --kind"),
    (("check", "--kind", "stream", "--pattern", "a"), "leave out --pattern and --dialect"),
    (("check", "--kind", "stream", "--dialect", "server", "a"), "leave out --pattern"),
])  # fmt: skip
def test_options_that_do_not_go_together_are_told(words, told):
    code, out, err = run(words)
    assert (code, out) == (2, "")
    assert told in err


@pytest.mark.parametrize("end", [b"", b"\n", b"\r\n"])
def test_lines_of_standard_input(end):
    assert run(["check"], b"a.b" + end)[1] == "✓ a.b  other\n"
    assert run(["check"], b"a.b\r\n\nc" + end)[1].count("\n") == 3
    assert run(["check"], b"a.b\x0cc\x1c\xc2\x85" + end)[1].count("\n") == 1


@pytest.mark.parametrize("length", [MAX_LINE - 1, MAX_LINE, MAX_LINE + 1, MAX_LINE + 2,
                                    3 * MAX_LINE, 3 * MAX_LINE + 1])  # fmt: skip
@pytest.mark.parametrize("end", [b"\n", b""])
def test_a_long_line_is_one_subject(length, end):
    code, out, _ = run(["check", "--json"], b"a" * length + end + b"b.c\n" * bool(end))
    rows = [json.loads(line) for line in out.splitlines()]
    assert code == 1
    assert [each["valid"] for each in rows] == [False, *[True] * bool(end)]
    assert rows[0]["reason"] == "too-long"
    assert len(rows[0]["subject"]) == min(length, MAX_LINE + 1)


@pytest.fixture
def patterns(tmp_path):
    path = tmp_path / "patterns.txt"
    path.write_text("# the subscriptions\norders.*.new q1\n\n  orders.>  \n#a.b\nusers.*.x\n")
    return str(path)


WHO = {
    ("orders.eu.new",): (0, ["✓ orders.eu.new", "    orders.*.new  queue q1  line 2",
                             "    orders.>  line 4"]),
    ("#a.b",): (0, ["✓ #a.b", "    #a.b  line 5"]),
    ("users.a",): (1, ["✗ users.a", "    no matching subscription",
                       "    nearest users.*.x  differs at token 2"]),
    ("nothing",): (1, ["✗ nothing", "    no matching subscription"]),
    ("orders.*.*",): (0, ["✓ orders.*.*",
                          "    covers orders.*.new  queue q1  line 2  common: orders.x.new",
                          "    is covered by orders.>  line 4  common: orders.x.x"]),
    ("*.*.*.>",): (0, ["✓ *.*.*.>", "    overlaps orders.>  line 4  common: orders.x.x.x"]),
    ("x.*", "orders.x"): (1, ["✗ x.*", "    disjoint from every subscription", "✓ orders.x",
                              "    orders.>  line 4"]),
    ("nothing", "*.*.*.>"): (1, ["✗ nothing", "    no matching subscription", "✓ *.*.*.>",
                                 "    overlaps orders.>  line 4  common: orders.x.x.x"]),
    ("a..b", "orders.x"): (2, [None, "✓ orders.x", "    orders.>  line 4"]),
    ("a.>.b",): (2, [None]),
}  # fmt: skip


@pytest.mark.parametrize("subjects", WHO, ids=" ".join)
def test_who_names_the_subscriptions_or_the_nearest(patterns, subjects):
    status, wanted = WHO[subjects]
    code, out, _ = run(["who", "-s", patterns, *subjects])
    lines = out.splitlines()
    assert (code, len(lines)) == (status, len(wanted)), out
    for line, text in zip(lines, wanted, strict=True):
        assert text is None or line == text
    told, objects, _ = run(["who", "-s", patterns, "--json", *subjects])
    found = [json.loads(line) for line in objects.splitlines()]
    assert (told, [each["subject"] for each in found]) == (code, list(subjects))
    for each in found:
        shown = (each["subject"], repr(each["subject"]))
        mark = next(line[0] for line in lines if line[2:].split("  ")[0] in shown)
        assert mark == ("✓" if each["matched"] else "✗")
        for row in each.get("matches", ()):
            assert any(row["pattern"] in line and f"line {row['line']}" in line for line in lines)


def test_who_of_a_file_without_subscriptions(tmp_path):
    path = tmp_path / "none.txt"
    path.write_text("\n# nothing\n")
    code, out, _ = run(["who", "-s", str(path), "a.b"])
    assert (code, out) == (1, "✗ a.b\n    the file has no subscriptions\n")


@pytest.mark.parametrize(("text", "told"), [
    ("a.*\nb..c\n", "line 2: "), ("a.*\nb q more\n", "line 2: expected a pattern and at most"),
])  # fmt: skip
def test_who_names_the_line_that_it_cannot_read(tmp_path, text, told):
    path = tmp_path / "bad.txt"
    path.write_text(text)
    code, out, err = run(["who", "-s", str(path), "a.b"])
    assert (code, out) == (2, "")
    assert f"{path}, {told}" in err


FRONT = '[7] 2026/11/21 08:00:0{}.000001 [{}] 127.0.0.1:1 - {}:1 - "v1:go" - '


def test_who_reads_the_subscriptions_of_a_log(tmp_path):
    """Those of clients and leaf nodes; not those of before a restart, nor what was sent."""
    client, leaf, route = (FRONT.format(1, "TRC", kind) for kind in ("cid", "lid", "rid"))
    lines = [
        f"{client}<<- [SUB gone.x  1]", "[7] 2026/11/21 08:00:02.000001 [INF] Starting nats-server",
        f"{client}<<- [SUB a.*  1]", f"{client}<<- [SUB a.b  q  2]", f"{leaf}<<- [LS+ a.> q]",
        f"{leaf}<<- [LS+ a.b]", f"{leaf}->> [LS+ a.sent]", f"{client}<<- [PUB a.b 0]",
        "not a line of the server", f"{route}<<- [RS+ A a.b]",
    ]  # fmt: skip
    (tmp_path / "x.log").write_text("\n".join(lines) + "\n")
    (found,) = answers("who", "-s", str(tmp_path / "x.log"), "a.b")
    assert sorted((each["line"], each["pattern"], each["queue"]) for each in found["matches"]) == [
        (3, "a.*", None), (4, "a.b", "q"), (5, "a.>", "q"), (6, "a.b", None),
    ]  # fmt: skip
    assert run(["who", "-s", str(tmp_path / "x.log"), "gone.x"])[0] == 1
    assert run(["who", "-s", str(tmp_path / "x.log"), "a.sent"])[1].count("line") == 2


def test_a_subscription_of_a_log_that_is_not_valid_here_matches_nothing(tmp_path):
    """The broker took it; in a file of patterns it is a mistake."""
    client = FRONT.format(1, "TRC", "cid")
    path = tmp_path / "x.log"
    path.write_text(f"{client}<<- [SUB a*.b  1]\n{client}<<- [SUB a.*  2]\n")
    (found,) = answers("who", "-s", str(path), "a.b")
    assert [each["pattern"] for each in found["matches"]] == ["a.*"]
    path.write_text("a*.b\na.*\n")
    code, out, err = run(["who", "-s", str(path), "a.b"])
    assert (code, out, f"{path}, line 1: " in err) == (2, "", True)


def test_who_reads_a_saved_page_of_monitoring(tmp_path):
    listed = [{"subject": "a.*", "sid": "1", "qgroup": "q"}, {"subject": "a.b", "sid": "2"}]
    page = {"connections": [{"cid": 5, "subscriptions_list_detail": listed}]}
    path = tmp_path / "connz.json"
    path.write_text(json.dumps(page))
    (found,) = answers("who", "-s", str(path), "a.b")
    told = [(each["pattern"], each["queue"]) for each in found["matches"]]
    assert sorted(told, key=str) == [("a.*", "q"), ("a.b", None)]
    assert all("conn" in each for each in found["matches"])


def test_a_file_that_cannot_be_read_is_one_clear_error(tmp_path):
    (tmp_path / "x.json").write_text("{")
    for path in (tmp_path / "x.json", tmp_path):
        code, out, err = run(["who", "-s", str(path), "a.b"])
        assert (code, out) == (2, "")
        assert str(path) in err
