"""A short run of ``make attacks``, and what its verdicts are worth."""

from __future__ import annotations

import os
import time
from pathlib import Path

import pytest

from . import worker
from .__main__ import attack
from .kinds import KINDS, Kind
from .worker import dice_of

pytestmark = pytest.mark.skipif(os.name != "posix", reason="limits of processes are of POSIX")


def test_a_short_run_of_all_kinds_finds_nothing(tmp_path):
    made = attack(list(KINDS), tmp_path, seed=10**9, seconds=0, slice_seconds=0.2)
    assert not made.faults, made.faults
    assert all(sum(each.values()) for each in made.outcomes.values())


@pytest.mark.parametrize("kind", KINDS)
def test_a_variation_is_the_same_for_the_same_seed(kind):
    if kind in ("jwt", "run"):  # keys and times are made anew
        pytest.skip("its base is made anew in each process")
    one, other = (KINDS[kind].make(dice_of(kind, 7)) for _ in range(2))
    assert one == other


def _burning(folder: Path, dice: object) -> str:
    end = time.process_time() + 0.2
    while time.process_time() < end:
        pass
    return "answer"


def _growing(folder: Path, dice: object) -> str:
    # Much more than another thread of this process may give back meanwhile.
    return "answer" if bytes(range(256)) * (1 << 21) else ""


def _raising(folder: Path, dice: object) -> str:
    raise KeyError("reason")


@pytest.mark.parametrize(
    ("read", "fault"),
    [(_burning, "s of CPU, more than"), (_growing, "MiB of memory"), (_raising, "KeyError")],
)
def test_what_is_over_a_bound_or_raises_is_a_fault(tmp_path, read, fault):
    kind = Kind(lambda dice: {"input": b"a"}, read, 0.1 if read is _burning else 10, 32)
    found = worker._read(kind, dice_of("", 1), tmp_path / "input")
    assert found["outcome"] == "fault"
    assert fault in found["fault"]


def test_an_input_that_fails_is_kept_with_its_seed(tmp_path, monkeypatch):
    made = attack(["head"], tmp_path, seed=5, seconds=0, slice_seconds=0)
    made._count("head", {"seed": 5, "outcome": "fault", "cpu": 0, "memory": 0, "fault": "why"})
    kept = tmp_path / "head-5"
    assert (kept / "input").read_bytes() == KINDS["head"].make(dice_of("head", 5))["input"]
    assert (kept / "fault.txt").read_text().startswith("make attacks KIND=head SEED=5")
