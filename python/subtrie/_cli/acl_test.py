"""``subtrie acl test``: check permissions against a file of expected decisions."""

from __future__ import annotations

import dataclasses
import shlex
from collections.abc import Callable
from pathlib import Path
from typing import Any, NamedTuple

import click

from .._core.errors import SubtrieError
from .._core.file_errors import MAX_MISTAKES
from .._findings.finding import Finding
from .._findings.junit import Passed
from ..acl import Decision, Permissions, decided
from ..acl._load.files import read_text
from .anonymous import with_reason
from .format_option import TEXT, by_format
from .output_formats import print_findings
from .permission_files import FILE, SOURCE, BadFile, UserSelection, bad_file, by_model, of_user
from .stream import in_words_of_the_command, printable, say, say_good


class _Expectation(NamedTuple):
    """One line of a file of expectations, and how it was decided."""

    line: int
    words: list[str]
    expected: bool
    decision: Decision

    @property
    def right(self) -> bool:
        return self.decision.determined and self.expected == bool(self.decision)

    @property
    def text(self) -> str:
        return " ".join(self.words)


class _Asked(NamedTuple):
    """The permissions that lines are about, and the decision about publishing with mappings."""

    permissions: Permissions
    publish: Callable[[Permissions, str, str, str | None], Decision]

    @classmethod
    def of(cls, file: Path, selection: UserSelection) -> _Asked:
        """Return those of one user of a file."""
        return cls(selection.load_determined(file), selection.may_publish(file))


@click.command()
@click.argument("expected", type=FILE)
@click.argument("file", type=SOURCE, required=False)
@of_user
@by_model
@by_format
def test(
    expected: Path,
    file: Path | None,
    selection: UserSelection,
    model: str | None,
    form: str,
) -> None:
    r"""Check FILE against the expected decisions in EXPECTED.

    EXPECTED holds lines such as 'yes publish orders.new', 'no subscribe orders.> workers',
    'yes receive orders.new orders.*'. A line 'of FILE [USER]' names the permissions for the lines
    below it, relative to EXPECTED; then FILE may be omitted. A line holds if both models agree with
    it; one that begins with 'strict' or 'broker' ('broker yes subscribe orders.*') asks that model
    alone. Blank lines and lines that begin with '#' are ignored. Exit code 1 if a decision differs,
    or is not determined.

    \b
    Examples:
      subtrie acl test expected.txt nats.conf
      subtrie acl test expected.txt orders.creds --format junit
    """
    asked = _asked(expected, file, selection, model)
    failed = [each for each in asked if not each.right]
    if form == TEXT:
        _print(failed)
    else:
        name = str(expected)
        rows = [
            Finding("unexpected", "error", f"{e.text}: {e.decision.explanation}",
                    file=name, line=e.line)
            for e in failed
        ]  # fmt: skip
        passed = [Passed(f"{name}:{e.line}", e.text) for e in asked if e.right]
        headings = ("line", "expectation", "as expected", "why")
        cells = (
            (str(e.line), e.text, "yes" if e.right else "no", e.decision.explanation) for e in asked
        )
        print_findings(
            form, "subtrie acl test", rows,
            objects=map(_object, asked), table=(headings, cells), passed=passed,
        )  # fmt: skip
    raise SystemExit(1 if failed else 0)


def _asked(
    expected: Path, file: Path | None, selection: UserSelection, model: str | None
) -> list[_Expectation]:
    """Decide every line; all mistakes of the file are one error."""
    asked_of = None if file is None else _Asked.of(file, selection)
    try:
        text = read_text(expected)
    except (SubtrieError, OSError) as error:
        raise bad_file(error) from None
    asked, mistakes = [], []
    for number, line in enumerate(text.splitlines(), 1):
        try:
            words = shlex.split(line)
            if not words or words[0].startswith("#"):
                continue
            if words[0] == "of":
                asked_of = _named(expected, words, selection)
                continue
            if asked_of is None:
                raise ValueError(
                    "no permissions to check: pass FILE, or put a line 'of FILE [USER]' above"
                )
            wanted, decision = _answer(asked_of, words, model)
        except (SubtrieError, ValueError, BadFile) as error:
            mistakes.append(f"{expected}:{number}: {in_words_of_the_command(str(error))}")
            continue
        asked.append(_Expectation(number, words, wanted, decision))
    if not asked and not mistakes:
        mistakes.append(f"{expected}: the file contains no expectations")
    if mistakes:
        more = len(mistakes) - MAX_MISTAKES
        if more > 0:
            mistakes[MAX_MISTAKES:] = [f"{expected}: and {more:,} more"]
        raise BadFile("\n".join(mistakes))
    return asked


def _object(asked: _Expectation) -> dict[str, Any]:
    answer = {"line": asked.line, "expected": asked.expected, "right": asked.right}
    decision = asked.decision
    more = {"determined": decision.determined, "explanation": decision.explanation}
    return {**answer, **more}


def _print(failed: list[_Expectation]) -> None:
    for each in failed:
        why = printable(each.decision.explanation)
        mark = ("✗ ", "red") if each.decision.determined else ("? ", "yellow")
        say(mark, f"line {each.line}: {printable(each.text)}: {why}")
    if not failed:
        say_good("all decisions are as expected")


def _named(expected: Path, words: list[str], selection: UserSelection) -> _Asked:
    if len(words) not in (2, 3):
        raise ValueError("write 'of FILE' or 'of FILE USER'")
    path = expected.parent / words[1]
    if not path.exists():
        raise ValueError(f"{words[1]}: no such file")
    user = words[2] if len(words) == 3 else None
    return _Asked.of(path, dataclasses.replace(selection, user=user, account=None))


def _answer(asked: _Asked, words: list[str], model: str | None) -> tuple[bool, Decision]:
    if words[0] in ("strict", "broker"):
        model, *words = words
    if len(words) not in (3, 4, 5) or words[0] not in ("yes", "no"):
        raise ValueError(
            "write 'yes' or 'no', then 'publish' and a subject, 'subscribe' and a pattern, or "
            "'receive', a subject and a pattern; a queue may follow a pattern, and the line may "
            "begin with 'strict' or 'broker'"
        )
    said, verb, subject, *more = words
    permissions = asked.permissions
    ask: Callable[[str], Decision]
    if verb == "publish" and not more:
        answer = asked.publish(permissions, "", subject, model)
        return said == "yes", with_reason(answer, permissions)
    if verb == "subscribe" and len(more) < 2:
        queue = more[0] if more else None
        ask = lambda model: permissions.can_subscribe(  # noqa: E731
            subject, queue=queue, model=model
        )
    elif verb == "receive" and more:
        pattern, *queues = more
        queue = queues[0] if queues else None
        ask = lambda model: permissions.can_receive(  # noqa: E731
            subject, subscription=pattern, queue=queue, model=model
        )
    else:
        raise ValueError("'publish' takes a subject, 'subscribe' a pattern, 'receive' both")
    return said == "yes", with_reason(decided(ask, model), permissions)
