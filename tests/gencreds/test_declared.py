"""Calls declared in pyproject.toml; every invalid entry is refused by name."""

from __future__ import annotations

import pytest
from source_trees import HEAD, said

from subtrie import PermissionsError, SubtrieError
from subtrie.gencreds import rules, scan
from subtrie.gencreds._declared import MAX_DOTS, MAX_PROJECT_BYTES

ENTRY = "[[tool.subtrie.gencreds.calls]]\n"


def _scanned(tree, toml, text=""):
    return scan(tree({"pyproject.toml": toml, "service.py": HEAD + text}))


@pytest.mark.requirement("A29")
def test_calls_endpoints_and_raw_subjects(tree):
    (service,) = _scanned(tree, "[project]\nname = 'x'\n\n"
        + ENTRY + 'method = "get"\nurl = "https://stock.shop/items/{id}"\n\n'
        + ENTRY + 'service = "orders.shop"\nmethod = "POST"\nroute = "//hooks.shop/paid"\n\n'
        + ENTRY + 'publish = "legacy.orders.*"\n\n'
        + ENTRY + 'subscribe = "legacy.stock.> workers"\n')  # fmt: skip
    assert said(service.calls) == ["GET stock.shop:443/items/{id}"]
    assert said(service.endpoints) == ["POST hooks.shop:443/paid"]
    assert (service.calls[0].line, service.calls[0].file.endswith("pyproject.toml")) == (4, True)
    assert [(each.verb, each.line) for each in service.raw] == [("publish", 13), ("subscribe", 16)]
    found = rules(service, "p")
    assert "p.safe.443.orders_shop.stock_shop.*.GET.items.*" in found.publish_allow
    assert "p.safe.443.*.hooks_shop.*.POST.paid" in found.subscribe_allow
    assert "legacy.orders.*" in found.publish_allow
    assert "legacy.stock.> workers" in found.subscribe_allow
    assert found.sources["publish_allow", "legacy.orders.*"][1] == 13


def test_an_entry_replaces_the_unresolved_calls_of_a_place(tree):
    text = (
        'def f(u): orders.request("GET", u)\nclass A:\n    def g(self, u):\n'
        '        orders.request("PUT", u)\n'
    )
    entry = ENTRY + 'method = "GET"\nurl = "https://stock.shop/x"\n'
    (service,) = _scanned(tree, entry, text)
    assert [each.line for each in service.dynamic] == [3, 6]
    (service,) = _scanned(tree, entry + 'in = "service.py:f"\n', text)
    assert [each.line for each in service.dynamic] == [6]
    assert service.dynamic[0].inside == "A.g"
    (service,) = _scanned(tree, entry + 'in = "service.py:A"\n', text)
    assert [each.line for each in service.dynamic] == [3]
    (service,) = _scanned(tree, entry + 'in = "service.py:A.g"\n', text)
    assert [each.line for each in service.dynamic] == [3]
    for other in ("A.gg", "service.py:g", "service.py:A.", "other.py"):
        other = other if ".py" in other else f"service.py:{other}"
        (service,) = _scanned(tree, f'{entry}in = "{other}"\n', text.replace("def f(", "def fg("))
        assert [each.line for each in service.dynamic] == [3, 6]
    (service,) = _scanned(tree, entry + 'in = "service.py:f"\n', text.replace("def f(", "def fg("))
    assert [each.line for each in service.dynamic] == [3, 6]
    (service,) = _scanned(tree, entry + 'in = "service.py"\n', text)
    assert not service.dynamic
    assert rules(service, "p")


def test_entries_of_services_outside_the_folder_are_ignored(tree):
    toml = ENTRY + 'service = "users.shop"\nmethod = "GET"\nurl = "https://a.shop/x"\n'
    folder = tree({"pyproject.toml": toml, "orders/service.py": HEAD})
    (service,) = scan(folder / "orders")
    assert not service.calls
    with pytest.raises(SubtrieError) as caught:
        scan(folder)
    assert (caught.value.reason, caught.value.line) == ("declared-service", 1)


