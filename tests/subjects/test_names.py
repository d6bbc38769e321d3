"""Names by ADR-6: every production, every level, at its bounds and byte by byte."""

from __future__ import annotations

import asyncio
import json

import nats
import pytest
from hypothesis import given
from hypothesis import strategies as st

import subtrie
from engines import ENGINES
from servers import serving
from subtrie import InvalidName, names

PRINTABLE = "".join(map(chr, range(33, 127)))
LETTERS = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789"


def without(characters: str, excluded: str) -> str:
    return "".join(character for character in characters if character not in excluded)


TERM = without(PRINTABLE, ".*>")
FILE = without(PRINTABLE, ".*>/\\")

#: Each class as its own text says it, one character a time.
CLASSES = [
    pytest.param("printable", PRINTABLE, id="printable", marks=pytest.mark.requirement("S2-023")),
    pytest.param("term", TERM, id="term", marks=pytest.mark.requirement("S2-024")),
    pytest.param(
        "limited-term", LETTERS + "-_/=", id="limited-term", marks=pytest.mark.requirement("S2-025")
    ),
    pytest.param(
        "limited-term-w-sp",
        LETTERS + "-_/= ",
        id="limited-term-w-sp",
        marks=pytest.mark.requirement("S2-026"),
    ),
    pytest.param(
        "restricted-term",
        LETTERS + "-_",
        id="restricted-term",
        marks=pytest.mark.requirement("S2-027"),
    ),
    pytest.param(
        "prefix", without(TERM, "$"), id="prefix", marks=pytest.mark.requirement("S2-028")
    ),
    pytest.param(
        "filename-safe", FILE, id="filename-safe", marks=pytest.mark.requirement("S2-029", "S2-043")
    ),
    pytest.param("stream", FILE, id="stream", marks=pytest.mark.requirement("S2-003", "S2-032")),
    pytest.param("durable", FILE, id="durable", marks=pytest.mark.requirement("S2-033")),
    pytest.param(
        "consumer", FILE, id="consumer", marks=pytest.mark.requirement("S2-004", "S2-034")
    ),
    pytest.param("account", FILE, id="account", marks=pytest.mark.requirement("S2-005", "S2-035")),
    pytest.param("queue", TERM, id="queue", marks=pytest.mark.requirement("S2-036", "A39")),
    pytest.param(
        "kv-bucket", LETTERS + "-_", id="kv-bucket", marks=pytest.mark.requirement("S2-040")
    ),
    pytest.param(
        "os-bucket", LETTERS + "-_", id="os-bucket", marks=pytest.mark.requirement("S2-041")
    ),
    pytest.param("reply-to", TERM, id="reply-to", marks=pytest.mark.requirement("S2-031")),
    pytest.param("kv-key", LETTERS + "-_/=", id="kv-key", marks=pytest.mark.requirement("S2-039")),
    pytest.param("dot", ".", id="dot", marks=pytest.mark.requirement("S2-008")),
    pytest.param("asterisk", "*", id="asterisk", marks=pytest.mark.requirement("S2-009")),
    pytest.param("lt", "<", id="less-than", marks=pytest.mark.requirement("S2-010")),
    pytest.param("gt", ">", id="greater-than", marks=pytest.mark.requirement("S2-011")),
    pytest.param("dollar", "$", id="dollar", marks=pytest.mark.requirement("S2-012")),
    pytest.param("colon", ":", id="colon", marks=pytest.mark.requirement("S2-013")),
    pytest.param("double-quote", '"', id="double-quote", marks=pytest.mark.requirement("S2-014")),
    pytest.param("fwd-slash", "/", id="slash", marks=pytest.mark.requirement("S2-015")),
    pytest.param("backslash", "\\", id="backslash", marks=pytest.mark.requirement("S2-016")),
    pytest.param("pipe", "|", id="pipe", marks=pytest.mark.requirement("S2-017")),
    pytest.param("question-mark", "?", id="question-mark", marks=pytest.mark.requirement("S2-018")),
    pytest.param("ampersand", "&", id="ampersand", marks=pytest.mark.requirement("S2-019")),
    pytest.param("dash", "-", id="dash", marks=pytest.mark.requirement("S2-020")),
    pytest.param("underscore", "_", id="underscore", marks=pytest.mark.requirement("S2-021")),
    pytest.param("equals", "=", id="equals", marks=pytest.mark.requirement("S2-022")),
]


