//! Arrow columns: rows equal the results for single subjects, and malformed arrays are rejected.

#![allow(clippy::unwrap_used, clippy::panic)]
#![allow(unsafe_code)] // to build malformed arrays

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use subtrie::ErrorKind;

use arrow_array::cast::AsArray;
use arrow_array::types::Int32Type;
use arrow_array::{Array, DictionaryArray, Int32Array, LargeStringArray, StringArray};
use arrow_buffer::Buffer;
use arrow_data::ArrayData;
use arrow_schema::DataType;
use subtrie::grammar::Dialect;
use subtrie::raw::{Index, LookupTarget, Scratch};
use subtrie_columns::{
    BatchError, Column, LookupSource, Offsets, Text, decode_columns, decoded_fields, match_columns,
    nearest_columns,
};

const REQUEST: &str = "p.safe.443.web_shop.orders_shop._.GET.order";

fn rows() -> Vec<Option<&'static str>> {
    vec![
        Some(REQUEST),
        None,
        Some("a..b"),
        Some("p.reply._.a.b.id-1"),
        Some(REQUEST),
    ]
}

fn index() -> Index {
    let mut index = Index::new(Dialect::Server, Dialect::Server.bounds());
    for pattern in ["p.>", "p.safe.*.*.orders_shop.>", "q.*"] {
        index.insert(pattern, None).unwrap();
    }
    index
}

#[test]
fn the_nearest_patterns_of_a_column_equal_those_of_its_rows() {
    let index = index();
    let rows = || {
        let more = [Some("q.a.b"), Some("p"), Some("r"), None];
        rows().into_iter().chain(more)
    };
    let plain = StringArray::from(rows().collect::<Vec<_>>());
    let coded: DictionaryArray<Int32Type> = rows().collect();
    for data in [plain.to_data(), coded.to_data()] {
        let found = nearest_columns(&index, &[Column::new(data).unwrap()]).unwrap();
        let mut scratch = Scratch::default();
        for (row, subject) in rows().enumerate() {
            let wanted = subject
                .and_then(|subject| index.explain(subject, 1, &mut scratch).ok())
                .and_then(|explanation| explanation.nearest.first().copied())
                .map_or((-1, -1), |(subscription, token)| {
                    (
                        subscription.id.try_into().unwrap(),
                        token.try_into().unwrap(),
                    )
                });
            assert_eq!(
                (found.ids[row], found.differs_at[row]),
                wanted,
                "{subject:?}"
            );
        }
        assert_eq!((found.ids[5], found.differs_at[5]), (2, 2));
    }
}

#[test]
fn matching_a_column_equals_matching_its_rows() {
    let index = index();
    let plain = StringArray::from(rows());
    let large = LargeStringArray::from(rows());
    let coded: DictionaryArray<Int32Type> = rows().into_iter().collect();
    for data in [plain.to_data(), large.to_data(), coded.to_data()] {
        for threads in [1, 2, 9] {
            let columns = [
                Column::new(data.clone()).unwrap(),
                Column::new(data.clone()).unwrap(),
            ];
            let found = match_columns(&index, &columns, threads).unwrap();
            let Offsets::Short(offsets) = &found.offsets else {
                panic!("few rows need no int64");
            };
            let ids: &[i32] = found.ids.typed_data();
            let mut scratch = Scratch::default();
            for (row, subject) in rows().into_iter().chain(rows()).enumerate() {
                let mut wanted = Vec::new();
                let valid =
                    subject.is_some_and(|s| index.match_into(s, &mut scratch, &mut wanted).is_ok());
                let wanted: Vec<i32> = wanted.iter().map(|t| t.id.try_into().unwrap()).collect();
                let [start, end] = [0, 1].map(|next| usize::try_from(offsets[row + next]).unwrap());
                assert_eq!(ids[start..end], wanted);
                assert_eq!(found.valid[row / 8] >> (row % 8) & 1 == 1, valid);
            }
        }
    }
}

