"""Each option of ``subtrie tap``, the signals that end it, its exit codes and what it prints."""

from __future__ import annotations

import contextlib
import json
import os
import shutil
import signal
import socket
import threading

import pytest
from click.testing import CliRunner

from patience import PATIENCE, wait_until
from servers import free_port
from subtrie._cli.app import app
from subtrie._cli.tap import Address
from subtrie.wire import capture


def _connected(port):
    made = []

    def connect():
        with contextlib.suppress(ConnectionRefusedError):
            made.append(socket.create_connection(("127.0.0.1", port), PATIENCE))
        return bool(made)

    wait_until(connect, "nothing listens")
    return made[0]


def record(folder, *words, ends=signal.SIGTERM, damage=False, clients=1):
    """Run the command in this process while clients talk to a broker; return how it ended."""
    port, sent = free_port(), b"PING\r\n"
    broker = socket.create_server(("127.0.0.1", 0))
    broker.settimeout(PATIENCE)

    def talk():
        try:
            for _ in range(clients):
                with _connected(port) as client, broker.accept()[0] as served:
                    for client_sends in (True, False, True):
                        one, other = (client, served) if client_sends else (served, client)
                        one.sendall(sent)
                        assert other.recv(100) == sent
                        if damage:
                            shutil.rmtree(folder, ignore_errors=True)
        finally:
            os.kill(os.getpid(), ends)

    other = threading.Thread(target=talk)
    other.start()
    before = {each: signal.getsignal(each) for each in (signal.SIGINT, signal.SIGTERM)}
    to = f"127.0.0.1:{broker.getsockname()[1]}"
    try:
        given = ["tap", "--listen", f":{port}", "--to", to, "--out", str(folder), *words]
        done = CliRunner().invoke(app, given)
    finally:
        other.join()
        broker.close()
        for each, handler in before.items():
            signal.signal(each, handler)
    return done, port


@pytest.mark.parametrize("ends", [signal.SIGINT, signal.SIGTERM])
@pytest.mark.parametrize("clients", [1, 2])
def test_a_signal_ends_a_recording_with_exit_0(tmp_path, ends, clients):
    done, port = record(tmp_path / "c", ends=ends, clients=clients)
    assert (done.exit_code, done.stdout) == (0, "")
    assert done.stderr == f"listening on 127.0.0.1:{port}\n"
    done, port = record(tmp_path / "d", "--json", ends=ends, clients=clients)
    said = [json.loads(line) for line in done.stdout.splitlines()]
    assert (done.exit_code, done.stderr) == (0, "")
    assert said == [{"listening": f"127.0.0.1:{port}"}, {"connections": clients}]


@pytest.mark.parametrize("kind", ["client", "route", "leaf", "route_legacy"])
def test_a_capture_says_the_kind_of_its_connections(tmp_path, kind):
    words = [] if kind == "client" else ["--kind", kind]
    record(tmp_path / "c", *words)
    opened = next(iter(capture.read(tmp_path / "c")))
    assert json.loads(opened.data)["kind"] == kind


@pytest.mark.parametrize(("words", "several"), [([], False), (["--rotate", "1"], True)])
def test_a_new_file_begins_after_the_size_that_is_given(tmp_path, words, several):
    record(tmp_path / "c", *words)
    assert (len(capture.files(tmp_path / "c")) > 1) == several


def test_a_write_that_fails_is_exit_2(tmp_path):
    done, _ = record(tmp_path / "c", "--rotate", "1", damage=True)
    assert done.exit_code == 2
    assert done.stderr.splitlines()[-1].startswith("subtrie: ")
    assert "No such file or directory" in done.stderr


def test_a_port_that_is_taken_is_exit_2(tmp_path):
    with socket.create_server(("127.0.0.1", 0)) as taken:
        words = ["--listen", f":{taken.getsockname()[1]}", "--to", ":1", "--out", str(tmp_path)]
        done = CliRunner().invoke(app, ["tap", *words])
    assert (done.exit_code, done.stdout) == (2, "")
    assert done.stderr.startswith("subtrie: ")
    assert "in use" in done.stderr


@pytest.mark.parametrize("option", ["--to", "--listen"])
def test_an_address_has_a_port(option, tmp_path):
    """A text without a port, or whose port does not exist, is an error of the usage."""
    other = {"--to": ["--listen", ":0"], "--listen": ["--to", "a:1"]}[option]
    for text in ("", "host", "host:", "a:b", "a:65536", "a:-1", "a:\N{SUPERSCRIPT TWO}", "a: 1"):
        done = CliRunner().invoke(app, ["tap", option, text, *other, "--out", str(tmp_path / "o")])
        assert done.exit_code == 2, text
        assert f"{text!r} is not a valid host:port" in done.output
    assert not (tmp_path / "o").exists()
    for text, parts in {"a:65535": ("a", 65_535), ":0": ("127.0.0.1", 0), "7": ("127.0.0.1", 7),
                        "[::1]:7": ("::1", 7)}.items():  # fmt: skip
        assert Address().convert(text, None, None) == parts
