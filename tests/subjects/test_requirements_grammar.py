"""The subject rules of the NATS documentation and ADR-6, by statement, on both engines."""

from __future__ import annotations

import json

import pytest
from click.testing import CliRunner

import subtrie
from subtrie import PatternError, SubjectError
from subtrie._cli.app import app


def refused(check, text: str, **dialect: str) -> tuple[str, int | None]:
    """The reason and place for which a check refuses the text."""
    with pytest.raises((SubjectError, PatternError)) as caught:
        check(text, **dialect)
    return caught.value.reason, caught.value.position


@pytest.mark.parametrize(
    "name",
    [
        pytest.param("FOO", id="FOO", marks=pytest.mark.requirement("S1-018")),
        pytest.param("BAR", id="BAR", marks=pytest.mark.requirement("S1-019")),
        pytest.param("foo.bar", id="foo.bar", marks=pytest.mark.requirement("S1-020")),
        pytest.param("foo.BAR", id="foo.BAR", marks=pytest.mark.requirement("S1-021")),
        pytest.param("FOO.BAR", id="FOO.BAR", marks=pytest.mark.requirement("S1-022")),
        pytest.param("FOO.BAR.BAZ", id="FOO.BAR.BAZ", marks=pytest.mark.requirement("S1-023")),
        pytest.param("one", id="one-token", marks=pytest.mark.requirement("S1-027")),
        pytest.param("a.b", id="two-tokens", marks=pytest.mark.requirement("S1-017")),
    ],
)
def test_valid_names(engine, name):
    engine.check_subject(name)
    engine.check_pattern(name)


@pytest.mark.parametrize(
    ("name", "reason", "position"),
    [
        pytest.param("", "empty", 0, id="empty", marks=pytest.mark.requirement("S1-014", "S1-027")),
        pytest.param(
            "FOO. BAR",
            "whitespace",
            4,
            id="space-in-a-token",
            marks=pytest.mark.requirement("S1-024"),
        ),
        pytest.param(
            "foo. .bar",
            "whitespace",
            4,
            id="space-as-a-token",
            marks=pytest.mark.requirement("S1-025", "A33"),
        ),
        pytest.param(
            "foo..bar", "empty-token", 4, id="two-dots", marks=pytest.mark.requirement("S1-026")
        ),
        pytest.param(".", "empty-token", 0, id="one-dot", marks=pytest.mark.requirement("S1-026")),
        pytest.param(
            "a b", "whitespace", 1, id="space", marks=pytest.mark.requirement("S1-015", "S1-028")
        ),
        pytest.param("a\tb", "whitespace", 1, id="tab", marks=pytest.mark.requirement("S1-016")),
        pytest.param("a\r\nb", "whitespace", 1, id="crlf", marks=pytest.mark.requirement("S1-015")),
        pytest.param(
            "a>b",
            "partial-wildcard",
            1,
            id="greater-than-inside",
            marks=pytest.mark.requirement("S1-016", "S1-031"),
        ),
        pytest.param(
            "a*",
            "partial-wildcard",
            1,
            id="asterisk-at-the-end",
            marks=pytest.mark.requirement("S1-031", "A28"),
        ),
        pytest.param("é", "non-ascii", 0, id="not-ascii", marks=pytest.mark.requirement("S1-032")),
        pytest.param("a\x1f", "control", 1, id="control", marks=pytest.mark.requirement("A27")),
    ],
)
def test_invalid_names(engine, name, reason, position):
    assert refused(engine.check_subject, name) == (reason, position)
    assert refused(engine.check_pattern, name) == (reason, position)


@pytest.mark.requirement("S1-013")
def test_names_are_case_sensitive(engine):
    assert engine.matches("foo", "foo")
    assert not engine.matches("foo", "FOO")
    assert engine.overlaps("foo.*", "FOO.*") is None


@pytest.mark.requirement("S1-015", "S1-016")
@pytest.mark.parametrize("blank", " \t\r\n\v\f")
def test_no_blank_of_any_kind(engine, blank):
    for text in (blank, f"a{blank}", f"{blank}a", f"a.{blank}.b"):
        assert refused(engine.check_subject, text)[0] == "whitespace"


