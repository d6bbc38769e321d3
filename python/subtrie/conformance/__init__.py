"""Conformance tests of an engine with vector files.

A vector file is JSON lines, each with one question and its answer; ``docs/conformance.md``
describes every kind. ``run`` tests one of the two engines, or any module with the same names.
"""

from .._core.public_names import publish
from ._report import Report
from ._run import run

__all__ = ["Report", "run"]

publish(globals())
