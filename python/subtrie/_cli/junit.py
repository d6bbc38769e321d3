"""JUnit reports: one test case for each result."""

from __future__ import annotations

from collections.abc import Iterable
from typing import NamedTuple
from xml.etree import ElementTree

from .stream import printable


class Case(NamedTuple):
    """One test case: its file, its name, and why it failed; None if it passed."""

    file: str
    name: str
    failure: str | None = None


def junit(suite: str, cases: Iterable[Case]) -> str:
    """Return the report as XML."""
    cases = list(cases)
    failures = sum(each.failure is not None for each in cases)
    root = ElementTree.Element(
        "testsuite", name=suite, tests=str(len(cases)), failures=str(failures), errors="0"
    )
    for each in cases:
        case = ElementTree.SubElement(
            root, "testcase", classname=printable(each.file), name=printable(each.name)
        )
        if each.failure is not None:
            text = printable(each.failure)
            ElementTree.SubElement(case, "failure", message=text).text = text
    return ElementTree.tostring(root, encoding="unicode")
