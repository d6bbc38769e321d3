"""Access to streams: the model against a running broker, and the commands."""

from __future__ import annotations

import asyncio
import json
import urllib.request
from pathlib import Path

import nats
import pytest
from click.testing import CliRunner
from jetstream_roles import prepared
from nats.js.api import ConsumerConfig, RePublish
from operator_mode import OperatorMode
from operators import connecting, token
from stream_broker import Client
from stream_questions import judged

from servers import monitor, serving
from subtrie._cli.app import app
from subtrie.acl import Deployment
from subtrie.acl._jetstream.load import PAGE, holds_streams, load_streams
from subtrie.acl._jetstream.reach import meet, renamed

CONFIG = """
accounts {
  SHOP {
    jetstream: enabled
    users: [
      { user: root, password: open }
      { user: reader, password: open, permissions: {
          publish: "$JS.API.CONSUMER.MSG.NEXT.ORDERS.shipper", subscribe: "_INBOX.>" } }
      { user: tap, password: open, permissions: {
          publish: { deny: ">" }, subscribe: "deliver.>" } }
      { user: copy, password: open, permissions: {
          publish: { deny: ">" }, subscribe: "again.>" } }
      { user: writer, password: open, permissions: {
          publish: "orders.eu.*", subscribe: "_INBOX.>" } }
      { user: cleaner, password: open, permissions: {
          publish: "$JS.API.STREAM.PURGE.*", subscribe: { deny: ">" } } }
    ]
    exports: [ { service: "$JS.API.STREAM.MSG.GET.ORDERS" }, { stream: "deliver.>" } ]
  }
  WEB {
    users: [ { user: page, password: open } ]
    imports: [ { service: { account: SHOP, subject: "$JS.API.STREAM.MSG.GET.ORDERS" }
                 to: "shop.get" }
               { stream: { account: SHOP, subject: "deliver.>" }, to: "from.shop.>" } ]
  }
}
"""


async def _filled(url):
    root = await nats.connect(url, user="root", password="open")
    await prepared(root)
    stream = root.jetstream()
    again = RePublish(src=">", dest="again.>")
    await stream.add_stream(name="AGAIN", subjects=["again.made.*", "twice.*"])
    await stream.add_stream(name="TWICE", subjects=["first.*"], republish=again)
    config = ConsumerConfig(name="out", deliver_subject="twice.out")
    await stream.add_consumer("ORDERS", config)
    await root.close()


@pytest.fixture(scope="module")
def files(tmp_path_factory):
    """The configuration and the page of a broker with streams."""
    folder = tmp_path_factory.mktemp("streams")
    settings = f'http: "127.0.0.1:-1"\njetstream {{ store_dir: "{folder}/store" }}\n'
    path, page = folder / "nats.conf", folder / "jsz.json"
    path.write_text(settings + CONFIG)
    with serving(folder / "server", settings + CONFIG) as url:
        asyncio.run(_filled(url))
        with urllib.request.urlopen(monitor(folder / "server") + PAGE) as answer:
            page.write_bytes(answer.read())
    return str(path), str(page)


def _run(*arguments, code=0):
    result = CliRunner().invoke(app, ["acl", *arguments])
    assert result.exit_code == code, result.output
    return result.output


def _ways(files, question, verb, code=0):
    lines = _run("who", question, *files, "--verb", verb, "--json", code=code).splitlines()
    rows = [json.loads(line) for line in lines]
    return {row["user"]: {way["name"] for way in row["ways"]} for row in rows if "user" in row}


def test_each_way_to_a_stream_is_that_of_the_broker(tmp_path, capsys):
    counts = judged(1, 500, tmp_path)
    with capsys.disabled():
        print(f"  [{dict(sorted(counts.items()))}]")
    assert counts["yes"] > 40
    assert counts["no"] > 60
    assert counts["undetermined"] < 20


def test_who_may_read_a_stream_and_by_which_way(files):
    found = _ways(files, "SHOP:ORDERS", "read")
    assert found["SHOP/reader"] == {"fetch-shipper"}
    assert found["SHOP/tap"] == {"deliver-pushed"}
    assert found["WEB/page"] == {"message-get", "deliver-pushed"}
    assert "SHOP/writer" not in found
    assert "SHOP/cleaner" not in found
    assert {"own-pull-consumer", "own-push-consumer", "copying-stream"} <= found["SHOP/root"]
    assert set(_ways(files, "TWICE", "read")) == {"SHOP/root", "SHOP/copy"}


def test_who_may_write_and_delete(files):
    assert set(_ways(files, "ORDERS", "write")) == {"SHOP/root", "SHOP/writer"}
    assert set(_ways(files, "orders.eu.*", "write")) == {"SHOP/root", "SHOP/writer"}
    deleting = _ways(files, "ORDERS", "delete")
    assert deleting["SHOP/cleaner"] == {"stream-purge"}
    assert set(deleting) == {"SHOP/root", "SHOP/cleaner"}
    assert set(_ways(files, "ORDERS", "admin")) == {"SHOP/root"}


