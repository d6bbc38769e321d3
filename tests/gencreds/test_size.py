"""The size of a JWT: exact before signing, and compared with the limit of a broker."""

from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from operators import Operator, connecting
from raw_client import RawClient

from servers import serving
from subtrie import PermissionsError
from subtrie.acl import Permissions
from subtrie.gencreds import plan, sign
from subtrie.gencreds._size import jwt_limit

OPERATOR = Operator()
SEED = OPERATOR.account.seed.decode()
TOKENS = st.text("abcxyz%*0", min_size=1, max_size=30).filter(lambda text: "**" not in text)
RULES = st.lists(TOKENS.map(lambda text: f"p.{text}.>"), min_size=0, max_size=20)


@settings(max_examples=60)
@given(RULES, RULES, st.one_of(st.none(), st.integers(1, 10**9)), st.text("ab.", max_size=9))
def test_a_plan_is_the_size_of_the_jwt(publish, subscribe, expires, name):
    permissions = Permissions(publish_allow=publish, subscribe_allow=subscribe)
    planned = plan(permissions, name=name, expires=expires)
    assert planned.size == len(sign(permissions, SEED, name=name, expires=expires).jwt)
    assert len(planned.costliest) == min(5, len(publish) + len(subscribe))
    costs = [cost for *_, cost in planned.costliest]
    assert costs == sorted(costs, reverse=True)


def _of_size(name: str, bytes_left: int) -> Permissions:
    """Rules with which the JWT has just so many bytes left, to the few bytes of base64."""
    for length in range(1, 4000):
        permissions = Permissions(publish_allow=["p." + "x" * length], subscribe_allow=["p.>"])
        planned = plan(permissions, name=name)
        if planned.limit - planned.size <= bytes_left:
            return permissions
    raise AssertionError("no such size")


@pytest.mark.requirement("A37")
@pytest.mark.parametrize("name", ["a", "orders.shop", "x" * 200])
def test_the_largest_that_fits_connects_and_one_more_is_refused(tmp_path, name):
    """With all that a client of nats-py says besides."""
    largest = _of_size(name, 1)
    creds = sign(largest, SEED, name=name)
    assert jwt_limit(name) - len(creds.jwt) in (0, 1)
    said = {
        "lang": "python3", "version": "2.15.0", "protocol": 1, "name": name, "no_responders": True,
        "tls_required": False,
    }  # fmt: skip
    with serving(tmp_path / "server", OPERATOR.config) as url:
        client = RawClient(url, **said, **connecting(creds.jwt, creds.seed))
        client.publish("p.other")
        client.flush()
        assert client.refused == [("Publish", "p.other", None)]
        client.close()
    with pytest.raises(PermissionsError) as caught:
        sign(_of_size(name, -1), SEED, name=name)
    assert caught.value.reason == "jwt-size"


def test_the_costliest_rules_are_named():
    rules = [f"p.safe.443.orders_shop.stock_shop.*.GET.items.{n}{'y' * n}" for n in range(60)]
    permissions = Permissions(publish_allow=rules, subscribe_allow=["p.>"])
    planned = plan(permissions, name="orders.shop")
    assert not planned.fits
    assert [rule for _, rule, _ in planned.costliest] == rules[:-6:-1]
    with pytest.raises(PermissionsError) as caught:
        sign(permissions, SEED, name="orders.shop")
    message = str(caught.value)
    assert message.count("\n") == 0
    assert f"{planned.size:,} of 3,795 bytes" in message
    for _, rule, cost in planned.costliest:
        assert f"{rule} ({cost} bytes)" in message
