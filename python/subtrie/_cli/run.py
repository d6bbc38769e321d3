"""``subtrie run``: run the connectors of a Python module, and start them again when it changes."""

from __future__ import annotations

import inspect
import logging
import os
import signal
import subprocess
import sys
import time
from collections.abc import Iterable, Iterator
from pathlib import Path

import click

from ..connector import Connector, JSONFormatter
from ..connector import run as run_connectors
from ..connector._run import LOG_FORMAT
from .user_module import imported, told

_LOOK_EVERY = 0.3  # seconds between two looks at the files
_STOP_LIMIT = 30.0  # seconds for a program to stop
_SKIPPED = frozenset(("__pycache__", "node_modules", "venv", "site-packages", "target"))


@click.command()
@click.argument("targets", nargs=-1, required=True, metavar="MODULE[:NAME]...")
@click.option("--reload", is_flag=True, help="Start again when a .py file below here changes.")
@click.option(
    "--log-level",
    type=click.Choice(["debug", "info", "warning", "error"]),
    default="info",
    show_default=True,
    help="The least level of what is logged to standard error.",
)
@click.option(
    "--log-format",
    type=click.Choice(["text", "json"]),
    default="text",
    show_default=True,
    help="How it is logged; json writes an object a line.",
)
def run(targets: tuple[str, ...], reload: bool, log_level: str, log_format: str) -> None:
    r"""Run connectors until interrupted.

    A TARGET is a module of the working directory or of an installed package, with the name of a
    connector, of a list of connectors, or of a function without parameters that returns them.
    Without a name, every connector of the module runs. They start together; the broker and the
    plane come from the environment (MICROBUS_NATS, MICROBUS_PLANE).

    Exit code 0 after SIGINT or SIGTERM, 1 if a module fails or a connector cannot start, 2 if a
    target is not found.

    \b
    Examples:
      subtrie run shop.services:orders shop.services:stock
      MICROBUS_NATS=nats://127.0.0.1:4222 subtrie run app --reload
    """
    if reload:
        options = ["--log-level", log_level, "--log-format", log_format]
        raise SystemExit(_run_again_and_again([*targets, *options]))
    logging.basicConfig(level=log_level.upper(), format=LOG_FORMAT)
    if log_format == "json":
        for handler in logging.getLogger().handlers:
            handler.setFormatter(JSONFormatter())
    logging.getLogger("nats").setLevel(logging.CRITICAL)  # the connector reports what matters
    sys.path.insert(0, os.getcwd())
    connectors = list(dict.fromkeys(each for target in targets for each in _connectors(target)))
    run_connectors(*connectors)


def _connectors(target: str) -> Iterator[Connector]:
    """Yield the connectors that a target names."""
    module_name, _, name = target.partition(":")
    value: object = imported(module_name)
    if not name:
        value = [each for each in vars(value).values() if isinstance(each, Connector)]
    for part in filter(None, name.split(".")):
        if not hasattr(value, part):
            raise click.UsageError(f"{module_name!r} has no {name!r}")
        value = getattr(value, part)
    if inspect.iscoroutinefunction(value):
        owners = [name for name, each in vars(imported(module_name)).items()
                  if isinstance(each, Connector)]  # fmt: skip
        names = f": the connectors of the module are {', '.join(owners)}" if owners else ""
        raise click.UsageError(f"{target!r} is a handler, not a connector{names}")
    if callable(value):
        with told():
            value = value()
    found = [value] if isinstance(value, Connector) else value
    if not isinstance(found, Iterable):
        raise click.UsageError(f"{target!r} is not a connector, but {type(value).__name__}")
    listed = list(found)
    if not listed or not all(isinstance(each, Connector) for each in listed):
        raise click.UsageError(f"{target!r} names no connectors")
    yield from listed


# --- reload


def _run_again_and_again(arguments: list[str]) -> int:
    """Run this command without ``--reload``, and start it again when a source file changes."""
    stopped = False

    def stop(*_: object) -> None:
        nonlocal stopped
        stopped = True

    for number in (signal.SIGINT, signal.SIGTERM):
        signal.signal(number, stop)
    while True:
        files = _files()
        program = subprocess.Popen([sys.executable, "-m", "subtrie.cli", "run", *arguments])
        changed = ""
        while not stopped and not changed:
            time.sleep(_LOOK_EVERY)
            changed = _difference(files, _files())
        _end(program)
        if stopped:
            return 0
        click.echo(f"{changed} changed: starting again", err=True)


def _end(program: subprocess.Popen[bytes]) -> None:
    """End a program: first by SIGTERM, so that running handlers finish."""
    program.terminate()  # which does nothing to one that has ended
    try:
        program.wait(_STOP_LIMIT)
    except subprocess.TimeoutExpired:
        program.kill()
        program.wait()


def _files() -> dict[str, int]:
    """Return the time of the last change of each source file below the working directory."""
    found: dict[str, int] = {}
    for folder, folders, names in os.walk("."):
        folders[:] = [
            each
            for each in folders
            if not each.startswith(".")
            and each not in _SKIPPED
            and not Path(folder, each, "pyvenv.cfg").exists()
        ]
        for name in names:
            if name.endswith(".py"):
                path = os.path.join(folder, name)
                try:
                    found[path] = os.stat(path).st_mtime_ns
                except OSError:  # it was removed meanwhile
                    continue
    return found


def _difference(before: dict[str, int], now: dict[str, int]) -> str:
    """Return a file that was changed, added or removed; empty if there is none."""
    for path in before.keys() | now.keys():
        if before.get(path) != now.get(path):
            return os.path.relpath(path)
    return ""
