"""The rules in a signed file, entry by entry, against a source tree that is read by eye."""

from __future__ import annotations

import base64
import itertools
import json
from pathlib import Path

import pytest
from click.testing import CliRunner
from operators import Operator
from source_trees import HEAD

from subtrie import microbus
from subtrie._cli.app import app
from subtrie.gencreds import rules, scan

SHOP = {
    "orders.py": HEAD
    + """\
stock = Client("stock.shop")
@stock.call("GET", "/items/{id}")
async def item(id): ...
@stock.call("PUT", ":444/items/{id}")
async def put(id): ...
@stock.call("DELETE", "/items/{id}")
async def never(id): ...
placed = Event("orders.shop", "/on-placed")
@orders.endpoint("POST", "/checkout")
async def checkout(request):
    await stock.item(orders, "7")
    await orders.request("POST", "https://mint.core:666/token")
    await orders.trigger(placed)
""",
    "stock.py": """\
from subtrie.connector import Connector
stock = Connector("stock.shop")
@stock.endpoint("GET", "/items/{id}")
async def item(id): ...
@stock.endpoint("GET", "//catalogue.shop/{rest...}")
async def pages(rest): ...
async def f(): await stock.request("GET", "https://mint.core:443/health")
""",
    "mint.py": """\
from subtrie.connector import Connector
mint = Connector("mint.core")
@mint.endpoint("POST", ":666/token")
async def token(): ...
@mint.endpoint("GET", "/health")
async def health(): ...
""",
}

#: What each service's code publishes and subscribes to, with what every service needs first.
EXACT = {
    "orders.shop": (
        [
            "prod.safe.888.orders_shop.>",
            "prod.reply._.orders_shop.>",
            "prod.safe.443.orders_shop.stock_shop.*.GET.items.*",
            "prod.danger.666.orders_shop.mint_core.*.POST.token",
            "prod.safe.417.orders_shop.orders_shop.*.POST.on-placed",
        ],
        [
            "prod.safe.*.*.orders_shop.>",
            "prod.reply._.*.orders_shop.*",
            "prod.safe.888.*.all.>",
        ],
    ),
    "stock.shop": (
        [
            "prod.safe.888.stock_shop.>",
            "prod.reply._.stock_shop.>",
            "prod.safe.443.stock_shop.mint_core.*.GET.health",
        ],
        [
            "prod.safe.*.*.stock_shop.>",
            "prod.reply._.*.stock_shop.*",
            "prod.safe.888.*.all.>",
            "prod.safe.443.*.catalogue_shop.*.GET.>",
        ],
    ),
    "mint.core": (
        ["prod.safe.888.mint_core.>", "prod.reply._.mint_core.>"],
        [
            "prod.safe.*.*.mint_core.>",
            "prod.reply._.*.mint_core.*",
            "prod.safe.888.*.all.>",
            "prod.danger.666.*.mint_core.>",
        ],
    ),
}


def _claims(path: Path) -> dict[str, dict[str, dict[str, list[str]]]]:
    """Read the claims of a creds file without the library that wrote it."""
    (jwt,) = [line for line in path.read_text().splitlines() if line.startswith("eyJ")]
    payload = jwt.split(".")[1]
    return json.loads(base64.urlsafe_b64decode(payload + "=" * (-len(payload) % 4)))


@pytest.mark.requirement("S0-102", "S0-109", "S0-115", "A24")
def test_a_signed_file_has_the_patterns_of_the_code_and_no_others(tree, tmp_path, monkeypatch):
    folder = tree(SHOP)
    monkeypatch.chdir(tmp_path)
    seed = tmp_path / "account.nk"
    seed.write_text(Operator().account.seed.decode() + "\n")
    seed.chmod(0o600)
    words = ["gencreds", str(folder), "--plane", "prod", "--signing-key", str(seed)]
    done = CliRunner().invoke(app, [*words, "--out", "creds"])
    assert done.exit_code == 0, done.output
    signed = {path.name.removesuffix("_nats.creds"): path for path in Path("creds").iterdir()}
    assert set(signed) == set(EXACT)
    for host, (publish, subscribe) in EXACT.items():
        granted = _claims(signed[host])["nats"]
        assert sorted(granted["pub"]["allow"]) == sorted(publish), host
        assert sorted(granted["sub"]["allow"]) == sorted(subscribe), host
        assert "deny" not in granted["pub"]
        assert "deny" not in granted["sub"]


@pytest.mark.requirement("S0-109")
def test_each_call_of_a_typed_client_is_one_publish_rule(only):
    stubs = (
        'stock = Client("stock.shop")\n@stock.call("GET", "/items/{id}")\nasync def item(id): ...\n'
        '@stock.call("PUT", ":444/shelves/{id}/{rest...}")\nasync def put(id, rest): ...\n'
    )
    before = set(rules(only(stubs), "p").publish_allow)
    calls = {
        'async def f(): await stock.item(orders, "7")\n':
            "p.safe.443.orders_shop.stock_shop.*.GET.items.*",
        'async def g(): await stock.put(orders, "7", "a/b")\n':
            "p.safe.444.orders_shop.stock_shop.*.PUT.shelves.*.>",
    }  # fmt: skip
    for count in (0, 1, 2):
        for made in itertools.combinations(calls, count):
            text = stubs + "".join(made)
            after = set(rules(only(text), "p").publish_allow)
            assert after - before == {calls[call] for call in made}
            assert before <= after


@pytest.mark.requirement("S0-115")
def test_a_caller_of_another_port_gets_no_rule_for_the_trust_root(tree):
    root = "p.danger.666.orders_shop.mint_core.*.POST.token"
    url = "https://mint.core:666/token"
    for port in ("666", "667", "443", "66"):
        text = HEAD + f'orders.request("POST", "{url.replace("666", port)}")\n'
        (service,) = scan(tree(service=text))
        allowed = rules(service, "p").publish_allow
        assert [each for each in allowed if ".danger." in each] == ([root] if port == "666" else [])


@pytest.mark.requirement("A22")
def test_a_caller_may_pin_any_replica_or_locality(only):
    service = only('orders.request("GET", "https://stock.shop/items/7")')
    granted = rules(service, "p")
    for slot in ("", "id-a1b2", "loc-us-east", "loc-us-east-1"):
        subject = microbus.encode_request(
            plane="p", port=443, source="orders.shop", host="stock.shop", slot=slot,
            method="GET", path="/items/7",
        )  # fmt: skip
        assert granted.can_publish(subject), slot
        other = subject.replace(".GET.", ".PUT.")
        assert not granted.can_publish(other), slot


def test_a_stub_of_any_method_is_not_refused_and_is_granted_as_it_is_sent(tmp_path):
    source = (
        HEAD
        + """\
tokens = Client("access.token.core")
@tokens.call("ANY", ":666/mint", result="token")
async def mint(claims: dict) -> str: ...
@orders.endpoint("POST", "/login", result="token")
async def login(name: str) -> str:
    return await mint(orders, {"sub": name})
"""
    )
    (tmp_path / "login.py").write_text(source)
    (service,) = scan(tmp_path)
    granted = rules(service, "prod").publish_allow
    assert "prod.danger.666.orders_shop.access_token_core.*.POST.mint" in granted
