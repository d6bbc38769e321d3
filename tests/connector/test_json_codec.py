"""JSON bodies: the same values and errors as the standard library's."""

from __future__ import annotations

import json
import sys
from dataclasses import dataclass

import pytest
from hypothesis import given
from hypothesis import strategies as st

from subtrie.connector import _json as json_codec

VALUES = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False) | st.text(),
    lambda inner: st.lists(inner) | st.dictionaries(st.text(), inner),
    max_leaves=20,
)


@given(VALUES)
def test_values_survive_a_round_trip(value):
    try:
        usual = json.dumps(value, ensure_ascii=False, separators=(",", ":")).encode()
    except UnicodeEncodeError:
        with pytest.raises(UnicodeEncodeError):
            json_codec.json_bytes(value)
        return
    assert json_codec.json_bytes(value) == usual
    assert json_codec.json_value(usual) == value == json.loads(usual)


@given(st.binary(max_size=40) | st.text('[]{}",:0123456789.eE-truefalsn \ufeff').map(str.encode))
def test_bytes_are_decoded_as_by_the_standard_library(body):
    def outcome(read):
        try:
            return repr(read(body))
        except ValueError as error:
            return type(error), str(error)

    assert outcome(json_codec.json_value) == outcome(json.loads)


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


def test_dataclasses_and_models_become_objects():
    @dataclass
    class Point:
        x: int
        y: tuple[int, ...]

    assert json_codec.json_bytes([Point(1, (2, 3)), {4}]) == b'[{"x":1,"y":[2,3]},[4]]'


@pytest.mark.skipif(sys.implementation.name != "cpython", reason="only CPython has one")
def test_the_c_encoder_is_in_use():
    assert json_codec._encode is not None
