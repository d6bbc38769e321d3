"""JetStream in the audit of a log: streams, consumers and buckets receive what clients publish.

The log is that of a running broker, and the truth is what the programs counted.
"""

from __future__ import annotations

import re
from collections import Counter
from pathlib import Path
from typing import Any

import pytest
from jetstream_log import ASKED, CREATED, FAULTS, MISSPELT, PAID, REFUSED, UNHEARD, jetstream_log

from subtrie.acl._jetstream.load import load_streams
from subtrie.audit import Questions, Run, audit, verdict
from subtrie.audit._readers.jetstream_answers import rows_of_answer
from subtrie.report._findings import all_findings


@pytest.fixture(scope="module")
def made(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, Path]:
    return jetstream_log(tmp_path_factory.mktemp("jetstream"))


@pytest.fixture(scope="module")
def whole(made: tuple[Path, Path]) -> Any:
    with audit([str(made[0])], questions=Questions()) as found:
        yield found


def flows(run: Run) -> Counter[tuple[Any, ...]]:
    """Return the messages of each flow: publisher, subscriber and queue."""
    found: Counter[tuple[Any, ...]] = Counter()
    for row in run.rows("flows"):
        found[row["publisher"], row["subscriber"], row["queue"]] += row["delivered"]
    return found


def undelivered(run: Run) -> dict[str, int]:
    return {row["pattern"]: row["undelivered"] for row in run.rows("flows") if row["undelivered"]}


def test_the_planted_faults_are_all_that_is_above_a_note(whole):
    found = [each for each in all_findings(whole) if each.level != "note"]
    assert [(each.witness, each.count) for each in found] == list(FAULTS.items())
    assert verdict(whole) == f"{FAULTS[MISSPELT] + FAULTS[UNHEARD]} undelivered, 20 refused"


def test_flows_lead_from_the_publisher_through_the_stream_to_its_consumers(whole):
    found = flows(whole)
    stored = CREATED + PAID
    assert found["web", "stream ORDERS", None] == stored
    assert found["stream ORDERS", "ship", "consumer shipper"] == stored
    assert found["stream ORDERS", "bill", "consumer biller"] == PAID
    assert found["ship", "stream ORDERS", "consumer shipper"] == stored  # acknowledgements
    assert found["bill", "stream ORDERS", "consumer biller"] == PAID
    assert found["conf", "stream KV_cfg", None] == 16
    assert found["stream KV_cfg", "quotes", "consumer *"] == 16
    assert found["conf", "stream OBJ_files", None] == 4
    assert found["web", "quotes", "q"] == ASKED
    assert undelivered(whole) == {each: FAULTS[each] for each in (MISSPELT, UNHEARD)}


def test_every_request_was_answered_also_by_the_broker(whole):
    rows = list(whole.rows("latency"))
    assert sum(row["unanswered"] for row in rows) == 0
    by = Counter({row["responder"]: 0 for row in rows})
    for row in rows:
        by[row["responder"]] += row["count"]
    # PubAcks, and the answers to ack_sync
    assert by["stream ORDERS"] == 2 * (CREATED + PAID)
    assert by["quotes"] == ASKED + 1
    assert by["JetStream"] > 10
    # Messages are no answer to a pull request: they come when there are some.
    assert not any("MSG.NEXT" in row["subject"] for row in rows)


