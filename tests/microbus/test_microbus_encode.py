"""Addresses to subjects and patterns: layout and escaping."""

from __future__ import annotations

import warnings

import pytest

import subtrie
from address_parts import REPLY, REQUEST, SUBSCRIPTION
from subtrie import microbus
from subtrie._core.errors import UnheardPort


@pytest.mark.parametrize(
    ("changes", "subject"),
    [
        pytest.param(
            {},
            "microbus.safe.443.by_com.example_com._.GET.path",
            id="plain",
            marks=pytest.mark.requirement("S0-004"),
        ),
        pytest.param(
            {"path": ""},
            "microbus.safe.443.by_com.example_com._.GET._",
            id="no-path",
            marks=pytest.mark.requirement("S0-005"),
        ),
        pytest.param(
            {"plane": "Test9"},
            "Test9.safe.443.by_com.example_com._.GET.path",
            id="another-plane",
            marks=pytest.mark.requirement("S0-006"),
        ),
        pytest.param(
            {"source": "Payments.Core"},
            "microbus.safe.443.payments_core.example_com._.GET.path",
            id="source-is-folded",
            marks=pytest.mark.requirement("S0-009", "S0-031"),
        ),
        pytest.param(
            {"host": "www.example.com"},
            "microbus.safe.443.by_com.www_example_com._.GET.path",
            id="host-of-three-labels",
            marks=pytest.mark.requirement("S0-010", "S0-032"),
        ),
        pytest.param(
            {"slot": "LOC-US-West"},
            "microbus.safe.443.by_com.example_com.loc-us-west.GET.path",
            id="locality-is-folded",
            marks=pytest.mark.requirement("S0-011", "S0-042", "S0-069"),
        ),
        pytest.param(
            {"method": "delete"},
            "microbus.safe.443.by_com.example_com._.DELETE.path",
            id="method-is-upper-cased",
            marks=pytest.mark.requirement("S0-012", "S0-056", "A3"),
        ),
        pytest.param(
            {"path": "/a/b/c"},
            "microbus.safe.443.by_com.example_com._.GET.a.b.c",
            id="path-of-three-segments",
            marks=pytest.mark.requirement("S0-013", "S0-014", "S0-059"),
        ),
        pytest.param(
            {"path": "/"},
            "microbus.safe.443.by_com.example_com._.GET._",
            id="root-path",
            marks=pytest.mark.requirement("S0-015"),
        ),
        pytest.param(
            {"path": ""},
            "microbus.safe.443.by_com.example_com._.GET._",
            id="empty-path",
            marks=pytest.mark.requirement("S0-060"),
        ),
        pytest.param(
            {"path": "//"},
            "microbus.safe.443.by_com.example_com._.GET._._",
            id="two-slashes",
            marks=pytest.mark.requirement("S0-061", "A13"),
        ),
        pytest.param(
            {"path": "/x/"},
            "microbus.safe.443.by_com.example_com._.GET.x._",
            id="trailing-slash",
            marks=pytest.mark.requirement("A13"),
        ),
        pytest.param(
            {"path": "/Az09-"},
            "microbus.safe.443.by_com.example_com._.GET.Az09-",
            id="letters-digits-and-hyphen",
            marks=pytest.mark.requirement("S0-064", "S0-068"),
        ),
        pytest.param(
            {"path": "/a.b_c{d}~ %"},
            "microbus.safe.443.by_com.example_com._.GET.a%2eb%5fc%7bd%7d%7e%20%25",
            id="ascii-is-escaped",
            marks=pytest.mark.requirement("S0-065", "S0-067", "A4"),
        ),
        pytest.param(
            {"path": "/é中😀"},
            "microbus.safe.443.by_com.example_com._.GET.%c3%a9%e4%b8%ad%f0%9f%98%80",
            id="utf8-is-escaped",
            marks=pytest.mark.requirement("S0-066"),
        ),
        pytest.param(
            {"path": "/{foo}"},
            "microbus.safe.443.by_com.example_com._.GET.%7bfoo%7d",
            id="braces-are-data",
            marks=pytest.mark.requirement("S0-070", "S0-073"),
        ),
        pytest.param(
            {"path": "/*/>"},
            "microbus.safe.443.by_com.example_com._.GET.%2a.%3e",
            id="wildcards-are-escaped",
            marks=pytest.mark.requirement("S0-071", "A17"),
        ),
        pytest.param(
            {"path": "/a%2Fb"},
            "microbus.safe.443.by_com.example_com._.GET.a%252Fb",
            id="percent-is-data",
            marks=pytest.mark.requirement("A14"),
        ),
        pytest.param(
            {"port": "666"},
            "microbus.danger.666.by_com.example_com._.GET.path",
            id="trust-root",
            marks=pytest.mark.requirement("S0-024"),
        ),
        pytest.param(
            {"port": 667},
            "microbus.safe.667.by_com.example_com._.GET.path",
            id="port-next-to-666",
            marks=pytest.mark.requirement("S0-023"),
        ),
        pytest.param(
            {"host": "my_.xml"},
            "microbus.safe.443.by_com.my__xml._.GET.path",
            id="host-with-underscore",
            marks=pytest.mark.requirement("A5"),
        ),
        pytest.param(
            {"host": "MÜNCHEN.İ"},
            "microbus.safe.443.by_com.m%c3%bcnchen_i._.GET.path",
            id="host-is-folded",
            marks=pytest.mark.requirement("A74"),
        ),
        pytest.param(
            {"host": "id-abc"},
            "microbus.safe.443.by_com.id-abc._.GET.path",
            id="host-like-an-id",
            marks=pytest.mark.requirement("A74"),
        ),
        # What the document prints.
        pytest.param(
            {"port": 80, "path": "/PATH/to/file.html"},
            "microbus.safe.80.by_com.example_com._.GET.PATH.to.file%2ehtml",
            id="printed-file",
            marks=pytest.mark.requirement("S0-088"),
        ),
        pytest.param(
            {"host": "www.example.com", "path": "/"},
            "microbus.safe.443.by_com.www_example_com._.GET._",
            id="printed-root",
            marks=pytest.mark.requirement("S0-089"),
        ),
        pytest.param(
            {"port": 666, "method": "POST", "path": "/mint"},
            "microbus.danger.666.by_com.example_com._.POST.mint",
            id="printed-trust-root",
            marks=pytest.mark.requirement("S0-090"),
        ),
        pytest.param(
            {"slot": "id-abcd1234"},
            "microbus.safe.443.by_com.example_com.id-abcd1234.GET.path",
            id="printed-id",
            marks=pytest.mark.requirement("S0-091"),
        ),
        pytest.param(
            {"slot": "loc-us-west"},
            "microbus.safe.443.by_com.example_com.loc-us-west.GET.path",
            id="printed-locality",
            marks=pytest.mark.requirement("S0-092"),
        ),
        pytest.param(
            {"host": "my$.xml"},
            "microbus.safe.443.by_com.my%24_xml._.GET.path",
            id="printed-special-host",
            marks=pytest.mark.requirement("S0-094"),
        ),
    ],
)
def test_request(engine, changes, subject):
    encoded = engine.encode_request(**(REQUEST | changes))
    assert encoded == subject
    assert type(encoded) is subtrie.Subject
    assert len(encoded.tokens) >= 8


