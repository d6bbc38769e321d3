"""Constant evaluation of URLs, routes and methods, and the meaning of unknown parts."""

from __future__ import annotations

import ast

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from source_trees import HEAD, said

from subtrie import AddressError, Pattern, PermissionsError, microbus
from subtrie.gencreds import rule, rules, scan
from subtrie.gencreds._annotations import MAX_PARTS, Annotations
from subtrie.gencreds._partial_strings import (
    MAX_CHARACTERS,
    MAX_VALUES,
    UnknownPart,
    normalised,
)


def _of_values(count: int) -> str:
    """Return an expression that may have so many values."""
    return "".join(f'("h{n}" if x else ' for n in range(1, count)) + '"h0"' + ")" * (count - 1)


UNTOLD = {
    "a parameter": 'async def f(h): await orders.request("GET", f"https://{h}/x")',
    "the environment": (
        'import os\nH = os.environ.get("H", "a.shop")\n'
        'async def f(): await orders.request("GET", "https://" + H + "/x")'
    ),
    "os.environ[]": 'import os\norders.request("GET", os.environ["URL"])',
    "assigned twice": 'H = "a"\nH = "b"\norders.request("GET", f"https://{H}/x")',
    "assigned in two branches": (
        'if x:\n    H = "a"\nelse:\n    H = "b"\norders.request("GET", f"https://{H}/x")'
    ),
    "added to": 'U = "https://a.shop"\nU += "/x"\norders.request("GET", U)',
    "a method": 'def f(m): orders.request(m, "https://a.shop/x")',
    "a part of a method": 'def f(m): orders.request("P" + m, "https://a.shop/x")',
    "a scheme": 'def f(s): orders.request("GET", f"{s}://a.shop/x")',
    "behind the host": 'def f(p): orders.request("GET", f"https://a.shop{p}")',
    "a list that has a name": (
        'HOSTS = ["a", "b"]\nfor h in HOSTS: orders.request("GET", f"https://{h}/x")'
    ),
    "a loop over a dictionary that holds another": (
        'def f(o):\n    for h in {**o, "a.shop": 1}: orders.request("GET", f"https://{h}/x")'
    ),
    "the items of a dictionary that holds another": (
        'def f(o):\n    for h, _ in {**o, "a.shop": 1}.items():'
        ' orders.request("GET", f"https://{h}/x")'
    ),
    "a loop over a tuple that holds another": (
        'def f(o):\n    for h in (*o, "a.shop"): orders.request("GET", f"https://{h}/x")'
    ),
    "an inner loop with the same name": (
        'for h in ("a.shop",):\n    for h in ("b.shop",): pass\n'
        '    orders.request("GET", f"https://{h}/x")'
    ),
    "more iterations than are followed": (
        f"for a in {tuple(range(257))}: orders.request('GET', f'https://a{{a}}.shop/x')"
    ),
    "a name that a comprehension binds twice": (
        '[orders.request("GET", f"https://{h}/x") for h in ("a.shop",)'
        ' for h in ("b.shop", "c.shop")]'
    ),
    "a tuple of a class that is assigned from outside": (
        'class U: HOSTS = ("a.shop",)\nU.HOSTS = ("b.shop",)\n'
        'for h in U.HOSTS: orders.request("GET", f"https://{h}/x")'
    ),
    "a representation": 'H = "a.shop"\norders.request("GET", f"https://{H!r}/x")',
    "a number of too many digits": f'orders.request("GET", f"https://a{{0x{"f" * 5000}}}.shop/x")',
    "an argument of format behind a star": (
        'def f(*a): orders.request("GET", "https://{1}/x".format(*a, "a.shop"))'
    ),
    "more values than are followed": (
        f'orders.request("GET", "https://" + {_of_values(65)} + ".shop/x")'
    ),
    "an item of a pair": (
        'for p in (("GET", "a.shop"),): orders.request("GET", f"https://{p[1]}/x")'
    ),
    "more names than values": (
        '*_, g, h = ("a.shop",)\norders.request("GET", f"https://{g}/x")'
    ),
    "an item behind others that are not known": (
        'def f(o):\n    _, h = (*o, "a.shop", "b.shop")\n'
        '    orders.request("GET", f"https://{h}/x")'
    ),
    "what a star takes": 'm, *h = ("GET", "a.shop")\norders.request(m, f"https://{h}/x")',
    "a loop over a call": 'for h in hosts(): orders.request("GET", f"https://{h}/x")',
    "stars": 'def f(*a): orders.request(*a)',
    "double stars": 'def f(**a): orders.request("GET", **a)',
    "itself": 'U = f"https://{U}"\norders.request("GET", U)',
    "a format of its own": 'def f(n): orders.request("GET", f"https://{n:>5}.shop/x")',
    "a field of format that is not an index": 'orders.request("GET", "https://{\u00b2}/x".format("a"))',
    "percent": 'orders.request("GET", "https://%s/x" % "a.shop")',
    "an installed package": 'from corp import URL\norders.request("GET", URL)',
    "from another file's function": 'def f(): return "https://a.shop"\norders.request("GET", f())',
}  # fmt: skip


