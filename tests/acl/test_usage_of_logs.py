"""``acl usage --log``: from the log of a broker to rules that its programs need, in one step."""

from __future__ import annotations

import asyncio
import json
import re

import nats
import pytest
from click.testing import CliRunner
from usage_roles import judged

from patience import settled, until
from servers import serving
from subtrie._cli.app import app
from subtrie.acl import Traffic
from subtrie.audit import Questions, audit, load_rules

CONFIG = """trace: true
debug: true
authorization { users: [
  { user: web, password: open, permissions: { publish: "orders.>", subscribe: "news.>" } }
  { user: back, password: open }
] }
"""


def usage(*words, status):
    done = CliRunner().invoke(app, ["acl", "usage", *map(str, words)])
    assert done.exit_code == status, done.output
    return done.output


def objects(*words, status):
    return [json.loads(each) for each in usage(*words, "--json", status=status).splitlines()]


def ran(folder, subjects, patterns=()):
    """The log of a broker to which the user web published, and back listened."""

    async def program(url):
        back, heard = await nats.connect(url, user="back", password="open"), []

        async def hear(message):
            heard.append(message.subject)

        for each in ("orders.new.*", "orders.paid", "orders.late"):
            await back.subscribe(each, cb=hear)
        await settled(back)
        web = await nats.connect(url, user="web", password="open")
        for each in patterns:
            await web.subscribe(each)
        for each in subjects:
            await web.publish(each)
            await settled(web)
        # Two sockets: without it the end of the subscriber may come before the last message.
        await until(lambda: len(heard) == len(subjects))
        await web.close()
        await back.close()

    with serving(folder, CONFIG) as url:
        asyncio.run(program(url))
    return folder / "server.log"


def trace(path, *said):
    """A log of lines, each with its second, the number of a client, who it is, and its text.

    It is a user of the first account, or the words in quotes that the broker wrote.
    """
    path.write_text("".join(
        f"[7] 2026/11/21 08:00:{second} [TRC] 127.0.0.1:1 - cid:{cid} - "
        + (who if who.startswith('"') else f'"v1:py" - "$G/user:{who}"') + f" - {text}\n"
        for second, cid, who, text in said
    ))  # fmt: skip
    return path


def by_seconds(*said):
    """The lines of a log, one each second."""
    return [(f"{second:02}.000000", *each) for second, each in enumerate(said)]


@pytest.fixture(scope="module")
def settings(tmp_path_factory):
    path = tmp_path_factory.mktemp("settings") / "nats.conf"
    path.write_text(CONFIG)
    return path


@pytest.fixture(scope="module")
def first(tmp_path_factory):
    return ran(tmp_path_factory.mktemp("first"), ["orders.new.1", "orders.new.2"], ["news.a"])


@pytest.fixture(scope="module")
def second(tmp_path_factory):
    return ran(tmp_path_factory.mktemp("second"), ["orders.new.7", "orders.paid", "orders.paid"],
               ["news.b"])  # fmt: skip


def test_programs_of_all_roles_run_under_the_proposal_from_their_log(tmp_path, capsys):
    """O6, O10: with each rule, and refused without any one of them."""
    counts = judged(1, 16, tmp_path)
    assert counts["programs"] >= 12
    assert counts["refused without the rule"] == counts["rules"] > counts["programs"]
    with capsys.disabled():
        print(f"  [{counts['pass']} programs pass; {counts['rules']} without one rule fail]")


def test_a_proposal_from_a_log_in_one_step(settings, first):
    """O18"""
    said = usage(settings, "--log", first, "--user", "web", status=0)
    added = [line for line in said.splitlines() if line[:1] in "+-"]
    assert added == [
        "- publish orders.>", "- subscribe news.>", "+ publish orders.new.*", "+ subscribe news.a",
    ]  # fmt: skip
    assert "not counted by rule" not in said


