"""The functions in destinations of mappings, compared with a live broker."""

from __future__ import annotations

import itertools
import os

import pytest
from raw_client import RawClient

from servers import loads, serving
from subtrie.acl import Deployment, Permissions
from subtrie.acl._mapped import may_publish
from subtrie.acl._subject_transform import MAX_OUTCOMES, SubjectTransform

CUTS = ("splitFromLeft", "splitFromRight", "sliceFromLeft", "sliceFromRight", "left", "right")
SIZES = (-1, 0, 1, 2, 3, 4, 5, 6)
TOKENS = ("a", "ab", "abcde", "abcdef", "-", "--", "-a", "a-", "a--b", "--a--b-", "a-b-c")
#: Destinations of mappings of ``<source>.*.*``.
DESTINATIONS = (
    *(f"{{{{{name}(1,{size})}}}}.$2" for name, size in itertools.product(CUTS, SIZES)),
    *(f"{{{{split({index},{text})}}}}.x" for index in (1, 2) for text in ("-", "--", "b", "")),
    *(f"x.{{{{partition({count},{of})}}}}" for count in (0, 1, 7, -3) for of in ("1", "2,1", "0")),
    *("{{wildcard(2)}}.{{wildcard(1)}}", "$0.$1", "$2", "{{ Wildcard( 1 ) }}", "x-$1", "$1.lit"),
    *("{{partition(5)}}", "{{random(1)}}.$1", "{{random(0)}}", "$1.{{left(2, 2)}}"),
)
#: Sources and destinations that the broker may refuse.
REFUSED = (
    *(("a.*", f"{{{{{call}}}}}") for call in ("left(1)", "left(1,2,3)", "wildcard(2)", "nothing(1)",
      "wildcard()", "split(1,.)", "split(1, )", "partition(a,1)", "random()", "random(a)",
      "left(1,a)", "partition(3,2)", "partition(3,1,2)", "wildcard(1,2)", "random(1,2)",
      "left(1\t,2)", "partition(3,\t1)", "random( 1 )")),
    *(("a.*", target) for target in ("$2", "$1", "b.*", "b.>", "b..c", "b.$1.>", "x y", "{{}}",
      "{{left(1,2)}}x", "$a", "$-1", "$+1", "$1$1")),
    *(("a.>", target) for target in ("b.>", "b", ">", ">.b", "$1.>")),
    *(("a.b", target) for target in ("$1", "{{partition(3)}}", "{{partition(3,1)}}", "c",
      "{{wildcard(0)}}", "{{left(0,1)}}", "{{partition(3,0)}}")),
    *(("*.a.*", target) for target in ("$2.$1", "$3", "{{partition(3,1,2)}}", "$2")),
)  # fmt: skip


def outcomes(source, target, subject):
    return SubjectTransform(source, target).outcomes(subject)


def test_each_function_gives_what_the_broker_sends(tmp_path):
    transforms = {f"s{number}": each for number, each in enumerate(DESTINATIONS)}
    rules = "".join(f'"{name}.*.*": "d.{each}"\n' for name, each in transforms.items())
    subjects = [f"{one}.{two}" for one, two in itertools.product(TOKENS, TOKENS)]
    lost = 0
    with serving(tmp_path, f"mappings {{\n{rules}}}\n") as url:
        client = RawClient(url)
        client.subscribe(">", "1")
        for name, target in transforms.items():
            for subject in subjects:
                client.publish(f"{name}.{subject}")
            client.flush()
            sent = iter([each[1] for each in client.messages])
            for subject in subjects:
                found = outcomes(f"{name}.*.*", f"d.{target}", f"{name}.{subject}")
                assert found is not None, (target, subject)
                if found == (None,):
                    lost += 1
                else:
                    assert next(sent, None) in found, (target, subject)
                    assert len(found) == 1 or "partition(5)" in target, (target, subject)
            assert next(sent, None) is None, target
    assert lost


@pytest.mark.parametrize(("source", "target"), REFUSED)
def test_a_destination_is_refused_where_the_broker_refuses_it(source, target, tmp_path):
    path = tmp_path / "nats.conf"
    path.write_text(f'mappings {{ "{source}": "{target}" }}\n')
    try:
        SubjectTransform(source, target)
        accepted = True
    except ValueError:
        accepted = False
    assert accepted == loads(path, dict(os.environ))


