"""Each spelling of a value has the type and the text for the reader that it has for a broker."""

from __future__ import annotations

import json
import re
import subprocess
import urllib.request

import pytest

from servers import find_binary, loads, monitor, serving
from subtrie import PermissionsError
from subtrie.acl._load import config_parser
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


def test_nesting_and_includes_are_bounded_on_both_sides(tmp_path, monkeypatch):
    def reason(text):
        path = tmp_path / "nats.conf"
        path.write_text(text)
        try:
            parse_file(path, {}, tmp_path)
        except PermissionsError as error:
            return error.reason
        return None

    most = config_parser.MAX_DEPTH
    for count in (most - 1, most):
        expected = None if count < most else "conf-depth"
        assert reason(f"a: {'[' * count}{']' * count}\n") == expected
        assert reason(f"a {'{ b ' * count}: 1{'}' * count}\n") == expected
        for number in range(count):
            text = f"include f{number + 1}\n" if number < count - 1 else "a: 1\n"
            (tmp_path / f"f{number}").write_text(text)
        assert reason("include f0\n") == (None if count < most else "include-depth")
    monkeypatch.setattr(config_parser, "MAX_FILES", 3)
    (tmp_path / "one").write_text("a: 1\n")
    assert reason("include one\ninclude one\n") is None
    assert reason("include one\ninclude one\ninclude one\n") == "include-depth"


@pytest.mark.parametrize(("name", "text", "reason"), [
    ("values.yaml", "port: 1\n", "conf-yaml"), ("values.yml", "port: 1\n", "conf-yaml"),
    ("nats.conf", "apiVersion: v1\nkind: ConfigMap\n", "conf-yaml"),
    ("nats.conf", "apiVersion: v1\n", None), ("nats.conf", "kind: x\n", None),
])  # fmt: skip
def test_yaml_is_known_by_its_name_or_by_both_of_its_keys(name, text, reason, tmp_path):
    (tmp_path / name).write_text(text)
    if reason is None:
        assert parse_file(tmp_path / name, {}, tmp_path).value
        return
    with pytest.raises(PermissionsError) as caught:
        parse_file(tmp_path / name, {}, tmp_path)
    assert caught.value.reason == reason


@pytest.mark.parametrize("include", ["one", "/one", "'one'", '"/one"', "\t one", "one # x"])
def test_an_include_begins_in_the_folder_of_its_file(include, tmp_path):
    """The broker joins even an absolute path to it."""
    (tmp_path / "in").mkdir()
    (tmp_path / "nats.conf").write_text("include in/two\n")
    (tmp_path / "in" / "one").write_text("k: text\n")
    (tmp_path / "in" / "two").write_text(f"server_metadata {{ include {include}\n}}\n")
    assert parse_file(tmp_path / "nats.conf", {}, tmp_path).value["server_metadata"].value["k"]
    assert loads(tmp_path / "nats.conf", {})


def test_the_variable_of_the_inner_block_counts(tmp_path):
    config = "X: outer\nY: $X\nserver_metadata { X: inner, k: $X, y: $Y }\n"
    (tmp_path / "nats.conf").write_text(config)
    read_as = parse_file(tmp_path / "nats.conf", {}, tmp_path).value["server_metadata"].value
    told = variables(tmp_path, config)["metadata"]
    assert {key: each.value for key, each in read_as.items()} == told
