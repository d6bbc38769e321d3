"""Random questions to the functions of an engine: mostly right, then bent a little."""

from __future__ import annotations

from collections.abc import Iterator
from random import Random
from types import ModuleType
from typing import Any

import wide_texts
from subtrie import Pattern, Subject, SubtrieError

#: What is put into a text to bend it.
ODD = [
    "", ".", "..", "*", ">", "**", "a*", "*a", "a.>.b", " ", "\t", "\r\n", "\v", "\f", "\0",
    "\x7f", "\u00a0", "\u200b", "\u2028", "\u202e", "\ufeff", "а", "ı", "İ", "ſ", "K", "．", "ß",
    "é", "日", "😀", "\ud800", "\udfff", "%", "%2", "%zz", "%2E", "%2e", "%00", "%0d%0a", "%252e",
    "%5f", "%c3%a9", "%ff", "%2F", "%2f", "_", "__", "-", "/", "//", "{", "}", "{}", "{a}",
    "{a...}", "{...}", "{a}{b}", "id-", "loc-", "id-1", "loc-us", "ID-X", "all", "GET", "0", "080",
    "65536", ":", "@", "?", "#", "[", "]", "\\", "`", "$", "&", "+", "=", "~", "|", '"', "'", "<",
]  # fmt: skip

#: Values that are not text.
NO_TEXT: list[Any] = [None, 0, 1.5, b"a", [], object]


class Text(str):
    """A text of another class."""

    __slots__ = ()


HOSTS = [
    "example.com", "a.b", "by.com", "www.example.com", "payments", "UPPER.Com", "my$.xml",
    "my_.xml", "x.all", "all", "id-1.a.b", "loc-us-west.a.b", "id-1.loc-us.a.b", "ID-9.A.B",
    "id.a.b", "id-abc", "a--b.-c", "münchen.de", "é.b", "a..b", ".a", "a.", "[::1]", "1.2.3.4",
    "a~b.c", "ÀB.c", *wide_texts.TOKENS,
]  # fmt: skip
PLANES = ["microbus", "p", "P0", "a1B2", "0", "", "p.q", "*", "danger"]
PORTS: list[Any] = [
    0, 80, 443, 666, 888, 417, 65535, 65536, -1, "0", "80", "443", "666", "65535", "080", "+80",
    "", "٨٠", " 80", "99999", 2**70, True, 80.0, None, "00", "_", "*", "1e3",
]  # fmt: skip
METHODS = ["GET", "POST", "PUT", "DELETE", "HEAD", "PATCH", "OPTIONS", "TRACE", "CONNECT", "ANY"]
OTHER_METHODS = ["get", "any", "GET ", "", "GET.X", "G\u0130T", "*", ">", "PROPFIND", "gEt", "ﬁ"]
PARTS = [
    "a", "x", "file.html", "PATH", "", "_", "a_b", "{id}", "{rest...}", "{}", "{...}", "*", ">",
    "é", "a b", "%20", "%2F", "..", ".", "x*", "{a", "a}", "{A}", "{a_b}", "日本", "caf%C3%A9", "-",
    "~", *wide_texts.TOKENS,
]  # fmt: skip
SLOTS = [
    "",
    "id-1",
    "id-abcd1234",
    "loc-us",
    "loc-us-west",
    "ID-1",
    "id-",
    "loc-",
    "id-*",
    "x",
    "_",
]
TOKENS = ["a", "b", "x", "foo", "A", "0", "-", "_", "%2e", "$", "é", "*", ">", "foo*"]
CANONICAL = [
    "microbus.safe.443.by_com.example_com._.GET.path.to.file%2ehtml",
    "microbus.safe.80.by_com.example_com.id-abcd1234.POST._",
    "microbus.danger.666.by_com.example_com.loc-us-west.PUT.mint._.x%5fy",
    "p.safe.0.a.my%24_xml._.DELETE.%c3%a9",
    "p.reply._.by_com.example_com.id-1234",
    "p.safe.443.*.example_com._.*.a.*.>",
    "p.safe.*.*.example_com._.GET.>",
    "p.danger.666.*.all.id-1.GET._",
    "p.reply._.*.example_com.id-1",
]


