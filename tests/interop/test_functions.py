"""A live peer: functions with every shape of arguments and results, called both ways."""

from __future__ import annotations

import json
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest

from examples.interop.functions import Item, Kept, Kinds, Lookup, Mixed, Stored, calls
from examples.interop.peer import service
from tests.interop.peer_process import HIS, OURS, PeerService, function, joined

TEA = Item("tea", 7)
AT = datetime(2026, 1, 2, 3, 4, 5, 600_000, tzinfo=UTC)
NEVER = datetime(1, 1, 1, tzinfo=UTC)
WAIT = timedelta(seconds=1.5)
KINDS = Kinds(AT, WAIT, b"\x00\xff", ["a", "b"], {"ann": 3}, [TEA, Item()], TEA)

#: Name, arguments, and the result that a typed client returns.
CALLS: list[tuple[str, dict[str, Any], Any]] = [
    ("one", {"item": TEA}, TEA),
    ("one", {"item": Item()}, Item()),
    ("join", {"first": Item("a", 1), "second": Item("b", 2)}, Item("ab", 3)),
    ("mixed", {"count": 4, "item": TEA}, Mixed(4, TEA)),
    ("mixed", {"count": 0, "item": Item()}, Mixed(0, Item())),
    (
        "lookup",
        {"item": TEA, "limit": 3, "at": AT, "wait": WAIT},
        Lookup(TEA, 3, AT, WAIT),
    ),
    (
        "lookup",
        {"item": Item("x", 0), "limit": 0, "at": NEVER, "wait": timedelta(0)},
        Lookup(Item("x", 0), 0, NEVER, timedelta(0)),
    ),
    ("kinds", vars(KINDS), KINDS),
    (
        "kinds",
        vars(Kinds(NEVER, timedelta(0), b"")),
        Kinds(NEVER, timedelta(0), b""),
    ),
    ("keep", {"key": "a b", "item": TEA}, Kept("a b", TEA)),
    (
        "store",
        {"key": "k", "http_request_body": TEA, "dry": False},
        Stored(Item("ktea", 7), 201),
    ),
    ("store", {"key": "k", "http_request_body": TEA, "dry": True}, Stored(Item("ktea", 7), 202)),
    ("double", {"n": 21}, 42),
    ("double", {"n": 0}, 0),
    ("names", {}, ["a", "b"]),
    ("list", {"l": [3, 0, 5]}, [3, 0, 5]),
    ("list", {"l": []}, []),
]


@pytest.mark.requirement("A80")
async def test_our_typed_calls_of_every_shape_reach_the_peer_and_return(server):
    ours = joined(server)
    async with PeerService(server.url), ours:
        functions = calls(HIS)
        for name, arguments, expected in CALLS:
            assert await functions[name](ours, **arguments) == expected, name


#: Name, arguments as JSON, and the named results without their zeros.
ASKED: list[tuple[str, dict[str, Any], dict[str, Any]]] = [
    ("one", {"item": {"name": "tea", "number": 7}}, {"item": {"name": "tea", "number": 7}}),
    ("one", {}, {}),
    (
        "mixed",
        {"count": 4, "item": {"name": "tea"}},
        {"count": 4, "item": {"name": "tea"}},
    ),
    ("mixed", {"item": {"number": 2}}, {"item": {"number": 2}}),
    (
        "lookup",
        {"item": {"name": "tea", "number": 7}, "limit": 3, "at": "2026-01-02T03:04:05.6Z"},
        {"item": {"name": "tea", "number": 7}, "limit": 3, "at": "2026-01-02T03:04:05.6Z"},
    ),
    ("lookup", {"wait": 1_500_000_000}, {"wait": 1_500_000_000}),
    (
        "kinds",
        {
            "at": "2026-01-02T03:04:05.123456+05:30",
            "wait": 1000,
            "raw": "AP8=",
            "names": ["a"],
            "ages": {"ann": 3},
            "items": [{"name": "tea"}, {"number": 1}],
            "other": {"name": "cup"},
        },
        {
            "at": "2026-01-02T03:04:05.123456+05:30",
            "wait": 1000,
            "raw": "AP8=",
            "names": ["a"],
            "ages": {"ann": 3},
            "items": [{"name": "tea"}, {"number": 1}],
            "other": {"name": "cup"},
        },
    ),
    ("kinds", {"other": None}, {}),
    (
        "keep",
        {"key": "k", "item": {"name": "tea"}},
        {"key": "k", "item": {"name": "tea"}},
    ),
    (
        "store",
        {"key": "k", "dry": True, "httpRequestBody": {"name": "tea"}},
        {"httpResponseBody": {"name": "ktea"}, "httpStatusCode": 202},
    ),
    ("double", {"n": 21}, {"result": 42}),
    ("names", {}, {"httpResponseBody": ["a", "b"]}),
]


def without_zeros(value: Any) -> Any:
    """Return a result without what Go omits, at every depth of objects."""
    if isinstance(value, dict):
        kept = {name: without_zeros(each) for name, each in value.items()}
        zeros = ("", 0, None, [], {}, "0001-01-01T00:00:00Z")
        return {name: each for name, each in kept.items() if each not in zeros}
    return [without_zeros(each) for each in value] if isinstance(value, list) else value


@pytest.mark.requirement("A80")
async def test_the_typed_calls_of_the_peer_of_every_shape_reach_us_and_return(server):
    ours = joined(server)
    service(ours)
    async with ours:
        for name, arguments, expected in ASKED:
            given = arguments
            if name == "kinds" and "at" not in arguments:
                given = {"at": "0001-01-01T00:00:00Z", **arguments}
            told = await function(server.url, OURS, name, given)
            assert told["error"] == "", (name, told)
            assert without_zeros(told["result"]) == expected, json.dumps(told)
