"""Answers about users and accounts where a limit, a missing part or chance decides."""

from __future__ import annotations

import pytest
from click.testing import CliRunner
from raw_client import RawClient
from test_rule_usage import counted, flow, published_rules, subscribed_rules, subscription, traffic

from servers import serving
from subtrie import PermissionsError
from subtrie._cli.app import app
from subtrie.acl import (
    Deployment,
    Permissions,
    ResponseLimit,
    _access,
    _delivery,
    _narrowing,
    _reach,
    narrowed,
)
from subtrie.acl._account import Account, Activation, Export, Import, add_implied
from subtrie.acl._decision import differs_at, nearest
from subtrie.acl._entitlement import entitlement
from subtrie.acl._rule_usage import refusals, uncovered

# --- permissions


def unknown():
    found = Permissions(publish_allow=["a"])
    found.determined, found.decided_by = False, "somebody else"
    return found


def test_permissions_that_are_not_known_decide_nothing():
    rules, known = unknown(), Permissions(publish_allow=["a"])
    for model in ("strict", "broker"):
        for answer in (
            rules.can_publish("a", model=model), rules.can_subscribe("a", model=model),
            rules.can_receive("a", subscription="a", model=model),
        ):  # fmt: skip
            assert (answer.allowed, answer.known, answer.model) == (False, False, model)
            assert answer.why == "decided elsewhere, by somebody else"
    assert rules != known
    assert known != rules
    for question in (
        lambda: rules <= known, lambda: known <= rules, lambda: rules >= known,
        lambda: rules < known, lambda: known > rules, lambda: rules.compare(known),
        lambda: known.diff(rules), rules.minimised, rules.dump, lambda: rules.dump("conf"),
    ):  # fmt: skip
        with pytest.raises(PermissionsError) as caught:
            question()
        assert caught.value.reason == "account-decides"
    with pytest.raises(PermissionsError, match="server, strict") as caught:
        known.compare(Permissions(dialect="strict"))
    assert caught.value.reason == "dialects"


def test_permissions_are_ordered_by_what_they_grant():
    few, many = Permissions(publish_allow=["a.b"]), Permissions(publish_allow=["a.*"])
    other = Permissions(publish_allow=["b"])
    assert (few < many, few <= many, many > few, many >= few) == (True,) * 4
    assert (many < few, many <= few, few > many, few >= many) == (False,) * 4
    assert (few <= few, few >= few, few < few, few > few) == (True, True, False, False)
    assert not few <= other
    assert not few >= other
    for wrong in (7, None, "a"):
        assert few != wrong
        for name in ("__le__", "__ge__"):
            assert getattr(few, name)(wrong) is NotImplemented
    with pytest.raises(TypeError, match="unhashable"):
        hash(few)


def test_a_representation_names_what_is_not_the_default():
    assert repr(Permissions()) == "Permissions()"
    given = {
        "publish_allow": (), "publish_deny": ("a",), "subscribe_allow": ("b q",),
        "subscribe_deny": ("c",), "allow_responses": ResponseLimit(2, 3), "dialect": "strict",
    }  # fmt: skip
    rules = Permissions(**given)
    assert repr(rules) == f"Permissions({', '.join(f'{k}={v!r}' for k, v in given.items())})"
    assert repr(unknown()) == "Permissions(publish_allow=('a',), undetermined)"


