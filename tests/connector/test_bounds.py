"""The connector has the bounds that the page of reliability states, and each is tested."""

from __future__ import annotations

import inspect
from pathlib import Path

import pytest

import subtrie.connector
from stated_bounds import constant, constants_like_bounds, numbers_of, stated_rows
from subtrie.connector import Connector, HTTPError, _actor, _fragments, _tail_sampling, _transport
from subtrie.connector._actor import ActorVerifier
from subtrie.connector._broker.errors import RefusedOperation
from subtrie.connector._fragments import Reassembler
from subtrie.connector._own_metrics import _MOST_SERIES, OwnMetric
from subtrie.connector._transport import Transport

ROOT = Path(__file__).resolve().parents[2]
ROWS = stated_rows("Bounds of the connector")

#: The bounds of the page: the constants below ``subtrie/connector/`` or the argument, and the test.
ON_THE_PAGE = {
    "body of a message, file of `static` (`max_body`)": (
        "max_body",
        "test_bodies_over_the_limits_are_413",
    ),
    "fragments of a message (`max_fragments`)": (
        "max_fragments",
        "test_bodies_over_the_limits_are_413",
    ),
    "requests at work, by source (`max_at_work`)": (
        "max_at_work",
        "test_requests_at_work_are_bounded_and_shared",
    ),
    "bytes of requests at work, in `max_body`": (
        "_runner.MOST_BODIES",
        "test_bytes_at_work_are_bounded_and_shared",
    ),
    "control requests at work, by source": (
        "_runner.MAX_CONTROL",
        "test_requests_to_the_control_plane_are_bounded",
    ),
    "bytes of control requests at work": (
        "_runner.MAX_CONTROL_BYTES",
        "test_bytes_of_places_are_given_back_and_bounded_in_sum",
    ),
    "threads of plain functions in the process, by source": (
        "_threads.MAX_THREADS",
        "test_blocking_functions_of_one_source_leave_threads_for_others",
    ),
    "acknowledged requests that wait for a blocked event loop": (
        "_server._MOST_WAITING",
        "test_ten_thousand_requests_of_four_bodies_may_wait_for_the_event_loop",
    ),
    "bytes of such requests, in `max_body`": (
        "_server._MOST_BODIES",
        "test_ten_thousand_requests_of_four_bodies_may_wait_for_the_event_loop",
    ),
    "fragmented messages at once, by source": (
        "_fragments._MAX_OPEN",
        "test_one_source_does_not_lock_others_out_of_fragmented_requests",
    ),
    "bytes of fragmented messages, in `max_body`": (
        "_fragments._MOST_BODIES",
        "test_bytes_of_fragments_are_bounded_and_shared",
    ),
    "instances that respond to a multicast, by source": (
        "_responses._MOST_INSTANCES",
        "test_the_instances_of_one_source_leave_room_for_others",
    ),
    "bytes of responses that wait for the caller, by source, in `max_body`": (
        "_responses.MAX_BODIES",
        "test_the_answers_of_one_source_to_a_multicast_are_bounded_and_leave_room",
    ),
    "wait for a source that did not respond to an earlier multicast, of the time budget": (
        "_responses.SILENT_WAIT",
        "test_one_acknowledgement_without_an_answer_does_not_hold_the_end",
    ),
    "time budget of a request": (
        "control_headers.MAX_BUDGET",
        "test_a_budget_not_above_one_round_trip_is_408_before_the_handler",
    ),
    "calls in a chain": (
        "_client.MAX_DEPTH",
        "test_the_65th_call_in_a_chain_is_refused",
    ),
    "head of a message": (
        "_limits.LONGEST_HEAD",
        "test_a_received_request_over_the_limits_is_answered",
    ),
    "subject, in bytes and in tokens": (
        "_limits._LONGEST_SUBJECT, _limits._MOST_TOKENS",
        "test_a_request_over_the_limits_fails_at_its_caller",
    ),
    "values of one conversion": (
        "_conversion/converter.MAX_STEPS",
        "test_the_steps_of_one_conversion_are_bounded",
    ),
    "actor token": (
        "_actor._LONGEST",
        "test_a_token_that_is_too_long_is_refused",
    ),
    "log records of refused requests": (
        "_records.MAX_REFUSALS, _records.REFUSAL_PERIOD",
        "test_refused_requests_fill_no_log",
    ),
    "log records of errors of the broker": (
        "_records.MAX_BROKER_ERRORS, _records.BROKER_ERROR_PERIOD",
        "test_errors_of_the_broker_forge_no_record_and_fill_no_log",
    ),
    "messages that wait while the connection is lost": (
        "_broker/connection.MAX_WAITING_LOST",
        "test_what_waits_for_a_lost_broker_is_bounded",
    ),
    "messages that wait while the broker reads too slowly": (
        "_broker/connection.MAX_WAITING",
        "test_a_broker_that_reads_slowly_stops_the_writing",
    ),
    "pause before the next attempt to reconnect": (
        "_broker/connection.LONGEST_WAIT",
        "test_the_pauses_begin_anew_after_a_connection_that_has_lived",
    ),
    "memory of the distributed cache": (
        "_peer_cache._CAPACITY",
        "test_the_size_of_the_cache_is_limited",
    ),
    "callers of a rate limiter": (
        "_middleware._MAX_CALLERS",
        "test_the_number_of_buckets_is_limited",
    ),
    "requests at the ingress at once": (
        "_ingress.MOST_REQUESTS",
        "test_requests_and_bytes_at_once_are_bounded",
    ),
    "bytes of their bodies and responses, in `max_body`": (
        "_ingress.MOST_BODIES",
        "test_requests_and_bytes_at_once_are_bounded",
    ),
    "time of a client to send a body, and to take a response": (
        "_ingress.CLIENT_LIMIT",
        "test_a_client_that_sends_or_reads_too_slowly_is_given_up",
    ),
    "series of a service's own metrics": (
        "_own_metrics._MOST_SERIES",
        "test_the_series_of_a_metric_are_bounded",
    ),
}

