"""Subtrie permissions JSON: each field, the line of each entry, and what is refused."""

from __future__ import annotations

import json

import pytest

from subtrie import PermissionsError
from subtrie.acl import Permissions, ResponseLimit
from subtrie.acl._load.subtrie_json import is_subtrie_json

LISTS = ("publish_allow", "publish_deny", "subscribe_allow", "subscribe_deny")


def loaded(tmp_path, document):
    path = tmp_path / "rules.json"
    path.write_text(document if isinstance(document, str) else json.dumps(document))
    return Permissions.load(path)


#: Documents that are refused, the reason, and what the message names.
REFUSED = {
    "text": ({"subtrie": "1"}, "json-format", "rules.json"),
    "flag": ({"subtrie": True}, "json-format", "rules.json"),
    "newer": ({"subtrie": 2}, "json-format", "rules.json"),
    "older": ({"subtrie": 0}, "json-format", "rules.json"),
    "dialect": ({"subtrie": 1, "dialect": "loose"}, "json-field", "dialect"),
    "unknown": ({"subtrie": 1, "z": 1, "allow": []}, "unknown-key", "allow"),
    **{name: ({"subtrie": 1, name: "a"}, "json-field", name) for name in LISTS},
    **{f"{name}-number": ({"subtrie": 1, name: ["a", 7]}, "json-field", name) for name in LISTS},
    "responses": ({"subtrie": 1, "allow_responses": {"often": 1}}, "json-field", "allow_responses"),
    "responses-text": ({"subtrie": 1, "allow_responses": "yes"}, "json-field", "allow_responses"),
    "responses-max": ({"subtrie": 1, "allow_responses": {"max": "1"}}, "json-field",
                      "allow_responses"),
    "twice": ('{"subtrie": 1, "publish_allow": [], "publish_allow": ["a"]}', "alias-twice",
              "publish_allow"),
    "twice-inside": ('{"subtrie": 1, "allow_responses": {"max": 1, "max": 2}}', "alias-twice",
                     "max"),
    "queue": ({"subtrie": 1, "publish_allow": ["a q"]}, "publish-queue", "a q"),
}  # fmt: skip


@pytest.mark.parametrize("name", REFUSED)
def test_documents_that_are_not_valid_are_refused(name, tmp_path):
    document, reason, named = REFUSED[name]
    with pytest.raises(PermissionsError, match=r"rules\.json") as caught:
        loaded(tmp_path, document)
    assert caught.value.reason == reason
    assert named in str(caught.value)


def test_each_field_is_read_and_written(tmp_path):
    rules = Permissions(
        publish_allow=["a.b"], publish_deny=["a"], subscribe_allow=["b q"], subscribe_deny=["c"],
        allow_responses=ResponseLimit(3, 7.5), dialect="strict",
    )  # fmt: skip
    found = loaded(tmp_path, rules.dump())
    assert repr(found) == repr(rules)
    assert repr(loaded(tmp_path, {"subtrie": 1, "allow_responses": None})) == "Permissions()"
    assert loaded(tmp_path, {"subtrie": 1, "publish_allow": []}).publish_allow == ()


def test_each_entry_has_its_line(tmp_path):
    text = """{
 "subtrie": 1,
 "publish_allow": [
  "a", "b",
  "\\u00e9",
  "\u00e8",
  "a"
 ], "publish_deny": ["a"],
 "subscribe_allow": ["c\\u002ed"]
}
"""
    found = loaded(tmp_path, text)
    lines = {(name, entry): place.line for (name, entry), place in found.sources.items()}
    assert lines == {
        ("publish_allow", "a"): 4, ("publish_allow", "b"): 4, ("publish_allow", "\u00e9"): 5,
        ("publish_allow", "\u00e8"): 6, ("publish_deny", "a"): 8, ("subscribe_allow", "c.d"): 9,
    }  # fmt: skip
    with pytest.raises(PermissionsError, match=r"rules\.json:3: ") as caught:
        loaded(tmp_path, '{"subtrie": 1,\n"subscribe_deny": ["a",\n"a..b"]}')
    assert caught.value.line == 3


@pytest.mark.parametrize(("text", "is_one"), [
    ('{"subtrie": 7}', True), (' \n{"subtrie": 1}', True), ("{}", False), ('["subtrie"]', False),
    ('{"publish_allow": []}', False), ("{", False), ("subtrie", False), ("[" * 10_000, False),
    ('{"a":' * 100_000, False),
])  # fmt: skip
def test_a_file_is_known_by_its_key(text, is_one):
    assert is_subtrie_json(text) is is_one
