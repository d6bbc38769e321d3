"""Random identifiers have their length and characters, none more often than another."""

from __future__ import annotations

import re
from collections import Counter

import pytest

from subtrie.connector import _system
from subtrie.connector._ids import RandomIds


def test_the_id_of_an_instance_has_ten_characters():
    drawn = {RandomIds().instance() for _ in range(200)}
    assert len(drawn) == 200
    assert all(re.fullmatch("id-[0-9a-z]{10}", each) for each in drawn)
    assert set("".join(each[3:] for each in drawn)) == set("0123456789abcdefghijklmnopqrstuvwxyz")


def test_no_character_of_message_ids_is_more_frequent_than_another(monkeypatch):
    monkeypatch.setattr(_system, "random_bytes", lambda count: bytes(range(256)) * (count // 256))
    ids = RandomIds()
    drawn = [ids.message() for _ in range(16 * 248 // 8)]
    assert not ids._stock
    assert set(Counter("".join(drawn)).values()) == {64}


@pytest.mark.parametrize("beyond", range(9))
def test_every_message_id_has_eight_characters(monkeypatch, beyond):
    """Bytes that no character has are left out, so the last ones may be too few for an id."""
    drawn = b"\xff" * beyond + bytes(4096 - beyond)
    monkeypatch.setattr(_system, "random_bytes", lambda count: drawn[:count])
    ids = RandomIds()
    found = [ids.message() for _ in range((4096 - beyond) // 8)]
    assert set(found) == {"0" * 8}
    assert not ids._stock
