"""Writes ``docs/errors.md`` from the table of reasons: the page is never typed."""

from __future__ import annotations

import sys
from pathlib import Path

from subtrie import _errors as errors
from subtrie import _reasons as reasons

PAGE = Path(__file__).resolve().parent.parent / "docs" / "errors.md"

HEAD = """# Errors

Every refusal is a `SubtrieError`, and so a `ValueError`. It says what, where, why, and what would
work; `str(error)` is one line.

| attribute | meaning |
|---|---|
| `.reason` | a stable code of the table below: branch on it |
| `.position` | byte offset into the UTF-8 of the refused text, or `None` |
| `.field` | the argument that held it, where a function takes several, or `None` |
| `.hint` | what would work |
| `.status` | the HTTP status that fits |

A wrong type is a `TypeError`; an unknown option (`dialect="x"`) a plain `ValueError`.

"""


def page() -> str:
    """The whole page."""
    lines = [HEAD, "## Classes\n", "| class | raised when |", "|---|---|"]
    for name, cls in vars(errors).items():
        if isinstance(cls, type) and issubclass(cls, errors.SubtrieError):
            lines.append(f"| `{name}` | {(cls.__doc__ or '').splitlines()[0]} |")
    for title, table in reasons.AREAS.items():
        lines += ["", f"## {title}\n", "| reason | status | sentence | hint |", "|---|---|---|---|"]
        for code, rule in table.items():
            lines.append(f"| `{code}` | {rule.status} | {rule.sentence} | {rule.hint} |")
    return "\n".join(lines).replace("|\n\n\n", "|\n\n") + "\n"


if __name__ == "__main__":
    if "--check" in sys.argv:
        raise SystemExit(0 if PAGE.read_text() == page() else f"{PAGE.name} is out of date")
    PAGE.write_text(page())
