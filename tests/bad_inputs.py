"""The questions of ``bad_inputs.jsonl``: every public function on every bad input that applies.

    python tests/bad_inputs.py > tests/bad_inputs.jsonl

writes the table anew with the answers of the reference. It is committed and read by people: a
changed line is a changed promise.
"""

from __future__ import annotations

import hashlib
import json
import warnings
from collections.abc import Iterator
from typing import Any

from damaged_images import (
    BLOCKS,
    FLAGS,
    LISTS,
    NAMES,
    NEXT_ID,
    PATTERN_COUNT,
    ROW_COUNT,
    ROW_WORDS,
    VERSION,
    Damage,
    example,
)
from subtrie import SubtrieError, reference

Question = tuple[str, dict[str, Any]]

#: Longer texts are in the table as a recipe, and longer answers as a digest.
LONG = 200

#: What any text argument is tried with. Overlong or truncated UTF-8 comes as surrogates.
TEXTS: list[Any] = [
    "", ".", "..", ".a", "a.", "a..b", "*", ">", "**", ">>", "*a", "a*", "a.*", "a.>", "a.>.b",
    " ", "a b", "a\tb", "a\rb", "a\nb", "a\r\nb", "a\vb", "a\fb", "a\0b", "a\x7fb", "a\u00a0b",
    "a\u200bb", "a\u2028b", "a\u202eb", "\ufeffa", "\u0430", "\u0131", "\u0130", "\uff0e", "é.é",
    "\ud800", "é\udfff", "\udcc0\udcaf", "a\udce2\udc82", "%", "%2", "%zz", "%2E", "%2e", "%00",
    "%0d%0a", "%252e", "%c3%a9", "%ff", "_", "a_b", "A.b", "a" * 1024, "a" * 1025, "." * 65_400,
    "a." * 63 + "a", "a." * 64 + "a", "a" * 1_048_576, "*." * 39 + "*", "é" * 512, "é" * 513, None,
    7, b"a",
]  # fmt: skip

