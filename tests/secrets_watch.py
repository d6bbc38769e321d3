"""Check that no seed and no password of the tests is printed, logged or raised.

Hooks of pytest for the whole suite: what each test printed and logged and how it failed, every
refusal of the package as it is made, every ``Creds`` as text, and all that commands print, in this
process or in another. A test in which a secret is found fails. ``SECRETS`` are the password the
tests use, and generated NKey seeds; also, nothing may look like a seed.
"""

from __future__ import annotations

import contextlib
import re
import subprocess
from collections.abc import Iterator
from typing import Any

import pytest

import subtrie

#: The password of the tests: no other is to be used where one is kept secret.
PASSWORD = "hidden-word"

#: The password, and each generated seed.
SECRETS = {PASSWORD}

#: Any of them: a seed of NATS is S, the kind, and base32.
SECRET = re.compile(rf"{PASSWORD}|S[AUOXNC][A-Z2-7]{{56}}")

#: What was found during the test that runs.
_found: list[str] = []


def leaked(text: str) -> list[str]:
    """The secrets in a text."""
    return sorted(set(SECRET.findall(text)))


def _look(where: str, text: object) -> None:
    if isinstance(text, bytes):
        text = text.decode(errors="replace")
    if isinstance(text, str) and leaked(text):
        _found.append(where)


def _watch_seeds() -> None:
    import nkeys

    make = nkeys.encode_seed

    def recorded(src: bytes, prefix: int) -> bytes:
        seed: bytes = make(src, prefix)
        assert SECRET.fullmatch(seed.decode())  # so that the search finds it
        SECRETS.add(seed.decode())
        return seed

    nkeys.encode_seed = recorded


def _watch_refusals() -> None:
    before = subtrie.SubtrieError.__init__

    def noted(self: Any, *arguments: object, **named: object) -> None:
        before(self, *arguments, **named)
        shown = [repr(arguments), repr(named), repr(vars(self))]
        with contextlib.suppress(AttributeError):  # of a class below that is not whole yet
            shown += [str(self), repr(self)]
        _look("a refusal", "\n".join(shown))

    subtrie.SubtrieError.__init__ = noted  # type: ignore[method-assign]


def _watch_creds() -> None:
    from subtrie.gencreds._sign import Creds

    before = Creds.__init__

    def shown(self: Any, *arguments: Any, **named: Any) -> None:
        before(self, *arguments, **named)
        _look("creds as text", f"{self!r} {self}")

    Creds.__init__ = shown  # type: ignore[method-assign]


def _watch_commands() -> None:
    from click.testing import CliRunner

    invoke = CliRunner.invoke

    def heard(self: Any, *arguments: Any, **named: Any) -> Any:
        result = invoke(self, *arguments, **named)
        _look("what a command printed", result.output)
        _look("what a command raised", repr(result.exception))
        return result

    CliRunner.invoke = heard  # type: ignore[method-assign]
    finish = subprocess.Popen.communicate

    def ended(self: Any, *arguments: Any, **named: Any) -> Any:
        both = finish(self, *arguments, **named)
        for text in both:
            _look("what a process printed", text)
        return both

    subprocess.Popen.communicate = ended  # type: ignore[method-assign]


def pytest_configure() -> None:
    for watch in (_watch_seeds, _watch_refusals, _watch_creds, _watch_commands):
        try:
            watch()
        except ImportError:  # without the optional packages there is nothing of it to watch
            continue


@pytest.hookimpl(hookwrapper=True)
def pytest_runtest_makereport(item: pytest.Item) -> Iterator[None]:
    """Fail the test that showed a secret, in any of its phases."""
    outcome = yield
    report = outcome.get_result()
    _look("printed or logged", f"{report.capstdout}\n{report.capstderr}\n{report.caplog}")
    _look("the report of a failure", report.longreprtext)
    if _found:
        where = ", ".join(sorted(set(_found)))
        _found.clear()
        report.outcome = "failed"
        report.longrepr = f"a secret is shown: {where}"
        report.sections = []
