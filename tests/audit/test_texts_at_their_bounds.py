"""Texts of a log on both sides of their bounds: secrets, quotes, JSON, answers of JetStream."""

from __future__ import annotations

import json
from base64 import urlsafe_b64encode
from itertools import product
from typing import Any

import pytest
from local_run import read
from test_container_logs import STAMP, cri, docker
from test_lines_at_their_bounds import both, line
from test_trace_reference import compare

from subtrie._core.redaction import redact_text


def assert_redacted(texts: list[str]) -> None:
    """Each text is what the plain rules make of it, in a line that cannot be parsed."""
    rows = read("\n".join(texts).encode())
    found = {row["position"]: row["_corrupt_record"] for row in rows}
    assert list(found.values()) == [redact_text(text) for text in texts]


OPTIONS = ["pass", "password", "auth_token", "jwt", "nkey", "sig", "proxy_sig", "nonce", "user"]


@pytest.mark.parametrize("option", OPTIONS)
def test_the_value_of_an_option_is_a_secret_if_it_is_one(option: str) -> None:
    names = [option, option.upper(), option + "x", "x" + option]
    blanks = ["", " ", "\t", "\x0b", "\x0c", "\x0e"]
    values = ['"v"', '""', "v", '"v', '"v\\"w"', '"v\\\\"w"', "5", '"v", "pass":"w"']
    texts = [f'{{"{name}":{value}}}' for name, value in product(names, values)]
    texts += [f'x "{option}"{a}:{b}"v"' for a, b in product(blanks, blanks)]
    texts += [f'"{option}":"v"', f'"{option}', f'"{option}"', f'"{option}":', f'"{option}": ']
    assert_redacted(texts)


@pytest.mark.parametrize("header", ["cookie", "set-cookie", "authorization", "proxy-authorization"])
def test_the_value_of_a_header_ends_with_its_line_or_quote(header: str) -> None:
    ends = ["", "\\r", "\r", '"', "\\", ";", ",", "\t", " "]
    before = ["", "x", "x-", "-", "_", "1", ".", " ", "\\r", "\\n", "\\t", "\\x", "\u00e9", "n"]
    texts = [f"{header}:{value}" for value in ("x", " x", "\t x", "", " ", "\t")]
    texts += [f"{header}: v{end}w" for end in ends] + [f"{each}{header}:v" for each in before]
    texts += [f"{header.title()}{blank}:v" for blank in (" ", "\t", "\x0b")]
    texts += [f"a:b:{header}: c:d", f"{header}:{header}:x", f"{header}=x", header]
    assert_redacted(texts)


def test_a_token_has_parts_of_a_least_length() -> None:
    first = ["eyJ" + "a" * length for length in (7, 8, 9)]
    further = [*("." + "b" * length for length in (0, 3, 4, 5)), "", "+bbbb", ".b_-b", ".bb+bb"]
    parts = product(("", "x", "-", "."), first, further, further, ("", ".cccc", "x", "."))
    assert_redacted(["".join(each) for each in parts if "".join(each)])


def test_a_seed_has_its_kind_and_its_length() -> None:
    kinds = [f"S{chr(kind)}" for kind in range(ord("A"), ord("Z") + 1)]
    texts = [kind + "A" * 56 for kind in (*kinds, "S2", "s2", "TU", "Su")]
    texts += [f"{a}SU{'A' * length}{b}" for length in (55, 56, 57)
              for a in ("", ".", "A", "a", "1") for b in ("", ".", "A", "7", "8", "a")]  # fmt: skip
    texts += ["S" * 57 + "." + "SU" + "2" * 56, "." * 58, "A" * 300, "SU" + "A" * 56 + ".SA"]
    assert_redacted(texts)


def test_a_subject_with_a_secret_is_shown_without_it() -> None:
    """A text without any sign of a secret is not looked at again."""
    words = ["SU" + "A" * 56, "x" * 60, "SU" + "A" * 55, "A" * 58, "cookie:x", "cookie:", "a:b"]
    words += ["eyJaaaaaaaa.bbbb", "J", "\u00e9", '"pass":"x"', "POST." * 60]
    both(*(line(f"<<- [SUB {word} {other} 1]") for word, other in product(words, words)))


