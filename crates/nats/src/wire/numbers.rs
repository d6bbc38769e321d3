//! Numbers in arguments: decimal digits only.

/// Read a size as the broker does: one to nine digits.
pub(super) fn server_size(text: &[u8]) -> Option<u32> {
    (text.len() <= 9).then(|| client_size(text)).flatten()
}

/// Read a size as the Go client does: any number of digits. A server cannot send more than it can receive:
/// nine digits.
pub(super) fn client_size(text: &[u8]) -> Option<u32> {
    let value = text.iter().try_fold(0u32, |sum, byte| match byte {
        b'0'..=b'9' => sum.checked_mul(10)?.checked_add(u32::from(byte - b'0')),
        _ => None,
    })?;
    (!text.is_empty() && value <= 999_999_999).then_some(value)
}

/// Whether the text is a subscription id of a client: digits of a number of 64 bits.
pub(super) fn is_sid(text: &[u8]) -> bool {
    let digits = std::str::from_utf8(text).unwrap_or_default();
    text.iter().all(u8::is_ascii_digit) && digits.parse::<u64>().is_ok()
}

#[cfg(test)]
mod tests {
    use super::is_sid;

    #[test]
    fn a_subscription_id_has_digits_only_and_64_bits() {
        let zeros = format!("{}7", "0".repeat(5000));
        for id in ["0", "7", "18446744073709551615", &zeros] {
            assert!(is_sid(id.as_bytes()), "{id}");
        }
        let nines = "9".repeat(5000);
        for other in [
            "",
            "+7",
            "-7",
            " 7",
            "7_0",
            "x",
            "18446744073709551616",
            &nines,
        ] {
            assert!(!is_sid(other.as_bytes()), "{other}");
        }
        assert!(!is_sid(b"\xd9\xa3"));
    }
}
