"""The smaller parts of a connector alone, at either side of each of their limits."""

from __future__ import annotations

import pytest

from subtrie._core import control_headers
from subtrie.connector import HTTPError, RateLimiter, Request, RequestTimeout, _routing, _settings
from subtrie.connector._broker import connection
from subtrie.connector._fragments import Reassembler, cut
from subtrie.connector._identity import request_address, return_subject, url_at
from subtrie.connector._limits import too_long
from subtrie.connector._records import RecordRate
from subtrie.connector._routing import KnownResponders, NearestReplicas
from subtrie.connector._settings import shown_url

HOST = "shop.example"
KEY = ("web.example", "id-1", "AAAAAAAA")


def part(size: int) -> Request:
    return Request("POST", "x", body=b"x" * size)


def reassembler(**limits) -> Reassembler:
    return Reassembler(**{"max_body": 10, "max_fragments": 4, "silence": 1.0, **limits})


def refusal(call, *arguments, **more) -> int:
    """Return the status of the error of a call; 0 if there is none."""
    try:
        call(*arguments, **more)
    except HTTPError as error:
        return error.status
    return 0


# --- fragments


@pytest.mark.parametrize(("count", "status"), [(1, 0), (4, 0), (5, 413)])
def test_as_many_fragments_as_the_limit(count, status):
    held = reassembler()
    assert refusal(held.begin, KEY, count, now=0, ends=9) == status
    assert (len(held), held.ended(KEY)) == ((0, True) if status else (1, False))


@pytest.mark.parametrize(
    ("index", "count", "status"),
    [(0, 3, 400), (-1, 3, 400), (1, 3, 400), (2, 3, 0), (3, 3, 0), (4, 3, 400), (2, 2, 400),
     (2, 4, 400)],
)  # fmt: skip
def test_a_fragment_fits_once_and_between_the_first_and_the_last(index, count, status):
    held = reassembler()
    held.begin(KEY, 3, now=0, ends=9)
    held.add(KEY, 1, 3, Request("POST", "x", headers={"Microbus-Fragment": "1/3"}), now=0)
    assert refusal(held.add, KEY, index, count, part(1), now=0) == status
    assert (KEY in held) is not bool(status)
    with pytest.raises(RequestTimeout):
        held.add(("web.example", "id-1", "other"), 1, 3, part(1), now=0)


@pytest.mark.parametrize(("size", "status"), [(5, 0), (6, 413)])
def test_a_body_of_fragments_has_the_limit_of_any_body(size, status):
    held = reassembler()
    held.begin(KEY, 2, now=0, ends=9)
    first = Request("POST", "x", body=b"12345", headers={"Microbus-Fragment": "1/2"})
    held.add(KEY, 1, 2, first, now=0)
    assert refusal(held.add, KEY, 2, 2, part(size), now=0) == status
    if not status:
        assert first.body == b"12345" + b"x" * size
        assert control_headers.FRAGMENT not in first.headers
    assert (len(held), held._size, held._places, held._bytes) == (0, 0, {}, {})


@pytest.mark.parametrize(
    ("now", "ends", "late"),
    [(1.0, 9, False), (1.001, 9, True), (1.0, 1.0, False), (1.0, 0.999, True)],
)
def test_a_transfer_is_late_after_its_silence_or_its_end(now, ends, late):
    told: list[HTTPError] = []
    held = reassembler()
    held.begin(KEY, 2, now=0, ends=ends, given_up=told.append)
    assert held.overdue(now) == ([KEY] if late else [])
    assert [error.status for error in told] == ([408] if late else [])


@pytest.mark.parametrize(("now", "late"), [(5.0, False), (5.001, True)])
def test_a_transfer_may_be_silent_five_times_as_long_while_its_instance_sends(now, late):
    held, other = reassembler(), (*KEY[:2], "BBBBBBBB")
    held.begin(KEY, 2, now=0, ends=99)
    held.begin(other, 4, now=4.5, ends=99)
    assert held.overdue(now) == ([KEY] if late else [])


@pytest.mark.parametrize("sizes", [(10,) * 8, (10,) * 8 + (1,)])
def test_all_open_transfers_hold_eight_bodies(sizes):
    held = reassembler()
    for number, size in enumerate(sizes):
        key = ("web.example", "id-1", str(number))
        held.begin(key, 2, now=0, ends=9)
        if number < 8:
            held.add(key, 1, 2, part(size), now=0)
        else:
            with pytest.raises(HTTPError, match="too many bytes") as refused:
                held.add(key, 1, 2, part(size), now=0)
            assert refused.value.status == 503
    assert len(held) == 8