def test_each_escape_of_the_name_of_a_client_is_resolved() -> None:
    """Go writes some of them; of the others each reader makes the same text."""
    escapes = [f"\\{chr(code)}" for code in range(32, 127)]
    escapes += ["\\x4", "\\x41", "\\x4g", "\\xff", "\\u00e9", "\\u00e", "\\ud800", "\\U0001f600",
                "\\U0001f60", "\\U00110000", "\\101", "\\10", "\\108", "\\377", "\\400", "\\777",
                "\\128", "\\1a1", "\\\\n"]  # fmt: skip
    rows = both(*(line(f'"v1:go:a{each}z" - "A/user:b{each}" - <<- [PING]') for each in escapes))
    names = {row["client"] for row in rows if row["client"]}
    assert {"a\x07z", "a\x08z", "a\x0cz", "a\nz", "a\rz", "a\tz", "a\x0bz", "aAz"} <= names


def test_who_is_behind_a_connection_is_printed_before_its_lines() -> None:
    clients = ["", "v1", "v1:go", "v1:go:", "v1:go:n", "v1:go:n:o", ":::", "v1:go:shop.example"]
    logins = ["A/user:a", "user:a", "token", "tokens", "A/token", "A/tokenx", "A/B/token",
              "A/B/user:b.c", "A/jwt:U", "nkey:U", "A/nkey:", "A/user:", "A", "/user:a",
              "a.b/user:c.d", "user:b/c", "A/B/C/user:a", "A/B/C/token", "A//user:a", "//user:a",
              *(f"{kind}:a/{rest}" for kind in ("user", "jwt", "nkey", "token", "users")
                for rest in ("user:b", "jwt:b", "token", "b/nkey:c"))]  # fmt: skip
    parts = [f'"{client}" - "{login}"' for client, login in product(clients, logins)]
    parts += [f'"{client}"' for client in clients]
    for kind in ("cid", "rid", "lid"):
        both(*(line(f"{part} - <<- [PUB a 2]", conn=f"{kind}:{number}")
               for number, part in enumerate(parts)))  # fmt: skip


def token(**claims: Any) -> str:
    body = urlsafe_b64encode(json.dumps(claims).encode()).rstrip(b"=").decode()
    return f"eyJhbGciOiJub25lIn0.{body}.c2lnbmF0dXJl"


JWTS = [
    token(name="x.y", sub="UX", iss="A"), token(sub="UX", iss="A"), token(name="x.y", iss="A"),
    token(name="x.y", sub="UX", iss="S", nats={"issuer_account": "A"}), token(name="x.y", sub="UX"),
    token(name="x.y", sub="UX", iss="A", nats={"issuer_account": "B"}), token(iss="A"),
    token(name="", sub="UX", iss="A"), token(name="x.y", iss="A") + ".d", "a.b", "", "a.e30.c",
]  # fmt: skip


@pytest.mark.parametrize("conn", ["cid", "lid"])
@pytest.mark.parametrize("jwt", range(len(JWTS)))
def test_a_connect_says_who_is_behind_a_connection(conn: str, jwt: int) -> None:
    """Each of what a CONNECT names, and a second one that names others; also in parts of a log."""
    options = [{"user": "u.v"}, {"nkey": "UN"}, {"name": "n.m"}, {"user": ""}, {"user": "UX"}]
    logins = ['"v1:go" - "A/user:u.v"', '"v1:go" - "B/nkey:UN"', '"v1:go" - "A/jwt:UX"', '"v1:go"']
    lines = []
    for number, (one, two, login) in enumerate(product(options, options[:3], logins)):
        name = f"{conn}:{number}"
        printed = "" if conn == "lid" and number % 2 else f"{login} - "
        op = "[LS+ a]" if conn == "lid" else "[PING]"
        first, second = json.dumps({"jwt": JWTS[jwt]} | one), json.dumps(two)
        lines += [line(f"<<- [CONNECT {first}]", conn=name), line(f"{printed}<<- {op}", conn=name),
                  line(f"{printed}<<- [CONNECT {second}]", conn=name),
                  *[line(f"{printed}<<- {op}", conn=name)] * 2]  # fmt: skip
    rows = both(*lines)
    data = "".join(each + "\n" for each in lines).encode()
    assert read(data, *[row["position"] for row in rows[1::7]]) == read(data)


