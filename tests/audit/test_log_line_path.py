"""The number of modules of the audit that a line of a log meets on its way to a row of a table."""

from __future__ import annotations

import sys
import threading
from pathlib import Path
from types import FrameType
from typing import Any

import subtrie.audit

LOG = str(Path(__file__).parents[2] / "examples/captures/go_live/trace.log")
PACKAGE = Path(subtrie.audit.__file__).parent
#: They open inputs, commit and open results, and make the tables of logins and links.
NOT_ON_THE_WAY = {
    *("_readers/log_files.py", "_runs/run_folder.py", "_run.py", "_tables/connections.py"),
}


def test_a_line_of_a_log_meets_few_modules() -> None:
    subtrie.audit.audit([LOG])  # what is imported at first use is there
    met: set[str] = set()

    def called(frame: FrameType, event: str, _: Any) -> None:
        path = Path(frame.f_code.co_filename)
        if event == "call" and path.is_relative_to(PACKAGE):
            met.add(str(path.relative_to(PACKAGE)))

    threading.setprofile(called)
    sys.setprofile(called)
    try:
        subtrie.audit.audit([LOG])
    finally:
        sys.setprofile(None)
        threading.setprofile(None)
    assert {"_readers/log_reader.py", "_tables/traffic.py"} < met
    # One of them adds up how the refused messages went over time.
    assert len(met - NOT_ON_THE_WAY) <= 15, sorted(met)