@pytest.mark.parametrize(("ask", "error", "words"), [
    (lambda p: p.can_publish(7, model="broker"), TypeError, "subject must be str, not int"),
    (lambda p: p.can_subscribe("a", queue=7), TypeError, "queue must be str, not int"),
    (lambda p: p.can_receive("a", subscription="a", queue=b"q"), TypeError, "not bytes"),
    (lambda p: p.can_publish("a", model="loose"), ValueError, "'strict' or 'broker', not 'loose'"),
    (lambda p: p.can_subscribe("a", model=""), ValueError, "not ''"),
    (lambda p: p.can_receive("a", subscription="a", model="STRICT"), ValueError, "not 'STRICT'"),
    (lambda p: p.can_publish("a", reply="a..b"), ValueError, "empty"),
    (lambda p: p.can_subscribe("a", queue="a b"), PermissionsError, "a b"),
    (lambda p: p.dump("yaml"), ValueError, "yaml"),
    (lambda p: Permissions(allow_responses=True), TypeError, "ResponseLimit or None, not bool"),
    (lambda p: Permissions(dialect="loose"), ValueError, "loose"),
    (lambda p: ResponseLimit(max=True), TypeError, "max must be int, not bool"),
    (lambda p: ResponseLimit(max=1.5), TypeError, "not float"),
    (lambda p: ResponseLimit(expires=True), TypeError, "expires must be a number, not bool"),
    (lambda p: ResponseLimit(expires="1s"), TypeError, "not str"),
    (lambda p: ResponseLimit(expires=float("nan")), ValueError, "number of seconds"),
])  # fmt: skip
def test_arguments_of_another_type_are_refused(ask, error, words):
    with pytest.raises(error, match=words):
        ask(Permissions())


def test_a_limit_of_responses_covers_what_it_grants():
    limits = [ResponseLimit(often, span) for often in (-1, 1, 2) for span in (-1, 1, 120)]
    for one in limits:
        for two in limits:
            often = one.max < 0 or 0 < two.max <= one.max
            span = one.expires < 0 or 0 < two.expires <= one.expires
            assert one.covers(two) is (often and span), (one, two)
    assert (ResponseLimit(0, 0).max, ResponseLimit(0, 0).expires) == (1, 120.0)


@pytest.mark.parametrize(("rule", "subject", "index"), [
    ("a.b", "a.c", 1), ("a.b", "a", 1), ("a", "a.b", 1), ("a.*", "a.b.c", 2), ("a.>", "a.b.c", 3),
    ("a.>", "a", 1), ("b", "a", 0), ("a.*", "a.>", 1), ("a.b q", "a.b.c", 2), ("a.b", "a.>", 1),
])  # fmt: skip
def test_where_a_subject_differs_from_an_entry(rule, subject, index):
    assert differs_at(rule, subject) == index
    assert nearest([rule, "zz", rule + ".x"], subject)[0] in (rule, rule + ".x")
    assert nearest(["zz", "yy"], subject) == ("zz", 0)
    assert nearest([], subject) == (None, None)


# --- entitlements


def test_the_rule_that_entitles_is_the_first_that_allows():
    rules = Permissions(publish_allow=["a.b", "a.*"], subscribe_allow=["q.> w", "s.*", "q.x"])
    assert entitlement(rules, "a.b", "publish").rule == "a.b"
    assert entitlement(rules, "a.c", "publish").rule == "a.*"
    assert entitlement(rules, "a.*", "publish").witness == "a.b"
    assert entitlement(rules, "b", "publish") is None
    assert entitlement(rules, "q.y", "receive").rule == "q.> w"
    assert entitlement(rules, "s.y", "subscribe").rule == "s.*"
    assert entitlement(rules, "q.y", "subscribe").rule == "q.> w"
    group = Permissions(subscribe_allow=["q.> w", "q.> v", "q.*"], subscribe_deny=["q.x", "q.y w"])
    assert entitlement(group, "q.z", "receive").rule == "q.*", "without a queue"
    of_queue = Permissions(subscribe_allow=["q.> w", "q.> v"], subscribe_deny=["q.y w"])
    assert entitlement(of_queue, "q.y", "receive").rule == "q.> v", "in the queue of the entry"
    assert entitlement(Permissions(), "a", "publish").rule == "everything"
    found = entitlement(unknown(), "a", "publish")
    assert (found.rule, found.determined) == ("decided elsewhere, by somebody else", False)


# --- deliveries

CHANCE = """accounts { A {
  users: [ { user: a, password: x }, { user: few, password: x, permissions: { publish: z } } ]
  mappings: { "half.*": [ { destination: "to.$1", weight: 50 } ]
              "lost": [ { destination: "to", weight: 50 }
                        { destination: "lost", weight: 0 } ]
              "gone": [ { destination: "gone", weight: 0 } ]
              "sure.*": [ { destination: "to.$1", weight: 100 } ]
              "many.*": "to.{{random(300)}}" } } }
"""
#: What may arrive at ``>`` of a published subject.
ARRIVES = {
    "half.x": {("half.x",), ("to.x",)}, "lost": {(), ("to",)}, "gone": {()},
    "sure.x": {("to.x",)}, "other": {("other",)},
}  # fmt: skip


