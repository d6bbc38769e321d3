"""Pairs of deployments with one change, of which live brokers show whether it matters.

With ``PYTHONPATH=.:tests:tests/acl``:

python tests/acl/change_pairs.py --seed 1 --count 300 [--record FILE]
"""

from __future__ import annotations

import copy
import json
import random
from collections import Counter
from pathlib import Path
from typing import Any

import login_pairs
from click.testing import CliRunner
from flow_questions import WORDS, generated
from judged_by_hand import judge_by_hand
from raw_client import RawClient

from servers import serving
from subtrie._cli.app import app

#: What each user publishes.
SUBJECTS = [
    *(word for word in ("a", "b", "x")),
    *(f"{one}.{two}" for one in ("a", "b", "x") for two in ("a", "b", "x")),
    *(f"{one}.{two}.{two}" for one in ("a", "b", "x") for two in ("a", "x", "a-b")),
    "new.x", "new.a.b",
]  # fmt: skip


def changed(rng: random.Random, accounts: dict[str, Any]) -> tuple[str, dict[str, Any], str]:
    """One change of accounts: its kind, the accounts after it, and more of the configuration."""
    after = copy.deepcopy(accounts)
    name, other = rng.sample(sorted(after), 2)
    block, exporter = after[name], after[other]
    user = rng.choice(block["users"])
    word = rng.choice(WORDS[:3])
    kind = rng.choice(["stream", "service", "mapping", "remapped", "allow", "deny", "no-auth"])
    if kind in ("stream", "service"):
        subject = f"{word}.*" if kind == "stream" else f"{word}.>"
        exporter["exports"].append({kind: subject})
        local = f"new{len(block['imports'])}.$1" if kind == "stream" else "new.>"
        block["imports"].append({kind: {"account": other, "subject": subject}, "to": local})
    elif kind == "mapping":
        block["mappings"][f"new.{word}.*"] = f"{word}.$1"
    elif kind == "remapped":
        source = next(iter(block["mappings"]), "x.*")
        end = ".>" if source.endswith(">") else ""
        block["mappings"][source] = f"{word}.changed{end}"
    elif kind == "allow":
        permissions = user.setdefault("permissions", {"publish": {"allow": ["none"]}})
        permissions.setdefault("publish", {}).setdefault("allow", []).append(f"{word}.>")
    elif kind == "deny":
        for side in user.get("permissions", {}).values():
            side.pop("deny", None)
    else:
        return kind, after, f"no_auth_user: {user['user']}\n"
    return kind, after, ""


def reached(folder: Path, config: str, accounts: dict[str, Any]) -> set[tuple[str, str, str]]:
    """The deliveries of a live broker: who published, the subject, who received it as which."""
    found = set()
    with serving(folder, config) as url:
        names = [each["user"] for block in accounts.values() for each in block["users"]]
        logins: dict[str, dict[str, Any]] = {
            each: {"user": each, "pass": "open"} for each in names
        } | {"": {}}
        receivers, senders = {}, {}
        for name, login in logins.items():
            try:
                receivers[name], senders[name] = (RawClient(url, **login) for _ in range(2))
            except ConnectionError:
                assert not name  # connections without credentials are refused
        patterns = [">", "a.>", "b.>", "x.>", "new.>", *SUBJECTS]
        for each in receivers.values():
            for number, pattern in enumerate(patterns):
                each.subscribe(pattern, str(number))
            each.flush()
        for sender, publisher in senders.items():
            for subject in SUBJECTS:
                for _ in range(8):  # mappings may decide by chance
                    publisher.publish(subject)
                publisher.flush()
                for name, each in receivers.items():
                    each.flush()
                    found |= {(sender, subject, f"{name} as {row[1]}") for row in each.messages}
        for each in (*receivers.values(), *senders.values()):
            each.close()
    return found


def _judge_login(rng: random.Random, folder: Path, counts: Counter[str]) -> None:
    """Judge one pair of limits, times, links or logins."""
    pair = login_pairs.generated(rng, folder)
    sources = [pair.old, pair.new]
    if pair.kind != "time of a token":
        for side, text in enumerate(sources):
            path = folder / f"side{side}.conf"
            path.write_text(text)
            sources[side] = str(path)
    done = CliRunner().invoke(app, ["acl", "diff", *sources])
    assert done.exception is None or isinstance(done.exception, SystemExit), (pair, done.exception)
    try:
        texts = (pair.old, pair.new)
        sides = [pair.probe(folder / f"live{side}", text) for side, text in enumerate(texts)]
    except RuntimeError:
        counts["refused by the broker"] += 1
        return
    gained = sides[1] - sides[0]
    if not gained:
        counts["of no effect"] += 1
        return
    counts["matter"] += 1
    counts[f"{pair.kind}, exit code {done.exit_code}"] += 1
    named = any(line.startswith("+") for line in done.output.splitlines())
    if not named:
        counts[f"{pair.kind}, named without an example"] += 1
    if done.exit_code == 0:
        raise AssertionError(f"{pair.kind}: {gained}\n{pair.old}\n{pair.new}\n{done.output}")


def judged(seed: int, count: int, folder: Path) -> Counter[str]:
    """Counts of pairs by kind. Raises if a change that matters is not named."""
    rng = random.Random(seed)
    counts: Counter[str] = Counter()
    for number, deployment in enumerate(generated(seed, 10**9)):
        if counts["matter"] >= count:
            break
        old = deployment["accounts"]
        for block in old.values():
            # Where chance or the order of mappings decides, two runs differ without a change.
            rows = block.get("mappings", {}).items()
            sure = [(one, to) for one, to in rows if isinstance(to, str) and "random" not in to]
            block["mappings"] = dict(sure[:1])
        if rng.random() < 0.6:
            _judge_login(rng, folder / str(number), counts)
            continue
        kind, new, more = changed(rng, old)
        texts = [f"accounts {json.dumps(old)}\n", f"{more}accounts {json.dumps(new)}\n"]
        paths = [folder / f"{number}.{side}.conf" for side in ("old", "new")]
        for path, text in zip(paths, texts, strict=True):
            path.write_text(text)
        done = CliRunner().invoke(app, ["acl", "diff", *map(str, paths), "--json"])
        if "Error: " in done.output:
            counts["refused by the broker"] += 1
            continue
        try:
            sides = [
                reached(folder / f"{number}.{side}", text, accounts)
                for side, text, accounts in zip(("old", "new"), texts, (old, new), strict=True)
            ]
        except (RuntimeError, ConnectionError, OSError, ValueError):
            counts["refused by the broker"] += 1
            continue
        gained = sides[1] - sides[0]
        if not gained:
            counts["of no effect"] += 1
            continue
        counts["matter"] += 1
        counts[f"{kind}, exit code {done.exit_code}"] += 1
        if done.exit_code == 0:
            text = CliRunner().invoke(app, ["acl", "diff", *map(str, paths)]).output
            raise AssertionError(f"{kind}: {sorted(gained)[:3]}\n{text}\n{paths}")
    return counts


if __name__ == "__main__":
    judge_by_hand(__doc__, judged, 300)
