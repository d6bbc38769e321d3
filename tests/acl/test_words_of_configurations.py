"""Each spelling of a value has the type and the text for the reader that it has for a broker."""

from __future__ import annotations

import json
import re
import subprocess
import urllib.request

from servers import find_binary, monitor, serving
from subtrie import PermissionsError
from subtrie.acl._load.config_parser import parse_file

ENV = {"E": "env word", "Q": "'a b'", "N": "'$V'", "HOME": "/"}
WORDS = [
    r'"x\ty"', r"'x\ty'", r'"q\"q"', r'"b\\s"', r'"\x41\x7e"', r'"n\nr\rt"', "a.b", "a-b_c",
    "http://h:1/p", "é", '"#"', "'// x'", "a#b", "a//b", "a=b", "a{b", 'a"b', "$V", "$E", "$Q",
    "$N", "1.2.3.4:5", "12ab", "-x", "a(b", "a[b", "a:b", '"a', "a'b", "a\\b", ".a", "..", "*",
    ">", "a.>", '"a\nb"', "'a\nb'", "", '""', "''", "a b", "a,", "a ; ", "a;b: c", "a # c",
    "a // c", "a/c", r'"\x80"', r'"\x7F"', r'"\xZZ"', r'"\x4"', r'"\u0041"', r'"\a"', "$", "$2a$x",
    "$2b$x", "$NONE", "$V.x", '"$V"', "'$V'", "a$V", "(x)", "`x`", "a}", "{}", "{a: b}", "[]",
    "[a, b]", "[a b]", "[a\nb]", "[a,]", "[,a]", "a\\", "-", "12-ab", "1.2.3", "1.2", "-1.25", "1.",
    ".5", "5", "5k", "-5", "+5", "1e5", "0x5", "true", "TRUE", "yes", "Yes", "on", "Off", "no",
    "False", "truex", "null", "2024-01-02", "2024-01-02T03:04:05Z", "2024-02-30T03:04:05Z",
    "2024-01-02T03:04:05+01:00", "@x", "%x", "!x", "a\tb", "a\r", "a\r\n", "~", '"a"b', "'a'b",
    '"a" "b"', "1ab2", "12:34", "12:34:56", "1_000", "12é", "\u0969", "9" * 20, "9" * 21,
    str(2**63 - 1), str(2**63), str(-(2**63)), str(-(2**63) - 1), "9e", "9223372036854775k",
    "9223372036854776k", "1kx", "1kbx", "3b", "3i", "3ib", "3kI", "3kib", "3mb", "3MiB", "3T", "3p",
    "3e", "3E", "8e", "3 k", "3z", "a" * 300,
]  # fmt: skip
TYPES = {
    "int64": "int", "bool": "bool", "float64": "float", "time.Time": "datetime",
    "map[string]interface {}": "dict", "[]interface {}": "list",
}  # fmt: skip


#: Read by the broker only: a byte that is not UTF-8, a brace with no other, a number that
#: overflows, bytes without a multiple.
THEIRS = {r'"\x80"', "a}", "9223372036854776k", "3b", "3i", "3ib"}


def configured(tmp_path, word):
    path = tmp_path / "nats.conf"
    text = f"V: text\nserver_metadata {{ used: $V\nk: {word}\n }}\n"
    path.write_text(text, newline="")
    return path


def read(path):
    """The value by the reader; None if it refuses the file."""
    try:
        return parse_file(path, ENV, path.parent).value["server_metadata"].value["k"].value
    except PermissionsError:
        return None


def test_the_type_of_each_word(tmp_path):
    differing = set()
    for word in WORDS:
        path = configured(tmp_path, word)
        command = [find_binary(), "-t", "-c", path]
        done = subprocess.run(command, env=ENV, capture_output=True, text=True, check=False)
        found = re.search(r"interface \{\} is (.*), not string", done.stderr)
        known = done.returncode == 0 or found is not None
        wanted = (TYPES[found[1]] if found else "str") if known else "NoneType"
        if type(read(path)).__name__ != wanted:
            assert read(path) is None, word
            differing.add(word)
    assert differing == THEIRS


def variables(tmp_path, config):
    """The answer of a broker with a configuration about itself."""
    folder = tmp_path / "live"
    with (
        serving(folder, f"http: '127.0.0.1:-1'\n{config}"),
        urllib.request.urlopen(f"{monitor(folder)}/varz") as answer,
    ):
        return json.load(answer)


def test_the_text_of_each_word(tmp_path):
    texts = {}
    for number, word in enumerate(WORDS):
        if isinstance(value := read(configured(tmp_path, word)), str):
            texts[f"k{number}"] = word, value
    assert len(texts) > 60
    lines = "\n".join(f"{key}: {word}\n" for key, (word, _) in texts.items())
    own = "V: text\nN: '$V'\nQ: 'a b'\n"
    config = f"{own}server_metadata {{\nv: $V\n{lines}}}\n"
    told = variables(tmp_path, config)["metadata"]
    assert {key: told[key] for key in texts} == {key: value for key, (_, value) in texts.items()}


def test_the_number_of_each_unit(tmp_path):
    sizes = {
        "max_connections": "3K", "max_pending": "1gib", "max_payload": "2Mb", "ping_max": "7",
        "max_control_line": "4kI", "max_subscriptions": "5m",
    }  # fmt: skip
    config = "".join(f"{key}: {value}\n" for key, value in sizes.items())
    (tmp_path / "nats.conf").write_text(config)
    values = parse_file(tmp_path / "nats.conf", {}, tmp_path).value
    told = variables(tmp_path, config)
    assert {key: told[key] for key in sizes} == {key: values[key].value for key in sizes}