@pytest.mark.parametrize(
    ("changes", "pattern"),
    [
        pytest.param(
            {},
            "microbus.safe.443.*.example_com._.GET.path",
            id="plain",
            marks=pytest.mark.requirement("S0-037", "S0-082", "S0-007", "S0-006"),
        ),
        pytest.param(
            {"port": 0},
            "microbus.safe.*.*.example_com._.GET.path",
            id="any-port",
            marks=pytest.mark.requirement("S0-008", "S0-083", "A16"),
        ),
        pytest.param(
            {"method": "any"},
            "microbus.safe.443.*.example_com._.*.path",
            id="any-method-in-lower-case",
            marks=pytest.mark.requirement("S0-057"),
        ),
        pytest.param(
            {"method": "ANY"},
            "microbus.safe.443.*.example_com._.*.path",
            id="any-method",
            marks=pytest.mark.requirement("S0-084"),
        ),
        pytest.param(
            {"path": "/{a}/*/{}"},
            "microbus.safe.443.*.example_com._.GET.*.*.*",
            id="arguments-and-a-star",
            marks=pytest.mark.requirement("S0-062", "S0-072"),
        ),
        pytest.param(
            {"path": "/a/{rest...}"},
            "microbus.safe.443.*.example_com._.GET.a.>",
            id="named-greedy-argument",
            marks=pytest.mark.requirement("S0-063"),
        ),
        pytest.param(
            {"path": "/{name}"},
            "microbus.safe.443.*.example_com._.GET.*",
            id="argument",
            marks=pytest.mark.requirement("S0-085"),
        ),
        pytest.param(
            {"path": "/{...}"},
            "microbus.safe.443.*.example_com._.GET.>",
            id="greedy-argument",
            marks=pytest.mark.requirement("S0-086"),
        ),
        pytest.param(
            {"path": "/x*/**/>"},
            "microbus.safe.443.*.example_com._.GET.x%2a.%2a%2a.%3e",
            id="literals",
            marks=pytest.mark.requirement("A15"),
        ),
        pytest.param(
            {"port": 666},
            "microbus.danger.666.*.example_com._.GET.path",
            id="trust-root",
            marks=pytest.mark.requirement("S0-024"),
        ),
        # What the document prints.
        pytest.param(
            {"port": 80, "path": "/PATH/to/file.html"},
            "microbus.safe.80.*.example_com._.GET.PATH.to.file%2ehtml",
            id="printed-file",
            marks=pytest.mark.requirement("S0-095"),
        ),
        pytest.param(
            {"port": 123, "method": "POST", "path": "/DIR/{file...}"},
            "microbus.safe.123.*.example_com._.POST.DIR.>",
            id="printed-greedy-argument",
            marks=pytest.mark.requirement("S0-096"),
        ),
        pytest.param(
            {"port": "0", "method": "ANY", "path": "/foo/{f}/bar/{b}"},
            "microbus.safe.*.*.example_com._.*.foo.*.bar.*",
            id="printed-any-port-and-method",
            marks=pytest.mark.requirement("S0-097"),
        ),
    ],
)
def test_subscription(engine, changes, pattern):
    encoded = engine.encode_subscription(**(SUBSCRIPTION | changes))
    assert encoded == pattern
    assert type(encoded) is subtrie.Pattern


