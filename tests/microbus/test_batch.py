"""Whole columns: every Arrow layout, nulls, invalid UTF-8; rows equal scalar answers."""

from __future__ import annotations

import ctypes
import random
import threading

import pyarrow as pa
import pytest

import subtrie
from subtrie._core.address import ReplyAddress

REQUEST = "p.safe.443.web_shop.orders_shop._.GET.order.17%2ea"
REPLY = "p.reply._.orders_shop.web_shop.id-abc"
SUBJECTS = [REQUEST, None, REPLY, "foo..bar", "p.safe.666.a.b._.GET.x", "", "a.*", REQUEST, "é"]

LAYOUTS = {
    "list": list,
    "tuple": tuple,
    "generator": iter,
    "string": lambda rows: pa.array(rows, pa.string()),
    "large_string": lambda rows: pa.array(rows, pa.large_string()),
    "string_view": lambda rows: pa.array(rows, pa.string_view()),
    "binary": lambda rows: pa.array([r and r.encode() for r in rows], pa.binary()),
    "dictionary": lambda rows: pa.array(rows, pa.string()).dictionary_encode(),
    "dictionary of views": lambda rows: pa.DictionaryArray.from_arrays(
        pa.array(range(len(rows)), pa.int16()), pa.array(rows, pa.string_view())
    ),
    "sliced": lambda rows: pa.array(["x", *rows, "y"], pa.string()).slice(1, len(rows)),
    "chunked": lambda rows: pa.chunked_array([rows[:2], [], rows[2:]], pa.string()),
    "interface": lambda rows: _Interface(pa.array(rows, pa.string())),
}


class _Interface:
    """An array of another library, with the Arrow C interface only."""

    def __init__(self, inner):
        self._inner = inner

    def __arrow_c_array__(self, requested_schema=None):
        return self._inner.__arrow_c_array__(requested_schema)


def expected(engine, subject):
    """The row a batch must hold, from the scalar function."""
    if subject is None:
        return None
    names = ["kind", "plane", "trust", "port", "source", "host", "slot", "method", "path", "reason"]
    row = dict.fromkeys(names)
    try:
        address = engine.decode(subject)
    except subtrie.AddressError as error:
        return {**row, "kind": 0, "reason": error.reason}
    if isinstance(address, ReplyAddress):
        parts = {"source": address.source, "host": address.host, "slot": address.id}
        return {**row, **parts, "kind": 2, "plane": address.plane, "trust": "reply"}
    return {**row, **{name: getattr(address, name) for name in names[1:9]}, "kind": 1}


@pytest.mark.parametrize("layout", LAYOUTS)
def test_decode_batch_equals_decode(engine, layout):
    batch = engine.decode_batch(LAYOUTS[layout](SUBJECTS))
    rows = [expected(engine, subject) for subject in SUBJECTS]
    assert [batch[index] for index in range(len(batch))] == rows
    assert pa.array(batch).to_pylist() == rows
    assert batch[-1] == rows[-1]
    assert batch[-len(SUBJECTS)] == rows[0]
    for beyond in [len(SUBJECTS), -len(SUBJECTS) - 1]:
        with pytest.raises(IndexError):
            batch[beyond]


def test_decode_batch_has_one_schema(engine):
    names = pa.dictionary(pa.int32(), pa.string())
    wanted = pa.struct(
        [
            ("kind", pa.int8()),
            ("plane", names),
            ("trust", names),
            ("port", pa.int32()),
            ("source", names),
            ("host", names),
            ("slot", names),
            ("method", names),
            ("path", pa.string()),
            ("reason", names),
        ]
    )
    for rows in ([], [None], SUBJECTS):
        assert pa.array(engine.decode_batch(rows)).type == wanted


def test_decode_batch_makes_the_fields_that_are_asked_for(engine):
    whole = pa.array(engine.decode_batch(SUBJECTS))
    for fields in [("port", "kind"), ["reason"], ("path",), ["host", "kind", "trust"]]:
        batch = engine.decode_batch(SUBJECTS, fields=fields)
        found = pa.array(batch)
        assert [field.name for field in found.type] == list(fields)
        assert found.is_null().equals(whole.is_null())
        assert all(found.field(name).equals(whole.field(name)) for name in fields)
        assert [None if row is None else list(row) for row in batch] == [
            None if row is None else list(fields) for row in whole.to_pylist()
        ]
    assert pa.array(engine.decode_batch([], fields=iter(["kind"]))).type == pa.struct(
        [("kind", pa.int8())]
    )