@pytest.fixture(scope="module")
def untold(made: tuple[Path, Path], tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A log in which no answer of JetStream tells the subjects of streams."""
    lines = made[0].read_text().splitlines(keepends=True)
    path = tmp_path_factory.mktemp("untold") / "trace.log"
    path.write_text("".join(each for each in lines if "api.v1.stream_" not in each))
    return path


def test_consumers_tell_which_stream_stores_a_subject(untold):
    with audit([str(untold)], questions=Questions()) as run:
        assert flows(run)["web", "stream ORDERS", None] == CREATED + PAID
        assert undelivered(run) == {each: FAULTS[each] for each in (MISSPELT, UNHEARD)}


@pytest.fixture(scope="module")
def unread(untold: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A log in which no consumer received a message either."""
    deliveries = re.compile(r"->> \[H?MSG \S+ \S+ \$JS.ACK")
    lines = untold.read_text().splitlines(keepends=True)
    path = tmp_path_factory.mktemp("unread") / "trace.log"
    path.write_text("".join(each for each in lines if not deliveries.search(each)))
    return path


def test_the_answer_to_the_publisher_tells_which_stream_stored_a_message(unread):
    with audit([str(unread)], questions=Questions()) as run:
        assert flows(run)["web", "stream ORDERS", None] == CREATED + PAID
        assert undelivered(run) == {each: FAULTS[each] for each in (MISSPELT, UNHEARD)}


def test_streams_that_are_given(made, unread, tmp_path, run_both):
    """Without the answers to the publisher, only ``--streams`` tells that orders are stored."""
    log = tmp_path / "trace.log"
    lines = unread.read_text().splitlines(keepends=True)
    log.write_text("".join(each for each in lines if "->> [MSG _INBOX" not in each))
    questions = Questions(streams=load_streams([made[1]]))
    with audit([str(log)], questions=questions) as run:
        assert flows(run)["web", "stream ORDERS", None] == CREATED + PAID
    lost = FAULTS[MISSPELT] + FAULTS[UNHEARD] + ASKED + 1  # replies have no deliveries either
    told = run_both(log, "--streams", made[1])
    assert told.output.splitlines()[0] == f"{lost} undelivered, 20 refused"
    told = run_both(log)
    assert told.output.splitlines()[0] == f"{lost + CREATED + PAID} undelivered, 20 refused"


def test_a_refused_publish_is_counted_once(whole):
    [row] = whole.rows("refused")
    assert (row["who"], row["subject"], row["count"]) == ("web", REFUSED, 20)


def test_answers_of_jetstream_in_a_capture():
    kind = b'"type":"io.nats.jetstream.api.v1.stream_list_response"'
    config = b'{"config":{"name":"A","subjects":["a.>","b"]}}'
    told = list(rows_of_answer(b'{%s,"streams":[%s]}' % (kind, config)))
    assert told == [{"op": "STREAM", "queue": "A", "subject": each} for each in ("a.>", "b")]
    for other in (b"", b"{}", b'{"stream":1}', b'{"stream":"A"', b"{%s,[}" % kind):
        assert list(rows_of_answer(other)) == []


_OF_STREAM = b'{"type":"io.nats.jetstream.api.v1.stream_info_response",'
_OF_CONSUMER = b'{"type":"io.nats.jetstream.api.v1.consumer_info_response",'
_WRONG = (b'"error":{"code":404,"description":"no: of a"}', b'"stream":"A"')


@pytest.mark.parametrize(
    ("payload", "rows"),
    [
        (b'{"stream":"A","seq":1}', [{"op": "STORED", "queue": "A"}]),
        (b'{"stream":"","seq":1}', []),
        (b'{"stream": "A"}', []),
        (b'{"stream":"A","seq":1', []),
        (b'{"stream":"' + b"[" * 9, []),
        (_OF_STREAM + b'"config":{"name":"A","subjects":["a","b"]}}',
         [{"op": "STREAM", "queue": "A", "subject": each} for each in "ab"]),
        (_OF_STREAM + b'"config":{"name":"A","subjects":[1,"b"]}}',
         [{"op": "STREAM", "queue": "A", "subject": "b"}]),
        *((_OF_STREAM + more + b"}", []) for more in (
            b'"config":{"name":1,"subjects":["a"]}', b'"config":[]', b'"config":{"name":"A"}',
            b'"streams":7', b'"streams":[7]', b'"config":{"name":"A","subjects":null}')),
        (_OF_STREAM + b'"config":{"name":"A","subjects":["a"]},'
         b'"streams":[{"config":{"name":"B","subjects":["b"]}}]}',
         [{"op": "STREAM", "queue": each.upper(), "subject": each} for each in "ab"]),
        (b'{"type":"io.nats.jetstream.api.v1.account_info_response",'
         b'"config":{"name":"A","subjects":["a"]}}', []),
        (b'{"type":"other.stream_info_response","config":{"name":"A","subjects":["a"]}}', []),
        (_OF_CONSUMER + b'"stream_name":"A","name":"b","config":{"ack_policy":"all"}}',
         [{"op": "CONSUMER", "queue": "A.b", "subject": "all"}]),
        (_OF_CONSUMER + b'"stream_name":"A","name":"b","config":{"ack_policy":"all",'
         b'"filter_subject":"x","filter_subjects":[]}}',
         [{"op": "CONSUMER", "queue": "A.b", "subject": "all", "sid": "x"}]),
        (_OF_CONSUMER + b'"stream_name":"A","name":"b","config":{"ack_policy":"all",'
         b'"filter_subjects":["x.>",1,"y"]}}',
         [{"op": "CONSUMER", "queue": "A.b", "subject": "all", "sid": "x.> y"}]),
        (_OF_CONSUMER + b'"stream_name":"A","name":"b","config":{"ack_policy":"all",'
         b'"filter_subjects":"x","filter_subject":""}}',
         [{"op": "CONSUMER", "queue": "A.b", "subject": "all"}]),
        (_OF_CONSUMER + b'"stream_name":"A","name":"rzj7wEWp",'
         b'"config":{"ack_policy":"all","deliver_subject":"d"}}',
         [{"op": "CONSUMER", "queue": "A.*", "subject": "all"}]),
        *((_OF_CONSUMER + more + b"}", []) for more in (
            b'"stream_name":1,"name":"b","config":{"ack_policy":"all"}',
            b'"stream_name":"A","name":1,"config":{"ack_policy":"all"}',
            b'"stream_name":"A","name":"b","config":{"ack_policy":1}',
            b'"stream_name":"A","name":"b","config":{}', b'"stream_name":"A","name":"b"',
            b'"consumers":7', b'"consumers":[7]')),
        (_OF_CONSUMER + b'"config":7,"consumers":[{"stream_name":"A","name":"b",'
         b'"config":{"ack_policy":"all"}}]}',
         [{"op": "CONSUMER", "queue": "A.b", "subject": "all"}]),
        (_OF_CONSUMER + _WRONG[0] + b"}", [{"op": "ERROR", "queue": "no", "sid": "consumer_info"}]),
        (_OF_CONSUMER + b",".join(_WRONG) + b"}",
         [{"op": "ERROR", "queue": "no", "sid": "consumer_info", "subject": "A"}]),
        (b"{" + b",".join(_WRONG) + b"}",
         [{"op": "ERROR", "queue": "no", "sid": "publish", "subject": "A"}]),
        (b"{" + _WRONG[0] + b"}", []),
        (b"{" + _WRONG[0] + b',"type":7,"stream":"A"}', []),
        (b'{"error":{"code":404},"stream":"A"}', []),
        (b'{"error":{"code":404,"description":1},"stream":"A"}', []),
        (_OF_CONSUMER + b'"error":7,"stream_name":"A","name":"b","config":{"ack_policy":"all"}}',
         [{"op": "CONSUMER", "queue": "A.b", "subject": "all"}]),
    ],
)  # fmt: skip
def test_each_answer_of_jetstream_has_its_rows(payload, rows):
    assert list(rows_of_answer(payload)) == rows
