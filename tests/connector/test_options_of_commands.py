"""Each option of ``subtrie call`` and ``run``: what is passed on, printed, and the exit code."""

from __future__ import annotations

import asyncio
import contextlib
import json
import logging
import os
import signal
import sys
import threading

import pytest
from click.testing import CliRunner
from opentelemetry import trace
from opentelemetry.sdk.trace import TracerProvider

from patience import wait_until
from subtrie._cli import run as run_command
from subtrie._cli.app import app
from subtrie._cli.call import _responses
from subtrie.connector import HTTPError, Request, Response

from .nats_server import NatsServer
from .test_token_validity import _creds

URL = "https://shop.example/echo/{id}"


def _echo(service):
    @service.endpoint("ANY", "/echo/{id}")
    async def echo(id: str, request: Request):
        kept = {name: value for name, value in request.headers.items() if name.startswith("X-")}
        return {"id": id, "body": request.body.decode(), "from": request.source, "own": kept,
                "kind": request.headers.get("Content-Type"), "query": request.query}  # fmt: skip

    @service.endpoint("GET", "/status/{status}")
    async def status(status: int):
        return Response(status, b"told")

    @service.endpoint("GET", "/error/{status}")
    async def error(status: int):
        raise HTTPError("said", status=status)

    @service.endpoint("GET", "/late")
    async def late():
        await asyncio.sleep(60)

    @service.endpoint("GET", "/body/{kind}")
    async def body(kind: str):
        return Response(200, BODIES[kind][0], headers={"X-Of": "a\u200bb", "Content-Type": "x/y"})


#: A body, what is printed of it, and what JSON has of it.
BODIES = {
    "text": (b"word", b"word\n", "word"),
    "line": (b"word\n", b"word\n", "word\n"),
    "json": (b'{"a": [1]}', b'{"a": [1]}\n', {"a": [1]}),
    "null": (b"null", b"null\n", None),
    "bytes": (b"\xff\x00", b"\xff\x00\n", "\ufffd\x00"),
    "deep": (b"[" * 100_000, b"[" * 100_000 + b"\n", "[" * 100_000),
    "empty": (b"", b"", ""),
}


async def ask(broker, plane, *words, given=None):
    """Run ``subtrie call`` beside the services of the test."""
    words = ["call", *words, "--nats", broker.url, "--plane", plane]
    done = await asyncio.to_thread(CliRunner().invoke, app, words, input=given)
    return done.exit_code, done.stdout_bytes, done.stderr


@pytest.fixture
def shop(make_nats):
    made = make_nats("shop.example", id="id-shop1")
    _echo(made)
    return made


#: Options, and what the service is told beside what it always is.
PASSED_ON = [
    (["-d", '{"a": 1}'], {"body": '{"a": 1}', "kind": "application/json"}),
    (["-d", "tea"], {"body": "tea", "kind": "text/plain"}),
    (["-d", "[" * 100_000], {"body": "[" * 100_000, "kind": "text/plain"}),
    (["--data", ""], {"kind": "text/plain"}),
    (["-d", "{}", "-H", "content-type: a/b"], {"body": "{}", "kind": "a/b"}),
    (["-d", "{}", "-H", "Content-Type:a/b"], {"body": "{}", "kind": "a/b"}),
    (["-d", "-"], {"body": "from input", "kind": "text/plain"}),
    (["-d", "@body.txt"], {"body": '{"f": 1}', "kind": "application/json"}),
    (
        ["-H", "X-One:  a:b=c  ", "--header", "X-Two:", "-H", "X-Three: c\r\n"],
        {"own": {"X-One": "a:b=c", "X-Two": "", "X-Three": "c"}},
    ),
    (["-p", "q=a=b:c", "--param", "r="], {"query": {"q": ["a=b:c"], "r": [""]}}),
    (["--host", "other.example"], {"from": "other.example"}),
]


async def test_what_a_call_passes_on(shop, broker, plane, tmp_path):
    (tmp_path / "body.txt").write_text('{"f": 1}')
    always = {"id": "7", "body": "", "from": "cli.subtrie", "own": {}, "kind": None, "query": {}}
    async with shop:
        for words, told in PASSED_ON:
            words = ["POST", URL, "-p", "id=7", *words]
            code, out, err = await ask(broker, plane, *words, given="from input")
            assert (code, err) == (0, ""), words
            assert json.loads(out) == {**always, **told}, words


