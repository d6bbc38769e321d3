"""Programs of nats-py that run again under what ``acl usage`` proposes from the log of their run.

``make usage-roles`` runs all roles.
"""

from __future__ import annotations

import json
import re
from collections import Counter
from collections.abc import Iterable
from pathlib import Path

from click.testing import CliRunner
from jetstream_roles import ROLES
from judged_by_hand import judge_by_hand
from role_runs import Lists, config, each_missing, refusals, user

from servers import serving
from subtrie._cli.app import app
from subtrie.acl import Permissions

Role = tuple[str, str]
#: Lists under which a program may do everything, so that only its log tells what it needs.
EVERYTHING: Lists = json.loads(Permissions(publish_allow=[">"], subscribe_allow=[">"]).dump("json"))
TRACED = "trace: true\ndebug: true"


def logged(folder: Path, roles: Iterable[Role]) -> tuple[Path, Path]:
    """Run programs that may do everything; return the configuration and the log."""
    programs = {f"u{n}": ROLES[role] for n, role in enumerate(roles)}
    blocks = [user(name, EVERYTHING, folder) for name in programs]
    with serving(folder / "free", config(folder / "store", blocks, TRACED)) as url:
        found = refusals(url, programs)
    assert not any(found.values()), found
    return folder / "free" / "server.conf", folder / "free" / "server.log"


def proposed(settings: Path, log: Path, folder: Path) -> dict[str, Lists]:
    """The lists that the command proposes, by user."""
    words = ["acl", "usage", str(settings), "--log", str(log), "--as", "config"]
    done = CliRunner().invoke(app, words)
    assert done.exit_code in (0, 1), done.output
    found = {}
    for part in re.split(r"^# ", done.stdout, flags=re.M)[1:]:
        name, _, block = part.partition("\n")
        path = folder / "proposal.conf"
        path.write_text(f"authorization {{ users: [ {{ user: a, password: $P\n{block} }} ] }}")
        found[name] = json.loads(Permissions.load(path).dump("json"))
    return found


def judged(seed: int, count: int, folder: Path, roles: Iterable[Role] = ROLES) -> Counter[str]:
    """Count the programs that pass under their proposals, and those refused without one rule.

    Args:
        seed: without effect: the programs are the same each time.
        count: the number of roles.
        folder: where to write.
        roles: the roles.
    """
    roles = list(roles)[:count]
    programs = {f"u{n}": ROLES[role] for n, role in enumerate(roles)}
    every = proposed(*logged(folder, roles), folder)
    lists = {name: every[name] for name in programs}  # without the root
    blocks, users, missing = each_missing(programs, lists, folder)
    with serving(folder / "narrow", config(folder / "again", blocks)) as url:
        found = refusals(url, users)
    for name, role in zip(programs, roles, strict=True):
        assert found[name] == [], (role, lists[name])
    spare = [missing[name] for name in missing if not found[name]]
    assert not spare, spare
    return Counter(
        {"programs": len(programs), "pass": len(programs), "rules": len(missing),
         "refused without the rule": len(missing)}
    )  # fmt: skip


if __name__ == "__main__":
    judge_by_hand(__doc__, judged, len(ROLES))
