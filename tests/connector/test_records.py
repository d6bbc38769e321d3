"""Log records that hostile peers cause: no forged lines, no escapes, no flood."""

from __future__ import annotations

import ast
import io
import json
import logging
import re
import sys
from pathlib import Path

import pytest

import subtrie.connector
from patience import until
from subtrie.connector import HTTPError, JSONFormatter
from subtrie.connector._errors import RequestTimeout
from subtrie.connector._records import (
    MAX_BROKER_ERRORS,
    MAX_REFUSALS,
    PrintableFilter,
    RecordRate,
)

from .hostile_broker import HostileBroker
from .test_broker_connection import connected

HOST = "shop.example"
TEXT = "x\r\n2026-01-01 ERROR forged\x1b[2J\u202e"


@pytest.fixture
def written():
    """The text that a handler with a plain format writes."""
    stream = io.StringIO()
    handler = logging.StreamHandler(stream)
    logger = logging.getLogger("subtrie.connector")
    logger.addHandler(handler)
    yield stream.getvalue
    logger.removeHandler(handler)


@pytest.mark.parametrize("status", [404, 500])
async def test_the_text_of_a_peer_forges_no_record(make, written, status):
    shop, web = make(HOST), make("web.example")

    @shop.endpoint("POST", "/")
    async def fail(text: str) -> None:
        try:
            raise KeyError(text)
        except KeyError as error:
            raise HTTPError(f"no such item {text}", status=status) from error

    async with shop, web:
        logging.getLogger("subtrie.connector").setLevel(logging.INFO)
        with pytest.raises(HTTPError):
            await web.request("POST", f"https://{HOST}/", json={"text": TEXT})
    text = written()
    assert "no such item" in text
    assert "\n2026" not in text
    assert not {"\r", "\x1b", "\u202e"} & set(text)
    assert ("Traceback" in text) == (status == 500)


async def test_an_unexpected_error_keeps_its_name_and_its_traceback(make_memory, written):
    shop = make_memory(HOST)

    @shop.endpoint("POST", "/")
    async def fail(text: str) -> None:
        raise RuntimeError(text)

    async with shop:
        with pytest.raises(HTTPError):
            await shop.request("POST", f"https://{HOST}/", json={"text": TEXT})
    text = written()
    assert "in fail" in text
    assert "RuntimeError: x\\r\\n2026" in text
    assert not {"\r", "\x1b"} & set(text)


async def test_refused_requests_fill_no_log(make_memory, written):
    shop = make_memory(HOST, max_at_work=1)

    @shop.endpoint("GET", "/")
    async def nothing() -> None:
        pass

    async with shop:
        places = shop._server.runner.places
        for _ in range(3):
            places.take("evil.example")
        for _ in range(100):
            with pytest.raises(HTTPError, match="too many requests at work"):
                await shop.request("GET", f"https://{HOST}/")
        for _ in range(3):
            places.give("evil.example")
    text = written()
    assert text.count("too many requests at work") == MAX_REFUSALS
    assert "Traceback" not in text


async def test_errors_of_the_broker_forge_no_record_and_fill_no_log(written):
    async with HostileBroker({}) as broker, connected(broker.url) as connection:
        broker.clients[0].send(b"-ERR 'a\x1b[2Jb\x85'\r\n" * 1000)
        await until(lambda: "NATS error" in written())
        await connection.responds(10)
    text = written()
    assert text.count("NATS error") == MAX_BROKER_ERRORS
    assert "\x1b" not in text


def test_what_was_left_out_is_counted():
    now = [0.0]
    rate = RecordRate(2, 10.0, clock=lambda: now[0])
    assert [rate.admits() for _ in range(5)] == [True, True, False, False, False]
    now[0] = 9.9
    assert not rate.admits()
    now[0] = 10.0
    assert rate.admits()
    assert rate.left_out() == " (4 more were not logged)"
    assert rate.left_out() == ""
    assert str(RequestTimeout("timeout"))


def test_a_period_begins_with_its_first_record():
    now = [5.0]
    rate = RecordRate(1, 10.0, clock=lambda: now[0])
    assert rate.admits()
    for now[0], admitted in ((10.0, False), (14.9, False), (15.0, True)):
        assert rate.admits() is admitted
    assert [rate.admits() for _ in range(998)] == [False] * 998
    assert rate.left_out() == " (1,000 more were not logged)"


def _filtered(**fields) -> logging.LogRecord:
    record = logging.makeLogRecord({"msg": "m %s", "args": ("é",)} | fields)
    assert PrintableFilter().filter(record)
    return record


def _with_causes(count: int, text: str) -> Exception:
    """Return an exception with so many causes, one after the other; the last one has a text."""
    error = KeyError(text) if count else ValueError(text)
    for _ in range(count):
        outer = ValueError("plain")
        outer.__cause__, error = error, outer
    return error


def test_a_record_without_control_characters_stays_as_it_is():
    assert _filtered().args == ("é",)
    assert _filtered(args=("\x1b",)).args == ()
    assert _filtered(exc_info=(None, None, None)).exc_info == (None, None, None)
    hidden = ValueError("plain")
    hidden.__context__, hidden.__suppress_context__ = ValueError("\x1b"), True
    for error in (_with_causes(0, "plain"), _with_causes(16, "plain"), hidden):
        assert _filtered(exc_info=(type(error), error, None)).exc_info[1] is error


