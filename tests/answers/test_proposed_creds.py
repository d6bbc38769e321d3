"""The proposal as creds, against a real nats-server: it refuses what the proposal leaves out."""

from __future__ import annotations

import asyncio
import re
from pathlib import Path

import nats
import pytest
from broker import running
from worlds import Case, calls_of

from patience import settled
from subtrie._nats.nkey import seed_in
from subtrie.acl import Permissions
from subtrie.gencreds import plan, sign, write
from subtrie.gencreds._trial import trial
from subtrie.spark import proposed_permissions

_REFUSED = re.compile(r'permissions violation for publish to "(.*)"', re.I)


@pytest.mark.requirement("P-05")
@pytest.mark.parametrize("case", [305], indirect=True)
def test_creds_of_the_proposal_pass_the_calls_that_it_allows(case: Case, tmp_path: Path) -> None:
    """A plan, creds, their permissions, and the decision of the broker on each call."""
    made = trial(tmp_path / "trial")
    seed = seed_in(made.key)
    proposed = proposed_permissions(case.tables["proposal"])
    wanted: dict[str, set[str]] = {service: set() for service in proposed}
    for edge in case.world["edges"]:
        if edge["source"] in wanted:
            wanted[edge["source"]] |= set(calls_of(edge))
    for row in case.tables["proposal"]:
        if row["verb"] == "publish":
            wanted[row["service"]] |= set(row["witnesses"].split())
    for row in case.tables["violations"]:
        if row["who"] in wanted and row["kind"] in ("forbidden", "spoofed"):
            wanted[row["who"]].add(row["witness"])
    allowed = 0
    with running(made.config) as address:
        for service, subjects in wanted.items():
            permissions = proposed[service]
            planned = plan(permissions, name=service)
            assert planned.fits
            creds = sign(permissions, seed, name=service)
            assert len(creds.jwt) == planned.size
            path = tmp_path / "trial" / f"{service}_nats.creds"
            write(creds, path)
            assert Permissions.load(path) == permissions
            refused = asyncio.run(refusals(address, path, sorted(subjects)))
            expected = {each for each in subjects if not permissions.can_publish(each)}
            assert refused == {each.lower() for each in expected}, service
            allowed += len(subjects - expected)
    assert allowed > 20


async def refusals(address: str, creds: Path, subjects: list[str]) -> set[str]:
    """Publish, and return in lower case what the broker refuses."""
    refused = set()

    async def note(error: Exception) -> None:
        found = _REFUSED.search(str(error))
        if found is not None:
            refused.add(found[1].lower())

    client = await nats.connect(
        f"nats://{address}", user_credentials=str(creds), error_cb=note, max_reconnect_attempts=2
    )
    for subject in subjects:
        await client.publish(subject, b"")
    await settled(client)
    await client.close()
    return refused
