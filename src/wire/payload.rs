//! After a line that announces one: so many bytes of payload, then CR LF, and nothing else (S1-012).

/// How far the payload is.
pub(super) enum Progress {
    /// All there, its end too.
    Done,
    /// More is to come.
    More,
    /// This byte should be CR or LF.
    Broken(usize),
}

/// Judges what is there of the operation in `bytes`, whose payload ends before `end`.
#[inline]
pub(super) fn progress(bytes: &[u8], end: usize) -> Progress {
    match bytes.get(end..) {
        Some([b'\r', b'\n', ..]) => Progress::Done,
        None | Some([] | [b'\r']) => Progress::More,
        Some([b'\r', ..]) => Progress::Broken(end + 1),
        Some(_) => Progress::Broken(end),
    }
}
