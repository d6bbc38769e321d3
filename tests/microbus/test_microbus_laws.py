"""Laws of the codec: round trips, safety of what is published, and agreement of the engines."""

from __future__ import annotations

import string

import pytest
from hypothesis import given
from hypothesis import strategies as st

import subtrie
import subtrie._subtrie
import subtrie.reference
import wide_texts
from subtrie import microbus

ENGINES = (subtrie._subtrie, subtrie.reference)

METHODS = ("GET", "HEAD", "POST", "PUT", "DELETE", "CONNECT", "OPTIONS", "TRACE", "PATCH")

planes = st.text(string.ascii_letters + string.digits, min_size=1, max_size=8)
ports = st.integers(0, 65535)
words = st.text(string.ascii_lowercase + string.digits, min_size=1, max_size=6)
identities = (
    st.lists(words, min_size=1, max_size=3)
    .map(".".join)
    .filter(lambda host: host != "all" and not host.endswith(".all"))
)
texts = st.text(st.characters(exclude_categories=("Cs",)), max_size=12)
# In lower case already, and without the underscore that decodes to a dot.
hosts = texts.map(lambda host: microbus.unflatten_host(microbus.flatten_host(host) + "_x")).filter(
    lambda host: not host.startswith(("id-", "loc-"))
)
slots = st.one_of(
    st.just(""),
    words.map("id-{}".format),
    st.lists(words, min_size=1, max_size=3).map(lambda parts: "loc-" + "-".join(parts)),
)
paths = texts.map("/{}".format)

odd = st.one_of(
    st.text(max_size=12),
    st.text("idloc-all._%2eEfF5{}*>/:@[] \n\x00é日😀\u0301\uff5e\u0130\ud800GET0", max_size=14),
    st.sampled_from(["", "microbus", "by.com", "GET", "443", "/a/{b}", "id-1", "https://h/p"]),
    st.sampled_from(wide_texts.TOKENS),
)


@pytest.mark.requirement("A5")
@given(planes, ports, identities, hosts, slots, st.sampled_from(METHODS), paths)
def test_requests_round_trip(plane, port, source, host, slot, method, path):
    trust = "danger" if port == 666 else "safe"
    address = microbus.RequestAddress(plane, trust, port, source, host, slot, method, path)
    for engine in ENGINES:
        assert engine.decode(str(address)) == address


@pytest.mark.requirement("A5")
@given(planes, identities, hosts, words)
def test_replies_round_trip(plane, source, host, word):
    address = microbus.ReplyAddress(plane, source, host, f"id-{word}")
    for engine in ENGINES:
        assert engine.decode(str(address)) == address


@given(texts)
def test_hosts_and_segments_round_trip(text):
    for engine in ENGINES:
        part = text.replace("/", "")  # a slash separates parts (A14)
        assert engine.unescape_segment(engine.escape_segment(part)) == part
        token = engine.flatten_host(text)
        if token != "_":
            assert engine.flatten_host(engine.unflatten_host(token)) == token


@pytest.mark.requirement("S0-030")
@given(odd, st.one_of(odd, ports), odd, odd, odd, odd, odd)
def test_nothing_unsafe_is_published(plane, port, source, host, method, path, slot):
    for engine in ENGINES:
        for wanted in (
            lambda e=engine: e.encode_request(
                plane=plane,
                port=port,
                source=source,
                host=host,
                method=method,
                path=path,
                slot=slot,
            ),
            lambda e=engine: e.encode_request(
                plane="p", port=1, source="a", host=host or "h", method="GET", path=path
            ),
            lambda e=engine: e.request_from_url(plane="p", source="a", method="GET", url=path),
        ):
            try:
                subject = wanted()
            except subtrie.AddressError:
                continue
            assert len(subject.tokens) >= 8
            assert all(token not in ("", "*", ">") for token in subject.tokens)
            assert subject.isascii()
            assert subject.isprintable()
            assert " " not in subject
            assert str(engine.decode(subject)) == subject


@given(odd)
def test_what_decodes_encodes_to_the_same_bytes(text):
    for engine in ENGINES:
        for decode in (engine.decode, engine.decode_subscription):
            try:
                address = decode(text)
            except subtrie.AddressError:
                continue
            assert str(address) == text


def answer(engine, name, *positional, **named):
    """The value or the whole error, so that two engines can be compared."""
    try:
        return type(value := getattr(engine, name)(*positional, **named)), value
    except Exception as error:
        place = [getattr(error, part, None) for part in ("reason", "position", "field", "status")]
        return type(error), str(error), *place