def test_what_a_proposal_would_have_refused_in_another_log(settings, first, second):
    words = [settings, "--log", first, "--user", "web", "--against"]
    refused = [each for each in objects(*words, second, status=1) if each["kind"] == "would-refuse"]
    assert refused == [
        {"kind": "would-refuse", "user": "web", "verb": "publish", "subject": "orders.paid",
         "times": 2},
        {"kind": "would-refuse", "user": "web", "verb": "subscribe", "subject": "news.b",
         "times": 1},
    ]  # fmt: skip
    said = usage(*words, second, status=1)
    assert (
        f"{settings}:4:3: warning would-refuse: "
        "web: the proposal refuses publish orders.paid, seen 2 times" in said
    )
    assert f"✓ {first}: the proposal refuses nothing" in usage(*words, first, status=0)


def test_an_entry_that_was_not_used_is_not_said_to_be_narrowed(tmp_path):
    conf = tmp_path / "nats.conf"
    conf.write_text(
        "authorization { users: [ { user: web, password: open, permissions: "
        '{ publish: [ "o.*", "o.late" ], subscribe: {} } } ] }\n'
    )
    said = ((6, "web", f"<<- [PUB o.{each} 0]") for each in "abcdefg")
    log = trace(tmp_path / "log", *by_seconds(*said))
    shown = usage(conf, "--log", log, "--user", "web", "--format", "markdown", status=1)
    assert "publish o.late was not used" in shown
    assert "allows the traffic" not in shown


def test_evidence_of_several_logs_and_runs_adds_up(settings, first, second, tmp_path):
    both = usage(settings, "--log", first, "--log", second, "--user", "web", "--against", second,
                 status=0)  # fmt: skip
    assert "+ publish orders.paid" in both
    assert "the proposal refuses nothing" in both
    runs = []
    for number, log in enumerate((first, second)):
        out = tmp_path / f"run{number}"
        done = CliRunner().invoke(
            app, ["audit", str(log), "--rules", str(settings), "--out", str(out)]
        )
        assert done.exit_code == 0, done.output
        runs += ["--traffic", out]
    for words in (runs, [*runs[:2], "--log", second]):
        assert _changes(usage(settings, *words, "--user", "web", status=0)) == _changes(both)


def _changes(said):
    return re.findall(r"^[+-] .*$", said, flags=re.M)


def test_a_part_of_the_log_is_held_out(settings, tmp_path):
    log = ran(tmp_path, ["orders.new.1", "orders.late"], ["news.a"])
    text = log.read_text()
    late = text.index(re.search(r"^.*PUB orders\.late", text, re.M)[0])
    # The last message is a year after the others.
    year = re.sub(
        r"^(\[\d+\] )(\d{4})/", lambda m: f"{m[1]}{int(m[2]) + 1}/", text[late:], flags=re.M
    )
    log.write_text(text[:late] + year)
    words = [settings, "--log", log, "--user", "web"]
    assert "+ publish orders.late" in usage(*words, status=0)
    said = usage(*words, "--hold-out", "0.3", status=1)
    assert "+ publish orders.late" not in said
    assert "the proposal refuses publish orders.late, seen once" in said


@pytest.mark.parametrize(("after", "proposed"), [("06.900000", True), ("05.900000", False)])
def test_a_delivery_just_after_the_cut_is_evidence_of_the_message_before_it(
    settings, tmp_path, after, proposed
):
    """It was none: the message before the cut had no receiver. A later one is not its delivery."""
    said = (
        ("00.000000", 1, "back", "<<- [SUB orders.*  1]"),
        (after, 2, "web", "<<- [PUB orders.x 0]"),
        ("07.100000", 1, "back", "->> [MSG orders.x 1 0]"),
        ("10.000000", 2, "web", "<<- [SUB news.a  1]"),
    )  # fmt: skip
    log = trace(tmp_path / "trace.log", *said)
    found = usage(settings, "--log", log, "--user", "web", "--hold-out", "0.3", status=0)
    assert ("+ publish orders.*" in found) is proposed


