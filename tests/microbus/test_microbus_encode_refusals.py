"""Addresses that are not encoded: the reason, the field and the position of each refusal."""

from __future__ import annotations

import pytest

import subtrie
from address_parts import REPLY, REQUEST, SUBSCRIPTION


@pytest.mark.parametrize(
    ("changes", "reason", "field", "position", "status"),
    [
        pytest.param(
            {"plane": ""},
            "plane",
            "plane",
            0,
            400,
            id="plane-empty",
            marks=pytest.mark.requirement("A6"),
        ),
        pytest.param(
            {"plane": "a.b"},
            "plane",
            "plane",
            1,
            400,
            id="plane-with-dot",
            marks=pytest.mark.requirement("S0-016"),
        ),
        pytest.param(
            {"plane": "*"},
            "plane",
            "plane",
            0,
            400,
            id="plane-wildcard",
            marks=pytest.mark.requirement("S0-006"),
        ),
        pytest.param(
            {"plane": "plané"},
            "plane",
            "plane",
            4,
            400,
            id="plane-not-ascii",
            marks=pytest.mark.requirement("S0-016"),
        ),
        pytest.param(
            {"port": "080"},
            "port",
            "port",
            0,
            400,
            id="port-with-leading-zero",
            marks=pytest.mark.requirement("A10"),
        ),
        pytest.param(
            {"port": "+80"},
            "port",
            "port",
            0,
            400,
            id="port-with-sign",
            marks=pytest.mark.requirement("A10"),
        ),
        pytest.param(
            {"port": "8o"},
            "port",
            "port",
            1,
            400,
            id="port-with-letter",
            marks=pytest.mark.requirement("A10"),
        ),
        pytest.param(
            {"port": ""},
            "port",
            "port",
            0,
            400,
            id="port-empty",
            marks=pytest.mark.requirement("A10"),
        ),
        pytest.param(
            {"port": "٨٠"},
            "port",
            "port",
            0,
            400,
            id="port-in-arabic-digits",
            marks=pytest.mark.requirement("A10"),
        ),
        pytest.param(
            {"port": "65536"},
            "port-range",
            "port",
            None,
            400,
            id="port-65536",
            marks=pytest.mark.requirement("A10"),
        ),
        pytest.param(
            {"port": -1},
            "port-range",
            "port",
            None,
            400,
            id="port-negative",
            marks=pytest.mark.requirement("A10"),
        ),
        pytest.param(
            {"port": 10**5000},
            "port-range",
            "port",
            None,
            400,
            id="port-huge",
            marks=pytest.mark.requirement("A10"),
        ),
        pytest.param(
            {"source": ""},
            "host-empty",
            "source",
            0,
            400,
            id="source-empty",
            marks=pytest.mark.requirement("A7"),
        ),
        pytest.param(
            {"source": "a_b"},
            "identity",
            "source",
            1,
            400,
            id="source-with-underscore",
            marks=pytest.mark.requirement("S0-034"),
        ),
        pytest.param(
            {"source": "my$.xml"},
            "identity",
            "source",
            2,
            400,
            id="source-with-special-character",
            marks=pytest.mark.requirement("S0-034"),
        ),
        pytest.param(
            {"source": "\u212aube"},
            "identity",
            "source",
            0,
            400,
            id="source-with-kelvin-sign",
            marks=pytest.mark.requirement("S0-034"),
        ),
        pytest.param(
            {"source": "id-x.y"},
            "reserved",
            "source",
            0,
            400,
            id="source-with-id-label",
            marks=pytest.mark.requirement("S0-053"),
        ),
        pytest.param(
            {"source": "x.ALL"},
            "reserved",
            "source",
            0,
            400,
            id="source-below-all",
            marks=pytest.mark.requirement("A21"),
        ),
        pytest.param(
            {"host": ""},
            "host-empty",
            "host",
            0,
            400,
            id="host-empty",
            marks=pytest.mark.requirement("A74"),
        ),
        pytest.param(
            {"method": "FOO"},
            "method",
            "method",
            0,
            405,
            id="method-unknown",
            marks=pytest.mark.requirement("A12", "S0-058"),
        ),
        pytest.param(
            {"method": "GET "},
            "method",
            "method",
            0,
            405,
            id="method-with-space",
            marks=pytest.mark.requirement("A12"),
        ),
        pytest.param(
            {"method": "G\u0130T"},
            "method",
            "method",
            0,
            405,
            id="method-with-dotted-i",
            marks=pytest.mark.requirement("A12"),
        ),
        pytest.param(
            {"method": "ANY"},
            "method-any",
            "method",
            0,
            405,
            id="method-any",
            marks=pytest.mark.requirement("A11"),
        ),
        pytest.param(
            {"slot": "xyz"},
            "slot",
            "slot",
            0,
            400,
            id="slot-of-another-kind",
            marks=pytest.mark.requirement("A8"),
        ),
        pytest.param(
            {"slot": "_"},
            "slot",
            "slot",
            0,
            400,
            id="slot-placeholder",
            marks=pytest.mark.requirement("A8"),
        ),
        pytest.param(
            {"slot": "*"},
            "slot",
            "slot",
            0,
            400,
            id="slot-wildcard",
            marks=pytest.mark.requirement("S0-011"),
        ),
        pytest.param(
            {"slot": "id-"},
            "slot",
            "slot",
            3,
            400,
            id="slot-id-empty",
            marks=pytest.mark.requirement("A8"),
        ),
        pytest.param(
            {"slot": "id-a-b"},
            "slot",
            "slot",
            4,
            400,
            id="slot-id-with-hyphen",
            marks=pytest.mark.requirement("A8"),
        ),
        pytest.param(
            {"slot": "id-*"},
            "slot",
            "slot",
            3,
            400,
            id="slot-id-wildcard",
            marks=pytest.mark.requirement("A8"),
        ),
        pytest.param(
            {"slot": "loc-us--west"},
            "slot",
            "slot",
            7,
            400,
            id="slot-with-two-hyphens",
            marks=pytest.mark.requirement("A8"),
        ),
        pytest.param(
            {"slot": "loc-us-"},
            "slot",
            "slot",
            7,
            400,
            id="slot-with-trailing-hyphen",
            marks=pytest.mark.requirement("A8"),
        ),
        pytest.param(
            {"slot": "id-1", "host": "LOC-us.x"},
            "stacked",
            "host",
            0,
            400,
            id="two-slots",
            marks=pytest.mark.requirement("A9"),
        ),
        pytest.param(
            {"path": "a\ud800"},
            "surrogate",
            "path",
            1,
            400,
            id="path-with-surrogate",
            marks=pytest.mark.requirement("A73"),
        ),
        pytest.param(
            {"path": "a" * 982},
            "too-long",
            None,
            1024,
            414,
            id="too-long",
            marks=pytest.mark.requirement("A37"),
        ),
        pytest.param(
            {"path": "a/" * 57},
            "too-many-tokens",
            None,
            157,
            414,
            id="too-many-tokens",
            marks=pytest.mark.requirement("A37"),
        ),
    ],
)
def test_request_refused(engine, changes, reason, field, position, status):
    with pytest.raises(subtrie.AddressError) as caught:
        engine.encode_request(**(REQUEST | changes))
    error = caught.value
    assert (error.reason, error.field, error.status) == (reason, field, status)
    assert error.position == position
    assert "\n" not in str(error)


