"""Questions about who may do what to streams, and a live broker on which each way is tried.

A question is a user, a stream and a way (``message-get``, ``publish``, ``stream-purge`` …). The
model answers from the configuration of the server and the saved page ``/jsz``. On the broker the
user's own connection tries the way, and the verdict is what arrives: no answer depends on a clock.

With ``PYTHONPATH=.:tests:tests/acl``:

    python tests/acl/stream_questions.py --seed 1 --count 2000 [--record FILE]
"""

from __future__ import annotations

import json
import random
import urllib.request
from collections import Counter
from collections.abc import Iterator
from pathlib import Path

from judged_by_hand import judge_by_hand
from stream_broker import numbered
from stream_inputs import IMPORTS, lists_of, streams_of
from stream_ways import Ways

from servers import monitor, serving
from subtrie.acl import Deployment
from subtrie.acl._jetstream.access import VERBS, ways_of
from subtrie.acl._jetstream.load import PAGE, load_streams


class Case(Ways):
    """One server with streams and users of two accounts."""

    def __init__(self, rng: random.Random, folder: Path) -> None:
        self._folder = folder
        self.streams = streams_of(rng)
        names = [each["name"] for each in self.streams]
        self.worker = rng.random() < 0.5
        self.imports = rng.sample(IMPORTS[:4], 1) + rng.sample(IMPORTS[4:], rng.randint(0, 3))
        self.users = {f"A/a{n}": lists_of(rng, names, True) for n in range(2)}
        self.users["B/b0"] = lists_of(rng, names, False)
        blocks = {}
        for account in "AB":
            rows = [{"user": f"{account.lower()}root", "password": "open"}]
            rows += [
                {"user": name[2:], "password": "open", "permissions": lists}
                for name, lists in self.users.items()
                if name[0] == account
            ]
            blocks[account] = {"users": rows}
        blocks["A"] |= {"jetstream": "enabled", "exports": [
            {kind: f"{there}.{rest}", **({"response_type": "stream"} if kind == "service" else {})}
            for kind, there, _, rest in self.imports
        ]}  # fmt: skip
        blocks["B"]["imports"] = [
            {kind: {"account": "A", "subject": f"{there}.{rest}"}, "to": f"{here}.{rest}"}
            if kind == "service"
            else {kind: {"account": "A", "subject": f"{there}.{rest}"},
                  "to": numbered(f"{here}.{rest}")}
            for kind, there, here, rest in self.imports
        ]  # fmt: skip
        self.config = f"accounts {json.dumps(blocks, indent=1)}\n"

    def judged(self) -> Iterator[tuple[str, str, str, bool | None, bool]]:
        """Yields user, stream, way, our answer and that of the broker."""
        self._folder.mkdir(parents=True)
        path = self._folder / "users.conf"
        settings = f'http: "127.0.0.1:-1"\njetstream {{ store_dir: "{self._folder}/store" }}\n'
        path.write_text(settings + self.config)
        with serving(self._folder / "server", settings + self.config) as url:
            self._connect(url)
            for each in self.streams:
                self._make(each)
            page = self._folder / "jsz.json"
            with urllib.request.urlopen(monitor(self._folder / "server") + PAGE) as answer:
                page.write_bytes(answer.read())
            deployment, streams = Deployment.load(path), load_streams([page])
            for user in self.users:
                for config in self.streams:
                    [stream] = streams.named(config["name"])
                    for verb in VERBS:
                        ours = {
                            way.name: way.determined or None
                            for way in ways_of(deployment, streams, stream, verb, user)
                            if not way.name.startswith("copy-")
                        }
                        for name, does in self._ways(user, config, verb).items():
                            ours_here = ours.pop(name, False)
                            yield (
                                user,
                                config["name"],
                                f"{verb}: {name}",
                                ours_here,
                                (ours_here is not None and does()),
                            )
                        assert not ours, (user, config, verb, ours)
            for each in self._clients.values():
                each.close()


def judged(seed: int, count: int, folder: Path) -> Counter[str]:
    """Counts of answers. Raises on any difference."""
    rng = random.Random(seed)
    counts: Counter[str] = Counter()
    number = 0
    while counts["asked"] < count:
        case = Case(rng, folder / str(number))
        number += 1
        for user, stream, way, ours, broker in case.judged():
            counts["asked"] += 1
            counts["undetermined" if ours is None else "yes" if broker else "no"] += 1
            counts[f"{way.partition(':')[0]} {'yes' if broker else 'no'}"] += 1
            if ours is not None and ours != broker:
                lists = case.users[user]
                raise AssertionError(json.dumps({
                    "user": user, "lists": lists, "stream": stream, "way": way, "ours": ours,
                    "broker": broker, "imports": case.imports, "streams": case.streams,
                }))  # fmt: skip
            if counts["asked"] == count:
                break
    return counts


if __name__ == "__main__":
    judge_by_hand(__doc__, judged, 2_000)