WRONG = {
    "no TOML": ("[[tool.subtrie\n", "source-syntax"),
    "an unknown table": ("[tool.subtrie.gencreds.cals]\n", "declared-key"),
    "no list": ("[tool.subtrie.gencreds]\ncalls = 3\n", "declared-key"),
    "an unknown key": (ENTRY + 'metod = "GET"\nurl = "https://a.shop/x"\n', "declared-key"),
    "no text": (ENTRY + 'method = 3\nurl = "https://a.shop/x"\n', "declared-key"),
    "no method": (ENTRY + 'url = "https://a.shop/x"\n', "declared-call"),
    "nothing": (ENTRY + 'service = "orders.shop"\n', "declared-call"),
    "two things": (ENTRY + 'publish = "a"\nsubscribe = "b"\n', "declared-call"),
    "a method of a raw one": (ENTRY + 'publish = "a"\nmethod = "GET"\n', "declared-call"),
    "a bad method": (ENTRY + 'method = "FETCH"\nurl = "https://a.shop/x"\n', "method"),
    "ANY": (ENTRY + 'method = "ANY"\nurl = "https://a.shop/x"\n', "method-any"),
    "a bad URL": (ENTRY + 'method = "GET"\nurl = "/x"\n', "url-host"),
    "a bad route": (ENTRY + 'method = "GET"\nroute = "//x.all/x"\n', None),
    "a bad host": (ENTRY + 'service = "A B"\npublish = "a"\n', None),
    "a bad pattern": (ENTRY + 'publish = "a..b"\n', None),
    "every plane": (ENTRY + 'publish = "*.safe.>"\n', "declared-plane"),
    "everything": (ENTRY + 'subscribe = ">"\n', "declared-plane"),
    "in a plane": (ENTRY + 'publish = "p.safe.443.web.x._.GET.y"\n', "declared-plane"),
    "perhaps in a plane": (ENTRY + 'publish = "p.*.x"\n', "declared-plane"),
    "a reply": (ENTRY + 'publish = "p.reply._.web.x.id-1"\n', "declared-plane"),
    "a queue of a publish": (ENTRY + 'publish = "a workers"\n', "whitespace"),
    "the trust root": (ENTRY + 'subscribe = "p.danger.> q"\n', "declared-plane"),
}  # fmt: skip


def test_a_queue_group_covers_no_pattern_and_is_covered_by_none(tree):
    patterns = ["x.a.>", "x.a.y workers", "z.a.> workers", "z.a.y"]
    toml = "".join(f'{ENTRY}subscribe = "{each}"\n' for each in patterns)
    (service,) = _scanned(tree, toml)
    assert set(patterns) < set(rules(service, "p").subscribe_allow)


@pytest.mark.parametrize(
    ("toml", "named"),
    [
        ("[tool.subtrie]\ngencreds = 3\n", "tool.subtrie.gencreds"),
        ("[tool]\nsubtrie = [1]\n", None),
        ("[tool.subtrie.gencreds]\nmore = 1\nabout = 1\n", "about"),
    ],
)
def test_what_is_not_a_table_of_calls_is_named(tree, toml, named):
    if named is None:
        assert _scanned(tree, toml)
        return
    with pytest.raises(SubtrieError, match=named) as caught:
        _scanned(tree, toml)
    assert caught.value.reason == "declared-key"


@pytest.mark.requirement("S0-125")
@pytest.mark.parametrize("what", WRONG)
def test_an_invalid_entry_is_refused_with_its_line(tree, what):
    toml, reason = WRONG[what]
    with pytest.raises(SubtrieError) as caught:
        _scanned(tree, toml)
    assert reason is None or caught.value.reason == reason
    assert caught.value.file.endswith("pyproject.toml")
    assert str(caught.value).count("\n") == 0


def test_service_may_be_omitted_if_there_is_one(tree):
    two = 'Connector("users.shop")\n'
    with pytest.raises(SubtrieError) as caught:
        _scanned(tree, ENTRY + 'publish = "a"\n', two)
    assert caught.value.reason == "several-services"


def test_a_large_project_file_is_refused_before_it_is_parsed(tree):
    text = ENTRY + 'publish = "a"\n'
    folder = tree({"pyproject.toml": text + "#" * MAX_PROJECT_BYTES, "service.py": HEAD})
    with pytest.raises(PermissionsError) as caught:
        scan(folder)
    assert caught.value.reason == "project-size"
    assert "64 KiB" in str(caught.value)


def test_a_project_file_has_so_many_bytes_and_dots(tree):
    text = ENTRY + 'publish = "a"\n#'
    for bytes_, dots, reason in (
        (MAX_PROJECT_BYTES, 0, None), (MAX_PROJECT_BYTES + 1, 0, "project-size"),
        (len(text), MAX_DOTS, None), (len(text), MAX_DOTS + 1, "source-syntax"),
    ):  # fmt: skip
        toml = text + "#" * (bytes_ - len(text)) + "." * dots
        if reason is None:
            assert [each.pattern for each in _scanned(tree, toml)[0].raw] == ["a"]
        else:
            with pytest.raises(PermissionsError) as caught:
                _scanned(tree, toml)
            assert caught.value.reason == reason


def test_a_key_of_many_parts_is_refused_before_it_is_parsed(tree):
    key = ".".join("a" * 30_000)
    folder = tree({"pyproject.toml": f"x = 1\n{key} = 1\n", "service.py": HEAD})
    with pytest.raises(PermissionsError, match="dots") as caught:
        scan(folder)
    assert caught.value.line == 2
