"""The page of connectors names everything that is public, that of variables each that is read."""

from __future__ import annotations

import re
from pathlib import Path

import subtrie.connector
import subtrie.testing
from subtrie.connector._broker import connection, session

DOCS = Path(__file__).resolve().parents[2] / "docs"
PAGE = (DOCS / "connector.md").read_text()


def test_every_public_name_is_on_the_page():
    names = [*subtrie.connector.__all__, *subtrie.testing.__all__]
    names += ["startup", "shutdown", "on_startup", "on_shutdown", "middleware", "watch", "config"]
    assert [name for name in names if not re.search(rf"\b{name}\b", PAGE)] == []


def test_every_environment_variable_is_on_its_page():
    page = (DOCS / "environment.md").read_text()
    folder = Path(subtrie.connector.__file__).parent
    source = "".join(path.read_text() for path in folder.rglob("*.py"))
    variables = set(re.findall(r'"((?:MICROBUS|AWS|GCE)_[A-Z0-9_]+)"', source))
    assert len(variables) > 10
    assert [name for name in sorted(variables) if f"`{name}`" not in page] == []


def test_the_limits_of_the_native_client_are_on_the_page():
    page = " ".join(PAGE.split())
    pings = {2: "two"}[session._MOST_PINGS]
    first, longest = connection.FIRST_WAIT, connection.LONGEST_WAIT  # at most; at least the half
    for limit in (
        f"grow from {first / 2:g}-{first:g} s to {longest / 2:g}-{longest:g} s",
        f"PING every {connection.PING_INTERVAL:g} s; {pings} unanswered PINGs close the connection",
        f"While the connection is lost up to {connection.MAX_WAITING_LOST / 2**20:g} MiB wait",
        f"reads too slowly up to {connection.MAX_WAITING / 2**20:g} MiB;",
    ):
        assert limit in page