def test_the_oldest_transfer_is_displaced_whatever_text_names_its_source():
    held, told = reassembler(), []
    names = ["".join(["evil.", "example"]) for _ in range(1025)]
    for number, name in enumerate(names[:1024]):
        key = (name, "id-1", str(number))
        held.begin(key, 2, now=0, ends=9, given_up=lambda error, n=number: told.append(n))
    held._end((names[0], "id-1", "0"))
    held.begin((names[1024], "id-1", "1024"), 2, now=0, ends=9)
    assert told == []
    held.begin(KEY, 2, now=0, ends=9)
    assert (told, KEY in held, len(held)) == ([1], True, 1024)


@pytest.mark.parametrize(
    ("size", "parts"), [(0, [0]), (9, [9]), (10, [10]), (11, [10, 1]), (20, [10, 10])]
)
def test_a_body_is_cut_at_the_size_of_a_part(size, parts):
    assert [len(each) for each in cut(b"x" * size, 10)] == parts


# --- routing


def test_a_nearer_locality_alone_changes_what_is_known():
    now = [0.0]
    near = NearestReplicas("us-west-b-1", clock=lambda: now[0])
    key = ("GET", "u")
    for told, known in (
        ("eu", ""), ("us", "us"), ("us-east", "us"), ("us-west", "us-west"), ("us", "us-west"),
        ("us-west-b-2", "us-west-b"), ("us-west-b", "us-west-b"), ("NOT VALID TEXT", "us-west-b"),
    ):  # fmt: skip
        near.learn(key, told)
        assert near.nearest(key) == known, told
    now[0] = 86_400.0
    assert near.nearest(key) == "us-west-b"
    now[0] = 86_400.5
    assert near.nearest(key) == ""
    near.learn(key, "us")
    assert near.nearest(key) == "us"
    near.forget(key)
    near.forget(key)
    assert near.nearest(key) == ""


def test_what_was_used_last_is_remembered(monkeypatch):
    monkeypatch.setattr(_routing, "_KEPT", 2)
    near, known = NearestReplicas("us", clock=lambda: 0.0), KnownResponders()
    for name in ("a", "b", "a", "c"):
        near.learn(("GET", name), "us")
        assert near.nearest(("GET", name)) == "us"
        known.keep(name, frozenset({name}))
    assert [near.nearest(("GET", name)) for name in "abc"] == ["us", "", "us"]
    assert [bool(known.get(name)) for name in "abc"] == [True, False, True]


def test_the_responders_of_a_host_alone_are_forgotten():
    known = KnownResponders()
    subjects = {
        host: f"p.safe.443.web_example.{token}._.GET.web_example.other_example"
        for host, token in (("shop.example", "shop_example"), ("a.b.example", "a_b_example"))
    }
    for host, subject in subjects.items():
        known.keep(subject, frozenset({host}))
    known.drop_hosts({"", "web.example", "other.example"})
    assert all(known.get(subject) for subject in subjects.values())
    known.drop_hosts({"shop.example"})
    assert [bool(known.get(subject)) for subject in subjects.values()] == [False, True]


# --- settings


@pytest.mark.parametrize(
    ("text", "short"),
    [("", True), ("1", True), ("true", True), ("0", False), ("false", False), ("FALSE", False),
     ("00", True)],
)  # fmt: skip
def test_the_short_circuit_is_on_unless_it_is_switched_off(monkeypatch, text, short):
    monkeypatch.setenv("MICROBUS_SHORT_CIRCUIT", text)
    assert _settings.short_circuit(None) is short
    assert (_settings.short_circuit(True), _settings.short_circuit(False)) == (True, False)


@pytest.mark.parametrize(
    ("text", "debug"), [("", False), ("0", False), ("False", False), ("1", True), ("yes", True)]
)
def test_debug_records_are_written_if_they_are_asked_for(monkeypatch, text, debug):
    monkeypatch.setenv("MICROBUS_LOG_DEBUG", text)
    assert _settings.debugging() is debug


@pytest.mark.parametrize(
    ("given", "url", "found"),
    [("lab", None, "LAB"), ("PROD", None, "PROD"), (None, "nats://127.0.0.1:4222", "LOCAL"),
     (None, "nats://localhost:1", "LOCAL"), (None, "nats://0.0.0.0:1", "LOCAL"),
     (None, "", "LOCAL"),
     (None, "nats://10.0.0.1:4222", "PROD"), (None, "nats://localhost.example:1", "PROD")],
)  # fmt: skip
def test_the_deployment_follows_the_broker(monkeypatch, given, url, found):
    monkeypatch.setattr(_settings, "under_test", lambda: False)
    assert _settings.deployment(given, url) == found
    with pytest.raises(ValueError, match="deployment must be one of"):
        _settings.deployment("STAGE")


@pytest.mark.parametrize(("text", "seconds"), [("", 7), ("0s", 7), ("-1s", 7), ("250ms", 0.25)])
def test_a_budget_of_no_time_is_the_usual_one(monkeypatch, text, seconds):
    monkeypatch.setenv("MICROBUS_STARTUP_TIME_BUDGET", text)
    assert _settings.budget("MICROBUS_STARTUP_TIME_BUDGET", 7) == seconds