@pytest.mark.requirement("A29")
@pytest.mark.parametrize("what", UNTOLD)
def test_unknown_values_are_unresolved(only, what):
    service = only(UNTOLD[what])
    assert not service.calls
    (dynamic,) = service.dynamic
    assert dynamic.line == UNTOLD[what].count("\n") + 3
    assert dynamic.file.endswith("service.py")
    with pytest.raises(PermissionsError) as caught:
        rules(service, "p")
    assert caught.value.reason == "dynamic"
    allowed = rules(service, "p", allow_dynamic=True)
    (granted,) = set(allowed.publish_allow) - set(rules(only(""), "p").publish_allow)
    tokens = granted.split(".")
    assert tokens[:2] == ["p", "safe"]
    assert tokens[3] == "orders_shop"
    assert "*" in tokens


TOLD = {
    "a constant": ('U = "https://a.shop/x"\norders.request("GET", U)', ["GET a.shop:443/x"]),
    "a local one": ('def f():\n    u = "https://a.shop/x"\n    orders.request("GET", u)', [
        "GET a.shop:443/x"]),
    "a constant of a class": (
        'class Urls:\n    A = "https://a.shop/x"\norders.request("GET", Urls.A)',
        ["GET a.shop:443/x"]),
    "a sum": ('B = "https://a" + ".shop"\norders.request("GET", B + "/x" + "/y")', [
        "GET a.shop:443/x/y"]),
    "format": ('orders.request("GET", "https://{}:{p}/{0}".format("a.shop", p=81))', [
        "GET a.shop:81/a.shop"]) ,
    "format by names": ('orders.request("GET", "https://{h}:{p}/x".format(p=81, h="a.shop"))', [
        "GET a.shop:81/x"]),
    "a conditional": (
        'orders.request("GET" if x else "PUT", "https://a.shop/" + ("x" if y else "y"))',
        ["GET a.shop:443/x", "GET a.shop:443/y", "PUT a.shop:443/x", "PUT a.shop:443/y"]),
    "a comprehension over a name that it hides": (
        'hs = ("a.shop",)\nasync def f(): [await orders.request("GET", f"https://{h}/x")'
        ' for h in hs for hs in (("b.shop",),)]',
        ["GET a.shop:443/x"]),
    "an assignment within a comprehension": (
        'h = "b.shop"\nasync def f(): [await orders.request("GET", f"https://{u}/x")'
        ' for h in ("a.shop",) if (u := h)]', ["GET a.shop:443/x"]),
    "lower case": ('orders.request("get", "HTTPS://A.Shop/X")', ["GET a.shop:443/X"]),
    "keywords": ('orders.request(url="https://a.shop/x", method="GET")', ["GET a.shop:443/x"]),
    "publish": ('orders.publish("POST", "http://a.shop/x?y=1#z")', ["POST a.shop:80/x"]),
    "a slot": ('orders.request("GET", "https://loc-us-west.a.shop/x")', ["GET a.shop:443/x"]),
    "an instance": ('def f(i): orders.request("GET", f"https://id-{i}.a.shop/x")', [
        "GET a.shop:443/x"]),
    "arguments": ('orders.request("GET", "https://a.shop/{id}/{rest...}", params={})', [
        "GET a.shop:443/{id}/{rest...}"]),
    "a hole in the path": ('def f(i): orders.request("GET", f"https://a.shop/x{i}/y")', [
        "GET a.shop:443/{}/y"]),
    "a name of an argument that is not known": (
        'def f(n): orders.request("GET", f"https://a.shop/{{{n}...}}")', ["GET a.shop:443/{...}"]),
    "a name of an argument before the last": (
        'def f(n): orders.request("GET", f"https://a.shop/{{{n}...}}/y")', [
        "GET a.shop:443/{}/y"]),
    "a hole in the port": ('def f(p): orders.request("GET", f"https://a.shop:{p}/y")', [
        "GET a.shop:*/y"]),
    "a hole in the query": ('def f(q): orders.request("GET", f"https://a.shop/y?{q}")', [
        "GET a.shop:443/y"]),
    "a loop": (
        'for h in ("a.shop", "b.shop"): orders.request("GET", f"https://{h}/x")',
        ["GET a.shop:443/x", "GET b.shop:443/x"]),
    "a comprehension": (
        '[orders.request("GET", f"https://{h}/x") for h in ["a.shop", "b.shop"]]',
        ["GET a.shop:443/x", "GET b.shop:443/x"]),
    "pairs stay together": (
        'for m, h in (("GET", "a.shop"), ("PUT", "b.shop")): orders.request(m, f"https://{h}/x")',
        ["GET a.shop:443/x", "PUT b.shop:443/x"]),
    "names behind a star": (
        '*_, m, h = ("GET", "a.shop")\nn, *_, i = ("PUT", 1, 2, "b.shop")\n'
        'orders.request(m, f"https://{h}/x")\norders.request(n, f"https://{i}/x")',
        ["GET a.shop:443/x", "PUT b.shop:443/x"]),
    "so many iterations as are followed": (
        'for a in range(0): pass\n'
        f'for a in {tuple(range(16))}:\n    for b in {tuple(range(16))}:\n'
        '        orders.request("GET", f"https://a{a}.shop/{b}")',
        sorted(f"GET a{a}.shop:443/{b}" for a in range(16) for b in range(16))),
    "a dictionary": (
        'for h, p in {"a.shop": 81, "b.shop": 82}.items():\n'
        '    orders.request("GET", f"https://{h}:{p}/x")',
        ["GET a.shop:81/x", "GET b.shop:82/x"]),
    "the values and the keys of a dictionary": (
        'for h in {"k": "a.shop", "l": "b.shop"}.values(): orders.request("GET", f"https://{h}/x")\n'
        'for h in {"c.shop": 1}.keys(): orders.request("PUT", f"https://{h}/x")\n'
        'for h in {"d.shop": 1}: orders.request("PUT", f"https://{h}/x")',
        ["GET a.shop:443/x", "GET b.shop:443/x", "PUT c.shop:443/x", "PUT d.shop:443/x"]),
    "as many iterations of one loop as are followed": (
        f"for a in {tuple(range(256))}: orders.request('GET', f'https://a{{a}}.shop/x')",
        sorted(f"GET a{a}.shop:443/x" for a in range(256))),
    "as many values as are followed": (
        f'orders.request("GET", "https://a.shop/" + {_of_values(64)})',
        sorted(f"GET a.shop:443/h{n}" for n in range(64))),
    "as many values of a sum as are followed": (
        'orders.request("GET", "https://a.shop/" + '
        + " + ".join(['("0" if x else "1")'] * 6) + ")",
        sorted(f"GET a.shop:443/{n:06b}" for n in range(64))),
    "conversions to text": (
        'orders.request("GET", "https://{!s}/{}/{}".format("a.shop", f"{1!s}", 2))', [
        "GET a.shop:443/1/2"]),
    "a tuple that has a name": (
        'HOSTS = ("a.shop", "b.shop")\nfor h in HOSTS: orders.request("GET", f"https://{h}/x")',
        ["GET a.shop:443/x", "GET b.shop:443/x"]),
    "a comprehension does not see the names of its class": (
        'H = "a.shop"\nHS = (1,)\nclass A:\n    H = "b.shop"\n    HS = ("c.shop", "d.shop")\n'
        '    x = [orders.request("GET", f"https://{H}/x") for _ in HS]\n'
        '    y = [orders.request("PUT", f"https://{h}/x") for h in HS]',
        ["GET a.shop:443/x", "PUT c.shop:443/x", "PUT d.shop:443/x"]),
    "two loops, one name": (
        'for h in ("a.shop",): orders.request("GET", f"https://{h}/x")\n'
        'for h in ("b.shop",): orders.request("PUT", f"https://{h}/x")',
        ["GET a.shop:443/x", "PUT b.shop:443/x"]),
    "loops in loops": (
        'for h in ("a.shop", "b.shop"):\n    for p in (1, 2):\n        u = f"https://{h}:{p}/x"\n'
        '        orders.request("GET", u)',
        ["GET a.shop:1/x", "GET a.shop:2/x", "GET b.shop:1/x", "GET b.shop:2/x"]),
}  # fmt: skip


