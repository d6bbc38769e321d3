"""Formats of ``subtrie gencreds``: a configuration, commands of nsc, Markdown, a test report."""

from __future__ import annotations

import os
import re
import shlex
from pathlib import Path

import pytest
from creds_command import (
    ORDERS,
    TWO,
    account_seed,
    files_here,
    run,
    seed_file,
    written_creds,
)
from source_trees import HEAD

from servers import loads
from subtrie.acl import Permissions
from subtrie.gencreds import rules, scan

pytestmark = pytest.mark.usefixtures("in_a_folder")


def _commands(output: str) -> list[list[str]]:
    """Return the words of each command."""
    return [shlex.split(each) for each in output.replace("\\\n", " ").splitlines()]


def test_plain_configuration_that_the_broker_loads(tree):
    folder = tree(TWO)
    done = run(folder, "--plane", "prod", "--format", "conf")
    assert done.exit_code == 0
    path = Path("users.conf")
    path.write_text(done.output)
    env = {
        **os.environ,
        "ORDERS_SHOP_PASSWORD": "hidden-word",
        "STOCK_SHOP_PASSWORD": "hidden-word",
    }
    assert loads(path, env)
    assert not loads(path, {"PATH": os.environ["PATH"]})
    wanted = {each.host: rules(each, "prod") for each in scan(folder)}
    for host, permissions in wanted.items():
        assert Permissions.load(path, user=host, env=env) == permissions
    assert files_here() == {"users.conf"}


def test_the_password_of_a_host_with_digits_is_a_variable_of_its_own(tree):
    hosts = ("orders2.shop-1", "orders.shop")
    source = "".join(f"s{at} = Connector('{host}')\n" for at, host in enumerate(hosts))
    folder = tree(service=f"from subtrie.connector import Connector\n{source}")
    done = run(folder, "--plane", "p", "--format", "conf")
    assert sorted(re.findall(r"password: (.*)", done.output)) == [
        "$ORDERS2_SHOP_1_PASSWORD", "$ORDERS_SHOP_PASSWORD",
    ]  # fmt: skip


def test_markdown_of_creds_that_are_as_they_should_be(tree, operator):
    folder = tree(TWO)
    title = f"### Permissions of `{folder.name}`\n\n"
    words = (folder, "--plane", "prod", "--format", "markdown")
    assert run(*words).output == (
        f"{title}No creds to compare with: `orders.shop`, `stock.shop`.\n\n"
    )
    key_file = seed_file(account_seed(operator))
    run(folder, "--plane", "prod", "--signing-key", key_file, "--service", "orders.shop")
    assert run(*words).output == (
        f"{title}Unchanged: `orders.shop`.\n\nNo creds to compare with: `stock.shop`.\n\n"
    )


def test_the_commands_of_nsc(tree, operator):
    folder = tree(service=ORDERS)
    done = run(folder, "--plane", "prod", "--format", "nsc", "--expires", "30d")
    assert done.output.startswith("nsc add user --name orders.shop \\\n  --allow-pub 'prod.reply")
    assert "--allow-pub 'prod.safe.443.orders_shop.stock_shop.*.GET.items.*' \\\n" in done.output
    assert "--expiry 43200m\n" in done.output
    assert done.output.endswith("--output-file orders.shop_nats.creds\n")
    run(folder, "--plane", "prod", "--signing-key", seed_file(account_seed(operator)))
    tree(service=ORDERS.replace("POST", "PUT"))
    done = run(folder, "--plane", "prod", "--format", "nsc")
    assert done.output == (
        "nsc edit user --name orders.shop \\\n"
        "  --rm 'prod.safe.443.orders_shop.ledger_shop.*.POST.entries.*'\n"
        "nsc edit user --name orders.shop \\\n"
        "  --allow-pub 'prod.safe.443.orders_shop.ledger_shop.*.PUT.entries.*'\n"
        "nsc generate creds --name orders.shop \\\n  --output-file orders.shop_nats.creds\n"
    )


