"""Each limit by each of its names: what the larger of two lets happen."""

from __future__ import annotations

import pytest
from operators import Operator

from subtrie.acl import Deployment
from subtrie.acl._consequences import Consequences
from subtrie.acl._uncompared import uncompared

#: The names of a limit in a configuration, in a JWT of an account, and what one more allows.
LIMITS = {
    "a message of 6 bytes may be published": ("max_payload max_pay", "payload"),
    "6 connections may be open at a time": ("max_connections max_conn", "conn"),
    "6 subscriptions may be held at a time": ("max_subscriptions max_subs", "subs"),
    "6 leaf nodes may connect at a time": ("max_leafnodes max_leafs", "leaf"),
}


def explained(old, new):
    """The consequences of a change, each with whether it is gained."""
    parts = uncompared(old, new)
    found, rest = Consequences(Deployment.load(old), Deployment.load(new)).explain(parts)
    assert rest == []
    return [(each.gained, each.message) for each in found]


@pytest.mark.parametrize("message", LIMITS)
def test_each_limit_is_explained_by_what_one_more_allows(message, tmp_path):
    names, claim = LIMITS[message]
    old, new = tmp_path / "old.conf", tmp_path / "new.conf"
    for name in names.split():
        blocks = {"accounts {{ A {{ limits {{ {}: {} }} }} }}": " in A"}
        if name not in ("max_pay", "max_leafnodes", "max_leafs"):
            blocks["{}: {}"] = ""
        for block, where in blocks.items():
            for pair, gained in (((5, 9), True), ((9, 5), False)):
                for path, number in zip((old, new), pair, strict=True):
                    path.write_text(block.format(name, number))
                assert explained(old, new) == [(gained, message + where)], (name, pair)
    operator = Operator()
    old, new = tmp_path / "old", tmp_path / "new"
    for path, number in ((old, 5), (new, -1)):
        path.mkdir()
        limits = {"subs": -1, "payload": -1, "conn": -1, "leaf": -1, "wildcards": True}
        account = operator.account_token({"limits": {**limits, claim: number}})
        (path / "account.jwt").write_text(account)
    assert explained(old, new) == [(True, f"{message} in account")]
    assert explained(new, old) == [(False, f"{message} in account")]