@pytest.mark.parametrize(
    ("url", "shown"),
    [("nats://ann:secret@a.example:1", "nats://a.example:1"), ("a.example", "a.example"),
     ("token@a.example", "a.example"), (" tls://a@b@c ", "tls://c")],
)  # fmt: skip
def test_a_url_is_shown_without_what_is_secret(url, shown):
    assert shown_url(url) == shown


def test_the_times_of_a_connection():
    assert (connection.CONNECT_LIMIT, connection.HANDSHAKE_LIMIT) == (5.0, 5.0)
    assert (connection.PING_INTERVAL, connection.STEADY_AFTER) == (30.0, 5.0)
    assert (connection.FIRST_WAIT, connection.LONGEST_WAIT) == (0.25, 4.0)


# --- rates


@pytest.mark.parametrize(
    ("rate", "burst", "admitted"),
    [(0.5, None, 1), (1, None, 1), (3, None, 3), (1, 1, 1), (1, 2, 2),
     (5, 2, 2), (2.5, None, 2)],
)  # fmt: skip
def test_the_burst_is_the_rate_and_at_least_one(rate, burst, admitted):
    limiter = RateLimiter(rate, burst=burst, clock=lambda: 0.0)
    assert [limiter.admit("a") == 0 for _ in range(admitted + 1)] == [True] * admitted + [False]


async def test_a_caller_is_told_when_to_come_again():
    async def answer(request):
        return "answered"

    now = [0.0]
    limiter = RateLimiter(0.75, clock=lambda: now[0])
    assert await limiter(Request("GET", "x"), answer) == "answered"
    with pytest.raises(HTTPError) as refused:
        await limiter(Request("GET", "x"), answer)
    assert (refused.value.status, refused.value.properties) == (429, {"retryAfter": 1.333})
    now[0] = 1 / 0.75
    assert await limiter(Request("GET", "x"), answer) == "answered"


def test_a_period_of_records_begins_anew_when_it_is_over():
    now = [0.0]
    rate = RecordRate(2, 10.0, clock=lambda: now[0])
    assert [rate.admits() for _ in range(3)] == [True, True, False]
    now[0] = 9.999
    assert not rate.admits()
    assert rate.left_out() == " (2 more were not logged)"
    now[0] = 10.0
    assert [rate.admits() for _ in range(3)] == [True, True, False]
    assert rate.left_out() == " (1 more were not logged)"
    assert rate.left_out() == ""


# --- identity


@pytest.mark.parametrize(("size", "valid"), [(4, True), (128, True), (129, False)])
def test_the_id_of_an_instance_has_at_most_128_characters(size, valid):
    subject = return_subject("p", HOST, "web.example", f"id-{'x' * size}"[:size])
    assert (subject is not None) is valid


@pytest.mark.parametrize(
    ("url", "kept"),
    [("https://shop.example:443/a%2Fb", True), ("https://SHOP.example:443/a%2Fb", True),
     ("https://shop.example:444/a%2Fb", False), ("https://shop.example/a%2Fb", False),
     ("https://other.example:443/a%2Fb", False), ("https://id-1.shop.example:443/a", True)],
)  # fmt: skip
def test_a_url_is_kept_if_it_names_the_host_and_the_port_of_the_subject(url, kept):
    address = request_address("p.safe.443.web_example.shop_example._.GET.a%2fb")
    if address is None:
        address = request_address("p.safe.443.web_example.shop_example._.GET.a")
    assert address is not None
    given = url_at(address, url, "q=1")
    assert given == url if kept else given.endswith("?q=1") and "//shop.example:443/" in given


def test_a_short_control_header_is_of_no_concern():
    assert too_long({"X": ["y" * 100_000]}) == ""
    assert too_long({"Microbus-Queue": ["y" * 255]}) == ""
    assert too_long({"Microbus-Queue": ["y" * 256]}) == "Microbus-Queue"


@pytest.mark.parametrize(
    ("text", "number"),
    [("0", 0), ("7", 7), ("999999999", 999_999_999), ("1000000000", 0), ("-1", 0), ("x", 0),
     ("", 0), ("\u0663", 0)],
)  # fmt: skip
def test_a_count_has_at_most_nine_digits(text, number):
    assert control_headers.number_of(text) == number


@pytest.mark.parametrize(
    ("text", "numbers"),
    [("2/3", (2, 3)), ("0/0", (0, 0)), ("-1/3", (-1, 3)), ("2", (1, 1)), ("2/3/4", (1, 1)),
     ("9" * 18 + "/1", (10**18 - 1, 1)), ("9" * 19 + "/1", (1, 1)), ("", (1, 1))],
)  # fmt: skip
def test_a_fragment_is_two_numbers(text, numbers):
    assert control_headers.fragment_of(text) == numbers
