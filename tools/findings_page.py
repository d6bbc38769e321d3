"""Generate ``docs/findings.md``: the rules of findings, with what each means.

With ``--check`` nothing is written, and a page that differs is an error.
"""

from __future__ import annotations

import sys
from collections.abc import Iterator
from pathlib import Path

from subtrie._cli.output_formats import RULES
from subtrie._core.printable import escaped
from subtrie._findings.markdown import table
from subtrie.audit._results.expectations import BUILTIN
from subtrie.report import _finding_rules
from subtrie.report._finding_rules import FindingRule

PAGE = Path(__file__).resolve().parent.parent / "docs" / "findings.md"

HEAD = """# Findings

Each finding has the code of a rule, by which a program or a review may select it; SARIF and
JUnit have the code, too. For a rule of `subtrie acl lint`, `subtrie acl rule CODE` says why it
matters and what to write instead.

## Of permissions, configurations, sources and traffic

"""

OF_AUDITS = """
## Of an audit

The rule of a finding of `subtrie audit` is the [table](audit.md#tables) of its rows. Where a cell
has a dash the title of the finding says enough, or the text depends on the row.

"""

OF_EXPECTATIONS = """
## Expectations that are built in

`subtrie audit --expect builtin` checks that the [keys](columns.md#tables-of-an-audit) of each table
are unique, and these sums. A failure names the [expectation](audit.md#expectations).

"""
_SIGNS = {"equals": "=", "at_most": "≤", "at_least": "≥"}


def page() -> str:
    """Return the text of the page."""
    rules = ((f"`{code}`", escaped(text)) for code, text in RULES.items())
    return "".join(
        (
            HEAD,
            *(f"{line}\n" for line in table(("rule", "finds"), rules)),
            OF_AUDITS,
            *(f"{line}\n" for line in table(("table", "why it matters", "advice"), _of_audits())),
            OF_EXPECTATIONS,
            *_expectations(),
        )
    )


def _of_audits() -> Iterator[tuple[str, str, str]]:
    others = (each for each in vars(_finding_rules).values() if isinstance(each, FindingRule))
    for rule in (*_finding_rules.RULES, *others):
        try:
            advice = escaped(rule.instead({})) or "-"
        except KeyError:  # it depends on the row
            advice = "-"
        yield f"`{rule.table}`", escaped(rule.why) or "-", advice


def _expectations() -> Iterator[str]:
    for each in BUILTIN:
        if "sum" in each:
            (how,) = each.keys() & _SIGNS.keys()
            sums = (" + ".join(f"`{term}`" for term in each[side]) for side in ("sum", how))
            yield f"- {each['name']}: {f' {_SIGNS[how]} '.join(sums)}\n".replace("+ `-", "- `")


if __name__ == "__main__":
    if "--check" in sys.argv:
        raise SystemExit(0 if PAGE.read_text() == page() else f"{PAGE.name} is out of date")
    PAGE.write_text(page())
