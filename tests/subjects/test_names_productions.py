"""The productions of ADR-6, each at its bounds."""

from __future__ import annotations

import pytest

import subtrie
from subtrie import names


@pytest.mark.requirement("S2-002", "S2-031")
@pytest.mark.parametrize(
    ("text", "reason", "position"),
    [
        ("FOO", None, None),
        ("foo.BAR.baz", None, None),
        ("$JS.API.x", None, None),
        (".", "name-empty-token", 0),
        ("a..b", "name-empty-token", 2),
        ("a.", "name-empty-token", 2),
        ("a b", "name-character", 1),
        ("a.*", "name-wildcard", 2),
        (">", "name-wildcard", 0),
        ("foo*", "name-character", 3),
        ("a.>.b", "name-wildcard", 2),
        ("straße", "name-character", 4),
    ],
)
def test_subjects_and_replies(engine, text, reason, position):
    for kind in ("subject", "reply-to"):
        report = engine.check_name(text, kind)
        assert (report.reason, report.position) == (reason, position)


@pytest.mark.requirement("S2-030", "A32")
@pytest.mark.parametrize(
    ("text", "reason", "position"),
    [
        ("*", None, None),
        (">", None, None),
        ("a.*.b", None, None),
        ("*.*.>", None, None),
        ("a.>.b", "name-tail-not-last", 2),
        ("foo*", "name-character", 3),
        ("**", "name-character", 0),
        ("a..>", "name-empty-token", 2),
    ],
)
def test_patterns_by_the_meaning_of_the_production(engine, text, reason, position):
    for kind in ("pattern", "message-subject"):
        report = engine.check_name(text, kind)
        assert (report.reason, report.position) == (reason, position)


@pytest.mark.requirement("S2-030", "A32")
def test_the_literal_production_differs_from_its_meaning():
    wanted = {"foo*": True, "foo": True, "a.b*c": False, "a.>": True, "foo*.a": True}
    wanted |= {"foo.*": False, "*.foo": False, "*": False, ">": False, "": False, "a.": False}
    assert {text: names.adr6_literal(text) for text in wanted} == wanted
    differs = [text for text, printed in wanted.items()
               if printed != bool(subtrie.check_name(text, "pattern"))]  # fmt: skip
    assert differs == ["foo*", "foo*.a", "foo.*", "*.foo", "*", ">"]
    more = {"a..b": False, "a.>.b": False, "a.b.>": True, "!.~": True, "a b": False, "a*b": False,
            "a\x7f": False, "a.é": False, "a**": True, "a*.>": True, "a>": False}  # fmt: skip
    assert {text: names.adr6_literal(text) for text in more} == more


@pytest.mark.parametrize(
    ("kind", "text", "reason", "position"),
    [
        pytest.param(
            "js-internal-prefix",
            "$JS.API.",
            None,
            None,
            id="internal-prefix",
            marks=pytest.mark.requirement("S2-037"),
        ),
        pytest.param(
            "js-internal-prefix",
            "$JS.",
            None,
            None,
            id="internal-prefix-of-one-token",
            marks=pytest.mark.requirement("S2-037"),
        ),
        pytest.param(
            "js-internal-prefix",
            "JS.API.",
            "name-no-dollar",
            0,
            id="internal-prefix-without-dollar",
            marks=pytest.mark.requirement("S2-037"),
        ),
        pytest.param(
            "js-internal-prefix",
            "$",
            "name-empty-token",
            1,
            id="dollar-alone",
            marks=pytest.mark.requirement("S2-037"),
        ),
        pytest.param(
            "js-internal-prefix",
            "$.",
            "name-empty-token",
            1,
            id="dollar-and-dot",
            marks=pytest.mark.requirement("S2-037"),
        ),
        pytest.param(
            "js-internal-prefix",
            "$JS.$A.",
            "name-character",
            4,
            id="second-dollar-in-internal-prefix",
            marks=pytest.mark.requirement("A38"),
        ),
        pytest.param(
            "js-internal-prefix",
            "$JS",
            "name-no-final-dot",
            3,
            id="internal-prefix-without-final-dot",
            marks=pytest.mark.requirement("S2-037"),
        ),
        pytest.param(
            "js-user-prefix",
            "orders.",
            None,
            None,
            id="user-prefix",
            marks=pytest.mark.requirement("S2-038"),
        ),
        pytest.param(
            "js-user-prefix",
            "a.b.",
            None,
            None,
            id="user-prefix-of-two-tokens",
            marks=pytest.mark.requirement("S2-038"),
        ),
        pytest.param(
            "js-user-prefix",
            "a.b",
            "name-no-final-dot",
            3,
            id="user-prefix-without-final-dot",
            marks=pytest.mark.requirement("S2-038"),
        ),
        pytest.param(
            "js-user-prefix",
            "a..",
            "name-empty-token",
            2,
            id="user-prefix-with-empty-token",
            marks=pytest.mark.requirement("S2-038"),
        ),
        pytest.param(
            "js-user-prefix",
            ".",
            "name-empty-token",
            0,
            id="user-prefix-of-one-dot",
            marks=pytest.mark.requirement("S2-038"),
        ),
        pytest.param(
            "js-user-prefix",
            "a*.",
            "name-character",
            1,
            id="user-prefix-with-asterisk",
            marks=pytest.mark.requirement("S2-038"),
        ),
        pytest.param(
            "js-user-prefix",
            "$a.",
            "name-character",
            0,
            id="user-prefix-with-dollar",
            marks=pytest.mark.requirement("S2-038", "A38"),
        ),
        pytest.param(
            "kv-key",
            "a.b/c=d",
            None,
            None,
            id="key-of-every-kind-of-character",
            marks=pytest.mark.requirement("S2-039", "A40"),
        ),
        pytest.param(
            "kv-key",
            "a..b",
            "name-empty-token",
            2,
            id="key-with-two-dots",
            marks=pytest.mark.requirement("S2-039"),
        ),
        pytest.param(
            "kv-key",
            ".a",
            "name-empty-token",
            0,
            id="key-with-leading-dot",
            marks=pytest.mark.requirement("S2-039"),
        ),
        pytest.param(
            "kv-key",
            "a.",
            "name-empty-token",
            2,
            id="key-with-trailing-dot",
            marks=pytest.mark.requirement("S2-039"),
        ),
        pytest.param(
            "kv-key",
            "a.*",
            "name-character",
            2,
            id="key-with-asterisk",
            marks=pytest.mark.requirement("S2-039"),
        ),
        pytest.param(
            "kv-key",
            "a b",
            "name-character",
            1,
            id="key-with-space",
            marks=pytest.mark.requirement("S2-039"),
        ),
        pytest.param(
            "os-object",
            "any text.\n\0*>",
            None,
            None,
            id="object-of-any-characters",
            marks=pytest.mark.requirement("S2-042", "A44"),
        ),
        pytest.param(
            "os-object",
            "",
            "name-empty",
            0,
            id="empty-object",
            marks=pytest.mark.requirement("S2-042"),
        ),
        pytest.param(
            "queue",
            "a.b",
            "name-character",
            1,
            id="queue-with-dot",
            marks=pytest.mark.requirement("S2-036"),
        ),
    ],
)
def test_the_other_productions(engine, kind, text, reason, position):
    report = engine.check_name(text, kind)
    assert (report.reason, report.position) == (reason, position)
    assert bool(report) is (reason is None)
