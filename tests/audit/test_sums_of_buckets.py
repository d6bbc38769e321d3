"""The sums of a bucket against plain Python: edges, rules, calls, flows and latencies."""

from __future__ import annotations

import dataclasses
from collections import defaultdict
from collections.abc import Callable
from typing import Any

import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from plain_tables import matches

from rate_of_times import bars
from subtrie.acl import Permissions
from subtrie.audit import Questions
from subtrie.audit._answers.folding import fold
from subtrie.audit._answers.gaps import CodeCall
from subtrie.audit._answers.rule_table import NO_RULE, NO_RULES
from subtrie.audit._answers.sums import Sums
from subtrie.audit._partial.kinds import kind_schema
from subtrie.audit._partial.partial import Partial
from subtrie.audit._partial.parts import EVENT_COLUMNS, Reading, partials_of_table
from subtrie.audit._schema import EVENTS, arrow_schema
from subtrie.audit._tables.answer_sums import answer_sums
from subtrie.audit._tables.bucket import Bucket
from subtrie.audit._tables.classified import Classified
from subtrie.audit._tables.context import Asked, context_of
from subtrie.audit._tables.pattern_index import open_index, pattern_files

SCHEMA = arrow_schema([(name, kind) for name, kind in EVENTS if name in EVENT_COLUMNS])
DAY = 86_400_000_000
Event = dict[str, Any]


def bucket_of(
    events: list[Event],
    questions: Questions | None = None,
    code: tuple[CodeCall, ...] = (),
    **listed: list[Event],
) -> Bucket:
    """Return the one bucket of events, which are at their positions in one log, and of rows."""
    none: Event = dict.fromkeys(SCHEMA.names)
    rows = [none | {"server": "s", "file": "f", "position": n, "offset": n, "account": "A"} | each
            for n, each in enumerate(events)]  # fmt: skip
    whole = Partial()
    batch = pa.RecordBatch.from_pylist(rows, SCHEMA)
    for each in partials_of_table([batch], Reading(answers=True)):
        whole.add(each)
    for kind, more in listed.items():
        empty: Event = dict.fromkeys(kind_schema(kind).names)
        table = [empty | {"server": "s", "account": "A"} | each for each in more]
        table = [{name: each[name] for name in empty} for each in table]
        whole.add_list(kind, pa.Table.from_pylist(table, kind_schema(kind)))
    made = context_of(whole.head(), (), questions or Questions(), None)
    called = pattern_files(each.pattern for each in code)
    files = dict([*made.files, *called])
    asked = made.context.asked
    assert isinstance(asked, Asked)
    asked = asked._replace(code=code, called=tuple(name for name, _ in called))
    context = dataclasses.replace(made.context, asked=asked)
    return Bucket(whole, context, lambda names: open_index(names, files.__getitem__))


def client(number: int, **told: Any) -> Event:
    return {"conn": f"1/client:{number}", "op": "PUB", "direction": "in"} | told


#: Publishers: a proven service, one without a name, one that calls itself otherwise than its user.
WHO = (
    client(1, identity="a.b", identity_source="user", user="u", client="c"),
    client(2),
    client(3, identity="e.f", identity_source="claimed", user="a.b", client="c2"),
)
HEAD, OTHER = "p.safe.443.a_b.c_d._.GET.", "p.safe.443.e_f.c_d._.GET."
ITEM, REPLY = HEAD + "items.7", "p.reply._.c_d.a_b.id-x"
#: Subjects with the kind, the plane, the port and the source in them.
SUBJECTS: dict[str, tuple[Any, ...]] = {
    ITEM: ("request", "p", 443, "a.b"), HEAD + "items.8.x": ("request", "p", 443, "a.b"),
    OTHER + "items.9": ("request", "p", 443, "e.f"), REPLY: ("reply", "p", None, "c.d"),
    "orders.1": ("other", None, None, None), "orders.2": ("other", None, None, None),
    "p.unsafe": ("other", None, None, None), "a..b": ("other", None, None, None),
}  # fmt: skip
SUBSCRIBED = "p.safe.443.*.c_d._.GET."
#: The most specific first.
ROUTES = ("items.7", "items.*", "items.>", ">")
RULES = {
    "a.b": Permissions(publish_deny=(ITEM,), publish_allow=("p.safe.>", "orders.*", ITEM)),
    "e.f": Permissions(publish_deny=("orders.2",)), "c": Permissions(publish_allow=(">",)),
}  # fmt: skip
CODE = tuple(
    CodeCall("a.b", text, None)
    for text in (
        "*.safe.443.a_b.c_d._.GET.items.7", "*.safe.443.a_b.c_d._.GET.items.>",
        "*.safe.443.a_b.c_d._.GET.items.7", "*.safe.443.e_f.c_d._.GET.items.*",
    )
)  # fmt: skip
TIMES = st.sampled_from([1, 7, 2_000_000, DAY - 1, DAY, DAY + 5, 3 * DAY])
MESSAGE = st.tuples(
    st.integers(0, 2), st.sampled_from(sorted(SUBJECTS)), TIMES, st.integers(1, 9),
    st.sampled_from(["taken", "taken", "lost", "sent on", "refused"]),
)  # fmt: skip
Message = tuple[int, str, int, int, str]