def test_a_queue_group_gets_a_message_by_one_of_its_ways(tmp_path):
    path = tmp_path / "nats.conf"
    path.write_text("""accounts {
  A { users: [ { user: a, password: x } ], exports: [ { stream: "o.>" } ] }
  B { users: [ { user: b, password: x } ]
      imports: [ { stream: { account: A, subject: "o.*" }, to: "b.*" }
                 { stream: { account: A, subject: "o.*" }, to: "c.*" } ] }
}
""")
    deployment = Deployment.load(path)
    every = deployment.delivery("A/a", "o.x", "B/b", ">")
    assert (every.subjects, every.determined) == (("b.x", "c.x"), True)
    one = deployment.delivery("A/a", "o.x", "B/b", ">", queue="q")
    assert (one.possible, one.determined) == ((("b.x",), ("c.x",)), False)


def test_what_chance_decides_is_what_a_live_broker_may_do(tmp_path):
    path = tmp_path / "nats.conf"
    path.write_text(CHANCE)
    deployment = Deployment.load(path)
    with serving(tmp_path / "live", CHANCE) as url:
        client = RawClient(url, user="a", **{"pass": "x"})
        client.subscribe(">", "1")
        client.flush()
        for subject, possible in ARRIVES.items():
            found = deployment.delivery("A/a", subject, "A/a", ">")
            assert {found.subjects, *found.possible} - {()} == possible - {()}
            assert found.determined is (len(possible) == 1)
            assert set(found.possible) == (possible if len(possible) > 1 else set())
            seen = set()
            for _ in range(60):
                client.publish(subject)
                client.flush()
                seen.add(tuple(row[1] for row in client.messages))
            assert seen == possible, subject
        client.close()
    refused = deployment.delivery("A/few", "sure.x", "A/a", ">")
    assert (bool(refused), refused.determined) == (False, True)
    assert refused.explanation.startswith("the publish is refused: ")
    many = deployment.delivery("A/a", "many.x", "A/a", ">")
    assert (many.determined, many.explanation) == (
        False, "mappings have more than 256 possible results",
    )  # fmt: skip
    said = CliRunner().invoke(app, ["acl", "who", "many.x", str(path), "--verb", "receive"]).output
    assert "imports and mappings lead to more places than are followed" in said


def test_courses_are_bounded_on_both_sides(tmp_path, monkeypatch):
    path = tmp_path / "nats.conf"
    for targets in (2, 3):
        rows = [f'{{ destination: "t{n}", weight: 30 }}' for n in range(targets - 1)]
        path.write_text(f"mappings {{ a: [ {', '.join(rows)} ] }}\n")
        monkeypatch.setattr(_delivery, "MAX_COURSES", 2)
        found = Deployment.load(path).delivery("anyone", "a", "anyone", ">")
        assert ("more than 2 possible" in found.explanation) is (targets == 3)


@pytest.mark.parametrize(("others", "known"), [(5, True), (6, False)])
def test_courses_multiply_up_to_their_bound(others, known, tmp_path):
    """Each account has three outcomes: 243 courses are followed, 729 are not."""
    accounts = "".join(
        f"B{n} {{ exports: [ {{ service: a }} ]\n"
        "mappings: { a: [ { destination: b, weight: 30 }, { destination: c, weight: 30 } ] } }\n"
        for n in range(others)
    )
    imports = ", ".join(f"{{ service: {{ account: B{n}, subject: a }} }}" for n in range(others))
    path = tmp_path / "nats.conf"
    path.write_text(f"accounts {{ A {{ imports: [ {imports} ]\n"
                    f"users: [ {{ user: a, password: x }} ] }}\n{accounts}}}\n")  # fmt: skip
    found = Deployment.load(path).delivery("A/a", "a", "A/a", "other")
    assert (found.determined, bool(found)) == (known, False)
    assert ("more than 256 possible" in found.explanation) is not known