async def test_the_body_is_printed_as_it_came(shop, broker, plane):
    async with shop:
        for kind, (_, printed, parsed) in BODIES.items():
            words = ["GET", f"https://shop.example/body/{kind}"]
            assert await ask(broker, plane, *words) == (0, printed, ""), kind
            code, out, _ = await ask(broker, plane, *words, "--json")
            answer = json.loads(out)
            assert (code, answer["body"]) == (0, parsed), kind
            assert (answer["status"], answer["source"], answer["id"]) == (
                200, "shop.example", "id-shop1",
            )  # fmt: skip
            assert answer["headers"]["X-Of"] == "a\u200bb"
            assert "error" not in answer
        code, out, _ = await ask(broker, plane, *words[:1], f"{words[1][:-5]}text", "-i")
    first, *headers, blank, body = out.decode().splitlines()
    assert (code, first, blank, body) == (0, "200 shop.example id-shop1", "", "word")
    assert {"X-Of: a\\u200bb", "Content-Type: x/y"} <= set(headers)


async def test_the_exit_code_of_each_status(shop, broker, plane):
    async with shop:
        for way, status, wanted in [
            ("status", 302, 0), ("status", 399, 0), ("status", 400, 1), ("error", 399, 1),
            ("error", 500, 1),
        ]:  # fmt: skip
            url = f"https://shop.example/{way}/{status}"
            if status in (399, 400):  # a multicast waits for further services
                assert (await ask(broker, plane, "--all", "GET", url))[0] == wanted
            code, out, _ = await ask(broker, plane, "GET", url, "--json")
            assert (code, json.loads(out)["status"]) == (wanted, status)


async def test_one_error_among_the_responses_is_an_error(shop, make_nats, broker, plane):
    other = make_nats("other.example", id="id-other1")
    for each, status in ((shop, 200), (other, 404)):

        @each.endpoint("GET", "//all/state")
        async def state(status: int = status):
            return Response(status, b"told")

    async with shop, other:
        code, out, _ = await ask(broker, plane, "--all", "GET", "https://all/state", "--json")
    assert sorted(json.loads(line)["status"] for line in out.splitlines()) == [200, 404]
    assert code == 1


@pytest.mark.parametrize(("timeout", "wait"), [(0.2, 0.2), (4.0, 4.0), (60.0, 5.0)])
async def test_what_the_broker_took_is_part_of_the_time_of_a_call(timeout, wait):
    """A call waits 5 s for the broker, or less if it has less time itself."""
    seen = {}

    class Recording:
        @property
        def _lifecycle(self):
            return self

        @contextlib.asynccontextmanager
        async def sending(self, wait):
            seen["wait"] = wait
            await asyncio.sleep(0.05)
            yield

        async def request(self, method, url, **options):
            seen["timeout"] = options["timeout"]
            return url

    assert await _responses(Recording(), "GET", URL, False, {"timeout": timeout}) == [URL]
    assert seen["wait"] == wait
    assert seen["timeout"] < timeout - 0.04


def test_a_call_has_its_own_time_and_is_never_answered_in_its_own_process(monkeypatch):
    seen = []

    async def recorded(connector, method, url, to_all, options):
        seen.append((connector._transport.short_circuit, to_all, options["timeout"]))
        return [Response(200)]

    monkeypatch.setattr("subtrie._cli.call._responses", recorded)
    for words in (["--timeout", "0.4"], ["--timeout", "33", "--all"], []):
        assert CliRunner().invoke(app, ["call", *words, "GET", "https://a.x/"]).exit_code == 0
    assert seen == [(False, False, 0.4), (False, True, 33.0), (False, False, 20.0)]