def subscriber(number: int, pattern: str, **told: Any) -> Event:
    return client(number, op="SUB", subject=pattern, **told)


RECEIVERS = {
    "orders.*": subscriber(11, "orders.*", identity="r.x", user="ru", client="rc", sid="1"),
    "orders.>": subscriber(12, "orders.>", queue="q", sid="1"),
    REPLY: subscriber(11, REPLY, identity="r.x", user="ru", client="rc", sid="2"),
}


def events_of(subs: list[Event], messages: list[Message]) -> list[Event]:
    """Return the subscriptions, and messages that all of them receive, some or all."""
    found = list(subs)
    for who, subject, time, size, fate in messages:
        receivers = [n for n, each in enumerate(subs) if matches(each["subject"], subject)]
        taken = len(receivers) if fate == "taken" else 0
        told = {"subject": subject, "time": time, "size": size, "deliveries": taken,
                "forwarded": 2 * (fate == "sent on")}  # fmt: skip
        if fate == "refused":
            told |= {"refused": "publish", "deliveries": None, "forwarded": None}
        found.append(WHO[who] | told)
        for number in receivers[:taken]:
            found.append(subs[number] | {
                "op": "MSG", "direction": "out", "subject": subject, "size": size, "time": time,
                "subscription": number, "queue": None,
            })  # fmt: skip
    return found


def name_of(who: Event) -> tuple[Any, ...]:
    return tuple(who.get(each) for each in ("user", "client"))


def same(found: Sums, kind: str, wanted: Sums) -> None:
    """Compare the sums of a kind; a rate may be a list, which is empty without a time."""

    def plain(values: tuple[Any, ...]) -> tuple[Any, ...]:
        return tuple((tuple(each) or None) if isinstance(each, list) else each for each in values)

    assert {key: plain(values) for key, values in found[kind].items()} == {
        key: plain(values) for key, values in wanted[kind].items()
    }


def rows_in(messages: list[Message], subs: list[Event]) -> dict[Any, list[Message]]:
    """Return the messages of each publisher to each subject; one that none takes is lost."""
    rows: dict[Any, list[Message]] = defaultdict(list)
    for who, subject, time, size, fate in messages:
        if fate == "taken" and not any(matches(each["subject"], subject) for each in subs):
            fate = "lost"
        rows[who, subject].append((who, subject, time, size, fate))
    return rows


