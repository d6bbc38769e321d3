"""The shop on connectors says the same wherever its services run."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parent.parent


@pytest.mark.parametrize("how", ["one", "six", "mixed"])
def test_S0_127_the_shop_in_one_process_in_six_and_mixed(how):
    done = subprocess.run(
        [sys.executable, "-m", "examples.shop.connected", "--how", how, "--customers", "20"],
        cwd=ROOT,
        capture_output=True,
        text=True,
        timeout=120,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    wanted = "placed 14, refused 2, unknown 4, sales 14, orders 14, reserved 48"
    assert done.stdout.strip() == wanted, done.stderr