#: Bounds that users do not meet: the constants, their values and the test of each.
INSIDE: dict[str, tuple[float, str]] = {
    "_config.REFRESH_PAUSE": (0.1, "test_a_running_refresh_serves_all_who_ask"),
    "_fragments._REMEMBERED": (4096, "test_ended_transfers_that_are_remembered_are_bounded"),
    "_routing.MAX_SILENT": (1024, "test_what_is_remembered_of_responders_is_bounded"),
    "_routing.MAX_KNOWN": (1024, "test_what_is_remembered_of_responders_is_bounded"),
    "_server._LONGEST_ID": (128, "test_each_control_header_has_its_longest_value"),
    "_threads.LARGE_BODY": (1 << 16, "test_a_large_typed_body_is_decoded_off_the_loop"),
    "_claims._MOST": (4096, "test_the_names_of_a_token_are_bounded"),
    "_metrics._LOG_EVERY": (60.0, "test_an_unverifiable_message_is_counted_and_not_answered"),
    "_broker/server_info.MAX_PAYLOAD": (
        999_999_999,
        "test_a_refused_info_is_a_connection_error_that_names_the_field",
    ),
    "_broker/session.LEAST_MESSAGE": (
        8 << 20,
        "test_a_message_above_the_announced_size_ends_the_session",
    ),
    "_broker/server_info.MAX_ANNOUNCED": (256, "test_endless_info_is_looked_at_ten_times_a_second"),
    "_broker/session.INFO_PAUSE": (0.1, "test_endless_info_is_looked_at_ten_times_a_second"),
    "_broker/server_info.MAX_NONCE": (
        1024,
        "test_a_refused_info_is_a_connection_error_that_names_the_field",
    ),
    "_broker/session.MAX_UNREAD_PONGS": (
        1 << 16,
        "test_pings_whose_pongs_are_not_read_take_no_memory",
    ),
    "_broker/session.MAX_UNREAD": (
        16 << 20,
        "test_a_server_that_does_not_read_acknowledgements_loses_the_connection",
    ),
    "_broker/session._MOST_PINGS": (2, "test_a_silent_broker_is_taken_for_dead"),
    "_broker/connection.HANDSHAKE_LIMIT": (
        5.0,
        "test_a_broker_that_closes_after_the_handshake_is_not_flooded",
    ),
    "_broker/connection.STEADY_AFTER": (
        5.0,
        "test_the_pauses_begin_anew_after_a_connection_that_has_lived",
    ),
    "_transport._MOST_REFUSED": (
        10_000,
        "test_refused_subscriptions_that_are_remembered_are_bounded",
    ),
    "max_body": (64 << 20, "test_a_file_has_a_largest_size"),
    "_tail_sampling._REMEMBERED": (4096, "test_traces_that_were_asked_for_are_bounded"),
    "_fragments.MAX_ACK_WAIT": (10, "test_the_sender_of_fragments_waits_at_most_ten_round_trips"),
}