@pytest.mark.parametrize(
    ("time", "minutes"), [("60w", 604_800), ("1000d", 1_440_000), ("1h30m", 90), ("59s", 1)]
)
def test_the_time_of_creds_in_minutes_for_nsc(tree, time, minutes):
    done = run(tree(service=ORDERS), "--plane", "prod", "--format", "nsc", "--expires", time)
    assert f"--expiry {minutes}m\n" in done.output


def test_an_entry_with_a_comma_is_quoted_for_nsc(tree, operator):
    folder = tree(service=ORDERS)
    wanted = rules(next(iter(scan(folder))), "prod")
    lists = {"pub": {"allow": [*wanted.publish_allow, "old,more.>"]},
             "sub": {"allow": [*wanted.subscribe_allow]}}  # fmt: skip
    written_creds(operator.user(lists))
    done = run(folder, "--plane", "prod", "--format", "nsc")
    assert _commands(done.output)[0][5:] == ["--rm", '"old,more.>"']


@pytest.mark.parametrize("absent", [("pub",), ("sub",), ("pub", "sub")])
def test_the_commands_of_nsc_for_creds_without_a_list_add_the_whole_list(tree, operator, absent):
    """A JWT without an allow list, as other tools write it, allows everything."""
    folder = tree(service=ORDERS)
    wanted = rules(next(iter(scan(folder))), "prod")
    of_list = {"pub": wanted.publish_allow, "sub": wanted.subscribe_allow}
    lists = {name: {"allow": [*of_list[name]]} for name in of_list if name not in absent}
    written_creds(operator.user(lists))
    done = run(folder, "--plane", "prod", "--format", "nsc")
    assert done.exit_code == 0, done.output
    words = _commands(done.output)[0]
    assert words[:5] == ["nsc", "edit", "user", "--name", "orders.shop"]
    added = list(zip(words[5::2], words[6::2], strict=True))
    assert added == [(f"--allow-{name}", entry) for name in absent for entry in of_list[name]]


def test_an_entry_that_nsc_removes_from_both_lists_is_added_to_one_again(tree, operator):
    folder = tree(service=ORDERS)
    wanted = rules(next(iter(scan(folder))), "prod")
    stays, gone = wanted.subscribe_allow[0], "prod.old.>"
    lists = {"pub": {"allow": [*wanted.publish_allow, stays, gone]},
             "sub": {"allow": [*wanted.subscribe_allow, gone]}}  # fmt: skip
    written_creds(operator.user(lists))
    done = run(folder, "--plane", "prod", "--format", "nsc", "--expires", "30s")
    rows = _commands(done.output)
    assert rows[0][5:] == ["--rm", stays, "--rm", gone]
    assert rows[1][5:] == ["--allow-sub", stays, "--expiry", "1m"]
    lists["pub"]["allow"] = [*wanted.publish_allow, gone]
    written_creds(operator.user(lists))
    done = run(folder, "--plane", "prod", "--format", "nsc")
    rows = _commands(done.output)
    assert [each[:3] for each in rows] == [["nsc", "edit", "user"], ["nsc", "generate", "creds"]]
    assert rows[0][5:] == ["--rm", gone], "nothing is added"


def test_creds_that_grant_more_than_the_source_needs_pass_a_test_report(tree, operator):
    key_file = seed_file(account_seed(operator))
    assert run(tree(service=ORDERS), "--plane", "p", "--signing-key", key_file).exit_code == 0
    less = tree(service=HEAD)
    report = run(less, "--plane", "p", "--format", "junit").output
    assert "orders.shop: no new access" in report
    assert 'failures="0"' in report
    more = tree(service=ORDERS + 'orders.request("GET", "https://more.shop/x")\n')
    report = run(more, "--plane", "p", "--format", "junit").output
    assert "no new access" not in report