PORTS: list[Any] = [
    -1, 0, 65535, 65536, 2**64, True, 80.0, None, "", "-1", "0", "00", "080", "+80", " 80", "80 ",
    "65535", "65536", "1e3", "0x50", "\u0668\u0660", "8\u00b2", "*", "_", ">", "80.80", "\ud800",
    "9" * 5000, b"80",
]  # fmt: skip
METHODS: list[Any] = [
    "get", "GET", "Any", "ANY", "GET ", " GET", "GET.X", "GET.>", "*", ">", "G\u0130T", "POSTT",
    "PROPFIND", "", "\u017fEAD", "GET\0", "GET\n", "\ud800", None,
]  # fmt: skip
HOSTS: list[Any] = [
    "id-", "loc-", "id-*", "ID-1", "id-1", "loc-us", "all", "ALL", "x.all", "all.x", "_", "a_b.c",
    "a..b", ".a", "a.", "-a", "a-", "a--b", "id-1.a", "id-1.loc-us.a", "loc-us.id-1", "id.a",
    "my$.xml", "a:80", "a/b", "a@b", "[::1]", "M\u00dcNCHEN.de", "\u0130.a", "a" * 252, "a" * 253,
]  # fmt: skip
PATHS: list[Any] = [
    "/", "//", "/x/", "/x//y", "x", "/./", "/../", "/a/../b", "/%2F", "/%2f", "/%", "/%zz", "/_",
    "/{", "/}", "/{}", "/{...}", "/{a}", "/{a}{b}", "/x{a}", "/{a}x", "/{a...}", "/{a...}/b",
    "/{A}", "/{a_b}", "/{1}", "/{{a}}", "/*", "/>", "/x*", "/**", "/a b", "/a\0b", "/a\r\nb",
    "/?a=b", "/#f", "/" * 70, "/a" * 60,
]  # fmt: skip
SLOTS: list[Any] = [
    "", "_", "id-", "loc-", "id-*", "id->", "id-a.b", "id-a_b", "ID-1", "LOC-US", "id-1-2",
    "loc-us-", "loc--us", "loc-us-west", "id", "x", "id-\u0131", "id- ", "id-a\n", "\ud800",
    "id-" + "a" * 1024, None,
]  # fmt: skip
LOCALITIES: list[Any] = [
    "", "us", "us-west", "west.us", "us-", "-us", "us--west", "US", "us west", "us.", "a_b", "*",
    "loc-us", "id-1", "all", "us.all", "\u00e9", "\ud800", "a-" * 40 + "a", None,
]  # fmt: skip
QUEUES: list[Any] = [
    "", " ", "a b", "a\tb", "a\nb", "a\fb", "*", ">", "a.*", "a.>", "a*", "a.b", "a..b", "é",
    "\ud800", "é.\ud800", "a\0b", "q" * 5000, 7, b"q",
]  # fmt: skip
URLS: list[Any] = [
    "", "/", "//", "a.b/x", "https://", "https:///x", "https://a.b", "http://a.b", "ftp://a.b/x",
    "HTTPS://A.B/X", "https://a.b:/x", "https://a.b:0/x", "https://a.b:080/x",
    "https://a.b:65536/", "https://a.b:-1/", "https://a.b:x/", "https://a.b:\u0668\u0660/",
    "https://a.b:80:80/", "https://u:p@a.b/x", "https://@/x", "https://id-1.a.b/",
    "https://id-.a.b/", "https://id-*.a.b/", "https://loc-us.a.b/", "https://id-1.loc-us.a.b/",
    "https://id-1/", "https://id-1./", "https://a_b.c/", "https://a..b/", "https://[::1]/",
    "https://[::1/", "https://a b/", "https://a%20b/", "https://a%2eb/", "https://a%zz/",
    "https://\u00e9.b/", "https://a.b/%2F", "https://a.b/%zz", "https://a.b/%ff",
    "https://a.b/%00", "https://a.b/a b", "https://a.b/\x7f", "https://a.b/\n", "https://a.b/`",
    "https://a.b/../x", "https://a.b//", "https://a.b?x=/y", "https://a.b#/y", "https://a.b/*",
    "https://a.b/{x}", "https://a.b/\u65e5", "\ud800", "https://a.b/\ud800",
    "https://a.b/" + "a" * 2000, "https://a.b" + "/a" * 60, " https://a.b/", "javascript:alert(1)",
    None, 7,
]  # fmt: skip
ROUTES: list[Any] = [
    "", "/", "x", "/x", ":443", ":443/x", ":0/x", ":666/x", ":080/x", ":0666/x", ":65536/x",
    ":x/x", ":/x", ":", ":-5/x", "//", "//a.b", "//a.b:80/x", "//id-1.a/x", "//ID-9.b/x",
    "//loc-us/x", "//all/x", "//x.all/x", "//a..b/x", "//my$.xml/x", "//a_b.c/x", "//UPPER.c/X",
    "https://a.b/x", "http://a.b/x", "ftp://a.b/x", "https://a.b:x/", "/{a}", "/{a...}",
    "/{a...}/b", "/{a}{b}", "/x{a}", "/{", "/>", "/*", "/x*", "/%2F", "/%zz", "/%ff", "/x?q=1",
    "/x#f", "/a b", "/a`b", "\ud800", None,
]  # fmt: skip

