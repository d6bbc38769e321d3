"""Mutants of the core: each is compiled into the program of the core's tests, which judges it.

cargo-mutants lists the mutants. They are applied to one copy of the tree that is compiled
incrementally and not optimised, so that most are judged within seconds; cargo-mutants itself
compiles the tests with the profile of the project and runs each of them to its end.
"""

from __future__ import annotations

import json
import os
import resource
import shutil
import signal
import subprocess
import sys
import threading
from dataclasses import dataclass
from pathlib import Path
from typing import Any

#: Seconds that a mutant may be compiled, and that one of its runs may take: so long that a busy
#: machine does not meet them. What never ends meets its limit of CPU time first.
_COMPILE, _RUN = 1800.0, 900.0
#: Bytes of address space of a run.
_MEMORY = 6 << 30


@dataclass(frozen=True)
class Stage:
    """Tests of one program.

    It is ``core`` (``tests/core``), ``nats`` (``crates/nats/tests``), ``lib`` (the tests inside
    ``src``), or ``extension``: the Python tests that the filters name, on the native engine.
    """

    program: str
    filters: tuple[str, ...]
    #: Seconds of CPU time, some times what the tests need without a mutant.
    cpu: int = 30
    #: Whether the program is optimised: what tests for a minute otherwise, and few mutants reach.
    optimised: bool = False


def possible(root: Path, globs: tuple[str, ...]) -> list[dict[str, Any]]:
    """Return what cargo-mutants can make of the files, sorted by name."""
    files = [word for glob in globs for word in ("--file", glob)]
    listed = subprocess.run(
        ["cargo-mutants", "mutants", "--workspace", "--list", "--json", "--diff", *files],
        cwd=root, capture_output=True, text=True, check=True,
    )  # fmt: skip
    found = {each["name"]: each for each in json.loads(listed.stdout)}
    return [found[name] for name in sorted(found)]


class Judge:
    """One copy of the tree, in which one mutant after the other is compiled and tested."""

    def __init__(self, folder: Path, target: Path) -> None:
        self._folder = folder
        self._environment = {
            **os.environ,
            "CARGO_TARGET_DIR": str(target),
            "CARGO_INCREMENTAL": "1",
            "CARGO_PROFILE_DEV_DEBUG": "false",
            "PYTHONPATH": str(folder / "python"),
            "PYTHONDONTWRITEBYTECODE": "1",
            "PROPTEST_FAILURE_PERSISTENCE": "off",
        }
        # The tests need no shared library, and to link one takes longer than to compile a mutant.
        manifest = folder / "Cargo.toml"
        text = manifest.read_text(encoding="utf-8").replace('["cdylib", "rlib"]', '["rlib"]')
        manifest.write_text(text, encoding="utf-8")

    def verdict(self, mutant: dict[str, Any] | None, stages: tuple[Stage, ...]) -> str:
        """Return ``killed``, ``survived``, ``timeout`` or ``not viable``; None: no mutation."""
        if mutant is None:
            return self._judged(stages)
        path = self._folder / mutant["file"]
        original = path.read_text(encoding="utf-8")
        subprocess.run(["patch", "--quiet", str(path)], input=mutant["diff"], text=True, check=True)
        try:
            return self._judged(stages)
        finally:
            path.write_text(original, encoding="utf-8")

    def _judged(self, stages: tuple[Stage, ...]) -> str:
        programs: dict[tuple[str, bool], str] = {}
        for stage in stages:
            kind = (stage.program, stage.optimised)
            if kind not in programs:
                made = self._compiled(*kind)
                if made is None:
                    return "not viable"
                programs[kind] = made
            passed = self._passed(programs[kind], stage)
            if passed is not True:
                return "timeout" if passed is None else "killed"
        return "survived"

    def _compiled(self, program: str, optimised: bool) -> str | None:
        if program == "extension":
            words = ["build", "-p", "subtrie-python"]
        else:
            target = ["--lib"] if program == "lib" else ["--test", program]
            package = "subtrie-nats" if program == "nats" else "subtrie"
            words = ["test", "--no-run", "-p", package, *target]
        level = "1" if optimised else "0"
        levels = {f"CARGO_PROFILE_{name}_OPT_LEVEL": level for name in ("DEV", "TEST")}
        done = subprocess.run(
            ["cargo", *words, "--locked", "--message-format=json"],
            cwd=self._folder, env=self._environment | levels, capture_output=True, text=True,
            check=False, timeout=_COMPILE,
        )  # fmt: skip
        if "linking with" in done.stderr:
            raise SystemExit("a mutant could not be linked:\n" + done.stderr[-2000:])
        if done.returncode:
            return None
        rows = [json.loads(line) for line in done.stdout.splitlines() if line.startswith("{")]
        if program != "extension":
            return str(next(row["executable"] for row in rows if row.get("executable")))
        names = [
            row["filenames"][0]
            for row in rows
            if row["reason"] == "compiler-artifact" and row["target"]["name"] == "subtrie_python"
        ]
        # A loaded library must not be written to, so the copy takes its place.
        library = self._folder / "python" / "subtrie" / "_subtrie.abi3.so"
        shutil.copy2(names[-1], library.with_suffix(".new"))
        library.with_suffix(".new").replace(library)
        return sys.executable

    def _passed(self, program: str, stage: Stage) -> bool | None:
        """Run tests up to the first that fails: None if they do not end."""

        def limited() -> None:
            resource.setrlimit(resource.RLIMIT_CPU, (stage.cpu, stage.cpu))
            resource.setrlimit(resource.RLIMIT_AS, (_MEMORY, _MEMORY))

        options = ("-m", "pytest", "-q", "-x", "-p", "no:cacheprovider", "-k", "not reference")
        with subprocess.Popen(
            [program, *(options if stage.program == "extension" else ()), *stage.filters],
            cwd=self._folder, env=self._environment, text=True, preexec_fn=limited,
            stdout=subprocess.PIPE, stderr=subprocess.DEVNULL,
        ) as run:  # fmt: skip
            assert run.stdout is not None
            alarm = threading.Timer(_RUN, run.kill)
            alarm.start()
            failed = any(" FAILED" in line for line in run.stdout)
            run.kill() if failed else run.wait()
            alarm.cancel()
        if failed:
            return False
        # The limit of CPU time, or the alarm.
        if run.returncode in (-signal.SIGXCPU, -signal.SIGKILL):
            return None
        return run.returncode == 0


def tree_for(root: Path, copy: Any) -> tuple[Path, Path]:
    """Make the copy of the tree anew; return it and the target directory, which is kept."""
    kept = Path(os.environ.get("CARGO_TARGET_DIR", root / "target")) / "mutants"
    folder = kept / "tree"
    # A compilation that was cut off leaves objects that cannot be linked.
    shutil.rmtree(kept / "build" / "debug" / "incremental", ignore_errors=True)
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir(parents=True)
    copy(folder)
    # The copies are as old as the originals, and would be taken for compiled already.
    for file in (folder / "src" / "lib.rs", *folder.glob("crates/*/src/lib.rs")):
        file.touch()
    return folder, kept / "build"
