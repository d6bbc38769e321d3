"""The simulated broker delivers what a real nats-server delivers."""

from __future__ import annotations

import os

import pytest

from connector.nats_server import NatsServer

from .broker_tapes import compare, normalized, simulated, tape_of

#: The number of tapes; ``SIMULATION_TAPES=10000`` for a long run.
_TAPES = int(os.environ.get("SIMULATION_TAPES", "200"))


@pytest.fixture
def server(tmp_path):
    server = NatsServer(tmp_path / "nats").start()
    yield server
    server.stop()


def test_random_programs_have_the_same_deliveries_on_a_real_server(server):
    found = compare(server.port, _TAPES)
    assert found["different"] == 0, found
    assert found["deliveries"] > _TAPES


def test_a_difference_is_seen():
    tape = next(tape for tape in map(tape_of, range(100)) if tape.queues)
    read = simulated(tape)
    assert normalized(tape, read) == normalized(tape, simulated(tape))
    more = [[data + b"MSG a 99 1\r\nx\r\n" for data in each] for each in read]
    assert normalized(tape, read) != normalized(tape, more)
