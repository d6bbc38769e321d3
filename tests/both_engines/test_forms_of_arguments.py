"""Every function with every form of each of its arguments: both engines answer alike."""

from __future__ import annotations

from typing import Any

import pytest

import forms
from forms import NUMBERS, SWITCHES, TEXTS, characters, differences

PLACE = {"plane": "p", "port": 443, "host": "orders.shop", "method": "GET"}
URL = {"plane": "p", "source": "web.shop", "method": "GET", "url": "https://a.b/c?d=e"}
REQUEST = "p.safe.443.web_shop.orders_shop._.GET.order"

#: A valid call of each function.
CALLS: list[tuple[str, dict[str, Any]]] = [
    *(
        (name, {"text": text, "dialect": dialect, "max_tokens": 3, "max_length": 9})
        for name, text in (("check_subject", "a.b"), ("check_pattern", "a.*"))
        for dialect in ("strict", "server")
    ),
    *(
        ("check_name", {"text": "a-b", "kind": kind, "level": "adr6", "windows": False})
        for kind in ("stream-name", "queue-name", "prefix", "filename-safe")
    ),
    ("encode_request", {**PLACE, "source": "web.shop", "path": "/a/b", "slot": "id-1"}),
    ("encode_subscription", {**PLACE, "path": "/a/{id}", "slot": "id-1"}),
    ("encode_reply", {"plane": "p", "source": "a.b", "host": "c.d", "id": "x"}),
    ("encode_reply_subscription", {"plane": "p", "host": "c.d", "id": "x"}),
    ("request_from_url", URL),
    ("request_target", URL),
    (
        "subscription_from_route",
        {"plane": "p", "host": "a.b", "method": "GET", "route": "/x/{id}", "slot": "id-1"},
    ),
    ("resolve_route", {"host": "a.b", "route": "https://c.d:80/x"}),
    ("absolute_url", {"url": "https://a.b/c"}),
    ("decode", {"subject": REQUEST}),
    ("decode", {"subject": "p.reply._.orders_shop.web_shop.id-1"}),
    ("decode_subscription", {"pattern": "p.safe.443.*.orders_shop._.GET.order"}),
    ("classify", {"subject": REQUEST}),
    ("source_of", {"subject": REQUEST}),
    ("check_identity_host", {"host": "a.b"}),
    ("check_locality", {"locality": "az.region"}),
    ("check_method", {"method": "GET"}),
    ("check_plane", {"plane": "p"}),
    ("check_route_host", {"host": "a.b"}),
    ("check_route_path", {"path": "/a/{id}"}),
    ("flatten_host", {"host": "a.b"}),
    ("unflatten_host", {"token": "a_b"}),
    ("escape_segment", {"segment": "a b"}),
    ("unescape_segment", {"token": "a%20b"}),
    ("locality_slot", {"locality": "a.b"}),
    ("locality_slots", {"locality": "a.b"}),
    ("cut_slot", {"host": "id-1.a.b"}),
    ("common_locality", {"one": "a.b", "other": "a.c"}),
    ("RequestTargets", {"plane": "p", "source": "a.b"}),
    ("SubjectTrie", {"dialect": "strict", "max_tokens": 3, "max_length": 9}),
    (
        "Parser",
        {
            "conn": "route", "dialect": "server", "max_control_line": 9, "max_payload": 9,
            "pinned_account": "A", "lnocu": False,
        },
    ),
]  # fmt: skip


def forms_of(name: str, value: Any) -> dict[str, forms.Form]:
    """Return the forms that an argument is given in."""
    if name == "port":  # a number or a text
        texts = {f"text: {each}": lambda port, form=form: form(str(port))
                 for each, form in TEXTS.items()}  # fmt: skip
        return NUMBERS | texts
    if isinstance(value, bool):
        return SWITCHES
    if name == "dialect":  # the error shows it as it is
        return {name: form for name, form in TEXTS.items() if "lone" not in name}
    return TEXTS if isinstance(value, str) else NUMBERS


def answer(engine: Any, name: str, arguments: dict[str, Any]) -> Any:
    """Return what a function returns; of a new object, what it does."""
    made = getattr(engine, name)(**arguments)
    if name == "RequestTargets":
        return [characters(part) for part in made("GET", "https://a.b/c")]
    if name == "SubjectTrie":
        dialects = made.dialect, made.add("a.b", 1).pattern.dialect
        return [characters(each) for each in dialects], made.max_tokens, made.max_length
    if name == "Parser":
        parts = characters(made.conn), characters(made.dialect), made.complete
        line = {"client": b"PUB a 2\r\nhi\r\n", "route": b"RS+ a\r\nLS- a\r\n"}.get(made.conn, b"")
        return *parts, [(op.as_dict(), bytes(op)) for op in made.feed(line)]
    return made


@pytest.mark.requirement("M-09")
def test_each_argument_of_each_function_in_every_form():
    questions = (
        (f"{name}({argument}={form})",
         lambda engine, name=name, given=given: answer(engine, name, given))
        for name, valid in CALLS
        for argument, value in valid.items()
        for form, made in forms_of(argument, value).items()
        for given in [valid | {argument: made(value)}]
    )  # fmt: skip
    assert differences(questions, least=2_500) == []


def test_each_function_without_one_of_its_arguments():
    def left_out(engine: Any, name: str, given: dict[str, Any]) -> Any:
        try:
            return answer(engine, name, given)
        except TypeError:
            return "refused"  # in the words of the interpreter

    questions = (
        (f"{name} without {argument}",
         lambda engine, name=name, given=given, argument=argument: left_out(
             engine, name, {other: value for other, value in given.items() if other != argument}))
        for name, given in CALLS
        for argument in given
    )  # fmt: skip
    assert differences(questions, least=70) == []


def test_patterns_and_subjects_that_are_valid_in_every_form():
    """These functions take texts that were validated."""
    valid = {"text", "built", "subclass", "subject", "upper", "lower", "twice", "long"} | {
        name for name in TEXTS if name.startswith(("two", "three", "four"))
    }
    questions = (
        (f"{name}({one}, {two})",
         lambda engine, name=name, given=given: getattr(engine, name)(*given))
        for name, texts in {
            "matches": ("a.*", "a.b"), "covers": ("a.>", "a.*"), "overlaps": ("a.*.c", "*.b.>"),
        }.items()
        for one in valid
        for two in valid
        for given in [(TEXTS[one](texts[0]), TEXTS[two](texts[1]))]
    )  # fmt: skip
    assert differences(questions, least=500) == []
