"""``subtrie gencreds``: output, files, and refusals that write nothing."""

from __future__ import annotations

import base64
import json
import os
import re
import stat
import subprocess
from pathlib import Path

import nkeys
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
from operators import connecting, key
from raw_client import RawClient
from source_trees import HEAD

from servers import serving
from subtrie import PermissionsError
from subtrie.acl import Permissions
from subtrie.gencreds import rules, scan
from subtrie.gencreds._trial import trial

pytestmark = pytest.mark.usefixtures("in_a_folder")


@pytest.mark.requirement("S0-101")
def test_one_signed_file_for_each_service_which_the_broker_accepts(tree, operator, tmp_path):
    folder = tree(TWO)
    done = run(folder, "--plane", "prod", "--signing-key", seed_file(account_seed(operator)),
                "--out", "creds", "--expires", "2h")  # fmt: skip
    assert done.exit_code == 0, done.output
    assert files_here() == {
        "account.nk", "creds/orders.shop_nats.creds", "creds/stock.shop_nats.creds",
    }  # fmt: skip
    wanted = {each.host: rules(each, "prod") for each in scan(folder)}
    with serving(tmp_path / "server", operator.config) as url:
        for host, permissions in wanted.items():
            path = Path("creds") / f"{host}_nats.creds"
            assert stat.S_IMODE(path.stat().st_mode) == 0o600
            assert Permissions.load(path) == permissions
            lines = path.read_text().splitlines()
            client = RawClient(url, **connecting(lines[1], lines[lines.index(
                "-----BEGIN USER NKEY SEED-----") + 1]))  # fmt: skip
            client.publish("prod.safe.443.orders_shop.stock_shop._.GET.items.7")
            client.publish("test.safe.443.orders_shop.stock_shop._.GET.items.7")
            client.flush()
            assert len(client.refused) == (1 if host == "orders.shop" else 2)
            client.close()


def test_dry_run_shows_rules_places_and_the_difference(tree, operator):
    folder = tree(service=ORDERS)
    done = run(folder, "--plane", "prod", "--dry-run", "--out", "creds")
    assert done.exit_code == 0
    assert "prod.safe.443.orders_shop.stock_shop.*.GET.items.*" in done.output
    assert "service.py:7" in done.output
    assert "creds/orders.shop_nats.creds does not exist yet" in done.output
    assert not files_here()
    sign = ("--signing-key", seed_file(account_seed(operator)), "--out", "creds")
    assert run(folder, "--plane", "prod", *sign).exit_code == 0
    before = Path("creds/orders.shop_nats.creds").read_bytes()
    done = run(folder, "--plane", "prod", "--dry-run", "--out", "creds")
    assert "no difference to creds/orders.shop_nats.creds" in done.output
    tree(service=ORDERS.replace("POST", "PUT"))
    done = run(folder, "--plane", "prod", "--dry-run", "--out", "creds")
    assert "+ publish prod.safe.443.orders_shop.ledger_shop.*.PUT.entries.*" in done.output
    assert "- publish prod.safe.443.orders_shop.ledger_shop.*.POST.entries.*" in done.output
    assert Path("creds/orders.shop_nats.creds").read_bytes() == before
    told = json.loads(
        run(folder, "--plane", "prod", "--dry-run", "--out", "creds", "--json").output
    )
    (service,) = told["services"]
    assert told["plane"] == "prod"
    assert service["host"] == "orders.shop"
    assert service["added"] == ["publish prod.safe.443.orders_shop.ledger_shop.*.PUT.entries.*"]
    assert len(service["removed"]) == 1
    assert not service["written"]
    assert {row["line"] for row in service["publish"]} == {None, 7, 8}
    assert service["size"] < service["limit"]


def test_keys_are_kept_and_used_again(tree, operator):
    folder = tree(service=ORDERS)
    words = (folder, "--plane", "prod", "--signing-key", seed_file(account_seed(operator)))

    def subject() -> str:
        lines = Path("orders.shop_nats.creds").read_text().splitlines()
        seed = lines[lines.index("-----BEGIN USER NKEY SEED-----") + 1]
        public: bytes = nkeys.from_seed(seed.encode()).public_key
        return public.decode()

    run(*words)
    first = subject()
    run(*words)
    assert subject() != first
    run(*words, "--persist-keys", "keys")
    kept = subject()
    assert stat.S_IMODE(Path("keys/orders.shop_user.nk").stat().st_mode) == 0o600
    run(*words, "--persist-keys", "keys")
    assert subject() == kept


