"""The vectors, through the public function and command."""

from __future__ import annotations

import base64
import json
import shutil
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest
from click.testing import CliRunner

from subtrie import conformance, reference
from subtrie._cli.app import app
from subtrie._nats.limits import CONTROL_LINE
from subtrie.conformance import _kinds_permissions, _kinds_wire
from subtrie.conformance._kind import Refusal

VECTORS = Path(__file__).parents[1] / "vectors"

UNKNOWN = {
    "go_subjects.jsonl": {},
    "go_more.jsonl": {},
    "go_connector.jsonl": {},
    "microbus.jsonl": {},
    "nats_match.jsonl": {},
    "deployments.jsonl": {},
    "nats_queues.jsonl": {},
    "nats_wire.jsonl": {},
    "permissions.jsonl": {},
}


@pytest.mark.requirement("M-09")
@pytest.mark.parametrize("name", ["native", "reference"])
@pytest.mark.parametrize("file", sorted(UNKNOWN))
def test_every_vector_file_passes(file, name):
    report = conformance.run([VECTORS / file], engine=name)
    assert not report.failed, str(report)
    assert not report.unreadable
    assert report.unknown == UNKNOWN[file]
    with (VECTORS / file).open(encoding="utf-8") as lines:
        assert report.rows == sum(1 for _ in lines)


def test_every_vector_file_is_named_here():
    assert {file.name for file in VECTORS.glob("*.jsonl")} == set(UNKNOWN)


def test_a_directory_and_a_list_of_files_say_the_same():
    whole = conformance.run(VECTORS)
    listed = conformance.run(sorted(VECTORS.glob("*.jsonl")))
    assert whole.as_dict() == listed.as_dict()
    assert whole.files == len(UNKNOWN)


def test_a_module_is_an_engine_too(engine):
    report = conformance.run(VECTORS / "go_more.jsonl", engine=engine)
    assert report
    assert report.engine == engine.__name__


def test_runs_with_different_engines_in_two_threads_do_not_disturb_each_other(rows):
    row = {
        "id": "p", "kind": "perm", "op": "sub", "subject": "a.>", "queue": "",
        "sub_allow": ["a.>"], "expect": True, "deliver": [],
    }  # fmt: skip
    file = rows(*[row] * 200)

    class Denying:
        """An engine whose rules cover nothing."""

        def __getattr__(self, name):
            return getattr(reference, name)

        def rules_witness(self, *_):
            return "a.b", None

    with ThreadPoolExecutor(2) as threads:
        fair = threads.submit(conformance.run, file, engine="reference")
        denying = threads.submit(conformance.run, file, engine=Denying())
    assert (fair.result().passed, fair.result().failed) == (200, 0)
    assert (denying.result().passed, denying.result().failed) == (0, 200)


class _Stubborn:
    """An engine that answers every grammar question with yes."""

    def check_subject(self, text: str, *args: object, **kwargs: object) -> None:
        """Takes everything."""

    check_pattern = check_subject

    def matches(self, pattern: str, subject: str) -> bool:
        return True


@pytest.fixture
def rows(tmp_path):
    def write(*rows: object) -> Path:
        file = tmp_path / "rows.jsonl"
        text = "\n".join(row if isinstance(row, str) else json.dumps(row) for row in rows)
        file.write_text(text + "\n", encoding="utf-8")
        return file

    return write


RIGHT = {"id": "r", "kind": "match_literal", "literal": "a.b", "filter": "a.*", "expect": True}
WRONG = {"id": "w", "kind": "match_literal", "literal": "a.b", "filter": "a.*", "expect": False}


def test_an_engine_that_errs_is_found_out(rows):
    refusable = {"id": "b", "kind": "valid", "subject": "a..b", "expect": False}
    report = conformance.run(rows(RIGHT, WRONG, refusable), engine=_Stubborn())
    assert (report.rows, report.passed, report.failed) == (3, 1, 2)
    assert not report
    assert [failure.id for failure in report.failures] == ["w", "b"]
    assert report.failures[0].line == 2


