//! A column of texts, whatever Arrow layout it came in.
//!
//! Text is read as bytes and checked row by row: what a producer calls UTF-8 is not believed, and
//! neither are its offsets and keys.

use arrow_array::cast::AsArray;
use arrow_array::{Array, BinaryArray, BinaryViewArray, LargeBinaryArray, make_array};
use arrow_data::ArrayData;
use arrow_schema::{ArrowError, DataType};

/// One row of a column.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Text<'a> {
    /// A null.
    Null,
    /// Proper text.
    Valid(&'a str),
    /// Bytes that are no UTF-8, with the reason and the first offending byte.
    Invalid(&'static str, usize),
}

/// A column: its values, and for a dictionary which value each row holds.
pub struct Column {
    values: Values,
    keys: Option<Vec<Option<usize>>>,
}

enum Values {
    Short(BinaryArray),
    Long(LargeBinaryArray),
    View(BinaryViewArray),
}

impl Column {
    /// Takes string, `large_string`, `string_view` and binary arrays, and dictionaries of them;
    /// the null type too.
    ///
    /// Cost: offsets and keys are checked once; the text is neither read nor copied.
    pub fn new(data: ArrayData) -> Result<Self, ArrowError> {
        if matches!(data.data_type(), DataType::Null) {
            // What producers make of no rows, or of nulls alone.
            return Ok(Self {
                values: Values::Short(BinaryArray::from_vec(Vec::new())),
                keys: Some(vec![None; data.len()]),
            });
        }
        if !matches!(data.data_type(), DataType::Dictionary(..)) {
            return Ok(Self {
                values: Values::new(data)?,
                keys: None,
            });
        }
        data.validate_data()?;
        let rows = data.len();
        let values = Values::new(data.child_data()[0].clone())?;
        let array = make_array(data);
        let dictionary = array.as_any_dictionary();
        // `normalized_keys` wants a value to point at; without one every key is null.
        let keys = if values.len() == 0 {
            vec![None; rows]
        } else {
            let nulls = dictionary.keys().nulls();
            let present = |row| nulls.is_none_or(|nulls| nulls.is_valid(row));
            let keys = dictionary.normalized_keys();
            keys.into_iter()
                .enumerate()
                .map(|(row, key)| present(row).then_some(key))
                .collect()
        };
        Ok(Self {
            values,
            keys: Some(keys),
        })
    }

    /// Number of rows.
    #[must_use]
    pub fn len(&self) -> usize {
        self.keys
            .as_ref()
            .map_or_else(|| self.values.len(), Vec::len)
    }

    /// Is there no row?
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Is every value a row, in the same order?
    #[must_use]
    pub fn is_plain(&self) -> bool {
        self.keys.is_none()
    }

    /// Number of values to look at: fewer than rows where the column is a dictionary.
    #[must_use]
    pub fn distinct(&self) -> usize {
        self.values.len()
    }

    /// The value at `index`, below [`Column::distinct`].
    #[must_use]
    pub fn value(&self, index: usize) -> Text<'_> {
        self.values.get(index)
    }

    /// The bytes of that value, text or not; `None` where it is null.
    #[must_use]
    #[inline]
    pub fn bytes(&self, index: usize) -> Option<&[u8]> {
        self.values.bytes(index)
    }

    /// Which value row `row` holds; `None` is a null key.
    #[must_use]
    pub fn key(&self, row: usize) -> Option<usize> {
        self.keys.as_ref().map_or(Some(row), |keys| keys[row])
    }
}

impl Values {
    fn new(data: ArrayData) -> Result<Self, ArrowError> {
        let bytes = match data.data_type() {
            DataType::Utf8 | DataType::Binary => DataType::Binary,
            DataType::LargeUtf8 | DataType::LargeBinary => DataType::LargeBinary,
            DataType::Utf8View | DataType::BinaryView => DataType::BinaryView,
            other => {
                return Err(ArrowError::InvalidArgumentError(format!(
                    "a column of subjects holds strings, not {other}"
                )));
            }
        };
        // `build` checks offsets and views against the buffers.
        let data = data.into_builder().data_type(bytes.clone()).build()?;
        Ok(match bytes {
            DataType::Binary => Self::Short(data.into()),
            DataType::LargeBinary => Self::Long(data.into()),
            _ => Self::View(data.into()),
        })
    }

    fn len(&self) -> usize {
        match self {
            Self::Short(array) => array.len(),
            Self::Long(array) => array.len(),
            Self::View(array) => array.len(),
        }
    }

    fn bytes(&self, index: usize) -> Option<&[u8]> {
        let (null, bytes) = match self {
            Self::Short(array) => (array.is_null(index), array.value(index)),
            Self::Long(array) => (array.is_null(index), array.value(index)),
            Self::View(array) => (array.is_null(index), array.value(index)),
        };
        (!null).then_some(bytes)
    }

    fn get(&self, index: usize) -> Text<'_> {
        let Some(bytes) = self.bytes(index) else {
            return Text::Null;
        };
        match std::str::from_utf8(bytes) {
            Ok(text) => Text::Valid(text),
            Err(error) => {
                let at = error.valid_up_to();
                Text::Invalid(reason_of(&bytes[at..]), at)
            }
        }
    }
}

/// A surrogate smuggled into bytes is named as Python names it.
const fn reason_of(bytes: &[u8]) -> &'static str {
    match bytes {
        [0xed, 0xa0..=0xbf, ..] => "surrogate",
        _ => "utf8",
    }
}