def test_an_unresolved_call_fails_the_build_unless_allowed(tree, operator):
    folder = tree(service=ORDERS + 'async def g(u): await orders.request("PUT", u)\n')
    sign = ("--signing-key", seed_file(account_seed(operator)))
    for words in (("--dry-run",), sign, ("--format", "conf"), ("--json", *sign)):
        done = run(folder, "--plane", "prod", *words)
        assert done.exit_code == 1, done.output
        assert "service.py:9: request: the url depends on u, a parameter" in done.output
        assert files_here() == {"account.nk"}
    done = run(folder, "--plane", "prod", *sign, "--allow-dynamic")
    assert done.exit_code == 0
    assert "prod.safe.*.orders_shop.*.*.PUT.>" in done.output
    assert "unresolved: " in done.output
    assert Path("orders.shop_nats.creds").exists()


def test_folders_that_are_made_are_the_users_own(tree, operator):
    key_file = seed_file(account_seed(operator))
    words = ("--signing-key", key_file, "--out", "new/creds", "--persist-keys", "kept")
    done = run(tree(service=ORDERS), "--plane", "prod", *words)
    assert done.exit_code == 0
    for folder in ("new/creds", "kept"):
        assert stat.S_IMODE(Path(folder).stat().st_mode) == 0o700


def test_a_signing_key_of_the_account(tree, operator):
    folder = tree(service=ORDERS)
    signer = operator.signer.seed.decode()
    account = operator.account.public_key.decode()
    done = run(folder, "--plane", "prod", "--signing-key", seed_file(signer), "--account", account)
    assert done.exit_code == 0
    jwt = Path("orders.shop_nats.creds").read_text().splitlines()[1]
    body = json.loads(base64.urlsafe_b64decode(jwt.split(".")[1] + "=="))
    assert body["nats"]["issuer_account"] == account
    assert body["iss"] == operator.signer.public_key.decode()


def test_standard_input_a_pipe_and_decorated_seeds(tree, operator, tmp_path):
    folder = tree(service=ORDERS)
    seed = f"-----BEGIN ACCOUNT NKEY SEED-----\n{account_seed(operator)}\n------END------\n"
    done = run(folder, "--plane", "prod", "--signing-key", "-", input=seed)
    assert done.exit_code == 0
    Path("orders.shop_nats.creds").unlink()
    os.mkfifo(tmp_path / "pipe")
    with subprocess.Popen(["tee", tmp_path / "pipe"], stdin=subprocess.PIPE,
                          stdout=subprocess.DEVNULL) as writer:  # fmt: skip
        assert writer.stdin is not None
        writer.stdin.write(seed.encode())
        writer.stdin.close()
        done = run(folder, "--plane", "prod", "--signing-key", "pipe")
    assert done.exit_code == 0, done.output


def _kinds() -> dict[str, str]:
    made = {
        "operator": nkeys.PREFIX_BYTE_OPERATOR, "user": nkeys.PREFIX_BYTE_USER,
        "server": nkeys.PREFIX_BYTE_SERVER, "cluster": nkeys.PREFIX_BYTE_CLUSTER,
    }  # fmt: skip
    return {name: key(prefix).seed.decode() for name, prefix in made.items()}


@pytest.mark.requirement("T16")
@pytest.mark.parametrize("kind", ["operator", "user", "server", "cluster"])
def test_a_key_of_another_kind_signs_nothing(tree, kind):
    folder = tree(TWO)
    done = run(folder, "--plane", "prod", "--signing-key", seed_file(_kinds()[kind]))
    assert done.exit_code == 2
    assert f"{kind} seed in place of an account seed" in done.output
    assert files_here() == {"account.nk"}


@pytest.mark.requirement("T16")
def test_key_files_that_are_refused(tree, operator, tmp_path_factory):
    folder, seed = tree(TWO), account_seed(operator)
    away = tmp_path_factory.mktemp("away") / "account.nk"
    seed_file(seed, str(away))
    Path("link.nk").symlink_to(away)
    Path("folder.nk").mkdir()
    cases = {
        seed_file(seed, "group.nk", 0o640): "others may read it",
        seed_file(seed, "world.nk", 0o604): "others may read it",
        Path("link.nk"): "a link that leaves its folder",
        Path("folder.nk"): "",
        Path("nothing.nk"): "nothing.nk does not exist",
        seed_file("", "empty.nk"): "not a valid NKey seed",
        seed_file(seed[:-4] + "AAAA", "wrong.nk"): "not a valid NKey seed",
        seed_file(f"{seed}\n{seed}", "two.nk"): "2 seeds where one is expected",
    }
    before = files_here()
    for path, wanted in cases.items():
        done = run(folder, "--plane", "prod", "--signing-key", path)
        assert done.exit_code == 2, (path, done.output)
        assert wanted in done.output
        assert "Traceback" not in done.output
        assert files_here() == before
    done = run(folder, "--plane", "prod", "--signing-key", seed)
    assert done.exit_code == 2
    assert "other users can read a seed" in done.output
    done = run(folder, "--plane", "prod")
    assert (done.exit_code, "--signing-key" in done.output) == (2, True)


