"""URLs with their port, targets of requests, and addresses created without ``__init__``."""

from __future__ import annotations

import dataclasses
import gc
import pickle
import subprocess
import sys

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

import subtrie
import subtrie._subtrie
import subtrie.reference
from subtrie import microbus


@pytest.mark.parametrize(
    ("url", "parts"),
    [
        ("https://a.b", ("https://a.b:443/", "https", "a.b", "443", "/", "")),
        ("http://a.b?x", ("http://a.b:80/?x", "http", "a.b", "80", "/", "x")),
        ("//a.b/c?#f", ("https://a.b:443/c?", "https", "a.b", "443", "/c", "")),
        ("X+1.-://u:p@a:1/c", ("x+1.-://a:1/c", "x+1.-", "a", "1", "/c", "")),
        ("https://a:b/c", ("https://a:b:443/c", "https", "a:b", "443", "/c", "")),
        ("https://a:/c", ("https://a::443/c", "https", "a:", "443", "/c", "")),
        ("https://a#?/c", ("https://a:443/", "https", "a", "443", "/", "")),
        ("https://a/p q", ("https://a:443/p%20q", "https", "a", "443", "/p%20q", "")),
        ("https://a/%2f%zz!", ("https://a:443/%2f%zz!", "https", "a", "443", "/%2f%zz!", "")),
        ("https://a/é%2f!", ("https://a:443/%C3%A9/%21", "https", "a", "443", "/%C3%A9/%21", "")),
        ("https://a/?é x", ("https://a:443/?é%20x", "https", "a", "443", "/", "é%20x")),
        ("https://a\n/?\x7f", ("https://a\n:443/?%7F", "https", "a\n", "443", "/", "%7F")),
    ],
)
def test_a_url_gets_its_port(engine, url, parts):
    assert engine.absolute_url(url) == parts


@pytest.mark.parametrize("url", ["", "a.b", "/a", "https:/a", "https:///a", "1a://b", ":80", "//"])
def test_a_url_without_a_host_is_refused(engine, url):
    for call in (
        lambda: engine.absolute_url(url),
        lambda: engine.request_target(plane="p", source="a", method="GET", url=url),
    ):
        with pytest.raises(subtrie.AddressError) as refused:
            call()
        assert (refused.value.reason, refused.value.field) == ("url-host", "url")


def test_the_target_of_a_request(engine):
    target = engine.request_target(
        plane="p", source="Web.shop", method="get", url="//id-7.orders.shop/by%20name?x=1"
    )
    assert target == (
        "https://id-7.orders.shop:443/by%20name?x=1",
        "https",
        "id-7.orders.shop",
        "443",
        "/by%20name",
        "x=1",
        "/by name",
        "p.safe.443.web_shop.orders_shop.id-7.GET.by%20name",
    )
    assert type(target[-1]) is subtrie.Subject


def test_the_targets_of_a_sender(engine):
    targets = engine.RequestTargets(plane="p", source="Web.shop")
    for url in (
        "https://orders.shop/order/1?x=1",
        "https://orders.shop/order/1?x=1",
        "http://orders.shop:8080/a-B/c",
        "https://id-7.orders.shop/by%20name?x=1",
        "https://orders.shop:666/x",
        "https://orders.shop",
    ):
        asked = {"plane": "p", "source": "Web.shop", "method": "GET", "url": url}
        assert targets("GET", url) == engine.request_target(**asked)
    assert targets("PUT", "https://orders.shop/order/1?x=1")[-1].endswith(".PUT.order.1")
    with pytest.raises(subtrie.AddressError) as refused:
        engine.RequestTargets(plane="p-", source="a")
    assert refused.value.field == "plane"


def outcome(call):
    try:
        return call()
    except subtrie.AddressError as error:
        return error.reason, error.field, error.position, str(error)


_TARGETS = subtrie._subtrie.RequestTargets(plane="p", source="a")
_SLOW = subtrie.reference.RequestTargets(plane="p", source="a")