def test_each_text_of_a_connect_is_read_as_json() -> None:
    values = [f'"a\\{chr(code)}z"' for code in range(32, 127)]
    values += ['"\\ud83d\\ude00"', '"\\ud83d\\udfff"', '"\\udbff\\udc00"', '"\\ud800\\ud800"',
               '"\\ud800x"', '"\\udc00"', '"\\u00e"', '"\\u+0e9"', "null", "5", "true", "{}", "[]",
               '{"user":"x"}', '["x"]', '""', '"x" "y"', "[1,2", '{"a":[{"b":1}]}',
               "[" * 127 + "]" * 127, "[" * 128 + "]" * 128]  # fmt: skip
    texts = [f'{{"user":{value}}}' for value in values]
    texts += [f'{{"user":"a","x":{value}}}' for value in values]
    texts += [f'{{"user":"a","user":{value},"x":1}}' for value in values]
    texts += ["{}", "{ }", "[]", "", '{"user":"a"}x', ' {"user" : "a" } ', '{"user":"a",}', "{,}"]
    lines = []
    for number, text in enumerate(texts):
        lines += [line(f"<<- [CONNECT {text}]", conn=f"lid:{number}"),
                  line("<<- [LS+ a]", conn=f"lid:{number}")]  # fmt: skip
    rows = both(*lines)
    assert sum(row["user"] == "a" for row in rows) > 50


ENDS = ["", "a", "a.b", "a.b.1", "a.b.1.2", "a.b.1.2.3", "a.b.1.2.3.4", "a.b.1.2.3.4.0",
        "d.h.a.b.1.2.3.4", "d.h.a.b.1.2.3.4.0", "d.h.a.b.1.2.3.4.0.t",
        "d.h.a.b.1.2.3.4.0.t.u"]  # fmt: skip


VALUES = [
    "null", "true", "false", "nul", "nullx", "True", "NaN", "Infinity", "-Infinity", "x", "'a'", "",
    "0", "-0", "00", "01", "-01", "-", "+1", "1.", ".5", "1.5", "-1.50", "1.5.5", "1e5", "1E+05",
    "1e-5", "1e", "1e+", "1e1.5", "1.e5", "1.5e5x", "0x1", "1_0", "0e0", "12",
    "[]", "[1]", "[1,2]", "[,]", "[1,]", "[,1]", "[1 2]", "[1:2]", "[", "]", "[}", "[[]", "[[]]",
    "{}", '{"a":1}', '{"a":1,"b":[]}', '{"a":1,}', "{,}", '{"a"}', '{"a":}', '{"a" 1}', "{1:2}",
    '{"a":1]', '{"a":1:2}', '{"a":{}}', '{"a":nul}', "{a:1}", '"a', '"a"', '"a""b"', '"\\q"',
    *("[" * depth + "]" * depth for depth in (126, 127, 128, 129, 400)),
    *('{"a":' * depth + "1" + "}" * depth for depth in (126, 127, 128, 129)),
    '"' + "[" * 200 + '"', "[" + "[]," * 200 + "[]]",
]  # fmt: skip


@pytest.mark.parametrize("form", ['{{"user":"u.v","x":{}}}', '{{"x": {} ,"user":"u.v"}}'])
def test_a_value_that_is_skipped_is_one_of_json(form: str) -> None:
    """Bug: the native reader took the options of text that the server refuses."""
    for number, value in enumerate(VALUES):
        options = form.format(value)
        try:
            json.loads(options, parse_constant=int)
        except ValueError:
            read_it = False
        else:
            read_it = options.replace('"' + "[" * 200, "").count("[" * 128) == 0
            read_it &= options.count('{"a":' * 128) == 0
        rows = both(line(f"<<- [CONNECT {options}]", conn=f"lid:{number}"),
                    line("<<- [LS+ a]", conn=f"lid:{number}"))  # fmt: skip
        assert (rows[-1]["identity"] == "u.v") == read_it, options