@pytest.mark.parametrize(
    "pattern",
    [
        pytest.param("foo.*.baz", id="star-in-the-middle", marks=pytest.mark.requirement("S1-042")),
        pytest.param("foo.>", id="tail", marks=pytest.mark.requirement("S1-043")),
        pytest.param("*", id="star-alone", marks=pytest.mark.requirement("S1-035", "S1-030")),
        pytest.param(">", id="tail-alone", marks=pytest.mark.requirement("S1-035", "A32")),
        pytest.param("*.foo", id="star-first", marks=pytest.mark.requirement("S2-030", "A32")),
        pytest.param("*.*.>", id="two-stars-and-a-tail", marks=pytest.mark.requirement("S1-041")),
    ],
)
def test_wildcards_are_whole_tokens(engine, pattern):
    engine.check_pattern(pattern)
    assert refused(engine.check_subject, pattern)[0] == "wildcard"


@pytest.mark.requirement("A34")
@pytest.mark.parametrize(
    ("pattern", "reason", "position"),
    [
        pytest.param(
            "foo*.bar",
            "partial-wildcard",
            3,
            id="star-at-the-end-of-a-token",
            marks=pytest.mark.requirement("S1-044", "S1-041"),
        ),
        pytest.param(
            "f*o.b*r",
            "partial-wildcard",
            1,
            id="star-inside-two-tokens",
            marks=pytest.mark.requirement("S1-045"),
        ),
        pytest.param(
            "foo>",
            "partial-wildcard",
            3,
            id="tail-at-the-end-of-a-token",
            marks=pytest.mark.requirement("S1-046"),
        ),
        pytest.param(
            "**", "partial-wildcard", 0, id="two-stars", marks=pytest.mark.requirement("S1-041")
        ),
        pytest.param(
            ">>", "partial-wildcard", 0, id="two-tails", marks=pytest.mark.requirement("S1-041")
        ),
        pytest.param(
            "a.>.b",
            "tail-not-last",
            2,
            id="tail-in-the-middle",
            marks=pytest.mark.requirement("S1-029", "S1-037"),
        ),
        pytest.param(
            ">.*", "tail-not-last", 0, id="tail-first", marks=pytest.mark.requirement("S1-037")
        ),
    ],
)
def test_wildcard_characters_inside_a_token_are_refused_in_strict(
    engine, pattern, reason, position
):
    assert refused(engine.check_pattern, pattern) == (reason, position)


@pytest.mark.requirement("A34", "S1-044", "S1-045", "S1-046")
@pytest.mark.parametrize("pattern", ["foo*.bar", "f*o.b*r", "foo>", "**", ">>", "*>"])
def test_the_broker_takes_them_as_text(engine, pattern):
    engine.check_pattern(pattern, "server")
    engine.check_subject(pattern, "server")
    assert engine.matches(pattern, pattern)
    assert not engine.matches(pattern, pattern.replace("*", "x").replace(">", "x"))


