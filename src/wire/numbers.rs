//! Numbers in arguments: decimal digits only.

/// Read a size as the broker does: one to nine digits.
pub(super) fn server_size(text: &[u8]) -> Option<u32> {
    if text.is_empty() || text.len() > 9 {
        return None;
    }
    text.iter().try_fold(0u32, |sum, byte| match byte {
        b'0'..=b'9' => Some(sum * 10 + u32::from(byte - b'0')),
        _ => None,
    })
}

/// Read a size as the Go client does: any number of digits.
pub(super) fn client_size(text: &[u8]) -> Option<u32> {
    if text.is_empty() {
        return None;
    }
    let value = text.iter().try_fold(0u32, |sum, byte| match byte {
        b'0'..=b'9' => sum.checked_mul(10)?.checked_add(u32::from(byte - b'0')),
        _ => None,
    })?;
    // A server cannot send more than it can receive: nine digits.
    (value <= 999_999_999).then_some(value)
}

/// Whether the text consists of digits only, at least one.
pub(super) fn is_number(text: &[u8]) -> bool {
    !text.is_empty() && text.iter().all(u8::is_ascii_digit)
}
