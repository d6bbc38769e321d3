"""JSON bodies: the same values and errors as the standard library's."""

from __future__ import annotations

import datetime
import json
import os
import subprocess
import sys
from contextlib import contextmanager
from dataclasses import dataclass
from functools import partial

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from subtrie.connector import _json as json_codec

VALUES = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False) | st.text(),
    lambda inner: st.lists(inner) | st.dictionaries(st.text(), inner),
    max_leaves=20,
)


NUMBER = rb"-?(0|[1-9][0-9]{0,40})([.][0-9]{1,40})?([eE][+-]?[0-9]{1,3})?"
PACKAGES = ("", "msgspec", "orjson")


@contextmanager
def decoding_with(package):
    """Decode with a package for the length of a block."""
    kept, json_codec._decode = json_codec._decode, json_codec._decoder(package)
    try:
        yield
    finally:
        json_codec._decode = kept


@pytest.mark.parametrize("package", PACKAGES)
@given(value=VALUES)
def test_values_survive_a_round_trip(package, value):
    try:
        usual = json.dumps(
            value, ensure_ascii=False, separators=(",", ":"), allow_nan=False
        ).encode()
    except ValueError:  # a lone surrogate, or a number that is not finite
        with pytest.raises(ValueError):  # noqa: PT011 - the codec's or Python's own
            json_codec.json_bytes(value)
        return
    assert json_codec.json_bytes(value) == usual
    with decoding_with(package):
        assert repr(json_codec.json_value(usual)) == repr(json.loads(usual))


@pytest.mark.parametrize("package", PACKAGES)
@given(
    body=st.binary(max_size=40)
    | st.text('[]{}",:0123456789.eE-truefalsn \ufeff').map(str.encode)
    | st.from_regex(
        rb"-?(0|[1-9][0-9]{0,40})([.][0-9]{1,40})?([eE][+-]?[0-9]{1,3})?", fullmatch=True
    )
)
@example(body=b"18446744073709551616")
@example(body=b"-9223372036854775809")  # as a float it would be rounded
@example(body=b"NaN")
@example(body=b"1e400")
@example(body=b'{"a":1,"a":2}')
@example(body=b'"\\ud800"')
@example(body="\ufeff1".encode())
@example(body=b"[" * 1500 + b"]" * 1500)
def test_bytes_are_decoded_as_by_the_standard_library(package, body):
    def refuse(name):
        raise ValueError(f"{name} is not a number in JSON")

    def outcome(read):
        try:
            return repr(read(body))
        except (ValueError, RecursionError) as error:
            return type(error), str(error)

    with decoding_with(package):
        assert outcome(json_codec.json_value) == outcome(partial(json.loads, parse_constant=refuse))


def test_an_unknown_package_is_refused():
    with pytest.raises(ValueError, match="must be msgspec, orjson or json, not 'simplejson'"):
        json_codec._decoder("simplejson")


@pytest.mark.parametrize("package", PACKAGES[1:])
def test_the_variable_chooses_the_package(package):
    code = "from subtrie.connector import _json; print(_json._decode is None)"
    for name, default in ((package, "False"), ("", "True"), ("json", "True")):
        found = subprocess.run(
            [sys.executable, "-c", code],
            env={**os.environ, "SUBTRIE_JSON": name},
            capture_output=True,
            text=True,
            check=True,
        )
        assert found.stdout.strip() == default


@pytest.mark.parametrize("coding", ["utf-8", "utf-8-sig", "utf-16", "utf-32-be"])
def test_other_encodings_and_spaces_are_read(coding):
    assert json_codec.json_value(' {"a": "é"}\n'.encode(coding)) == {"a": "é"}


def test_invalid_json_is_refused_without_side_effects():
    circle: list[object] = []
    circle.append(circle)
    deep: object = 1
    for _ in range(100_000):
        deep = [deep]
    for value, kinds in ((circle, (ValueError, RecursionError)), (object(), TypeError)):
        for _ in range(3):
            with pytest.raises(kinds):
                json_codec.json_bytes({"a": value})
    with pytest.raises(RecursionError):
        json_codec.json_bytes(deep)
    assert json_codec.json_bytes({"a": 1}) == b'{"a":1}'
    while isinstance(deep, list):  # taken apart one by one: freeing it at once goes deep too
        deep = deep.pop()


def test_other_keys_become_texts():
    day = datetime.date(2026, 1, 2)
    assert json_codec.json_bytes({day: "é", 3: None}) == '{"2026-01-02":"é","3":null}'.encode()


def test_dataclasses_and_models_become_objects():
    @dataclass
    class Point:
        x: int
        y: tuple[int, ...]

    assert json_codec.json_bytes([Point(1, (2, 3)), {4}]) == b'[{"x":1,"y":[2,3]},[4]]'


@pytest.mark.skipif(sys.implementation.name != "cpython", reason="only CPython has one")
def test_the_c_encoder_is_in_use():
    assert json_codec._encode is not None
