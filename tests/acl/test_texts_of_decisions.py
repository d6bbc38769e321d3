"""The whole explanation of a decision, with values that all differ from one another."""

from __future__ import annotations

import pytest
from operators import Operator

from subtrie.acl import Permissions, ResponseLimit

#: Lists, a question with its arguments, and its answer in words by the broker.
BROKER = [
    ({"publish_allow": ["a.*"]}, "can_publish", ["$GR.a"], {},
     "the subject begins with the reserved prefix $GR."),
    ({"publish_allow": ["a.*"]}, "can_publish", ["a.b"], {"reply": "$JS.ACK.c"},
     "the reply subject begins with the reserved prefix $JS.ACK. (the model 'strict' allows it: "
     "the allow entry a.* matches)"),
    ({"publish_allow": ["a.*"], "publish_deny": ["a.b"]}, "can_publish", ["a.c"], {},
     "the allow entry a.* matches"),
    ({"publish_allow": ["a.*"], "publish_deny": ["*.b"]}, "can_publish", ["a.b"], {},
     "the deny entry *.b matches"),
    ({"publish_allow": ["a.b.x", "c"]}, "can_publish", ["a.b.d"], {},
     "no allow entry matches; the nearest, a.b.x, differs at token 2"),
    ({"subscribe_allow": ["a"]}, "can_subscribe", ["a"], {"queue": "_sys_"},
     "the queue _sys_ is reserved for the broker (the model 'strict' allows it: the allow entry a "
     "covers the pattern)"),
    ({"subscribe_allow": ["a.> one"]}, "can_subscribe", ["a.b"], {"queue": "two"},
     "entries such as a.> one restrict queue groups, and none allows two"),
    ({"subscribe_allow": ["a.>"], "subscribe_deny": ["a.* q"]}, "can_subscribe", ["a.b"],
     {"queue": "q"}, "the deny entry a.* q matches"),
    ({"subscribe_allow": ["a.*"]}, "can_subscribe", ["a.>"], {},
     "not determined: a.* matches token by token, but no allow entry covers a.x.x; deny a.*.> to "
     "make it certain"),
    ({"subscribe_allow": ["a.*"]}, "can_receive", ["a.c"], {"subscription": "a.b"},
     "the subscription a.b does not match the subject: it differs at token 1"),
    ({"subscribe_allow": ["a.>"], "subscribe_deny": ["*.c"]}, "can_receive", ["a.c"],
     {"subscription": "a.*"}, "the deny entry *.c filters the message at delivery"),
    ({"subscribe_allow": ["b.*"]}, "can_receive", ["a.c"], {"subscription": "a.*"},
     "the subscription is refused: no allow entry matches; the nearest, b.*, differs at token 0"),
]  # fmt: skip

#: The same by the strict model, which adds what the broker decides where it differs.
STRICT = [
    ({"subscribe_allow": ["a.*", "b.*"]}, "can_subscribe", ["b.c"], {},
     "the allow entry b.* covers the pattern"),
    ({"subscribe_allow": ["a", "c.*", "c.*.>"]}, "can_subscribe", ["c.>"], {},
     "the allow entries c.*, c.*.> together cover the pattern"),
    ({"subscribe_allow": ["a.>"], "subscribe_deny": ["*.b"]}, "can_subscribe", ["a.*"], {},
     "the deny entry *.b excludes a.b (the model 'broker' allows it: the allow entry a.> "
     "matches)"),
    ({"subscribe_allow": ["a.*"]}, "can_subscribe", ["a.>"], {},
     "no allow entry covers a.x.x; the nearest, a.*, differs at token 1 (by the model 'broker' not "
     "determined: a.* matches token by token, but no allow entry covers a.x.x; deny a.*.> to make "
     "it certain)"),
    ({"subscribe_allow": ["b.*"]}, "can_receive", ["a.c"], {"subscription": "a.*"},
     "the subscription is refused: no allow entry covers a.x; the nearest, b.*, differs at "
     "token 0"),
]  # fmt: skip


@pytest.mark.parametrize(("model", "lists", "verb", "asked", "more", "text"), [
    *(("broker", *row) for row in BROKER), *(("strict", *row) for row in STRICT),
])  # fmt: skip
def test_an_explanation_in_full(model, lists, verb, asked, more, text):
    answer = getattr(Permissions(**lists), verb)(*asked, **more, model=model)
    assert answer.explanation == text


def test_of_answers_that_are_used_up_and_late():
    seconds = [0.0]
    limit = ResponseLimit(max=2, expires=30)
    session = Permissions(publish_allow=["own"], allow_responses=limit).session(lambda: seconds[0])
    refused = (
        "no allow entry matches; the nearest, own, differs at token 0; it may be allowed as a "
        "reply, see session(); "
    )
    assert session.can_publish("inbox.1").explanation == (
        refused + "no message received has this reply subject"
    )
    session.received("a.b", "inbox.1")
    assert [session.can_publish("inbox.1").allowed for _ in range(2)] == [True, True]
    assert session.can_publish("inbox.1").explanation == refused + "its 2 answers are used up"
    session.received("a.b", "inbox.2")
    seconds[0] = 31.0
    assert session.can_publish("inbox.2").explanation == (
        refused + "the time to answer ended after 30 s"
    )


TAGS = {"tags": [f"n:{number}" for number in range(70)] + ["zone:north west"]}
#: Entries of a template that the broker refuses, and the reason.
TEMPLATES = {
    "a.{{tag(x)}}.b": "a.{{tag(x)}}.b has no value",
    "a.{{tag(n)}}.{{tag(n)}}": "a.{{tag(n)}}.{{tag(n)}} gives more than 4,096 entries",
    "a.{{tag(zone)}}": "a.{{tag(zone)}} gives a.north west, which is not a valid subject",
    "a.{{other()}}": "a.{{other()}}: other() is not defined",
}


@pytest.mark.parametrize("entry", TEMPLATES)
def test_of_a_template_that_the_broker_refuses(entry, tmp_path):
    operator = Operator({"template": {"pub": {"deny": [entry]}}})
    path = tmp_path / "user.jwt"
    path.write_text(operator.user(TAGS, scoped=True, claims={"name": "scoped"})[0])
    rules = Permissions.load(path, account_jwt=operator.account_jwt)
    assert rules.decided_by == (
        f"the template of its signing key, with which the broker refuses it: {TEMPLATES[entry]}"
    )