ONE_TEXT = (
    "check_identity_host",
    "check_locality",
    "check_method",
    "check_plane",
    "check_route_host",
    "check_route_path",
    "classify",
    "cut_slot",
    "decode",
    "decode_subscription",
    "escape_segment",
    "flatten_host",
    "locality_slot",
    "locality_slots",
    "source_of",
    "unescape_segment",
    "unflatten_host",
)


@pytest.mark.parametrize("name", ONE_TEXT)
@given(text=st.one_of(odd, st.none(), st.integers(), st.binary(max_size=3)))
def test_engines_agree_on_one_text(name, text):
    assert answer(ENGINES[0], name, text) == answer(ENGINES[1], name, text)


def near_subjects():
    """Texts of about the right shape, each token right or odd."""
    planes = st.sampled_from(["microbus", "p", ""]) | odd
    sources = st.sampled_from(["by_com", "*", "a%2eb", "_"]) | odd
    hosts = st.sampled_from(["example_com", "my%24_xml", "id-x_y", "_"]) | odd
    slots = st.sampled_from(["_", "id-1", "ID-1", "id-A", "loc-us", "*"]) | odd
    requests = st.tuples(
        planes,
        st.sampled_from(["safe", "danger", "reply"]),
        st.sampled_from(["443", "666", "0", "*", "_", "080"]),
        sources,
        hosts,
        slots,
        st.sampled_from(["GET", "*", "ANY", "get"]),
        st.sampled_from(["_", "a.b", "a.*", ">", "%7bx%7d", "%2a", "a%c3%a9", "a%c3"]) | odd,
    )
    replies = st.tuples(
        planes, st.just("reply"), st.sampled_from(["_", "443"]), sources, hosts, slots
    )
    return (requests | replies).map(".".join)


@given(near_subjects())
def test_engines_agree_on_near_subjects(text):
    for name in ("decode", "decode_subscription", "source_of", "classify"):
        assert answer(ENGINES[0], name, text) == answer(ENGINES[1], name, text)


@given(odd, st.one_of(odd, st.integers(), st.booleans()), odd, odd, odd, odd, odd)
def test_engines_agree_on_encoders(plane, port, source, host, method, path, slot):
    every = {
        "plane": plane,
        "port": port,
        "source": source,
        "host": host,
        "method": method,
        "path": path,
        "slot": slot,
    }
    right = {"plane": "p", "port": 1, "source": "a", "host": "h", "method": "GET", "path": "/"}
    for arguments in (every, *({**right, name: value} for name, value in every.items())):
        subscription = {name: value for name, value in arguments.items() if name != "source"}
        for name, named in (
            ("encode_request", arguments),
            ("encode_subscription", subscription),
            (
                "encode_reply",
                {name: arguments[name] for name in ("plane", "source", "host")} | {"id": slot},
            ),
        ):
            assert answer(ENGINES[0], name, **named) == answer(ENGINES[1], name, **named)


urls = st.tuples(
    st.sampled_from(["https:", "HTTP:", "ftp:", "", ":"]),
    st.sampled_from(["//", "", "///"]),
    st.sampled_from(["", "u@", "u:p@"]) | odd,
    st.sampled_from(["a.b", "id-1.a", "loc-u.id-1.x", "[::1]", "[1::2::3]", "%C3%A9"]) | odd,
    st.sampled_from(["", ":", ":80", ":080", ":0"]) | odd,
    st.sampled_from(["", "/", "/a%2Fb", "/{x}", "/%zz"]) | odd,
    st.sampled_from(["", "?x", "#f", "#%"]),
).map("".join)


@given(urls)
def test_engines_agree_on_urls_and_routes(url):
    for name, named in (
        ("request_from_url", {"plane": "p", "source": "a", "method": "GET", "url": url}),
        ("subscription_from_route", {"plane": "p", "host": "h", "method": "GET", "route": url}),
        ("resolve_route", {"host": "h", "route": url}),
    ):
        assert answer(ENGINES[0], name, **named) == answer(ENGINES[1], name, **named)


@pytest.mark.parametrize("size", [1 << 20])
def test_both_engines_refuse_large_text(size):
    for text in ("a" * size, "a." * size, "%" * size, "_" * size, "é" * size):
        for name in ("decode", "decode_subscription", "classify", "check_identity_host"):
            assert answer(ENGINES[0], name, text) == answer(ENGINES[1], name, text)