def test_an_engine_that_lacks_a_function_fails_the_row_and_not_the_run(rows):
    row = {"id": "x", "op": "flatten_host", "in": {"host": "a"}, "out": "a"}
    report = conformance.run(rows(row), engine=_Stubborn())
    assert report.failed == 1
    assert "AttributeError" in report.failures[0].got


@pytest.mark.parametrize("name", ["native", "reference"])
@pytest.mark.parametrize(
    ("row", "passes"),
    [
        pytest.param({"op": "validate_plane", "in": {"plane": "a.b"}, "out": False}, True, id="no"),
        pytest.param(
            {"op": "validate_plane", "in": {"plane": "a.b"}, "out": True, "differs": "A6"},
            True,
            id="differs-wants-a-refusal",
        ),
        pytest.param(
            {"op": "validate_plane", "in": {"plane": "ab"}, "out": True, "differs": "A6"},
            False,
            id="differs-is-not-content-with-an-answer",
        ),
        pytest.param(
            {"op": "validate_plane", "in": {"plane": ""}, "out": True, "strict": "reject"},
            True,
            id="reject-wants-a-refusal",
        ),
        pytest.param(
            {"op": "flatten_host", "in": {"host": "A.b"}, "out": "A_b", "differs": "A74 folded"},
            False,
            id="differs-without-ours-wants-a-refusal",
        ),
        pytest.param(
            {
                "op": "flatten_host",
                "in": {"host": "A.b"},
                "out": "A_b",
                "differs": "A74 folded",
                "ours": "a_b",
            },
            True,
            id="ours",
        ),
        pytest.param(
            {"op": "flatten_host", "in": {"host": "ab"}, "out": None, "error": True},
            False,
            id="error-wants-a-refusal",
        ),
        pytest.param(
            {
                "op": "normalize_subscription_method",
                "in": {"method": "X"},
                "out": {"error": 404},
            },
            False,
            id="error-wants-its-status",
        ),
        pytest.param(
            {
                "kind": "subset",
                "subject": "a",
                "filter": "*b",
                "expect": True,
                "strict": False,
                "quirk": True,
            },
            True,
            id="quirk-wants-strict",
        ),
        pytest.param(
            {
                "kind": "match",
                "patterns": ["a.>.b", "a"],
                "rejected_patterns": [0],
                "subject": "a",
                "expect": {"plain": [1], "queues": {}},
            },
            True,
            id="rejected",
        ),
        pytest.param(
            {
                "kind": "match",
                "patterns": ["a.b", "a"],
                "rejected_patterns": [0],
                "subject": "a",
                "expect": {"plain": [1], "queues": {}},
            },
            False,
            id="rejected-but-taken",
        ),
        pytest.param(
            {
                "kind": "match",
                "patterns": ["foo.>", "foo.*", "foo.x"],
                "subject": "foo.>",
                "expect": {"plain": [0, 1], "queues": {}},
            },
            True,
            id="published-wildcard-is-text",
            marks=pytest.mark.requirement("A17"),
        ),
    ],
)
def test_expected_answers_of_rows(rows, row, passes, name):
    assert bool(conformance.run(rows({"id": "r", **row}), engine=name)) is passes


@pytest.mark.requirement("A2")
@pytest.mark.parametrize("name", ["native", "reference"])
@pytest.mark.parametrize(("serves_666", "rules"), [(False, 5), (True, 6)])
def test_five_rules_always_and_one_for_the_trust_root(rows, serves_666, rules, name):
    wanted = {
        "pub": ["{{plane}}.safe.888.a_b.>", "{{plane}}.reply._.a_b.>"],
        "sub": [
            "{{plane}}.safe.*.*.a_b.>",
            "{{plane}}.reply._.*.a_b.*",
            "{{plane}}.safe.888.*.all.>",
            "{{plane}}.danger.666.*.a_b.>",
        ][: rules - 2],
    }
    row = {
        "op": "acl_standard_rules",
        "in": {"self": "a.b", "has_666": serves_666},
        "out": wanted,
    }
    assert conformance.run(rows(row), engine=name)
    wanted["sub"].reverse()
    assert not conformance.run(rows(row), engine=name)