def test_the_time_of_traffic_is_from_the_first_to_the_last_of_all_inputs(settings, tmp_path):
    """Also of what was refused: it was "no traffic" where nothing else was."""
    early, late, sent, refused = (
        tmp_path / f"{name}.log" for name in ("early", "late", "sent", "refused")
    )
    trace(early, ("01.000000", 1, "web", "<<- [SUB news.a  1]"),
          ("02.000000", 1, "web", "<<- [UNSUB 1]"))  # fmt: skip
    trace(late, ("08.000000", 1, "web", "<<- [SUB news.a  1]"),
          ("09.000000", 1, "web", "<<- [UNSUB 1]"))  # fmt: skip
    trace(sent, ("03.000000", 1, "web", "<<- [PUB old.x 0]"),
          ("04.000000", 1, "web", "<<- [SUB news.a  1]"),
          ("05.000000", 1, "web", "<<- [PUB old.x 0]"))  # fmt: skip
    violation = '[ERR] 127.0.0.1:1 - cid:1 - "v1:py" - "$G/user:web" - Publish Violation - '
    trace(refused, ("05.000000", 1, "web", "<<- [PUB old.x 0]"))
    with refused.open("a") as file:
        file.write(f'[7] 2026/11/21 08:00:06.000000 {violation}User "web", Subject "old.x"\n')
    for logs, period in (
        ([early], "01 to 02"), ([early, late], "01 to 09"), ([late, early], "01 to 09"),
        ([late, refused], "06 to 09"), ([refused], "06 to 06"), ([sent], "03 to 05"),
    ):  # fmt: skip
        times = " to ".join(f"2026-11-21 08:00:{second}" for second in period.split(" to "))
        words = [word for log in logs for word in ("--log", log)]
        said = usage(settings, *words, "--user", "web", status=1)
        assert said.splitlines()[0] == f"traffic: {times} UTC"
    runs = []
    for log in (late, early, refused):
        runs += ["--traffic", tmp_path / f"{log.stem}.run"]
        words = ["audit", str(log), "--rules", str(settings), "--out", str(runs[-1])]
        assert CliRunner().invoke(app, words).exit_code == 0
    for order in (runs, [*runs[2:4], *runs[:2]]):
        said = usage(settings, *order, "--user", "web", status=1)
        assert said.splitlines()[0] == "traffic: 2026-11-21 08:00:01 to 2026-11-21 08:00:09 UTC"
    log = tmp_path / "without.log"
    log.write_text("".join(line[:4] + line[31:] for line in early.open()))
    said = usage(settings, "--log", log, "--user", "web", status=1)
    assert said.splitlines()[0] == "traffic: at unknown times"


def test_an_entry_goes_whose_traffic_another_one_allows(tmp_path):
    """The part of it that the other one allows was proposed, too."""
    rules = tmp_path / "nats.conf"
    rules.write_text('authorization { users: [ { user: web, password: p, permissions: { '
                     'publish: ["orders.*", "*.new"], subscribe: "news.a" } } ] }')  # fmt: skip
    said = (
        (1, "back", "<<- [SUB orders.*  1]"), (2, "web", "<<- [SUB news.a  1]"),
        *((each, user, text) for subject in ("orders.a", "orders.new")
          for each, user, text in ((2, "web", f"<<- [PUB {subject} 0]"),
                                   (1, "back", f"->> [MSG {subject} 1 0]"))),
    )  # fmt: skip
    words = rules, "--log", trace(tmp_path / "trace.log", *by_seconds(*said))
    assert _changes(usage(*words, status=0)) == ["- publish *.new"]
    message = "web: publish *.new: orders.* allows the traffic"
    assert message in usage(*words, "--sarif", status=0)


