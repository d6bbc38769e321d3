"""Properties of the parser on random streams: chunking, engine agreement, canonical forms."""

from __future__ import annotations

import pickle

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from streams import CONNS, OPTIONS, everything, pieces, read

from engines import ENGINES

conns = st.sampled_from(CONNS)


@pytest.mark.requirement("M-09")
@settings(max_examples=400)
@given(conns, pieces(), OPTIONS)
def test_both_engines_read_the_same(conn, chunks, options):
    answers = []
    for engine in ENGINES.values():
        operations, fault, parser = read(engine, conn, chunks, **options)
        answers.append(
            ([everything(op) for op in operations], fault, parser.complete, parser.offset)
        )
    assert answers[0] == answers[1]


@pytest.mark.requirement("S1-007")
@settings(max_examples=150)
@given(conns, pieces(), OPTIONS)
def test_any_split_gives_the_same_operations(engine_name, conn, chunks, options):
    engine = ENGINES[engine_name]
    stream = b"".join(chunks)
    singly = [stream[at : at + 1] for at in range(len(stream))]
    whole = read(engine, conn, [stream], **options)
    for cut in (chunks, singly):
        operations, fault, parser = read(engine, conn, cut, **options)
        assert [everything(op) for op in operations] == [everything(op) for op in whole[0]]
        assert fault == whole[1]
        assert (parser.complete, parser.offset) == (whole[2].complete, whole[2].offset)
    raw = b"".join(op.raw for op in operations)
    assert stream.startswith(raw)
    assert parser.offset == len(raw)
    if fault is not None:
        assert fault[3] == len(raw), "reading can go on where the operations end"
    elif parser.complete:
        assert raw == stream


@settings(max_examples=150)
@given(conns, pieces(), OPTIONS)
def test_no_input_serialises_to_two_operations(engine_name, conn, chunks, options):
    """The canonical form parses to one equal operation, and is its own canonical form."""
    engine = ENGINES[engine_name]
    options.pop("max_control_line", None)
    operations, _, _ = read(engine, conn, chunks, **options)
    for op in operations:
        again, fault, parser = read(engine, conn, [bytes(op)], **options)
        assert fault is None
        assert parser.complete
        assert again == [op]
        assert hash(again[0]) == hash(op)
        assert bytes(again[0]) == bytes(op)
        ours, theirs = op.as_dict(), again[0].as_dict()
        ours.pop("printed_sid", None)  # A53: read, and not written again
        assert theirs == ours


@settings(max_examples=60)
@given(conns, pieces())
def test_an_operation_survives_pickle(engine_name, conn, chunks):
    engine = ENGINES[engine_name]
    for op in read(engine, conn, chunks, max_payload=None, lnocu=True)[0]:
        again = pickle.loads(pickle.dumps(op))
        assert (again.raw, again.as_dict()) == (op.raw, op.as_dict())


@pytest.fixture(params=list(ENGINES), scope="module")
def engine_name(request):
    return request.param