REQUEST = "p.safe.443.a_b.c_d._.GET.x"
SUBJECTS: list[Any] = [
    REQUEST, f"{REQUEST}.", f".{REQUEST}", "p.safe.443.a.b._.GET", "p.safe.443.a.b._", "p",
    "p.safe", "p.danger.443.a.b._.GET.x", "p.safe.666.a.b._.GET.x", "p.danger.666.a.b._.GET.x",
    "p.reply._.a.b.id-1", "p.reply._.a.b.id-1.x", "p.reply.443.a.b.id-1", "p.reply._.a.b._",
    "p.reply._.a.b.loc-us", "p.reply._.*.b.id-1", "p.reply._.a.*.id-1", "p.other.443.a.b._.GET.x",
    "P.safe.443.a.b._.GET.x", "p-1.safe.443.a.b._.GET.x", "*.safe.443.a.b._.GET.x",
    "p.*.443.a.b._.GET.x", "p.safe.*.*.b._.GET.x", "p.safe.443.*.b._.*.x",
    "p.safe.443.*.b._.GET.>", "p.safe.443.*.b._.GET.*.>", "p.safe.443.*.*._.GET.x",
    "p.safe.443.*.b.*.GET.x", "p.safe.>", ">", "p.safe.0.a.b._.GET.x", "p.safe.080.a.b._.GET.x",
    "p.safe.65536.a.b._.GET.x", "p.safe._.a.b._.GET.x", "p.safe.x.a.b._.GET.x",
    "p.safe.\u0668.a.b._.GET.x", "p.safe.443.A.b._.GET.x", "p.safe.443.a%2eb.c._.GET.x",
    "p.safe.443.a%2Eb.c._.GET.x", "p.safe.443.a%24.c._.GET.x", "p.safe.443._.c._.GET.x",
    "p.safe.443.a__b.c._.GET.x", "p.safe.443._a.c._.GET.x", "p.safe.443.id-1.c._.GET.x",
    "p.safe.443.all.c._.GET.x", "p.safe.443.x_all.c._.GET.x", "p.safe.443.a%0d%0ab.c._.GET.x",
    "p.safe.443.\u0430.c._.GET.x", "p.safe.443.a.my%24_xml._.GET.x",
    "p.safe.443.a.my%24_Xml._.GET.x", "p.safe.443.a.b%5f._.GET.x", "p.safe.443.a.b%zz._.GET.x",
    "p.safe.443.a.b%2._.GET.x", "p.safe.443.a.%c3%a9._.GET.x", "p.safe.443.a.%C3%A9._.GET.x",
    "p.safe.443.a.%c3%89._.GET.x", "p.safe.443.a.%c3._.GET.x", "p.safe.443.a.\u00e9._.GET.x",
    "p.safe.443.a._._.GET.x", "p.safe.443.a.b.id-1.GET.x", "p.safe.443.a.b.ID-1.GET.x",
    "p.safe.443.a.b.id-.GET.x", "p.safe.443.a.b.id-a_b.GET.x", "p.safe.443.a.b.loc-us-west.GET.x",
    "p.safe.443.a.b.loc-us-.GET.x", "p.safe.443.a.b.x.GET.x", "p.safe.443.a.b._.get.x",
    "p.safe.443.a.b._.ANY.x", "p.safe.443.a.b._.POSTT.x", "p.safe.443.a.b._._.x",
    "p.safe.443.a.b._.GET._", "p.safe.443.a.b._.GET._._", "p.safe.443.a.b._.GET.%2f",
    "p.safe.443.a.b._.GET.%2F", "p.safe.443.a.b._.GET.%2e", "p.safe.443.a.b._.GET.%2E",
    "p.safe.443.a.b._.GET.%61", "p.safe.443.a.b._.GET.%", "p.safe.443.a.b._.GET.%zz",
    "p.safe.443.a.b._.GET.%00", "p.safe.443.a.b._.GET.%0d%0a", "p.safe.443.a.b._.GET.%ff",
    "p.safe.443.a.b._.GET.%c3%a9", "p.safe.443.a.b._.GET.x_y", "p.safe.443.a.b._.GET.x~y",
    "p.safe.443.a.b._.GET.{x}", "p.safe.443.a.b._.GET.x y", "p.safe.443.a.b._.GET.x\0y",
    "p.safe.443.a.b._.GET.\u65e5", "p.safe.443.a.b._.GET.\ud800",
    "p.safe.443.a.b._.GET." + "a" * 1003, "p.safe.443.a.b._.GET." + "a" * 1004,
    "p.safe.443.a.b._.GET" + ".a" * 57, "p.safe.443.a.b._.GET" + ".a" * 58,
]  # fmt: skip