@pytest.mark.requirement("S0-093", "A1")
def test_reply_goes_from_source_to_the_instance_that_asked(engine):
    subject = engine.encode_reply(**REPLY)
    assert subject == "microbus.reply._.by_com.example_com.id-1234"
    assert type(subject) is subtrie.Subject


@pytest.mark.requirement("S0-075", "S0-076")
def test_reply_has_six_tokens_and_no_port(engine):
    tokens = engine.encode_reply(**(REPLY | {"id": "ID-7"})).tokens
    assert (len(tokens), tokens[1], tokens[2], tokens[5]) == (6, "reply", "_", "id-7")


@pytest.mark.requirement("S0-087", "S0-098")
def test_reply_subscription(engine):
    pattern = engine.encode_reply_subscription(plane="microbus", host="example.com", id="id-1234")
    assert pattern == "microbus.reply._.*.example_com.id-1234"
    assert engine.matches(pattern, engine.encode_reply(**REPLY))


@pytest.mark.requirement("S0-025")
def test_request_never_has_trust_reply(engine):
    for port in (0, 1, 443, 665, 666, 667, 65535):
        subject = engine.encode_request(**(REQUEST | {"port": port}))
        assert subject.tokens[1] == ("danger" if port == 666 else "safe")


@pytest.mark.requirement("S0-017")
def test_a_pattern_does_not_match_another_plane(engine):
    subject = engine.encode_request(**REQUEST)
    other = engine.encode_subscription(**(SUBSCRIPTION | {"plane": "other", "path": "/{...}"}))
    same = engine.encode_subscription(**(SUBSCRIPTION | {"path": "/{...}"}))
    assert engine.matches(same, subject)
    assert not engine.matches(other, subject)


