"""Conformance tests of an engine with vector files, and of an audit with synthetic traffic.

A vector file is JSON lines, each with one question and its answer; ``docs/conformance.md``
describes every kind. ``run`` tests one of the two engines, or any module with the same names.
``write_traffic`` writes a broker's log and what an audit of it must say.
"""

from ._report import Report
from ._run import run
from ._traffic import write_traffic

__all__ = ["Report", "run", "write_traffic"]
