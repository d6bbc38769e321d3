"""The files of the page *Deploy*: what they say is consistent, and what they run runs here."""

from __future__ import annotations

import asyncio
import json
import os
import re
import shlex
import shutil
import signal
import subprocess
import sys
import tomllib
from pathlib import Path
from typing import Any

import pytest
import yaml
from markdown_it import MarkdownIt

from patience import PATIENCE, wait_until
from subtrie.connector import Connector

from .nats_server import NatsServer

ROOT = Path(__file__).resolve().parents[2]
FILES = {
    block.info.split("file=")[1]: block.content
    for block in MarkdownIt().parse((ROOT / "docs" / "deploy.md").read_text())
    if block.type == "fence" and "file=" in block.info
}
SLOW = """
import asyncio
@service.endpoint("GET", "/slow")
async def slow() -> str:
    open("slow", "w").close()
    while not os.path.exists("go-on"):
        await asyncio.sleep(0.01)
    return "done"
"""


@pytest.fixture(scope="module")
def deployment() -> dict[str, Any]:
    """The Deployment of Kubernetes."""
    found: dict[str, Any] = yaml.safe_load(FILES["kubernetes.yaml"])
    return found


def dockerfile() -> list[tuple[str, str]]:
    """Return the instructions of the image."""
    lines = [line for line in FILES["Dockerfile"].splitlines() if line]
    return [(line.partition(" ")[0], line.partition(" ")[2]) for line in lines]


def seconds(text: str) -> int:
    return int(re.fullmatch(r"(\d+)s", text)[1])


def test_the_image_installs_what_it_runs_and_is_not_root():
    known = {"FROM", "RUN", "WORKDIR", "COPY", "ENV", "USER", "CMD"}
    instructions = dockerfile()
    assert {name for name, _ in instructions} == known
    given = dict(instructions)
    extras = re.search(r"subtrie\[([a-z,]+)\]", given["RUN"])[1].split(",")
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
    assert set(extras) <= project["optional-dependencies"].keys()
    assert given["COPY"].split()[0] in FILES
    assert int(given["USER"]) > 0
    assert json.loads(given["CMD"])[:3] == ["subtrie", "run", "guests"]  # no shell in between


def test_compose_runs_the_image_with_a_probe_and_time_to_stop():
    services = yaml.safe_load(FILES["compose.yaml"])["services"]
    guests = services["guests"]
    assert guests["environment"]["MICROBUS_NATS"] == "nats://nats:4222"
    assert guests["depends_on"] == ["nats"]
    assert "ports" not in services["nats"]  # a broker without users
    assert guests["healthcheck"]["test"] == ["CMD", "subtrie", "health", "guests.example"]
    assert seconds(guests["stop_grace_period"]) >= 2 * 24 + 5  # the default budget, and some


def test_kubernetes_gives_secrets_budgets_and_probes_that_fit(deployment):
    pod = deployment["spec"]["template"]["spec"]
    (container,), (init,) = pod["containers"], pod["initContainers"]
    assert container["command"] == json.loads(dict(dockerfile())["CMD"])
    assert (
        deployment["spec"]["selector"]["matchLabels"]
        == (deployment["spec"]["template"]["metadata"]["labels"])
    )
    volumes = {each["name"] for each in pod["volumes"]}
    for each in (container, init):
        assert {mount["name"] for mount in each["volumeMounts"]} <= volumes
    assert pod["volumes"][0]["secret"]["defaultMode"] == 0o400
    assert pod["securityContext"]["runAsUser"] == pod["securityContext"]["fsGroup"] > 0
    env = {each["name"]: each.get("value") for each in container["env"]}
    page = (ROOT / "docs" / "environment.md").read_text()
    assert [name for name in env if name.startswith("MICROBUS_") and f"`{name}`" not in page] == []
    stop = seconds(env["MICROBUS_SHUTDOWN_TIME_BUDGET"])
    assert pod["terminationGracePeriodSeconds"] >= 2 * stop + 5
    start = container["startupProbe"]
    assert start["periodSeconds"] * start["failureThreshold"] > seconds(
        env["MICROBUS_STARTUP_TIME_BUDGET"]
    )
    for name in ("startupProbe", "livenessProbe"):
        assert container[name]["timeoutSeconds"] > 1
        assert "subtrie health guests.example" in container[name]["exec"]["command"][-1]


def in_folder(command: list[str], folder: Path) -> list[str]:
    """Return a command of a container whose mounts are folders of the test."""
    moved = [re.sub(r"(?<![\w.])/(secret|creds)/", rf"{folder}/\1/", each) for each in command]
    if moved[0] == "subtrie":
        moved[:1] = [sys.executable, "-m", "subtrie.cli"]
    return moved