LONG = "n" * 600
#: For each encoder its arguments, and the names of those that may be long.
ENCODERS = {
    "encode_request": (REQUEST, ("path", "slot", "host")),
    "encode_subscription": (
        {name: REQUEST[name] for name in REQUEST if name != "source"}, ("path", "slot", "host"),
    ),
    "encode_reply": ({"plane": "p", "source": "a.b", "host": "c.d", "id": "id-x"}, ("id", "host")),
    "encode_reply_subscription": ({"plane": "p", "host": "c.d", "id": "id-x"}, ("id", "host")),
    "request_from_url": (
        {"plane": "p", "source": "a.b", "method": "GET", "url": "https://c.d"}, ("url",),
    ),
    "subscription_from_route": (
        {"plane": "p", "host": "c.d", "method": "GET", "route": "/x"}, ("route", "slot"),
    ),
}  # fmt: skip


@pytest.mark.parametrize("name", [each for each in ENCODERS if "host" in ENCODERS[each][0]])
def test_an_empty_host_is_refused(engine, name):
    with pytest.raises(subtrie.AddressError) as caught:
        getattr(engine, name)(**ENCODERS[name][0] | {"host": ""})
    assert (caught.value.reason, caught.value.field) == ("host-empty", "host")


@pytest.mark.requirement("A37")
@pytest.mark.parametrize("name", ENCODERS)
def test_an_address_that_is_too_long_shows_its_longest_argument(engine, name):
    """Bug: the message named the host for a long id of a reply, and the path for a slot."""
    arguments, long = ENCODERS[name]
    begins = {
        "path": "/",
        "slot": "id-",
        "id": "id-",
        "url": "https://c.d/",
        "route": "/",
        "host": "c.",
    }
    for field in long:
        for other in {"plane", *long} - {field}:
            longer = {other: "o" * 40, field: LONG * 2}
            given = arguments | {each: begins.get(each, "") + longer[each] for each in longer}
            with pytest.raises(subtrie.AddressError) as caught:
                getattr(engine, name)(**given)
            assert (caught.value.reason, caught.value.field) == ("too-long", None), (field, other)
            assert str(caught.value).startswith(repr(given[field])[:40]), (field, other)