def bent(random: Random, text: Any) -> Any:
    """The value as it is, or with something odd put in, cut out, doubled or turned round."""
    chance = random.random()
    if chance < 0.7:
        return text
    if chance < 0.72:
        return random.choice(NO_TEXT)
    if not isinstance(text, str):
        return random.choice(ODD)
    if chance < 0.75:
        return random.choice(ODD)
    at = random.randint(0, len(text))
    if chance < 0.9:
        return text[:at] + random.choice(ODD) + text[at:]
    if chance < 0.95:
        return text[:at] + text[at + 1 :]
    if chance < 0.97:
        return text.swapcase()
    if chance < 0.98:
        return text * random.choice((2, 40))
    return (
        text[:at]
        + chr(random.choice((random.randrange(128), random.randrange(0x3000))))
        + text[at:]
    )


def path(random: Random) -> str:
    """A path of a few parts."""
    parts = [random.choice(PARTS) for _ in range(random.choice((0, 1, 1, 2, 3, 5)))]
    return random.choice(("/", "/", "")) + "/".join(parts)


def host(random: Random) -> str:
    """A host, now and then a made-up one."""
    if random.random() < 0.6:
        return random.choice(HOSTS)
    labels = random.randint(1, 4)
    letters = "abcxyz019-"
    return ".".join("".join(random.choices(letters, k=random.randint(1, 6))) for _ in range(labels))


def method(random: Random) -> str:
    """A method, mostly one there is."""
    return random.choice(METHODS if random.random() < 0.85 else OTHER_METHODS)


def port(random: Random) -> Any:
    """A port, mostly one there is."""
    return random.choice(PORTS) if random.random() < 0.5 else random.randint(0, 65535)


def url(random: Random) -> str:
    """A URL as a caller may write it."""
    scheme = random.choice(("https://", "https://", "http://", "HTTPS://", "//", "", "ftp://", ":"))
    user = random.choice(("", "", "", "u@", "u:p@"))
    place = random.choice(("", "", ":80", ":666", ":0", ":080", ":", ":x", ":65536", ":-1"))
    tail = random.choice(("", "", "?q=1", "#f", "?a=b#c", "?"))
    return f"{scheme}{user}{host(random)}{place}{path(random)}{tail}"


def route(random: Random) -> str:
    """A route as an endpoint may write it."""
    place = random.choice(("", "", ":443", ":0", ":666", ":080", ":x", ":", ":99999"))
    form = random.choice(("", "", f"//{host(random)}", f"https://{host(random)}", "http://a.b"))
    return f"{form}{place}{path(random)}{random.choice(('', '', '', '?x=1', '#f'))}"


def subject(random: Random) -> str:
    """A subject or pattern of plain or wide tokens, or a Microbus address."""
    if random.random() < 0.4:
        return random.choice(CANONICAL)
    tokens = TOKENS if random.random() < 0.7 else [*wide_texts.MIXED, "*", ">"]
    return ".".join(random.choice(tokens) for _ in range(random.choice((1, 2, 3, 3, 4, 9, 65))))


def locality(random: Random) -> str:
    """A locality, in either of its forms."""
    parts = [random.choice(("us", "west", "b", "1", "US", "")) for _ in range(random.randint(1, 4))]
    return random.choice("-.").join(parts)


Question = tuple[str, tuple[Any, ...], dict[str, Any]]


def _grammar(random: Random) -> Iterator[Question]:
    for name in ("check_subject", "check_pattern"):
        bounds: dict[str, Any] = {"dialect": random.choice(("strict", "server"))}
        if random.random() < 0.2:
            bounds["max_tokens"] = random.choice((1, 2, 3, 100))
        if random.random() < 0.2:
            bounds["max_length"] = random.choice((1, 5, 8, 70_000))
        yield name, (bent(random, subject(random)),), bounds


def _relations(random: Random) -> Iterator[Question]:
    left, right = _pattern(random), _pattern(random)
    for name in ("matches", "covers", "overlaps"):
        yield name, (left, right), {}