@pytest.mark.parametrize(
    ("url", "params", "text"),
    [
        ("https://a.b/c?y=2#f", {"x": 1}, "/c?y=2&x=1"),
        ("https://a.b/c", {"t": True, "n": None, "l": [1, None, "z"]}, "/c?t=true&l=1&l=z"),
        ("https://a.b/c", {"t": (1, None, "z"), "e": (), "f": False}, "/c?t=1&t=z&f=false"),
        ("https://a.b/c", [("é&", "a b+"), ("x", "~-_.%")], "/c?%C3%A9%26=a+b%2B&x=~-_.%25"),
        ("https://a.b/{i}/{r...}", {"i": "x/y", "r": "p/q r", "n": 1}, "/x%2Fy/p/q%20r?n=1"),
        ("https://a.b/{}/{...}/{i}?path2=v%2Fw&path1=%e9A+&i=1&i=2", None, "/%EF%BF%BDA%20/v/w/2"),
        ("https://a.b/{x}/{y...}?z=1&b&a=%zz&&a=", {}, "//?a=%25zz&a=&b=&z=1"),
        ("https://a.b/{x}{y}/{z", {"x": "é{"}, "//%7Bz?x=%C3%A9%7B"),
    ],
)  # fmt: skip
def test_the_parameters_of_a_request(engine, url, params, text):
    targets = engine.RequestTargets(plane="p", source="a")
    for _ in range(2):
        assert targets("GET", url, params)[0] == f"https://a.b:443{text}"


@pytest.mark.parametrize(
    ("params", "raised"),
    [
        (7, TypeError),
        ([7], TypeError),
        ([("a", 1, 2)], ValueError),
        ({7: 1}, TypeError),
        ({"\ud800": 1}, subtrie.AddressError),
        ({"a": "\ud800"}, subtrie.AddressError),
    ],
)
def test_parameters_that_are_refused(engine, params, raised):
    targets = engine.RequestTargets(plane="p", source="a")
    with pytest.raises(raised):
        targets("GET", "https://a.b/{a}", params)


def test_the_error_shows_the_url_with_its_parameters(engine):
    targets = engine.RequestTargets(plane="p", source="a")
    with pytest.raises(subtrie.AddressError, match="x=1"):
        targets("GET", "https:///{id}", {"id": "", "x": 1})


@given(
    st.text("{}.a/?&=+%2é#", max_size=16),
    st.lists(st.tuples(st.sampled_from(["a", "path1", "é ", ""]), st.text(max_size=6)), max_size=3),
)
@settings(max_examples=500)
@example("{a}?a=%F0%9Fé&a=%f0%9f%92%A9+%", [])
@example("{}?path1=%C3&%C3=1&é=2", [("a", "/")])
def test_both_engines_add_parameters_alike(rest, params):
    given = (params, dict(params), None) if params else (None,)
    for each in given:
        native = outcome(lambda each=each: _TARGETS("GET", f"https://a.b/{rest}", each))
        assert native == outcome(lambda each=each: _SLOW("GET", f"https://a.b/{rest}", each))


URLS = st.one_of(
    st.text(max_size=30),
    st.builds(
        "{}{}{}{}{}".format,
        st.sampled_from(["https:", "http:", "", "H:", "1:", ":"]),
        st.sampled_from(["//", "/", "///"]),
        st.text("aB.:@[]%é1", max_size=9),
        st.text("/aé%2fF!{ }\n.", max_size=9),
        st.text("?#&=é %", max_size=6),
    ),
    st.from_regex(
        r"https?://(id-)?[a-z0-9.-]{1,9}(:[0-9]{1,5})?(/[-A-Za-z0-9]{0,3}){0,4}[?#`x]{0,3}"
    ),
)