@pytest.mark.requirement("T17")
def test_nothing_is_half_written(tree, operator):
    """The second service cannot be written, or signed: the first one's file stays as it was."""
    folder = tree(TWO)
    sign = ("--plane", "prod", "--signing-key", seed_file(account_seed(operator)), "--out", "creds")
    Path("creds").mkdir()
    Path("creds/orders.shop_nats.creds").write_text("old")
    Path("creds/orders.shop_nats.creds").chmod(0o600)
    done = run(folder, *sign)  # what is there is none, and shown as a difference it cannot be
    assert done.exit_code == 2
    Path("creds/orders.shop_nats.creds").unlink()
    Path("creds/stock.shop_nats.creds").mkdir()
    done = run(folder, *sign)
    assert done.exit_code == 2
    assert "is a folder" in done.output
    assert files_here() == {"account.nk"}
    Path("creds/stock.shop_nats.creds").rmdir()
    Path("keys").mkdir()
    seed_file("nonsense", "keys/stock.shop_user.nk")
    done = run(folder, *sign, "--persist-keys", "keys")
    assert done.exit_code == 2
    assert files_here() == {"account.nk", "keys/stock.shop_user.nk"}


def test_a_file_that_a_link_leads_to_is_not_read(tree, operator, tmp_path_factory):
    victim = tmp_path_factory.mktemp("away") / "victim"
    victim.write_text("secret-word\n")
    Path("orders.shop_nats.creds").symlink_to(victim)
    done = run(tree(service=ORDERS), "--plane", "prod", "--dry-run")
    assert (done.exit_code, "secret-word" in done.output) == (0, False)


def test_creds_whose_permissions_are_decided_elsewhere_are_not_compared(tree, operator):
    path = written_creds(operator.user({}, scoped=True))
    done = run(tree(service=ORDERS), "--plane", "prod", "--dry-run")
    assert done.exit_code == 0
    assert f"  {path} is not compared: what it grants is not known\n" in done.output
    path.unlink()
    done = run(tree(service=ORDERS), "--plane", "prod", "--dry-run")
    assert f"  {path} does not exist yet\n" in done.output
    path.symlink_to("nowhere")
    done = run(tree(service=ORDERS), "--plane", "prod", "--dry-run")
    assert f"  {path} does not exist yet\n" in done.output, "nor does what a link leads to"


@pytest.mark.parametrize("more", [(), ("--allow-dynamic",)])
def test_a_source_with_connectors_of_unknown_hosts_alone_gets_no_creds(tree, more):
    folder = tree(main="from subtrie.connector import Connector\ndef f(h): Connector(h)\n")
    done = run(folder, "--plane", "p", "--dry-run", *more)
    assert done.exit_code == 1
    assert "main.py:2: a connector whose host depends on" in done.output
    assert "1 unresolved in the source" in done.output


def test_unresolved_calls_are_in_the_order_of_lines(tree):
    head = HEAD + "stock = Connector('stock.shop')\n"
    text = "def f(u): stock.request('GET', u)\ndef g(u): orders.request('GET', u)\n" * 2
    done = run(tree(service=head + text), "--plane", "p", "--dry-run")
    numbers = [int(each) for each in re.findall(r"service\.py:(\d+):", done.output)]
    assert numbers == [*range(numbers[0], numbers[0] + 4)]


def test_the_size_that_is_planned_is_that_of_the_token(tree, operator):
    public = operator.account.public_key.decode()
    signer = seed_file(operator.signer.seed.decode())
    words = (tree(service=ORDERS), "--plane", "prod", "--account", public, "--json")
    (planned,) = json.loads(run(*words, "--dry-run").output)["services"]
    assert run(*words, "--signing-key", signer).exit_code == 0
    text = Path("orders.shop_nats.creds").read_text()
    assert planned["size"] == len(re.findall(r"-----BEGIN [A-Z ]+-----\n(\S+)", text)[0])


