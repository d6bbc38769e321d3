"""The commands of ``nsc`` that change a user, against a model of what nsc does with them."""

from __future__ import annotations

import csv
import shlex

import pytest

from subtrie._cli.nsc import edit_user
from subtrie.acl import Permissions

LISTS = {"--allow-pub": "publish_allow", "--deny-pub": "publish_deny",
         "--allow-sub": "subscribe_allow", "--deny-sub": "subscribe_deny"}  # fmt: skip


def of_token(permissions):
    """Return the lists of a user's JWT, in which an empty allow list is none."""
    found = {flag: list(getattr(permissions, name) or ()) for flag, name in LISTS.items()}
    for allow, deny in (("--allow-pub", "--deny-pub"), ("--allow-sub", "--deny-sub")):
        if getattr(permissions, LISTS[allow]) == ():
            found[deny] = [">"]  # which excludes the other entries
    return found


def as_nsc_does(commands, lists, name, account):
    """Run commands on the lists of a user: ``--rm`` removes an entry from all of them."""
    lists = {flag: list(entries) for flag, entries in lists.items()}
    own = ["--account", account] if account else []
    for line in commands.replace("\\\n", " ").splitlines():
        words = shlex.split(line)
        head = ["nsc", "edit", "user", *own, "--name", name]
        assert words[: len(head)] == head
        more = words[len(head) :]
        for option, value in zip(more[::2], more[1::2], strict=True):
            for entry in next(csv.reader([value])):
                if option == "--rm":
                    lists = {flag: [e for e in some if e != entry] for flag, some in lists.items()}
                else:
                    lists[option].append(entry)
    return lists


ODD = ("a,b", 'c"d', 'e"f,g', "$x.'y'", "q.* group")
#: The lists before and after.
CASES = {
    "added": ({}, {"publish_allow": ["a"], "subscribe_deny": ["b"]}),
    "removed": ({"publish_allow": ["a", "b"], "publish_deny": ["c"]}, {"publish_allow": ["a"]}),
    "moved": ({"publish_allow": ["a", "b"]}, {"publish_allow": ["b"], "publish_deny": ["a"]}),
    "removed here, kept there": ({"publish_allow": ["a", "x"], "subscribe_allow": ["a"]},
                                 {"publish_allow": ["x"], "subscribe_allow": ["a"]}),
    "kept in three": ({name: ["a", "b"] for name in LISTS.values()},
                      {**{name: ["a", "b"] for name in LISTS.values()}, "publish_deny": ["b"]}),
    "nothing at all": ({"publish_allow": ["a"]}, {"publish_allow": [], "publish_deny": ["a"]}),
    "nothing before": ({"subscribe_allow": [], "subscribe_deny": []}, {"subscribe_allow": ["a"]}),
    "everything": ({"publish_allow": ["a"], "subscribe_allow": ["b"]}, {}),
    "odd entries": ({"publish_allow": ODD[:4]}, {"publish_allow": ODD[:1], "subscribe_allow": ODD}),
    "odd entries are removed": ({"subscribe_allow": ODD}, {"subscribe_allow": ODD[4:]}),
}  # fmt: skip


@pytest.mark.parametrize("account", ["", "AN ACCOUNT"])
@pytest.mark.parametrize("case", CASES)
def test_the_commands_make_the_lists_what_they_should_be(case, account):
    before, after = (Permissions(**each) for each in CASES[case])
    commands = edit_user("a user", account, before, after)
    made = as_nsc_does(commands, of_token(before), "a user", account)
    assert {flag: sorted(some) for flag, some in made.items()} == {
        flag: sorted(some) for flag, some in of_token(after).items()
    }
    assert commands.count("nsc edit user") <= 2
    assert edit_user("a user", account, after, after) == ""


def test_each_option_is_on_a_line_of_its_own():
    before, after = Permissions(publish_allow=["a"]), Permissions(publish_allow=["b", "c"])
    assert edit_user("u", "", before, after) == (
        "nsc edit user --name u \\\n  --rm a\n"
        "nsc edit user --name u \\\n  --allow-pub b \\\n  --allow-pub c\n"
    )