_REQUEST = {
    "plane": "p",
    "port": 443,
    "source": "a.b",
    "host": "c.d",
    "slot": "",
    "method": "GET",
    "path": "/x",
}
_SUBSCRIPTION = {name: value for name, value in _REQUEST.items() if name != "source"}
_REPLY = {"plane": "p", "source": "a.b", "host": "c.d", "id": "id-1"}
_URL = {"plane": "p", "source": "a.b", "method": "GET", "url": "https://c.d/x"}
_ROUTE = {"plane": "p", "host": "c.d", "method": "GET", "route": "/x", "slot": ""}

#: For each function of several arguments: a right call, and the arguments tried, one at a time.
_CALLS: list[tuple[str, dict[str, Any], dict[str, list[Any]]]] = [

    (
        "encode_request",
        _REQUEST,
        {
            "plane": TEXTS, "port": PORTS, "source": TEXTS + HOSTS, "host": TEXTS + HOSTS,
            "slot": SLOTS, "method": METHODS, "path": TEXTS + PATHS,
        },
    ),
    (
        "encode_subscription",
        _SUBSCRIPTION,
        {"plane": ["", "*"], "port": PORTS, "host": HOSTS, "slot": SLOTS, "method": METHODS,
         "path": TEXTS + PATHS},
    ),
    ("encode_reply", _REPLY, {"plane": ["", ">"], "source": HOSTS, "host": HOSTS, "id": SLOTS}),
    (
        "encode_reply_subscription",
        {name: value for name, value in _REPLY.items() if name != "source"},
        {"plane": ["", ">"], "host": HOSTS, "id": SLOTS},
    ),
    (
        "request_from_url",
        _URL,
        {"plane": ["", "*"], "source": HOSTS, "method": METHODS, "url": URLS},
    ),
    ("resolve_route", {"host": "c.d", "route": "/x"}, {"host": HOSTS, "route": ROUTES}),
    (
        "subscription_from_route",
        _ROUTE,
        {"plane": ["", "*"], "host": HOSTS, "method": METHODS, "route": ROUTES, "slot": SLOTS},
    ),
]  # fmt: skip

#: The functions of one text, with the name of their argument.
_CHECKS: list[tuple[str, str, list[Any]]] = [
    ("flatten_host", "host", TEXTS + HOSTS),
    ("unflatten_host", "token", TEXTS),
    ("escape_segment", "segment", TEXTS),
    ("unescape_segment", "token", TEXTS),
    ("cut_slot", "host", TEXTS + HOSTS),
    ("locality_slots", "locality", LOCALITIES),
    ("locality_slot", "locality", LOCALITIES),
    ("check_locality", "locality", LOCALITIES),
    ("check_identity_host", "host", TEXTS + HOSTS),
    ("check_route_host", "host", TEXTS + HOSTS),
    ("check_route_path", "path", TEXTS + PATHS),
    ("check_plane", "plane", TEXTS),
    ("check_method", "method", METHODS + TEXTS[:3]),
    ("decode", "subject", TEXTS + SUBJECTS),
    ("decode_subscription", "pattern", TEXTS + SUBJECTS),
    ("source_of", "subject", TEXTS + SUBJECTS),
    ("classify", "subject", TEXTS + SUBJECTS),
]


#: Kinds of names that between them have every production and every reason.
KINDS_OF_NAMES = [
    "subject", "pattern", "stream", "queue", "kv-key", "js-internal-prefix", "js-user-prefix",
    "os-object", "dot",
]  # fmt: skip

