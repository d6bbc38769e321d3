"""URLs and routes: what Go's parser admits, and what becomes of it."""

from __future__ import annotations

import pytest

import subtrie
from subtrie import microbus
from subtrie._core.errors import UnheardPort

PREFIX = "microbus.safe.443.by_com."


def request(engine, url: str) -> str:
    return engine.request_from_url(plane="microbus", source="by.com", method="GET", url=url)


def route(engine, text: str, host: str = "example.com") -> str:
    return engine.subscription_from_route(
        plane="microbus", host=host, method="GET", route=text, slot=""
    )


@pytest.mark.parametrize(
    ("url", "rest"),
    [
        pytest.param(
            "https://Example.com/path",
            "example_com._.GET.path",
            id="host-is-folded",
            marks=pytest.mark.requirement("S0-069"),
        ),
        pytest.param(
            "https://id-ABC.example.com/",
            "example_com.id-abc.GET._",
            id="id-label",
            marks=pytest.mark.requirement("S0-055", "S0-091"),
        ),
        pytest.param(
            "https://loc-us-west.x/p",
            "x.loc-us-west.GET.p",
            id="locality-label",
            marks=pytest.mark.requirement("S0-055", "S0-092"),
        ),
        pytest.param(
            "https://id-abc/path",
            "id-abc._.GET.path",
            id="one-label-is-a-host",
            marks=pytest.mark.requirement("S0-055"),
        ),
        pytest.param(
            "https://id-1.all",
            "all.id-1.GET._",
            id="below-all",
            marks=pytest.mark.requirement("S0-055"),
        ),
        pytest.param(
            "https://my$.xml/path",
            "my%24_xml._.GET.path",
            id="special-host",
            marks=pytest.mark.requirement("S0-094"),
        ),
        pytest.param("//h/p", "h._.GET.p", id="no-scheme"),
        pytest.param("ftp://h/p", "h._.GET.p", id="other-scheme"),
        pytest.param("ftp://a:b:443/p", "a%3ab._.GET.p", id="other-scheme-colons"),
        pytest.param(
            "https://h/a%2Fb/c%20d",
            "h._.GET.a.b.c%20d",
            id="escaped-slash-separates",
            marks=pytest.mark.requirement("A14"),
        ),
        pytest.param(
            "https://h/%25",
            "h._.GET.%25",
            id="escaped-percent",
            marks=pytest.mark.requirement("A14"),
        ),
        pytest.param(
            "https://h/caf%C3%A9/é",
            "h._.GET.caf%c3%a9.%c3%a9",
            id="utf8-escaped-and-plain",
            marks=pytest.mark.requirement("S0-066"),
        ),
        pytest.param("https://h/a/../b", "h._.GET.a.%2e%2e.b", id="dot-segments-stay"),
        pytest.param(
            "https://h//x/",
            "h._.GET._.x._",
            id="empty-segments",
            marks=pytest.mark.requirement("A13"),
        ),
        pytest.param(
            "https://h/{foo}/*",
            "h._.GET.%7bfoo%7d.%2a",
            id="braces-and-star-are-data",
            marks=pytest.mark.requirement("S0-070", "S0-071"),
        ),
        pytest.param("https://h/p?x=/y#z/w", "h._.GET.p", id="query-and-fragment"),
        pytest.param("https://h?x", "h._.GET._", id="query-behind-host"),
        pytest.param("https://h/%0A", "h._.GET.%0a", id="escaped-control"),
        pytest.param("https://h#\n", "h._.GET._", id="control-in-fragment"),
        pytest.param("https://u:p%40@h/p", "h._.GET.p", id="user"),
        pytest.param("https://a@b@h/p", "h._.GET.p", id="user-with-at"),
        pytest.param(
            "https://%C3%A9.x/",
            "%c3%a9_x._.GET._",
            id="escaped-host",
            marks=pytest.mark.requirement("A74"),
        ),
        pytest.param(
            "https://É.x/",
            "%c3%a9_x._.GET._",
            id="host-beyond-ascii-is-folded",
            marks=pytest.mark.requirement("A74"),
        ),
        pytest.param(
            "https://a-b_~!$&'()*+,;=<>\"]/",
            "a-b_%7e%21%24%26%27%28%29%2a%2b%2c%3b%3d%3c%3e%22%5d._.GET._",
            id="host-with-every-special-character",
            marks=pytest.mark.requirement("A74"),
        ),
        pytest.param(
            "https://[::1]/",
            "%3a%3a1._.GET._",
            id="ipv6-address",
            marks=pytest.mark.requirement("A74"),
        ),
    ],
)
def test_url(engine, url, rest):
    assert request(engine, url) == PREFIX + rest


@pytest.mark.parametrize(
    ("url", "trust", "port"),
    [
        ("http://h/", "safe", "80"),
        ("HTTP://h", "safe", "80"),
        ("https://h", "safe", "443"),
        ("http://h:443/", "safe", "443"),
        ("https://h:666/mint", "danger", "666"),
        ("https://[::1]:8080/", "safe", "8080"),
        ("https://h:0/", "safe", "0"),
    ],
)
def test_default_ports(engine, url, trust, port):
    assert request(engine, url).tokens[1:3] == (trust, port)