def test_unknown_kinds_and_invalid_lines_are_reported(rows):
    file = rows(RIGHT, {"kind": "telepathy"}, "{half a row", "[]", {"id": "nameless"}, "")
    report = conformance.run(file)
    assert report.unknown == {"telepathy": 1}
    assert len(report.unreadable) == 4
    assert (report.rows, report.passed, report.failed, bool(report)) == (6, 1, 0, False)
    assert report.as_dict()["ok"] is False


def test_a_report_in_words(rows):
    """At most five failures of a kind are told, with their places and both answers."""
    bad = {"op": "acl_subsumes", "in": {"a": "a..b", "b": "x"}, "out": True}
    wrong = [{**WRONG, "id": f"w{n}"} for n in range(7)]
    file = rows(RIGHT, *wrong, {"kind": "telepathy"}, bad, "7")
    report = conformance.run([file, file], engine="reference")
    told = str(report).splitlines()
    assert told[0] == "engine reference, 2 files, 22 rows"
    assert told[1] == "  acl_subsumes                          2 rows,      0 passed, 2 FAILED"
    assert (
        told[2:4]
        == [
            "    rows.jsonl:10 : expected True, got a refusal (empty-token) with status 400",
        ]
        * 2
    )
    assert told[4] == "  match_literal                        16 rows,      2 passed, 14 FAILED"
    assert told[5:10] == [
        f"    rows.jsonl:{n + 2} w{n}: expected False, got True" for n in range(5)
    ]
    assert told[10] == "  telepathy                             2 rows, UNKNOWN kind"
    assert told[11:13] == ["  UNREADABLE rows.jsonl:11: not a JSON object but int"] * 2
    assert told[13:] == ["2 passed, 16 failed, 2 of unknown kind, 2 unreadable"]
    data = report.as_dict()
    assert {name: data[name] for name in ("engine", "ok", "files", "rows", "passed", "failed")} == {
        "engine": "reference", "ok": False, "files": 2, "rows": 22, "passed": 2, "failed": 16,
    }  # fmt: skip
    assert list(data["kinds"]) == ["acl_subsumes", "match_literal"]
    assert data["kinds"]["acl_subsumes"] | {"failures": None} == {
        "rows": 2, "passed": 0, "failed": 2, "failures": None,
    }  # fmt: skip
    assert data["kinds"]["match_literal"]["failures"][0] == {
        "file": "rows.jsonl", "line": 2, "id": "w0", "wanted": "False", "got": "True",
    }  # fmt: skip
    assert (data["unknown"], len(data["unreadable"])) == ({"telepathy": 2}, 2)
    assert json.loads(command(file, file, "--engine", "reference", "--json")[1]) == data
    assert command(file, file, "--engine", "reference")[1] == f"{report}\n"


def test_a_long_answer_is_cut(rows):
    for length, cut in ((199, False), (200, True)):  # with a quote at each end
        row = {"op": "flatten_host", "in": {"host": "a"}, "out": "x" * (length - 1)}
        (failure,) = conformance.run(rows(row), engine="reference").failures
        assert failure.wanted.endswith(f"… ({length + 1} characters)") is cut
        assert len(failure.wanted) <= 200 + cut * 20


def _negated(answer):
    """Return another answer of the same form."""
    if isinstance(answer, bool):
        return not answer
    if isinstance(answer, str | list):
        return [] if isinstance(answer, list) and answer else answer + type(answer)("x")
    if isinstance(answer, dict) and answer and "error" not in answer:
        return {key: [value] for key, value in answer.items()}
    return None


