"""The answers of a verb that prints objects of JSON, as findings in another format."""

from __future__ import annotations

import contextlib
import io
import json
from collections.abc import Iterator
from typing import Any

from .format_option import JSON, TEXT

#: The fields that hold what was asked about, the first that an object has.
_ASKED = ("subject", "pattern", "name")


@contextlib.contextmanager
def reported(form: str, suite: str, right: str) -> Iterator[bool]:
    """Yield whether the block prints JSON; print its objects in another format after it.

    Args:
        form: the format.
        suite: the command.
        right: the field of an object that is true if its answer is yes.
    """
    if form in (TEXT, JSON):
        yield form == JSON
        return
    printed, ended = io.StringIO(), None
    with contextlib.redirect_stdout(printed):
        try:
            yield True
        except SystemExit as error:  # with the exit code of the answers
            ended = error
    _report(form, suite, right, [json.loads(each) for each in printed.getvalue().splitlines()])
    if ended is not None:
        raise ended


def _report(form: str, suite: str, right: str, answers: list[dict[str, Any]]) -> None:
    # Text and JSON, which most answers are, do not wait for the renderers.
    from .._findings.finding import Finding
    from .._findings.junit import Passed
    from .output_formats import print_findings

    rows, passed, cells = [], [], []
    for each in answers:
        asked = next(str(each[key]) for key in _ASKED if key in each)
        if "against" in each:
            asked = f"{asked} --against {each['against']}"
        good = each.get(right) if right in each else each.get("common") is not None
        because = str(each.get("message") or each.get("reason") or each.get("relation") or "")
        if good:
            passed.append(Passed(suite, asked))
        else:
            message = f"{asked}: {because or f'not {right}'}"
            rows.append(Finding(f"not-{right}", "error", message))
        cells.append((asked, "yes" if good else "no", because))
    rules = {f"not-{right}": f"An answer is that it is not {right}."}
    headings = ("asked", right, "why")
    print_findings(form, suite, rows, table=(headings, cells), passed=passed, rules=rules)