@pytest.mark.requirement("S0-109")
@pytest.mark.parametrize("what", TOLD)
def test_constant_values_are_resolved(only, what):
    text, wanted = TOLD[what]
    service = only(text)
    assert sorted(said(service.calls)) == wanted
    assert not service.dynamic
    rules(service, "p")


def test_elements_that_are_not_pairs_do_not_keep_pairs_together(only):
    loop = 'for m, h in (("GET", "a.shop"), {}): orders.request(m, f"https://{{h}}/x")'
    service = only(loop.format('("PUT", "b.shop", 1)'))
    assert sorted(said(service.calls)) == [
        "GET a.shop:443/x", "GET b.shop:443/x", "PUT a.shop:443/x", "PUT b.shop:443/x",
    ]  # fmt: skip
    service = only(loop.format('("PUT",)'))
    assert not service.calls
    assert {each.line for each in service.dynamic} == {3}


def test_each_text_that_is_known_is_granted_and_the_others_are_reported(only):
    service = only("""\
        def f(h, m):
            orders.request("GET", f"https://{h}.shop/x" if h else "https://a.shop/x")
            orders.request(m if m else "PUT", "https://b.shop/x" if h else "https://c.shop/x")
        """)
    assert said(service.calls) == ["GET a.shop:443/x", "PUT b.shop:443/x", "PUT c.shop:443/x"]
    assert [(each.line, each.use.host) for each in service.dynamic] == [
        (4, None), (5, "b.shop"), (5, "c.shop"),
    ]  # fmt: skip