@settings(max_examples=20)
@given(
    st.lists(MESSAGE, min_size=1, max_size=8), st.sets(st.sampled_from(ROUTES)),
    st.sets(st.sampled_from(sorted(RULES))), st.booleans(),
)  # fmt: skip
def test_edges_rules_and_values_of_messages(messages, routes, ruled, called) -> None:
    code = CODE if called else ()
    subs = [subscriber(20 + n, SUBSCRIBED + route, sid="1")
            for n, route in enumerate(ROUTES) if route in routes]  # fmt: skip
    subs += RECEIVERS.values()
    questions = Questions(rules={name: RULES[name] for name in ruled})
    bucket = bucket_of(events_of(subs, messages), questions, code)
    rules, wanted = bucket.asked.rules, Sums()
    for (number, subject), sent in rows_in(messages, subs).items():
        who, (kind, plane, port, source) = WHO[number], SUBJECTS[subject]
        identity, conn = who.get("identity"), who["conn"]
        standing, service = "unknown", source or identity or conn
        if source is not None and identity is not None:
            standing, service = "verified" if identity == source else "spoofed", identity
        tokens = subject.split(".")
        route = next((each for each in ROUTES if each in routes and kind == "request"
                      and matches(SUBSCRIBED + each, subject)), None)  # fmt: skip
        pattern = fold(subject) if route is None else ".".join([*tokens[:7], route])
        owner = who.get("user") if who.get("user") in ruled else identity
        matching = [n for n, rule in enumerate(rules) if rule.service == owner
                    and (rule.implied or matches(rule.pattern, subject))]  # fmt: skip
        decided = NO_RULES if owner not in ruled else min(matching, default=NO_RULE)
        allowed = (
            None
            if owner not in ruled
            else (decided != NO_RULE and rules[decided].effect == "allow")
        )
        call = min((n for n, each in enumerate(code) if matches(each.pattern, subject)),
                   default=None)  # fmt: skip
        program = "A", *name_of(who), who.get("identity_source")
        accepted = [each for each in sent if each[4] != "refused"]
        taken = [each for each in sent if each[4] == "taken"]
        times = [each[2] for each in accepted]
        refused = len(sent) - len(accepted)
        first_subject = subject if accepted else None
        wanted.add(
            "edge",
            (service, kind, plane, port, pattern, route, standing, identity, allowed, decided,
             call, *program),
            (len(accepted), refused, len(taken), sum(each[4] == "lost" for each in sent),
             frozenset(each[2] // DAY for each in taken), min(times, default=None),
             max(times, default=None), bars(times) or None, first_subject,
             (min(each[2] for each in sent), subject), first_subject),
        )  # fmt: skip
        if standing == "verified" and taken and allowed is not False and route is not None:
            for place, token in enumerate(route.split(".")):
                if token in ("*", ">"):
                    value = ".".join(tokens[7 + place :])
                    key = (pattern, place, "A", program[3] == "user")
                    wanted.add("value", key, (value, value))
        if owner not in ruled:
            continue
        for rule in matching or (None,):
            wanted.add(
                "match", (owner, rule, None, *program),
                (len(accepted), refused, len(sent) if rule == decided else 0,
                 frozenset(each[2] // DAY for each in sent), max(each[2] for each in sent)),
            )  # fmt: skip
    found = answer_sums(bucket)
    for kind in ("edge", "value", "match"):
        same(found, kind, wanted)
    of = Classified(bucket)
    assert [of.matched.of(row) for row in range(len(of.at))] == [
        [n for n, rule in enumerate(rules) if rule.service == owner
         and (rule.implied or matches(rule.pattern, text))]
        for owner, text in zip(of.owner.to_pylist(), of.texts.to_pylist(), strict=True)
    ]  # fmt: skip


@settings(max_examples=20)
@given(
    st.lists(MESSAGE, min_size=1, max_size=8), st.sets(st.sampled_from(sorted(RECEIVERS)))
)  # fmt: skip
def test_flows_of_messages_to_all_their_subscribers(messages, receivers) -> None:
    subs = [each for name, each in RECEIVERS.items() if name in receivers]
    wanted = Sums()
    for (number, subject), sent in rows_in(messages, subs).items():
        who = WHO[number]
        name = who.get("identity") or who["conn"]
        accepted = [each for each in sent if each[4] != "refused"]
        if not accepted:
            continue
        lost = [each for each in accepted if each[4] == "lost"]
        taken = [each for each in accepted if each[4] == "taken"]
        sent_on = [each for each in accepted if each[4] == "sent on"]
        size, times = sum(each[3] for each in accepted), [each[2] for each in accepted]
        of_lost = size * len(lost) // len(accepted)  # the size of each is not known
        span = (min(times), max(times))

        def add(
            to: tuple[Any, ...], values: tuple[Any, ...],
            front: tuple[Any, ...] = (name,), own: tuple[Any, ...] = ("A", *name_of(who)),
        ) -> None:  # fmt: skip
            pattern, subscriber, queue, *program = to
            key = (*front, fold(pattern), subscriber, queue, *own, *program)
            wanted.add("flow", key, values)

        kept = len(accepted) - len(lost)
        for sub in subs if taken else ():
            if matches(sub["subject"], subject):
                to = (sub["subject"], sub.get("identity") or sub["conn"], sub.get("queue"))
                add((*to, *name_of(sub)), (kept, len(taken), 0, size - of_lost, *span, None))
        if sent_on and not taken:
            add((subject, "other servers", None, None, None),
                (kept, kept, 0, size - of_lost, *span, None))  # fmt: skip
        if lost:
            when = [each[2] for each in lost]
            values = (len(lost), 0, len(lost), size if len(lost) == len(accepted) else of_lost,
                      min(when), max(when), tuple(bars(when)))  # fmt: skip
            add((subject, None, None, None, None), values)
    same(answer_sums(bucket_of(events_of(subs, messages))), "flow", wanted)


# --- deliveries without a publisher, and of streams

SUB = RECEIVERS["orders.*"]


def delivered(subject: str, **told: Any) -> Event:
    return SUB | {"op": "MSG", "direction": "out", "subject": subject, "size": 1, "time": 5,
                  "subscription": 0} | told  # fmt: skip


def flows(sums: Sums) -> dict[Any, Any]:
    return {(key[0], *key[2:4]): values for key, values in sums["flow"].items()}


def test_a_delivery_that_no_publish_explains() -> None:
    found = flows(answer_sums(bucket_of([SUB, *[delivered("orders.1")] * 3])))
    assert found == {("not in the log", "r.x", None): (3, 3, 0, 0, None, None, None)}
    # one that no line of the log subscribed
    assert not flows(answer_sums(bucket_of([SUB, delivered("orders.1", subscription=9)])))
    # what only others published explains nothing
    refused = WHO[0] | {"subject": "orders.1", "time": 1, "size": 1, "refused": "publish"}
    found = flows(answer_sums(bucket_of([SUB, refused, delivered("orders.1")])))
    assert found == {("not in the log", "r.x", None): (1, 1, 0, 0, None, None, None)}
    # the answer to a request is that of its receiver
    ask = WHO[0] | {"subject": "ask", "reply": "orders.1", "time": 1, "size": 1, "deliveries": 0,
                    "forwarded": 0}  # fmt: skip
    found = flows(answer_sums(bucket_of([SUB, ask, delivered("orders.1")])))
    assert ("not in the log", "r.x", None) not in found


@pytest.mark.parametrize("taken", [0, 1])
def test_a_question_to_services_is_a_flow_to_those_that_received_it_else_to_any(taken) -> None:
    ping = subscriber(11, "$SRV.PING", identity="r.x", sid="1")
    sent = WHO[0] | {"subject": "$SRV.PING", "time": 1, "size": 1, "deliveries": taken,
                     "forwarded": 0}  # fmt: skip
    received = ping | {"op": "MSG", "direction": "out", "size": 1, "time": 1, "subscription": 0}
    found = flows(answer_sums(bucket_of([ping, sent, *[received] * taken])))
    assert found == {("a.b", "r.x" if taken else "services", None): (1, 1, 0, 1, 1, 1, None)}


@pytest.mark.parametrize("weights", [(1, 1), (1, 3), (2, 1), (4, 4)])
def test_deliveries_are_divided_by_what_was_received_of_each(weights) -> None:
    events = [SUB]
    for who, count in zip(WHO[:2], weights, strict=True):
        told = {"subject": "orders.1", "time": 1, "size": 1, "deliveries": 1, "forwarded": 0}
        events += [who | told] * count
    found = flows(answer_sums(bucket_of([*events, *[delivered("orders.1")] * 2 * sum(weights)])))
    assert found == {
        (name, "r.x", None): (count, 2 * count, 0, count, 1, 1, None)
        for name, count in zip(("a.b", "1/client:2"), weights, strict=True)
    }


def test_a_message_of_a_consumer_comes_of_its_stream() -> None:
    """To the program; the second delivery of a message is counted as such."""
    replies = ("1.5.5.1.0", "1.6.6.1.0", "2.5.7.1.0")
    events = [delivered("orders.1", reply=f"$JS.ACK.S.c.{each}", time=5 + n)
              for n, each in enumerate(replies)]  # fmt: skip
    imported = [delivered("orders.1", reply="_R_.x.y", time=9)] * 2
    sums = answer_sums(bucket_of([SUB, *events, *imported]))
    to = (None, None, "ru", "rc")
    assert sums["consumer"] == {
        ("S", "c", None, "r.x", "A", "ru", "rc"): (3, 1, 0, 0, 0, 5, 7),
    }  # fmt: skip
    assert sums["flow"] == {
        ("stream S", "orders.*", "r.x", "consumer c", "A", *to): (3, 3, 0, 0, None, None, None),
        ("other accounts", "orders.*", "r.x", None, "A", *to): (2, 2, 0, 0, None, None, None),
    }


def message(subject: str, *, size: int = 3, forwarded: int = 0, time: int = 1) -> Event:
    return WHO[0] | {"subject": subject, "time": time, "size": size, "deliveries": 0,
                     "forwarded": forwarded}  # fmt: skip


OWN = ("A", "u", "c", None, None)


@pytest.mark.parametrize(("leaves", "share"), [(1, 2), (2, 1), (3, 0)])
def test_messages_to_leaf_nodes_are_divided_among_them(leaves, share) -> None:
    """None of them is to other servers besides, and only those that subscribed take part."""
    events = [client(50 + n, op="LS+", subject=text, identity=f"leaf {n}", conn=f"1/leaf:{n}")
              for n, text in enumerate([*["orders.*"] * leaves, "other"])]  # fmt: skip
    sent = [message("orders.1", forwarded=1), message("orders.1", forwarded=1, time=9)]
    assert answer_sums(bucket_of([*events, *sent]))["flow"] == {
        ("a.b", "orders.*", f"leaf {n}", None, *OWN): (share, share, 0, 3 * share, 1, 9, None)
        for n in range(leaves)
    }


@pytest.mark.parametrize("after", [None, 0, 1, 2])
def test_a_stream_receives_until_it_is_deleted(after) -> None:
    """Messages after its end are lost; they are at the positions 0 to 2."""
    events = [message("orders.1", time=1 + n) for n in range(3)]
    stream = {"queue": "S", "subject": "orders.*", "last_position": -1}
    dropped = [] if after is None else [
        {"subject": "$JS.API.STREAM.DELETE.S", "position": 2 - after}
    ]  # fmt: skip
    found = answer_sums(bucket_of(events, stream=[stream], dropped=dropped))["flow"]
    lost, size = after or 0, 9
    of_stored = size * (3 - lost) // 3
    wanted = {("a.b", "orders.*", "stream S", None, *OWN): (
        3 - lost, 3 - lost, 0, of_stored, 1, 3, None,
    )}  # fmt: skip
    if lost:
        key = ("a.b", "orders.*", None, None, *OWN)
        wanted[key] = (lost, 0, lost, size - of_stored, 3, 3, None)
    assert found == wanted


def test_an_acknowledgement_is_one_of_the_consumer() -> None:
    told = [message("$JS.ACK.S.c.1.5.5.1.0"), message("$JS.ACK.S.c.1.6.6.1.0")]
    sums = answer_sums(bucket_of(told))
    assert sums["consumer"] == {
        ("S", "c", None, "a.b", "A", "u", "c"): (0, 0, 2, 0, 0, None, None),
    }  # fmt: skip
    assert {key[2:4] for key in sums["flow"]} == {("stream S", "consumer c")}


def test_rows_that_are_listed_are_sums_of_their_own() -> None:
    who = {"identity": "r", "user": "u", "client": "c", "conn": "k", "identity_source": "user"}
    some = {"conn": "k", "count": 1}
    sums = answer_sums(bucket_of(
        [],
        ack=[who | {"queue": "S.c", "subject": "+WPI", "count": 2},
             who | {"queue": "S.c", "subject": "-NAK", "count": 3},
             some | {"queue": "S.d", "subject": "+TERM"}],
        error=[who | {"sid": "publish", "subject": "S", "count": 2},
               some | {"sid": "publish", "subject": "S"}, some | {"sid": "publish"},
               some | {"sid": "create", "subject": "S"}],
        refused=[who | {"reason": "subscribe", "subject": "x", "queue": "q", "day": 3,
                        "count": 2},
                 who | {"reason": "publish", "subject": "x", "count": 1}],
    ))  # fmt: skip
    assert sums["consumer"] == {
        ("S", "c", None, "r", "A", "u", "c"): (0, 0, 0, 3, 2, None, None),
        ("S", "d", None, "k", "A", None, None): (0, 0, 0, 1, 0, None, None),
    }
    assert sums["unstored"] == {
        ("r", None, "stream S", None, "A", "u", "c", None, None): (2,),
        ("k", None, "stream S", None, "A", None, None, None, None): (1,),
    }
    assert sums["refusal"] == {("r", "x", "q", 3, None, "A", "u", "c", "user"): (2, None)}
    assert not sums["flow"]


# --- latency

REQUESTS = st.lists(st.tuples(TIMES, st.sampled_from(["r.1", "r.2"]), st.integers(0, 2)),
                    min_size=1, max_size=4)  # fmt: skip
ANSWERS = st.lists(st.tuples(TIMES, st.sampled_from(["r.1", "r.2", "r.3"]), st.integers(0, 2)),
                   max_size=5)  # fmt: skip


def kept(took: int) -> int:
    return took if took < 1000 else int(str(took)[:3].ljust(len(str(took)), "0"))


@settings(max_examples=20)
@given(REQUESTS, ANSWERS, ANSWERS)
def test_the_latency_of_requests(requests, answers, received) -> None:
    """To the first message of a day on the reply subject; else to the first delivery there."""
    inbox = subscriber(11, "r.*", sid="1", identity="r.x")
    events = [inbox]
    told = {"size": 1, "deliveries": 1, "forwarded": 0}
    for time, reply, who in requests:
        events.append(WHO[who] | told | {"subject": "ask.9", "reply": reply, "time": time})
    for time, subject, who in answers:
        events.append(WHO[who] | told | {"subject": subject, "time": time})
    for time, subject, _ in received:
        events.append(inbox | {"op": "MSG", "direction": "out", "subject": subject, "size": 1,
                               "time": time, "subscription": 0})  # fmt: skip
    wanted = Sums()
    name: Callable[[int], str] = lambda n: WHO[n].get("identity") or WHO[n]["conn"]  # noqa: E731
    for asked, reply, who in requests:
        days: dict[tuple[str, int], int] = {}
        for time, subject, by in answers:
            if subject == reply:
                key = name(by), time // DAY
                days[key] = min(days.get(key, time), time)
        took, responder = None, None
        if days:
            later = [(time, by) for (by, _), time in days.items() if time >= asked]
            if later:
                first, responder = min(later)
                took = kept(first - asked)
        else:
            seen = [time for time, subject, _ in received if subject == reply]
            if seen:
                took = kept(max(min(seen) - asked, 0))
                wanted.add("stored", (name(who), fold("ask.9"), "other accounts", None, "A",
                                      *name_of(WHO[who]), None, None), (1,))  # fmt: skip
        wanted.add("latency", ("nats", name(who), fold("ask.9"), responder, "A",
                               *name_of(WHO[who])), ({took: 1}, 0))  # fmt: skip
    found = answer_sums(bucket_of(events))
    assert dict(found["latency"]) == dict(wanted["latency"])
    assert dict(found["stored"]) == dict(wanted["stored"])


@pytest.mark.parametrize("times", [(7, 9), (9, 7)])
def test_the_first_of_several_deliveries_answers_a_request(times) -> None:
    inboxes = [subscriber(11 + n, "r.*", sid="1") for n in range(2)]
    told = {"size": 1, "deliveries": 1, "forwarded": 0}
    asked = WHO[0] | told | {"subject": "ask.9", "reply": "r.1", "time": 5}
    answers = [each | {"op": "MSG", "direction": "out", "subject": "r.1", "size": 1, "time": time,
                       "subscription": n}
               for n, (each, time) in enumerate(zip(inboxes, times, strict=True))]  # fmt: skip
    found = answer_sums(bucket_of([*inboxes, asked, *answers]))
    assert [value for value, _ in found["latency"].values()] == [{2: 1}]


def test_a_pull_request_waits_for_messages_and_has_no_latency() -> None:
    told = {"size": 1, "deliveries": 1, "forwarded": 0, "reply": "r.1", "time": 5}
    asked = ("ask.9", "$JS.API.CONSUMER.MSG.NEXT.S.c", "$JS.API.CONSUMER.INFO.S.c")
    found = answer_sums(bucket_of([WHO[0] | told | {"subject": each} for each in asked]))
    subjects = {key[2] for key in dict(found["latency"])}
    assert subjects == {fold("ask.9"), "$JS.API.CONSUMER.INFO.S.c"}