def test_text_names_the_way_the_subject_and_the_rule(files):
    text = _run("who", "ORDERS", *files, "--verb", "read", "--user", "reader")
    assert "✓ SHOP/reader" in text
    assert "fetches from the consumer shipper: $JS.API.CONSUMER.MSG.NEXT.ORDERS.shipper" in text


def test_without_streams_it_says_so(files):
    path, _ = files
    text = _run("who", "SHOP:ORDERS", path, "--verb", "delete", code=2)
    assert "SHOP/cleaner" in text
    assert "streams not given: not determined" in text
    assert PAGE in _run("who", "orders.eu.1", path, "--verb", "read", code=2)


def test_streams_are_listed_with_their_overlaps(files):
    _, page = files
    text = _run("streams", page)
    assert "stream SHOP:ORDERS" in text
    assert "key-value bucket SHOP:KV_cfg" in text
    assert "object store SHOP:OBJ_files" in text
    assert "pushed to deliver.pushed" in text
    assert "SHOP:AGAIN captures what SHOP:TWICE publishes again: again.made.x" in text
    assert "SHOP:AGAIN captures what SHOP:ORDERS delivers by the consumer out: twice.out" in text
    only = _run("streams", page, "--subject", "first.>")
    assert "SHOP:TWICE" in only
    assert "KV_cfg" not in only
    captured = _run("streams", page, "--subject", "again.made.x")  # of the second of two
    assert "SHOP:AGAIN captures what SHOP:TWICE publishes again: again.made.x" in captured
    assert "stream SHOP:TWICE" not in captured
    assert "no stream captures none.>" in _run("streams", page, "--subject", "none.>", code=1)


def test_flows_show_streams_between_their_writers_and_readers(files):
    path, page = files
    lines = _run("flows", path, page, "--json").splitlines()
    rows = {row["stream"]: row for row in map(json.loads, lines) if row.get("kind") == "stored"}
    orders = rows["ORDERS"]
    assert orders["writers"] == ["SHOP/root", "SHOP/writer"]
    assert orders["readers"] == ["SHOP/root", "SHOP/reader", "SHOP/tap", "WEB/page"]
    assert "stream SHOP:ORDERS  orders.>" in _run("flows", path, page)
    assert "SHOP: streams not given: not determined" in _run("flows", path)
    [asked] = [r for r in map(json.loads, lines) if r.get("published") == "shop.get"]
    assert asked["to"] == "SHOP"
    assert "received by: the broker" in _run("flows", path, page)
    assert "unused-import" not in _run("flows", path, page)
    reached = _run("flows", path, page, "--from", "WEB", "--to", "SHOP")
    assert "stream SHOP:ORDERS" in reached
    assert "SHOP:TWICE" not in reached
    assert "SHOP:TWICE" in _run("flows", path, page, "--user", "copy")
    assert "holds streams only" in _run("flows", page, code=2)


def test_in_operator_mode_accounts_have_their_names(tmp_path):
    users = [{"user": "ops", "password": "open"}]
    operator = OperatorMode({"SHOP": {"users": users}})

    def storing(nats):
        nats["limits"] |= {"mem_storage": -1, "disk_storage": -1, "streams": -1, "consumer": -1}

    operator.change("SHOP", storing)
    system = OperatorMode({"SYS": {"users": users}})
    key = system.keys["SYS"].public_key.decode()
    jwt = token(operator.operator, key, "SYS", {"type": "account", "limits": {"conn": -1}})
    config = operator.config.replace("resolver_preload {", f"resolver_preload {{\n  {key}: {jwt}")
    settings = f'http: "127.0.0.1:-1"\njetstream {{ store_dir: "{tmp_path}/store" }}\n'
    settings += f"system_account: {key}\n"
    with serving(tmp_path / "server", settings + config) as url:
        client = Client(url, **connecting(*operator.users["SHOP/ops"]))
        client.subscribe("answer", "1")
        body = {"name": "KEPT", "subjects": ["kept.>"], "storage": "file", "num_replicas": 1}
        client.send("$JS.API.STREAM.CREATE.KEPT", {**body, "retention": "limits"}, "answer")
        assert b"error" not in client.wait("1")
        client.close()
        page = tmp_path / "jsz.json"
        with urllib.request.urlopen(monitor(tmp_path / "server") + PAGE) as answer:
            page.write_bytes(answer.read())
    store = operator.store(tmp_path / "jwts")
    found = _ways((str(store), str(page)), "SHOP:KEPT", "delete")
    assert set(found) == {"SHOP/ops"}


