"""Rules are proposed from what the broker proved of a sender, else only if that is asked for."""

from __future__ import annotations

from pathlib import Path

import pytest

from subtrie.audit import Questions, audit

HEAD = "prod.safe.443.{}.stock_example._.GET.items."
HOSTS = ("stock.example", "shop.example", "desk.example")


def log(folder: Path, *users: str) -> str:
    """Two services ask a third one; those in ``users`` log in, the others have only a name."""
    lines = []

    def say(cid: int, text: str) -> None:
        host = HOSTS[cid - 1]
        name, login = ("v1:py", f'"$G/user:{host}" - ') if host in users else (f"v1:py:{host}", "")
        lines.append(
            f"[7] 2026/11/21 08:00:{len(lines):02}.000000 [TRC] 127.0.0.1:4000{cid} - cid:{cid} - "
            f'"{name}" - {login}{text}'
        )

    say(1, f"<<- [SUB {HEAD.format('*')}*  1]")
    for cid, item in ((2, "a1"), (3, "b2")):
        subject = HEAD.format(HOSTS[cid - 1].replace(".", "_")) + item
        say(cid, f"<<- [PUB {subject} 0]")
        say(1, f"->> [MSG {subject} 1 0]")
    path = folder / "trace.log"
    path.write_text("\n".join(lines) + "\n")
    return str(path)


def proposed(path: str, **asked: bool) -> tuple[set[str], dict[tuple[str, str], str]]:
    """The rules to publish, and why there is none, by service and verb."""
    questions = Questions(min_days=1, min_sources=2, **asked)
    with audit((path,), questions=questions) as found:
        rules = {row["rule"] for row in found.rows("proposal") if row["verb"] == "publish"}
        thin = {(row["service"], row["verb"]): row["why"] for row in found.rows("too_thin")}
    return rules, thin


@pytest.mark.requirement("P-05")  # A82
def test_a_name_that_only_the_client_claims_proposes_nothing_unless_asked(tmp_path: Path) -> None:
    both = {HEAD.format(name) + "*" for name in ("shop_example", "desk_example")}
    assert proposed(log(tmp_path, *HOSTS))[0] == both
    names = log(tmp_path)
    rules, thin = proposed(names)
    assert rules == set()
    why = "the broker did not prove the identity"
    assert thin == {
        ("shop.example", "publish"): why,
        ("desk.example", "publish"): why,
        ("stock.example", "subscribe"): why,
    }
    assert proposed(names, claimed_identities=True)[0] == both


@pytest.mark.requirement("P-05")  # A82
def test_a_claimed_name_does_not_widen_the_rule_of_a_proven_one(tmp_path: Path) -> None:
    rules, thin = proposed(log(tmp_path, "stock.example", "shop.example"))
    assert rules == {HEAD.format("shop_example") + "a1"}
    assert thin["desk.example", "publish"] == "the broker did not prove the identity"


@pytest.mark.requirement("P-05")  # A82
def test_the_word_of_clients_is_taken_on_spark_too(spark, tmp_path: Path) -> None:
    from subtrie.spark import audit as on_spark

    asked = Questions(min_days=1, claimed_identities=True)
    path = log(tmp_path)
    with audit((path,), questions=asked) as here, on_spark(spark, [path], questions=asked) as there:
        assert there.count("proposal")
        for name in ("proposal", "too_thin"):
            assert list(there.rows(name)) == list(here.rows(name))