def test_places_are_bounded_on_both_sides(tmp_path, monkeypatch):
    path = tmp_path / "nats.conf"
    path.write_text('mappings { "a.*": "b.$1" }\n')
    deployment = Deployment.load(path)
    for most, fits in ((1, True), (0, False)):
        monkeypatch.setattr(_reach, "MAX_PLACES", most)
        [found, *_] = _access.AccessReview(deployment).who("$G", "a.x", "receive")
        assert found.determined is fits


# --- exports and imports


@pytest.mark.parametrize(("export", "taken", "allowed"), [
    (Export("stream", "a.>"), Import("stream", "X", "a.b", "a.b"), True),
    (Export("stream", "a.>"), Import("service", "X", "a.b", "a.b"), False),
    (Export("stream", "a.b"), Import("stream", "X", "a.*", "a.*"), False),
    (Export("service", "a.*", ("ME",)), Import("service", "X", "a.b", "a.b"), True),
    (Export("service", "a.*", ("YOU",)), Import("service", "X", "a.b", "a.b"), False),
    (Export("service", "a.*", ()), Import("service", "X", "a.b", "a.b"), False),
    (Export("service", "a.*", position=2), Import("service", "X", "a.ME", "a.ME"), True),
    (Export("service", "a.*", position=2), Import("service", "X", "a.b", "a.b"), False),
    (Export("service", "a.*", position=2), Import("service", "X", "a.*", "a.*"), False),
    (Export("service", "a.*", position=3), Import("service", "X", "a.ME", "a.ME"), False),
    (Export("service", "*.b", position=1), Import("service", "X", "ME.b", "ME.b"), True),
    (Export("service", "a", token=True), Import("service", "X", "a", "a"), False),
])  # fmt: skip
def test_an_export_allows_what_it_offers(export, taken, allowed):
    assert export.allows(taken, "ME") is allowed
    assert export.public is (export.accounts is None and not export.token and not export.position)


def test_an_activation_is_revoked_up_to_its_second():
    for revoked, issued, allowed in (
        ((), 0, True), ((("ME", 7),), 8, True), ((("ME", 7),), 7, False), ((("ME", 7),), 6, False),
        ((("YOU", 7),), 6, True), ((("*", 7),), 7, False), ((("*", 7),), 8, True),
        ((("*", 5), ("ME", 9)), 8, False),
    ):  # fmt: skip
        export = Export("service", "a", token=True, revoked=revoked)
        taken = Import("service", "X", "a", "a", activation=Activation("K", issued, True))
        assert export.allows(taken, "ME") is allowed, (revoked, issued)


def test_an_account_of_which_the_name_alone_is_known_gets_no_imports():
    accounts = {"SYS": Account("SYS"), "A": Account("A", known=False), "B": Account("B")}
    add_implied(accounts, "SYS", stored=True)
    assert {name: len(each.implied) for name, each in accounts.items()} == {
        "SYS": 0, "A": 0, "B": 5,
    }  # fmt: skip


# --- traffic


def test_so_many_parts_replace_an_entry():
    most = _narrowing.MOST_PARTS
    parts = [f"a.{n}x" for n in range(most)]
    assert published_rules(["a.>"], traffic(*map(flow, parts))) == parts
    assert published_rules(["a.>"], traffic(*map(flow, [*parts, "a.y"]))) == ["a.>"]


def test_traffic_is_compared_up_to_a_number_of_patterns(monkeypatch):
    monkeypatch.setattr(_narrowing, "MOST_PATTERNS", 3)
    for count, narrow in ((3, True), (4, False)):
        names = [f"a.{n}x" for n in range(count)]
        assert (published_rules(["a.>"], traffic(*map(flow, names))) == names) is narrow
        rows = [subscription(each) for each in names]
        assert (subscribed_rules(["a.>"], *rows) == names) is narrow


@pytest.mark.parametrize(("entry", "queue", "rule"), [
    ("a.>", None, "a.x"), ("a.>", "q", "a.x q"), ("a.> q", "q", "a.x q"), ("a.> *", "q", "a.x q"),
    ("a.>", "q.r", "a.x"), ("a.> q.>", "q.r", "a.x q.>"),
])  # fmt: skip
def test_a_narrower_entry_keeps_the_queue(entry, queue, rule):
    assert subscribed_rules([entry], subscription("a.x", queue)) == [rule]


