"""Templates of scoped signing keys: filled with names and tags, as a live broker fills them."""

from __future__ import annotations

import pytest
from click.testing import CliRunner
from operators import Operator, connecting
from raw_client import RawClient

from servers import serving
from subtrie._cli.app import app
from subtrie.acl import Permissions
from subtrie.acl._load.templates import MAX_ENTRIES

SUBJECTS = [
    "svc.scoped.x", "scoped.x", "red.x", "blue.x", "red.eu.x", "blue.us.x", "acc.x", "plain.x",
    "q", "other.x", "ACC.x", "north.x", "RED.x", "RED.eu.x", "north.eu.x",
    "svc.{{name()}}.x", "svc.{{name(.x",
]  # fmt: skip
USER = {"tags": ["team:red", "team:blue", "region:eu", "bad:a b", "Site:RED", "site:north"]}

#: Templates: the lists, and whether the broker admits the user at all.
TEMPLATES = {
    "name": {"pub": {"allow": ["svc.{{name()}}.>"]}},
    "blanks": {"pub": {"allow": ["{{ NAME() }}.>"]}},
    "several-values": {"pub": {"allow": ["{{tag(team)}}.x"]}},
    "product": {"pub": {"allow": ["{{tag(team)}}.{{tag(region)}}.>", "plain.>"]}},
    # Bug: a tag with capitals before its colon was taken for one without.
    "tag-in-capitals": {"pub": {"allow": ["{{tag(site)}}.x", "{{tag(SITE)}}.eu.x"]}},
    "account-name": {"pub": {"allow": ["{{account-name()}}.x"]}},
    "account-tag": {"pub": {"allow": ["{{account-tag(zone)}}.x"]}},
    "missing-tag": {"pub": {"allow": ["{{tag(none)}}.x", "plain.x"]}},
    "nothing-remains": {"pub": {"allow": ["{{tag(none)}}.x"]}},
    "deny": {"pub": {"deny": ["{{tag(team)}}.>"]}},
    "deny-missing": {"pub": {"deny": ["{{tag(none)}}.>"]}},
    "deny-invalid": {"pub": {"deny": ["{{tag(bad)}}.>"]}},
    "allow-invalid": {"pub": {"allow": ["{{tag(bad)}}.>", "plain.x"]}},
    "undefined": {"pub": {"allow": ["{{group()}}.x", "plain.x"]}},
    "subscribe": {"sub": {"allow": ["{{name()}}.x", "plain.x"]}, "pub": {"allow": ["q"]}},
    "queue-beside": {"sub": {"allow": ["{{name()}}.x", "q workers"]}},
    "queue-in-deny": {"sub": {"deny": ["{{name()}}.x", "q workers"]}},
    "other-list": {"sub": {"allow": ["{{name()}}.x"]}, "pub": {"allow": ["plain.x"]}},
    "not-closed": {"pub": {"allow": ["svc.{{name(.>", "plain.x"]}},
    "subject": {"pub": {"allow": ["{{subject()}}.x", "{{account-subject()}}.x", "q"]}},
}


@pytest.mark.parametrize("name", TEMPLATES)
def test_a_template_is_filled_as_the_broker_does(name, tmp_path):
    account = {"template": TEMPLATES[name], "tags": ["zone:north"]}
    operator = Operator(account, {"name": "acc"})
    jwt, seed = operator.user(USER, scoped=True, claims={"name": "scoped"})
    path = tmp_path / "user.jwt"
    path.write_text(jwt)
    rules = Permissions.load(path, account_jwt=operator.account_jwt)
    with serving(tmp_path / "live", operator.config) as url:
        try:
            client = RawClient(url, **connecting(jwt, seed))
        except ConnectionError:
            assert not rules.determined, rules
            assert (
                "which the broker refuses" in rules.decided_by or "refuses it" in rules.decided_by
            )
            return
        assert rules.determined
        for subject in SUBJECTS:
            client.publish(subject)
            client.flush()
            assert rules.can_publish(subject, model="broker").allowed is (not client.refused), (
                subject
            )
            client.subscribe(subject, "1")
            client.flush()
            may = rules.can_subscribe(subject, model="broker")
            assert may.allowed is (not client.refused), subject
            client.unsubscribe("1")
        client.close()


def test_a_template_among_the_defaults_of_an_account_stands_for_itself(tmp_path):
    operator = Operator({"default_permissions": {"pub": {"allow": ["svc.{{name()}}.>", "q"]}}})
    jwt, seed = operator.user({}, claims={"name": "scoped"})
    (tmp_path / "user.jwt").write_text(jwt)
    rules = Permissions.load(tmp_path / "user.jwt", account_jwt=operator.account_jwt)
    with serving(tmp_path / "live", operator.config) as url:
        client = RawClient(url, **connecting(jwt, seed))
        for subject in SUBJECTS:
            client.publish(subject)
            client.flush()
            assert rules.can_publish(subject, model="broker").allowed is (not client.refused)
        client.close()
    assert rules.can_publish("svc.{{name()}}.x")
    assert not rules.can_publish("svc.scoped.x")


def test_the_account_jwt_was_asked_for_though_it_was_given(tmp_path):
    operator = Operator({"template": {"pub": {"allow": ["svc.{{name()}}.>"]}}})
    jwt, _ = operator.user({}, scoped=True, claims={"name": "scoped"})
    for file, text in (("user.jwt", jwt), ("account.jwt", operator.account_jwt)):
        (tmp_path / file).write_text(text)
    words = ["why", "svc.scoped.x", str(tmp_path / "user.jwt")]
    done = CliRunner().invoke(app, [*words, "--account-jwt", str(tmp_path / "account.jwt")])
    assert (done.exit_code, done.output) == (
        0, "✓ svc.scoped.x  the allow entry svc.scoped.> matches\n",
    )  # fmt: skip
    # The same from the folder that nsc keeps.
    who = CliRunner().invoke(app, ["acl", "who", "svc.scoped.x", str(tmp_path)])
    assert "/scoped  svc.scoped.>" in who.output


@pytest.mark.parametrize("count", [MAX_ENTRIES, MAX_ENTRIES + 1])
def test_so_many_entries_of_a_template_are_admitted(count, tmp_path):
    """The bound is the broker's: one entry more, and it refuses the login."""
    tags = [f"n:{number}" for number in range(count)]
    operator = Operator({"template": {"pub": {"allow": ["{{tag(n)}}.x"]}}})
    jwt, seed = operator.user({"tags": tags}, scoped=True, claims={"name": "scoped"})
    path = tmp_path / "user.jwt"
    path.write_text(jwt)
    rules = Permissions.load(path, account_jwt=operator.account_jwt)
    assert rules.determined is (count == MAX_ENTRIES)
    config = f"max_control_line: 1MB\n{operator.config}"
    with serving(tmp_path / "live", config) as url:
        if rules.determined:
            RawClient(url, **connecting(jwt, seed)).close()
        else:
            with pytest.raises(ConnectionError):
                RawClient(url, **connecting(jwt, seed))