@pytest.mark.parametrize("answers", [True, False])
def test_replies_of_a_user_that_may_answer_are_not_refused_by_its_proposal(tmp_path, answers):
    rules = ", allow_responses: true" if answers else ""
    settings = tmp_path / "nats.conf"
    settings.write_text(
        "authorization { users: [ { user: web, password: p, permissions: { "
        f'publish: "x.>", subscribe: "x.>"{rules} }} }}, {{ user: back, password: p }} ] }}'
    )
    sent = ("x.new", "_INBOX.a", "p.reply.b", "p.b.reply", "reply.b", "x._INBOX")
    lines = []
    for n, subject in enumerate(sent):
        lines += [(f"{n:02}.000000", 1, "back", f"<<- [SUB {subject}  {n}]"),
                  (f"{n:02}.100000", 2, "web", f"<<- [PUB {subject} 0]"),
                  (f"{n:02}.200000", 1, "back", f"->> [MSG {subject} {n} 0]")]  # fmt: skip
    heard = ("30.000000", 2, "web", "<<- [SUB _INBOX.c  9]")
    log = trace(tmp_path / "first.log", *lines[:3])
    other = trace(tmp_path / "other.log", *lines[3:], heard)
    found = objects(settings, "--log", log, "--user", "web", "--against", other, status=1)
    missed = {each["subject"] for each in found if each["kind"] == "would-refuse"}
    replies = {"_INBOX.a", "p.reply.b"}
    assert missed == {"p.b.reply", "reply.b", "x._INBOX", "_INBOX.c"} | (
        set() if answers else replies
    )


def test_bad_input_is_one_sentence(settings, first, tmp_path):
    assert "give --log LOG, or --traffic RUN" in usage(settings, status=2)
    assert "go with --log" in usage(settings, "--traffic", "x", "--hold-out", "0.3", status=2)
    said = usage(settings, "--log", tmp_path / "none.log", status=2)
    assert said == f"Error: {tmp_path}/none.log: No such file or directory\n"
    other = tmp_path / "other.conf"
    other.write_text("authorization { users: [ { user: x, password: y } ] }")
    said = usage(other, "--log", first, status=2)
    assert "the rules name no service of the traffic" in said
    assert len(said.splitlines()) == 1


def test_traffic_of_two_runs_adds_up():
    def of(*counts):
        flow = {"publisher": "a", "pattern": "x", "subscriber": "b", "published": counts[0]}
        rows = {
            "flows": [flow],
            "permission_usage": [
                {"service": "a", "verb": "publish", "effect": "allow", "rule": "x",
                 "accepted": counts[0], "refused": 1}
            ],
            "subscriptions": [{"identity": "a", "pattern": "y", "queue": None}],
            "refused": [{"who": "a", "subject": "z", "kind": "publish", "count": 1}],
        }  # fmt: skip
        return Traffic.of_tables(lambda name: rows.get(name, ()))["a"]

    both = of(3).added(of(4))
    assert both.published == [("x", True, 7, 7)]
    assert both.counted == {("publish", "x"): (7, 2)}
    assert both.subscribed == [("y", None, 2)]
    assert len(both.refused) == 2
    assert of(3).added(Traffic()).counted == {}


def test_users_of_one_name_in_two_accounts_are_two(tmp_path):
    """Each has a proposal of its own traffic, and is tried on its own."""
    said = []
    for cid, account, subject in ((1, "A", "x.one"), (2, "B", "x.two")):
        web, back = (f'"v1:py" - "{account}/user:{name}"' for name in ("web", "back"))
        said += [(cid + 2, back, f"<<- [SUB {subject}  1]"), (cid, web, f"<<- [PUB {subject} 0]"),
                 (cid + 2, back, f"->> [MSG {subject} 1 0]")]  # fmt: skip
    log = trace(tmp_path / "trace.log", *by_seconds(*said))
    files = []
    for account in "AB":
        files.append(tmp_path / f"{account}.conf")
        rules = 'permissions: { publish: "x.>" }'
        files[-1].write_text(
            f"accounts {{ {account}: {{ users: [ {{ user: web, password: p, {rules} }} ] }} }}"
        )
    found = objects(*files, "--log", log, "--against", log, status=1)
    added = {(e["account"], *(each["entry"] for each in e["added"]))
             for e in found if e["kind"] == "proposal"}  # fmt: skip
    assert added == {("A", "x.one"), ("B", "x.two")}
    assert found[-1] == {"kind": "tried-out", "on": str(log), "refused": 0}
    (alone,) = (e for e in objects(files[0], "--log", log, status=1) if e["kind"] == "proposal")
    assert alone["added"] == [{"verb": "publish", "entry": "x.one"}]
    trace(log, *by_seconds(*said[:3]))  # the other never came
    kinds = {(each["account"], each["kind"]) for each in objects(*files, "--log", log, status=1)}
    assert ("B", "unused-user") in kinds
    assert not {("B", "proposal"), ("A", "unused-user")} & kinds


