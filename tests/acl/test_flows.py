"""Messages between accounts: exports, imports and mappings, as a live broker delivers them."""

from __future__ import annotations

import dataclasses
import json

import pytest
from click.testing import CliRunner
from flow_questions import generated, judged

from subtrie import PermissionsError, SubjectError
from subtrie._cli.acl_flows import _selected
from subtrie._cli.app import app
from subtrie._cli.flows_of_streams import Stored, of_question
from subtrie.acl import Deployment
from subtrie.acl._jetstream.streams import Stream

CONFIG = """accounts {
  SHOP {
    users: [ { user: till, password: open }
             { user: guest, password: open, permissions: { publish: { deny: ">" } } } ]
    exports: [ { stream: "sales.*.*" }
               { service: "stock.>", accounts: [ WEB ] }
               { stream: "never" } ]
    mappings: { "old.*": "sales.$1.done"
                "dice": [ { destination: "one", weight: 50% }
                          { destination: "two", weight: 50% } ] }
  }
  WEB {
    users: [ { user: page, password: open }
             { user: shut, password: open, permissions: { subscribe: { deny: "sold.>" } } } ]
    imports: [ { stream: { account: SHOP, subject: "sales.*.*" }, to: "sold.$2.$1" }
               { service: { account: SHOP, subject: "stock.>" }, to: "shelf.>" } ]
  }
}
"""


@pytest.fixture
def path(tmp_path):
    file = tmp_path / "nats.conf"
    file.write_text(CONFIG)
    return file


@pytest.mark.parametrize("seed", [1, 2])
def test_deliveries_between_accounts_are_those_of_the_broker(seed, tmp_path, capsys):
    counts, undetermined = judged(generated(seed, 320), tmp_path)
    with capsys.disabled():
        print(f"  [{dict(sorted(counts.items()))}]")
    listed = counts["undetermined, listed"]
    assert len(undetermined) == counts["undetermined"] + listed < 40
    assert min(counts["across yes"], counts["across no"], counts["renamed"]) >= 20


@pytest.mark.parametrize(("publish", "unused"), [("JSA.>", False), ("other", True)])
def test_an_import_of_the_api_of_streams_needs_a_user_that_sends(publish, unused, tmp_path):
    """The broker itself receives what arrives at the other end."""
    path = tmp_path / "nats.conf"
    path.write_text(f"""jetstream: on
accounts {{
  A {{ jetstream: on, exports: [ {{ service: "$JS.API.>" }} ] }}
  B {{ users: [ {{ user: b, password: open, permissions: {{ publish: "{publish}" }} }} ]
      imports: [ {{ service: {{ account: A, subject: "$JS.API.>" }}, to: "JSA.>" }} ] }}
}}
""")
    found = [each for each in Deployment.load(path).unused() if each.code == "unused-import"]
    assert [(each.account, each.line) for each in found] == [("B", 5)] * unused


def test_a_file_of_questions_with_answers(tmp_path):
    question = {"publisher": "SHOP/till", "subject": "old.book", "receiver": "WEB/page",
                "pattern": "sold.>", "expect": ["sold.done.book"]}  # fmt: skip
    counts, _ = judged([{"config": CONFIG, "questions": [question]}], tmp_path)
    assert counts["across yes"] == 1
    wrong = {**question, "expect": ["sold.book.done"]}
    with pytest.raises(AssertionError):
        judged([{"config": CONFIG, "questions": [wrong]}], tmp_path)


def test_a_message_crosses_and_is_renamed(path):
    shop = Deployment.load(path)
    ask = shop.delivery
    assert ask("SHOP/till", "sales.book.new", "WEB/page", "sold.>").subjects == ("sold.new.book",)
    assert ask("SHOP/till", "old.book", "WEB/page", "*.*.*").subjects == ("sold.done.book",)
    assert ask("WEB/page", "shelf.a.b", "SHOP/till", "stock.>").subjects == ("stock.a.b",)
    for refused in (
        ask("SHOP/guest", "sales.book.new", "WEB/page", "sold.>"),
        ask("SHOP/till", "sales.book.new", "WEB/shut", "sold.>"),
        ask("SHOP/till", "other", "WEB/page", ">"),
        ask("WEB/page", "sales.a.b", "SHOP/till", ">"),
    ):
        assert not refused
        assert refused.determined
        assert refused.explanation
    by_chance = ask("SHOP/till", "dice", "SHOP/till", ">")
    assert (by_chance.subjects, by_chance.determined) == ((), False)
    with pytest.raises(KeyError):
        ask("SHOP/nobody", "a", "WEB/page", ">")
    with pytest.raises(SubjectError):
        ask("SHOP/till", "a.*", "WEB/page", ">")


