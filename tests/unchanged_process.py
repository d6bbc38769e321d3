"""A command that runs in the process of a test leaves the process as it was.

Others use it after it: ``subtrie tour`` runs six, and a program may run some of its own. The
exception is ``subtrie run``, which is the program.
"""

from __future__ import annotations

import contextvars
import logging
import os
import signal
import sys
import tempfile
import threading
from collections.abc import Iterator
from typing import Any

import pytest

#: What a session of Spark has while it lives, or a driver serves.
_OF_SPARK = ("PYSPARK", "SPARK", "subtrie-ship-", "subtrie-files-", "subtrie-carried-")
#: Threads that the connectors of a process share.
_SHARED = ("subtrie-handler", "subtrie-connections")
_LOGS = ("", "subtrie", "nats", "asyncio")


def state(temporary: str) -> dict[str, Any]:
    """Return what a command must not change."""
    logs = {name: logging.getLogger(name) for name in _LOGS}
    handlers = {each: signal.getsignal(each) for each in (signal.SIGINT, signal.SIGTERM)}
    threads = {each.name for each in threading.enumerate() if each.name.startswith("subtrie")}
    return {
        "working directory": os.getcwd(),
        "environment": {k: v for k, v in os.environ.items() if not k.startswith(_OF_SPARK)},
        "path": list(sys.path),
        "signals": {
            each: found
            for each, found in handlers.items()
            if not str(getattr(found, "__module__", "")).startswith("pyspark")
        },
        "logs": {name: (log.level, log.propagate, [*log.handlers]) for name, log in logs.items()},
        "context": {each.name for each in contextvars.copy_context()},
        "threads": {name for name in threads if not name.startswith(_SHARED)},
        "files": sorted(each for each in os.listdir(temporary) if not each.startswith(_OF_SPARK)),
    }


@pytest.fixture(scope="session", autouse=True)
def commands_leave_the_process_as_it_was(
    tmp_path_factory: pytest.TempPathFactory,
) -> Iterator[None]:
    """Compare the state of the process before and after each command that runs in it."""
    try:
        from click.testing import CliRunner
    except ImportError:
        yield
        return
    temporary, invoke = str(tmp_path_factory.mktemp("temporary")), CliRunner.invoke

    def checked(*arguments: Any, **named: Any) -> Any:
        words = named.get("args", arguments[2] if len(arguments) > 2 else None)
        if words and words[0] == "run":
            return invoke(*arguments, **named)
        with pytest.MonkeyPatch.context() as patch:
            if tempfile.tempdir is None or tempfile.tempdir == usual:
                patch.setattr(tempfile, "tempdir", temporary)
            before = state(temporary)
            done = invoke(*arguments, **named)
            after = state(temporary)
        changed = {key: (before[key], after[key]) for key in before if before[key] != after[key]}
        assert not changed, f"the command changed its process: {changed}"
        return done

    usual = tempfile.gettempdir()
    CliRunner.invoke = checked  # type: ignore[method-assign]
    yield
    CliRunner.invoke = invoke  # type: ignore[method-assign]
