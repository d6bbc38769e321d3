"""Generate ``docs/errors.md`` from the table of reasons."""

from __future__ import annotations

import sys
from pathlib import Path

from subtrie._core import errors, reasons

PAGE = Path(__file__).resolve().parent.parent / "docs" / "errors.md"

HEAD = """# Errors

Every error is a `SubtrieError`. What the validators raise is an `InvalidInput`, which is also a
`ValueError`; a connector's `RequestTimeout` is also a `TimeoutError`. An error says what was
refused, where, why, and what would work; `str(error)` is one line.

| attribute | meaning |
|---|---|
| `.reason` | a stable code from the tables below; programs should compare this |
| `.position` | byte offset into the UTF-8 of the refused text, or `None` |
| `.field` | the name of the refused argument if a function takes several, or `None` |
| `.hint` | what would work |
| `.status` | the corresponding HTTP status |

The tables have the sentences; the hint is in the message itself.

A wrong type is a `TypeError`; an unknown option (`dialect="x"`) is a plain `ValueError`.

"""


def page() -> str:
    """Return the text of the page."""
    lines = [HEAD, "## Classes\n", "| class | raised when |", "|---|---|"]
    for name, cls in vars(errors).items():
        if isinstance(cls, type) and issubclass(cls, errors.SubtrieError):
            lines.append(f"| `{name}` | {(cls.__doc__ or '').splitlines()[0]} |")
    for title, table in reasons.AREAS.items():
        lines += ["", f"## {title}\n", "| reason | status | sentence |", "|---|---|---|"]
        for code, rule in table.items():
            lines.append(f"| `{code}` | {rule.status} | {rule.sentence} |")
    return "\n".join(lines).replace("|\n\n\n", "|\n\n") + "\n"


if __name__ == "__main__":
    if "--check" in sys.argv:
        raise SystemExit(0 if PAGE.read_text() == page() else f"{PAGE.name} is out of date")
    PAGE.write_text(page())