#[test]
fn decoding_a_column() {
    let column = Column::new(StringArray::from(rows()).into_data()).unwrap();
    let decoded = decode_columns(&[column], &decoded_fields()).unwrap();
    let kinds = decoded
        .column(0)
        .as_primitive::<arrow_array::types::Int8Type>();
    assert_eq!(
        kinds.iter().collect::<Vec<_>>(),
        [Some(1), None, Some(0), Some(2), Some(1)]
    );
    assert!(decoded.is_null(1));
    assert_eq!(
        decoded
            .column_by_name("path")
            .unwrap()
            .as_string::<i32>()
            .value(0),
        "/order"
    );
}

#[test]
fn a_dictionary_is_looked_at_once_a_value() {
    let coded: DictionaryArray<Int32Type> = rows().into_iter().collect();
    let column = Column::new(coded.into_data()).unwrap();
    assert_eq!((column.len(), column.value_count()), (5, 3));
    assert_eq!(column.key(1), None);
    assert_eq!(column.value(column.key(4).unwrap()), Text::Valid(REQUEST));
    // No value at all, and every key null.
    let empty = DictionaryArray::<Int32Type>::try_new(
        Int32Array::from(vec![None, None]),
        Arc::new(StringArray::from(Vec::<&str>::new())),
    );
    let column = Column::new(empty.unwrap().into_data()).unwrap();
    assert_eq!((column.len(), column.key(0)), (2, None));
}

#[test]
fn bytes_that_are_not_utf8_have_a_reason() {
    let bytes = arrow_array::BinaryArray::from(vec![&b"ok"[..], b"\xff", b"a\xed\xa0\x80"]);
    let column = Column::new(bytes.into_data()).unwrap();
    assert_eq!(column.value(1), Text::Invalid(ErrorKind::Utf8, 0));
    assert_eq!(column.value(2), Text::Invalid(ErrorKind::Surrogate, 1));
}

#[test]
fn malformed_arrays_are_rejected() {
    let numbers = Int32Array::from(vec![1, 2]).into_data();
    assert!(Column::new(numbers).is_err());
    let offsets = |offsets: [i32; 3]| {
        let builder = ArrayData::builder(DataType::Utf8)
            .len(2)
            .add_buffer(Buffer::from_slice_ref(offsets))
            .add_buffer(Buffer::from_slice_ref(b"abcd"));
        // SAFETY: unsound on purpose; the column must validate it before reading.
        unsafe { builder.build_unchecked() }
    };
    assert!(Column::new(offsets([0, 2, 4])).is_ok());
    for bad in [[0, 9, 4], [0, 3, 2], [-1, 2, 4], [0, 2, 900]] {
        assert!(Column::new(offsets(bad)).is_err(), "{bad:?}");
    }
}

/// An index that becomes unreadable after some chunks, as one whose change panicked.
struct Closing {
    index: Index,
    left: AtomicUsize,
}

impl LookupSource for Closing {
    type Refused = &'static str;

    fn with_target(&self, work: &mut dyn FnMut(LookupTarget<'_>)) -> Result<(), &'static str> {
        let left = self.left.fetch_sub(1, Ordering::Relaxed);
        if left == 0 {
            return Err("closed");
        }
        work(LookupTarget::Index(&self.index));
        Ok(())
    }
}

#[test]
fn a_batch_of_an_index_that_cannot_be_read_has_no_result() {
    let subjects: Vec<String> = (0..1000).map(|n| format!("a.{n}")).collect();
    let column = Column::new(StringArray::from(subjects).into_data()).unwrap();
    for (chunks, threads) in [(0, 1), (2, 1), (3, 2)] {
        let mut index = Index::new(Dialect::Strict, Dialect::Strict.bounds());
        index.insert("a.*", None).unwrap();
        let left = AtomicUsize::new(chunks);
        let source = Closing { index, left };
        let found = match_columns(&source, std::slice::from_ref(&column), threads);
        assert!(matches!(found, Err(BatchError::Refused("closed"))));
    }
}
