"""Errors help: one class tree, one table of reasons, one line that a stranger understands."""

from __future__ import annotations

import pickle

import pytest

import subtrie
from subtrie._core import reasons
from subtrie._core.errors import refusal
from subtrie.connector import RequestTimeout


def test_codes_are_unique_across_areas():
    codes = [code for area in reasons.AREAS.values() for code in area]
    assert len(codes) == len(set(codes))


@pytest.mark.parametrize("code", reasons.REASONS)
def test_every_reason_makes_one_short_line(code):
    error = refusal("SubjectError", code, "a\nb" * 400, 7, "host")
    assert "\n" not in str(error)
    assert len(str(error)) < 400
    assert (error.reason, error.position, error.field) == (code, 7, "host")
    assert error.hint
    assert 400 <= error.status < 600


def test_errors_survive_pickle():
    error = refusal("AddressError", "empty", "x", 3, "host")
    again = pickle.loads(pickle.dumps(error))
    assert type(again) is subtrie.AddressError
    assert (str(again), vars(again)) == (str(error), vars(error))


VALIDATORS = (
    "SubjectError",
    "PatternError",
    "InvalidName",
    "AddressError",
    "HostnameCollision",
    "WireError",
    "PermissionsError",
)


def test_what_validators_raise_is_a_value_error_below_one_base():
    for name in VALIDATORS:
        assert issubclass(getattr(subtrie, name), subtrie.InvalidInput)
    assert issubclass(subtrie.InvalidInput, (subtrie.SubtrieError, ValueError))
    assert issubclass(subtrie.HostnameCollision, subtrie.AddressError)


def test_an_error_of_the_bus_is_not_a_value_error():
    assert issubclass(subtrie.BusError, subtrie.SubtrieError)
    assert not issubclass(subtrie.BusError, ValueError)
    assert not issubclass(subtrie.SubtrieError, ValueError)


def test_a_request_timeout_is_a_timeout_error_that_survives_pickle():
    error = RequestTimeout("timeout: https://shop.example/", trace="ab")
    assert isinstance(error, TimeoutError)
    again = pickle.loads(pickle.dumps(error))
    assert (str(again), again.status, again.trace) == (str(error), 408, "ab")
