"""A secret of a configuration is in no answer of a comparison, wherever it stands."""

from __future__ import annotations

import json

import nkeys
import pytest
from click.testing import CliRunner
from operators import key

from subtrie._cli.app import app
from subtrie.acl import Deployment

SEEDS = [key(nkeys.PREFIX_BYTE_USER).seed.decode() for _ in range(2)]
USERS = "users: [ { user: u, password: SECRET, MORE } ]"
REMOTE = "leafnodes { remotes: [ { SECRET, MORE } ] }"
OPERATED = "operator: [x]\nresolver_preload { A: b }\nMORE\n"
#: Where a secret may stand, and where a setting is added beside it.
PLACES = [
    *((f"authorization {{ {each} }}", "allowed_connection_types: mqtt") for each in (
        USERS, USERS.replace("password", "pass"))),
    *((f"authorization {{ {each}, MORE }}", "proxy_required: true") for each in (
        "user: u, password: SECRET", "user: u, pass: SECRET", "token: SECRET")),
    (f"accounts {{ A {{ {USERS} }} }}", "allowed_connection_types: mqtt"),
    *((REMOTE.replace("SECRET", each), "deny_imports: a") for each in (
        "nkey: SECRET", "url: 'nats://h:1', nkey: SECRET", "url: h, seed: SECRET",
        "url: h, credentials: SECRET", "url: h, creds: SECRET", "url: 'nats://u:SECRET@h:1'",
        "urls: [ 'nats://u:SECRET@h:1', 'nats://SECRET@h:1' ]", "url: 'nats://SECRET@h:1'",
        "url: h, proxy { url: 'http://h:1', username: u, password: SECRET }",
        "url: h, proxy { url: 'http://u:SECRET@h:1' }")),
    (f"leafnodes {{ authorization {{ {USERS} }} }}", "account: A"),
    ("leafnodes { authorization { user: u, password: SECRET, MORE } }", "account: A"),
    *((f"{name} {{ authorization {{ {each} }}, MORE }}", "tls { verify: true }")
      for name in ("cluster", "gateway", "websocket", "mqtt", "leafnodes")
      for each in ("user: u, password: SECRET", "user: u, pass: SECRET", "token: SECRET")),
    ("cluster { routes: [ 'nats://u:SECRET@h:1', 'nats://SECRET@h:1' ], MORE }",
     "tls { verify: true }"),
    *(("gateway { gateways: [ { ADDRESS, MORE } ] }".replace("ADDRESS", each),
       "tls { verify: true }") for each in (
        "name: h, url: 'nats://u:SECRET@h:1'", "name: h, urls: [ 'nats://SECRET@h:1' ]",
        "urls: [ 'nats://u:SECRET@h:1' ]")),
    *((f"jetstream {{ {each}, MORE }}", "domain: d") for each in (
        "key: SECRET", "ek: SECRET", "encryption_key: SECRET", "prev_key: SECRET",
        "tpm { encryption_password: SECRET }", "tpm { srk_password: SECRET }")),
    *((f"{OPERATED}{each}", "system_account: A") for each in (
        "default_sentinel: SECRET", "resolver: 'URL(http://u:SECRET@h/)'",
        "resolver { type: full, key: SECRET }")),
    ("resolver_preload { A: SECRET }\nMORE", "system_account: A"),
    ("operator: SECRET\nMORE", "system_account: A"),
]  # fmt: skip


@pytest.mark.parametrize(("place", "more"), PLACES)
def test_a_secret_is_in_no_answer(place, more, tmp_path):
    """Bug: the seed of a remote was the name by which the comparison told it from others."""
    with_ = place.replace("SECRET", SEEDS[0])
    texts = {
        "none": "port: 4222\n", "one": with_.replace("MORE", ""),
        "more": with_.replace("MORE", more),
        "other": place.replace("SECRET", SEEDS[1]).replace("MORE", ""),
    }  # fmt: skip
    for name, text in texts.items():
        path = tmp_path / f"{name}.conf"
        path.write_text(text.replace(",  }", " }"))
        Deployment.load(path)
    for pair in (("none", "one"), ("one", "other"), ("one", "more")):
        paths = [str(tmp_path / f"{each}.conf") for each in pair]
        done = CliRunner().invoke(app, ["acl", "diff", *paths, "--json"])
        assert done.exception is None or isinstance(done.exception, SystemExit)
        found = json.loads(done.stdout)
        assert pair[1] != "more" or found["consequences"] or found["not_compared"]
        assert not any(seed in done.output for seed in SEEDS), pair