def test_flows_and_what_is_unused(path):
    done = CliRunner().invoke(app, ["acl", "flows", str(path), "--json"])
    assert done.exit_code == 0
    rows = [json.loads(line) for line in done.output.splitlines()]
    stream, service, *rest = rows
    assert (stream["from"], stream["to"], stream["senders"]) == ("SHOP", "WEB", ["SHOP/till"])
    assert (stream["published"], stream["received"]) == ("sales.x.x", "sold.x.x")
    assert stream["receivers"] == ["WEB/page"]
    assert (service["from"], service["to"]) == ("WEB", "SHOP")
    assert (service["published"], service["received"]) == ("shelf.x", "stock.x")
    assert [(row["rule"], row["account"]) for row in rest] == [
        ("public-export", "SHOP"), ("public-export", "SHOP"), ("unused-export", "SHOP"),
    ]  # fmt: skip
    path.write_text(CONFIG.replace("user: page", 'user: page, permissions: { subscribe: "a" }'))
    done = CliRunner().invoke(app, ["acl", "flows", str(path)])
    assert done.exit_code == 1
    assert "unused-import: WEB: no user of WEB may receive from the stream" in done.output


def test_a_finding_names_the_included_file(path, tmp_path):
    path.rename(tmp_path / "accounts.conf")
    path.write_text("include accounts.conf\n")
    done = CliRunner().invoke(app, ["acl", "flows", str(path)])
    assert f"{tmp_path / 'accounts.conf'}:" in done.output
    assert f"{path}:" not in done.output


@pytest.mark.parametrize(
    ("old", "new", "reason"),
    [
        ("accounts: [ WEB ]", "accounts: [ OTHER ]", "import-refused"),
        ('subject: "stock.>"', 'subject: "else.>"', "import-refused"),
        ('stream: "never"', 'streams: "never"', "unknown-key"),
        ('stream: "never"', 'stream: "a..b"', "empty-token"),
        ("weight: 50%", "weight: often", "config-type"),
        ('to: "sold.$2.$1"', 'to: "sold.$2.$1", prefix: a', "alias-twice"),
    ],
)
def test_what_the_broker_refuses(path, old, new, reason):
    path.write_text(CONFIG.replace(old, new, 1))
    with pytest.raises(PermissionsError) as caught:
        Deployment.load(path)
    assert caught.value.reason == reason
    assert caught.value.line


def test_a_configuration_in_which_nothing_crosses_says_so(tmp_path):
    path = tmp_path / "nats.conf"
    path.write_text("authorization { users [ { user: u, password: x } ] }\n")
    done = CliRunner().invoke(app, ["acl", "flows", str(path)])
    assert (done.exit_code, done.output.count("\n")) == (0, 1)
    assert "no account takes messages of another" in done.output


LEAF = 'leafnodes { remotes: [ { url: "nats-leaf://hub", account: SHOP } ] }\n'
LISTENER = """leafnodes { port: 7422, authorization { users: [
  { user: one, password: x, account: SHOP }, { user: two, password: x, account: SHOP } ] } }
"""


def flows_of(path, *words):
    done = CliRunner().invoke(app, ["acl", "flows", str(path), *words])
    assert done.exception is None or isinstance(done.exception, SystemExit), done.exception
    return done.exit_code, done.output


@pytest.mark.parametrize("words", [["--from", "SHOP"], ["--to", "WEB"], ["--user", "page"]])
def test_links_are_not_part_of_a_narrowed_question(path, words):
    path.write_text(CONFIG + LEAF)
    for form in ([], ["--json"]):
        assert "hub" in flows_of(path, *form)[1]
        code, narrowed = flows_of(path, *words, *form)
        assert (code, "hub" in narrowed, "sold.x.x" in narrowed) == (0, False, True)


def test_a_flow_that_is_undetermined_for_a_user_is_one_of_the_user(path):
    deployment = Deployment.load(path)
    flow = dataclasses.replace(
        deployment.flows()[0], senders=("SHOP/till",), receivers=(), undetermined=("WEB/page",)
    )
    for user, found in {"page": True, "WEB/page": True, "till": True, "shut": False}.items():
        assert bool(_selected(deployment, [flow], None, None, user)) is found, user


def test_a_stream_that_is_undetermined_for_a_user_is_one_of_the_user(path):
    deployment = Deployment.load(path)
    stream = Stream("S", "SHOP", subjects=("s.>",))
    stored = Stored(stream, ("SHOP/till",), (), (), ("WEB/page",), frozenset(["read"]))
    for user, found in {"page": True, "WEB/page": True, "till": True, "shut": False}.items():
        assert bool(of_question(deployment, [stored], None, None, user)) is found, user
    for origin, found in {"WEB": True, "WEB:s.a": True, "SHOP": True, "SHOP:t": False}.items():
        assert bool(of_question(deployment, [stored], origin, None, None)) is found, origin


def test_the_accounts_of_a_listener_are_named_once(path):
    path.write_text(CONFIG + LISTENER)
    assert "as any user of SHOP\n" in flows_of(path)[1]


def test_a_subject_that_is_not_a_pattern_is_bad_input(path):
    for subject in ("a..b", "a.>.b", ""):
        code, said = flows_of(path, "--from", f"SHOP:{subject}")
        assert (code, "→" in said) == (2, False), subject


def test_names_of_a_configuration_are_printed_without_control_characters(path):
    odd = CONFIG.replace("user: till", 'user: "ti\\x1bll"').replace("sold.", "so\u202eld.")
    path.write_text(odd + LEAF.replace("hub", "h\u202eb"))
    for words in ([], ["--to", "WEB"]):
        said = flows_of(path, *words)[1]
        assert "so\\u202eld.x.x" in said, said
        assert not {"\x1b", "\u202e"} & set(said)
    assert "h\\u202eb" in flows_of(path)[1]
