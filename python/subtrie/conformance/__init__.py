"""Does an engine answer the vector files as it should?

The vectors are a product of their own: JSON lines, one question and its answer a row, explained
kind by kind in ``docs/conformance.md``. ``run`` puts them to an engine of ours, or to any module
with the same names.
"""

from ._report import Failure, KindReport, Report
from ._run import run

__all__ = ["Failure", "KindReport", "Report", "run"]
