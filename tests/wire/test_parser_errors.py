"""Errors of the parser and of the broker: reason, offset, state, and whether they close."""

from __future__ import annotations

import pickle

import pytest

from subtrie import WireError
from subtrie.wire import ServerError


def test_an_error_has_the_complete_operations_and_the_offset_to_resume(engine):
    parser = engine.Parser("client")
    parser.feed(b"PING\r\nPO")
    with pytest.raises(WireError) as caught:
        parser.feed(b"NG\r\nSUB a 1\r\nPUB a x\r\nPING\r\n")
    error = caught.value
    assert [op.op for op in error.operations] == ["PONG", "SUB"]
    assert (error.reason, error.cause, error.state) == ("bad size", "bad size", "arguments")
    assert (error.position, error.resume) == (27, 21)
    assert "byte 27" in str(error)
    assert not parser.complete
    with pytest.raises(WireError) as again:
        parser.feed(b"PING\r\n")
    assert (again.value.position, again.value.operations) == (27, [])
    copy = pickle.loads(pickle.dumps(error))
    assert (copy.reason, copy.resume) == ("bad size", 21)
    assert [op.raw for op in copy.operations] == [op.raw for op in error.operations]


@pytest.mark.parametrize(
    ("stream", "state"),
    [
        (b"XYZ", "name"),
        (b"PUBx", "name"),
        pytest.param(b"PUB" + b" " * 5_000, "arguments", id="blanks"),
        pytest.param(b"PUB " + b"a" * 5_000, "arguments", id="long"),
        (b"PUB a\r\n", "arguments"),
        (b"PUB a 1\r\nxx", "payload"),
    ],
)
def test_an_error_has_the_state_of_the_parser(engine, stream, state):
    with pytest.raises(WireError) as caught:
        engine.Parser("client").feed(stream)
    assert caught.value.state == state


@pytest.mark.parametrize("name", [b"PING", b"PONG", b"+OK"])
def test_the_place_of_text_after_an_operation_without_arguments_is_told(engine, name):
    conn = "server_to_client" if name == b"+OK" else "client"
    for between, text in ((b"", b"x"), (b" ", b"x y"), (b" \t ", b"x\t")):
        with pytest.raises(WireError) as caught:
            engine.Parser(conn, dialect="strict").feed(name + between + text + b"\r\n")
        found = (caught.value.cause, caught.value.position, caught.value.state)
        assert found == ("no delimiter", len(name + between), "name")


def test_client_side_errors_have_the_reason_parse(engine):
    with pytest.raises(WireError) as caught:
        engine.Parser("server_to_client").feed(b"MSG a x 1\r\n")
    assert (caught.value.reason, caught.value.cause) == ("parse", "bad sid")


def test_types_that_can_be_fed(engine):
    parser = engine.Parser("client")
    assert parser.feed(b"") == []
    assert [op.op for op in parser.feed(bytearray(b"PING\r\n"))] == ["PING"]
    assert [op.op for op in parser.feed(memoryview(b"xPING\r\n")[1:])] == ["PING"]
    for wrong in ("PING\r\n", None, 7):
        with pytest.raises(TypeError, match="data must be bytes"):
            parser.feed(wrong)


def test_invalid_parser_options_are_refused(engine):
    for wrong in (
        lambda: engine.Parser(7), lambda: engine.Parser("client", dialect=7),
        lambda: engine.Parser("client", max_control_line="x"),
        lambda: engine.Parser("client", max_payload="x"),
        lambda: engine.Parser("client", pinned_account=7),
        lambda: engine.Parser("client", lnocu=1),
    ):  # fmt: skip
        with pytest.raises(TypeError):
            wrong()
    for wrong in (
        lambda: engine.Parser("nobody"), lambda: engine.Parser("client", dialect="x"),
        lambda: engine.Parser("client", max_control_line=0),
        lambda: engine.Parser("client", max_payload=0),
    ):  # fmt: skip
        with pytest.raises(ValueError, match="must be"):
            wrong()


