"""Errors help: one class tree, one table of reasons, one line that a stranger understands."""

from __future__ import annotations

import pickle

import pytest

import subtrie
from subtrie import _reasons as reasons
from subtrie._errors import refusal


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


def test_all_are_value_errors_below_one_base():
    for name in ("SubjectError", "PatternError", "InvalidName", "AddressError", "WireError"):
        assert issubclass(getattr(subtrie, name), subtrie.SubtrieError)
    assert issubclass(subtrie.SubtrieError, ValueError)
    assert issubclass(subtrie.HostnameCollision, subtrie.AddressError)