def test_constants_are_followed_across_files(tree):
    folder = tree(
        main=HEAD + "import work\n",
        work='from main import orders\nfrom urls import BASE as B\nimport urls\n'
        'orders.request("GET", f"{B}/x")\norders.request("PUT", urls.Paths.FULL)\n',
        urls='from hosts import *\nBASE = f"https://{STOCK}"\n'
        'class Paths:\n    FULL = BASE + "/full"\n',
        hosts='STOCK = "stock.shop"\n',
    )  # fmt: skip
    (service,) = scan(folder)
    assert said(service.calls) == ["GET stock.shop:443/x", "PUT stock.shop:443/full"]


def test_a_tuple_of_another_file_is_followed(tree):
    folder = tree(
        main=HEAD + 'from shops import HOSTS\nfrom corp import OTHERS\n'
        'for h in HOSTS: orders.request("GET", f"https://{h}/x")\n'
        'for h in OTHERS: orders.request("PUT", f"https://{h}/x")\n',
        shops='HOSTS = ("a.shop", "b.shop")\n',
    )  # fmt: skip
    (service,) = scan(folder)
    assert said(service.calls) == ["GET a.shop:443/x", "GET b.shop:443/x"]
    assert [each.line for each in service.dynamic] == [6]


def test_a_name_assigned_by_another_file_is_not_constant(tree):
    folder = tree(
        main=HEAD + 'import consts\norders.request("GET", consts.URL)\n',
        consts='URL = "https://a.shop/x"\n',
        late='import consts\nconsts.URL = "https://b.shop/x"\n',
    )
    (service,) = scan(folder)
    assert not service.calls
    assert len(service.dynamic) == 1