@pytest.mark.parametrize(
    ("pattern", "subject", "answer"),
    [
        pytest.param(
            "foo.>",
            "foo.bar",
            True,
            id="tail-matches-one-token",
            marks=pytest.mark.requirement("S1-038", "S1-029"),
        ),
        pytest.param(
            "foo.>",
            "foo.bar.baz.1",
            True,
            id="tail-matches-three-tokens",
            marks=pytest.mark.requirement("S1-039", "S1-037"),
        ),
        pytest.param(
            "foo.>", "foo", False, id="tail-needs-a-token", marks=pytest.mark.requirement("S1-040")
        ),
        pytest.param(
            "foo.*.quux",
            "foo.bar.quux",
            True,
            id="star-matches-the-middle",
            marks=pytest.mark.requirement("S1-047"),
        ),
        pytest.param(
            "foo.>",
            "foo.bar.quux",
            True,
            id="tail-matches-two-tokens",
            marks=pytest.mark.requirement("S1-047"),
        ),
        pytest.param(
            "foo.*.quux",
            "foo.bar.baz",
            False,
            id="star-does-not-match-another-ending",
            marks=pytest.mark.requirement("S1-048"),
        ),
        pytest.param(
            "foo.>",
            "foo.bar.baz",
            True,
            id="tail-matches-another-ending",
            marks=pytest.mark.requirement("S1-048"),
        ),
        pytest.param("*.b", "a.b", True, id="star-first", marks=pytest.mark.requirement("S1-036")),
        pytest.param(
            "a.*.c", "a.b.c", True, id="star-in-the-middle", marks=pytest.mark.requirement("S1-036")
        ),
        pytest.param("a.*", "a.b", True, id="star-last", marks=pytest.mark.requirement("S1-036")),
        pytest.param(
            "a.*", "a.b.c", False, id="star-is-one-token", marks=pytest.mark.requirement("S1-030")
        ),
        pytest.param(
            "*", "a.b", False, id="star-alone-is-one-token", marks=pytest.mark.requirement("S1-030")
        ),
    ],
)
def test_matches(engine, pattern, subject, answer):
    engine.check_pattern(pattern)
    engine.check_subject(subject)
    assert engine.matches(pattern, subject) is answer


@pytest.mark.requirement("S1-033", "S1-034")
def test_other_characters_on_request_and_the_hint_says_what_it_costs(engine):
    with pytest.raises(SubjectError) as caught:
        engine.check_subject("straße.日本")
    assert caught.value.reason == "non-ascii"
    assert "dialect='server'" in caught.value.hint
    assert "no guarantees" in caught.value.hint
    engine.check_subject("straße.日本", "server")
    assert subtrie.Subject("straße", dialect="server").dialect == "server"


@pytest.mark.requirement("S1-034")
@pytest.mark.usefixtures("engine_in_use")
@pytest.mark.parametrize("kind", [subtrie.Subject, subtrie.Pattern])
def test_a_subject_or_pattern_outside_ascii_says_that_nothing_is_guaranteed(kind):
    with pytest.raises(subtrie.SubtrieError, match="NATS gives no guarantees") as caught:
        kind("é")
    assert caught.value.reason == "non-ascii"
    assert repr(kind("é", dialect="server")).endswith("'é', dialect='server')")
    assert "NATS gives no guarantees" in " ".join(kind.__doc__.split())


@pytest.mark.requirement("S1-034")
@pytest.mark.usefixtures("engine_in_use")
@pytest.mark.parametrize("text", ["straße", "orders.日本", "a.\u00a0b"])
def test_other_characters_that_are_accepted_come_with_a_warning(text):
    done = CliRunner().invoke(app, ["check", "--dialect", "server", "--json", text])
    (warning,) = json.loads(done.output)["warnings"]
    assert warning.startswith("contains non-ASCII characters: not portable")
    plain = CliRunner().invoke(app, ["check", "--dialect", "server", "--json", "orders.new"])
    assert json.loads(plain.output)["warnings"] == []


@pytest.mark.requirement("A36")
def test_no_normalisation(engine):
    composed, decomposed = "caf\u00e9", "cafe\u0301"
    assert engine.matches(composed, composed)
    assert not engine.matches(composed, decomposed)


@pytest.mark.requirement("S2-023", "S2-024", "A27", "A28")
@pytest.mark.parametrize("code", range(128))
def test_what_a_term_may_hold(engine, code):
    """Printable ASCII, 33 to 126, without the dot and the wildcards."""
    text = f"a{chr(code)}b"
    if code == ord("."):
        engine.check_subject(text)
    elif 33 <= code <= 126 and chr(code) not in "*>":
        engine.check_subject(text)
        engine.check_pattern(text)
        assert engine.matches("*", text)
    else:
        reason, position = refused(engine.check_subject, text)
        assert position == 1
        assert reason in ("whitespace", "control", "partial-wildcard")


@pytest.mark.requirement("S2-002", "S2-008", "S2-009", "S2-011")
def test_dot_asterisk_and_gt_are_what_subjects_are_made_with(engine):
    assert subtrie.Pattern("a.*.>").tokens == ("a", "*", ">")
    assert engine.matches("a.*.>", "a.b.c")
    for text, reason in [("a.", "empty-token"), ("*", "wildcard"), (">", "wildcard")]:
        assert refused(engine.check_subject, text)[0] == reason


