"""The grammar of JetStream's subjects, held to what nats-py and a running broker say."""

from __future__ import annotations

import asyncio

import nats
import pytest
from jetstream_roles import ROLES, answering, prepared, run

from servers import serving
from subtrie._nats.jetstream_subjects import JETSTREAM_SUBJECTS, jetstream_use
from subtrie.wire import log

CONFIG = """
trace: true
jetstream {{ store_dir: "{}" }}
authorization {{ users: [ {{ user: root, password: open }} ] }}
"""


async def _all_roles(url):
    root = await nats.connect(url, user="root", password="open")
    await answering(root)
    for program in dict.fromkeys(ROLES.values()):
        await prepared(root)
        assert await run(url, "root", program) == [], program.__name__
    await root.close()


def test_the_grammar_knows_every_subject_that_nats_py_uses(tmp_path):
    with serving(tmp_path, CONFIG.format(tmp_path / "store")) as url:
        asyncio.run(_all_roles(url))
    seen = set()
    for line in (tmp_path / "server.log").read_text().splitlines():
        record = log.parse_line(line)
        if record is not None and record.op in ("PUB", "HPUB", "SUB", "MSG", "HMSG"):
            seen |= {text for text in record.args if text.startswith(("$JS.", "$KV.", "$O."))}
    unknown = {text for text in seen if jetstream_use(text) is None}
    assert not unknown
    used = {use.row.name for use in map(jetstream_use, seen)}
    assert len(used) >= 18, used
    assert {
        "flow-control",
        "acknowledgement",
        "consumer-create-filtered",
        "direct-get-last",
    } <= used


async def _answers(url):
    """The answer of the broker to each request of the grammar; without a row, there is none."""
    root = await nats.connect(url, user="root", password="open")
    stream = root.jetstream()
    found = {}
    for row in JETSTREAM_SUBJECTS:
        if row.system or not row.template.startswith("$JS.API.") or row.name == "account-info":
            continue
        await stream.add_stream(name="S", subjects=["s.>"], allow_direct=True)
        await stream.publish("s.x", b"1")
        await stream.add_consumer("S", name="c", durable_name="c")
        values = {"stream": "S", "consumer": "c", "subject": "s.x"}
        if row.name == "consumer-create-unnamed":
            values = {"stream": "S"}
        # A message that was asked for keeps its subject, so the answers have a subscription each.
        inbox = root.new_inbox()
        answers = await root.subscribe(inbox)
        await root.publish(row.filled(values), b"", reply=inbox)
        answer = await answers.next_msg(timeout=60)
        await answers.unsubscribe()
        text = answer.data.decode(errors="replace")
        found[row.name] = text or str(answer.headers)
        if row.name != "stream-delete":
            await stream.delete_stream("S")
    await root.close()
    return found


def test_the_broker_knows_every_request_of_the_grammar(tmp_path):
    with serving(tmp_path, CONFIG.format(tmp_path / "store")) as url:
        found = asyncio.run(_answers(url))
    assert len(found) == 30
    for name, text in found.items():
        assert text, name
        assert "system_response" not in text, name
        assert "'Status': '503'" not in text, name