@pytest.mark.parametrize(("kind", "members"), CLASSES)
def test_the_characters_of_each_class(engine, kind, members):
    taken = "".join(chr(code) for code in range(0x180) if engine.check_name(chr(code), kind))
    assert sorted(taken) == sorted(members)
    empty = engine.check_name("", kind)
    assert (empty.reason, empty.position) == ("name-empty", 0)


@pytest.mark.requirement("A43")
@pytest.mark.parametrize(("kind", "members"), CLASSES)
def test_the_position_of_a_wrong_character(engine, kind, members):
    """Unused classes of the page included."""
    wrong = "\x7f"
    report = engine.check_name(members[:1] + wrong, kind)
    if kind in ("printable", *names._SINGLES):
        assert (report.reason, report.position, report.rule) == ("name-single", 1, kind)
    else:
        assert (report.reason, report.position) == ("name-character", 1)
    assert not report
    assert report.legal


@pytest.mark.requirement("S2-029", "A41")
@pytest.mark.parametrize("kind", ["filename-safe", "stream", "durable", "consumer", "account"])
def test_a_name_has_at_most_255_characters(engine, kind):
    assert engine.check_name("a" * 255, kind)
    report = engine.check_name("a" * 256, kind)
    assert (report.reason, report.position, report.rule) == (
        "name-too-long", 255, "filename-safe",
    )  # fmt: skip
    early = engine.check_name("." + "a" * 400, kind)
    assert (early.reason, early.position) == ("name-character", 0)
    late = engine.check_name("a" * 300 + ".", kind)
    assert (late.reason, late.position) == ("name-too-long", 255)


@pytest.mark.requirement("S2-044", "A42")
def test_what_windows_excludes_too(engine):
    for kind in ("filename-safe", "stream", "durable", "consumer", "account"):
        for character in PRINTABLE:
            unix = engine.check_name(f"a{character}", kind)
            windows = engine.check_name(f"a{character}", kind, windows=True)
            if character in '<:"|?':
                assert unix
                assert (windows.reason, windows.position) == ("name-character", 1)
            else:
                assert bool(unix) == bool(windows)
        assert engine.check_name("a" * 255, kind, windows=True)
        assert not engine.check_name("a" * 256, kind, windows=True)
    assert engine.check_name("a<b", "queue", windows=True), "only file names are narrowed"


@pytest.mark.requirement("S2-045")
@pytest.mark.parametrize(
    "name",
    [
        "", ".", "..", "/", "a/b", "../a", "/a", "a/", "a\0", "\0", "a" * 256, "a\\b",
        *(f"a{chr(code)}" for code in range(32)), "\ud800",
    ],
)  # fmt: skip
@pytest.mark.parametrize("kind", ["stream", "consumer", "durable", "account", "filename-safe"])
def test_a_name_that_no_path_can_hold_is_refused(engine_in_use, name, kind):
    """Refuse what a file system refuses, or reads as more than one part."""
    with pytest.raises(InvalidName) as refused:
        names.check_name(name, kind).require()
    assert refused.value.hint.startswith("valid: ")


@pytest.mark.requirement("S2-045")
def test_every_valid_name_of_a_file_is_one_part_of_a_path(engine, tmp_path):
    for name in [*(f"a{character}" for character in FILE), *FILE, FILE, "a" * 255]:
        assert engine.check_name(name, "stream"), name
        (tmp_path / name).touch()
        assert {each.name for each in tmp_path.iterdir()} == {name}
        (tmp_path / name).unlink()


