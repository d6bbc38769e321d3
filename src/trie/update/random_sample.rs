//! Selection sampling (Fan, Muller and Rezucha 1962; Knuth's Algorithm S): a random sample of a
//! sequence, drawn in one pass.
//!
//! Rows are often listed in a regular order, such as six slots a route. A sample drawn at a regular
//! step, or one from each stretch, can then hold a single slot, and hides that slots differ. Every
//! row has the same chance here, whatever the order.

/// Draws with a fixed seed, so that equal sequences give equal indexes.
const SEED: u64 = 0x5375_6274_7269_6521;

/// About `max` items, drawn at random from `len` items, in their order.
///
/// All items if there are no more than `max`. Cost: one random number an item.
pub(super) fn random_sample<T>(
    items: impl Iterator<Item = T>,
    len: usize,
    max: usize,
) -> impl Iterator<Item = T> {
    let mut state = SEED ^ len as u64;
    let (mut left, mut needed) = (len, max);
    items.filter(move |_| {
        let drawn = needed >= left || next(&mut state) % (left.max(1) as u64) < needed as u64;
        left = left.saturating_sub(1);
        needed -= usize::from(drawn && needed > 0);
        drawn
    })
}

/// The next random number (`SplitMix64`: Steele, Lea and Flood 2014).
fn next(state: &mut u64) -> u64 {
    *state = state.wrapping_add(0x9e37_79b9_7f4a_7c15);
    let mut mixed = *state;
    mixed = (mixed ^ mixed >> 30).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    mixed = (mixed ^ mixed >> 27).wrapping_mul(0x94d0_49bb_1331_11eb);
    mixed ^ mixed >> 31
}

#[cfg(test)]
mod tests {
    use super::random_sample;

    #[test]
    fn a_sample_has_the_size_asked_for_and_keeps_the_order() {
        for (len, max) in [(0, 5), (3, 5), (5, 5), (6, 5), (1000, 64), (6000, 1024)] {
            let drawn: Vec<usize> = random_sample(0..len, len, max).collect();
            assert_eq!(drawn.len(), len.min(max));
            assert!(drawn.is_sorted());
        }
    }

    #[test]
    fn a_period_in_the_rows_does_not_show_in_the_sample() {
        for period in [2, 3, 6, 7, 12] {
            let mut counts = vec![0; period];
            for at in random_sample(0..6000usize, 6000, 1024) {
                counts[at % period] += 1;
            }
            let even = 1024 / period;
            assert!(
                counts
                    .iter()
                    .all(|&count| count > even / 2 && count < even * 2)
            );
        }
    }
}
