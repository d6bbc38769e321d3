"""Subjects that are not in canonical form, and the verified source of those that are."""

from __future__ import annotations

import pytest

import subtrie

REQUEST = "microbus.safe.443.by_com.example_com._.GET.path"


REPLY = "microbus.reply._.by_com.example_com.id-1234"


def replaced(subject: str, index: int, token: str) -> str:
    tokens = subject.split(".")
    tokens[index] = token
    return ".".join(tokens)


@pytest.mark.parametrize(
    ("subject", "reason", "field", "position"),
    [
        pytest.param("", "empty", None, 0, id="empty"),
        pytest.param(".", "empty-token", None, 0, id="dot"),
        pytest.param(
            "microbus",
            "too-few-tokens",
            None,
            8,
            id="one-token",
            marks=pytest.mark.requirement("S0-005"),
        ),
        pytest.param(
            REQUEST[:-5],
            "too-few-tokens",
            None,
            42,
            id="seven-tokens",
            marks=pytest.mark.requirement("S0-005"),
        ),
        pytest.param(
            REPLY + ".x",
            "reply-tokens",
            None,
            44,
            id="reply-of-seven-tokens",
            marks=pytest.mark.requirement("S0-075"),
        ),
        pytest.param(
            REPLY[:-8],
            "reply-tokens",
            None,
            35,
            id="reply-of-five-tokens",
            marks=pytest.mark.requirement("S0-075"),
        ),
        pytest.param(
            replaced(REQUEST, 3, "*"),
            "wildcard",
            None,
            18,
            id="star-as-source",
            marks=pytest.mark.requirement("A7", "A17"),
        ),
        pytest.param(
            REQUEST + ".>",
            "wildcard",
            None,
            48,
            id="tail-as-path",
            marks=pytest.mark.requirement("A17"),
        ),
        pytest.param(REQUEST + " ", "whitespace", None, 47, id="whitespace"),
        pytest.param(REQUEST + "é", "non-ascii", None, 47, id="non-ascii"),
        pytest.param(REQUEST + "\ud800", "surrogate", "subject", 47, id="surrogate"),
        pytest.param(
            REQUEST + "a" * 978,
            "too-long",
            None,
            1024,
            id="too-long",
            marks=pytest.mark.requirement("A37"),
        ),
        pytest.param(
            replaced(REQUEST, 0, "a_b"),
            "plane",
            "plane",
            1,
            id="underscore-in-plane",
            marks=pytest.mark.requirement("S0-016"),
        ),
        pytest.param(
            replaced(REQUEST, 1, "SAFE"),
            "trust",
            "trust",
            9,
            id="trust-in-capitals",
            marks=pytest.mark.requirement("S0-007"),
        ),
        pytest.param(
            replaced(REQUEST, 1, "danger"),
            "trust",
            "trust",
            9,
            id="danger-on-another-port",
            marks=pytest.mark.requirement("S0-023"),
        ),
        pytest.param(
            "m.safe.666.a.b._.GET.x",
            "trust",
            "trust",
            2,
            id="safe-on-port-666",
            marks=pytest.mark.requirement("S0-024"),
        ),
        pytest.param(
            replaced(REQUEST, 2, "0443"),
            "port",
            "port",
            14,
            id="port-with-leading-zero",
            marks=pytest.mark.requirement("A10"),
        ),
        pytest.param(
            replaced(REQUEST, 2, "_"),
            "port",
            "port",
            14,
            id="port-placeholder-in-a-request",
            marks=pytest.mark.requirement("S0-008"),
        ),
        pytest.param(
            replaced(REQUEST, 2, "65536"),
            "port-range",
            "port",
            None,
            id="port-out-of-range",
            marks=pytest.mark.requirement("A10"),
        ),
        pytest.param(
            replaced(REPLY, 2, "443"),
            "reply-port",
            "port",
            15,
            id="port-in-a-reply",
            marks=pytest.mark.requirement("S0-076"),
        ),
        pytest.param(
            replaced(REQUEST, 3, "_"),
            "empty-label",
            "source",
            18,
            id="source-placeholder",
            marks=pytest.mark.requirement("A7"),
        ),
        pytest.param(
            replaced(REQUEST, 3, "BY_com"),
            "not-canonical",
            "source",
            18,
            id="source-in-capitals",
            marks=pytest.mark.requirement("A7"),
        ),
        pytest.param(
            replaced(REQUEST, 3, "by%2ecom"),
            "not-canonical",
            "source",
            20,
            id="source-with-escaped-dot",
            marks=pytest.mark.requirement("A7"),
        ),
        pytest.param(
            replaced(REQUEST, 3, "by%5fcom"),
            "not-canonical",
            "source",
            20,
            id="source-with-escaped-underscore",
            marks=pytest.mark.requirement("A7"),
        ),
        pytest.param(
            replaced(REQUEST, 3, "b%79_com"),
            "not-canonical",
            "source",
            19,
            id="source-with-escaped-letter",
            marks=pytest.mark.requirement("A7"),
        ),
        pytest.param(
            replaced(REQUEST, 3, "by%0d%0a"),
            "identity",
            "source",
            20,
            id="source-with-line-end",
            marks=pytest.mark.requirement("A7"),
        ),
        pytest.param(
            replaced(REQUEST, 3, "my%24_xml"),
            "identity",
            "source",
            20,
            id="source-with-special-character",
            marks=pytest.mark.requirement("S0-034"),
        ),
        pytest.param(
            replaced(REQUEST, 3, "by%2Ecom"),
            "escape",
            "source",
            20,
            id="upper-case-hex",
            marks=pytest.mark.requirement("A4"),
        ),
        pytest.param(
            replaced(REQUEST, 3, "by%zz"),
            "escape",
            "source",
            20,
            id="bad-escape",
            marks=pytest.mark.requirement("A7"),
        ),
        pytest.param(
            replaced(REQUEST, 3, "by%2"),
            "escape",
            "source",
            20,
            id="cut-escape",
            marks=pytest.mark.requirement("A7"),
        ),
        pytest.param(
            replaced(REQUEST, 3, "a__b"),
            "empty-label",
            "source",
            20,
            id="source-with-two-dots",
            marks=pytest.mark.requirement("A7"),
        ),
        pytest.param(
            replaced(REQUEST, 3, "id-x_y"),
            "reserved",
            "source",
            18,
            id="source-with-id-label",
            marks=pytest.mark.requirement("S0-053"),
        ),
        pytest.param(
            replaced(REQUEST, 3, "x_all"),
            "reserved",
            "source",
            18,
            id="source-below-all",
            marks=pytest.mark.requirement("A21"),
        ),
        pytest.param(
            replaced(REQUEST, 4, "a%ff"),
            "utf8",
            "host",
            26,
            id="host-not-utf8",
            marks=pytest.mark.requirement("A73"),
        ),
        pytest.param(
            replaced(REQUEST, 4, "%c3%89"),
            "not-canonical",
            "host",
            25,
            id="host-not-folded",
            marks=pytest.mark.requirement("S0-069"),
        ),
        pytest.param(
            replaced(REQUEST, 4, "a+b"),
            "not-canonical",
            "host",
            26,
            id="host-not-escaped",
            marks=pytest.mark.requirement("S0-029"),
        ),
        pytest.param(
            replaced(REQUEST, 5, "xyz"),
            "slot",
            "slot",
            37,
            id="other-slot",
            marks=pytest.mark.requirement("S0-011"),
        ),
        pytest.param(
            replaced(REQUEST, 5, "ID-1"),
            "not-canonical",
            "slot",
            37,
            id="slot-not-folded",
            marks=pytest.mark.requirement("S0-069"),
        ),
        pytest.param(
            "m.reply._.a.b.ID-1",
            "not-canonical",
            "id",
            14,
            id="id-of-a-reply-not-folded",
            marks=pytest.mark.requirement("S0-069"),
        ),
        pytest.param(
            replaced(REQUEST, 6, "get"),
            "method",
            "method",
            39,
            id="method-in-lower-case",
            marks=pytest.mark.requirement("S0-012"),
        ),
        pytest.param(
            replaced(REQUEST, 6, "ANY"),
            "method-any",
            "method",
            39,
            id="any-in-a-request",
            marks=pytest.mark.requirement("A11"),
        ),
        pytest.param(
            replaced(REQUEST, 7, "a_b"),
            "not-canonical",
            "path",
            44,
            id="path-underscore-not-escaped",
            marks=pytest.mark.requirement("S0-065"),
        ),
        pytest.param(
            replaced(REQUEST, 7, "a.%2f"),
            "not-canonical",
            "path",
            45,
            id="escaped-slash",
            marks=pytest.mark.requirement("A14"),
        ),
        pytest.param(
            replaced(REQUEST, 7, "%41"),
            "not-canonical",
            "path",
            43,
            id="needless-escape",
            marks=pytest.mark.requirement("S0-064"),
        ),
        pytest.param(
            replaced(REQUEST, 7, "%C3%A9"),
            "escape",
            "path",
            43,
            id="upper-case-hex-in-path",
            marks=pytest.mark.requirement("S0-067"),
        ),
        pytest.param(
            replaced(REQUEST, 7, "x%c3"),
            "utf8",
            "path",
            44,
            id="path-cut-inside-a-character",
            marks=pytest.mark.requirement("A73"),
        ),
        pytest.param(
            replaced(REQUEST, 7, "x%c3%zz"),
            "utf8",
            "path",
            44,
            id="path-cut-before-a-bad-escape",
            marks=pytest.mark.requirement("A73"),
        ),
        pytest.param(
            replaced(REQUEST, 7, "%ed%a0%80"),
            "utf8",
            "path",
            43,
            id="path-with-surrogate",
            marks=pytest.mark.requirement("A73"),
        ),
        pytest.param(
            replaced(REQUEST, 7, "%c0%af"),
            "utf8",
            "path",
            43,
            id="path-with-overlong-slash",
            marks=pytest.mark.requirement("A73"),
        ),
        pytest.param(
            "m.safe.1.a.id-x_y.id-1.GET.p",
            "stacked",
            "host",
            11,
            id="two-slots",
            marks=pytest.mark.requirement("A9"),
        ),
    ],
)
def test_not_canonical(engine, subject, reason, field, position):
    with pytest.raises(subtrie.AddressError) as caught:
        engine.decode(subject)
    error = caught.value
    assert (error.reason, error.field, error.position) == (reason, field, position)
    assert engine.source_of(subject) is None
    assert engine.classify(subject) == "other"