@pytest.mark.parametrize(
    ("url", "reason", "position"),
    [
        pytest.param("", "url-host", 0, id="empty"),
        pytest.param("h/p", "url-host", 0, id="no-host"),
        pytest.param("https://", "url-host", 8, id="nothing-behind"),
        pytest.param("https:///x", "url-host", 8, id="host-empty"),
        pytest.param("///x", "url-host", 0, id="three-slashes"),
        pytest.param("https:h", "url-host", 6, id="opaque"),
        pytest.param("://h/p", "url-host", 0, id="no-scheme"),
        pytest.param("https://:80/", "url-host", 8, id="only-a-port"),
        pytest.param("https://h/`", "url-backtick", 10, id="backtick"),
        pytest.param("https://h/\n", "url-control", 10, id="newline"),
        pytest.param("https://h/\x7f", "url-control", 10, id="delete"),
        pytest.param("https://h/%zz", "url-escape", 10, id="bad-escape"),
        pytest.param("https://u%zz@h/", "url-escape", 9, id="bad-escape-in-user"),
        pytest.param("https://h/%2", "url-escape", 10, id="cut-escape"),
        pytest.param("https://h/#%", "url-escape", 11, id="bad-escape-in-fragment"),
        pytest.param(
            "https://h/%ff", "utf8", 9, id="path-not-utf8", marks=pytest.mark.requirement("A73")
        ),
        pytest.param(
            "https://%ff/", "utf8", 8, id="host-not-utf8", marks=pytest.mark.requirement("A73")
        ),
        pytest.param(
            "https://a b/",
            "host-character",
            9,
            id="host-with-space",
            marks=pytest.mark.requirement("A74"),
        ),
        pytest.param(
            "https://a{b}/",
            "host-character",
            9,
            id="host-with-braces",
            marks=pytest.mark.requirement("A74"),
        ),
        pytest.param(
            "https://a%20b/",
            "host-character",
            9,
            id="host-with-escaped-space",
            marks=pytest.mark.requirement("A74"),
        ),
        pytest.param(
            "https://a%2eb/",
            "host-character",
            9,
            id="host-with-escaped-dot",
            marks=pytest.mark.requirement("A74"),
        ),
        pytest.param(
            "https://a|b/",
            "host-character",
            9,
            id="host-with-bar",
            marks=pytest.mark.requirement("A74"),
        ),
        pytest.param(
            "https://a\\b/",
            "host-character",
            9,
            id="host-with-backslash",
            marks=pytest.mark.requirement("A74"),
        ),
        pytest.param("https://u{@h/", "url-user", 9, id="user"),
        pytest.param("https://a[b/", "url-address", 9, id="bracket-inside"),
        pytest.param("https://[a]/", "url-address", 8, id="no-address"),
        pytest.param("https://[::1]x/", "url-address", 13, id="behind-address"),
        pytest.param(
            "https://h:abc/x",
            "port",
            10,
            id="port-with-letters",
            marks=pytest.mark.requirement("A10"),
        ),
        pytest.param(
            "https://h:/x", "port", 10, id="port-missing", marks=pytest.mark.requirement("A10")
        ),
        pytest.param(
            "https://h:080/",
            "port",
            10,
            id="port-with-leading-zero",
            marks=pytest.mark.requirement("A10"),
        ),
        pytest.param(
            "https://h:65536/",
            "port-range",
            10,
            id="port-out-of-range",
            marks=pytest.mark.requirement("A10"),
        ),
        pytest.param("https://a:b:80/", "port", 10, id="two-colons"),
        pytest.param(
            "https://id-$1.x/",
            "slot",
            None,
            id="id-with-special-character",
            marks=pytest.mark.requirement("A8"),
        ),
        pytest.param(
            "https://loc-.x/",
            "slot",
            None,
            id="locality-empty",
            marks=pytest.mark.requirement("A8"),
        ),
        pytest.param(
            "https://id-1.loc-us.x/",
            "stacked",
            None,
            id="two-slots",
            marks=pytest.mark.requirement("A9"),
        ),
        pytest.param("https://id-1./", "host-empty", None, id="slot-without-host"),
    ],
)
def test_url_refused(engine, url, reason, position):
    with pytest.raises(subtrie.AddressError) as caught:
        request(engine, url)
    error = caught.value
    assert (error.reason, error.position, error.field) == (reason, position, "url")


@pytest.mark.requirement("A10")
def test_url_with_port_zero_warns():
    with pytest.warns(UnheardPort):
        microbus.request_from_url(
            plane="microbus", source="by.com", method="GET", url="http://h:0/"
        )


@pytest.mark.requirement("A37")
def test_long_url(engine):
    with pytest.raises(subtrie.AddressError) as caught:
        request(engine, "https://h/" + "a" * 1024)
    assert (caught.value.reason, caught.value.status) == ("too-long", 414)


