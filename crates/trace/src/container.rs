//! Lines that a container runtime wrapped: JSON of docker's driver `json-file`, and the form of CRI.
//!
//! docker writes `{"log":"…\n","stream":…}`, CRI `TIME stderr F …`. Both write a long line in parts,
//! of which the last one is marked: by its `\n`, or by `F` in place of `P`.

use std::borrow::Cow;

use super::json_texts::leading_text;
use super::lines::LONGEST;

const DOCKER: &[u8] = b"{\"log\":";

/// The text that a runtime wrapped.
pub struct Wrapped<'a> {
    /// The text, without the end of the line.
    pub text: Cow<'a, [u8]>,
    /// Whether it ends a line.
    pub ends: bool,
}

/// Return what a line wraps; `None` if it is not of a container runtime.
#[must_use]
pub fn unwrapped(line: &[u8]) -> Option<Wrapped<'_>> {
    match line.first()? {
        b'{' => of_docker(line),
        b'0'..=b'9' => of_cri(line),
        _ => None,
    }
}

fn of_docker(line: &[u8]) -> Option<Wrapped<'static>> {
    let (mut text, complete) = leading_text(line.strip_prefix(DOCKER)?)?;
    let ends = text.last() == Some(&b'\n');
    if ends {
        text.pop();
    }
    // A record that is longer than what is read of a line ends one.
    let cut = !complete && line.len() > LONGEST;
    (complete || cut).then_some(Wrapped {
        text: Cow::Owned(text),
        ends: ends || cut,
    })
}

fn of_cri(line: &[u8]) -> Option<Wrapped<'_>> {
    let blank = memchr::memchr(b' ', line.get(..64).unwrap_or(line))?;
    let (time, rest) = line.split_at(blank);
    let printed = time.iter().all(u8::is_ascii_graphic);
    let dated =
        printed && time.len() >= 20 && time[4] == b'-' && time[7] == b'-' && time[10] == b'T';
    let rest = rest.strip_prefix(b" std")?;
    let rest = rest
        .strip_prefix(b"err ")
        .or_else(|| rest.strip_prefix(b"out "))?;
    let (&tag, after) = rest.split_first()?;
    let text = after.strip_prefix(b" ")?;
    (dated && matches!(tag, b'F' | b'P')).then_some(Wrapped {
        text: Cow::Borrowed(text),
        ends: tag == b'F',
    })
}

/// The parts of a line whose end was not read yet: at most one byte more than a line may have.
#[derive(Debug, Default)]
pub struct Parts {
    /// The position of the first part.
    pub position: u64,
    /// The bytes; nothing if no line is open.
    pub kept: Vec<u8>,
}

impl Parts {
    /// Add a part that begins at a position.
    pub fn add(&mut self, position: u64, text: &[u8]) {
        if self.kept.is_empty() {
            self.position = position;
        }
        let room = (LONGEST + 1).saturating_sub(self.kept.len());
        self.kept.extend_from_slice(&text[..text.len().min(room)]);
    }

    /// The position of the line, if one is open.
    pub fn open(&self) -> Option<u64> {
        (!self.kept.is_empty()).then_some(self.position)
    }

    /// Take the line, if one is open.
    pub fn take(&mut self) -> Option<(u64, Vec<u8>)> {
        (!self.kept.is_empty()).then(|| (self.position, std::mem::take(&mut self.kept)))
    }
}