def _pattern(random: Random, names: list[str] | None = None) -> str:
    """A text that is a pattern: the relations are asked of checked texts only."""
    names = names or random.choice((["a", "b"], wide_texts.TOKENS[:3], wide_texts.MIXED))
    tokens = random.choices((*names, "*", "*"), k=random.randint(1, 5))
    if random.random() < 0.3:
        tokens.append(">")
    return ".".join(tokens)


def _sets(random: Random) -> Iterator[Question]:
    """Two sets of rules, of one queue name or of several."""
    any_three = random.sample(wide_texts.TOKENS, 3)
    names = random.choice((["a", "b"], any_three, wide_texts.IN_ANOTHER_ORDER))
    queues = random.choice(([""], ["", " q", *(f" {name}" for name in names), " *", " é.>"]))

    subject = random.choices(names, k=random.randint(2, 4))

    def rule() -> str:
        """Return any pattern, or one of the subject: each of these makes others needless."""
        if random.random() < 0.5:
            return _pattern(random, names)
        return ".".join(random.choice((token, "*")) for token in subject)

    def rules(most: int) -> list[str]:
        return [rule() + random.choice(queues) for _ in range(random.randint(0, most))]

    one, other = (rules(4), rules(4)), (rules(4), rules(3))
    for name in ("rules_witness", "rules_overlap", "rules_difference", "rules_proof"):
        yield name, (*one, *other), {}
    yield "rules_minimised", one, {}
    yield "rules_admit", (*one, _pattern(random, names), random.choice((None, "q", "é"))), {}


def _encoding(random: Random) -> Iterator[Question]:
    where = {"plane": random.choice(PLANES[:5]), "host": host(random)}
    where = {name: bent(random, value) for name, value in where.items()}
    source = bent(random, host(random))
    slot = bent(random, random.choice(SLOTS))
    asked = {
        **where,
        "port": bent(random, port(random)),
        "method": bent(random, method(random)),
        "path": bent(random, path(random)),
    }
    if random.random() < 0.8:
        asked["slot"] = slot
    yield "encode_request", (), {**asked, "source": source}
    yield "encode_subscription", (), asked
    yield "encode_reply", (), {**where, "source": source, "id": slot}
    yield "encode_reply_subscription", (), {**where, "id": slot}


def _addresses(random: Random) -> Iterator[Question]:
    asked = {
        "plane": bent(random, random.choice(PLANES)),
        "method": bent(random, method(random)),
    }
    source, own = bent(random, host(random)), bent(random, host(random))
    yield "request_from_url", (), {**asked, "source": source, "url": bent(random, url(random))}
    way = bent(random, route(random))
    yield "subscription_from_route", (), {**asked, "host": own, "route": way}
    slot = bent(random, random.choice(SLOTS))
    yield "subscription_from_route", (), {**asked, "host": own, "route": way, "slot": slot}


def _decoding(random: Random) -> Iterator[Question]:
    text = subject(random)
    for _ in range(random.randint(0, 3)):
        tokens = str(text).split(".")
        at = random.randrange(len(tokens))
        tokens[at] = random.choice(
            (*TOKENS, *SLOTS, *METHODS, *ODD, *"0_*>", "443", "safe", "danger")
        )
        text = ".".join(tokens)
    text = bent(random, text)
    for name in ("decode", "decode_subscription", "source_of"):
        yield name, (text,), {}


def _parts(random: Random) -> Iterator[Question]:
    yield "flatten_host", (bent(random, host(random)),), {}
    yield "unflatten_host", (bent(random, host(random).replace(".", "_")),), {}
    yield "escape_segment", (bent(random, random.choice(PARTS)),), {}
    yield "unescape_segment", (bent(random, random.choice(PARTS)),), {}
    yield "cut_slot", (bent(random, host(random)),), {}
    yield "locality_slots", (bent(random, locality(random)),), {}
    yield "check_identity_host", (bent(random, host(random)),), {}
    yield "check_route_host", (bent(random, host(random)),), {}
    yield "check_route_path", (bent(random, path(random)),), {}
    yield "check_plane", (bent(random, random.choice(PLANES)),), {}
    yield "check_method", (bent(random, method(random)),), {}


