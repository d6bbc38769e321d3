"""Texts that a connector reads, at either side of what it takes: heads, subjects, configuration."""

from __future__ import annotations

import pytest

from subtrie.connector import BusError
from subtrie.connector._codec import read_request
from subtrie.connector._config import _MAX_SIZE, parse_config, read_config_files
from subtrie.connector._headers import Headers
from subtrie.connector._identity import why_rejected

from .test_token_validity import _creds, _refused

HOST = "shop.example"

# --- what a program does not send itself


def test_a_request_line_beyond_ascii_may_not_hold_a_control_character():
    line = "GET https://shop.example:443/a?q=é{} HTTP/1.1\r\nHost: shop.example\r\n\r\n"
    assert read_request(line.format("").encode()).url_query == "q=é"
    for refused in ("\x7f", "\x01", "\x00"):
        with pytest.raises(BusError):
            read_request(line.format(refused).encode())


def test_a_header_is_the_first_of_its_values():
    headers = Headers([("X-A", "1"), ("x-a", "2"), ("X-B", "3")])
    assert (headers["x-a"], headers.get("X-A"), headers.all("X-A")) == ("1", "1", ["1", "2"])
    headers["X-A"] = "4"
    assert headers.all("X-A") == ["4"]
    del headers["x-b"]
    assert list(headers.pairs()) == [("X-A", "4")]
    with pytest.raises(KeyError):
        headers["X-B"]


@pytest.mark.parametrize(
    ("subject", "why"),
    [
        ("p.safe.443.web_example", "source"),
        ("p.safe.443", "source"),
        ("p", "source"),
        ("", "source"),
        ("p.safe.443.web_example.x", "subject"),
        ("p.safe.443.web_example.x.y", "subject"),
        ("p.safe.443.Web.shop_example._.GET.a", "source"),
    ],
)
def test_a_subject_that_ends_before_its_destination_has_no_source(subject, why):
    assert why_rejected(subject) == why


async def test_a_token_of_the_future_is_not_yet_valid_though_it_expires_too(tmp_path):
    error = await _refused(_creds(tmp_path, nbf=4_000_000_000, exp=4_000_000_001))
    assert error.reason == "creds-not-yet-valid"
    assert "is valid from" in str(error)
    error = await _refused(_creds(tmp_path, nbf=1, exp=2))
    assert error.reason == "creds-expired"


# --- configuration


def test_a_configuration_file_of_exactly_a_mebibyte_is_read(tmp_path, caplog):
    start = b"shop.example:\n  Limit: 7\n#"
    for size, read in ((_MAX_SIZE, True), (_MAX_SIZE + 1, False)):
        (tmp_path / "config.yaml").write_bytes(start + b"x" * (size - len(start)))
        values = read_config_files(tmp_path)
        assert (values.get("shop.example") == {"Limit": "7"}) is read
        assert ("is larger than" in caplog.text) is not read


def test_a_configuration_file_is_read_where_no_open_is_without_waiting(tmp_path, monkeypatch):
    monkeypatch.delattr("os.O_NONBLOCK", raising=False)
    (tmp_path / "config.yaml").write_text("shop.example:\n  Limit: 7\n")
    assert read_config_files(tmp_path)["shop.example"] == {"Limit": "7"}


def test_a_line_of_4096_characters_is_read(caplog):
    for size, read in ((4096, True), (4097, False)):
        text = "  Limit: " + "7" * (size - 9)
        values = parse_config(f"a.example:\n{text}\n", f"{size}.yaml")
        assert (values["a.example"].get("Limit") == text[9:]) is read
        assert (f"{size}.yaml:2 is not read" in caplog.text) is not read


def test_blanks_within_quotes_are_kept_and_others_are_not():
    text = 'a.example:\n  One: " x "\n  Two: \' x \'\n  Three:   x y  \n  Four:\n  Five: ""\n'
    assert parse_config(text)["a.example"] == {
        "One": " x ", "Two": " x ", "Three": "x y", "Four": "", "Five": "",
    }  # fmt: skip


@pytest.mark.parametrize(
    ("answer", "read"),
    [({}, False), ({"values": {"Limit": "8"}}, True), ({"values": None}, True), ([], True),
     ({"values": {"Limit": 8}}, True), ("text", False)],
)  # fmt: skip
async def test_a_configurator_that_answers_otherwise_is_reported(make_memory, caplog, answer, read):
    core, shop = make_memory("configurator.core"), make_memory(HOST)
    core.endpoint("POST", ":888/values")(lambda: answer)
    limit = shop.config("Limit", default="7")
    async with core, shop:
        wanted = "8" if answer == {"values": {"Limit": "8"}} else "7"
        assert limit.get() == wanted
    assert ("the configuration cannot be read" in caplog.text) is not read