@pytest.mark.parametrize(
    ("text", "pattern"),
    [
        ("", "microbus.safe.443.*.example_com._.GET._"),
        ("/", "microbus.safe.443.*.example_com._.GET._"),
        ("/p", "microbus.safe.443.*.example_com._.GET.p"),
        ("p/q", "microbus.safe.443.*.example_com._.GET.p.q"),
        ("a:b", "microbus.safe.443.*.example_com._.GET.a%3ab"),
        (":80", "microbus.safe.80.*.example_com._.GET._"),
        (":80/p", "microbus.safe.80.*.example_com._.GET.p"),
        (":0/p", "microbus.safe.*.*.example_com._.GET.p"),
        (":666/p", "microbus.danger.666.*.example_com._.GET.p"),
        (":417?x=1", "microbus.safe.417.*.example_com._.GET._"),
        ("//Other.Host:0/Path", "microbus.safe.*.*.other_host._.GET.Path"),
        ("//root", "microbus.safe.443.*.root._.GET._"),
        ("//all:888/x", "microbus.safe.888.*.all._.GET.x"),
        ("//my$.xml/x", "microbus.safe.443.*.my%24_xml._.GET.x"),
        ("https://h/p", "microbus.safe.443.*.h._.GET.p"),
        ("http://h/p", "microbus.safe.80.*.h._.GET.p"),
        ("http://h:8080", "microbus.safe.8080.*.h._.GET._"),
        ("/a/{b}/{c...}", "microbus.safe.443.*.example_com._.GET.a.*.>"),
        ("/%C3%A9/a%2Fb?x", "microbus.safe.443.*.example_com._.GET.%c3%a9.a.b"),
        ("/%7Bx%7D", "microbus.safe.443.*.example_com._.GET.*"),
    ],
)
def test_route(engine, text, pattern):
    assert route(engine, text) == pattern


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        pytest.param(
            "//id-x.y/p", "reserved", id="id-label", marks=pytest.mark.requirement("S0-054")
        ),
        pytest.param(
            "//LOC-us/p", "reserved", id="locality-label", marks=pytest.mark.requirement("S0-054")
        ),
        pytest.param(
            "https://x.all", "reserved", id="below-all", marks=pytest.mark.requirement("A21")
        ),
        pytest.param("//a..b", "empty-label", id="two-dots"),
        pytest.param("//.a", "empty-label", id="leading-dot"),
        pytest.param(
            "//{id}/{...}",
            "host-character",
            id="argument-as-host",
            marks=pytest.mark.requirement("A74"),
        ),
        pytest.param(
            "//%20",
            "host-character",
            id="escaped-space-as-host",
            marks=pytest.mark.requirement("A74"),
        ),
        pytest.param("///x", "url-host", id="no-host"),
        pytest.param("x?y=://", "url-host", id="query-that-looks-like-a-url"),
        pytest.param(":x", "port", id="port-with-letters", marks=pytest.mark.requirement("A10")),
        pytest.param(":/x", "port", id="port-missing", marks=pytest.mark.requirement("A10")),
        pytest.param(
            ":080/x", "port", id="port-with-leading-zero", marks=pytest.mark.requirement("A10")
        ),
        pytest.param(
            ":99999", "port-range", id="port-out-of-range", marks=pytest.mark.requirement("A10")
        ),
        pytest.param(":80@evil.com/x", "port", id="port-with-user"),
        pytest.param(
            "/x{a}", "argument", id="text-before-an-argument", marks=pytest.mark.requirement("A15")
        ),
        pytest.param(
            "/{a...}/b",
            "greedy",
            id="greedy-argument-not-last",
            marks=pytest.mark.requirement("S0-086"),
        ),
        pytest.param(
            "/{Name}",
            "argument-name",
            id="argument-name-in-capitals",
            marks=pytest.mark.requirement("A15"),
        ),
        pytest.param("/`", "url-backtick", id="backtick"),
        pytest.param("/%zz", "url-escape", id="bad-escape"),
        pytest.param("/%ff", "utf8", id="path-not-utf8", marks=pytest.mark.requirement("A73")),
        pytest.param("/\t", "url-control", id="control"),
    ],
)
def test_route_refused(engine, text, reason):
    with pytest.raises(subtrie.AddressError) as caught:
        route(engine, text)
    assert (caught.value.reason, caught.value.field) == (reason, "route")


@pytest.mark.requirement("S0-054")
def test_own_host_is_checked_too(engine):
    with pytest.raises(subtrie.AddressError) as caught:
        route(engine, "/p", host="id-x.y")
    assert (caught.value.reason, caught.value.field) == ("reserved", "host")


@pytest.mark.requirement("S0-058")
def test_unknown_method_is_405(engine):
    with pytest.raises(subtrie.AddressError) as caught:
        engine.subscription_from_route(plane="p", host="h", method="PROPFIND", route="/")
    assert (caught.value.field, caught.value.status) == ("method", 405)


def test_a_route_matches_the_subject_of_its_url(engine):
    pattern = route(engine, ":443/caf%C3%A9/{x}", host="h")
    assert engine.matches(pattern, request(engine, "https://h/café/1"))


def test_resolve_route(engine):
    target = engine.resolve_route(host="www.example.com", route="//UPPER.xml/a%20b?x")
    assert target == ("upper.xml", 443, "/a b")
    assert target.port == 443
