"""Streams of one name in several accounts: all are kept, and each is sought in its account."""

from __future__ import annotations

import json

import pytest
from command_runs import written

from subtrie.acl import Deployment
from subtrie.acl._jetstream.access import origin
from subtrie.acl._jetstream.load import load_streams
from subtrie.acl._jetstream.streams import Origin, Stream, Streams

EXPORTING = 'jetstream: enabled, exports: [ { service: "$JS.API.>" } ], users: []'
CONFIG = f"""jetstream: {{ store_dir: js }}
accounts {{
  A: {{ {EXPORTING} }}
  B: {{ {EXPORTING} }}
  C: {{
    jetstream: enabled
    imports: [
      {{ service: {{ account: A, subject: "$JS.API.>" }}, to: "api.>" }}
      {{ service: {{ account: B, subject: "$JS.API.>" }}, to: "api.>" }}
    ]
  }}
}}
"""


@pytest.mark.parametrize("holders", ["A", "B", "AB", "BA", "AC", ""])
def test_an_origin_is_sought_in_all_accounts_to_which_its_prefix_leads(holders, tmp_path):
    deployment = Deployment.load(written(tmp_path, CONFIG))
    named = Origin("SOURCE", api="api")
    copy = Stream("COPY", "C", origins=(named,))
    some = [Stream("SOURCE", each) for each in holders]
    streams = Streams((copy, *some, Stream("OTHER", "A"), Stream("OTHER", "B")), given=True)
    found = origin(deployment, streams, copy, named)
    assert sorted(each.account for each in found) == sorted(set(holders) & {"A", "B"})
    own = origin(deployment, streams, copy, Origin("SOURCE"))
    assert [each.account for each in own] == ["C"] * ("C" in holders)


def test_accounts_of_one_name_have_streams_of_their_own(tmp_path):
    """A page has the name and the key of an account; only the key tells two accounts apart."""
    keys = [letter + "B" * 55 for letter in "AC"]
    stream = {"name": "S", "config": {"name": "S", "subjects": ["a"]}, "consumer_detail": []}
    details = [{"name": "SHOP", "id": key, "stream_detail": [stream]} for key in keys]
    page = {"server_id": "N", "streams": 2, "account_details": details}
    found = load_streams([written(tmp_path, json.dumps(page), "jsz.json")]).streams
    assert [(each.account, each.key, each.name) for each in found] == [
        ("SHOP", key, "S") for key in keys
    ]
