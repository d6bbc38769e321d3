"""The example in front of browsers: uvicorn, a real broker, a real Chromium."""

from __future__ import annotations

import os
import shutil
import signal
import socket
import subprocess
import sys
import urllib.error
import urllib.request
from collections.abc import Iterator
from pathlib import Path

import pytest
from selenium import webdriver
from selenium.webdriver.chrome.service import Service
from selenium.webdriver.support.ui import WebDriverWait

from patience import PATIENCE, wait_until
from servers import free_port

from .nats_server import NatsServer

ROOT = Path(__file__).resolve().parents[2]
FRONT = ROOT / "examples" / "front"


@pytest.fixture(scope="module")
def front(tmp_path_factory) -> Iterator[dict[str, str]]:
    """Run the service and the ingress; the addresses of it, and of one for pages elsewhere.

    Each has the creds that gencreds derives from its source, and may do nothing else.
    """
    folder = tmp_path_factory.mktemp("front")
    ports = {"own": free_port(), "other": free_port()}
    keep = {name: value for name, value in os.environ.items() if name != "PYTEST_CURRENT_TEST"}
    gencreds = ["gencreds", str(FRONT), "--plane", "front", "--try", str(folder)]
    made = [sys.executable, "-m", "subtrie.cli", *gencreds]
    subprocess.run(made, env=keep, check=True, capture_output=True)
    server = NatsServer(folder / "broker")
    config = (folder / "nats.conf").read_text()
    config = config.replace("127.0.0.1:4222", f"127.0.0.1:{server.port}")
    (folder / "broker" / "nats.conf").write_text(config)
    server.start()
    keep |= {"MICROBUS_NATS": server.url, "MICROBUS_PLANE": "front", "PYTHONPATH": str(FRONT)}
    keep["ORIGINS"] = f"http://127.0.0.1:{ports['other']}"
    commands = [["-m", "subtrie.cli", "run", "guests"]]
    for port in ports.values():
        command = ["-m", "uvicorn", "web:app", "--host", "127.0.0.1", "--port", str(port)]
        commands.append(command)
    programs = []
    for number, command in enumerate(commands):
        with (folder / f"{number}.log").open("wb") as log:
            programs.append(
                subprocess.Popen(
                    [sys.executable, *command], cwd=folder, env=keep, stdout=log, stderr=log
                )
            )
    try:
        for number, text in enumerate(("guests.example: up", "running on", "running on")):
            log = folder / f"{number}.log"
            wait_until(lambda log=log, text=text: text in log.read_text(), f"{log}: no {text!r}")
        yield {name: f"http://127.0.0.1:{port}" for name, port in ports.items()} | {
            "log": str(folder / "1.log")
        }
        for program in programs:
            program.send_signal(signal.SIGTERM)
        codes = [program.wait(PATIENCE) for program in programs]
        assert codes[0] == 0
        assert all(code in (0, -signal.SIGTERM) for code in codes[1:])  # uvicorn's own way
        assert "web.example: down" in (folder / "1.log").read_text()
    finally:
        for program in programs:
            if program.poll() is None:
                program.kill()
                program.wait()
        server.stop()


@pytest.fixture(scope="module")
def chromium(tmp_path_factory) -> Iterator[webdriver.Chrome]:
    """A headless Chromium; without one the tests are skipped, except in CI."""
    binary, driver = shutil.which("chromium"), shutil.which("chromedriver")
    if binary is None or driver is None:
        message = "needs chromium and chromedriver (Debian: chromium, chromium-driver)"
        (pytest.fail if os.environ.get("CI") else pytest.skip)(message)
    options = webdriver.ChromeOptions()
    options.binary_location = str(binary)
    profile = tmp_path_factory.mktemp("profile")
    for flag in ("--headless", "--no-sandbox", "--disable-gpu", "--disable-background-networking",
                 f"--user-data-dir={profile}"):  # fmt: skip
        options.add_argument(flag)
    options.set_capability("goog:loggingPrefs", {"browser": "ALL"})
    chrome = webdriver.Chrome(options=options, service=Service(driver))
    chrome.set_script_timeout(PATIENCE)
    try:
        yield chrome
    finally:
        chrome.quit()