def test_a_user_without_an_account_may_be_that_of_any(settings, tmp_path):
    other = tmp_path / "accounts.conf"
    other.write_text("accounts { A: { users: [ { user: web, password: p } ] } }")
    log = trace(tmp_path / "trace.log", *by_seconds((1, "web", "<<- [PUB orders.x 0]")))
    for files in ((settings, other), (other, settings)):
        said = usage(*files, "--log", log, "--user", "web", status=2)
        assert "have one name, and not two accounts that tell their traffic apart" in said


def test_a_user_of_an_account_that_never_came_is_a_finding(tmp_path):
    """With ``--account`` it was an error, as for a user that is asked for by name."""
    settings = tmp_path / "nats.conf"
    settings.write_text("accounts { A: { users: [ { user: web, password: p }, "
                        "{ user: old, password: p } ] } }")  # fmt: skip
    log = trace(tmp_path / "trace.log", *by_seconds(
        (1, '"v1:py" - "A/user:web"', "<<- [SUB x  1]"),
        (1, '"v1:py" - "A/user:web"', "<<- [PUB x 0]"),
        (1, '"v1:py" - "A/user:web"', "->> [MSG x 1 0]"),
    ))  # fmt: skip
    for account in ((), ("--account", "A")):
        found = objects(settings, *account, "--log", log, status=1)
        assert [each["user"] for each in found if each["kind"] == "unused-user"] == ["old"]
    assert "of old; the traffic has web" in usage(settings, "--user", "old", "--log", log, status=2)


def test_a_name_that_only_the_client_claims_is_not_that_of_a_user(settings, tmp_path):
    said = ((1, '"v1:py"', "<<- [SUB orders.x  1]"), (2, '"v1:py:web"', "<<- [PUB orders.x 0]"),
            (1, '"v1:py"', "->> [MSG orders.x 1 0]"))  # fmt: skip
    log = trace(tmp_path / "trace.log", *by_seconds(*said))
    words = [settings, "--user", "web", "--log", log]
    said = usage(*words, status=2)
    assert "clients claim this name" in said
    assert "+ publish orders.x" in usage(*words, "--claimed-identities", status=1)


def shared_log(path, *clients):
    """The log of a user that clients of other names share; each name and publishes a subject."""
    lines = []
    for sid, (name, subject) in enumerate(clients):
        back = 1, '"v1:py:back" - "A/user:back"'
        own = sid + 2, f'"v1:py:{name}" - "A/user:every_one"'
        lines += [(*back, f"<<- [SUB {subject}  {sid}]"), (*own, f"<<- [PUB {subject} 0]"),
                  (*back, f"->> [MSG {subject} {sid} 0]")]  # fmt: skip
    return trace(path, *by_seconds(*lines))


def shared_rules(path):
    path.write_text(
        "accounts { A: { users: [ { user: every_one, password: p, "
        'permissions: { publish: "orders.>" } }, '
        '{ user: back, password: p, permissions: { subscribe: "orders.>" } } ] } }'
    )
    return path


def test_a_user_whose_clients_are_known_by_their_own_names_is_tried(tmp_path):
    """It was not, as the audit knows rules by the names of clients."""
    log = shared_log(tmp_path / "a.log", ("a.example", "orders.a"), ("b.example", "orders.b"))
    more = ("a.example", "orders.a"), ("c.example", "orders.c"), ("d.example", "orders.c")
    other = shared_log(tmp_path / "b.log", *more)
    rules = shared_rules(tmp_path / "nats.conf")
    assert "the proposal refuses nothing" in usage(rules, "--log", log, "--against", log, status=1)
    said = usage(rules, "--log", log, "--against", other, status=1)
    assert "would-refuse: A/every_one: the proposal refuses publish orders.c, seen 2 times" in said
    assert said.count("A/every_one: the proposal refuses") == 1
    said = usage(rules, "--log", log, "--hold-out", "0.3", status=1)
    assert "the proposal refuses publish orders.b, seen once" in said