def test_more_messages_than_patterns_tell_keep_an_entry():
    for accepted, rules in ((5, ["a.x"]), (6, ["a.>"])):
        rows = {"permission_usage": [counted("a.>", accepted)]}
        assert published_rules(["a.>"], traffic(flow("a.x", 5), **rows)) == rules


def test_messages_are_those_that_a_pattern_tells_for_sure_of_an_entry():
    """Two subscribers may have received the same ones, and those of another entry do not count."""
    rows = {"permission_usage": [counted("a.>", 6)]}
    twice = [flow("a.x", 5), flow("a.x", 5, "third"), flow("b.x", 5)]
    assert published_rules(["a.>", "b.*"], traffic(*twice, **rows)) == ["a.>", "b.x"]


def test_beyond_the_most_entries_all_that_have_traffic_are_proposed(monkeypatch):
    seen = traffic(flow("orders.*"), flow("x.new"))
    for most, added in ((3, ["x.new"]), (2, ["orders.new", "x.new"])):
        monkeypatch.setattr(_narrowing, "MOST_PATTERNS", most)
        found = narrowed(Permissions(publish_allow=["orders.*", "*.new"]), seen)
        assert [entry for verb, entry in found.added if verb == "publish"] == added


def test_an_entry_that_another_one_covers_is_not_proposed():
    seen = traffic(flow("orders.*"), flow("x.new"))
    found = narrowed(Permissions(publish_allow=["orders.*", "*.new"]), seen)
    assert found.removed == (("publish", "*.new"), ("subscribe", ">"))
    assert found.added == (("publish", "x.new"),)  # and not orders.new
    assert published_rules(["orders.*", "orders.new"], seen) == ["orders.*", "orders.new"]
    rows = subscription("a.>"), subscription("a.x")
    assert subscribed_rules(["a.>"], *rows) == ["a.>"]
    assert subscribed_rules(["a.>"], rows[0], subscription("a.x", "q")) == ["a.>", "a.x q"]
    assert subscribed_rules(["a.>"], subscription("a.*", "q"), subscription("a.x", "q")) == [
        "a.* q"
    ]


def test_rules_of_an_audit_come_before_those_of_other_subjects():
    rules = [{"service": "me", "verb": "subscribe", "rule": each}
             for each in ("p.safe.*.y", "p.safe.>")]  # fmt: skip
    rows = [subscription("p.>"), subscription("p.safe.x.y")]
    seen = traffic(planes=("p",), subscriptions=rows, proposal=rules)
    today = Permissions(publish_allow=[], subscribe_allow=["p.safe.>"])
    assert narrowed(today, seen).permissions.subscribe_allow == ("p.safe.*.y",)


@pytest.mark.parametrize(("most", "published"), [(2, "p.safe.*"), (1, "p.safe.>")])
def test_beyond_the_most_patterns_subscriptions_alone_are_narrowed(monkeypatch, most, published):
    monkeypatch.setattr(_narrowing, "MOST_PATTERNS", most)
    rule = {"service": "me", "verb": "publish", "rule": "p.safe.*"}
    flows = flow("p.safe.x"), flow("p.safe.y")
    seen = traffic(*flows, planes=("p",), subscriptions=[subscription("s.x")], proposal=[rule])
    today = Permissions(publish_allow=["p.safe.>"], subscribe_allow=["s.>"], dialect="strict")
    found = narrowed(today, seen).permissions
    assert (found.publish_allow, found.subscribe_allow) == ((published,), ("s.x",))
    assert found.dialect == "strict"


def test_an_entry_of_a_message_that_no_client_received_stays():
    assert published_rules(["a.>"], traffic(flow("a.*"), flow("a.x", 1, None))) == ["a.>"]


def test_a_subscription_that_is_refused_today_is_not_kept():
    assert subscribed_rules(["a.>"], subscription("a.x"), subscription("z")) == ["a.x"]