@pytest.mark.parametrize("form", ["json", "markdown", "sarif", "junit"])
def test_every_format(files, form):
    assert _run("streams", files[1], "--format", form)
    assert _run("who", "ORDERS", *files, "--verb", "read", "--format", form)


def test_bad_input_is_one_sentence_with_the_file(files, tmp_path):
    path, page = files
    text = Path(page).read_text()
    whole = json.loads(text)
    bare = json.loads(text)
    for account in bare["account_details"]:
        for stream in account["stream_detail"]:
            del stream["config"]
    no_accounts = {key: value for key, value in whole.items() if key != "account_details"}
    cases = {
        "cut.json": (text[:4000], "ends too early"),
        "bare.json": (json.dumps(bare), "without their settings"),
        "counts.json": (json.dumps(no_accounts), "without their settings"),
        "varz.json": (json.dumps({"server_id": "X", "max_payload": 1}), "about streams"),
        "other.txt": ("hello", "about streams"),
    }
    for name, (content, words) in cases.items():
        file = tmp_path / name
        file.write_text(content)
        output = _run("streams", str(file), code=2)
        assert output.startswith(f"Error: {file}: "), output
        assert words in output
        assert output.count("\n") == 1
    assert "ends too early" in _run(
        "who", "ORDERS", path, str(tmp_path / "cut.json"), "--verb", "read", code=2
    )


def test_what_a_page_leaves_out_is_named(files, tmp_path):
    whole = json.loads(Path(files[1]).read_text())
    for stream in whole["account_details"][0]["stream_detail"]:
        stream.pop("consumer_detail", None)
    whole["meta_cluster"] = {"cluster_size": 3}
    whole["streams"] += 2
    file = tmp_path / "part.json"
    file.write_text(json.dumps(whole))
    assert holds_streams(file)
    unseen = load_streams([file]).unseen
    assert f"{file}: 2 of {whole['streams']} streams are not in the page" in unseen
    assert f"{file}: the consumers of SHOP:ORDERS are not given" in unseen
    assert any(line.endswith("the pages of 2 are not given") for line in unseen)
    _run("streams", str(file), code=2)


def test_a_stream_and_a_consumer_of_the_command_line_of_nats(files, tmp_path):
    whole = json.loads(Path(files[1]).read_text())
    [row] = [e for e in whole["account_details"][0]["stream_detail"] if e["name"] == "ORDERS"]
    consumers = row.pop("consumer_detail")
    file = tmp_path / "orders.json"
    file.write_text("\n".join(json.dumps(each) for each in (row, *consumers)))
    [stream] = load_streams([file], "SHOP").streams
    assert stream.label == "SHOP:ORDERS"
    assert {each.name for each in stream.consumers} == {"shipper", "pushed", "out"}


@pytest.mark.parametrize(("one", "two", "common"), [
    ("a.*", "*.b", "a.b"), ("a.>", "a.b.c", "a.b.c"), ("a.>", "a", None), ("a", "b", None),
    (">", "a.*", "a.*"), ("a.*.>", "a.b.>", "a.b.>"), ("a.b", "a.b.c", None),
])  # fmt: skip
def test_the_common_part_of_two_patterns(one, two, common):
    assert meet(one, two) == common
    assert meet(two, one) == common


def test_patterns_are_renamed_as_subjects_are():
    assert renamed("$JS.API.>", "JSA.>", "$JS.API.STREAM.INFO.*") == "JSA.STREAM.INFO.*"
    assert renamed("a.*.*", "b.$2.$1", "a.x.*") == "b.*.x"
    assert renamed("a.*", "b.*", "c.*") is None


@pytest.mark.parametrize(
    ("config", "stored"),
    [
        ("jetstream { store_dir: STORE }", True),
        ("jetstream { store_dir: STORE }\nsystem_account: SYS\naccounts { SYS {} }", True),
        ("jetstream { store_dir: STORE }\naccounts { A { users: [ { user: a } ] } }", False),
        ("jetstream { store_dir: STORE, enabled: false }", False),
        ("", False),
    ],
)
def test_users_without_an_account_have_jetstream_if_the_configuration_has_no_accounts(
    tmp_path, config, stored
):
    """As the broker that runs with it answers."""
    text = config.replace("STORE", f'"{tmp_path}/store"')
    text += "\nauthorization { users: [ { user: u, password: open, permissions: {} } ] }\n"
    path = tmp_path / "server.conf"
    path.write_text(text)
    assert Deployment.load(path).accounts["$G"].jetstream is stored

    async def answers(url: str) -> bool:
        client = await nats.connect(url, user="u", password="open")
        try:
            return "error" not in json.loads((await client.request("$JS.API.INFO", b"")).data)
        except nats.errors.NoRespondersError:
            return False
        finally:
            await client.close()

    with serving(tmp_path / "broker", text) as url:
        assert asyncio.run(answers(url)) is stored