@given(URLS)
@settings(max_examples=600)
@example("https://a/\ud800")
@example("https://a:0443/")
@example("https://a:0443/x")
def test_both_engines_read_a_url_alike(url):
    native, reference = subtrie._subtrie, subtrie.reference
    assert outcome(lambda: native.absolute_url(url)) == outcome(lambda: reference.absolute_url(url))
    asked = {"plane": "p", "source": "a", "method": "GET", "url": url}
    answer = outcome(lambda: native.request_target(**asked))
    assert answer == outcome(lambda: reference.request_target(**asked))
    of_sender = outcome(lambda: _TARGETS("GET", url))
    assert of_sender == outcome(lambda: _SLOW("GET", url))
    assert of_sender == answer or "{" in url, "path arguments in braces are filled"
    if len(answer) == 8:
        assert answer[-1] == native.request_from_url(**{**asked, "url": answer[0]})


ADDRESSES = [
    (
        "decode",
        "p.safe.80.web_shop.orders_shop.id-7.GET.a._",
        microbus.RequestAddress("p", "safe", 80, "web.shop", "orders.shop", "id-7", "GET", "/a/"),
    ),
    (
        "decode",
        "p.reply._.orders_shop.web_shop.id-7",
        microbus.ReplyAddress("p", "orders.shop", "web.shop", "id-7"),
    ),
    (
        "decode_subscription",
        "p.safe.*.*.orders_shop._.*.a.>",
        microbus.SubscriptionAddress("p", "safe", None, "orders.shop", "", None, "/a/{...}"),
    ),
]


@pytest.mark.parametrize(("function", "text", "made"), ADDRESSES)
def test_a_decoded_address_is_the_dataclass(engine, function, text, made):
    decoded = getattr(engine, function)(text)
    assert type(decoded) is type(made)
    assert (decoded, hash(decoded), repr(decoded)) == (made, hash(made), repr(made))
    assert str(decoded) == text
    names = [field.name for field in dataclasses.fields(decoded)]
    values = {name: getattr(decoded, name) for name in names}
    assert values == dataclasses.asdict(made)
    assert {name: type(value) for name, value in values.items()} == {
        name: type(getattr(made, name)) for name in names
    }
    assert dataclasses.replace(decoded, host="x") == dataclasses.replace(made, host="x")
    assert decoded.replace(host="x") == made.replace(host="x")
    for protocol in range(2, pickle.HIGHEST_PROTOCOL + 1):
        assert pickle.loads(pickle.dumps(decoded, protocol)) == made
    with pytest.raises(dataclasses.FrozenInstanceError):
        decoded.host = "x"
    with pytest.raises(AttributeError):
        decoded.__dict__  # noqa: B018


def test_objects_created_without_init_are_freed():
    native = subtrie._subtrie

    def use() -> None:
        for number in range(1000):
            address = native.decode(f"p.safe.1{number}.a_b.c_d._.PUT.x.{number}")
            assert native.decode(f"p.reply._.a.b.id-{number}").id == f"id-{number}"
            native.decode_subscription(f"p.safe.1{number}.*.c_d._.PUT.x.{number}")
            subject = native.encode_request(
                plane="p", port=1, source="a", host=f"b{number}", method="PUT", path=address.path
            )
            assert subject.dialect == "strict"
            native.encode_subscription(
                plane="p", port=1, host=f"b{number}", method="PUT", path=address.path
            )

    use()
    gc.collect()
    before = sys.getallocatedblocks()
    use()
    gc.collect()
    assert sys.getallocatedblocks() - before < 200  # one leaked object a call would be 1,000


def test_a_class_without_the_slots_is_refused():
    program = (
        "import subtrie._core.address as module\n"
        "class RequestAddress: __slots__ = ('plane',)\n"
        "module.RequestAddress = RequestAddress\n"
        "import subtrie._subtrie as native\n"
        "try:\n"
        "    native.decode('p.safe.80.a.b._.GET.c')\n"
        "except (AttributeError, TypeError) as error:\n"
        "    print(type(error).__name__)\n"
    )
    run = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True)
    assert (run.stdout.strip(), run.stderr) == ("AttributeError", "")