#: Streams by connection; those that only a strict parser refuses have their own name.
STREAMS: dict[str, list[bytes]] = {
    "client": [
        b"", b"\r\n", b" PING\r\n", b"PINGS\r\n", b"P\0", b"SUB\r\n", b"SUB  \r\n", b"SUB a\r\n",
        b"SUB a b c d\r\n", b"PUB a\r\n", b"PUB a -1\r\n", b"PUB a 1e3\r\n", b"PUB a 1\r\nab\r\n",
        b"PUB a 1\r\na\n", b"PUB a 1048577\r\n", b"PUB a 9999999999\r\n", b"HPUB a 3 2\r\n",
        b"HPUB a x 2\r\n", b"CONNECT x\r\n", b'CONNECT {"a":1,"a":1}\r\n', b"MSG a 1 0\r\n",
        b"HMSG a 1 0 0\r\n", b"RS+ $G a\r\n", b"SUB " + b"a" * 4095 + b" 1\r\n",
        b"PING\n", b"SUB a\n 1\r\n", b"PUB a..b 0\r\n\r\n", b"PUB a\rb 0\r\n\r\n",
    ],
    "strict": [
        b"PING\n", b"PINGS\r\n", b"PUB a..b 0\r\n", b"SUB a* 1\r\n", b"PUB a.* 0\r\n",
        b"CONNECT{}\r\n", b"UNSUB 1 x\r\n", b"SUB a\rb 1\r\n",
    ],
    "server_to_client": [b"MSG a x 1\r\n", b"MSG a 1 -1\r\n", b"PUB a 0\r\n", b"INFO{}\r\n", b"+x"],
    "route": [
        b"RMSG $G a x q 1\r\n", b"RMSG $G a\r\n", b"RS+ $G a q\r\n", b"LMSG o $G a 2\r\n",
        b"A+ a b\r\n", b"MSG $G a 1\r\n", b"A*",
    ],
    "leaf": [b"LS+ a q\r\n", b"RS+ $G a\r\n", b"HMSG a 2 1\r\n"],
    "route_legacy": [b"SUB a\r\n", b"UNSUB\r\n", b"RMSG $G a 1\r\n", b"RS+ $G a\r\n", b"\r\n"],
}  # fmt: skip

_ROW = 3  # words
_SIZE = len(example())

#: Images, with what each is damaged at.
IMAGES: list[Any] = [
    b"", b"a", b"subtrie\n", b"subtrie\n" * 32, "a", None, 7,
    Damage(FLAGS, 0),
    *[Damage(length=length) for length in (7, 8, 16, 255, 256, _SIZE - 8, _SIZE - 1, _SIZE + 8)],
    Damage(0, 0), Damage(VERSION, 0), Damage(VERSION, 3), Damage(VERSION, 3, keeps_sums=True),
    Damage(FLAGS, 8), Damage(FLAGS, 1, keeps_sums=True), Damage(NEXT_ID, 9, keeps_sums=True),
    Damage(LISTS, 33), Damage(BLOCKS + 1, 2**64 - 1), Damage(BLOCKS + 1, 0), Damage(NAMES + 1, 0),
    Damage(NAMES + 1, 2**61), Damage(ROW_COUNT, 3), Damage(ROW_COUNT, 2**63),
    Damage(1, 5, ROW_WORDS, keeps_sums=True),
    Damage(NEXT_ID, 4), Damage(PATTERN_COUNT, 1), Damage(PATTERN_COUNT, 2**64 - 1),
    Damage(0, 1, BLOCKS), Damage(0, 1 << 32 | 1, BLOCKS), Damage(0, 1 | 2**63, BLOCKS),
    Damage(1, 0, BLOCKS), Damage(1, 2**64 - 1, BLOCKS), Damage(3, 0x2E2E2E, BLOCKS),
    Damage(3, 0xFFFFFF, BLOCKS),
    Damage(0, 2, ROW_WORDS), Damage(0, 3, ROW_WORDS),
    Damage(1, 0, ROW_WORDS), Damage(1, 7, ROW_WORDS), Damage(1, 7 << 32, ROW_WORDS),
    Damage(_ROW + 1, 2**32 - 1, ROW_WORDS), Damage(3 * _ROW + 1, 0, ROW_WORDS),
    Damage(0, 0, NAMES), Damage(0, 9, NAMES), Damage(0, 2**64 - 1, NAMES),
    Damage(1, 0x20, NAMES), Damage(1, 0x2A, NAMES), Damage(1, 0xFF, NAMES),
]  # fmt: skip