def run(chrome: webdriver.Chrome, script: str) -> object:
    """Return what an asynchronous function of the page returns; its error as text."""
    whole = f"""const done = arguments[arguments.length - 1];
    (async () => {{ {script} }})().then(done, (error) => done(String(error)))"""
    return chrome.execute_async_script(whole)


def wait_for(chrome: webdriver.Chrome, script: str) -> None:
    WebDriverWait(chrome, PATIENCE).until(lambda each: each.execute_script(f"return {script}"))


def test_a_browser_uses_a_service_through_the_ingress(front, chromium):
    chromium.get(f"{front['own']}/")
    wait_for(chromium, "document.body.dataset.ready === 'yes'")
    chromium.find_element("id", "name").send_keys("Änn <b>")
    chromium.find_element("css selector", "#arrive button").click()
    wait_for(chromium, "document.querySelectorAll('#guests li').length === 1")
    assert chromium.find_element("css selector", "#guests li").text == "Änn <b>"
    assert chromium.find_element("id", "seen").text == "Hello"

    # A form, a cookie, and a redirect back to the page.
    chromium.find_element("id", "login").click()
    wait_for(chromium, "document.querySelector('#seen')?.textContent === 'Welcome back'")
    assert chromium.current_url == f"{front['own']}/"

    # More than one message of the broker, of which none has more than 1 MiB.
    size = 3_000_000
    assert run(chromium, f"""
        const body = new Uint8Array({size});
        const sent = await fetch("/guests.example/picture", {{ method: "POST", body }});
        return (await sent.json()).bytes;
    """) == size  # fmt: skip
    assert [line for line in chromium.get_log("browser") if line["level"] == "SEVERE"] == []


def test_an_error_and_a_port_that_is_closed(front, chromium):
    chromium.get(f"{front['own']}/")
    assert run(chromium, """
        const answer = await fetch("/guests.example/guests", { method: "POST", body: "{}" });
        return [answer.status, (await answer.json()).err.error];
    """) == [400, "a guest has a name"]  # fmt: skip
    assert run(chromium, """
        return (await fetch("/guests.example:888/metrics")).status;
    """) == 404  # fmt: skip
    chromium.get_log("browser")


def test_only_pages_of_listed_origins_may_ask(front, chromium):
    """A page on another port is of another origin; that of the own ingress is not listed here."""
    ask = """
        const answer = await fetch("%s/guests.example/guests", {
            headers: { "X-Mark": "1" }, credentials: "include" });
        return Array.isArray(await answer.json());
    """
    chromium.get(f"{front['other']}/")
    assert run(chromium, ask % front["own"]) is True
    chromium.get(f"{front['own']}/")
    assert run(chromium, ask % front["other"]) == "TypeError: Failed to fetch"
    chromium.get_log("browser")


@pytest.mark.parametrize("path", ["..%2fweb.py", "%2e%2e/web.py", "../web.py", "..%5cweb.py"])
def test_the_page_is_all_that_is_served_of_the_folder(front, path):
    """L18, as a client sends it: nothing on the way makes the path shorter."""
    host, _, port = front["own"].removeprefix("http://").partition(":")
    with socket.create_connection((host, int(port)), PATIENCE) as client:
        head = f"GET /web.example/public/{path} HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n"
        client.sendall(head.encode())
        answer = b"".join(iter(lambda: client.recv(65_536), b""))
    assert answer.startswith(b"HTTP/1.1 404 ")
    assert b"ingress" not in answer
    with pytest.raises(urllib.error.HTTPError, match="404"):
        urllib.request.urlopen(f"{front['own']}/web.example/public/{path}", timeout=PATIENCE)


def test_the_log_of_the_ingress_says_that_it_is_up(front):
    """L10: in uvicorn a connector logged nothing."""
    assert "INFO subtrie.connector: web.example: up as " in Path(front["log"]).read_text()