#: Every function of one text.
UNARY = [
    "check_subject", "check_pattern", "decode", "decode_subscription", "source_of", "classify",
    "flatten_host", "unflatten_host", "escape_segment", "unescape_segment", "cut_slot",
    "locality_slots", "locality_slot", "check_locality", "check_identity_host", "check_route_host",
    "check_route_path", "check_plane", "check_method",
]  # fmt: skip

#: Ranges of code points, each as likely: ASCII, Latin, all of the first plane, everything.
RANGES = [0x80, 0x80, 0x250, 0x10000, 0x110000]


def _wild(random: Random) -> Iterator[Question]:
    """Any text whatever, the same to every function of one text."""
    kind = random.random()
    if kind < 0.3:
        text: Any = "".join(random.choices(ODD, k=random.randint(1, 6)))
    elif kind < 0.7:
        top = random.choice(RANGES)
        text = "".join(chr(random.randrange(top)) for _ in range(random.randint(1, 30)))
    elif kind < 0.85:
        text = random.randbytes(random.randint(1, 30)).decode("utf-8", "surrogateescape")
    else:
        text = random.choice((Text, Subject, Pattern))(random.choice(CANONICAL[:4]))
    if random.random() < 0.3:
        text = random.choice(("p.safe.443.a.b._.GET.{}", "p.safe.443.{}.b._.GET.x")).format(text)
    for name in UNARY:
        yield name, (text,), {}
    yield "resolve_route", (), {"host": "a.b", "route": text}
    yield "request_from_url", (), {"plane": "p", "source": "a", "method": "GET", "url": text}


def _calls(random: Random) -> Iterator[Question]:
    """Call of a wrong shape: arguments by place, missing, unknown, twice."""
    asked = {"plane": "p", "host": "a.b", "id": "id-1"}
    yield "encode_reply_subscription", tuple(asked.values()), {}
    yield "encode_reply_subscription", (), {**asked, random.choice(ODD[1:20]): "x"}
    asked.pop(random.choice(list(asked)))
    yield "encode_reply_subscription", (), asked
    for name in random.sample(UNARY, 3):
        yield name, (), {}
        yield name, ("a", "b", "c", "d", "e", "f"), {}
    yield "check_subject", ("a",), {"dialect": random.choice((*ODD, None, 3, "Strict"))}
    yield "check_pattern", ("a",), {"max_tokens": random.choice((0, -1, 1.5, "3", 2**70, None))}
    yield "check_pattern", ("a",), {"max_length": random.choice((0, -1, True, b"", 2**63, None))}


_FAMILIES = [
    _grammar,
    _relations,
    _sets,
    _sets,
    _sets,
    _encoding,
    _addresses,
    _decoding,
    _parts,
    _wild,
    _calls,
]

#: How many families of questions there are.
FAMILIES = len(_FAMILIES)

#: The places of the families that ask the codec.
CODEC = [_FAMILIES.index(family) for family in (_encoding, _addresses, _decoding, _parts)]


def questions(random: Random, family: int) -> Iterator[Question]:
    """The questions of one round, all of one family."""
    yield from _FAMILIES[family](random)


def answer(engine: ModuleType, name: str, arguments: Any, keywords: Any) -> object:
    """Return the answer of the engine in comparable form: the value, or all fields of the error."""
    return outcome(lambda: getattr(engine, name)(*arguments, **keywords))


def outcome(call: Any) -> object:
    """The value of a call with its type, or what it raised."""
    try:
        value = call()
    except SubtrieError as error:
        place = (error.reason, error.position, error.field, error.status)
        return (type(error).__name__, *place, str(error))
    except UnicodeEncodeError:
        return "ValueError"  # which it is
    except (TypeError, ValueError, OverflowError, AttributeError) as error:
        return type(error).__name__
    return type(value).__name__, repr(value)