def questions() -> Iterator[Question]:
    """Every call of the table, in its order."""
    for name in ("check_subject", "check_pattern"):
        for dialect in ("strict", "server"):
            for text in TEXTS:
                yield name, {"text": text, "dialect": dialect}
    for queue in QUEUES:
        yield "SubjectTrie.add", {"pattern": "a", "value": 0, "queue": queue}
    for image in IMAGES:
        yield "SubjectTrie.from_bytes", {"image": image}
    for name, argument, values in _CHECKS:
        for value in values:
            yield name, {argument: value}
    for kind in KINDS_OF_NAMES:
        for text in TEXTS:
            yield "check_name", {"text": text, "kind": kind}
    for conn, streams in STREAMS.items():
        for stream in streams:
            yield "Parser.feed", {"conn": conn, "data": stream}
    for name, right, tried in _CALLS:
        for argument, values in tried.items():
            for value in values:
                yield name, {**right, argument: value}


def answer(engine: Any, name: str, arguments: dict[str, Any]) -> dict[str, Any]:
    """Return the answer of an engine to a question, in the form of the table."""
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            value = _call(engine, name, arguments)
    except SubtrieError as error:
        return {
            "error": type(error).__name__,
            "reason": error.reason,
            "position": error.position,
            "field": error.field,
            "status": error.status,
        }
    except TypeError:
        return {"error": "TypeError"}
    return {"answer": plain(value)}


def _call(engine: Any, name: str, arguments: dict[str, Any]) -> Any:
    if name == "SubjectTrie.add":
        return engine.SubjectTrie().add(**arguments).queue
    if name == "Parser.feed":
        strict = arguments["conn"] == "strict"
        parser = engine.Parser(
            "client" if strict else arguments["conn"], dialect="strict" if strict else "server"
        )
        return tuple(bytes(op).decode() for op in parser.feed(arguments["data"]))
    if name == "SubjectTrie.from_bytes":
        image = arguments["image"]
        image = image.image() if isinstance(image, Damage) else image
        return len(engine.SubjectTrie.from_bytes(image))
    if name in ("check_subject", "check_pattern", "check_name"):
        return getattr(engine, name)(**arguments)
    if len(arguments) == 1:
        return getattr(engine, name)(*arguments.values())
    return getattr(engine, name)(**arguments)


def plain(value: Any) -> Any:
    """A value as JSON, a long text by its length and digest."""
    if isinstance(value, str):
        if len(value) <= LONG:
            return str(value)
        digest = hashlib.sha256(value.encode("utf-8", "surrogatepass")).hexdigest()[:16]
        return {"length": len(value), "sha256": digest}
    if isinstance(value, tuple):
        return [plain(item) for item in value]
    if value is None or isinstance(value, bool | int):
        return value
    return {
        "address": type(value).__name__,
        **{slot: plain(getattr(value, slot)) for slot in value.__dataclass_fields__},
    }


def written(value: Any) -> Any:
    """An argument as JSON: a long text as what is repeated, how often, and its end."""
    if isinstance(value, Damage):
        return {"damage": value.written()}
    if isinstance(value, bytes):
        return {"bytes": value.decode()}
    if not isinstance(value, str) or len(value) <= LONG:
        return value
    for size in (1, 2):
        for head in range(40):
            unit = value[head : head + size]
            times = (len(value) - head) // size
            tail = value[head + times * size :]
            if value == value[:head] + unit * times + tail:
                return {"text": [value[:head], unit, times, tail]}
    raise ValueError(f"no short form of {value[:40]!r}")


def read(value: Any) -> Any:
    """The argument that ``written`` wrote."""
    if isinstance(value, dict):
        if "damage" in value:
            return Damage(**value["damage"])
        if "bytes" in value:
            return value["bytes"].encode()
        head, unit, times, tail = value["text"]
        return head + unit * times + tail
    return value


def row(name: str, arguments: dict[str, Any]) -> str:
    """One line of the table, answered by the reference."""
    asked = {name: written(value) for name, value in arguments.items()}
    return json.dumps({"call": name, "with": asked, **answer(reference, name, arguments)})


if __name__ == "__main__":
    for question in questions():
        print(row(*question))