def test_a_link_at_the_path_of_creds_is_replaced_and_not_followed(tree, operator, tmp_path_factory):
    victim = tmp_path_factory.mktemp("away") / "victim"
    Path("orders.shop_nats.creds").symlink_to(victim)
    done = run(tree(service=ORDERS), "--plane", "prod",
                "--signing-key", seed_file(account_seed(operator)))  # fmt: skip
    assert done.exit_code == 0
    assert not victim.exists()
    assert not Path("orders.shop_nats.creds").is_symlink()


def test_one_of_several_services_is_selected(tree, operator):
    folder, sign = tree(TWO), ("--signing-key", seed_file(account_seed(operator)), "--plane", "p")
    done = run(folder, *sign, "--out", "one.creds")
    assert done.exit_code == 2
    assert "several services: orders.shop, stock.shop" in done.output
    assert files_here() == {"account.nk"}
    done = run(folder, *sign, "--service", "users.shop")
    assert done.exit_code == 2
    assert "users.shop is not a service" in done.output
    assert "orders.shop, stock.shop" in done.output
    done = run(folder, *sign, "--out", "one.creds", "--service", "stock.shop")
    assert done.exit_code == 0
    assert files_here() == {"account.nk", "one.creds"}


def test_too_many_rules_name_the_costliest(tree, operator):
    calls = "".join(
        f'    await orders.request("GET", "https://stock.shop/items/number/{n}/{"x" * n}")\n'
        for n in range(70)
    )
    folder = tree(service=HEAD + "async def f():\n" + calls)
    for words in (("--dry-run",), ("--signing-key", seed_file(account_seed(operator)))):
        done = run(folder, "--plane", "prod", *words)
        assert done.exit_code == 1
        assert "of 3,795 bytes" in done.output
        assert (
            "the costliest: publish prod.safe.443.orders_shop.stock_shop.*.GET.items.number.69."
            in (done.output)
        )
    assert files_here() == {"account.nk"}
    for form in ("json", "nsc", "sarif", "junit", "markdown"):
        done = run(folder, "--plane", "prod", "--dry-run", "--format", form)
        assert (done.exit_code, "the costliest: publish" in done.stderr) == (1, True), form
    done = run(folder, "--plane", "prod", "--format", "conf")
    assert done.exit_code == 0, "a user of a configuration has no token"


BAD = {
    "no plane": [],
    "a bad plane": ["--plane", "a.b"],
    "a wild plane": ["--plane", "*"],
    "a bad duration": ["--plane", "p", "--expires", "3 days"],
    "no duration": ["--plane", "p", "--expires", "0d"],
    "pinned ids that are not told": ["--plane", "p", "--pin-ids"],
    "another plane": ["--plane", "test"],
}


@pytest.mark.parametrize("what", BAD)
def test_bad_input_is_one_message(tree, what):
    text = ORDERS.replace('("orders.shop")', '("orders.shop", plane="p")')
    done = run(tree(service=text), "--dry-run", *BAD[what])
    assert done.exit_code == 2
    assert "Traceback" not in done.output
    assert done.output.count("Error:") == 1


def test_bad_sources_are_one_message(tree, tmp_path):
    for files, wanted in (
        ({"service.py": "def f(:\n"}, "service.py:1"),
        ({"service.py": HEAD + 'orders.request("GET", "/x")\n'}, "service.py:3"),
        ({"service.py": "print()\n"}, "no service found"),
    ):
        done = run(tree(files), "--plane", "p", "--dry-run")
        assert done.exit_code == 2
        assert wanted in done.output
        assert done.output.count("Error:") == 1
    done = run("nowhere", "--plane", "p", "--dry-run")
    assert (done.exit_code, "nowhere" in done.output) == (2, True)