@pytest.mark.parametrize(("more", "deny", "queue"), [([], ["a.b"], None), (["a.> q"], [], "r")])
def test_a_subscription_that_several_entries_allow_keeps_them(more, deny, queue):
    """A deny of a part refuses it in the strict model alone, other queues in that of the broker."""
    allow = ["a.*", "a.*.>", *more]
    rules = Permissions(publish_allow=[], subscribe_allow=allow, subscribe_deny=deny)
    rows = [subscription("a.>", queue), subscription("a.x")]
    models = [bool(rules.can_subscribe("a.>", queue=queue, model=m)) for m in ("strict", "broker")]
    assert sorted(models) == [False, True]
    found = narrowed(rules, traffic(subscriptions=rows)).permissions
    assert found.subscribe_allow == tuple(allow)


def test_denies_without_an_effect_go():
    rules = Permissions(
        publish_allow=["a.>", "b.>"], publish_deny=["a.y", "b.y"], subscribe_allow=[],
        allow_responses=ResponseLimit(),
    )  # fmt: skip
    found = narrowed(rules, traffic(flow("a.*")))
    assert found.permissions.publish_deny == ("a.y",)
    assert found.permissions.allow_responses == ResponseLimit()
    assert found.removed == (("publish", "a.>"), ("publish", "b.>"))
    assert found.added == (("publish", "a.*"),)


def test_refusals_are_added_up_by_rule():
    rules = Permissions(publish_allow=["a.*"], publish_deny=["a.b", ">"], subscribe_allow=["s"],
                        subscribe_deny=["s.x"])  # fmt: skip
    seen = traffic(refused=[], subscriptions=[subscription("s"), subscription("t", "q")])
    seen.refused += [
        type("R", (), {"verb": verb, "subject": subject, "times": times})()
        for verb, subject, times in (
            ("publish", "a.b", 2), ("publish", "a.c", 3), ("publish", "a..b", 1),
            ("subscribe", "s", 4), ("subscribe", "t", 5), ("subscribe", "u", 6),
        )
    ]  # fmt: skip
    rows = [(e.verb, e.rule, e.allowed, e.count, e.witness) for e in refusals(rules, seen)]
    assert rows == [
        ("publish", None, False, 1, "a..b"), ("publish", ">", False, 3, "a.c"),
        ("publish", "a.b", False, 2, "a.b"), ("subscribe", None, False, 11, "t"),
        ("subscribe", None, True, 4, "s"),
    ]  # fmt: skip
    assert [(e.verb, e.witness) for e in uncovered(rules, seen)] == [("subscribe", "t q")]


# --- flows


def test_exports_and_imports_that_deserve_a_look(tmp_path):
    path = tmp_path / "nats.conf"
    path.write_text("""accounts {
A { users: [ { user: a, password: x, permissions: { publish: [ pub, ask ], subscribe: none } } ]
  exports: [
    { stream: pub, accounts: [ B ] }
    { stream: free }
    { stream: hidden, accounts: [ B ] }
    { service: ask, accounts: [ B ] }
  ] }
B { users: [ { user: b, password: x, permissions: { publish: none, subscribe: [ pub, free ] } } ]
  imports: [
    { stream: { account: A, subject: pub } }
    { stream: { account: A, subject: free } }
    { service: { account: A, subject: ask } }
  ] } }
""")
    deployment = Deployment.load(path)
    assert [(each.account, each.line, each.code, each.message) for each in deployment.unused()] == [
        ("A", 5, "public-export", "stream free may be imported by any account"),
        ("A", 6, "unused-export", "no account imports the stream hidden"),
        ("B", 12, "unused-import", "no user of A may publish to the stream free"),
        ("B", 13, "unused-import", "no user of B may publish to the service ask"),
        ("B", 13, "unused-import", "no user of A may receive from the service ask"),
    ]
    assert {each.file for each in deployment.unused()} == {str(path)}
    rows = [(e.kind, e.source, e.target, e.published, e.received, e.senders, e.receivers, e.start)
            for e in deployment.flows()]  # fmt: skip
    assert rows == [
        ("stream", "A", "B", "pub", "pub", ("A/a",), ("B/b",), "pub"),
        ("stream", "A", "B", "free", "free", (), ("B/b",), "free"),
        ("service", "B", "A", "ask", "ask", (), (), "ask"),
    ]