@pytest.mark.requirement("A42")
@pytest.mark.parametrize(
    "name",
    ["CON", "con", "Nul", "AUX", "PRN", "CONIN$", "conout$", "con.x", "nul .x.y"]
    + [f"{port}{number}" for port in ("COM", "lpt") for number in range(1, 10)],
)
def test_device_names_are_valid_and_not_portable(engine, name):
    report = engine.check_name(name, "stream")
    assert report if "." not in name and " " not in name else not report
    for kind in ("stream", "durable", "consumer", "account", "filename-safe"):
        assert not engine.check_name(name, kind).portable
    assert engine.check_name(name, "queue").portable, "a queue is no file"


@pytest.mark.requirement("A42")
@pytest.mark.parametrize("name", ["CONS", "COM", "COM0", "COM10", "ORDERS", "NUL_", "x.con",
                                  " con", ""])  # fmt: skip
def test_names_similar_to_devices_are_portable(engine, name):
    assert engine.check_name(name, "stream").portable


@pytest.mark.requirement("A42")
@pytest.mark.parametrize("name", ["con ", "orders ", "orders."])
def test_names_that_end_with_a_dot_or_space_are_not_portable(engine, name):
    assert not engine.check_name(name, "stream").portable


@pytest.mark.requirement("S2-046", "A40")
def test_keys_of_the_key_value_store_are_reserved(engine):
    for key, taken in [("_kv", True), ("_kvx", True), ("_kv.a", True), ("a._kv", False),
                       ("_KV", False)]:  # fmt: skip
        report = engine.check_name(key, "kv-key")
        assert report, "reserved and valid are two answers"
        assert (report.reserved is not None) is taken
    assert engine.check_name("_kv", "stream").reserved is None


@pytest.mark.requirement("S2-047", "S2-048", "A45a")
@pytest.mark.parametrize("kind", ["stream", "durable", "consumer"])
def test_the_level_of_the_go_client(engine, kind):
    for text in ("a*b", "a>b", "a/b", "a b", "é", "x" * 1000, "\0"):
        assert engine.check_name(text, kind, level="go-client")
    report = engine.check_name("é.b", kind, level="go-client")
    assert (report.reason, report.position, report.rule) == ("name-character", 2, "go-client")
    assert not engine.check_name("", kind, level="go-client")


@pytest.mark.requirement("S2-049", "A45a")
@pytest.mark.parametrize("kind", ["stream", "durable", "consumer"])
def test_the_level_of_the_command_line_tool(engine, kind):
    refused = {c for c in map(chr, range(256)) if not engine.check_name(f"a{c}", kind, level="cli")}
    assert refused == set(".*>/\\")


@pytest.mark.requirement("A45a")
def test_other_kinds_know_one_level(engine):
    for level in names.LEVELS:
        assert not engine.check_name("a b", "account", level=level)
        assert not engine.check_name("a b", "queue", level=level)


@pytest.mark.requirement("S2-001")
def test_each_rule_names_its_source():
    rules = names.rules()
    assert {rule.source for rule in rules} == {names.ADR6}
    assert names.ADR6[1:] == ("2021-08-17", "@scottf", "Approved", ("server", "client"))
    assert len({rule.name for rule in rules}) == len(rules) == 35
    assert {rule.name for rule in rules if not rule.used} == {"ampersand", "limited-term-w-sp"}
    assert all(rule.name in names.KINDS and rule.legal and rule.production for rule in rules)


@pytest.mark.requirement("A62")
@pytest.mark.parametrize(
    ("subject", "era"),
    [("$SYS.x", "nats-server 2.0 and later"), ("_SYS.x", "before nats-server 2.0")],
)
def test_both_system_prefixes_are_reserved_with_their_versions(engine, subject, era):
    report = engine.check_name(subject, "subject")
    assert report
    assert report.reserved.era == era
    assert names.reserved("orders.new") is None