def test_a_trial_needs_no_other_tool(tree, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    monkeypatch.delenv("MICROBUS_NATS", raising=False)
    folder = tree({"service.py": HEAD + 'orders.request("GET", "https://stock.shop/items")\n'})
    done = run(folder, "--plane", "p", "--try", "trial")
    assert done.exit_code == 0, done.output
    assert "broker: nats-server -c trial/nats.conf, at nats://127.0.0.1:4222" in done.output
    assert stat.S_IMODE(Path("trial").stat().st_mode) == 0o700
    assert {each.name for each in Path("trial").iterdir()} == {
        "operator.nk", "account.nk", "nats.conf", "orders.shop_nats.creds",
    }  # fmt: skip
    for each in Path("trial").iterdir():
        assert stat.S_IMODE(each.stat().st_mode) == 0o600
    written = Path("trial/nats.conf").read_text()
    done = run("--try", "trial")
    assert done.exit_code == 0
    assert Path("trial/nats.conf").read_text() == written  # the same operator and account
    Path("trial/account.nk").chmod(0o644)
    with pytest.raises(PermissionsError) as caught:
        trial("trial")
    assert caught.value.reason == "creds-mode"
    Path("trial/account.nk").chmod(0o600)
    config = written.replace('listen: "127.0.0.1:4222"\n', "")
    with serving(tmp_path / "server", config) as url:
        client = RawClient(url, **_login(Path("trial/orders.shop_nats.creds")))
        client.publish("p.safe.443.orders_shop.stock_shop._.GET.items")
        client.publish("p.safe.443.orders_shop.vault_shop._.GET.items")
        client.flush()
        assert [subject for _, subject, _ in client.refused] == [
            "p.safe.443.orders_shop.vault_shop._.GET.items"
        ]
        anyone = RawClient(url, **_login(Path("trial/nats.creds")))
        anyone.publish("anything")
        anyone.flush()
        assert anyone.refused == []
        client.close()
        anyone.close()


@pytest.mark.parametrize(
    ("url", "address"),
    [("nats://127.0.0.1:4333", "127.0.0.1:4333"), ("localhost:4333,nats://b:1", "127.0.0.1:4333"),
     ("nats://u:p@localhost:5", "127.0.0.1:5"), ("nats://127.0.0.1", "127.0.0.1:4222"),
     ("nats://hub.example:4333", "127.0.0.1:4222"), ("nats://127.0.0.1:x", "127.0.0.1:4222"),
     ("", "127.0.0.1:4222")],
)  # fmt: skip
def test_a_trial_has_the_port_of_the_variable(url, address, tmp_path, monkeypatch):
    """It was 4222, whatever port the services were told."""
    monkeypatch.setenv("MICROBUS_NATS", url)
    assert f"at nats://{address}\n" in run("--try", tmp_path / "trial").output
    assert f'listen: "{address}"\n' in (tmp_path / "trial/nats.conf").read_text()
    monkeypatch.setenv("MICROBUS_NATS", "nats://localhost:9")  # what is there stays
    assert f"at nats://{address}\n" in run("--try", tmp_path / "trial").output


def _login(path):
    jwt, seed = re.findall(r"-----BEGIN [A-Z ]+-----\n(\S+)", path.read_text())
    return connecting(jwt, seed)


def test_a_trial_does_not_mix_with_other_files(tmp_path):
    (tmp_path / "nats.conf").write_text("port: 4222\n")
    done = run("--try", tmp_path)
    assert done.exit_code == 2
    assert "give an empty folder" in done.output
    for option in (("--signing-key", "-"), ("--account", "A"), ("--out", "x"), ("--dry-run",)):
        done = run("--try", tmp_path / "new", *option)
        assert (done.exit_code, "--try goes without" in done.output) == (2, True), option
    assert not (tmp_path / "new").exists()
    assert run("--plane", "p").exit_code == 2


def test_a_mistake_in_a_script_of_another_service_stopped_the_rules_of_one(tree):
    """``--service`` chose among services only after every file had been judged."""
    script = HEAD.replace("orders.shop", "My Scratch") + 'Client("orders.shop")\n'
    event = HEAD.replace("orders", "mail") + (
        'placed = Event("orders.shop", "/on-placed")\n'
        "async def f():\n    await mail.trigger(placed, {})\n"
    )
    folder = tree({"orders.py": ORDERS, "scratch.py": script, "mail.py": event})
    every = run(folder, "--plane", "prod", "--dry-run")
    assert every.exit_code == 2
    assert "scratch.py:" in every.output
    done = run(folder, "--plane", "prod", "--dry-run", "--service", "orders.shop")
    assert done.exit_code == 0, done.output
    alone = tree({"alone/orders.py": ORDERS})
    (one,) = [each for each in scan(folder, hosts=["orders.shop"]) if each.host == "orders.shop"]
    (two,) = scan(alone / "alone")
    assert rules(one, "p").publish_allow == rules(two, "p").publish_allow


def test_a_mistake_in_a_file_that_a_service_imports_is_never_passed_over(tree):
    broken = HEAD.replace("orders.shop", "My Scratch")
    folder = tree({"orders.py": "import scratch\n" + ORDERS, "scratch.py": broken})
    done = run(folder, "--plane", "prod", "--dry-run", "--service", "orders.shop")
    assert done.exit_code == 2
    assert "scratch.py:" in done.output