@pytest.mark.requirement("S2-007")
def test_ascii_is_preferred_and_utf8_is_asked_for(engine):
    assert refused(engine.check_pattern, "a.é.*") == ("non-ascii", 2)
    engine.check_pattern("a.é.*", "server")


@pytest.mark.requirement("S2-006")
def test_where_the_documents_differ_on_the_characters_of_a_token(engine):
    """Both documents say "alphanumeric" in prose; the grammar of ADR-6 says printable ASCII except
    dot, asterisk and gt. The grammar counts (A27), so this is all that prose would refuse."""
    prose = {chr(code) for code in range(128) if chr(code).isalnum()}
    taken = set()
    for code in range(128):
        try:
            engine.check_subject(chr(code))
        except SubjectError:
            continue
        taken.add(chr(code))
    assert prose < taken
    assert "".join(sorted(taken - prose)) == "!\"#$%&'()+,-/:;<=?@[\\]^_`{|}~"


@pytest.mark.requirement("S2-031")
@pytest.mark.parametrize("text", ["_INBOX.abc.1", "a", "p.reply._.a.b.id-1"])
def test_a_reply_subject_is_a_subject_without_wildcards(engine, text):
    engine.check_subject(text)
    for wild in (f"{text}.*", f"{text}.>", f"*.{text}"):
        assert refused(engine.check_subject, wild)[0] == "wildcard"


@pytest.mark.requirement("S2-030", "A32")
@pytest.mark.parametrize("text", ["a", "a.b.c", "*", "*.*", ">", "a.>", "*.a.>", "a-_$%.b"])
def test_message_subject_as_it_is_meant(engine, text):
    engine.check_pattern(text)


@pytest.mark.requirement("S2-030", "A32")
@pytest.mark.parametrize("text", ["foo*", "a.>.b", "a..b", "", "a.b*c"])
def test_what_the_printed_form_would_let_pass_or_not(engine, text):
    refused(engine.check_pattern, text)


@pytest.mark.requirement("A37")
@pytest.mark.parametrize(
    ("dialect", "most"),
    [
        pytest.param("strict", 1024, id="strict", marks=pytest.mark.requirement("A37")),
        ("server", 4096),
    ],
)
def test_most_bytes(engine, dialect, most):
    engine.check_subject("a" * most, dialect)
    with pytest.raises(SubjectError) as caught:
        engine.check_subject("a" * (most + 1), dialect)
    error = caught.value
    assert (error.reason, error.position, error.status) == ("too-long", most, 414)


@pytest.mark.requirement("A37")
def test_most_tokens(engine):
    engine.check_subject(".".join("a" * 64))
    with pytest.raises(SubjectError) as caught:
        engine.check_subject(".".join("a" * 65))
    error = caught.value
    assert (error.reason, error.position, error.status) == ("too-many-tokens", 128, 414)
    engine.check_subject(".".join("a" * 2048), "server")
    engine.check_subject(".".join("a" * 65), max_tokens=65)
    assert refused(lambda text: engine.check_subject(text, max_length=2), "abc") == ("too-long", 2)


@pytest.mark.requirement("A35")
def test_two_types_for_what_is_published_and_what_is_subscribed_to():
    assert subtrie.Pattern("a.*").matches(subtrie.Subject("a.b"))
    assert not issubclass(subtrie.Subject, subtrie.Pattern)
    assert not issubclass(subtrie.Pattern, subtrie.Subject)
    with pytest.raises(SubjectError):
        subtrie.Subject("a.*")
    with pytest.raises(SubjectError):  # a pattern is not a subject, even if its text may be one
        subtrie.Pattern("a.*").matches(subtrie.Pattern("a.*"))


@pytest.mark.requirement("A67")
@pytest.mark.parametrize("text", ["a", "*", ">", "a.*.b", "a.>", "*.>"])
def test_covering_is_reflexive(engine, text):
    assert engine.covers(text, text)