ROUTES = {
    "/x/{id}": "GET orders.shop:443/x/{id}",
    ":81/x": "GET orders.shop:81/x",
    "//other.shop/x": "GET other.shop:443/x",
    "//other.shop:0/x/{rest...}": "GET other.shop:0/x/{rest...}",
    "https://other.shop:82/x": "GET other.shop:82/x",
}


@pytest.mark.requirement("S0-112")
@pytest.mark.parametrize("route", ROUTES)
def test_routes_of_all_forms(only, route):
    service = only(f"""\
        @orders.endpoint("GET", "{route}")
        async def one(): ...
        async def f(): await orders.subscribe("get", "{route}", one, queue=None)
        """)
    assert said(service.endpoints) == [ROUTES[route]] * 2


def test_a_port_that_is_not_known_is_any_port(only):
    for route, said_of_it in {
        ":{PORT}/x": "GET orders.shop:*/x",
        ":8{PORT}/x": "GET orders.shop:*/x",
        "//other.shop:{PORT}/x": "GET other.shop:*/x",
        "https://other.shop:8{PORT}/x": "GET other.shop:*/x",
    }.items():
        service = only(f"""\
            import os
            PORT = os.environ["PORT"]
            @orders.endpoint("GET", f"{route}")
            async def one(): ...
            """)
        assert said(service.endpoints) == [said_of_it], route


def test_decorators_in_a_loop(only):
    service = only("""\
        for path in ("/a", "/b"):
            @orders.endpoint("GET", path)
            async def f(): ...
        for path in paths:
            @orders.endpoint("PUT", path)
            async def g(): ...
        """)
    assert said(service.endpoints) == ["GET orders.shop:443/a", "GET orders.shop:443/b"]
    (dynamic,) = service.dynamic
    assert (dynamic.kind, dynamic.line) == ("endpoints", 7)


def test_a_path_value_that_may_hold_a_slash_is_noted(only):
    service = only('def f(i): orders.request("GET", f"https://a.shop/{i}")')
    (note,) = service.notes
    assert (note.line, "slash" in note.message) == (3, True)
    assert not only('orders.request("GET", "https://a.shop/{id}")').notes


@pytest.mark.requirement("A16")
def test_an_unknown_port_is_never_the_trust_root(only):
    service = only("""\
        def f(p, u):
            orders.request("GET", f"https://a.shop:{p}/y")
            orders.request("GET", f"https://{u}:666/y")
            orders.endpoint("GET", f":{p}/y")(f)
        """)
    found = rules(service, "p", allow_dynamic=True)
    for entry in (*found.publish_allow, *found.subscribe_allow):
        assert ".danger." not in f".{entry}."
        assert entry.split(".")[1] in ("safe", "reply")


MISTAKES = {
    "a method": 'orders.request("FETCH", "https://a.shop/x")',
    "A11, nobody requests ANY": 'orders.request("ANY", "https://a.shop/x")',
    "a URL without a host": 'orders.request("GET", "/x")',
    "a port": 'orders.request("GET", "https://a.shop:99999/x")',
    "two slots": 'orders.request("GET", "https://id-1.loc-us.a.shop/x")',
    "a route": 'orders.endpoint("GET", "/x{a}")(print)',
    "a reserved host": 'orders.endpoint("GET", "//x.all/x")(print)',
    "an event's host": 'e = Event("A B", "/x")\nasync def f(): await orders.trigger(e)',
    "a service's host": 'Connector("All The Shops")',
}


@pytest.mark.parametrize("what", MISTAKES)
def test_invalid_routes_are_refused_with_their_line(only, what):
    with pytest.raises(AddressError) as caught:
        only(MISTAKES[what])
    assert caught.value.file.endswith("service.py")
    assert caught.value.line == 3
    assert str(caught.value).count("\n") == 0


