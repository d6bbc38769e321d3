"""The benchmarks of connectors: what they compare gives the same results (not timed here)."""

from __future__ import annotations

import json
from pathlib import Path

from benches import connector_busy, connector_compare, connector_load, connector_speed
from benches.plain_broker import running

RECORDS = Path(connector_speed.RECORDS)


def test_everything_is_measured_and_shown():
    record = connector_speed.measured(rounds=1, calls=20, endpoints=50, seconds=0.5)
    assert all(value > 0 for value in record["medians_us"].values())
    assert len(record["figures"]) == len(connector_speed.WANTED) + 3
    for each in record["figures"]:
        assert each["figure"] in connector_speed.shown(record)
    assert json.loads(json.dumps(record)) == record


async def test_a_load_loses_and_duplicates_nothing(tmp_path):
    with running(tmp_path) as url:
        told = await connector_load.load(url, 2.0)
    assert (told["lost"], told["doubled"], told["wrong"]) == (0, 0, 0)
    assert told["requests"] > 100


def test_the_slope_of_memory():
    assert connector_load.slope([(0.0, 5.0), (1.0, 7.0), (2.0, 9.0)]) == 2.0
    assert connector_load.slope([(0.0, 5.0), (1.0, 5.0)]) == 0.0
    assert connector_load.slope([(0.0, 5.0)]) == 0.0


def test_a_figure_is_reached_or_missed():
    medians = {
        "in process": 20.0,
        "in process, 10,000 endpoints": 30.0,
        "through nats-server with nats-py": 200.0,
        "a task, a time limit and the JSON alone": 19.0,
        "handler called directly": 0.5,
        "SubjectTrie.select": 0.2,
        "Dispatcher.dispatch": 0.7,
    }
    reached = [reached(of(medians)) for _, _, of, reached in connector_speed.WANTED]
    assert reached == [True, True, True, True, False]


def test_a_record_names_no_machine():
    for path in RECORDS.glob("connector-*.json"):
        record = json.loads(path.read_text())
        assert set(record) == {
            "date",
            "processor",
            "cores",
            "load_average",
            "versions",
            "calls",
            "medians_us",
            "load",
            "figures",
        }


def test_two_trees_are_compared():
    record = connector_compare.compared(connector_compare.HERE, 1, 50, 10)
    figures = ["in process, new URLs", "in process, repeated URLs"]
    figures += ["over NATS, caller", "over NATS, service"]
    assert list(record["ratios"]) == figures
    for kinds in record["endpoints"].values():
        assert len(kinds) == 4
        # Ten endpoints may start in less time than the figures show.
        assert all(set(times) == {"start", "stop", "resident MiB"} for times in kinds.values())


def test_a_ratio_above_its_bound_is_a_miss():
    now = {"in process, new URLs": 20.0, "in process, repeated URLs": 10.0}
    record = {
        "ratios": {"in process, new URLs": 0.2, "over NATS, caller": 0.5},
        "microseconds": {"now": now},
        "endpoints": {"now": {"in process, two patterns": {"start": 1.0, "stop": 4.0}}},
    }
    said = connector_compare.missed(record)
    assert [each.partition(":")[0] for each in said[:1]] == ["over NATS, caller"]
    assert len(said) == 3


def test_services_are_loaded_and_every_request_counted(tmp_path):
    with running(tmp_path) as url:
        rows = connector_busy.in_flight(url, 0.3, (8,))
    for row in rows.values():
        assert row["sent"] > 8
        assert row["ack_timeouts"] == row["other_errors"] == 0


def test_what_a_loaded_service_misses():
    def row(late, cpu, rate):
        return {
            "ack_timeouts": late,
            "service_us_a_request": cpu,
            "answered_per_second": rate,
        }

    rows = {
        "Python to Python, 512": row(1, 90, 10),
        "peer to Python, 512": row(0, 90, 70),
        "peer to peer, 512": row(0, 80, 100),
        "peer to Python, 1024": row(5, 90, 90),
        "peer to peer, 1024": row(4, 60, 100),
    }
    acknowledged = {"4 threads compute": {"in_time": 98, "tries": 100}}
    said = connector_busy.missed({"in_flight": rows, "acknowledgements": acknowledged})
    assert len(said) == 5
