"""Statements about addresses as a whole, on both engines."""

from __future__ import annotations

import re
import string
from random import Random

import pytest

import subtrie

IDENTITY = string.ascii_lowercase + string.digits + "-."


@pytest.mark.requirement("S0-035", "S0-137")
def test_the_host_of_a_service_is_a_token_of_few_characters(engine):
    random = Random(35)
    checked = 0
    while checked < 500:
        host = "".join(random.choices(IDENTITY, k=random.randint(1, 20)))
        try:
            engine.check_identity_host(host)
        except subtrie.AddressError:
            continue
        checked += 1
        subject = engine.encode_request(
            plane="p", port=443, source=host, host=host, method="GET", path="/"
        )
        source, destination = subject.split(".")[3:5]
        assert re.fullmatch("[a-z0-9_-]+", destination)
        assert source == destination == host.replace(".", "_"), "the legacy form"
        assert source == destination
        assert engine.decode(subject).host == host


@pytest.mark.requirement("S0-034", "S0-035")
@pytest.mark.parametrize(
    "host", ["a_b", "my$.xml", "a%b", "é.b", "A.b", "a b", "*", ">", "a.b\n", "a..b", ""]
)
def test_what_no_service_may_be_called(engine, host):
    with pytest.raises(subtrie.AddressError) as caught:
        engine.check_identity_host(host)
    assert caught.value.field == "host"


@pytest.mark.requirement("S0-041", "T1")
def test_only_the_canonical_form_of_a_source_is_verified(engine):
    """Every token that differs from the canonical one, by escape or by case, has no source."""
    for host in ("a.b", "payments.core", "x-1.y", "a"):
        token = engine.flatten_host(host)
        spellings = {token.upper(), f"%{ord(token[0]):02x}{token[1:]}", token.replace("_", "%2e")}
        spellings |= {f"%{ord(token[0]):02X}{token[1:]}", token.replace("_", "."), token + "%00"}
        spellings |= {token.capitalize(), f"{token}%0d%0a", f"{token}_", f"_{token}", "*", ">", "_"}
        for spelling in spellings - {token}:
            assert engine.source_of(f"p.safe.443.{spelling}.c._.GET.x") is None, spelling
            assert engine.source_of(f"p.reply._.{spelling}.c.id-1") is None, spelling
        assert engine.source_of(f"p.safe.443.{token}.c._.GET.x") == host


@pytest.mark.requirement("S0-017")
def test_planes_never_meet(engine):
    random = Random(17)
    planes = ["p", "P", "p0", "microbus", "microbus1", "a" * 40]
    trie = engine.SubjectTrie()
    for plane in planes:
        for port, method, path in [
            (0, "ANY", "/{...}"),
            (443, "GET", "/x/{id}"),
            (666, "ANY", "/x"),
        ]:
            pattern = engine.encode_subscription(
                plane=plane, port=port, host="c.d", method=method, path=path
            )
            trie.add(pattern, plane)
    for _ in range(2000):
        plane = random.choice(planes)
        subject = engine.encode_request(
            plane=plane,
            port=random.choice([0, 80, 443, 666, 65535]),
            source="a.b",
            host=random.choice(["c.d", "c.d", "e.f"]),
            method=random.choice(["GET", "POST"]),
            path="/" + "/".join(random.choices(["x", "y", "*", ">"], k=random.randint(0, 4))),
        )
        assert set(trie.match(subject)) <= {plane}


@pytest.mark.requirement("M-04", "M-07")
def test_the_extension_encodes():
    """A crate in Rust, imported as a module of Python."""
    native = subtrie._subtrie
    assert native.__file__.endswith((".so", ".pyd"))
    assert native.__name__ == "subtrie._subtrie"
    assert native.encode_reply(plane="p", source="a.b", host="c.d", id="id-1") == (
        "p.reply._.a_b.c_d.id-1"
    )
    assert not hasattr(native.encode_reply, "__code__")


@pytest.mark.requirement("M-10")
def test_the_package_is_built_by_maturin():
    from importlib.metadata import distribution

    wheel = distribution("subtrie").read_text("WHEEL")
    assert "Generator: maturin" in wheel
    assert "abi3" in wheel