def test_a_text_has_so_many_characters_and_parts():
    part = UnknownPart("x")
    for size, kept in ((MAX_CHARACTERS, True), (MAX_CHARACTERS + 1, False)):
        assert (normalised(("a", "a" * (size - 1))) == ("a" * size,)) is kept
    several = ("a", part) * (MAX_VALUES // 2)
    assert normalised(several) == several
    (one,) = normalised((*several, "a"))
    assert isinstance(one, UnknownPart)
    assert normalised(("", "a", "", part, UnknownPart("y"), "", part, "b", "c")) == (
        "a",
        part,
        "bc",
    )
    assert normalised(()) == normalised(("", "")) == ("",)


@pytest.mark.parametrize("call", ['os.getenv("H")', 'os.environ["H"]', 'os.environ.get("H")'])
def test_a_value_of_the_environment_is_named(only, call):
    (dynamic,) = only(f'import os\norders.request("GET", {call})').dynamic
    assert "the environment" in dynamic.message


# --- star imports

STARS = {
    "above": ("from other import *\nH = 'a.shop'", "a.shop"),
    "below": ("H = 'a.shop'\nfrom other import *", None),
    "below, on its line": ("H = 'a.shop'; from other import *", None),
    "below, without the name": ("H = 'a.shop'\nfrom empty import *", "a.shop"),
    "alone": ("from other import *", "b.shop"),
    "two that give it": ("from other import *\nfrom third import *", None),
    "two, of which one gives it": ("from empty import *\nfrom other import *", "b.shop"),
    "not listed": ("from unlisted import *", None),
    "listed twice": ("from twice import *", None),
    "a list that is not literal": ("from made import *", None),
    "of a package that is installed": ("from corp import *", None),
    "of a package that is called as ours": ("from .subtrie import *", "b.shop"),
    "through another": ("from through import *", "b.shop"),
    "through the second of another": ("from both import *", "b.shop"),
}  # fmt: skip


@pytest.mark.parametrize("what", STARS)
def test_a_name_of_a_star_import_is_that_of_python(tree, what):
    """Or is not determined."""
    text, host = STARS[what]
    folder = tree({
        "app/__init__.py": "", "app/service.py": HEAD + text.replace("from ", "from .").replace(
            "..", "."
        ) + '\norders.request("GET", f"https://{H}/x")\n',
        "app/other.py": "H = 'b.shop'\n_H = 'c.shop'\n", "app/third.py": "H = 'c.shop'\n",
        "app/empty.py": "_H = H = 1\n__all__ = ['other']\nother = 1\n",
        "app/unlisted.py": "__all__ = ['_H']\nH = 'b.shop'\n_H = 1\n",
        "app/twice.py": "__all__ = []\nH = 'b.shop'\n__all__ = ['H']\n",
        "app/made.py": "H = 'b.shop'\n__all__ = list('H')\n",
        "app/subtrie.py": "H = 'b.shop'\n", "app/through.py": "from .other import *\n",
        "app/both.py": "from .empty import *\nfrom .other import *\n",
    })  # fmt: skip
    (service,) = scan(folder)
    assert said(service.calls) == ([f"GET {host}:443/x"] if host else [])
    assert len(service.dynamic) == (0 if host else 1)


def test_a_name_that_begins_with_an_underscore_is_in_no_star_import_unless_listed(tree):
    for listed, found in ((True, True), (False, False)):
        folder = tree(
            service=HEAD + 'from other import *\norders.request("GET", f"https://{_H}/x")\n',
            other="_H = 'b.shop'\n" + ("__all__ = ['_H']\n" if listed else ""),
        )
        (service,) = scan(folder)
        assert bool(service.calls) is found
        assert bool(service.dynamic) is not found


# --- annotations


@pytest.mark.parametrize(
    ("annotation", "names"),
    [
        ("A | None | B", "A B"), ("None | A", "A"), ("Optional[A]", "A"), ("Union[A, B]", "A B"),
        ("Annotated[A, 3]", "A"), ("Final[A]", "A"), ("ClassVar[A]", "A"), ("Awaitable[A]", "A"),
        ("AsyncIterator[A]", "A"), ("Generator[A, B, C]", "A"), ("typing.Optional[m.A]", "m.A"),
        ("list[A]", "list"), ("'A | B'", "A B"), ("'not valid'", ""), ("3", ""),
        ("'\\'A\\''", "A"), (" | ".join(f"A{n}" for n in range(70)), None),
    ],
)  # fmt: skip
def test_the_names_in_an_annotation(annotation, names):
    found = [
        ast.unparse(each) for each in Annotations().of(ast.parse(annotation, mode="eval").body)
    ]
    if names is None:
        assert len(found) == MAX_PARTS == 60
    else:
        assert sorted(found) == names.split()


# --- laws

TEXTS = st.text("abcxyz0189-", min_size=1, max_size=6)


@st.composite
def expressions(draw, depth=3):
    """An expression over the names H and P (constants) that Python can evaluate."""
    kind = draw(st.sampled_from(["text", "name", "sum", "f", "format", "if"]))
    if depth == 0 or kind == "text":
        return repr(draw(TEXTS))
    if kind == "name":
        return draw(st.sampled_from(["H", "P"]))
    one, two = draw(expressions(depth=depth - 1)), draw(expressions(depth=depth - 1))
    return {
        "sum": f"({one} + {two})",
        "f": f"f\"a{{{one.replace(chr(34), chr(39))}}}b\"" if '"' not in one and "'" not in one
        else f"({one} + 'b')",
        "format": f"'{{}}-{{}}'.format({one}, {two})",
        "if": f"({one} if H == 'h' else {two})",
    }[kind]  # fmt: skip


@settings(max_examples=60)
@given(expressions())
def test_evaluated_constants_equal_those_of_python(tmp_path_factory, expression):
    folder = tmp_path_factory.mktemp("law")
    url = f'"https://a.shop/" + {expression}'
    text = f'{HEAD}H = "h"\nP = "q"\norders.request("GET", {url})\n'
    (folder / "service.py").write_text(text)
    (service,) = scan(folder)
    truth = eval(url, {"H": "h", "P": "q"})
    assert truth.removeprefix("https://a.shop") in {use.path for use in service.calls}
    assert not service.dynamic


@settings(max_examples=200)
@given(
    st.lists(st.one_of(TEXTS, st.none()), min_size=1, max_size=4),
    st.lists(
        # At most 20: four of them, escaped, fit into a subject of 1,024 bytes.
        st.text(
            st.characters(exclude_characters="/?#`", exclude_categories=["Cs"]),
            min_size=1, max_size=20,
        ),
        min_size=4, max_size=4,
    ),
    st.sampled_from(["", ":81", ":666", None]),
    st.integers(0, 65535).filter(lambda port: port != 666),
)  # fmt: skip
def test_a_rule_admits_every_value_of_its_unknown_parts(
    tmp_path_factory, parts, values, port, given_port
):
    """A value without a slash in a part, any port but 666: the request passes the rule."""
    written = "".join("/" + (f"{{v{n}}}" if p is None else p) for n, p in enumerate(parts))
    place = ":{port}" if port is None else port
    folder = tmp_path_factory.mktemp("holes")
    url = f"https://a.shop{place}{written}"
    text = f'{HEAD}def f(v0, v1, v2, v3, port): orders.request("PUT", f"{url}")'
    (folder / "service.py").write_text(text)
    (service,) = scan(folder)
    (use,) = service.calls
    made = rule("publish", plane="p", host=use.host, source="orders.shop", port=use.port,
                method=use.method, path=use.path)  # fmt: skip
    path = "".join("/" + (values[n] if p is None else p) for n, p in enumerate(parts))
    subject = microbus.encode_request(
        plane="p", port=given_port if port is None else int(port[1:] or 443), source="orders.shop",
        host="a.shop", method="PUT", path=path, slot="id-1",
    )  # fmt: skip
    assert Pattern(made, dialect="server").matches(str(subject))