@pytest.mark.requirement("S0-041")
def test_source_is_verified(engine):
    assert engine.source_of(REQUEST) == "by.com"
    assert engine.source_of(REPLY) == "by.com"


@pytest.mark.requirement("T1")
def test_only_the_canonical_form_of_a_source_is_accepted(engine):
    """Every byte of a source, spelled as an escape in either case of hex, is rejected."""
    for host in ("payments.core", "a.b", "x-1.y0"):
        token = engine.flatten_host(host)
        for at, char in enumerate(token):
            plain = "." if char == "_" else char
            spellings = {f"%{ord(plain):02x}", f"%{ord(plain):02X}", plain.upper(), "%5f", "%5F"}
            for spelling in spellings - {char}:
                other = token[:at] + spelling + token[at + 1 :]
                assert engine.source_of(replaced(REQUEST, 3, other)) is None, other
        assert engine.source_of(replaced(REQUEST, 3, token)) == host


PATTERN = "microbus.safe.443.*.example_com._.GET.path"


@pytest.mark.requirement("S0-064", "S0-029")
@pytest.mark.parametrize(
    ("decode", "subject", "token", "field", "plain"),
    [
        ("decode", REQUEST, 4, "host", "-._"),
        ("decode", REQUEST, 7, "path", "-/"),
        ("decode_subscription", PATTERN, 4, "host", "-._"),
        ("decode_subscription", PATTERN, 7, "path", "-/{}"),  # the last two are arguments
    ],
)
def test_only_a_character_that_needs_it_is_escaped(engine, decode, subject, token, field, plain):
    for code in range(128):
        text = replaced(subject, token, f"x%{code:02x}")
        if chr(code).isalnum() or chr(code) in plain:
            with pytest.raises(subtrie.AddressError) as caught:
                getattr(engine, decode)(text)
            assert (caught.value.reason, caught.value.field) == ("not-canonical", field)
        else:
            assert chr(code) in getattr(getattr(engine, decode)(text), field)