@pytest.mark.parametrize(
    ("fields", "error", "said"),
    [
        ("kind", TypeError, "fields are several names, not one str"),
        (7, TypeError, "not iterable"),
        (["kind", "family"], ValueError, "no field 'family'; the fields are kind, plane, trust, "),
        (["kind", 3], ValueError, "no field 3; the fields are kind, "),
        (["kind", "port", "kind"], ValueError, "the field 'kind' twice; the fields are kind, "),
        ((), ValueError, "no field at all; the fields are kind, "),
    ],
)
def test_fields_that_do_not_exist_are_refused(engine, fields, error, said):
    with pytest.raises(error, match=said):
        engine.decode_batch(SUBJECTS, fields=fields)


def make_trie(engine):
    trie = engine.SubjectTrie(dialect="server")
    for number, pattern in enumerate(["p.>", "p.safe.443.*.orders_shop._.GET.>", "é", "foo.*"]):
        trie.add(pattern, f"value {number}", queue="q" if number == 1 else None)
    trie.remove(trie.add("p.>", "gone"))
    trie.add("p.>", "again")
    return trie


@pytest.mark.parametrize("threads", [1, 3])
@pytest.mark.parametrize("layout", LAYOUTS)
def test_match_batch_equals_match(engine, layout, threads):
    trie = make_trie(engine)
    found = trie.match_batch(LAYOUTS[layout](SUBJECTS), threads=threads)
    assert len(found) == len(SUBJECTS)
    offsets, ids = list(found.offsets), list(found.ids)
    assert len(offsets) == len(SUBJECTS) + 1
    lists = []
    for row, subject in enumerate(SUBJECTS):
        try:
            wanted = None if subject is None else trie.subscriptions(subject)
        except subtrie.SubjectError:
            wanted = None
        assert bool(found.valid[row // 8] >> row % 8 & 1) is (wanted is not None)
        assert ids[offsets[row] : offsets[row + 1]] == [each.id for each in wanted or ()]
        assert found.values(row) == tuple(each.value for each in wanted or ())
        lists.append(None if wanted is None else [each.id for each in wanted])
    arrow = pa.array(found)
    assert arrow.type == pa.list_(pa.int32())
    assert arrow.to_pylist() == lists
    assert (found.offsets.format, found.ids.format) == ("i", "i")
    assert found.offsets.readonly


def test_values_are_those_at_the_time_of_the_call(engine):
    trie = engine.SubjectTrie()
    subscription = trie.add("a", "kept")
    found = trie.match_batch(["a"])
    trie.remove(subscription)
    assert found.values(0) == ("kept",)
    assert found.values(-1) == ("kept",)
    for beyond in [1, -2]:
        with pytest.raises(IndexError):
            found.values(beyond)


def test_bytes_that_are_not_utf8(engine):
    data = [b"ok", b"\xff", b"a\xed\xa0\x80", b"caf\xc3", None]
    column = pa.array(data, pa.binary())
    batch = engine.decode_batch(column)
    reasons = [row and row["reason"] for row in pa.array(batch).to_pylist()]
    assert reasons[1:] == ["utf8", "surrogate", "utf8", None]
    assert list(engine.SubjectTrie().match_batch(column).valid) == [0b00001]
    assert engine.decode_batch(["a\ud800"])[0]["reason"] == "surrogate"


@pytest.mark.parametrize(("dialect", "valid"), [("strict", [0]), ("server", [0, 5, 6])])
def test_bytes_that_are_not_utf8_match_nothing_in_any_dialect(engine, dialect, valid):
    trie = engine.SubjectTrie(dialect=dialect)
    trie.add(">", "all")
    data = [b"ok", b"\xff", b"a\xed\xa0\x80", b"caf\xc3", None, b"caf\xc3\xa9", b"a.\xc3\xa9.b"]
    found = trie.match_batch(pa.array(data, pa.binary()))
    for row in range(len(data)):
        assert found.values(row) == (("all",) if row in valid else ())
    assert found.valid[0] == sum(1 << row for row in valid)


def test_only_bytes_of_an_encoded_surrogate_are_named_as_one(engine):
    """They begin with those of U+D800 to U+DFFF, whole or cut off."""
    reasons = {
        b"\xed\xa0\x80": "surrogate", b"a\xed\xbf\xbf": "surrogate", b"\xed\xa0": "surrogate",
        b"\xed\x9f": "utf8", b"a\xed\x80": "utf8", b"\xed": "utf8", b"\xedx": "utf8",
        b"\xed\xc0\x80": "utf8", b"\xee\xa0": "utf8", b"\xec\xa0": "utf8",
    }  # fmt: skip
    batch = engine.decode_batch(pa.array(list(reasons), pa.binary()))
    assert [batch[row]["reason"] for row in range(len(reasons))] == list(reasons.values())


@pytest.mark.parametrize(
    ("given", "error"),
    [
        ("a.b", TypeError),
        (3, TypeError),
        (["a", 3], TypeError),
        ([b"a"], TypeError),
        (pa.array([1, 2]), ValueError),
        (pa.array([["a"]]), ValueError),
        (pa.DictionaryArray.from_arrays([0, 1], ["a"], safe=False), (ValueError, IndexError)),
        (pa.DictionaryArray.from_arrays([-1], ["a"], safe=False), (ValueError, IndexError)),
    ],
    ids=str,
)
def test_wrong_columns_are_refused(engine, given, error):
    with pytest.raises(error):
        engine.decode_batch(given)
    with pytest.raises(error):
        engine.SubjectTrie().match_batch(given)


@pytest.mark.parametrize("rows", [[3], ["a", None, 3], ["a", b"b"]], ids=str)
def test_the_row_that_is_not_text_is_named(engine, rows):
    said = f"row {len(rows) - 1} must be str or None, not {type(rows[-1]).__name__}"
    for batch in [engine.decode_batch, engine.SubjectTrie().match_batch]:
        with pytest.raises(TypeError, match=said):
            batch(iter(rows))


class _FailingStream:
    """A stream of columns whose producer fails."""

    def __arrow_c_stream__(self, requested_schema=None):
        def batches():
            raise OSError("the disk is gone")
            yield

        schema = pa.schema([("subject", pa.string())])
        return pa.RecordBatchReader.from_batches(schema, batches()).__arrow_c_stream__()


def test_a_stream_that_fails_is_not_a_shorter_column():
    from subtrie import _subtrie

    for batch in [_subtrie.decode_batch, _subtrie.SubjectTrie().match_batch]:
        with pytest.raises(ValueError, match=r"the Arrow stream failed: .*the disk is gone"):
            batch(_FailingStream())


def test_threads_below_one_are_refused(engine):
    with pytest.raises(ValueError, match="threads"):
        engine.SubjectTrie().match_batch(["a"], threads=0)


@pytest.mark.parametrize("threads", [1, 3, 7])
def test_a_large_dictionary_equals_its_values(engine, threads):
    trie = engine.SubjectTrie()
    trie.update((f"a.{n}", n) for n in range(0, 1_000, 3))
    subjects = [f"a.{n}" if n % 5 else f"a..{n}" for n in range(1_000)]
    rows = [subjects[n * 7 % 1_000] if n % 11 else None for n in range(1_500)]
    column = pa.array(rows).dictionary_encode()
    found = trie.match_batch(column, threads=threads)
    flat = trie.match_batch(rows)
    assert (list(found.ids), list(found.offsets)) == (list(flat.ids), list(flat.offsets))
    assert list(found.valid) == list(flat.valid)
    assert 0 < len(found.ids) < len(rows)


def test_an_id_beyond_int32_is_refused_by_batches(engine):
    trie = engine.SubjectTrie()
    trie.__setstate__((2**31 - 1, ()))
    last = trie.add("a.b", "last")
    assert (last.id, list(trie.match_batch(["a.b"]).ids)) == (2**31 - 1, [2**31 - 1])
    trie.add("a.*", "beyond")
    trie.add("only", "beyond")
    for column in [["a.b"], ["only"], pa.array(["x", "a.b"]).dictionary_encode()]:
        with pytest.raises(OverflowError):
            trie.match_batch(column)
    assert trie.match_batch(["b"]).values(0) == ()
    assert trie.match("a.b") == ("last", "beyond")


def test_an_id_beyond_int32_is_refused_as_the_nearest():
    from subtrie import _subtrie

    trie = _subtrie.SubjectTrie()
    trie.__setstate__((2**31 - 1, ()))
    trie.add("a.b", None)
    ids, tokens = _subtrie.nearest_batch(trie, ["a.c", None, "a.b", "a..b"])
    assert (list(ids), list(tokens)) == ([2**31 - 1, -1, -1, -1], [1, -1, -1, -1])
    trie.add("x.y", None)
    assert list(_subtrie.nearest_batch(trie, ["a.c"])[0]) == [2**31 - 1]
    with pytest.raises(OverflowError):
        _subtrie.nearest_batch(trie, ["a.c", "x.z"])


def test_the_nearest_patterns_of_a_dictionary_are_those_of_its_rows():
    from subtrie import _subtrie

    trie = _subtrie.SubjectTrie()
    for pattern in ("a.b", "x.y.z", "q"):
        trie.add(pattern, None)
    rows = ["x.y.a", "a.c", None, "x.y.a", "q", "a.c", "x.y.a"]
    found = [list(each) for each in _subtrie.nearest_batch(trie, rows)]
    assert found == [[1, 0, -1, 1, -1, 0, 1], [2, 1, -1, 2, -1, 1, 2]]
    column = pa.array(rows).dictionary_encode()
    assert [list(each) for each in _subtrie.nearest_batch(trie, column)] == found


@pytest.mark.parametrize("threads", [10**9, 10**30])
def test_threads_without_end_are_not_started(engine, threads):
    trie = engine.SubjectTrie()
    trie.add("a.*", 1)
    found = trie.match_batch([f"a.{n}" for n in range(40_000)], threads=threads)
    assert found.offsets[-1] == 40_000


@pytest.mark.parametrize("threads", [0, -1, -(10**30)])
def test_fewer_threads_than_one_are_refused(engine, threads):
    with pytest.raises(ValueError, match="threads must be at least 1"):
        engine.SubjectTrie().match_batch(["a"], threads=threads)


class _Capsules:
    def __init__(self, array):
        self._pair = array.__arrow_c_array__()

    def __arrow_c_array__(self, requested_schema=None):
        return self._pair


def test_an_array_passed_twice_is_refused():
    from subtrie import _subtrie

    once = _Capsules(pa.array(["a.b"]))
    assert len(_subtrie.decode_batch(once)) == 1
    with pytest.raises(ValueError, match="has been released"):
        _subtrie.decode_batch(once)


def test_an_array_released_by_another_reader_is_refused():
    from subtrie import _subtrie

    array = pa.array(["a.b", None])
    once = _Capsules(array)
    pa.array(once)
    with pytest.raises(ValueError, match="has been released"):
        _subtrie.SubjectTrie().match_batch(once)


class _ArrowArray(ctypes.Structure):
    """The head of the interface's structure."""

    _fields_ = [(name, ctypes.c_int64) for name in ("length", "null_count", "offset")]


@pytest.mark.parametrize("field", ["length", "offset"])
@pytest.mark.parametrize("number", [-1, -(2**63), 2**62, 2**63 - 1])
def test_impossible_lengths_of_arrays_are_refused(field, number):
    from subtrie import _subtrie

    broken = _Capsules(pa.array(["a.b"]))
    pointer = ctypes.pythonapi.PyCapsule_GetPointer
    pointer.restype, pointer.argtypes = ctypes.c_void_p, [ctypes.py_object, ctypes.c_char_p]
    head = _ArrowArray.from_address(pointer(broken.__arrow_c_array__()[1], b"arrow_array"))
    setattr(head, field, number)
    with pytest.raises(ValueError, match="malformed"):
        _subtrie.decode_batch(broken)


@pytest.mark.parametrize("kind", ["Batch", "Matches"])
def test_results_cannot_be_constructed(engine, kind):
    with pytest.raises(TypeError):
        getattr(engine, kind)()


def test_a_large_batch_from_many_threads_equals_the_scalar_answers(engine):
    random.seed(7)
    words = ["a", "b", "c", "*"]
    trie = engine.SubjectTrie()
    for number in range(200):
        trie.add(".".join(random.choices(words, k=random.randint(1, 4))), number)
    subjects = [".".join(random.choices(words[:3], k=random.randint(1, 5))) for _ in range(5000)]
    for threads in (1, 4):
        found = trie.match_batch(pa.array(subjects), threads=threads)
        for row in range(0, 5000, 37):
            assert found.values(row) == trie.match(subjects[row])


@pytest.mark.parametrize("threads", [0, -1, -(2**70)])
def test_threads_below_one_are_a_value_error_however_low(engine, threads):
    """Bug: a negative number overflowed in the native engine."""
    with pytest.raises(ValueError, match="threads must be at least 1"):
        engine.SubjectTrie().match_batch(["a"], threads=threads)


@pytest.mark.parametrize("threads", [5000, 2**70])
def test_more_threads_than_a_machine_has_change_nothing(engine, threads):
    """Bug: as many threads were started as were named."""
    trie = engine.SubjectTrie()
    trie.add("a.*", 0)
    before = threading.active_count()
    assert bytes(trie.match_batch(["a.b"] * 20_000, threads=threads).ids) == bytes(80_000)
    assert threading.active_count() == before


@pytest.mark.parametrize("nulls", [0, 1, 9])
def test_a_column_of_the_null_type_is_a_column_of_nulls(engine, nulls):
    """Bug: what pyarrow makes of no rows, or of nulls alone, was refused."""
    column = pa.nulls(nulls)
    for given in (column, pa.chunked_array([column])):
        assert pa.array(engine.decode_batch(given)).to_pylist() == [None] * nulls
        matches = engine.SubjectTrie().match_batch(given)
        assert pa.array(matches).to_pylist() == [None] * nulls