@pytest.mark.parametrize("name", ["reference"])
def test_another_answer_of_a_row_fails(rows, name):
    """A kind that judges nothing would let every engine pass."""
    seen: dict[str, list[dict[str, object]]] = {}
    for file in sorted(VECTORS.glob("*.jsonl")):
        for line in file.read_bytes().splitlines():
            row = json.loads(line)
            key = "expect" if "expect" in row else "out"
            if "differs" in row or row.get("error") or row.get("quirk") or "strict" in row:
                continue
            other = _negated(row.get(key))
            kind = f"{row.get('kind')} {row.get('op')} {row.get(key)!s:.5}"
            if other is not None and len(seen.setdefault(kind, [])) < 2:
                seen[kind].append({**row, key: other})
    made = [each for some in seen.values() for each in some]
    report = conformance.run(rows(*made), engine=name)
    passed = {kind: each.passed for kind, each in report.kinds.items() if each.passed}
    assert not passed
    assert len(report.kinds) > 40


class _Lying:
    """The reference with other functions in place of some."""

    def __init__(self, **lies):
        self.__dict__ |= lies

    def __getattr__(self, name):
        return getattr(reference, name)


def _instead(made, **lies):
    """Return an object that answers as another one does, except for some names."""

    class Other:
        def __getattr__(self, name):
            if name not in lies:
                return getattr(made, name)
            lie = lies[name]
            return (lambda *given: lie(getattr(made, name)(*given))) if callable(lie) else lie

        def __len__(self):
            return len(made)

        def __eq__(self, other):
            return True

        def __bytes__(self):
            return lies["bytes"](made) if "bytes" in lies else bytes(made)

    return Other()


@pytest.mark.parametrize(
    "lies",
    [
        {"match": lambda found: found[1:]},
        {"match": lambda found: (*found, 7)},
        {"count": lambda found: found + 1},
        {"has_interest": lambda found: not found},
        {"select": lambda found: found[1:]},
        {"select": lambda found: (7, *found[1:])},
    ],
    ids=lambda lies: next(iter(lies)),
)
def test_the_methods_of_an_index_must_agree_with_each_other(rows, lies):
    row = {"kind": "match", "patterns": ["a.*", {"s": "a.b", "q": "w"}, "b"], "subject": "a.b",
           "expect": {"plain": [0], "queues": {"w": [1]}}}  # fmt: skip
    file = rows(row, {**row, "server_num_interest": [1, 0]})
    assert conformance.run(file, engine="reference")

    def index(**options):
        return _instead(reference.SubjectTrie(**options), **lies)

    assert conformance.run(file, engine=_Lying(SubjectTrie=index)).failed == 2
    assert not conformance.run(rows({**row, "server_num_interest": [0, 0]}), engine="reference")


def test_an_index_must_refuse_a_wildcard_that_is_published(rows):
    class Lenient:
        def __init__(self, **options):
            self._made = reference.SubjectTrie(**options)

        def __getattr__(self, name):
            return getattr(self._made, name)

        def match(self, subject):
            return () if "*" in subject else self._made.match(subject)

    row = {"kind": "match", "patterns": ["a.*"], "subject": "a.*",
           "expect": {"plain": [0], "queues": {}}}  # fmt: skip
    assert conformance.run(rows(row), engine="reference")
    assert not conformance.run(rows(row), engine=_Lying(SubjectTrie=Lenient))


_PING = base64.b64encode(b"PING\r\n").decode()


def _wire_row(**expect):
    answer = {"ops": [], "complete": True, "error": None, **expect}
    return {"conn": "client", "chunks_b64": [_PING], "expect": answer}


