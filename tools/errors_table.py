"""Generate ``docs/errors.md`` from the table of reasons."""

from __future__ import annotations

import sys
from pathlib import Path

from subtrie._core import errors, reasons
from subtrie._core.printable import escaped
from subtrie._findings.markdown import table

PAGE = Path(__file__).resolve().parent.parent / "docs" / "errors.md"

HEAD = """# Errors

```python
>>> from subtrie import Subject, SubtrieError
>>> try:
...     Subject("a..b")
... except SubtrieError as error:
...     print(error)
...     print(error.reason, error.position, error.status)
'a..b' is not a valid subject: a token is empty (at byte 2); remove the leading, trailing or ...
empty-token 2 400

```

Every error is a `SubtrieError`, and its text is one line. What the validators raise is an
`InvalidInput`, also a `ValueError`; a connector's `RequestTimeout` is also a `TimeoutError`.
A wrong type is a `TypeError`; an unknown option (`dialect="x"`) is a plain `ValueError`.

- `.reason`: a stable code from the tables below, for programs; the error's text says what it means
- `.position`: byte offset into the UTF-8 of the refused text, or `None`
- `.field`: the name of the refused argument if a function takes several, or `None`
- `.hint`: what would work
- `.status`: the HTTP status: 400 where the tables have none

"""
_HEADINGS = ("reason", "the error says", "what would work")


def page() -> str:
    """Return the text of the page."""
    lines = [HEAD + "## Classes\n"]
    for name, cls in vars(errors).items():
        if isinstance(cls, type) and issubclass(cls, errors.SubtrieError):
            lines.append(f"- `{name}`: {(cls.__doc__ or '').splitlines()[0]}")
    for title, area in reasons.AREAS.items():
        rows = (
            (f"`{code}`{_status(rule)}", escaped(rule.sentence), escaped(rule.hint))
            for code, rule in area.items()
        )
        lines += ["", f"## {title}\n", *table(_HEADINGS, rows)]
    return "\n".join(lines) + "\n"


def _status(rule: reasons.Reason) -> str:
    return "" if rule.status == 400 else f" ({rule.status})"


if __name__ == "__main__":
    if "--check" in sys.argv:
        raise SystemExit(0 if PAGE.read_text() == page() else f"{PAGE.name} is out of date")
    PAGE.write_text(page())