@pytest.mark.parametrize(
    ("responses", "words", "printed", "said"),
    [
        ([], ["--all"], "", "subtrie: no service responded to GET https://a.x/\\u202eb\n"),
        (HTTPError("b\x1b"), [], "", "subtrie: 500: b\\x1b\n"),
        (HTTPError("b", status=499, trace="7f"), [], "", "subtrie: 499: b\n"),
        (HTTPError("b", status=500, trace="7f"), [], "", "subtrie: 500: b (trace 7f)\n"),
        (ConnectionError("b\x1b"), [], "", "subtrie: b\\x1b\n"),
        ([Response(200, b"a")], ["-i"], "200\n\na\n", ""),
        ([Response(200, b"a\x1b")], [], "a\x1b\n", ""),
    ],
)
def test_what_is_printed_of_responses(monkeypatch, responses, words, printed, said):
    async def made(*_):
        if isinstance(responses, BaseException):
            raise responses
        return responses

    monkeypatch.setattr("subtrie._cli.call._responses", made)
    done = CliRunner().invoke(app, ["call", "GET", "https://a.x/\u202eb", *words])
    assert (done.exit_code, done.stdout, done.stderr) == (0 if printed else 1, printed, said)


def test_a_terminal_is_sent_no_control_characters_of_a_body(monkeypatch):
    async def made(*_):
        return [Response(200, b"a\x1bb\r\n\xff\n\ncaf\xc3\xa9"), Response(200)]

    monkeypatch.setattr("subtrie._cli.call._responses", made)
    monkeypatch.setattr("click.testing._NamedTextIOWrapper.isatty", lambda self: True)
    done = CliRunner().invoke(app, ["call", "GET", "https://a.x/", "--all"])
    assert (done.exit_code, done.stdout) == (0, "a\\x1bb\n\ufffd\n\ncafé\n\n")


