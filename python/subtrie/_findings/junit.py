"""Findings as a JUnit report: one test case each, which fails unless it is a note."""

from __future__ import annotations

from collections.abc import Iterable
from typing import NamedTuple
from xml.etree import ElementTree

from .._core.printable import printable
from .finding import Finding


class Passed(NamedTuple):
    """A test case that did not fail: where it is, and its name."""

    place: str
    name: str


def junit(suite: str, findings: Iterable[Finding], passed: Iterable[Passed] = ()) -> str:
    """Return the report as XML.

    Args:
        suite: the name of the suite: the command.
        findings: what was found.
        passed: what was looked at without a finding.
    """
    cases = [(each.place, f"{each.rule}: {each.message}", each) for each in findings]
    root = ElementTree.Element("testsuite", name=suite)
    failures = 0
    for place, name, found in (*cases, *((*each, None) for each in passed)):
        case = ElementTree.SubElement(
            root, "testcase", classname=printable(place), name=printable(name)
        )
        if found is not None and found.level != "note":
            failures += 1
            text = printable(found.sentence)
            ElementTree.SubElement(case, "failure", message=text).text = text
    root.attrib |= {"tests": str(len(root)), "failures": str(failures), "errors": "0"}
    return ElementTree.tostring(root, encoding="unicode")
