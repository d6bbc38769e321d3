//! A column of texts in any Arrow string layout.
//!
//! The producer is not trusted: text is read as bytes and validated as UTF-8 row by row, and offsets
//! and keys are validated once.

use arrow_array::cast::AsArray;
use arrow_array::{Array, BinaryArray, BinaryViewArray, LargeBinaryArray, make_array};
use arrow_data::ArrayData;
use arrow_schema::{ArrowError, DataType};
use subtrie::ErrorKind;

/// One value of a column.
///
/// # Examples
///
/// ```
/// use arrow_array::{Array, BinaryArray};
/// use subtrie::ErrorKind;
/// use subtrie_columns::{Column, Text};
///
/// let column = Column::new(BinaryArray::from(vec![&b"a\xff"[..]]).into_data())?;
/// assert_eq!(column.value(0), Text::Invalid(ErrorKind::Utf8, 1));
/// # Ok::<(), arrow_schema::ArrowError>(())
/// ```
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Text<'a> {
    /// Null.
    Null,
    /// Valid UTF-8.
    Valid(&'a str),
    /// Bytes that are not UTF-8: the reason, `Utf8` or `Surrogate`, and the offset of the first one.
    Invalid(ErrorKind, usize),
}

/// A column of texts: its values, and for a dictionary the value of each row.
///
/// # Examples
///
/// ```
/// use arrow_array::{Array, StringArray};
/// use subtrie_columns::{Column, Text};
///
/// let column = Column::new(StringArray::from(vec![Some("a.b"), None]).into_data())?;
/// assert_eq!((column.value(0), column.value(1)), (Text::Valid("a.b"), Text::Null));
/// # Ok::<(), arrow_schema::ArrowError>(())
/// ```
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
    /// Create a column from a string, `large_string`, `string_view` or binary array, a dictionary of
    /// one of them, or an array of the null type.
    ///
    /// Cost: offsets and keys are validated once; the text is neither read nor copied.
    ///
    /// # Errors
    ///
    /// `ArrowError` if the type is another one, or the offsets, views or keys are not valid.
    ///
    /// # Examples
    ///
    /// ```
    /// use arrow_array::{Array, Int32Array, StringArray};
    /// use subtrie_columns::Column;
    ///
    /// assert_eq!(Column::new(StringArray::from(vec!["a", "b"]).into_data())?.len(), 2);
    /// assert!(Column::new(Int32Array::from(vec![1]).into_data()).is_err());
    /// # Ok::<(), arrow_schema::ArrowError>(())
    /// ```
    pub fn new(data: ArrayData) -> Result<Self, ArrowError> {
        if matches!(data.data_type(), DataType::Null) {
            // Producers send this type for columns without rows or with nulls only.
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
        // `normalized_keys` requires at least one value; without values every key is null.
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

    /// Return the number of rows.
    ///
    /// # Examples
    ///
    /// ```
    /// use arrow_array::{Array, StringArray};
    /// use subtrie_columns::Column;
    ///
    /// assert_eq!(Column::new(StringArray::from(vec!["a", "b"]).into_data())?.len(), 2);
    /// # Ok::<(), arrow_schema::ArrowError>(())
    /// ```
    #[must_use]
    pub fn len(&self) -> usize {
        self.keys
            .as_ref()
            .map_or_else(|| self.values.len(), Vec::len)
    }

    /// Return whether there are no rows.
    ///
    /// # Examples
    ///
    /// ```
    /// use arrow_array::{Array, NullArray};
    /// use subtrie_columns::Column;
    ///
    /// assert!(Column::new(NullArray::new(0).into_data())?.is_empty());
    /// # Ok::<(), arrow_schema::ArrowError>(())
    /// ```
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Return whether rows and values are the same, that is, the column is not a dictionary.
    ///
    /// # Examples
    ///
    /// ```
    /// use arrow_array::types::Int32Type;
    /// use arrow_array::{Array, DictionaryArray};
    /// use subtrie_columns::Column;
    ///
    /// let rows: DictionaryArray<Int32Type> = ["a", "b", "a"].into_iter().collect();
    /// assert!(!Column::new(rows.into_data())?.is_plain());
    /// # Ok::<(), arrow_schema::ArrowError>(())
    /// ```
    #[must_use]
    pub fn is_plain(&self) -> bool {
        self.keys.is_none()
    }

    /// Return the number of values; in a dictionary it differs from the number of rows.
    ///
    /// # Examples
    ///
    /// ```
    /// use arrow_array::types::Int32Type;
    /// use arrow_array::{Array, DictionaryArray};
    /// use subtrie_columns::Column;
    ///
    /// let rows: DictionaryArray<Int32Type> = ["a", "b", "a"].into_iter().collect();
    /// let column = Column::new(rows.into_data())?;
    /// assert_eq!((column.len(), column.value_count()), (3, 2));
    /// # Ok::<(), arrow_schema::ArrowError>(())
    /// ```
    #[must_use]
    pub fn value_count(&self) -> usize {
        self.values.len()
    }

    /// Return the value at `index`, which is less than [`Column::value_count`].
    ///
    /// # Panics
    ///
    /// If `index` is not less than it.
    ///
    /// # Examples
    ///
    /// ```
    /// use arrow_array::{Array, StringArray};
    /// use subtrie_columns::{Column, Text};
    ///
    /// let column = Column::new(StringArray::from(vec!["a"]).into_data())?;
    /// assert_eq!(column.value(0), Text::Valid("a"));
    /// # Ok::<(), arrow_schema::ArrowError>(())
    /// ```
    #[must_use]
    pub fn value(&self, index: usize) -> Text<'_> {
        self.values.get(index)
    }

    /// Return the bytes of the value at `index`, UTF-8 or not; `None` if it is null.
    ///
    /// # Panics
    ///
    /// If `index` is not less than [`Column::value_count`].
    ///
    /// # Examples
    ///
    /// ```
    /// use arrow_array::{Array, StringArray};
    /// use subtrie_columns::Column;
    ///
    /// let column = Column::new(StringArray::from(vec![Some("a"), None]).into_data())?;
    /// assert_eq!((column.bytes(0), column.bytes(1)), (Some(&b"a"[..]), None));
    /// # Ok::<(), arrow_schema::ArrowError>(())
    /// ```
    #[must_use]
    #[inline]
    pub fn bytes(&self, index: usize) -> Option<&[u8]> {
        self.values.bytes(index)
    }

    /// Return the index of the value of a row, `None` for a null key.
    ///
    /// # Panics
    ///
    /// If the column is a dictionary and `row` is not less than [`Column::len`].
    ///
    /// # Examples
    ///
    /// ```
    /// use arrow_array::types::Int32Type;
    /// use arrow_array::{Array, DictionaryArray};
    /// use subtrie_columns::Column;
    ///
    /// let rows: DictionaryArray<Int32Type> = ["a", "b", "a"].into_iter().collect();
    /// assert_eq!(Column::new(rows.into_data())?.key(2), Some(0));
    /// # Ok::<(), arrow_schema::ArrowError>(())
    /// ```
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
        // A slice without rows may begin beyond its buffers: an import reads no length from them.
        let data = if data.is_empty() {
            ArrayData::new_empty(&bytes)
        } else {
            data
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
                Text::Invalid(kind_of(&bytes[at..]), at)
            }
        }
    }
}

/// The reason for bytes that are not UTF-8; an encoded surrogate is named as in Python.
const fn kind_of(bytes: &[u8]) -> ErrorKind {
    match bytes {
        [0xed, 0xa0..=0xbf, ..] => ErrorKind::Surrogate,
        _ => ErrorKind::Utf8,
    }
}