@pytest.mark.parametrize("word", ["+ACK", "-NAK", "+TERM", "+WPI", "-NAK {}", "-NA", "", "x-NAK"])
def test_an_acknowledgement_of_a_message_that_was_not_processed_has_a_row(word: str) -> None:
    lines = []
    for begin in ("$JS.ACK", "$JS.ACK.", "_R_.", "$JS.ACK2.", "JS.ACK."):
        for end in ENDS:
            lines += [line(f"<<- [PUB {begin}{end} {len(word)}]"),
                      line(f'<<- MSG_PAYLOAD: ["{word}"]')]  # fmt: skip
    rows = both(*lines)
    acks = {row["queue"] for row in rows if row["op"] == "ACK"}
    assert acks == ({"a.b"} if word in ("-NAK", "+TERM", "+WPI", "-NAK {}") else set())
    both(line(f'<<- MSG_PAYLOAD: ["{word}"]'))


API = "io.nats.jetstream.api.v1."
STREAM = {"config": {"name": "A", "subjects": ["a.>", "b&<"]}}
POLICY = {"ack_policy": "all", "filter_subject": "x.>"}


def consumer(name: str, **config: Any) -> dict[str, Any]:
    return {"stream_name": "A", "name": name, "config": POLICY | config}


@pytest.mark.parametrize("arrow", ["->>", "<<-"])
@pytest.mark.parametrize("conn", ["cid:1", "rid:1"])
def test_an_answer_of_jetstream_has_its_rows(arrow: str, conn: str) -> None:
    names = ["b", "x" * 8, "x" * 7 + "Y", "x" * 7 + "1", "x" * 7 + "-", "x" * 9, "x" * 21, "x" * 22,
             "x" * 23, "x" * 21 + "-", "X" * 7]  # fmt: skip
    wrong = {"error": {"code": 400, "err_code": 1, "description": "no: of a"}}
    long = {"error": {"code": 400, "err_code": 1, "description": "n" * 300}}
    many = [{"config": {"name": f"S{n}", "subjects": [f"s{n}.*"]}} for n in range(99)]
    said = [
        {"stream": "A", "seq": 1}, {"stream": ""}, {"stream": 1}, {"stream": 'A"'}, {"seq": 1},
        {"type": f"{API}stream_create_response"} | STREAM, {"type": f"{API}stream_x"} | STREAM,
        {"type": f"{API}stream_list_response", "streams": [STREAM, STREAM]},
        {"type": f"{API}stream_list_response", "streams": many},
        {"type": f"{API}consumer_create_response"} | consumer("b", deliver_subject="d"),
        {"type": f"{API}consumer_list_response", "consumers": [consumer(name) for name in names]},
        {"type": f"{API}consumer_info_response"}
        | consumer("c", filter_subject="x", filter_subjects=["y", "z.>"], deliver_subject="d.e"),
        {"type": f"{API}account_info_response"} | STREAM, {"type": "x.stream_info"} | STREAM,
        {"type": f"{API}stream_info_response"} | wrong, {"type": f"{API}x_response"} | long,
        {"type": f"{API}consumer_create_response"} | wrong | {"stream": "A"},
        wrong, wrong | {"stream": "A"},
        wrong | {"stream": ""}, {"error": {}}, {},
        *({"error": error, "stream": "A"} for error in (
            {"description": "no"}, {"err_code": 1, "description": "no"}, {"code": 1},
            {"description": "no", "code": 1}, {"code": "}", "description": "no"},
            {"code": 1, "description": "a}b: c"})),
        {"error": {"code": 1}, "x": {"description": "no"}, "stream": "A"},
        *({"type": f"{API}{kind}_response", "error": {"description": "no<&: >"}}
          for kind in ("x", "", "_", "x_response", "X", "x1", "é")),
        {"error": {"code": 1, "description": "a<b"}, "stream": "A>"},
        {"type": f"{API}x_response", "error": {}, "x": {"description": "no"}},
        {"error": {"code": 1, "description": "a:b"}, "stream": "A"},
    ]  # fmt: skip
    lines = []
    for each in said:
        text = json.dumps(each, separators=(",", ":"))
        for sign in "<>&":
            text = text.replace(sign, f"\\u{ord(sign):04x}")
        quoted = text.replace("\\", "\\\\").replace('"', '\\"')
        lines.append(line(f'{arrow} MSG_PAYLOAD: ["{quoted}"]', conn=conn))
    rows = both(*lines)
    told = {"STORED", "STREAM", "CONSUMER", "ERROR"}
    assert {row["op"] for row in rows} == (told if (arrow, conn) == ("->>", "cid:1") else set())