@pytest.mark.parametrize(("subject", "name", "folded"), [
    ("$JS.API.CONSUMER.INFO.KV_cfg.IbzRyL9J", "consumer-info", "$JS.API.CONSUMER.INFO.KV_cfg.*"),
    ("$JS.API.CONSUMER.INFO.ORDERS.shipper", "consumer-info",
     "$JS.API.CONSUMER.INFO.ORDERS.shipper"),
    ("$JS.hub.API.CONSUMER.INFO.ORDERS.RuIwxa7N71oUQww3oBkUyy", "consumer-info",
     "$JS.hub.API.CONSUMER.INFO.ORDERS.*"),
    ("$JS.API.CONSUMER.CREATE.ORDERS.RuIwxa7N71oUQww3oBkUyy.orders.*", "consumer-create-filtered",
     "$JS.API.CONSUMER.CREATE.ORDERS.*.orders.*"),
    ("$JS.API.CONSUMER.DURABLE.CREATE.ORDERS.IbzRyL9J", "consumer-create-durable",
     "$JS.API.CONSUMER.DURABLE.CREATE.ORDERS.IbzRyL9J"),
    ("$JS.ACK.ORDERS.shipper.1.2.3.1700000000000000000.4", "acknowledgement",
     "$JS.ACK.ORDERS.shipper.*.*.*.*.*"),
    ("$JS.ACK.hub.aBcDeFgH.ORDERS.shipper.1.2.3.1700000000000000000.4.x", "acknowledgement",
     "$JS.ACK.hub.aBcDeFgH.ORDERS.shipper.*.*.*.*.>"),
    ("$JS.FC.ORDERS.IbzRyL9J.fg6gTR", "flow-control", "$JS.FC.ORDERS.*.*"),
    ("$JS.API.CONSUMER.INFO.ORDERS.shipment", "consumer-info",  # eight letters
     "$JS.API.CONSUMER.INFO.ORDERS.shipment"),
    ("$JS.ACK.hub.aBcDeFgH.ORDERS.shipper.1.2.3.1700000000000000000.4", "acknowledgement",
     "$JS.ACK.hub.aBcDeFgH.ORDERS.shipper.*.*.*.*.*"),
    ("$KV.cfg.a.b", "kv-key", "$KV.cfg.a.b"),
    ("$O.files.C.RuIwxa7N71oUQww3oBkUyy", "object-chunk", "$O.files.C.*"),
    ("$O.files.M.cmVwb3J0", "object-meta", "$O.files.M.cmVwb3J0"),
    ("$JS.API.DIRECT.GET.KV_cfg.$KV.cfg.a.b", "direct-get-last",
     "$JS.API.DIRECT.GET.KV_cfg.$KV.cfg.a.b"),
    ("$JS.EVENT.ADVISORY.STREAM.CREATED.ORDERS", "advisory",
     "$JS.EVENT.ADVISORY.STREAM.CREATED.ORDERS"),
])  # fmt: skip
def test_a_subject_is_read_and_what_is_made_up_is_folded(subject, name, folded):
    use = jetstream_use(subject)
    assert (use.row.name, use.folded()) == (name, folded)
    assert use.values.get("stream", "ORDERS") in ("ORDERS", "KV_cfg")


@pytest.mark.parametrize(("operation", "names"), [
    ("read", "message-get stream-snapshot direct-get direct-get-last consumer-next"),
    ("write", "stream-restore restore-chunk kv-key object-chunk object-meta"),
    ("delete", "stream-delete stream-purge message-delete account-purge"),
    ("acknowledge", "acknowledgement acknowledgement flow-control flow-control "
                    "snapshot-acknowledgement"),
    ("event", "api-audit advisory metric"),
    ("info", "account-info stream-names stream-list stream-info consumer-names consumer-list "
             "consumer-info"),
])  # fmt: skip
def test_each_operation_has_its_requests(operation, names):
    rows = [each for each in JETSTREAM_SUBJECTS if each.operation == operation]
    assert sorted(each.name for each in rows) == sorted(names.split())
    assert {each.publisher for each in rows} == {"broker" if operation == "event" else "client"}


def test_the_broker_answers_and_keeps_some_requests_to_the_system_account():
    unanswered = {each.name for each in JETSTREAM_SUBJECTS if not each.answered}
    assert unanswered == {"flow-control", "snapshot-acknowledgement", "api-audit", "advisory",
                          "metric"}  # fmt: skip
    of_system = {each.name for each in JETSTREAM_SUBJECTS if each.system}
    assert of_system == {
        each.name for each in JETSTREAM_SUBJECTS
        if each.template.split(".")[2] in ("META", "SERVER", "ACCOUNT")
    }  # fmt: skip


@pytest.mark.parametrize("word", ["API", "ACK", "FC", "EVENT", "SNAPSHOT"])
def test_a_word_of_the_grammar_does_not_name_a_domain(word):
    assert jetstream_use(f"$JS.{word}.API.INFO") is None
    assert jetstream_use("$JS.hub.API.INFO").domain == "hub"


def test_a_consumer_with_a_chosen_name_is_kept():
    use = jetstream_use("$JS.API.CONSUMER.INFO.KV_cfg.IbzRyL9J")
    assert use.folded({("KV_cfg", "IbzRyL9J")}) == use.subject


@pytest.mark.parametrize("subject", ["orders.x", "$JS.API", "$JS.API.STREAM.ADOPT.X", "$KV.cfg"])
def test_other_subjects_are_in_no_row(subject):
    assert jetstream_use(subject) is None
