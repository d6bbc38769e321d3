"""``make`` lists everything that is missing at once, each with the command to install it."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
TOOLS = ("sh", "cut", "sed", "grep", "readlink", "dirname", "cat")


class Machine:
    """A crafted PATH with the basic tools, and the compilers and runtimes that a test adds."""

    def __init__(self, folder: Path) -> None:
        self.bin = folder / "bin"
        self.bin.mkdir()
        self.environment = {"PATH": str(self.bin), "HOME": str(folder)}
        self.clone = folder / "clone"
        (self.clone / "tools").mkdir(parents=True)
        shutil.copy(ROOT / "tools/preflight", self.clone / "tools/preflight")
        for tool in TOOLS:
            found = shutil.which(tool)
            assert found, tool
            (self.bin / tool).symlink_to(found)

    def script(self, name: str, text: str) -> None:
        path = self.bin / name
        path.write_text(f"#!{shutil.which('sh')}\n{text}\n")
        path.chmod(0o755)

    def python(self, answer: str = "3.12 venv", name: str = "python3") -> None:
        self.script(name, f"echo '{answer}'")

    def rust(self, version: str = "1.95.0") -> None:
        self.script("cargo", "exit 0")
        self.script("cc", "exit 0")
        self.script("rustc", f"echo 'rustc {version} (abc 2026-01-01)'")

    def java(self, version: str = "17.0.15", modules: str = "java.base jdk.incubator.vector"):
        home = self.bin.parent / f"jdk-{version}"
        (home / "bin").mkdir(parents=True)
        (home / "release").write_text(f'JAVA_VERSION="{version}"\nMODULES="{modules}"\n')
        (home / "bin/java").write_text("#!/nowhere\n")
        (home / "bin/java").chmod(0o755)
        (self.bin / "java").unlink(missing_ok=True)
        (self.bin / "java").symlink_to(home / "bin/java")
        return home

    def preflight(self, target: str = "demo", **more: str) -> subprocess.CompletedProcess[str]:
        return subprocess.run(
            ["sh", "tools/preflight", target],
            cwd=self.clone,
            env=self.environment | more,
            capture_output=True,
            text=True,
            timeout=20,
        )


@pytest.fixture
def machine(tmp_path: Path) -> Machine:
    return Machine(tmp_path)


def test_a_complete_machine_passes(machine):
    machine.python()
    machine.rust()
    machine.java()
    said = machine.preflight()
    assert (said.returncode, said.stdout, said.stderr) == (0, "python3\n", "")


def test_an_empty_machine_gets_the_whole_list_at_once(machine):
    machine.script("apt-get", "exit 0")
    said = machine.preflight()
    assert (said.returncode, said.stdout) == (2, "")
    assert said.stderr.startswith("make demo cannot start yet:\n")
    assert "Python 3.11 or newer\n      sudo apt-get install -y python3 python3-venv" in said.stderr
    assert "Rust 1.89 or newer (cargo and rustc)\n      curl " in said.stderr
    assert "sudo apt-get install -y openjdk-17-jre-headless" in said.stderr
    assert said.stderr.endswith("Then run the same command again.\n")


@pytest.mark.parametrize(
    ("manager", "command"),
    [
        ("brew", "brew install openjdk@17"),
        ("dnf", "sudo dnf install -y java-17-openjdk-headless"),
        (None, "https://adoptium.net/"),
    ],
)
def test_the_command_fits_the_machine(machine, manager, command):
    machine.python()
    machine.rust()
    if manager:
        machine.script(manager, "exit 0")
    assert command in machine.preflight().stderr


@pytest.mark.parametrize("version", ["3.10", "3.6", "2.7"])
def test_python_too_old(machine, version):
    machine.python(f"{version} venv")
    machine.rust()
    machine.java()
    said = machine.preflight()
    assert said.returncode == 2
    assert f"Python 3.11 or newer (python3 is {version})" in said.stderr


def test_a_newer_python_is_preferred_to_an_old_one(machine):
    machine.python("3.9 venv")
    machine.python("3.12 venv", name="python3.12")
    machine.rust()
    machine.java()
    assert machine.preflight().stdout == "python3.12\n"


def test_python_without_venv(machine):
    machine.script("apt-get", "exit 0")
    machine.python("3.11 bare")
    machine.rust()
    machine.java()
    said = machine.preflight()
    assert said.returncode == 2
    assert "sudo apt-get install -y python3.11-venv" in said.stderr


@pytest.mark.parametrize(
    ("version", "fits"), [("1.88.1", False), ("1.89.0", True), ("2.0.0-nightly", True)]
)
def test_rust_version(machine, version, fits):
    machine.python()
    machine.rust(version)
    machine.java()
    said = machine.preflight()
    assert said.returncode == (0 if fits else 2)
    assert fits or f"Rust 1.89 or newer (rustc is {version})" in said.stderr


def test_old_rust_of_rustup_is_updated_by_rustup(machine):
    machine.python()
    machine.rust("1.70.0")
    machine.script("rustup", "exit 0")
    machine.java()
    assert "rustup update stable" in machine.preflight().stderr


def test_rust_that_is_not_on_the_path(machine, tmp_path):
    machine.python()
    machine.java()
    home = tmp_path / "cargo"
    (home / "bin").mkdir(parents=True)
    (home / "bin/cargo").write_text("")
    (home / "bin/cargo").chmod(0o755)
    said = machine.preflight(CARGO_HOME=str(home))
    assert f'Rust is installed but not on PATH\n      . "{home}/env"' in said.stderr


def test_no_linker(machine):
    machine.python()
    machine.rust()
    (machine.bin / "cc").unlink()
    machine.java()
    assert "a C linker for Rust (cc)" in machine.preflight().stderr


@pytest.mark.parametrize(
    ("version", "fits"),
    [("1.8.0_402", False), ("11.0.22", False), ("17", True), ("17.0.15", True), ("21.0.2", True)],
)
def test_java_version(machine, version, fits):
    machine.python()
    machine.rust()
    machine.java(version)
    said = machine.preflight()
    assert said.returncode == (0 if fits else 2), said.stderr
    assert fits or f"java on PATH is {version}" in said.stderr


def test_java_home_takes_precedence_over_the_path(machine):
    machine.python()
    machine.rust()
    old = machine.java("11.0.2")
    machine.java("17.0.15")
    assert machine.preflight().returncode == 0
    said = machine.preflight(JAVA_HOME=str(old))
    assert said.returncode == 2
    assert f"JAVA_HOME={old} is 11.0.2" in said.stderr
    said = machine.preflight(JAVA_HOME="/nowhere")
    assert "JAVA_HOME=/nowhere has no bin/java" in said.stderr


def test_java_without_a_release_file_is_started_for_its_version(machine):
    machine.python()
    machine.rust()
    machine.script("java", """echo 'openjdk version "11.0.22" 2024-01-16' >&2""")
    assert "java on PATH is 11.0.22" in machine.preflight().stderr
    machine.script("java", """echo 'openjdk version "21" 2023-09-19' >&2""")
    assert machine.preflight().returncode == 0


def test_java_without_the_vector_module(machine):
    machine.python()
    machine.rust()
    machine.java(modules="java.base java.logging")
    said = machine.preflight()
    assert said.returncode == 2
    assert "lacks the module jdk.incubator.vector" in said.stderr


def test_only_what_the_target_needs(machine):
    machine.python()
    machine.rust()
    assert machine.preflight("bench").returncode == 0
    said = machine.preflight("check")
    assert "rustup component add rustfmt" in said.stderr
    assert "rustup component add clippy" in said.stderr


@pytest.mark.skipif(sys.platform == "win32", reason="the tools are for POSIX shells")
def test_it_starts_nothing_that_takes_long(machine):
    """A JVM, cargo and pip take a second and more: none is started to ask for its version."""
    machine.python()
    machine.rust()
    java = machine.java() / "bin/java"
    for path in (java, *(machine.bin / name for name in ("cargo", "cc", "pip", "pip3", "rustup"))):
        path.write_text(f"#!{shutil.which('sh')}\necho {path.name} >> {machine.clone}/started\n")
        path.chmod(0o755)
    for target in ("demo", "bench", "check"):
        machine.preflight(target)
    assert machine.preflight().returncode == 0
    assert not (machine.clone / "started").exists()


def test_make_stops_before_any_long_step(machine, tmp_path):
    """A target of the Makefile fails with the list of what is missing, and creates nothing."""
    make = shutil.which("make")
    assert make
    shutil.copy(ROOT / "Makefile", machine.clone / "Makefile")
    shutil.copy(ROOT / "tools/bootstrap", machine.clone / "tools/bootstrap")
    said = subprocess.run(
        [make, "demo"],
        cwd=machine.clone,
        env=machine.environment,
        capture_output=True,
        text=True,
        timeout=20,
    )
    assert said.returncode != 0
    assert "make demo cannot start yet:" in said.stderr
    assert not os.path.exists(machine.clone / ".venv")
