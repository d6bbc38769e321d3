//! Numbers on the wire: decimal digits and nothing else.

/// What the broker reads as a size: one to nine digits.
pub(super) fn size(text: &[u8]) -> Option<u32> {
    if text.is_empty() || text.len() > 9 {
        return None;
    }
    text.iter().try_fold(0u32, |sum, byte| match byte {
        b'0'..=b'9' => Some(sum * 10 + u32::from(byte - b'0')),
        _ => None,
    })
}

/// What the Go client reads as a size: digits, as many as it takes.
pub(super) fn client_size(text: &[u8]) -> Option<u32> {
    if text.is_empty() {
        return None;
    }
    let value = text.iter().try_fold(0u32, |sum, byte| match byte {
        b'0'..=b'9' => sum.checked_mul(10)?.checked_add(u32::from(byte - b'0')),
        _ => None,
    })?;
    // No server sends more than it could have read itself.
    (value <= 999_999_999).then_some(value)
}

/// Digits only?
pub(super) fn is_number(text: &[u8]) -> bool {
    !text.is_empty() && text.iter().all(u8::is_ascii_digit)
}