def test_a_user_that_shares_the_name_of_a_client_with_another_one_is_tried(tmp_path):
    """It was not, as the audit knew rules by the names of clients."""
    log = shared_log(tmp_path / "trace.log", ("a.example", "orders.a"), ("b.example", "orders.b"))
    text = log.read_text()
    line = next(each for each in text.splitlines() if "orders.a 0" in each)
    line = line.replace("every_one", "any_one").replace("cid:2", "cid:9").replace("s.a", "s.c")
    log.write_text(f"{text}{line}\n")
    rules = shared_rules(tmp_path / "nats.conf")
    found = objects(rules, "--log", log, "--against", log, status=1)
    assert found[-1] == {"kind": "tried-out", "on": str(log), "refused": 0}
    assert not [each for each in found if each.get("subject") == "orders.c"]


def test_the_only_user_is_shared_by_clients_with_names_of_hosts(tmp_path):
    """It ended with 2: the rules named no service, as the audit knew each client by its name."""
    log = shared_log(tmp_path / "trace.log", ("a.example", "orders.a"), ("b.example", "orders.b"),
                     ("b.example", "orders.b"))  # fmt: skip
    rules = tmp_path / "nats.conf"
    rules.write_text('authorization { users: [ { user: every_one, password: p, permissions: { '
                     'publish: ["orders.>", "old.>"] } } ] }')  # fmt: skip
    found = objects(rules, "--log", log, "--against", log, status=1)
    used = {e["entry"]: (e["state"], e["accepted"], e["exact"]) for e in found
            if e["kind"] == "rule" and e["verb"] == "publish"}  # fmt: skip
    assert used == {"orders.>": ("used", 3, True), "old.>": ("unused", 0, True)}
    added = [e["added"] for e in found if e["kind"] == "proposal"]
    assert [each["entry"] for each in added[0]] == ["orders.a", "orders.b"]
    assert found[-1]["refused"] == 0
    with audit([str(log)], questions=Questions(rules=load_rules([rules]))) as run:
        rows = [tuple(row[name] for name in ("service", "user", "client", "accepted"))
                for row in run.rows("permission_usage") if row["rule"] == "orders.>"]  # fmt: skip
    assert rows == [
        ("every_one", "every_one", "a.example", 1), ("every_one", "every_one", "b.example", 2),
    ]  # fmt: skip


def test_a_client_that_calls_itself_as_another_user_is_judged_by_its_own_rules(tmp_path):
    """The rules of the user apply that the broker knows, whatever its client calls itself."""
    log = shared_log(tmp_path / "trace.log", ("back.example", "orders.a"))
    rules = tmp_path / "nats.conf"
    rules.write_text('authorization { users: [ { user: every_one, password: p, permissions: { '
                     'publish: "orders.>" } }, { user: back.example, password: p, '
                     'permissions: { publish: "orders.>" } } ] }')  # fmt: skip
    found = objects(rules, "--log", log, status=1)
    kinds = {(each["kind"], each["user"]) for each in found}
    assert ("unused-user", "back.example") in kinds
    assert ("rule", "every_one") in kinds


def test_what_is_claimed_beside_proven_traffic_is_a_row(settings, tmp_path):
    said = (
        (1, '"v1:py"', "<<- [SUB orders.x  1]"),
        (2, "web", "<<- [PUB orders.x 0]"),
        (1, '"v1:py"', "->> [MSG orders.x 1 0]"),
        (3, '"v1:py:web"', "<<- [PUB orders.x 0]"),
    )
    log = trace(tmp_path / "trace.log", *by_seconds(*said))
    words = [settings, "--user", "web", "--log", log]
    found = objects(*words, status=1)
    assert {"kind": "claimed", "user": "web", "account": None, "count": 1} in found
    said = usage(*words, status=1)
    assert "claimed: web: 1 messages and subscriptions under this name are not counted" in said
    assert "claimed" not in usage(*words, "--claimed-identities", status=1)