def test_a_line_of_a_container_has_its_form() -> None:
    plain = line("<<- [PUB a 2]")
    times = [STAMP, STAMP[:19] + "Z", STAMP[:18] + "Z", STAMP[:10] + " 08:00:00Z", "x" + STAMP,
             STAMP.replace("-", "/", 1), "2026-11/21T08:00:00Z", "2026-11-21t08:00:00Z",
             *(STAMP + "9" * length for length in (33, 34, 35)),
             "2026-11-21T08:00:00\x01Z"]  # fmt: skip
    forms = ["stderr F ", "stdout F ", "stdin F ", "stderr P ", "stderr X ", "stderr F", "std F ",
             "stderr  F ", "stderr F  ", "stdout P "]  # fmt: skip
    for form in forms:
        compare("".join(f"{time} {form}{plain}\n" for time in times).encode())


@pytest.mark.parametrize("wrap", [docker, cri])
def test_a_line_in_parts_ends_where_another_one_begins(wrap: Any) -> None:
    """Also one of which a part is empty, or that ends with the log."""
    first, second = "[7] 2026/11/21 08:00:00.000001 [TRC] 1.2.3.4:5", " - cid:1 - <<- [PUB a 2]"
    parts = [wrap(first, ends=False), wrap(second), wrap("", ends=False), wrap(""), first + second]
    for three in product(parts, repeat=3):
        compare("".join(each + "\n" for each in three).encode())
        compare("\n".join(three).encode())


@pytest.mark.parametrize("size", [65_535, 65_536, 65_537])
@pytest.mark.parametrize("end", ["]", '"]', "", "\r"])
def test_a_line_has_a_longest_length(size: int, end: str) -> None:
    for rest in ("<<- [PUB a ", '<<- MSG_PAYLOAD: ["'):
        text = line(rest)
        compare(f"{text}{'2' * (size - len(text) - len(end))}{end}\n{line('<<- [PING]')}".encode())


@pytest.mark.parametrize("size", [65_536, 65_537, 66_000])
@pytest.mark.parametrize("wrap", [docker, cri])
def test_of_a_long_record_of_a_container_the_first_bytes_are_the_line(wrap: Any, size: int) -> None:
    begin = line('"v1:go:n" - "A/user:x" - <<- MSG_PAYLOAD: ["')
    record = wrap(begin + "2" * (size - len(wrap(begin + '"]'))) + '"]')
    assert len(record) == size
    publish = line('"v1:go:n" - "A/user:x" - <<- [PUB a 2]')
    rows = compare(f"{wrap(publish)}\n{record}\n{wrap(publish)}\n".encode())
    assert [row["op"] for row in rows if row["reason"] is None] == ["PUB"] * 2
    cut = [row["_corrupt_record"] for row in rows if row["reason"] is not None]
    assert all(text.startswith(begin + "222") for text in cut)


@pytest.mark.parametrize("length", [0, 1, 511, 512, 513])
@pytest.mark.parametrize("sign", ["x", "\u00e9"])
def test_the_first_bytes_of_a_line_that_is_not_read_are_kept(length: int, sign: str) -> None:
    compare(("y" * (length % 2) + sign * length).encode())
