"""Findings in the format that the option ``--format`` chose."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from .._findings.finding import Finding
from .._findings.junit import Passed, junit
from .._findings.markdown import code_table, markdown, summary
from .._findings.sarif import sarif
from .._findings.text import text_line
from ..acl import LINT_RULES
from .format_option import JSON, JUNIT, MARKDOWN, SARIF
from .stream import print_json, say, say_good, say_lines

#: What each rule finds, for SARIF.
RULES = {
    **{code: rule.summary for code, rule in LINT_RULES.items()},
    "new-access": "A change grants something new.",
    "not-compared": "A part that may change who may do what was not compared.",
    "unexpected": "A decision is not as expected.",
    "public-export": "Any account may import an export.",
    "unused-export": "No account imports an export.",
    "unused-import": "No user can use an import.",
    "ignored": "The broker ignores something in the input.",
    "not-verified": "A signature was not verified; install the extra creds.",
    "not-seen": "The input does not hold an account.",
    "user": "What a user may do.",
    "entry": "An entry of a user's lists.",
    "smallest": "An entry differs in the smallest form.",
    "stream": "A stream, and what it captures.",
    "overlap": "Two streams have a common subject.",
    "streams-not-given": "Who may read what is stored is not determined without the streams.",
    "may": "A user may do what was asked.",
    "refused": "A subject is refused.",
    "unused-rule": "No traffic used an allow entry.",
    "unused-user": "A user does not occur in the traffic.",
    "claimed": "Traffic is under the name of a user that the broker did not prove.",
    "tried": "The broker refused what a user tried.",
    "not-covered": "The broker accepted what no entry allows.",
    "would-refuse": "A proposal would have refused what the broker accepted.",
    "narrower": "Narrower entries allow the traffic.",
    "undetermined": "The traffic does not tell whether an entry is used.",
    "dynamic": "A call, endpoint or event in the source cannot be determined statically.",
    "note": "Something in the source needs attention.",
}


def print_findings(
    form: str,
    suite: str,
    findings: Sequence[Finding],
    *,
    objects: Iterable[dict[str, Any]] | None = None,
    table: tuple[Sequence[str], Iterable[Sequence[str]]] | None = None,
    passed: Iterable[Passed] = (),
    rules: Mapping[str, str] = RULES,
) -> None:
    """Print findings in a format.

    Args:
        form: the format.
        suite: the command, for JUnit.
        findings: what was found.
        objects: the lines of JSON, if they say more than the findings.
        table: the headings and rows of Markdown, if they say more; texts are escaped here.
        passed: the test cases of JUnit besides the findings.
        rules: what each rule finds, for SARIF.
    """
    if form == JSON:
        for each in (found.as_dict() for found in findings) if objects is None else objects:
            print_json(each)
    elif form == SARIF:
        print(sarif(findings, rules))
    elif form == JUNIT:
        print(junit(suite, findings, passed))
    elif form == MARKDOWN:
        print(markdown(findings) if table is None else code_table(*table), end="")
    else:
        print_lines(findings)
        say(summary(findings)) if findings else say_good("no findings")


def print_lines(findings: Iterable[Finding]) -> None:
    """Print a line for each finding."""
    lines = [text_line(each) for each in findings]
    if lines:
        say_lines(lines)
