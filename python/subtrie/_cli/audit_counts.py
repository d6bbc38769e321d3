"""The findings that an audit prints before its tables, and the counts after them."""

from __future__ import annotations

import textwrap
from typing import TYPE_CHECKING

from .stream import printable, say

if TYPE_CHECKING:
    from .._findings.finding import Finding
    from ..audit import Run

_STYLES = {"error": "bold red", "warning": "yellow", "note": "dim"}
#: The characters before the text of a finding: its level and its count.
_INDENT = 17
#: The characters of a time without its date: ``08:00:00.000``.
_CLOCK = slice(11, 23)


#: What lines of MQTT mean for the tables.
_MQTT = (
    " (not read: what these clients publish, subscribe and receive is in no table but logins; "
    "undelivered messages may have reached one)"
)


def print_findings(result: Run, rows: int, width: int | None) -> None:
    """Print the findings, worst first: how often, an example, from when to when, what helps.

    Args:
        result: The result.
        rows: How many to print; 0 for all.
        width: The width of the terminal; None for a file or a pipe.
    """
    from ..report._findings import all_findings

    found = all_findings(result)
    if not found:
        return
    say()
    say((f"Findings: {len(found)}", "bold"))
    for each in found[:rows] if rows > 0 else found:
        _print_finding(each, width)
    if 0 < rows < len(found):
        say((f"  … and {len(found) - rows} more (use --rows 0 or --report)", "dim"))


def _print_finding(finding: Finding, width: int | None) -> None:
    count = "" if finding.count is None else f"{finding.count:,}"
    head = f"  {finding.level:7} {count:>6} "
    lines = _wrapped(printable(finding.message), width)
    say((head + lines[0], _STYLES[finding.level]))
    more = lines[1:]
    if finding.witness and finding.witness not in finding.message:
        more.append(f"such as {printable(finding.witness)}")
    if finding.first is not None:
        more.append(_period(finding.first, finding.last))
    if finding.rate is not None and finding.rate.text:
        more.append(finding.rate.text)
    if finding.instead:
        more += _wrapped(f"→ {printable(finding.instead)}", width)
    for line in more:
        say((" " * _INDENT + line, "dim"))


def _wrapped(text: str, width: int | None) -> list[str]:
    """Return the lines of a text for a terminal of a width; one line for a file or a pipe."""
    if width is None:
        return [text]
    return textwrap.wrap(text, max(40, width - _INDENT), break_on_hyphens=False)


def _period(first: str, last: str | None) -> str:
    """Return when something began and ended."""
    begin = f"{first[:10]} {first[_CLOCK]}"
    if last is None or last == first:
        return f"at {begin}"
    same = last[:10] == first[:10]
    return f"from {begin} to {last[_CLOCK] if same else f'{last[:10]} {last[_CLOCK]}'}"


def print_counts(result: Run) -> None:
    """Print what was read, and of each count that is not 0 whether it is bad."""
    summary = result.summary
    ambiguous, unmatched = summary["ambiguous"], summary["unmatched"]
    forwarded, unparseable = summary["forwarded"], summary["unparseable_lines"]
    print(f"\nplanes: {', '.join(map(printable, summary['planes'])) or 'none'}")
    print(
        f"ambiguous delivery windows: {ambiguous}"
        + (
            " (no fault: equal messages at one time, whose deliveries may be exchanged)"
            * bool(ambiguous)
        )
    )
    print(f"unmatched deliveries: {unmatched}"
          + (" (no fault: sent by the broker, or before the log)"
             * bool(unmatched)))  # fmt: skip
    print(
        f"forwarded to other brokers: {forwarded}"
        + (" (no fault; give their logs, too, to see whether they arrived)" * bool(forwarded))
    )
    if folded := result.counters.get("folded_messages"):
        untimed = result.counters.get("untimed_requests", 0)
        print(f"messages on inboxes that are counted together: {folded} (their subjects end in *; "
              f"requests without a latency: {untimed})")  # fmt: skip
    if packets := result.counters.get("mqtt"):
        print(f"lines of MQTT: {packets}{_MQTT}")
    print(f"lines: {summary['lines']} = {summary['operations']} operations + "
          f"{summary['payloads']} payloads + {summary['server']} of the server + "
          f"{unparseable} unparseable"
          + (" (bad: nothing of them is in the tables)" * bool(unparseable)))  # fmt: skip
