//! The columns of a batch of rows, found by their names.

use arrow_array::{Array, BooleanArray, Int64Array, ListArray};
use arrow_data::ArrayData;
use arrow_schema::{ArrowError, DataType};

use subtrie_columns::Column;

/// The columns of a struct array. A column that is missing has no values, or the same in each row.
pub struct Input {
    data: ArrayData,
    constants: Vec<(String, String)>,
}

/// A column of texts, the text of all rows, or none.
pub enum TextColumn {
    Rows(Column),
    Constant(Box<[u8]>),
    Missing,
}

/// A column of 64-bit numbers or times, or none.
pub struct NumberColumn(Option<Int64Array>);

/// A column of lists of 64-bit numbers, or none.
pub struct ListColumn(Option<(ListArray, Int64Array)>);

/// A column of booleans, or none.
pub struct FlagColumn(Option<BooleanArray>);

impl Input {
    /// Take the columns of a struct array.
    ///
    /// # Errors
    ///
    /// `ArrowError` if it is not a struct.
    pub fn new(data: ArrayData, constants: Vec<(String, String)>) -> Result<Self, ArrowError> {
        if !matches!(data.data_type(), DataType::Struct(_)) {
            return Err(invalid(format!(
                "a batch of rows is a struct, not {}",
                data.data_type()
            )));
        }
        Ok(Self { data, constants })
    }

    /// Return the number of rows.
    pub fn len(&self) -> usize {
        self.data.len()
    }

    /// Return a column of texts.
    ///
    /// # Errors
    ///
    /// `ArrowError` if it holds something else.
    pub fn texts(&self, name: &str) -> Result<TextColumn, ArrowError> {
        if let Some((_, text)) = self.constants.iter().find(|(known, _)| known == name) {
            return Ok(TextColumn::Constant(text.as_bytes().into()));
        }
        Ok(match self.column(name) {
            Some(column) => TextColumn::Rows(Column::new(column)?),
            None => TextColumn::Missing,
        })
    }

    /// Return a column of 64-bit numbers, or of times as numbers.
    ///
    /// # Errors
    ///
    /// `ArrowError` if it holds something else.
    pub fn numbers(&self, name: &str) -> Result<NumberColumn, ArrowError> {
        let Some(data) = self.column(name) else {
            return Ok(NumberColumn(None));
        };
        match data.data_type() {
            DataType::Null => Ok(NumberColumn(None)),
            DataType::Int64 | DataType::Timestamp(..) => {
                // `build` checks the length of the buffer.
                let data = data.into_builder().data_type(DataType::Int64).build()?;
                Ok(NumberColumn(Some(data.into())))
            }
            other => Err(invalid(format!(
                "the column {name} holds 64-bit numbers, not {other}"
            ))),
        }
    }

    /// Return a column of lists of 64-bit numbers.
    ///
    /// # Errors
    ///
    /// `ArrowError` if it holds something else.
    pub fn lists(&self, name: &str) -> Result<ListColumn, ArrowError> {
        let Some(data) = self.column(name) else {
            return Ok(ListColumn(None));
        };
        match data.data_type() {
            DataType::Null => Ok(ListColumn(None)),
            DataType::List(item) if *item.data_type() == DataType::Int64 => {
                let lists: ListArray = data.into_builder().build()?.into();
                let values: Int64Array = lists.values().to_data().into();
                Ok(ListColumn(Some((lists, values))))
            }
            other => Err(invalid(format!(
                "the column {name} holds lists of 64-bit numbers, not {other}"
            ))),
        }
    }

    /// Return a column of booleans.
    ///
    /// # Errors
    ///
    /// `ArrowError` if it holds something else.
    pub fn flags(&self, name: &str) -> Result<FlagColumn, ArrowError> {
        let Some(data) = self.column(name) else {
            return Ok(FlagColumn(None));
        };
        match data.data_type() {
            DataType::Null => Ok(FlagColumn(None)),
            DataType::Boolean => {
                let data = data.into_builder().build()?;
                Ok(FlagColumn(Some(data.into())))
            }
            other => Err(invalid(format!(
                "the column {name} holds booleans, not {other}"
            ))),
        }
    }

    /// Return a column, unless all its values are null.
    fn column(&self, name: &str) -> Option<ArrayData> {
        let DataType::Struct(fields) = self.data.data_type() else {
            return None;
        };
        let at = fields.iter().position(|field| field.name() == name)?;
        let column = self.data.child_data().get(at)?;
        let column = column.slice(self.data.offset(), self.data.len());
        // Empty columns are not looked at row by row.
        (column.null_count() < column.len()).then_some(column)
    }
}

impl TextColumn {
    /// Return the text of a row; `None` if it is null.
    pub fn get(&self, row: usize) -> Option<&[u8]> {
        match self {
            Self::Rows(column) => column.key(row).and_then(|value| column.bytes(value)),
            Self::Constant(text) => Some(text),
            Self::Missing => None,
        }
    }
}

impl NumberColumn {
    /// Return the number of a row; `None` if it is null.
    pub fn get(&self, row: usize) -> Option<i64> {
        let column = self.0.as_ref()?;
        column.is_valid(row).then(|| column.value(row))
    }
}

impl ListColumn {
    /// Return the numbers of a row; none if it is null.
    pub fn get(&self, row: usize) -> &[i64] {
        let Some((lists, values)) = &self.0 else {
            return &[];
        };
        let offsets = lists.value_offsets();
        let end = |at: usize| {
            offsets
                .get(at)
                .and_then(|&offset| usize::try_from(offset).ok())
        };
        match (lists.is_valid(row), end(row), end(row + 1)) {
            (true, Some(start), Some(end)) => values.values().get(start..end).unwrap_or(&[]),
            _ => &[],
        }
    }
}

impl FlagColumn {
    /// Whether the value of a row is true.
    pub fn is_true(&self, row: usize) -> bool {
        self.0
            .as_ref()
            .is_some_and(|column| column.is_valid(row) && column.value(row))
    }
}

/// Return columns of texts.
///
/// # Errors
///
/// `ArrowError` if one holds something else.
pub fn texts<const N: usize>(
    input: &Input,
    names: [&str; N],
) -> Result<[TextColumn; N], ArrowError> {
    collected(names.map(|name| input.texts(name)))
}

/// Return columns of 64-bit numbers.
///
/// # Errors
///
/// `ArrowError` if one holds something else.
pub fn numbers<const N: usize>(
    input: &Input,
    names: [&str; N],
) -> Result<[NumberColumn; N], ArrowError> {
    collected(names.map(|name| input.numbers(name)))
}

/// Return the values of results, or the first error.
fn collected<T, const N: usize>(results: [Result<T, ArrowError>; N]) -> Result<[T; N], ArrowError> {
    let values: Vec<T> = results.into_iter().collect::<Result<_, _>>()?;
    values
        .try_into()
        .map_err(|_| ArrowError::InvalidArgumentError("columns".into()))
}

pub fn invalid(message: String) -> ArrowError {
    ArrowError::InvalidArgumentError(message)
}
