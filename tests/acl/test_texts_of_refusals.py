"""The whole text of a refusal, with values that all differ from one another."""

from __future__ import annotations

import pytest

from subtrie import PermissionsError
from subtrie.acl import Deployment, Permissions

#: Mappings of a configuration that the broker refuses, and the reason.
MAPPINGS = {
    '"a.*": "{{nothing(1)}}"': "{{nothing(1)}}: no function is called {{nothing(1)}}",
    '"a.*": "{{wildcard(1,2)}}"': "{{wildcard(1,2)}}: {{wildcard(1,2)}} takes one number",
    '"a.*": "{{random(3,4)}}"': "{{random(3,4)}}: {{random(3,4)}} takes one number",
    '"a.*": "{{left(1)}}"': "{{left(1)}}: {{left(1)}} takes two arguments",
    '"a.*": "{{left(q,2)}}"': "{{left(q,2)}}: q is not a number",
    '"a.*": "{{split(1,x y)}}"': (
        "{{split(1,x y)}}: {{split(1,x y)}} splits at a text without blanks and dots"
    ),
    '"a.*.*": "$7"': "$7: the source has 2 wildcards, not 7",
    '"a.*": [ { destination: "b.$1", weight: 10 }, { destination: "b.$1", weight: 20 } ]': (
        "b.$1: the destination is listed twice"
    ),
    '"a.*": [ { destination: "b.$1", weight: 60 }, { destination: "c.$1", weight: 70 } ]': (
        "a.*: the weights exceed 100 percent"
    ),
}  # fmt: skip


@pytest.mark.parametrize("mapping", MAPPINGS)
def test_of_a_mapping(mapping, tmp_path):
    told = MAPPINGS[mapping]
    shown = repr(told) if len(told) <= 60 else f"{told[:60]!r}… ({len(told)} characters)"
    path = tmp_path / "nats.conf"
    users = "users: [ { user: u, password: x } ]"
    path.write_text(f"accounts {{ A {{ {users}\n\n mappings {{ {mapping} }} }} }}")
    with pytest.raises(PermissionsError) as caught:
        Deployment.load(path)
    assert str(caught.value) == (
        f"{path}:3: {shown}: the broker refuses this mapping; correct the "
        "destination, or the weights"
    )


#: Arguments that are not of the type, and what the refusal says.
TYPES = [
    ({"publish_allow": "a"}, "publish_allow must be a list of str, not str"),
    ({"subscribe_deny": b"a"}, "subscribe_deny must be a list of str, not bytes"),
    ({"subscribe_allow": ["a", 7]}, "subscribe_allow must hold str, not int"),
    ({"publish_deny": [None]}, "publish_deny must hold str, not NoneType"),
    ({"allow_responses": 2.5}, "allow_responses must be a ResponseLimit or None, not float"),
]  # fmt: skip


@pytest.mark.parametrize(("lists", "text"), TYPES)
def test_of_a_type(lists, text):
    with pytest.raises(TypeError) as caught:
        Permissions(**lists)
    assert str(caught.value) == text


def test_of_a_model_and_a_format():
    with pytest.raises(ValueError, match=r"\Amodel must be 'strict' or 'broker', not 'x'\Z"):
        Permissions().can_publish("a", model="x")
    with pytest.raises(ValueError, match=r"\Aformat must be 'json' or 'conf', not 'y'\Z"):
        Permissions().dump(format="y")