@pytest.mark.parametrize(
    "lies",
    [
        {"op": {"raw": b"PONG\r\n"}},
        {"op": {"raw": b"PING"}},
        {"op": {"bytes": lambda op: b"PING\r\n" if op.raw.islower() else b"ping\r\n"}},
        {"parser": {"offset": 7}},
        {"chunk": 1},
        {"chunk": 6},
    ],
)
def test_a_parser_must_agree_with_itself(rows, lies):
    """In the bytes of an operation, its canonical form, and every division into chunks."""
    file = rows(_wire_row())
    assert conformance.run(file, engine="reference")

    class Parser:
        def __init__(self, *given, **options):
            made = reference.Parser(*given, **options)
            self._made = _instead(made, **lies.get("parser", {}))

        def __getattr__(self, name):
            return getattr(self._made, name)

        def feed(self, data):
            found = [_instead(op, **lies.get("op", {})) for op in self._made.feed(data)]
            return [] if len(data) == lies.get("chunk") else found

    assert not conformance.run(file, engine=_Lying(Parser=Parser))


def test_a_complete_row_without_operations_leaves_them_open_unless_it_expects_an_error(rows):
    for expect, passes in (
        ({}, True), ({"error": "unknown-op"}, False), ({"complete": False}, False),
    ):  # fmt: skip
        assert bool(conformance.run(rows(_wire_row(**expect)), engine="reference")) is passes
    assert _kinds_wire._options({"opts": None})["max_control_line"] == CONTROL_LINE


def test_a_common_subject_must_be_one_of_both_patterns(rows):
    row = {"kind": "collide", "a": "a.*", "b": "*.b", "expect": True}
    assert conformance.run(rows(row), engine="reference")
    for lie in ("a.c", "c.b", "a..b"):
        engine = _Lying(overlaps=lambda *_, lie=lie: lie)
        assert not conformance.run(rows(row), engine=engine)


def test_an_answer_of_another_type_is_another_answer(rows):
    for wanted, passes in ((True, True), (1, False), (1.0, False)):
        row = {"kind": "valid", "subject": "a", "expect": wanted}
        assert bool(conformance.run(rows(row), engine="reference")) is passes
    wildcard = {"kind": "has_wildcard", "subject": "a b.c"}
    assert conformance.run(rows({**wildcard, "expect": False}), engine="reference")
    assert not conformance.run(rows({**wildcard, "expect": True}), engine="reference")
    judge = _kinds_permissions.KINDS["perm"].judge
    assert [judge(Refusal(), got) for got in (False, None, True)] == [True, True, False]


def test_a_panic_fails_its_row_and_an_interrupt_ends_the_run(rows):
    class Panic(BaseException):
        """As pyo3 raises one."""

    def raising(error):
        def fail(*_):
            raise error

        return _Lying(flatten_host=fail)

    file = rows({"op": "flatten_host", "in": {"host": "a"}, "out": "a"})
    (failure,) = conformance.run(file, engine=raising(Panic("lost"))).failures
    assert failure.got == "'Panic: lost'"
    for error in (KeyboardInterrupt, SystemExit):
        with pytest.raises(error):
            conformance.run(file, engine=raising(error))


def test_files_in_folders_of_a_folder_are_read_in_order(rows, tmp_path):
    text = rows(WRONG).read_text()
    for name in ("c/1.jsonl", "a/2.jsonl", "b/deep/3.jsonl"):
        (tmp_path / "all" / name).parent.mkdir(parents=True)
        (tmp_path / "all" / name).write_text(text)
    report = conformance.run(tmp_path / "all", engine="reference")
    assert report.files == 3
    assert [each.file for each in report.failures] == ["2.jsonl", "3.jsonl", "1.jsonl"]


def test_missing_paths_are_errors(tmp_path):
    with pytest.raises(FileNotFoundError):
        conformance.run(tmp_path / "missing.jsonl")
    with pytest.raises(FileNotFoundError):
        conformance.run(tmp_path)
    with pytest.raises(ValueError, match="engine must be"):
        conformance.run(VECTORS, engine="nonsense")


