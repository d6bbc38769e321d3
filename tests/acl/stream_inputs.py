"""Made streams, lists of users and requests, for questions about streams."""

import random
from typing import Any

from subtrie._nats.jetstream_subjects import ADMIN, JETSTREAM_SUBJECTS

ROWS = {row.name: row for row in JETSTREAM_SUBJECTS}
MANAGED = [
    row.name for row in JETSTREAM_SUBJECTS
    if row.operation == ADMIN and not row.system and row.name != "stream-create"
    and "{stream}" in row.template
]  # fmt: skip
CREATE = ["consumer-create-unnamed", "consumer-create", "consumer-create-durable",
          "consumer-create-filtered"]  # fmt: skip
#: What one server without a cluster does not do.
CLUSTERED = {"stream-peer-remove", "stream-peer-evacuate", "stream-cancel-move",
             "stream-leader-stepdown", "consumer-leader-stepdown"}  # fmt: skip
#: Subjects, one of each kind that an entry of the lists may allow.
CANDIDATES = ["_INBOX.u.1", "_INBOX.z", "deliver.push1", "deliver.x", "deliver.group", "copy.1",
              "copy.x.y", "free", "free.x", "orders.eu.9", "work.z", "zz", "fromA.push1", "fromA.z",
              "copied.1"]  # fmt: skip
PUBLISHED = {
    "ORDERS": ["orders.eu.1", "orders.us.2", "orders.z", "orders.eu.z.y"],
    "WORK": ["work.1", "work.z"],
    "KV_cfg": ["$KV.cfg.a", "$KV.cfg.b.c"],
    "REPUB": ["rep.1", "rep.z"],
    "SEALED": ["seal.1"],
    "COPY": ["src.1", "src.z"],
    "MIRROR": [],
}
#: Subjects that a stream of the user's own may capture.
OWN = ["zz", "work.1", "$KV.cfg.a", "$KV.other.z", "rep.1", "src.1", "seal.1"]
CONSUMERS = ["c1", "c2", "pull1", "push1", "wpull"]
NAMES = ["c1", "c2", "XX", "fresh0"]
#: Imports of B: kind, the prefix in A, the prefix in B, and what follows.
IMPORTS = [
    ("service", "$JS.API", "JSA", ">"),
    ("service", "$JS.API", "JSA", "STREAM.MSG.GET.*"),
    ("service", "$JS.API", "JSA", "CONSUMER.>"),
    ("service", "$JS.API", "JSA", "STREAM.*.ORDERS"),
    ("service", "orders", "buy", "*.*"),
    ("stream", "deliver", "fromA", ">"),
    ("stream", "copy", "copied", "*"),
]


def streams_of(rng: random.Random) -> list[dict[str, Any]]:
    base = {"storage": "file", "num_replicas": 1, "retention": "limits"}
    rows = {
        "ORDERS": {"subjects": ["orders.>"], "allow_direct": rng.random() < 0.7,
                   "allow_rollup_hdrs": rng.random() < 0.5, "deny_delete": rng.random() < 0.3},
        "WORK": {"subjects": ["work.*"], "retention": "workqueue",
                 "deny_purge": rng.random() < 0.3},
        "KV_cfg": {"subjects": ["$KV.cfg.>"], "allow_direct": True, "allow_rollup_hdrs": True,
                   "deny_delete": True, "max_msgs_per_subject": 5},
        "REPUB": {"subjects": ["rep.*"], "republish": {"src": "rep.*", "dest": "copy.$1"}},
        "SEALED": {"subjects": ["seal.*"]},
        "COPY": {"subjects": ["src.*"], "sources": [{"name": "ORDERS"}]},
        "MIRROR": {"mirror": {"name": "ORDERS"}, "mirror_direct": rng.random() < 0.5,
                   "allow_direct": True},
    }  # fmt: skip
    chosen = ["ORDERS", *rng.sample([name for name in rows if name != "ORDERS"], 2)]
    return [{**base, "name": name, **rows[name]} for name in chosen]


def _request(rng: random.Random, names: list[str]) -> str:
    """An entry about the API."""
    row = rng.choice([each for each in JETSTREAM_SUBJECTS if each.template.startswith("$JS.API.")])
    values = {"stream": rng.choice([*names, "*", "*"]),
              "consumer": rng.choice([*CONSUMERS, "*", "*"])}  # fmt: skip
    text = row.filled(values)
    return ".".join([*text.split(".")[:-1], ">"]) if rng.random() < 0.1 else text


def lists_of(rng: random.Random, names: list[str], there: bool) -> dict[str, Any]:
    whole = ["$JS.API.>", "$JS.API.STREAM.>", "$JS.API.CONSUMER.>", "$JS.API.*.*.*",
             "$JS.API.STREAM.*.ORDERS", "$JS.API.DIRECT.>"]  # fmt: skip
    words = ["orders.>", "orders.eu.*", "orders.*", "work.*", "$KV.>", "$KV.cfg.a", "rep.*",
             "src.1", "seal.*", "zz", "$JS.ACK.>", "$JS.ACK.WORK.*.>"]  # fmt: skip
    allow = [_request(rng, names) for _ in range(rng.randint(2, 7))]
    allow += rng.sample(whole, rng.choice([0, 0, 1, 2])) + rng.sample(words, rng.randint(0, 3))
    deny = [_request(rng, names) for _ in range(rng.choice([0, 0, 1, 2]))]
    if not there:
        allow = [each.replace("$JS.API", "JSA") for each in allow] + ["buy.>"] * rng.randint(0, 1)
        deny = [each.replace("$JS.API", "JSA") for each in deny]
    listens = ["_INBOX.>", "_INBOX.u.*", "deliver.>", "deliver.push1", "deliver.group q", "copy.*",
             "free", "orders.>", "work.z", "fromA.>", "fromA.push1", "copied.*", "zz"]  # fmt: skip
    # Many listen to nothing, or only to what one stream captures or one import brings.
    alone = ["orders.>", "work.z", "deliver.>", "copy.*", "fromA.>", "copied.*"]
    listen = rng.sample(listens, rng.randint(1, 4))
    if rng.random() < 0.5:
        listen = rng.choice([[], [rng.choice(alone)]])
    lists: dict[str, Any] = {"publish": {"allow": allow}}
    if deny:
        lists["publish"]["deny"] = deny
    if listen:
        lists["subscribe"] = {"allow": listen}
    else:
        lists["subscribe"] = {"deny": ">"}
    if listen and rng.random() < 0.3:
        lists["subscribe"]["deny"] = rng.sample(["_INBOX.z", "deliver.>", "copy.>"], 1)
    return lists