@pytest.mark.parametrize(
    ("path", "reason", "position"),
    [
        pytest.param(
            "/x{a}",
            "argument",
            1,
            id="text-before-an-argument",
            marks=pytest.mark.requirement("A15"),
        ),
        pytest.param(
            "/{a}x",
            "argument",
            1,
            id="text-behind-an-argument",
            marks=pytest.mark.requirement("A15"),
        ),
        pytest.param(
            "/é/{a}{b}",
            "argument",
            4,
            id="two-arguments-in-a-segment",
            marks=pytest.mark.requirement("A15"),
        ),
        pytest.param(
            "/{", "argument", 1, id="brace-not-closed", marks=pytest.mark.requirement("A15")
        ),
        pytest.param(
            "/}{", "argument", 1, id="braces-reversed", marks=pytest.mark.requirement("A15")
        ),
        pytest.param(
            "/{{}", "argument", 1, id="braces-nested", marks=pytest.mark.requirement("A15")
        ),
        pytest.param(
            "/{a...}/b",
            "greedy",
            1,
            id="greedy-not-last",
            marks=pytest.mark.requirement("A15", "S0-063"),
        ),
        pytest.param(
            "/{...}/", "greedy", 1, id="greedy-before-a-slash", marks=pytest.mark.requirement("A15")
        ),
        pytest.param(
            "/{a_b}",
            "argument-name",
            2,
            id="name-with-underscore",
            marks=pytest.mark.requirement("A15"),
        ),
        pytest.param(
            "/{Name}",
            "argument-name",
            2,
            id="name-in-capitals",
            marks=pytest.mark.requirement("A15"),
        ),
        pytest.param(
            "/{1a}",
            "argument-name",
            2,
            id="name-with-leading-digit",
            marks=pytest.mark.requirement("A15"),
        ),
    ],
)
def test_arguments_refused(engine, path, reason, position):
    for function in (
        lambda: engine.encode_subscription(**(SUBSCRIPTION | {"path": path})),
        lambda: engine.check_route_path(path),
    ):
        with pytest.raises(subtrie.AddressError) as caught:
            function()
        error = caught.value
        assert (error.reason, error.position, error.field) == (reason, position, "path")


@pytest.mark.requirement("A8")
@pytest.mark.parametrize("id", ["", "1234", "loc-us", "id-", "id-a_b", "id-a.b", "id->"])
def test_id_of_a_reply(engine, id):
    with pytest.raises(subtrie.AddressError) as caught:
        engine.encode_reply(**(REPLY | {"id": id}))
    assert (caught.value.reason, caught.value.field) == ("slot", "id")


@pytest.mark.parametrize("field", [*REQUEST, "slot"])
def test_wrong_type_names_the_argument(engine, field):
    for wrong in (None, b"x", 1.5, True):
        with pytest.raises(TypeError, match=rf"^{field} must be "):
            engine.encode_request(**(REQUEST | {field: wrong}))


def test_the_first_invalid_argument_is_reported(engine):
    with pytest.raises(subtrie.AddressError) as caught:
        engine.encode_request(**(REQUEST | {"plane": "", "port": "x", "host": ""}))
    assert caught.value.field == "plane"