def command(*arguments: object) -> tuple[int, str]:
    done = CliRunner().invoke(app, ["conformance", *map(str, arguments)])
    return done.exit_code, done.output


def test_the_command_exits_with_0_1_or_2(rows, tmp_path):
    assert command(rows(RIGHT))[0] == 0
    assert command(rows(WRONG))[0] == 1
    assert command(rows({"kind": "telepathy"}))[0] == 1
    assert command(tmp_path / "missing.jsonl")[0] == 2
    empty = tmp_path / "empty"
    empty.mkdir()
    assert command(empty)[0] == 2
    assert command()[0] == 2


@pytest.mark.parametrize("name", ["native", "reference"])
def test_the_command_on_files_of_another_directory(tmp_path, name):
    for file in ("go_subjects.jsonl", "go_more.jsonl"):
        shutil.copy(VECTORS / file, tmp_path)
    code, output = command(tmp_path, "--engine", name, "--json")
    report = json.loads(output)
    assert (code, report["ok"], report["engine"]) == (0, True, name)
    assert report["kinds"]["encode_request"]["rows"] == 927
    assert report["rows"] == report["passed"] == 2113 + 682


def test_every_kind_is_explained():
    from subtrie.conformance._run import _KINDS

    guide = (VECTORS.parent.parent / "docs" / "conformance.md").read_text(encoding="utf-8")
    missing = {name for _, name in _KINDS if f"`{name}`" not in guide}
    assert not missing
    assert all(f"`{name}`" in guide for kinds in UNKNOWN.values() for name in kinds)


def test_json_nested_too_deep_is_unreadable(tmp_path):
    """Bug: it ended the run."""
    file = tmp_path / "deep.jsonl"
    file.write_text(
        "[" * 200_000 + "\n" + '{"op": "flatten_host", "in": {"host": "a"}, "out": "a"}\n'
    )
    report = conformance.run(file)
    assert (len(report.unreadable), report.passed, bool(report)) == (1, 1, False)


def _recorded(subject: str, payload: bytes) -> dict[str, object]:
    data = base64.b64encode(payload).decode()
    return {"kind": "request", "subject": subject, "bytes": data, "meaning": "a request"}


def _chunk(direction: str, data: bytes) -> dict[str, object]:
    return {"t": 0.1, "conn": 3, "dir": direction, "data": base64.b64encode(data).decode()}


@pytest.mark.parametrize("name", ["native", "reference"])
def test_rows_of_a_recording_are_recognised_by_their_fields(rows, name):
    subject = "p.safe.443.a_b.c_d._.GET.x"
    payload = b"GET https://c.d:443/x HTTP/1.1\r\nHost: c.d:443\r\nMicrobus-From-Host: a.b\r\n\r\n"
    answer = b"HTTP/1.1 200 OK\r\nContent-Length: 2\r\nMicrobus-From-Host: c.d\r\n\r\nhi"
    file = rows(
        _recorded(subject, payload),
        _recorded(subject, payload.replace(b"a.b", b"a.c")),  # another source
        _recorded(subject, payload.replace(b"Host: c.d:443\r\n", b"host: c.d:443\r\n", 1)),
        _recorded(subject + "..", payload),
        _chunk("c2s", b"PUB a.b 2\r\nh"),
        {**_chunk("c2s", b"PING\r\n"), "conn": 4},
        _chunk("s2c", b"MSG a.b 1 2\r\nhi\r\n"),
        _chunk("c2s", b"i\r\nPING\r\n"),
        _chunk("c2s", b"NONSENSE\r\n"),
        _recorded("p.reply._.c_d.a_b.id-x", answer),
        _recorded("p.reply._.c_e.a_b.id-x", answer),  # another source
    )
    report = conformance.run(file, engine=name)
    assert not report.unknown
    assert not report.unreadable
    assert [failure.line for failure in report.failures] == [2, 3, 4, 11, 9]
    assert set(report.kinds) == {"recorded message", "recorded chunk"}