#: Constants of the connector that look like bounds of input, and are none, with the reason.
OTHERS = {
    "_ack_timer": {},
    "_broker/acknowledging": {"_KEPT": "times of which a percentile is taken", "_LONGEST": "time"},
    "_broker/connection": {"CONNECT_LIMIT": "time at startup", "_CLOSE_LIMIT": "time at shutdown"},
    "_broker/server_info": {"_LONGEST_HOST": "of the grammar"},
    "_actor": {"_FETCH_LIMIT": "time", "_MOST_KEYS": "of a trusted issuer", "_REMEMBERED": "cache"},
    "_claims": {"_LONGEST": "of the programmer's text", "_DEEPEST": "of the programmer's text"},
    "_cloud_locality": {"LIMIT": "time", "_LONGEST": "of the cloud's answer"},
    "_codec": {"_HEAD_LIMIT": "LONGEST_HEAD"},
    "_config": {"_MAX_SIZE": "of a file of the machine", "_LONGEST_LINE": "of the same"},
    "_env_files": {"_MAX_SIZE": "of a file of the machine"},
    "_conversion/converter": {"_MAX_PLACE": "of a message", "_MAX_VALUE": "of a message"},
    "_conversion/objects": {"_LONGEST_MESSAGE": "of a message"},
    "_conversion/query": {"_DEEPEST": "of a query, which a head bounds"},
    "_conversion/scalars": {"_LONGEST_NUMBER": "digits", "_LONGEST_DURATION": "of the type"},
    "_conversion/writing": {"_LONGEST_DURATION": "of the type"},
    "_fragments": {
        "MAX_SILENCE": "round trips",
        "_MOST_SILENCES": "times",
    },
    "_for_clients": {"_LONGEST": "of a header, the rest of which is not read"},
    "_identity": {"_LONGEST_ID": "of the grammar"},
    "_lifecycle": {
        "_STARTUP_LIMIT": "time",
        "_LONGEST_WAIT": "time",
        "_SHUTDOWN_LIMIT": "time",
        "_OFFLOAD_LIMIT": "time",
    },
    "_limits": {"_LONGEST_VALUE": "of each control header"},
    "_logging": {"_LONGEST_LABEL": "of a label"},
    "_records": {"_MAX_CHAIN": "of an exception"},
    "_responses": {"_READ_LIMIT": "time"},
    "_routing": {"_KEPT": "subjects that the program asks"},
    "_uses": {"MOST_LOGGED": "of the program's own requests"},
    "_run": {"_STARTUP_LIMIT": "time"},
    "_server": {"_READ_LIMIT": "time", "_HAND_OVER_LIMIT": "time", "_LONGEST_HOLD": "time"},
}


def constants(where: str) -> list[object]:
    """Return the values of constants and arguments."""
    arguments = inspect.signature(Connector.__init__).parameters
    return [
        arguments[name].default
        if name in arguments
        else constant(name, "subtrie._core" if "control_headers" in name else "subtrie.connector")
        for name in where.split(", ")
    ]


