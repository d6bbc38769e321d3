//! Columns that are built row by row, and from which rows can be taken out.

use std::sync::Arc;

use arrow_array::{ArrayRef, StringArray};
use arrow_buffer::{Buffer, NullBuffer, OffsetBuffer, ScalarBuffer};
use arrow_schema::ArrowError;

use crate::{escape, is_plain, redact};

/// A column of numbers.
#[derive(Default)]
pub struct Numbers {
    values: Vec<i64>,
    valid: Vec<bool>,
}

/// A column of a few names: for each row one more than the index of its name, or 0 for a null.
#[derive(Default)]
pub struct Names {
    known: Vec<&'static str>,
    codes: Vec<u8>,
}

/// A column of texts.
pub struct Texts {
    /// The start of each text, and the end of the last one.
    offsets: Vec<i32>,
    bytes: Vec<u8>,
    valid: Vec<bool>,
}

/// Remove values, given by their indexes in ascending order, and return them. A column that is not
/// requested has no values.
pub fn split_off<T: Copy>(values: &mut Vec<T>, rows: &[usize]) -> Vec<T> {
    let (Some(&first), false) = (rows.first(), values.is_empty()) else {
        return Vec::new();
    };
    let removed = rows.iter().map(|&row| values[row]).collect();
    let mut to = first;
    for (at, row) in rows.iter().enumerate() {
        let end = rows.get(at + 1).copied().unwrap_or(values.len());
        values.copy_within(row + 1..end, to);
        to += end - row - 1;
    }
    values.truncate(to);
    removed
}

impl Numbers {
    /// Reserve memory for as many rows as another column.
    pub fn reserve(&mut self, other: &Self) {
        self.values.reserve(other.values.len());
        self.valid.reserve(other.valid.len());
    }

    /// Add a number or a null.
    pub fn push(&mut self, value: Option<i64>) {
        self.values.push(value.unwrap_or_default());
        self.valid.push(value.is_some());
    }

    /// Replace the value of a row.
    pub fn set(&mut self, row: usize, value: i64) {
        (self.values[row], self.valid[row]) = (value, true);
    }

    /// Remove rows, given in ascending order, and return them.
    pub fn split_off(&mut self, rows: &[usize]) -> Self {
        Self {
            values: split_off(&mut self.values, rows),
            valid: split_off(&mut self.valid, rows),
        }
    }

    /// Return the values, and which rows are null.
    pub fn finish(self) -> (ScalarBuffer<i64>, Option<NullBuffer>) {
        (self.values.into(), nulls(self.valid))
    }
}

impl Names {
    /// Reserve memory for as many rows as another column.
    pub fn reserve(&mut self, other: &Self) {
        self.codes.reserve(other.codes.len());
    }

    /// Add a name or a null.
    pub fn push(&mut self, name: Option<&'static str>) {
        let code = self.code(name);
        self.codes.push(code);
    }

    /// Replace the name of a row.
    pub fn set(&mut self, row: usize, name: Option<&'static str>) {
        self.codes[row] = self.code(name);
    }

    /// Remove rows, given in ascending order, and return them.
    pub fn split_off(&mut self, rows: &[usize]) -> Self {
        Self {
            known: self.known.clone(),
            codes: split_off(&mut self.codes, rows),
        }
    }

    fn code(&mut self, name: Option<&'static str>) -> u8 {
        let Some(name) = name else { return 0 };
        let known = self.known.iter().position(|known| *known == name);
        let at = known.unwrap_or_else(|| {
            self.known.push(name);
            self.known.len() - 1
        });
        // The reader has about a dozen of them.
        u8::try_from(at + 1).unwrap_or_default()
    }

    /// Return the column.
    pub fn finish(&self) -> StringArray {
        let names = self.codes.iter().map(|&code| {
            let at = usize::from(code).checked_sub(1)?;
            self.known.get(at)
        });
        names.collect()
    }
}

impl Default for Texts {
    fn default() -> Self {
        Self {
            offsets: vec![0],
            bytes: Vec::new(),
            valid: Vec::new(),
        }
    }
}

impl Texts {
    /// Reserve memory for as many rows and as much text as another column.
    pub fn reserve(&mut self, other: &Self) {
        self.offsets.reserve(other.valid.len());
        self.bytes.reserve(other.bytes.len());
        self.valid.reserve(other.valid.len());
    }

    /// Add a text, which is UTF-8, or a null.
    pub fn push(&mut self, text: &[u8], valid: bool) {
        self.bytes.extend_from_slice(text);
        self.offsets.push(offset(self.bytes.len()));
        self.valid.push(valid);
    }

    /// Add text of a line, without secrets, or a null.
    pub fn push_line(&mut self, bytes: &[u8], valid: bool) {
        if is_plain(bytes) {
            self.push(bytes, valid);
        } else {
            self.push(redact(&escape(bytes)).as_bytes(), valid);
        }
    }

    /// Remove rows, given in ascending order, and return them.
    pub fn split_off(&mut self, rows: &[usize]) -> Self {
        let mut removed = Self::default();
        let (Some(&first), false) = (rows.first(), self.valid.is_empty()) else {
            return removed;
        };
        let range = |offsets: &[i32], row: usize| {
            let bound = |at: usize| usize::try_from(offsets[at]).unwrap_or_default();
            bound(row)..bound(row + 1)
        };
        for &row in rows {
            let text = &self.bytes[range(&self.offsets, row)];
            removed.push(text, self.valid[row]);
        }
        let (mut to, mut row_to) = (range(&self.offsets, first).start, first);
        for (at, &row) in rows.iter().enumerate() {
            let end = rows.get(at + 1).copied().unwrap_or(self.valid.len());
            let from = range(&self.offsets, row).end;
            let until = usize::try_from(self.offsets[end]).unwrap_or_default();
            self.bytes.copy_within(from..until, to);
            let shift = offset(from - to);
            for moved in row + 1..end {
                self.offsets[row_to] = self.offsets[moved] - shift;
                row_to += 1;
            }
            to += until - from;
        }
        self.offsets[row_to] = offset(to);
        self.offsets.truncate(row_to + 1);
        self.bytes.truncate(to);
        split_off(&mut self.valid, rows);
        removed
    }

    /// Whether the text is not longer than a column of Arrow may be.
    pub fn fits(&self) -> bool {
        i32::try_from(self.bytes.len()).is_ok()
    }

    /// Return the column.
    ///
    /// # Errors
    ///
    /// `ArrowError` if the text does not fit.
    pub fn finish(self) -> Result<ArrayRef, ArrowError> {
        let offsets = OffsetBuffer::new(ScalarBuffer::from(self.offsets));
        let (bytes, nulls) = (Buffer::from_vec(self.bytes), nulls(self.valid));
        Ok(Arc::new(StringArray::try_new(offsets, bytes, nulls)?))
    }
}

/// An offset of Arrow, which cannot count the bytes of a text that does not fit.
fn offset(length: usize) -> i32 {
    i32::try_from(length).unwrap_or(i32::MAX)
}

fn nulls(valid: Vec<bool>) -> Option<NullBuffer> {
    Some(NullBuffer::from(valid)).filter(|nulls| nulls.null_count() > 0)
}