async def test_which_creds_were_looked_for_is_said_where_none_were_given(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    server = NatsServer(tmp_path / "closed", authorization={"user": "a", "password": "b"}).start()
    words = ["call", "GET", "https://a.example/x", "--nats", server.url, "--timeout", "2"]
    try:
        for host in ("cli.subtrie", "web.example"):
            done = await asyncio.to_thread(CliRunner().invoke, app, [*words, "--host", host])
            told = f"no creds found: looked for {host}_nats.creds, nats.creds in {tmp_path}\n"
            assert (done.exit_code, done.stdout) == (1, "")
            assert done.stderr.endswith(told)
        given = _creds(tmp_path).rename(tmp_path / "given.creds")
        words += ["--host", "shop.example", "--creds", str(given)]
        done = await asyncio.to_thread(CliRunner().invoke, app, words)
        assert (done.exit_code, done.stdout) == (1, "")
        assert "authorization violation" in done.stderr.lower()
        assert "no creds found" not in done.stderr
    finally:
        server.stop()


async def test_what_is_said_of_an_error(shop, broker, plane):
    trace.set_tracer_provider(TracerProvider())
    async with shop:
        for status in (404, 499, 500, 503):
            words = ["GET", f"https://shop.example/error/{status}"]
            code, out, err = await ask(broker, plane, *words, "--json")
            answer = json.loads(out)
            found = answer.pop("trace")
            assert (code, len(found)) == (1, 32)
            assert answer == {"status": status, "error": f"{status}: said"}
            shown = f" (trace {found})" if status >= 500 else ""
            assert err == f"subtrie: {status}: said{shown}\n"
            code, out, err = await ask(broker, plane, *words)
            assert (code, out, "trace" in err) == (1, b"", status >= 500)
        code, out, err = await ask(
            broker, plane, "GET", "https://shop.example/late", "--timeout", "0.4", "--json"
        )
        assert (code, json.loads(out)["status"]) == (1, 408), err
        words = ["GET", "https://nobody.example/x"]
        assert await ask(broker, plane, "--all", *words) == (
            1, b"", "subtrie: no service responded to GET https://nobody.example/x\n",
        )  # fmt: skip
        code, out, err = await ask(broker, plane, "GET", "a b", "--json")
        assert (code, set(json.loads(out)), json.loads(out)["status"]) == (
            2, {"status", "error"}, 400,
        )  # fmt: skip


@pytest.mark.parametrize(
    ("words", "told"),
    [
        (["-p", "id"], "--param takes NAME=VALUE, not 'id'"),
        (["-p", "a:b"], "--param takes NAME=VALUE, not 'a:b'"),
        (["-H", "a=b"], "--header takes NAME:VALUE, not 'a=b'"),
        (["-d", "@absent"], "--data @absent: [Errno 2] No such file or directory: 'absent'"),
        (["-d", "@latin"], "--data @latin: 'utf-8' codec can't decode byte 0xe9"),
        (["--host", "a b"], "host 'a b' is not valid"),
        (["--plane", "a.b"], "plane"),
        (["--nats", "nonsense://x"], "nonsense"),
        (["--timeout", "0"], "0 is not in the range x>0"),
    ],
)  # fmt: skip
def test_a_call_that_is_not_sent_is_bad_input(tmp_path, words, told):
    (tmp_path / "latin").write_bytes(b"caf\xe9")
    done = CliRunner().invoke(app, ["call", "GET", "https://a.example/x", *words])
    assert (done.exit_code, done.stdout) == (2, "")
    assert told in done.stderr


@pytest.mark.parametrize(
    "command", [["call", "GET", "https://a.example/x"], ["health", "a.example"]]
)
def test_the_creds_that_are_given_are_used(command, tmp_path):
    where = ["--nats", "127.0.0.1:9"]
    done = CliRunner().invoke(app, [*command, "--creds", "absent.creds", *where])
    assert (done.exit_code, done.stdout) == (2, ""), "bad input"
    assert "'absent.creds' does not exist" in done.stderr
    readable = tmp_path / "readable.creds"
    readable.write_text("no creds")
    readable.chmod(0o644)
    done = CliRunner().invoke(app, [*command, "--creds", str(readable), *where])
    assert (done.exit_code, done.stdout) == (2, "")
    assert "others may read the file" in done.stderr


async def test_a_call_that_finds_no_broker_says_which(plane):
    words = ["call", "GET", "https://a.example/x", "--timeout", "0.2", "--plane", plane]
    for more, url in (["--nats", "nats://127.0.0.1:9"], "nats://127.0.0.1:9"), ([], "127.0.0.1:4"):
        environment = {} if more else {"MICROBUS_NATS": "nats://127.0.0.1:4"}
        runner = CliRunner(env=environment)
        done = await asyncio.to_thread(runner.invoke, app, [*words, *more])
        assert (done.exit_code, done.stdout) == (1, "")
        assert url in done.stderr


# --- run

LOGGING = """
import logging
from subtrie.connector import Connector
root = logging.getLogger()
SEEN = (root.level, type(root.handlers[0].formatter).__name__, logging.getLogger("nats").level)
one, two = Connector("one.example"), Connector("two.example")
several, none, empty, mixed, number = [two, one], None, [], [one, 7], 7
class inner:
    deep = [two]
def made():
    return [one]
async def handler():
    pass
"""


@pytest.fixture
def module(tmp_path, monkeypatch):
    """A module of services, in the working directory; its connectors are not started."""
    (tmp_path / "services_here.py").write_text(LOGGING)
    monkeypatch.setattr(sys, "path", [*sys.path])
    started = []
    monkeypatch.setattr(run_command, "run_connectors", lambda *each: started.append(each))

    def run(*words):
        monkeypatch.setattr(logging.getLogger(), "handlers", [])  # those of pytest
        for name in (None, "nats"):
            monkeypatch.setattr(logging.getLogger(name), "level", logging.WARNING)
        done = CliRunner().invoke(app, ["run", *words])
        hosts = [each.host for some in started for each in some]
        started.clear()
        return done, hosts

    yield run
    sys.modules.pop("services_here", None)


@pytest.mark.parametrize(
    ("words", "seen"),
    [
        ([], ("INFO", "Formatter")),
        (["--log-level", "debug"], ("DEBUG", "Formatter")),
        (["--log-level", "warning", "--log-format", "text"], ("WARNING", "Formatter")),
        (["--log-level", "error", "--log-format", "json"], ("ERROR", "JSONFormatter")),
    ],
)
def test_how_a_program_logs(module, words, seen):
    done, _ = module("services_here", *words)
    assert done.exit_code == 0, done.output
    level, formatter, of_nats = sys.modules["services_here"].SEEN
    assert (logging.getLevelName(level), formatter) == seen
    assert of_nats == logging.CRITICAL


@pytest.mark.parametrize(
    ("targets", "hosts"),
    [
        ([""], ["one", "two"]), ([":two"], ["two"]), ([":several"], ["two", "one"]),
        ([":made"], ["one"]), ([":inner.deep"], ["two"]), ([":one", ":several"], ["one", "two"]),
        (["", ""], ["one", "two"]),
    ],
)  # fmt: skip
def test_which_connectors_a_target_names(module, targets, hosts):
    done, started = module(*(f"services_here{each}" for each in targets))
    assert done.exit_code == 0, done.output
    assert started == [f"{each}.example" for each in hosts]


@pytest.mark.parametrize(
    ("target", "told"),
    [
        (":absent", "'services_here' has no 'absent'"),
        (":inner.absent", "'services_here' has no 'inner.absent'"),
        (":number", "'services_here:number' is not a connector, but int"),
        (":none", "'services_here:none' is not a connector, but NoneType"),
        (":empty", "'services_here:empty' names no connectors"),
        (":mixed", "'services_here:mixed' names no connectors"),
        (":handler", "'services_here:handler' is a handler, not a connector: the connectors of "
         "the module are one, two"),
    ],
)  # fmt: skip
def test_a_target_without_connectors_starts_nothing(module, target, told):
    done, started = module(f"services_here{target}")
    assert (done.exit_code, done.stdout, started) == (2, "", [])
    assert done.stderr.endswith(f"Error: {told}\n")


#: In place of the interpreter: notes its words, and that it was asked to end.
PROGRAM = """#!/bin/sh
trap 'echo ended >> {log}; exit 0' TERM
echo "$@" >> {log}
while :; do sleep 0.02; done
"""


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
@pytest.mark.parametrize(
    ("words", "passed"),
    [
        ([], "--log-level info --log-format text"),
        (["--log-level", "debug"], "--log-level debug --log-format text"),
        (["--log-format", "json"], "--log-level info --log-format json"),
    ],
)
def test_reload_starts_the_program_again_with_the_same_options(
    tmp_path, monkeypatch, number, words, passed
):
    log, program = tmp_path / "log", tmp_path / "program"
    program.write_text(PROGRAM.format(log=log))
    program.chmod(0o755)
    log.touch()
    monkeypatch.setattr(sys, "executable", str(program))
    monkeypatch.setattr(run_command, "_LOOK_EVERY", 0.01)

    def change_then_stop():
        wait_until(lambda: len(log.read_text().splitlines()) == 1, "it did not start")
        (tmp_path / "changed.py").touch()
        wait_until(lambda: len(log.read_text().splitlines()) == 3, "it did not start again")
        os.kill(os.getpid(), number)

    before = {each: signal.getsignal(each) for each in (signal.SIGINT, signal.SIGTERM)}
    other = threading.Thread(target=change_then_stop)
    other.start()
    try:
        done = CliRunner().invoke(app, ["run", "--reload", "a", "b:c", *words])
    finally:
        other.join()
        for each, handler in before.items():
            signal.signal(each, handler)
    assert (done.exit_code, done.stdout) == (0, "")
    assert done.stderr == "changed.py changed: starting again\n"
    started = f"-m subtrie.cli run a b:c {passed}"
    assert log.read_text().splitlines() == [started, "ended", started, "ended"]


def test_source_files_that_are_changed_added_or_removed_start_the_program_again(
    tmp_path, monkeypatch
):
    monkeypatch.chdir(tmp_path)
    own, others = ["a.py", "b/c.py"], ["note.txt", ".git/x.py", "__pycache__/x.py", "own/x.py"]
    for each in (*own, *others, "own/pyvenv.cfg"):
        path = tmp_path / each
        path.parent.mkdir(exist_ok=True)
        path.touch()
    before = run_command._files()
    for each in others:
        (tmp_path / each).unlink()
    assert run_command._difference(before, run_command._files()) == ""
    for each in own:
        os.utime(each, (1, 1))
        assert run_command._difference(before, run_command._files()) == each
        before = run_command._files()
        (tmp_path / each).unlink()
        assert run_command._difference(before, run_command._files()) == each
        before = run_command._files()
        (tmp_path / each).touch()
        assert run_command._difference(before, run_command._files()) == each
        before = run_command._files()