@pytest.mark.parametrize("row", ROWS, ids=lambda row: row[0])
def test_a_bound_on_the_page_is_that_of_the_code(row):
    bound, value, beyond = row
    where, _ = ON_THE_PAGE[bound]
    assert numbers_of(value) == constants(where)
    assert beyond


def test_every_bound_has_its_test():
    texts = [file.read_text() for file in (ROOT / "tests" / "connector").glob("test_*.py")]
    assert {row[0] for row in ROWS} == set(ON_THE_PAGE)
    for _, name in [*INSIDE.values(), *ON_THE_PAGE.values()]:
        assert any(f"def {name}(" in text for text in texts), name
    assert {name: constants(name) for name in INSIDE} == {
        name: [value] for name, (value, _) in INSIDE.items()
    }


def test_each_constant_that_bounds_input_is_known():
    folder = Path(subtrie.connector.__file__).parent
    listed = {
        name
        for where in [*INSIDE, *(where for where, _ in ON_THE_PAGE.values())]
        for name in where.split(", ")
    }
    missing, stale = [], []
    for module, names in constants_like_bounds(folder).items():
        others = OTHERS.get(module, {})
        stale += [f"{module}.{name}" for name in others if name not in names]
        missing += [
            f"{module}.{name}"
            for name in names
            if f"{module}.{name}" not in listed and name not in others
        ]
    assert (missing, stale) == ([], [])


def test_ended_transfers_that_are_remembered_are_bounded():
    held: Reassembler = Reassembler(max_body=1000, max_fragments=8, silence=1.0)
    for number in range(_fragments._REMEMBERED + 10):
        held._end(("evil.example", "id-e", str(number)))
    assert len(held._ended) == _fragments._REMEMBERED
    assert not held.ended(("evil.example", "id-e", "0"))


async def test_a_token_that_is_too_long_is_refused():
    async def fetch(url, timeout):
        raise AssertionError("no key is asked for")

    checks = ActorVerifier(fetch, allow_unsigned=lambda: True)
    for size, why in ((_actor._LONGEST, "not a JWT"), (_actor._LONGEST + 1, "not a JWT")):
        with pytest.raises(HTTPError, match=why) as refused:
            await checks.check("e30.e30." + "A" * (size - 8) + ".", None)
        assert refused.value.status == 401
    unsigned = "eyJhbGciOiJub25lIn0.e30."
    assert await checks.check(unsigned, None) == {}
    long = "eyJhbGciOiJub25lIn0." + "ICAg" * (_actor._LONGEST // 4) + "."
    with pytest.raises(HTTPError, match="not a JWT"):
        await checks.check(long, None)


def test_traces_that_were_asked_for_are_bounded(monkeypatch):
    monkeypatch.setattr(_tail_sampling, "_all", [object()])
    monkeypatch.setattr(_tail_sampling, "_asked", type(_tail_sampling._asked)())
    for number in range(_tail_sampling._REMEMBERED + 10):
        assert _tail_sampling.claim_export(f"{number:032x}")
    assert len(_tail_sampling._asked) == _tail_sampling._REMEMBERED


def test_refused_subscriptions_that_are_remembered_are_bounded():
    transport = Transport(
        "a.example", broker="", short_circuit=True, creds=None, allow_readable_creds=False
    )
    for number in range(_transport._MOST_REFUSED + 10):
        transport._on_violation(RefusedOperation("subscribe", f"a.{number}", None))
    assert len(transport.refused) == _transport._MOST_REFUSED


def test_the_series_of_a_metric_are_bounded():
    counter = OwnMetric("orders", "Orders.", "counter")
    for number in range(_MOST_SERIES + 10):
        counter.add(item=number)
    assert len(counter._values) == _MOST_SERIES
    counter.add(item=0)
    assert sum(counter._values.values()) == _MOST_SERIES + 1