def test_what_a_partition_hashes_of_a_fixed_subject_is_not_decided(tmp_path):
    transform = SubjectTransform("a.b", "p.{{partition(7)}}")
    assert transform.guessed
    found = transform.outcomes("a.b")
    assert len(found or ()) == 2
    with serving(tmp_path, 'mappings { "a.b": "p.{{partition(7)}}" }\n') as url:
        client = RawClient(url)
        client.subscribe(">", "1")
        client.publish("a.b")
        client.flush()
    assert client.messages[0][1] in (found or ())
    assert not SubjectTransform("a.*", "p.{{partition(7)}}").guessed


@pytest.mark.parametrize("target", ["r.{{random(%d)}}", "r.{{random(-%d)}}"])
def test_so_many_results_of_chance_are_listed(target):
    found = outcomes("a.*", target % MAX_OUTCOMES, "a.b")
    assert found == tuple(f"r.{each}" for each in range(MAX_OUTCOMES))
    assert outcomes("a.*", target % (MAX_OUTCOMES + 1), "a.b") is None


def test_results_of_two_functions_are_counted_together():
    two = "{{random(16)}}.{{random(16)}}"
    assert len(outcomes("a.*", two, "a.b") or ()) == 256
    assert outcomes("a.*", "{{random(2)}}." + two, "a.b") is None


def test_a_cut_inside_a_character_is_not_taken_for_a_lost_message(tmp_path):
    """Bug: the broker delivers such bytes, and no receiver was found for it."""
    target = "d.{{splitFromLeft(1,1)}}"
    assert outcomes("s.*", target, "s.\u00e9") is None
    assert outcomes("s.*", target, "s.a\u00e9") == ("d.a.\u00e9",)
    with serving(tmp_path, f'mappings {{ "s.*": "{target}" }}\n') as url:
        client = RawClient(url)
        client.subscribe(">", "1")
        client.publish("s.\u00e9")
        with pytest.raises(UnicodeDecodeError):
            client.flush()


def test_a_destination_of_no_weight_is_never_chosen(tmp_path):
    rows = "[ { destination: a, weight: 0 }, { destination: b, weight: 100 } ]"
    path = tmp_path / "nats.conf"
    path.write_text(f"mappings {{ x: {rows} }}\n")
    assert Deployment.load(path).accounts["$G"].mapped("x", "") == ("b",)
    with serving(tmp_path / "server", path.read_text()) as url:
        client = RawClient(url)
        client.subscribe(">", "1")
        for _ in range(50):
            client.publish("x")
        client.flush()
    assert {subject for _, subject, _ in client.messages} == {"b"}


@pytest.mark.parametrize(
    ("rules", "allowed"),
    [('publish: ">"', False), ("publish: a", False), ('publish: { deny: ">" }', True),
     ("subscribe: x", True)],
)  # fmt: skip
def test_a_message_that_a_mapping_loses_meets_an_allow_list_alone(tmp_path, rules, allowed):
    """The rest of its subject matches no entry, not even ``>``."""
    path = tmp_path / "nats.conf"
    path.write_text(
        f"authorization {{ users: [ {{ user: u, password: p, permissions: {{ {rules} }} }} ] }}\n"
        "mappings { a: [ { destination: a, weight: 0% } ] }\n"
    )
    deployment = Deployment.load(path)
    (user,) = deployment.users.values()
    found = may_publish(user, deployment.accounts["$G"], "", "a")
    assert (found.allowed, found.determined) == (allowed, True)
    assert found.explanation.startswith("lost by a mapping: ")
    with serving(tmp_path / "server", path.read_text()) as url:
        client = RawClient(url, user="u", **{"pass": "p"})
        client.publish("a")
        client.flush()
        refused = len(client.refused)
        client.close()
    assert refused == (not allowed)


def test_a_message_that_a_mapping_loses_at_times_is_not_decided(tmp_path):
    path = tmp_path / "nats.conf"
    path.write_text("mappings { a: [ { destination: a, weight: 50% } ] }\n")
    account = Deployment.load(path).accounts["$G"]
    several = may_publish(Permissions(publish_allow=[">"]), account, "", "a")
    assert not several.determined
    assert "lost by a mapping: no allow entry" in several.explanation
    assert may_publish(Permissions(publish_allow=None), account, "", "a").allowed
