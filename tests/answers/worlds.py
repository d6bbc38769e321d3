"""Worlds whose truth is known, and the answers about them."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any, NamedTuple

from subtrie.acl import Permissions
from subtrie.audit._answers.questions import load_code, load_rules
from subtrie.spark import ANSWERS, Questions, audit
from synthetic_traffic import write_traffic

DAYS = 4


class Case(NamedTuple):
    """A world, and the answers about it."""

    folder: Path
    world: dict[str, Any]
    rules: dict[str, Permissions]
    tables: dict[str, list[dict[str, Any]]]


def answered(spark: Any, folder: Path, seed: int) -> Case:
    """Write a world of four days, and return the answers about it."""
    write_traffic(folder, seed=seed, rows=3500, days=DAYS, answers=True)
    rules = load_rules(sorted((folder / "rules").iterdir()))
    questions = Questions(rules=rules, code=load_code([folder / "code"]))
    with audit(spark, [str(folder / "trace.log")], questions=questions) as found:
        tables = {name: list(found.rows(name)) for name in (*ANSWERS, "subscriptions")}
    return Case(folder, json.loads((folder / "world.json").read_text()), rules, tables)


def calls_of(edge: dict[str, Any]) -> list[str]:
    """Return subjects of legitimate calls of an edge, with values that the log has not."""
    own, host = (edge[name].replace(".", "_") for name in ("source", "destination"))
    trust = "danger" if edge["port"] == 666 else "safe"
    method = edge["method"] if edge["method"] != "ANY" else "GET"
    paths = [
        ".".join({"*": value, ">": f"{value}.deep"}.get(t, t) for t in edge["route"].split("."))
        for value in ("fresh1", "fresh2")
    ]
    head = f"{edge['plane']}.{trust}.{edge['port'] or 443}.{own}.{host}._.{method}"
    return [f"{head}.{path}" for path in dict.fromkeys(paths)]