#: The spaces that ADR-6, nats-server, its clients and NATS Streaming take for themselves.
SPACES = [
    *("$SYS", "_SYS", "$JS", "$KV", "$O", "$SRV", "$MQTT", "$NRG", "$JSC", "$LDS", "$GNR", "$GR"),
    *("_GR_", "_R_", "_INBOX", "_STAN"),
]


@pytest.mark.parametrize("space", SPACES)
def test_each_reserved_space_is_told_with_its_owner(space):
    assert len(SPACES) == len(names.RESERVED)
    for kind, text in (
        ("subject", f"{space}.x"),
        ("pattern", f"{space}.>"),
        ("reply-to", f"{space}.x"),
    ):
        found = names.check_name(text, kind).reserved
        assert found is not None
        assert found.prefix == f"{space}."
        assert found.owner
        assert found.era
        assert found == names.reserved(text)
    for text in (space, f"{space}x.y", f"x.{space}.y", space.lower().swapcase() + "x"):
        assert names.reserved(text) is None
    assert names.check_name(f"{space}.x", "stream").reserved is None


@pytest.mark.parametrize(("kind", "text", "level", "windows", "legal"), [
    ("stream", "A.B", "adr6", False, "printable ASCII but '.', '*', '>', '/', '\\', at most 255"),
    ("stream", "A:B", "adr6", True,
     "printable ASCII but '.', '*', '<', '>', ':', '\"', '/', '\\', '|', '?', at most 255"),
    ("queue", "A.B", "adr6", True, "printable ASCII but '.', '*', '>'"),
    ("stream", "A.B", "go-client", False, "any text without '.' that is not empty; the server"),
    ("stream", "A.B", "cli", False, "any text without '.', '*', '>', '/', '\\' that is not empty"),
    ("os-object", "\ud800", "adr6", False, "text that UTF-8 can encode"),
    ("subject", "a..b", "adr6", False, "tokens of printable ASCII joined by single dots"),
    ("pattern", "a..b", "adr6", False, "tokens of printable ASCII joined by single dots; '*' and"),
    ("dot", "x", "adr6", False, "'.' alone"),
    ("kv-bucket", "a.b", "adr6", False, "letters, digits, '-', '_'"),
    ("kv-key", "a..b", "adr6", False, "letters, digits, '-', '_', '/', '=' in parts joined by"),
])  # fmt: skip
def test_what_would_be_legal_is_that_of_the_rule_that_fails(kind, text, level, windows, legal):
    report = names.check_name(text, kind, level=level, windows=windows)
    assert not report
    assert report.legal.startswith(legal)


def test_arguments_of_the_wrong_type_are_refused(engine):
    for arguments in [(7, "stream"), ("a", 7), ("a", None), (b"a", "stream")]:
        with pytest.raises(TypeError):
            engine.check_name(*arguments)
    with pytest.raises(TypeError):
        engine.check_name("a", "stream", level=None, windows=1)
    with pytest.raises(TypeError):
        engine.check_name("a", "stream", windows=1)
    with pytest.raises(ValueError, match="kind 'strem' is not one of dot, asterisk"):
        engine.check_name("a", "strem")
    with pytest.raises(ValueError, match="level must be 'adr6', 'go-client' or 'cli', not 'x'"):
        engine.check_name("a", "stream", level="x")
    with pytest.raises(ValueError, match="kind"):
        engine.check_name("a", "\ud800")


def test_a_lone_surrogate_is_reported_like_any_other_fault(engine):
    report = engine.check_name("é\ud800", "os-object")
    assert (report.reason, report.position, bool(report)) == ("surrogate", 2, False)


