"""The page of reliability states each bound of the connector, as the code has it."""

from __future__ import annotations

import inspect
import re
from importlib import import_module
from pathlib import Path

import pytest

import subtrie.connector
from subtrie._core import control_headers
from subtrie.connector import Connector, HTTPError, _actor, _fragments, _tail_sampling, _transport
from subtrie.connector._actor import ActorVerifier
from subtrie.connector._broker.errors import RefusedOperation
from subtrie.connector._fragments import Reassembler
from subtrie.connector._own_metrics import _MOST_SERIES, OwnMetric
from subtrie.connector._transport import Transport

ROOT = Path(__file__).resolve().parents[2]
PAGE = (ROOT / "docs" / "reliability.md").read_text()
SECTION = PAGE.partition("## Bounds of the connector")[2].partition("\n## ")[0]
ROWS = [
    [cell.strip() for cell in line.strip("|").split("|")]
    for line in SECTION.splitlines()
    if line.startswith("|")
][2:]
UNITS = {"KiB": 1 << 10, "MiB": 1 << 20}

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
        "MAX_ACK_WAIT": "round trips",
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
_CONSTANT = re.compile(r"^(_?[A-Z][A-Z_]*)(?:, (_?[A-Z][A-Z_]*))?(?:: [^=]+)? = ", re.MULTILINE)
_BOUND = re.compile(r"MAX|MOST|LONGEST|LIMIT|LEAST|DEEPEST|KEPT|REMEMBERED|CAPACITY")


def constants(cell: str) -> list[object]:
    """Return the values that a cell of the table names."""
    arguments = inspect.signature(Connector.__init__).parameters
    found = []
    for name in re.findall(r"`([^`]+)`", cell):
        if name in arguments:
            found.append(arguments[name].default)
            continue
        module, _, constant = name.rpartition(".")
        if module == "control_headers":
            found.append(getattr(control_headers, constant))
            continue
        found.append(
            getattr(import_module(f"subtrie.connector.{module.replace('/', '.')}"), constant)
        )
    return found


@pytest.mark.parametrize("row", ROWS, ids=lambda row: row[0])
def test_a_bound_on_the_page_is_that_of_the_code_and_has_its_test(row):
    _, value, where, beyond, test = row
    numbers = [
        float(number.replace(",", "")) * UNITS.get(unit, 1)
        for number, unit in re.findall(r"(\d[\d,.]*) ?(KiB|MiB)?", value)
    ]
    assert numbers == constants(where)
    assert beyond
    name = test.strip("`")
    files = (ROOT / "tests" / "connector").glob("test_*.py")
    assert any(f"def {name}(" in file.read_text() for file in files)


def test_each_constant_that_bounds_input_is_on_the_page():
    folder = Path(subtrie.connector.__file__).parent
    listed = set(re.findall(r"`([^`]+)`", " ".join(row[2] for row in ROWS)))
    missing, stale = [], []
    for file in folder.rglob("*.py"):
        module = str(file.relative_to(folder).with_suffix(""))
        names = {name for pair in _CONSTANT.findall(file.read_text()) for name in pair if name}
        others = OTHERS.get(module, {})
        stale += [f"{module}.{name}" for name in others if name not in names]
        missing += [
            f"{module}.{name}"
            for name in sorted(names)
            if _BOUND.search(name) and f"{module}.{name}" not in listed and name not in others
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
