"""Recorded messages of Go Microbus, with the description of their scenarios."""

from __future__ import annotations

import base64
import gzip
import json
from functools import cache
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parents[2]
RECORDING = ROOT / "tests" / "recordings" / "go_live"


@cache
def messages() -> dict[str, tuple[str, bytes]]:
    """Subject and bytes of each kind of message."""
    with gzip.open(RECORDING / "messages.jsonl.gz", "rt") as lines:
        rows = [json.loads(line) for line in lines]
    return {row["kind"]: (row["subject"], base64.b64decode(row["bytes"])) for row in rows}


@cache
def truth() -> dict[str, Any]:
    """Services, scenarios, subscriptions."""
    with gzip.open(RECORDING / "truth.json.gz", "rt") as file:
        told: dict[str, Any] = json.load(file)
    return told
