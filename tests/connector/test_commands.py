"""``subtrie run`` and ``subtrie call`` in real processes, over a real server."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys

import pytest

from patience import wait_until
from subtrie.testing import plane  # noqa: F401 - a fixture

from .nats_server import NatsServer

SERVICE = """
import json
from subtrie.connector import Connector, HTTPError
shop = Connector("shop.example")
stock = Connector("stock.example")

@shop.endpoint("ANY", "/order/{id}")
async def order(id: int, request, dry: bool = False):
    return {"id": id, "dry": dry, "by": request.source, "method": request.method,
            "body": request.body.decode(), "kind": request.headers.get("Content-Type", ""),
            "mark": request.headers.get("X-Mark", "")}

@shop.endpoint("GET", "/wrong")
async def wrong():
    raise HTTPError("too many pieces", status=409)

@shop.endpoint("GET", "/broken")
async def broken():
    raise RuntimeError("mail down")

@stock.endpoint("GET", "/level")
async def level():
    return VERSION

def pair():
    return [shop, stock]

VERSION = "1"
"""

TRACED = """
from opentelemetry import trace
from opentelemetry.sdk.trace import TracerProvider
trace.set_tracer_provider(TracerProvider())
from service import shop, stock
"""


@pytest.fixture
def surroundings(broker, plane, tmp_path):  # noqa: F811
    (tmp_path / "service.py").write_text(SERVICE)
    keep = {name: value for name, value in os.environ.items() if name != "PYTEST_CURRENT_TEST"}
    return {**keep, "MICROBUS_NATS": broker.url, "MICROBUS_PLANE": plane}


class Program:
    """``subtrie run`` while a test runs."""

    def __init__(self, folder, environment, *arguments):
        self.log = folder / "log.txt"
        with self.log.open("wb") as log:
            self.process = subprocess.Popen(
                [sys.executable, "-m", "subtrie.cli", "run", *arguments],
                cwd=folder, env=environment, stdout=log, stderr=log,
            )  # fmt: skip

    def wait_for(self, text, count=1):
        def is_there():
            said = self.log.read_text()
            assert self.process.poll() is None, said
            return said.count(text) >= count

        wait_until(is_there, f"{self.log} does not have {text!r}")

    def stop(self, number=signal.SIGTERM):
        self.process.send_signal(number)
        return self.process.wait(30)


@pytest.fixture
def run(surroundings, tmp_path):
    programs = []

    def start(*arguments, **variables):
        programs.append(Program(tmp_path, surroundings | variables, *arguments))
        return programs[-1]

    yield start
    for each in programs:
        if each.process.poll() is None:
            each.process.kill()
            each.process.wait()


@pytest.fixture
def call(surroundings, tmp_path):
    def ask(*arguments, text=None, **variables):
        done = subprocess.run(
            [sys.executable, "-m", "subtrie.cli", "call", *arguments],
            cwd=tmp_path, env=surroundings | variables, input=text, capture_output=True,
            text=True, timeout=60, check=False,
        )  # fmt: skip
        return done.returncode, done.stdout, done.stderr

    return ask


def test_a_service_runs_and_is_called(run, call):
    program = run("service")
    program.wait_for(": up as ", 2)
    url = "https://shop.example/order/{id}"
    code, out, err = call(
        "post", url, "-p", "id=17", "-p", "dry=true", "-d", '{"a": 1}', "-H", "X-Mark: m"
    )
    assert (code, err) == (0, "")
    assert json.loads(out) == {
        "id": 17, "dry": True, "by": "cli.subtrie", "method": "POST", "body": '{"a": 1}',
        "kind": "application/json", "mark": "m",
    }  # fmt: skip
    code, out, _ = call("POST", url, "-p", "id=1", "-d", "-", "--json", text="é", PYTHONUTF8="1")
    answer = json.loads(out)
    assert (answer["status"], answer["source"]) == (200, "shop.example")
    assert (answer["body"]["body"], answer["body"]["kind"]) == ("é", "text/plain")
    code, out, err = call("GET", "https://shop.example/wrong")
    assert (code, out, err) == (1, "", "subtrie: 409: too many pieces\n")
    code, out, err = call("GET", "https://nobody.example/", "--json")
    assert (code, json.loads(out)["status"]) == (1, 404)
    code, out, _ = call("--all", "GET", "https://all:888/ping", "-i")
    assert (code, out.count('{"pong":0}')) == (0, 2)
    assert "200 stock.example id-" in out
    code, out, err = call("GET", "nonsense")
    assert code == 2
    assert "not a" in err or "is not" in err
    assert call("GET", "https://shop.example/", "-p", "id")[0] == 2
    assert program.stop() == 0


def test_a_call_reads_a_file_and_says_what_went_wrong(run, call, tmp_path):
    """``-d @body.json`` was sent as text, and a multicast without a subscriber was silent."""
    (tmp_path / "traced.py").write_text(TRACED)
    program = run("traced", MICROBUS_DEPLOYMENT="PROD")
    program.wait_for(": up as ", 2)
    (tmp_path / "body.json").write_text('{"file": 1}')
    url = "https://shop.example/order/1"
    code, out, _ = call("POST", url, "-d", "@body.json")
    assert (code, json.loads(out)["body"]) == (0, '{"file": 1}')
    assert json.loads(out)["kind"] == "application/json"
    code, _, err = call("POST", url, "-d", "@absent.json")
    assert (code, "absent.json" in err, "Traceback" in err) == (2, True, False)
    code, out, err = call("--all", "GET", "https://nobody.example/x")
    assert (code, out) == (1, "")
    assert err == "subtrie: no service responded to GET https://nobody.example/x\n"
    code, out, err = call("GET", "https://shop.example/broken", "--json")
    trace = json.loads(out)["trace"]
    assert len(trace) == 32
    assert err == f"subtrie: 500: internal server error (trace {trace})\n"
    assert program.stop() == 0


def test_a_name_and_a_function_select_connectors(run, call):
    program = run("service:stock")
    program.wait_for(": up as ")
    assert call("GET", "https://stock.example/level")[1] == "1\n"
    assert call("GET", "https://shop.example/wrong")[0] == 1
    assert program.stop(signal.SIGINT) == 0
    program = run("service:pair", "--log-format", "json")
    program.wait_for(": up as ", 2)
    assert program.stop() == 0
    records = [json.loads(line) for line in program.log.read_text().splitlines()]
    assert {record["logger"] for record in records} == {"subtrie.connector"}
    assert [record["message"].split(":")[1] for record in records].count(" down") == 2


@pytest.mark.parametrize(
    ("target", "told"),
    [
        ("missing", "there is no module 'missing'"),
        ("missing.deeper", "there is no module 'missing'"),
        ("service:absent", "'service' has no 'absent'"),
        ("service:json", "'service:json' is not a connector, but module"),
        ("service:VERSION", "'service:VERSION' names no connectors"),
        ("json", "'json' names no connectors"),
        (".x", "'.x' is not a valid module name"),
    ],
)
def test_a_target_that_is_not_found_is_bad_input(run, target, told):
    program = run(target)
    assert program.process.wait(30) == 2
    assert told in program.log.read_text()


OWN_ERRORS = {
    "a host that is not valid": (
        "from subtrie.connector import Connector\n\nshop = Connector('My Service')\n",
        "service.py:3: host 'My Service' is not valid:",
    ),
    "a host that is not valid in a function of the module": (
        "from subtrie.connector import Connector\n\ndef made(host):\n    return Connector(host)\n\n"
        "shop = made('My Service')\n",
        "service.py:4: host 'My Service' is not valid:",
    ),
    "a value of the user": (
        "def check(port):\n    raise ValueError('port must be positive')\n\ncheck(-1)\n",
        "ValueError: port must be positive",
    ),
    "a type of the user": ("len(5)\n", "TypeError: object of type 'int' has no len()"),
    "a module that is missing": ("import missing_one\n", "No module named 'missing_one'"),
    "no Python": ("a mistake\n", "SyntaxError: invalid syntax"),
    "a function": (
        "def pair():\n    raise ValueError('no pair')\n", "ValueError: no pair",
    ),
}  # fmt: skip


@pytest.mark.parametrize("case", OWN_ERRORS)
def test_an_error_of_the_module_is_not_told_as_a_wrong_name_of_the_module(run, tmp_path, case):
    source, told = OWN_ERRORS[case]
    (tmp_path / "service.py").write_text(source)
    program = run("service:pair" if "pair" in source else "service")
    assert program.process.wait(30) == 1
    log = program.log.read_text()
    assert told in log
    assert "is not a valid module name" not in log
    assert "importlib" not in log
    assert "_cli" not in log
    if case == "a value of the user":
        assert [line.strip() for line in log.splitlines() if "line" in line] == [
            f'File "{tmp_path / "service.py"}", line {line}, in {where}'
            for line, where in ((4, "<module>"), (2, "check"))
        ]
    if case == "a host that is not valid":
        assert len(log.splitlines()) == 1


def test_a_broker_url_that_is_not_valid_is_told_where_the_connector_is_made(run):
    program = run("service", MICROBUS_NATS="http://x")
    assert program.process.wait(30) == 1
    (line,) = program.log.read_text().splitlines()
    assert line.startswith("service.py:4: ")
    assert "http" in line


@pytest.mark.parametrize(("timeout", "waited"), [("0.5", "0.5 s"), ("900", "5 s")])
def test_a_call_without_a_broker_does_not_wait_for_two_minutes(call, timeout, waited):
    code, out, err = call("GET", "https://stock.example/level", "--timeout", timeout,
                          MICROBUS_NATS="nats://127.0.0.1:1")  # fmt: skip
    assert (code, out) == (1, "")
    assert f"; waited {waited} for it" in err


def test_a_changed_file_starts_the_service_again(run, call, tmp_path):
    program = run("service:stock", "--reload")
    program.wait_for(": up as ")
    assert call("GET", "https://stock.example/level")[1] == "1\n"
    (tmp_path / "service.py").write_text(SERVICE.replace('VERSION = "1"', 'VERSION = "second"'))
    program.wait_for("service.py changed: starting again")
    program.wait_for(": up as ", 2)
    assert call("GET", "https://stock.example/level")[1] == "second\n"
    (tmp_path / "service.py").write_text("a mistake\n")
    program.wait_for("SyntaxError")
    (tmp_path / "service.py").write_text(SERVICE)
    program.wait_for(": up as ", 3)
    assert program.stop() == 0


def test_a_command_that_is_started_again_has_its_own_name(run):
    """The usage line said ``python -m subtrie.cli``, which the user had not typed."""
    program = run("service.py", "--reload")
    program.wait_for("give its module: service")
    assert "Usage: subtrie run [OPTIONS]" in program.log.read_text()
    assert program.stop() == 0


def test_a_program_waits_for_a_broker_that_is_not_up_yet(run, call, tmp_path):
    server = NatsServer(tmp_path / "late")
    program = run("service:stock", MICROBUS_NATS=server.url)
    program.wait_for("waiting for the broker")
    assert "Traceback" not in program.log.read_text()
    server.start()
    try:
        program.wait_for(": up as ")
        assert call("GET", "https://stock.example/level", MICROBUS_NATS=server.url)[1] == "1\n"
        assert program.stop() == 0
    finally:
        server.stop()


def test_a_program_that_cannot_start_says_why_in_one_line(run, tmp_path):
    server = NatsServer(tmp_path / "closed", authorization={"user": "a", "password": "b"}).start()
    try:
        program = run("service:stock", "--log-level", "error", MICROBUS_NATS=server.url)
        assert program.process.wait(30) == 1
        (line,) = program.log.read_text().splitlines()
        assert " ERROR subtrie.connector: stock.example: no connection to " in line
        assert "looked for stock.example_nats.creds, nats.creds in" in line
    finally:
        server.stop()


def test_a_program_that_waits_can_be_stopped(run, tmp_path):
    server = NatsServer(tmp_path / "never")
    program = run("service:stock", MICROBUS_NATS=server.url)
    program.wait_for("waiting for the broker")
    assert program.stop() == 0


def test_a_start_that_takes_too_long_is_one_line(run):
    """L11: with a short time budget it was a traceback."""
    absent = "nats://127.0.0.1:9"  # nothing listens on the port of `discard`
    program = run("service:stock", MICROBUS_NATS=absent, MICROBUS_STARTUP_TIME_BUDGET="500ms")
    assert program.process.wait(60) == 1
    *_, failed = program.log.read_text().splitlines()
    assert "Traceback" not in program.log.read_text()
    assert "no connection to nats://127.0.0.1:9" in failed
    assert "waited 0.45 s for it" in failed
    assert " ERROR subtrie.connector: stock.example: no connection to " in failed


def test_a_start_function_that_takes_too_long_is_one_line(run, tmp_path):
    (tmp_path / "late.py").write_text(
        "import asyncio\nfrom subtrie.connector import Connector\n"
        "late = Connector('late.example')\n"
        "@late.on_startup\nasync def wait():\n    await asyncio.sleep(60)\n"
    )
    program = run("late", MICROBUS_STARTUP_TIME_BUDGET="4s")
    assert program.process.wait(60) == 1
    (failed,) = program.log.read_text().splitlines()
    assert "late.example: the start takes more than 4 s (MICROBUS_STARTUP_TIME_BUDGET)" in failed


def test_a_program_without_logging_says_that_it_is_up(tmp_path, surroundings):
    """L10: ``run`` printed nothing."""
    (tmp_path / "main.py").write_text(
        "from service import stock\nfrom subtrie.connector import run\nrun(stock)\n"
    )
    alone = {name: text for name, text in surroundings.items() if name != "MICROBUS_NATS"}
    with (tmp_path / "log.txt").open("wb") as log:
        program = subprocess.Popen(
            [sys.executable, "main.py"], cwd=tmp_path, env=alone, stdout=log, stderr=log
        )
    try:
        wait_until(lambda: "no broker, so" in (tmp_path / "log.txt").read_text())
    finally:
        program.terminate()
        program.wait(30)
    up, alone = (tmp_path / "log.txt").read_text().splitlines()[:2]
    assert " INFO subtrie.connector: stock.example: up as " in up
    assert " WARNING subtrie.connector: stock.example: there is no broker, so only this " in alone


def test_a_handler_is_not_a_connector(run):
    """L25: the error spoke of a coroutine."""
    program = run("service:level")
    assert program.process.wait(60) == 2
    assert (
        "'service:level' is a handler, not a connector: the connectors of the module are shop, "
        "stock"
    ) in program.log.read_text()


@pytest.mark.parametrize(
    ("given", "module"),
    [("service.py", "service"), ("shop/orders.py", "shop.orders"), ("./service.py", "service")],
)
def test_a_file_is_told_its_module(run, given, module):
    """L25: ``run service.py`` ran the file, and then missed a module ``service.py``."""
    program = run(f"{given}:shop")
    assert program.process.wait(60) == 2
    assert f"{given!r} is a file; give its module: {module}" in program.log.read_text()
