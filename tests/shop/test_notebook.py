"""The notebook shows what its cells compute, with either engine."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
TOOL = ROOT / "tools" / "notebook.py"
NOTEBOOK = ROOT / "examples" / "notebook" / "subjects.ipynb"


@pytest.mark.parametrize("engine", ["native", "reference"])
def test_the_notebook_is_up_to_date(engine: str) -> None:
    environment = {**os.environ, "SUBTRIE_ENGINE": engine}
    command = [sys.executable, str(TOOL), "--check"]
    done = subprocess.run(command, env=environment, capture_output=True, text=True, check=False)
    assert (done.returncode, done.stderr) == (0, ""), "run: python tools/notebook.py"


def test_every_value_is_shown_as_html_too() -> None:
    cells = json.loads(NOTEBOOK.read_text(encoding="utf-8"))["cells"]
    shown = [output["data"] for cell in cells for output in cell.get("outputs", ())]
    assert len(shown) == sum(cell["cell_type"] == "code" for cell in cells)
    assert all({"text/plain", "text/html"} == set(each) for each in shown)