@pytest.mark.requirement("S4-098", "S4-099")
@pytest.mark.parametrize(
    ("text", "name", "closes"),
    [
        pytest.param(
            "'Unknown Protocol Operation'",
            "UNKNOWN_PROTOCOL_OPERATION",
            True,
            id="unknown-operation",
            marks=pytest.mark.requirement("S4-100"),
        ),
        pytest.param(
            "'Authorization Violation'",
            "AUTHORIZATION_VIOLATION",
            True,
            id="authorization-violation",
            marks=pytest.mark.requirement("S4-101"),
        ),
        pytest.param(
            "'Authorization Timeout'",
            "AUTHORIZATION_TIMEOUT",
            True,
            id="authorization-timeout",
            marks=pytest.mark.requirement("S4-102"),
        ),
        pytest.param(
            "'Authentication Timeout'",
            "AUTHORIZATION_TIMEOUT",
            True,
            id="authentication-timeout",
            marks=pytest.mark.requirement("S4-102", "A64"),
        ),
        pytest.param(
            "'Parser Error'",
            "PARSER_ERROR",
            True,
            id="parser-error",
            marks=pytest.mark.requirement("S4-103"),
        ),
        pytest.param(
            "'Stale Connection'",
            "STALE_CONNECTION",
            True,
            id="stale-connection",
            marks=pytest.mark.requirement("S4-104"),
        ),
        pytest.param(
            "'Slow Consumer'",
            "SLOW_CONSUMER",
            True,
            id="slow-consumer",
            marks=pytest.mark.requirement("S4-105"),
        ),
        pytest.param(
            "'Maximum Payload Exceeded'",
            "MAXIMUM_PAYLOAD",
            True,
            id="maximum-payload-exceeded",
            marks=pytest.mark.requirement("S4-106"),
        ),
        pytest.param(
            "'Maximum Payload Violation'",
            "MAXIMUM_PAYLOAD",
            True,
            id="maximum-payload-violation",
            marks=pytest.mark.requirement("S4-106", "A64"),
        ),
        pytest.param(
            "'Invalid Subject'",
            "INVALID_SUBJECT",
            False,
            id="invalid-subject",
            marks=pytest.mark.requirement("S4-107"),
        ),
        pytest.param(
            "invalid subject",
            "INVALID_SUBJECT",
            False,
            id="invalid-subject-without-quotes",
            marks=pytest.mark.requirement("S4-107"),
        ),
        pytest.param(
            "'Permissions Violation for Publish to \"a\"'",
            "PERMISSIONS_PUBLISH",
            False,
            id="permissions-violation",
            marks=pytest.mark.requirement("A64"),
        ),
        pytest.param(
            "'something new'",
            "UNKNOWN",
            True,
            id="unknown-text",
            marks=pytest.mark.requirement("A58"),
        ),
        pytest.param("", "UNKNOWN", True, id="no-text", marks=pytest.mark.requirement("A58")),
    ],
)
def test_which_errors_close_the_connection(text, name, closes):
    error = ServerError.of(text)
    assert (error.name, error.closes) == (name, closes)


@pytest.mark.parametrize(
    ("text", "name"),
    [
        ("'Stale Connection'", "STALE_CONNECTION"),
        ("Stale Connection", "STALE_CONNECTION"),
        (" 'Stale Connection'\t", "STALE_CONNECTION"),
        ("Stale Connection'", "STALE_CONNECTION"),  # more after a known text is a detail
        ("Stale Connection: 'x'", "STALE_CONNECTION"),
        ("'Stale Connection", "UNKNOWN"),
        ("'Stale Connection: more", "UNKNOWN"),
        ("'Permissions Violation for Publish to \"it's'", "PERMISSIONS_PUBLISH"),
        ("'", "UNKNOWN"),
        ("''", "UNKNOWN"),
        ("", "UNKNOWN"),
    ],
)
def test_only_a_pair_of_quotes_is_taken_off_an_error(text, name):
    assert ServerError.of(text) is ServerError[name]


def test_a_server_goes_on_only_after_what_refuses_one_operation():
    """Every other error is about the connection, and its server closes it."""
    assert {error.name for error in ServerError if not error.closes} == {
        "INVALID_SUBJECT", "INVALID_PUBLISH_SUBJECT", "PERMISSIONS_PUBLISH", "PERMISSIONS_REPLY",
        "PERMISSIONS_SUBSCRIBE", "MAXIMUM_SUBSCRIPTIONS",
    }  # fmt: skip


@pytest.mark.parametrize(
    ("text", "name"),
    [
        ("'Secure Connection - TLS Required'", "TLS_REQUIRED"),
        ("'User Authentication Expired'", "USER_EXPIRED"),
        ("'User Authentication Revoked'", "USER_REVOKED"),
        ("'Account Authentication Expired'", "ACCOUNT_EXPIRED"),
        ("'maximum subscriptions exceeded'", "MAXIMUM_SUBSCRIPTIONS"),
        ("'maximum connections exceeded'", "MAXIMUM_CONNECTIONS"),
        ("'maximum account active connections exceeded'", "MAXIMUM_ACCOUNT_CONNECTIONS"),
        ("'maximum control line exceeded: 5000 > 4096'", "MAXIMUM_CONTROL_LINE"),
        ("'attempted to connect to route port'", "ROUTE_PORT"),
        ("'attempted to connect to leaf node port'", "LEAF_PORT"),
        ("'attempted to connect to gateway port'", "GATEWAY_PORT"),
        ("'no responders requires headers support'", "NO_RESPONDERS_NEEDS_HEADERS"),
        ("'message headers not supported'", "HEADERS_NOT_SUPPORTED"),
        ("'Permissions Violation for Publish with Reply of \"a\"'", "PERMISSIONS_REPLY"),
    ],
)
def test_errors_that_only_the_source_of_nats_server_has(text, name):
    assert ServerError.of(text) is ServerError[name]


@pytest.mark.requirement("A64")
def test_every_documented_error_text_is_known():
    assert [error.name for error in ServerError if error.in_seed] == [
        "UNKNOWN_PROTOCOL_OPERATION", "AUTHORIZATION_VIOLATION", "AUTHORIZATION_TIMEOUT",
        "PARSER_ERROR", "STALE_CONNECTION", "SLOW_CONSUMER", "MAXIMUM_PAYLOAD", "INVALID_SUBJECT",
    ]  # fmt: skip
    for error in ServerError:
        for text in error.texts:
            assert ServerError.of(text.upper().replace("…", '"x"')) is error