@pytest.mark.requirement("S0-050", "S0-051")
def test_a_request_to_a_slot_matches_that_slot_only(engine):
    slots = ("", "id-1", "loc-us", "loc-us-west")
    for published in slots:
        subject = engine.encode_request(**(REQUEST | {"slot": published}))
        heard = [
            slot
            for slot in slots
            if engine.matches(
                engine.encode_subscription(**(SUBSCRIPTION | {"slot": slot})), subject
            )
        ]
        assert heard == [published]


@pytest.mark.requirement("S0-050")
def test_a_queue_group_takes_turns_among_the_replicas_of_the_slot_only(engine):
    """Two replicas in each slot, all in one queue group."""
    slots = ("", "id-1", "loc-us")
    index = engine.SubjectTrie()
    for slot in slots:
        for replica in range(2):
            pattern = engine.encode_subscription(**(SUBSCRIPTION | {"slot": slot}))
            index.add(pattern, (slot, replica), queue="shop")
    for slot in slots:
        subject = engine.encode_request(**(REQUEST | {"slot": slot}))
        chosen = [index.select(subject) for _ in range(20)]
        assert all(len(each) == 1 for each in chosen)
        assert {each for (each,) in chosen} == {(slot, 0), (slot, 1)}


@pytest.mark.requirement("S0-080", "S0-081")
def test_wildcards_of_a_route(engine):
    one = engine.encode_subscription(**(SUBSCRIPTION | {"path": "/a/{x}"}))
    rest = engine.encode_subscription(**(SUBSCRIPTION | {"path": "/a/{x...}"}))

    def hears(pattern, path):
        return engine.matches(pattern, engine.encode_request(**(REQUEST | {"path": path})))

    assert [hears(one, path) for path in ("/a", "/a/", "/a/b", "/a/b/c")] == [
        False,
        True,
        True,
        False,
    ]
    assert [hears(rest, path) for path in ("/a", "/a/", "/a/b", "/a/b/c")] == [
        False,
        True,
        True,
        True,
    ]


@pytest.mark.requirement("A16")
def test_any_port_does_not_match_666(engine):
    pattern = engine.encode_subscription(**(SUBSCRIPTION | {"port": 0}))
    assert not engine.matches(pattern, engine.encode_request(**(REQUEST | {"port": 666})))


@pytest.mark.requirement("A37")
def test_exactly_1024_bytes_are_allowed(engine):
    assert len(engine.encode_request(**(REQUEST | {"path": "a" * 981}))) == 1024


@pytest.mark.requirement("A10")
@pytest.mark.parametrize("port", [0, "0"])
def test_port_zero_warns_and_is_legal(port):
    with pytest.warns(UnheardPort) as caught:
        subject = microbus.encode_request(**(REQUEST | {"port": port}))
    assert [each.filename for each in caught] == [__file__], "the line of the caller"
    assert subject == "microbus.safe.0.by_com.example_com._.GET.path"
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        microbus.encode_request(**REQUEST)


@pytest.mark.parametrize(
    ("segment", "token"),
    [
        pytest.param("{foo}", "%7bfoo%7d", id="braces", marks=pytest.mark.requirement("S0-070")),
        pytest.param("*", "%2a", id="star", marks=pytest.mark.requirement("S0-071")),
        pytest.param("UPPER", "UPPER", id="capitals", marks=pytest.mark.requirement("S0-068")),
        pytest.param(
            "a_b.c", "a%5fb%2ec", id="underscore-and-dot", marks=pytest.mark.requirement("S0-065")
        ),
        pytest.param(
            "\r\n\0", "%0d%0a%00", id="control-characters", marks=pytest.mark.requirement("S0-065")
        ),
        pytest.param("", "", id="empty"),
    ],
)
def test_segment(engine, segment, token):
    assert engine.escape_segment(segment) == token
    assert engine.unescape_segment(token) == segment


@pytest.mark.requirement("A14")
def test_a_slash_is_never_inside_a_token(engine):
    with pytest.raises(subtrie.AddressError):
        engine.unescape_segment("%2f")


@pytest.mark.requirement("A13")
def test_underscore_is_the_empty_segment(engine):
    assert engine.unescape_segment("_") == ""