def test_require_raises_the_error_of_the_report():
    assert subtrie.check_name("ORDERS", "stream").require() == "ORDERS"
    with pytest.raises(InvalidName, match="byte 1") as caught:
        subtrie.check_name("A.B", "stream").require()
    assert (caught.value.reason, caught.value.position) == ("name-character", 1)
    assert caught.value.hint.startswith("valid: printable ASCII but")


@pytest.mark.parametrize("windows", [False, True])
@pytest.mark.parametrize("kind", names.KINDS)
def test_every_report_says_what_would_be_legal(engine, kind, windows):
    """``legal`` of a fine subject once failed where Windows was asked for."""
    for text in ("a", ":", "", "\ud800"):
        for level in names.LEVELS:
            assert engine.check_name(text, kind, level=level, windows=windows).legal


TEXTS = st.text(alphabet=st.sampled_from("ab.*>$_kv/=- \\:é日😀\u0301\uff5e\ud800\0"), max_size=12)


@pytest.mark.requirement("M-09")
@given(TEXTS, st.sampled_from(sorted(names.KINDS)), st.sampled_from(names.LEVELS), st.booleans())
def test_both_engines_report_the_same(text, kind, level, windows):
    native, reference = (
        engine.check_name(text, kind, level=level, windows=windows) for engine in ENGINES.values()
    )
    assert native == reference
    assert native.legal == reference.legal


@given(TEXTS)
def test_every_subject_of_the_strict_dialect_is_one_of_adr6(text):
    """The two checks agree on all names within the limits."""
    report = subtrie.check_name(text, "subject")
    if report:
        subtrie.Subject(text)
        return
    with pytest.raises(subtrie.SubjectError) as caught:
        subtrie.Subject(text)
    assert report.position == caught.value.position


@pytest.mark.parametrize("text", ["valid", "not valid", ""])
def test_a_report_has_the_hash_of_an_equal_one(engine, text):
    """Python 3.14 keeps the hash in a tuple, also if its constructor did not make it."""
    report = engine.check_name(text, "stream")
    made = type(report)(*report)
    assert (made, hash(made)) == (report, hash(report))
    assert {made: "found"}[report] == "found"


#: Names of which a broker and ``names`` say the same; no name with a dot fits into the request.
OF_A_BROKER = [
    *(f"a{chr(code)}b" for code in range(33, 127) if chr(code) != "."),
    "a" * 255, "a" * 256, "CON", "_kv", "-", "=",
]  # fmt: skip


@pytest.mark.requirement("S2-045")
@pytest.mark.parametrize("kind", ["stream", "durable"])
def test_a_broker_refuses_the_names_that_are_refused_here(tmp_path, kind):
    """As errors of its API; it also takes names outside ASCII, which ADR-6 does not."""

    async def refused(url: str) -> set[str]:
        client = await nats.connect(url)

        async def fails(subject: str, body: object) -> bool:
            reply = await client.request(f"$JS.API.{subject}", json.dumps(body).encode(), 20)
            return "error" in json.loads(reply.data)

        assert not await fails("STREAM.CREATE.S", {"name": "S", "subjects": ["s"]})
        found = set()
        for number, name in enumerate(OF_A_BROKER):
            if kind == "stream":
                config = {"name": name, "subjects": [f"s{number}"], "storage": "memory"}
                failed = await fails(f"STREAM.CREATE.{name}", config)
            else:
                config = {"durable_name": name, "ack_policy": "explicit"}
                body = {"stream_name": "S", "config": config}
                failed = await fails(f"CONSUMER.DURABLE.CREATE.S.{name}", body)
            found |= {name} if failed else set()
        await client.close()
        return found

    store = f'jetstream {{ store_dir: "{tmp_path}/store" }}'
    with serving(tmp_path / "broker", store) as url:
        found = asyncio.run(refused(url))
    for engine in ENGINES.values():
        assert found == {name for name in OF_A_BROKER if not engine.check_name(name, kind)}
    assert found == {"a*b", "a>b", "a/b", "a\\b", "a" * 256}
