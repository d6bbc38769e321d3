//! Checked conversion of a `usize` to a `u32` index.

/// The position as a number of 32 bits, of which the largest names nothing.
///
/// # Panics
///
/// There are 2^32 - 1 positions or more. The caller checks for room before it adds positions, and
/// answers with an error ([`Index::has_room`](crate::trie::raw::Index::has_room),
/// [`Bounds::longest_text`](crate::grammar::Bounds)): a saturated number would name another position.
#[inline]
#[allow(clippy::cast_possible_truncation)] // compared
pub(crate) fn to_u32(position: usize) -> u32 {
    assert!(position < u32::MAX as usize, "no room for another position");
    position as u32
}

#[cfg(test)]
mod tests {
    use super::to_u32;

    #[test]
    fn the_last_position_has_a_number_and_the_next_has_none() {
        let last = u32::MAX as usize - 1;
        assert_eq!((to_u32(0), to_u32(last)), (0, u32::MAX - 1));
        assert!(std::panic::catch_unwind(|| to_u32(last + 1)).is_err());
    }
}