@pytest.mark.parametrize(("causes", "shown"), [(0, 0), (1, 1), (16, 16), (17, 16), (99, 16)])
def test_the_causes_of_an_exception_are_shown_without_control_characters(causes, shown):
    error = _with_causes(causes, "\x1b")
    found = _filtered(exc_info=(type(error), error, None)).exc_info[1]
    count = 0
    while found.__cause__ is not None:
        found, count = found.__cause__, count + 1
    assert count == shown
    assert "\x1b" not in str(found)


_LOGGING = {f"logger.{name}" for name in ("debug", "info", "warning", "error", "exception", "log")}


def _formats(function, argument):
    """Return the formats that a call of the logger may have: a name stands for its assignments."""
    if isinstance(argument, ast.Name):
        return [
            each.value
            for each in ast.walk(function)
            if isinstance(each, ast.Assign)
            and any(isinstance(t, ast.Name) and t.id == argument.id for t in each.targets)
        ]
    return [argument]


#: The first value of a record: a host, or a file that all services of the process share.
_FIRST = re.compile(r".*(host|hosts|source)|file|\*values")
#: Errors that begin with their host already.
_WITH_THEIR_HOST = {"_config.py"}


def test_every_record_names_its_service_first():
    found, nameless = 0, []
    for path in sorted(Path(subtrie.connector.__file__).parent.rglob("*.py")):
        for function in ast.walk(ast.parse(path.read_text())):
            if not isinstance(function, ast.FunctionDef | ast.AsyncFunctionDef):
                continue
            for call in ast.walk(function):
                if not (isinstance(call, ast.Call) and ast.unparse(call.func) in _LOGGING):
                    continue
                given = call.args[call.func.attr == "log" :]
                first = ast.unparse(given[1]) if len(given) > 1 else ""
                named = bool(_FIRST.fullmatch(first)) or path.name in _WITH_THEIR_HOST
                for text in _formats(function, given[0]):
                    found += 1
                    begins = isinstance(text, ast.Constant) and str(text.value).startswith("%s")
                    if not (named and (begins or first == "*values")):
                        nameless.append(f"{path.name}:{call.lineno}: {ast.unparse(call)}")
    assert found > 30
    assert nameless == []


# --- the log of a service


def _formatted(**fields):
    record = logging.makeLogRecord({"name": "n", "levelname": "INFO", "msg": "m %s", "args": ("é",),
                                    "created": 1_700_000_000.0, "msecs": 7.9} | fields)  # fmt: skip
    return JSONFormatter().format(record)


@pytest.mark.parametrize(
    ("fields", "more"),
    [({}, {}), ({"service": "s", "trace": "t"}, {"service": "s", "trace": "t"}),
     ({"at": ValueError("x")}, {"at": "ValueError('x')"}), ({"level": "own", "logger": 7}, {}),
     ({"stack_info": "Stack"}, {"stack_info": "Stack"}), ({"taskName": "x"}, None)],
    ids=str,
)  # fmt: skip
def test_a_record_is_one_line_of_json(fields, more):
    line = _formatted(**fields)
    assert "\n" not in line
    assert "é" in line
    told = json.loads(line)
    assert list(told)[:4] == ["time", "level", "logger", "message"]
    if more is not None:
        assert told == {
            "time": "2023-11-14T22:13:20.007Z", "level": "INFO", "logger": "n", "message": "m é",
        } | more  # fmt: skip


def test_the_exception_of_a_record_is_a_text():
    try:
        raise KeyError("k")
    except KeyError:
        told = json.loads(_formatted(exc_info=sys.exc_info()))
    assert told["exception"].startswith("Traceback")
    assert told["exception"].endswith("KeyError: 'k'")


def test_a_record_of_a_service_names_it_and_its_place(make_memory, caplog):
    caplog.set_level(logging.INFO)
    shop = make_memory("shop.example")
    shop.log.info("%s left", 7, extra={"plane": "own", "more": 1})
    shop.log.debug("not enabled")
    (record,) = caplog.records
    assert record.getMessage() == "shop.example: 7 left"
    assert (record.name, record.levelname) == ("subtrie.service", "INFO")
    assert (record.service, record.id, record.plane, record.more) == (
        "shop.example", shop.id, "own", 1,
    )  # fmt: skip
    assert not hasattr(record, "trace")
    assert record.funcName == "test_a_record_of_a_service_names_it_and_its_place"


async def test_a_record_within_a_request_has_its_trace(make_memory, caplog):
    caplog.set_level(logging.INFO)
    shop, web = make_memory("shop.example"), make_memory("web.example")
    shop.endpoint("GET", "/x")(lambda: shop.log.warning("seen"))
    async with shop, web:
        headers = {"Traceparent": f"00-{'a1' * 16}-{'b2' * 8}-01"}
        await web.request("GET", "https://shop.example/x", headers=headers)
    (record,) = [each for each in caplog.records if each.getMessage() == "shop.example: seen"]
    assert (record.trace, record.plane) == ("a1" * 16, shop.plane)


def test_messages_are_counted_by_their_text_before_the_values(make_memory):
    shop = make_memory("shop.example")
    for size in (100, 101, 300):
        shop.log.error("x" * size)
    shop.log.warning("%s left", 7)
    shop.log.warning("%s left", 8)
    shop.log.warning(KeyError("k"))
    counted = {tuple(value for _, value in key): count
               for key, count in shop._runtime.metrics.log_messages._values.items()}  # fmt: skip
    assert counted == {("x" * 100, "ERROR"): 3, ("%s left", "WARNING"): 2, ("'k'", "WARNING"): 1}