async def test_what_the_pod_runs_starts_answers_its_probe_and_stops_in_time(deployment, tmp_path):
    """The commands and the environment of the manifest, on a real broker with accounts."""
    pod = deployment["spec"]["template"]["spec"]
    (container,), (init,) = pod["containers"], pod["initContainers"]
    for name in ("app", "secret", "creds", "caller"):
        (tmp_path / name).mkdir()
    (tmp_path / "app" / "guests.py").write_text(FILES["guests.py"] + SLOW)
    environment = {name: text for name, text in os.environ.items() if "MICROBUS" not in name}
    environment.pop("PYTEST_CURRENT_TEST", None)
    bin_folder = str(Path(sys.executable).parent)
    environment["PATH"] = f"{bin_folder}{os.pathsep}{environment['PATH']}"

    gencreds = [sys.executable, "-m", "subtrie.cli", "gencreds"]
    for source, folder in (("app/guests.py", "secret"), (None, "secret")):
        given = [source, "--plane", "prod"] if source else []
        subprocess.run(
            [*gencreds, *given, "--try", folder], cwd=tmp_path, env=environment, check=True,
            capture_output=True,
        )  # fmt: skip
    (tmp_path / "secret" / "nats.creds").rename(tmp_path / "caller" / "nats.creds")
    server = NatsServer(tmp_path / "broker")
    config = (tmp_path / "secret" / "nats.conf").read_text()
    config = config.replace("127.0.0.1:4222", f"127.0.0.1:{server.port}")
    (tmp_path / "broker" / "nats.conf").write_text(config)
    server.start()

    subprocess.run(in_folder(init["command"], tmp_path), check=True)
    creds = tmp_path / "creds" / "guests.example_nats.creds"
    assert creds.stat().st_mode & 0o777 == 0o400
    given = {each["name"]: each.get("value") for each in container["env"]}
    given |= {"PYTHONPATH": str(tmp_path / "app"), "MICROBUS_NATS": server.url}
    given["POD_NAME"] = "guests-5b7f9-x2x4z"
    environment |= given
    log = tmp_path / "log"
    with log.open("wb") as written:
        program = subprocess.Popen(
            in_folder(container["command"], tmp_path), cwd=tmp_path / "creds", env=environment,
            stdout=written, stderr=written,
        )  # fmt: skip

    def probe(name: str, timeout: float) -> int:
        """Run a probe as it stands, with more time: the tests share the machine."""
        command = list(container[name]["exec"]["command"])
        command[-1] += f" --timeout {timeout:g}"
        return subprocess.run(
            command, cwd=tmp_path / "creds", env=environment, capture_output=True, check=False
        ).returncode

    try:
        await asyncio.to_thread(wait_until, lambda: "up as" in log.read_text())
        assert await asyncio.to_thread(probe, "startupProbe", PATIENCE) == 0
        assert await asyncio.to_thread(probe, "livenessProbe", PATIENCE) == 0
        os.chdir(tmp_path / "caller")
        caller = Connector(
            "caller.example", plane="prod", nats=server.url, creds="nats.creds",
            short_circuit=False, deployment="TESTING",
        )  # fmt: skip
        async with caller:
            url = "https://guests.example/slow"
            asking = asyncio.ensure_future(caller.request("GET", url, timeout=PATIENCE))
            await asyncio.to_thread(wait_until, (tmp_path / "creds" / "slow").exists)
            program.send_signal(signal.SIGTERM)
            (tmp_path / "creds" / "go-on").touch()
            assert (await asking).text == "done"  # it is not lost
        within = pod["terminationGracePeriodSeconds"]
        assert await asyncio.to_thread(program.wait, within) == 0
        assert await asyncio.to_thread(probe, "livenessProbe", 5) == 1
    finally:
        if program.poll() is None:
            program.kill()
            program.wait()
        server.stop()
    records = [json.loads(line) for line in log.read_text().splitlines()]
    assert all({"level", "logger", "message", "time"} <= record.keys() for record in records)
    assert records[-1]["message"] == "guests.example: down"


def test_the_manifest_and_the_probe_are_valid_shell_and_yaml_for_other_tools():
    """The command of a probe is a line of a shell; ``kubectl`` reads the manifest if installed."""
    command = yaml.safe_load(FILES["kubernetes.yaml"])["spec"]["template"]["spec"]["containers"][0]
    line = command["livenessProbe"]["exec"]["command"][-1]
    assert shlex.split(line)[:3] == ["exec", "subtrie", "health"]
    subprocess.run(["sh", "-n", "-c", line], check=True)
    kubectl = shutil.which("kubectl")
    if kubectl is None:
        pytest.skip("kubectl is not installed")
    given = [kubectl, "patch", "--local", "--dry-run=client", "-o", "name", "-f", "-", "-p", "{}"]
    done = subprocess.run(
        given, input=FILES["kubernetes.yaml"], capture_output=True, text=True, check=False
    )
    assert (done.returncode, done.stdout) == (0, "deployment.apps/guests\n"), done.stderr
